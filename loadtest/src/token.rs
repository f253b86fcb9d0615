//! Contact tokens as a gateway sees them: the published keys, and whether a token is signed by one of
//! them, for the recipient that was asked about. Written against `docs/spec/contact.md` §13.1, without the crate that signs. Here also how
//! many tokens one core signs in a tight loop, which a server's rate is set against.

use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use hmac::{Hmac, Mac as _};
use serde_json::Value;
use sha2::Sha256;

use crate::answer;
use crate::ask::Client;
use crate::target::Endpoint;

/// The longest life of a token, in seconds.
const LIFETIME_S_MAX: i64 = 120;
/// The length of a payload as the server signs one.
const SIGNED_BYTES: usize = 380;

/// The keys a server publishes.
#[derive(Debug, Default)]
pub(crate) struct Keys(Vec<Key>);

#[derive(Debug)]
struct Key {
    id: String,
    space: String,
    key: VerifyingKey,
}

/// What a token that was verified says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    /// The id of its decision.
    pub(crate) decision: u128,
    /// Whom it lets a message go to, as a hash under the gateway's key.
    pub(crate) recipient: String,
}

/// Names recipients as a gateway does (§13.1, `rcpt`).
#[derive(Clone)]
pub(crate) struct Recipients(Hmac<Sha256>);

impl std::fmt::Debug for Recipients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recipients")
    }
}

impl Recipients {
    /// With the key of a gateway in base64url, 32 bytes.
    pub(crate) fn new(key: &str) -> Result<Self, String> {
        let bytes = URL_SAFE_NO_PAD.decode(key).unwrap_or_default();
        let bytes: [u8; 32] = bytes
            .try_into()
            .map_err(|_| "a gateway's key is 32 bytes in base64url".to_owned())?;
        Hmac::new_from_slice(&bytes)
            .map(Self)
            .map_err(|error| error.to_string())
    }

    /// The customer with this number, as requests name one.
    pub(crate) fn of_phone(&self, customer: u64) -> String {
        let mut hash = self.0.clone();
        hash.update(format!("phone:+55119{customer:08}").as_bytes());
        URL_SAFE_NO_PAD.encode(hash.finalize().into_bytes())
    }
}

impl Keys {
    /// Asks for the keys of a space, named by its id.
    pub(crate) fn of(to: &Endpoint, space: &str) -> Result<Self, String> {
        let path = format!("/.well-known/niadra-contact-keys.json?space={space}");
        Self::read(&Client::connect(to)?.get(&path)?)
    }

    fn read(text: &str) -> Result<Self, String> {
        let body: Value = serde_json::from_str(text).map_err(|error| format!("keys: {error}"))?;
        let keys = body["keys"]
            .as_array()
            .ok_or("the list of keys has no `keys`")?;
        let key = |value: &Value| {
            let text = |name: &str| value[name].as_str().map(str::to_owned);
            let bytes = URL_SAFE_NO_PAD.decode(text("x")?).ok()?;
            let key = VerifyingKey::from_bytes(&bytes.try_into().ok()?).ok()?;
            Some(Key {
                id: text("kid")?,
                space: text("space")?,
                key,
            })
        };
        let keys: Option<Vec<Key>> = keys.iter().map(key).collect();
        keys.map(Self)
            .ok_or_else(|| "a published key cannot be read".to_owned())
    }

    /// Verifies a token; what it says.
    pub(crate) fn verify(&self, token: &[u8]) -> Result<Token, &'static str> {
        let token = std::str::from_utf8(token).map_err(|_| "a token that is no text")?;
        let (signed, signature) = token.rsplit_once('.').ok_or("a token without its parts")?;
        let claims = claims(signed).ok_or("a token whose payload cannot be read")?;
        let text = |name: &str| claims[name].as_str().unwrap_or_default();
        let key = self.0.iter().find(|key| key.id == text("kid"));
        let key = key.filter(|key| key.space == text("space"));
        let key = key.ok_or("a token of a key that is not published for its space")?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok();
        let signature = signature.and_then(|bytes| Signature::from_slice(&bytes).ok());
        let signature = signature.ok_or("a token whose signature cannot be read")?;
        key.key
            .verify_strict(signed.as_bytes(), &signature)
            .map_err(|_| "a token whose signature is not its key's")?;
        let life = claims["exp"].as_i64().zip(claims["iat"].as_i64());
        if !life.is_some_and(|(end, start)| (1..=LIFETIME_S_MAX).contains(&(end - start))) {
            return Err("a token that lives too long or not at all");
        }
        let decision = answer::uuid(text("jti").as_bytes());
        Ok(Token {
            decision: decision.ok_or("a token whose jti is no UUID")?,
            recipient: text("rcpt").to_owned(),
        })
    }
}

