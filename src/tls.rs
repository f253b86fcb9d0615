//! The certificate and key the server shows, and how they are renewed.
//!
//! Here: reading and checking both files, and the cell that a handshake takes the certificate from.
//! Not here: the server (`api`), and when a renewal is asked for (`running`). Called by `serve` and
//! `running`. Nothing of a key is ever printed.

use std::fmt;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use rustls::crypto::CryptoProvider;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{Error, InconsistentKeys, ServerConfig};

use crate::config::Server;
use crate::exit::{Exit, Stop};

/// A larger file is no certificate and no key.
const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// TLS as the server speaks it.
pub(crate) struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    shown: Arc<Shown>,
    config: Arc<ServerConfig>,
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls")
            .field("certificate", &self.certificate)
            .finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads what the settings name; `None` when they name nothing.
    ///
    /// # Errors
    /// When only one of the two is named, one cannot be read, or they do not belong together.
    pub(crate) fn load(settings: &Server) -> Result<Option<Self>, Stop> {
        let refuse = |what: String| Stop::new(Exit::Listen, what);
        let (certificate, key) = match (&*settings.tls_cert, &*settings.tls_key) {
            ("", "") => return Ok(None),
            ("", _) => return Err(refuse("tls_key without tls_cert: name both".to_owned())),
            (_, "") => return Err(refuse("tls_cert without tls_key: name both".to_owned())),
            (certificate, key) => (PathBuf::from(certificate), PathBuf::from(key)),
        };
        let provider = Arc::new(default_provider());
        let first = read(&certificate, &key, &provider).map_err(refuse)?;
        let shown = Arc::new(Shown(RwLock::new(Arc::new(first))));
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(|error| Stop::new(Exit::Bug, format!("TLS: {error}")))?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Self {
            certificate,
            key,
            provider,
            shown,
            config: Arc::new(config),
        }))
    }

    /// What the server is built with.
    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config)
    }

    /// Warns when others may read the key.
    pub(crate) fn warn_of_open_key(&self) {
        let mode = fs::metadata(&self.key).map(|file| file.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o007 != 0) {
            let key = self.key.display();
            tracing::warn!("tls_key {key}: others may read it; take that away (chmod o= {key})");
        }
    }

    /// Reads both files again; new connections get what they hold now, and open ones go on. What
    /// cannot be used changes nothing. Blocks on the file system.
    ///
    /// # Errors
    /// Why the files cannot be used.
    pub(crate) fn renew(&self) -> Result<(), String> {
        let new = read(&self.certificate, &self.key, &self.provider)?;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        Ok(())
    }
}

/// The certificate that handshakes show now.
struct Shown(RwLock<Arc<CertifiedKey>>);

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Shown(…)")
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let shown = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&shown))
    }
}

/// Both files, checked against each other; an error names the file and what is wrong with it.
fn read(certificate: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, String> {
    let of_certificate = |what: &str| format!("tls_cert {}: {what}", certificate.display());
    let of_key = |what: &str| format!("tls_key {}: {what}", key.display());
    let text = bytes(certificate).map_err(|what| of_certificate(&what))?;
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<_, _>>()
        .map_err(|_| of_certificate("is not PEM"))?;
    if chain.is_empty() {
        return Err(of_certificate("holds no certificate in PEM"));
    }
    let text = bytes(key).map_err(|what| of_key(&what))?;
    // What the parser says could repeat the file, so it is dropped.
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        of_key("holds no private key in PEM; one that is encrypted must be decrypted first")
    })?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| {
        if error == Error::InconsistentKeys(InconsistentKeys::KeyMismatch) {
            let certificate = certificate.display();
            of_key(&format!(
                "does not belong to the first certificate of {certificate}"
            ))
        } else if matches!(error, Error::InvalidCertificate(_)) {
            of_certificate("its first certificate cannot be read")
        } else {
            of_key("is of a kind that is not taken; make an ECDSA, Ed25519 or RSA key")
        }
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > FILE_BYTES_MAX {
        return Err(format!("is larger than {FILE_BYTES_MAX} bytes"));
    }
    fs::read(path).map_err(unreadable)
}
