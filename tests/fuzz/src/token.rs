//! Contact tokens.
//!
//! A verifier takes what the key signed and nothing else: an accepted text is the very text that
//! signing its claims gives, no changed token is accepted, and of what the key did sign the first
//! rule that is broken is told, which a plain list of the rules says again.

use std::sync::LazyLock;

use interlock_token::{
    Claims, Identity, KeySet, Message, Refusal, TokenKey, keyed_hash, verify, verify_hashed,
};

use crate::Outcome;
use crate::input::Input;

const NOW: i64 = 1_790_000_010;
const SPACES: [&str; 2] = [
    "0192f5a0-0000-7000-8000-00000000a004",
    "0192f5a0-0000-7000-8000-00000000b004",
];
const DESTINATION: &str = "phone:+5511987654321";
const CHANNEL: &str = "whatsapp";

static KEY: LazyLock<TokenKey> = LazyLock::new(|| TokenKey::from_seed(&[3; 32]));
static FOREIGN: LazyLock<TokenKey> = LazyLock::new(|| TokenKey::from_seed(&[4; 32]));

static IDENTITY: LazyLock<Identity> = LazyLock::new(|| Identity {
    gateway_id: "wa_gateway".to_owned(),
    space: SPACES[0].to_owned(),
    key: [5; 32],
});

/// The key under three ids: in use in both spaces, and retired in the first.
static KEYS: LazyLock<KeySet> = LazyLock::new(|| {
    let key = |kid: &str, space: &str, end: &str| {
        let x = KEY.public();
        format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}","kid":"{kid}","space":"{space}"{end}}}"#)
    };
    let retired = r#","not_after":"2026-09-21T13:06:50Z""#;
    let keys = [
        key("key_in_use", SPACES[0], ""),
        key("key_in_use", SPACES[1], ""),
        key("key_retired", SPACES[0], retired),
    ];
    let document = format!(r#"{{"keys":[{}]}}"#, keys.join(","));
    KeySet::read(document.as_bytes()).expect("it is a key set")
});

/// By the first byte: the text of a token, claims that are signed and judged, or a signed token that
/// is changed.
///
/// # Panics
/// When a property is broken.
pub fn token(input: &[u8]) -> Outcome {
    let mut input = Input(input);
    match input.u8() % 3 {
        0 => match std::str::from_utf8(input.0) {
            Ok(text) => sent(text),
            Err(_) => Outcome::Refused,
        },
        1 => signed(&mut input),
        _ => changed(&mut input),
    }
}

fn judge(token: &str) -> Result<Claims, Refusal> {
    let message = Message {
        channel: CHANNEL,
        destination: DESTINATION,
    };
    let judged = verify(token, &KEYS, &IDENTITY, message, NOW);
    let recipient = keyed_hash(&IDENTITY.key, DESTINATION);
    let hashed = verify_hashed(token, &KEYS, &IDENTITY, CHANNEL, &recipient, NOW);
    assert_eq!(judged, hashed, "the hash of a recipient is the recipient");
    judged
}

/// What a gateway receives.
fn sent(text: &str) -> Outcome {
    match judge(text) {
        Ok(claims) => {
            assert_eq!(KEY.sign(&claims), text, "nobody signed this");
            Outcome::Accepted
        }
        Err(_) => Outcome::Refused,
    }
}

/// Claims that may break a rule, and the refusal of the first that is broken.
fn claims(input: &mut Input<'_>) -> (Claims, Option<Refusal>) {
    let broken = input.u8();
    let breaks = |rule: u8| broken & (1 << rule) != 0;
    let near = |input: &mut Input<'_>| i64::from(input.u16().cast_signed() / 64);
    let (far, begin, life) = (breaks(7), near(input), near(input));
    let iat = NOW.saturating_add(if far { begin << 40 } else { begin });
    let exp = iat.saturating_add(life);
    let choose = |rule: u8, right: &'static str, wrong: &'static str| {
        if breaks(rule) { wrong } else { right }.to_owned()
    };
    let space = usize::from(breaks(2));
    let recipient = if breaks(6) { "phone:+1" } else { DESTINATION };
    let claims = Claims {
        kid: choose(0, "key_in_use", choose_kid(breaks(1))),
        space: SPACES[space].to_owned(),
        jti: "0199a3b2-5c00-7a1e-8f3d-2b6c0e4a9d01".to_owned(),
        purpose: "marketing".to_owned(),
        channel: choose(5, CHANNEL, "email"),
        rcpt: keyed_hash(&IDENTITY.key, recipient),
        gateway: choose(3, "wa_gateway", "other_gateway"),
        iat,
        exp,
    };
    let rules = [
        (breaks(0), Refusal::UnknownKey),
        (breaks(4), Refusal::BadSignature),
        (breaks(2), Refusal::WrongSpace),
        (breaks(3), Refusal::WrongGateway),
        (exp <= iat || exp - iat > 120, Refusal::LifetimeTooLong),
        (iat > NOW + 5, Refusal::NotYetValid),
        (NOW >= exp + 5, Refusal::Expired),
        (breaks(5), Refusal::WrongChannel),
        (breaks(6), Refusal::WrongRecipient),
    ];
    let first = rules.into_iter().find(|(broken, _)| *broken);
    (claims, first.map(|(_, refusal)| refusal))
}

const fn choose_kid(retired: bool) -> &'static str {
    if retired {
        "key_retired"
    } else {
        "key_unknown"
    }
}

/// What the key signs, right or wrong.
fn signed(input: &mut Input<'_>) -> Outcome {
    let (claims, refusal) = claims(input);
    let signer: &TokenKey = if refusal_is_by_signature(refusal) {
        &FOREIGN
    } else {
        &KEY
    };
    let judged = judge(&signer.sign(&claims));
    match refusal {
        None => {
            assert_eq!(judged, Ok(claims));
            Outcome::Accepted
        }
        Some(refusal) => {
            assert_eq!(judged, Err(refusal));
            Outcome::Refused
        }
    }
}

fn refusal_is_by_signature(refusal: Option<Refusal>) -> bool {
    refusal == Some(Refusal::BadSignature)
}

/// A token that the key signed, one byte changed, gone or more.
fn changed(input: &mut Input<'_>) -> Outcome {
    let (claims, _) = claims(input);
    let token = KEY.sign(&claims);
    let mut bytes = token.clone().into_bytes();
    let at = input.place(bytes.len());
    match input.u8() % 3 {
        0 => bytes[at] ^= input.flip(),
        1 => drop(bytes.remove(at)),
        _ => bytes.insert(at, input.u8()),
    }
    let changed = String::from_utf8(bytes)
        .ok()
        .filter(|other| *other != token);
    if let Some(changed) = changed {
        let judged = judge(&changed);
        assert!(judged.is_err(), "{changed} was not signed");
    }
    Outcome::Refused
}
