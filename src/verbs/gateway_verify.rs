//! `gateway-verify`: the check a gateway makes, for a shell or a gateway in another language.
//!
//! Here: the flags, and the answer in words. Asks no server: the published keys come from a file. Not
//! here: the rules (`interlock_token`).

mod seen_file;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use interlock_actors::NodeClock;
use interlock_domain::time::Timestamp;
use interlock_token::{
    Claims, Identity, KeySet, LEEWAY_S, NoDestination, Refusal, Seen, canonical, keyed_hash,
    verify_hashed,
};
use interlock_wire::value::HashText;
use serde::Serialize;
use uuid::Uuid;

use self::seen_file::SeenFile;
use super::print;
use crate::console::say;
use crate::exit::{Exit, Stop};
use crate::registry::new_space::VaultValue;
use crate::serve::instant;

/// What is read of a token at most, in bytes: more than the longest one, so that a longer one is
/// refused and not cut.
const TOKEN_BYTES_MAX: u64 = 4_096;
/// What is read of a key set at most, in bytes.
const KEYS_BYTES_MAX: u64 = 1_048_576;
/// What is read of a gateway's key at most, in bytes.
const KEY_BYTES_MAX: u64 = 1_024;

/// The flags.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("recipient").required(true)))]
#[command(override_usage = "\
    interlock gateway-verify [OPTIONS] --space <UUID> --gateway <NAME>\n       \
    --channel <NAME> --keys <FILE>\n       \
    <--destination <TYPE:VALUE>|--destination-hash <HASH>> [TOKEN]")]
pub(crate) struct Args {
    /// The gateway's space.
    #[arg(long, value_name = "UUID")]
    space: Uuid,
    /// The gateway's id in the rules of the space.
    #[arg(long, value_name = "NAME")]
    gateway: String,
    /// The channel the message leaves on.
    #[arg(long, value_name = "NAME")]
    channel: String,
    /// Who the message goes to, such as `phone_e164:+5511987654321`. It stands in the list of
    /// processes while this runs; with --destination-hash it does not.
    #[arg(
        long,
        value_name = "TYPE:VALUE",
        group = "recipient",
        requires = "gateway_key_file"
    )]
    destination: Option<String>,
    /// The same, hashed under the gateway's key already: 43 characters of base64url.
    #[arg(long, value_name = "HASH", group = "recipient")]
    destination_hash: Option<String>,
    /// The gateway's key: 32 bytes, or these in base64url.
    #[arg(long, value_name = "FILE")]
    gateway_key_file: Option<PathBuf>,
    /// The published keys of the space, as the server's
    /// `/.well-known/niadra-contact-keys.json?space=UUID` answered within the last hour.
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Remembers accepted tokens here, so that none is accepted twice by whoever uses this file.
    /// Without it a token is accepted again until it is over.
    #[arg(long, value_name = "FILE")]
    seen: Option<PathBuf>,
    /// Judges as of then, not as of now.
    #[arg(long, value_name = "RFC3339", value_parser = instant)]
    at: Option<Timestamp>,
    /// Prints one JSON document instead of text.
    #[arg(long)]
    json: bool,
    /// A file with the token; without it, standard input.
    token: Option<PathBuf>,
}

/// What is printed for machines.
#[derive(Serialize)]
struct Verdict<'a> {
    accepted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    claims: Option<&'a Claims>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refusal: Option<&'static str>,
}

impl Args {
    /// Judges and prints.
    ///
    /// # Errors
    /// The token is refused, or the flags or files are.
    pub(crate) fn run(&self) -> Result<(), Stop> {
        let now = self.at.unwrap_or_else(|| NodeClock::system().now());
        let verdict = self.judge(now.0.div_euclid(1_000))?;
        if self.json {
            let shown = Verdict {
                accepted: verdict.is_ok(),
                claims: verdict.as_ref().ok(),
                refusal: verdict.as_ref().err().map(|refusal| refusal.code()),
            };
            let shown = serde_json::to_string(&shown);
            say(&shown.map_err(|error| Stop::new(Exit::Bug, error.to_string()))?);
        }
        match verdict {
            Ok(_) if self.json => Ok(()),
            Ok(claims) => {
                say(&told(&claims));
                Ok(())
            }
            // The document says it.
            Err(_) if self.json => Err(Stop::new(Exit::NotAccepted, "")),
            Err(refusal) => Err(Stop::new(Exit::NotAccepted, sentence(refusal))),
        }
    }

    fn judge(&self, now: i64) -> Result<Result<Claims, Refusal>, Stop> {
        let key = self.gateway_key()?;
        let recipient = self.recipient(&key)?;
        let document = read(&self.keys, "--keys", KEYS_BYTES_MAX)?;
        let keys = KeySet::read(&document)
            .map_err(|error| refuse("--keys", &self.keys, &error.to_string()))?;
        let identity = Identity {
            gateway_id: self.gateway.clone(),
            space: self.space.to_string(),
            key,
        };
        let token = self.token()?;
        let verified = verify_hashed(&token, &keys, &identity, &self.channel, &recipient, now);
        let (claims, file) = match (verified, &self.seen) {
            (Ok(claims), Some(file)) => (claims, file),
            (verified, _) => return Ok(verified),
        };
        let until = claims.exp.saturating_add(LEEWAY_S);
        let mut seen = SeenFile::new(file);
        match seen.first_time(&claims.jti, until, now) {
            Ok(true) => Ok(Ok(claims)),
            Ok(false) => Ok(Err(Refusal::Replayed)),
            Err(error) => Err(refuse("--seen", file, &error.to_string())),
        }
    }

