//! The first space, so that two commands are enough to ask the first question.
//!
//! Here: what it holds, and what the operator is shown once. Not here: the node's secret
//! (`secret`) and how a space is stored (`registry`). Called by `serve` when there is no space and
//! no seed.

use std::net::SocketAddr;
use std::path::Path;

use interlock_api::directory::{Role, Scope};
use uuid::Uuid;

use crate::exit::{Exit, Stop};
use crate::registry::Registry;
use crate::registry::key_text::KeyText;
use crate::registry::new_space::{COORDINATION, NewKey, NewSource, NewSpace};
use crate::registry::policy;
use crate::secret::random_bytes;

/// Name of the first space.
const SPACE: &str = "default";

/// What is shown once.
#[derive(Debug)]
pub(crate) struct Made {
    space: Uuid,
    source_key: KeyText,
    operator_key: KeyText,
}

/// Makes the first space. Its keys are shown before it is stored: a start that is killed in between
/// leaves keys that nobody can use, and the next one is a first start again. The other way round it
/// would leave a space with keys that nobody has seen.
///
/// # Errors
/// When the log refuses.
pub(crate) fn make(registry: &mut Registry, show: impl FnOnce(&Made)) -> Result<(), Stop> {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, ..] = random_bytes()?;
    let random = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
    let made = Made {
        space: uuid::Builder::from_random_bytes(random).into_uuid(),
        source_key: KeyText::mint(SPACE, false)?,
        operator_key: KeyText::mint(SPACE, false)?,
    };
    let agents = NewKey {
        text: made.source_key.clone(),
        scopes: vec![Scope::Coordinate, Scope::Track, Scope::Context],
        roles: Vec::new(),
    };
    let operator = NewKey {
        text: made.operator_key.clone(),
        scopes: vec![Scope::Admin],
        roles: vec![
            Role::Security,
            Role::Integration,
            Role::Analysis,
            Role::Admin,
        ],
    };
    let source = |name: &str, key| NewSource {
        name: name.to_owned(),
        keys: vec![key],
    };
    let space = NewSpace {
        id: made.space,
        name: SPACE.to_owned(),
        features: vec![COORDINATION.to_owned()],
        sources: vec![source("agents", agents), source("operator", operator)],
        vault: Vec::new(),
        coordination: policy::default_document(),
    };
    show(&made);
    registry.create(&space, Exit::Bug)
}

/// Where the first question goes, and whether it can be allowed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    /// The server's address.
    pub(crate) address: SocketAddr,
    /// It speaks TLS.
    pub(crate) tls: bool,
    /// The disk has too little room for anything new.
    pub(crate) scarce: bool,
}

/// The block of a first start. It is the only place the keys are ever shown.
pub(crate) fn block(made: &Made, data: Option<&Path>, asking: &Asking) -> String {
    let home = data.map_or_else(
        || "made, in memory only,".to_owned(),
        |data| format!("made {} with", data.display()),
    );
    let source = made.source_key.reveal();
    let operator = made.operator_key.reveal();
    format!(
        "\
first start: {home} a secret and the space `{SPACE}` ({space})

  source key    {source}
  operator key  {operator}

Keep them: they are stored as keyed hashes and never shown again. {ask}:

{curl}
",
        space = made.space,
        ask = match asking.scarce {
            true => "Once the disk has room, ask the first question",
            false => "Ask the first question",
        },
        curl = curl_line(asking.address, asking.tls, source),
    )
}

/// A question that works as pasted. `key` is a key's text or a shell variable.
pub(crate) fn curl_line(address: SocketAddr, tls: bool, key: &str) -> String {
    let url = url(address, tls);
    format!(
        "curl -sS {url}/v1/coordination/check -H \"Authorization: Bearer {key}\" \
         -H 'Content-Type: application/json' -d '{{\"agent\":\"closing\",\"intent\":\"follow_up\",\
         \"direction\":\"outbound\",\"purpose\":\"service\",\"channel\":\"whatsapp\",\
         \"subject\":{{\"type\":\"phone_e164\",\"value\":\"+5511987654321\"}}}}'"
    )
}

/// Where this machine reaches the server: a server that listens everywhere is at home on loopback.
pub(crate) fn url(address: SocketAddr, tls: bool) -> String {
    let mut near = address;
    if address.ip().is_unspecified() {
        near.set_ip(match address {
            SocketAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
            SocketAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
        });
    }
    let scheme = if tls { "https" } else { "http" };
    format!("{scheme}://{near}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_one_line_of_valid_json() {
        let line = curl_line("0.0.0.0:7440".parse().unwrap(), false, "$INTERLOCK_KEY");
        assert!(line.starts_with("curl -sS http://127.0.0.1:7440/v1/coordination/check "));
        assert!(!line.contains('\n'));
        let body = line.split("-d '").nth(1).unwrap().trim_end_matches('\'');
        let body: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(body["purpose"], "service");
    }
}
