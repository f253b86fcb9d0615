//! TLS: what is asked over it is answered, what is not TLS does no harm, what does not fit is
//! refused at the start, and a renewed certificate is taken without one.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion,
};
use serde_json::json;

use crate::harness::{PATIENCE, Server, Setup, until};
use crate::raw::post;

const KEY: &str = "nia_sk_test_br1_conformance_a_agentssecret0001";
const SEED: &str = include_str!("../conformance/space.json");
const CHECK: &str = "/v1/coordination/check";

/// A certificate for `localhost` that its own key signed, both in PEM, and in DER for the client.
struct Pair {
    certificate: String,
    key: String,
    der: CertificateDer<'static>,
}

fn pair() -> Pair {
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec!["localhost".to_owned()]).expect("a name");
    let certificate = params.self_signed(&key).expect("a certificate");
    Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        der: certificate.der().clone(),
    }
}

/// Both files in the server's working directory; the key closed to others.
fn write(setup: &Setup, pair: &Pair) {
    setup.data().write("cert.pem", &pair.certificate);
    let key = setup.data().write("key.pem", &pair.key);
    fs::set_permissions(key, fs::Permissions::from_mode(0o600)).expect("the file is ours");
}

fn setup(pair: &Pair) -> Setup {
    let setup = Setup::new();
    write(&setup, pair);
    setup
        .argument("--tls-cert")
        .argument("cert.pem")
        .argument("--tls-key")
        .argument("key.pem")
}

fn connect(server: &Server) -> TcpStream {
    let address = server.url().split("://").nth(1).expect("a URL");
    let stream = TcpStream::connect(address).expect("it listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// Sends a request over TLS of one version and reads all that comes back. An error is one of the
/// handshake.
fn ask(
    server: &Server,
    trusted: &Pair,
    version: &'static SupportedProtocolVersion,
    request: &[u8],
) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.der.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[version])
        .expect("a version that is known")
        .with_root_certificates(roots)
        .with_no_client_auth();
    // As most clients do that also speak HTTP/2.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let name = ServerName::try_from("localhost").expect("a name");
    let client = ClientConnection::new(Arc::new(config), name).expect("a client");
    let mut stream = StreamOwned::new(client, connect(server));
    stream.write_all(request)?;
    assert_eq!(stream.conn.alpn_protocol(), Some(b"http/1.1".as_slice()));
    let mut answer = Vec::new();
    let mut chunk = [0; 4_096];
    loop {
        let count = stream.read(&mut chunk)?;
        answer.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&answer);
        if count == 0 || text.contains("\r\n\r\n{") && text.ends_with('}') {
            return Ok(text.into_owned());
        }
    }
}

fn check() -> Vec<u8> {
    let check = json!({
        "agent": "closing", "intent": "follow_up", "direction": "outbound",
        "purpose": "service", "channel": "whatsapp",
        "subject": {"type": "phone_e164", "value": "+5511987654321"},
    });
    post(CHECK, KEY, None, &check.to_string())
}

#[test]
fn a_check_over_tls_is_answered() {
    let pair = pair();
    let server = setup(&pair).seed(SEED).start();
    assert!(server.url().starts_with("https://"), "{}", server.url());
    assert!(server.line("ready ").starts_with("ready https://"));
    for version in [&TLS12, &TLS13] {
        let answer = ask(&server, &pair, version, &check()).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains(r#""decision":"allow""#), "{answer}");
    }
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        !ended.stderr.iter().any(|line| line.contains("WARN")),
        "{ended:?}"
    );
}

#[test]
fn a_first_start_says_https_in_its_question() {
    let server = setup(&pair()).start();
    let line = server.line("curl ");
    assert!(line.starts_with("curl -sS https://127.0.0.1:"), "{line}");
}

#[test]
fn what_is_not_tls_is_refused_without_harm() {
    let pair = pair();
    let server = setup(&pair).seed(SEED).start();
    let floods: [&[u8]; 3] = [&check(), b"\x16\x03\x01\xff\xff", b""];
    for bytes in floods {
        let mut stream = connect(&server);
        stream.write_all(bytes).expect("it reads");
        stream
            .shutdown(std::net::Shutdown::Write)
            .expect("a connection");
        let mut answer = Vec::new();
        // The server may close before it has read everything.
        drop(stream.read_to_end(&mut answer));
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.contains("HTTP"), "{text}");
    }
    let answer = ask(&server, &pair, &TLS13, &check()).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let ended = server.terminate();
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn beyond_loopback_tls_needs_no_other_word() {
    let pair = pair();
    let server = setup(&pair).seed(SEED).listen("0.0.0.0:0").start();
    let answer = ask(&server, &pair, &TLS13, &check()).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[test]
fn files_that_do_not_fit_are_refused_before_anything_is_made() {
    let (one, other) = (pair(), pair());
    let cases = [
        (
            one.certificate.as_str(),
            other.key.as_str(),
            "tls_key key.pem: does not belong to the first certificate of cert.pem",
        ),
        (
            one.key.as_str(),
            one.key.as_str(),
            "tls_cert cert.pem: holds no certificate in PEM",
        ),
        (
            one.certificate.as_str(),
            one.certificate.as_str(),
            "tls_key key.pem: holds no private key in PEM; one that is encrypted must be decrypted \
             first",
        ),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            one.key.as_str(),
            "tls_cert cert.pem: its first certificate cannot be read",
        ),
    ];
    for (certificate, key, refusal) in cases {
        let setup = setup(&one);
        setup.data().write("cert.pem", certificate);
        setup.data().write("key.pem", key);
        let ended = setup.start_refused();
        assert_eq!(ended.code, Some(4), "{ended:?}");
        assert_eq!(ended.refusal(), format!("interlock: {refusal}"));
        assert!(!setup.data().path().exists(), "nothing was made");
    }
    let alone = Setup::new().argument("--tls-cert").argument("cert.pem");
    let ended = alone.start_refused();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert_eq!(
        ended.refusal(),
        "interlock: tls_cert without tls_key: name both"
    );
    let ended = alone
        .argument("--tls-key")
        .argument("key.pem")
        .start_refused();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    let refusal = ended.refusal();
    assert!(
        refusal.starts_with("interlock: tls_cert cert.pem: cannot be read: "),
        "{refusal}"
    );
}

#[test]
fn a_key_that_others_may_read_is_told_of() {
    let setup = setup(&pair());
    let key = setup.data().home().join("key.pem");
    fs::set_permissions(key, fs::Permissions::from_mode(0o644)).expect("the file is ours");
    let server = setup.start();
    let line = server.stderr_line("others may read it");
    assert!(line.contains("tls_key key.pem"), "{line}");
}

#[test]
fn a_renewed_certificate_is_taken_while_the_server_runs() {
    let (old, new) = (pair(), pair());
    let server = setup(&old).seed(SEED).start();
    ask(&server, &old, &TLS13, &check()).expect("the old certificate is trusted");
    server.data().write("cert.pem", "a half-written file");
    server.signal_hang_up();
    server.stderr_line("the certificate stays as it was: tls_cert cert.pem: ");
    ask(&server, &old, &TLS13, &check()).expect("the old certificate goes on");
    write(&server.setup(), &new);
    server.signal_hang_up();
    until("the new certificate", || {
        ask(&server, &new, &TLS13, &check()).ok()
    });
    ask(&server, &old, &TLS13, &check()).expect_err("the old certificate is gone");
}