    /// The gateway's key. A recipient that is hashed already needs none: then any will do.
    fn gateway_key(&self) -> Result<[u8; 32], Stop> {
        let Some(file) = &self.gateway_key_file else {
            return Ok([0; 32]);
        };
        let content = read(file, "--gateway-key-file", KEY_BYTES_MAX)?;
        let value = VaultValue::of_file("the gateway's key", &content);
        let value = value.ok_or_else(|| {
            let rule = "must hold 32 bytes, raw or in base64url without padding";
            refuse("--gateway-key-file", file, rule)
        })?;
        Ok(value.bytes)
    }

    fn recipient(&self, key: &[u8; 32]) -> Result<String, Stop> {
        let refused = |what: &str| Stop::new(Exit::Refused, what.to_owned());
        if let Some(hash) = &self.destination_hash {
            return match HashText::parse(hash) {
                Some(_) => Ok(hash.clone()),
                None => Err(refused(
                    "--destination-hash must be 43 characters of base64url",
                )),
            };
        }
        let destination = self.destination.as_deref().unwrap_or_default();
        let (kind, value) = destination
            .split_once(':')
            .ok_or_else(|| refused("--destination must be TYPE:VALUE"))?;
        let place = canonical(kind, value).map_err(|error| match error {
            NoDestination::UnsupportedType => refused(
                "--destination: there are the types phone_e164, wa_id, wa_jid and email; for \
                 another one give --destination-hash",
            ),
            NoDestination::InvalidHandle => refused("--destination: the value is not of its type"),
        })?;
        Ok(keyed_hash(key, &place))
    }

    /// The token as it came; what cannot be one is for the verifier to refuse.
    fn token(&self) -> Result<String, Stop> {
        let content = match &self.token {
            Some(file) => read(file, "the token", TOKEN_BYTES_MAX)?,
            None => {
                let mut content = Vec::new();
                let mut input = std::io::stdin().lock().take(TOKEN_BYTES_MAX);
                let read = input.read_to_end(&mut content);
                read.map_err(|_| Stop::new(Exit::Refused, "standard input cannot be read"))?;
                content
            }
        };
        Ok(String::from_utf8_lossy(&content).trim().to_owned())
    }
}

/// At most so many bytes of a file, and one more, so that a longer one is not taken for whole.
fn read(file: &Path, what: &str, bytes_max: u64) -> Result<Vec<u8>, Stop> {
    let mut content = Vec::new();
    let opened = fs::File::open(file);
    opened
        .and_then(|opened| opened.take(bytes_max + 1).read_to_end(&mut content))
        .map_err(|error| refuse(what, file, &format!("cannot be read: {error}")))?;
    if content.len() as u64 > bytes_max {
        return Err(refuse(
            what,
            file,
            &format!("has more than {bytes_max} bytes"),
        ));
    }
    Ok(content)
}

fn refuse(what: &str, file: &Path, rule: &str) -> Stop {
    Stop::new(
        Exit::Refused,
        format!("{what} ({}): {rule}", file.display()),
    )
}

/// The claims for people.
fn told(claims: &Claims) -> String {
    let time = |seconds: i64| print::time(Timestamp(seconds.saturating_mul(1_000)));
    format!(
        "accepted: decision {}, {} on {} through {}, issued {}, over {}, key {}",
        claims.jti,
        claims.purpose,
        claims.channel,
        claims.gateway,
        time(claims.iat),
        time(claims.exp),
        claims.kid
    )
}

/// A refusal for people: its code, and what to do.
fn sentence(refusal: Refusal) -> String {
    let why = match refusal {
        Refusal::Malformed => "this is no contact token",
        Refusal::UnsupportedVersion => "the token is of another version; use a newer program",
        Refusal::UnknownKey => {
            "no published key of the token's space has its id; read the keys again, at most once a \
             minute"
        }
        Refusal::BadSignature => "the signature is not the key's over this token",
        Refusal::WrongSpace => "the token is of another space",
        Refusal::WrongGateway => "the token is for another gateway",
        Refusal::LifetimeTooLong => "the token says it lives longer than any does",
        Refusal::NotYetValid => "the token begins later; compare the clocks",
        Refusal::Expired => "the token is over",
        Refusal::WrongChannel => "the token is for another channel",
        Refusal::WrongRecipient => "the token is for somebody else",
        Refusal::Replayed => "the token was used",
    };
    format!("{refusal}: {why}; the message must not leave, only a new check gives a new token")
}