fn claims(signed: &str) -> Option<Value> {
    let payload = signed.strip_prefix("nct1.")?;
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).ok()?).ok()
}

/// The space that a token names, to ask for its keys; nothing is verified.
pub(crate) fn space(token: &str) -> Option<String> {
    let claims = claims(token.rsplit_once('.')?.0)?;
    claims["space"].as_str().map(str::to_owned)
}

/// Signatures a second of one thread that does nothing else, over a text as long as a token's.
pub(crate) fn signed_per_second(length: Duration) -> f64 {
    let key = SigningKey::from_bytes(&[7; 32]);
    let mut text = [b'x'; SIGNED_BYTES];
    let start = Instant::now();
    let mut count = 0_u64;
    while start.elapsed() < length {
        for _ in 0..64 {
            text[..8].copy_from_slice(&count.to_le_bytes());
            std::hint::black_box(key.sign(&text));
            count += 1;
        }
    }
    count as f64 / start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: &str = "0192f5a0-0000-7000-8000-00000000b003";

    fn token(payload: &str, key: &SigningKey) -> String {
        let signed = format!("nct1.{}", URL_SAFE_NO_PAD.encode(payload));
        let signature = key.sign(signed.as_bytes()).to_bytes();
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }

    fn payload(kid: &str, end: i64) -> String {
        format!(
            r#"{{"kid":"{kid}","space":"{SPACE}","jti":"01a22c54-97ff-71b1-ace2-75a88138efdc","rcpt":"r","iat":1000,"exp":{end}}}"#
        )
    }

    #[test]
    fn a_token_is_believed_only_with_its_signature() {
        let key = SigningKey::from_bytes(&[3; 32]);
        let x = URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes());
        let list = format!(r#"{{"keys":[{{"x":"{x}","kid":"k1","space":"{SPACE}"}}]}}"#);
        let keys = Keys::read(&list).expect("keys");
        let good = token(&payload("k1", 1120), &key);
        assert_eq!(
            keys.verify(good.as_bytes()),
            Ok(Token {
                decision: 0x01a2_2c54_97ff_71b1_ace2_75a8_8138_efdc,
                recipient: "r".to_owned(),
            })
        );
        assert_eq!(space(&good).as_deref(), Some(SPACE));
        let other = SigningKey::from_bytes(&[4; 32]);
        let cases = [
            (
                token(&payload("k1", 1120), &other),
                "a token whose signature is not its key's",
            ),
            (
                token(&payload("k1", 1121), &key),
                "a token that lives too long or not at all",
            ),
            (
                token(&payload("k2", 1120), &key),
                "a token of a key that is not published for its space",
            ),
            ("nct1.x".to_owned(), "a token whose payload cannot be read"),
        ];
        for (token, rule) in cases {
            assert_eq!(keys.verify(token.as_bytes()), Err(rule), "{token}");
        }
    }

    #[test]
    fn a_recipient_is_named_under_the_gateways_key() {
        let key = URL_SAFE_NO_PAD.encode([7; 32]);
        let recipients = Recipients::new(&key).expect("a key");
        // Made with Python: hmac.new(b"\7" * 32, b"phone:+5511960000001", "sha256").
        assert_eq!(
            recipients.of_phone(60_000_001),
            "faZD68pr3EvNTcFsCGU2yGcby2aTak1-34_j5lcyVZk"
        );
        assert_ne!(recipients.of_phone(1), recipients.of_phone(60_000_001));
        assert!(Recipients::new("short").is_err());
        assert!(!format!("{recipients:?}").contains('7'));
    }

    #[test]
    fn signing_has_a_rate() {
        assert!(signed_per_second(Duration::from_millis(5)) > 1.0);
    }
}
