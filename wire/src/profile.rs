//! `GET /healthz`, `/readyz`, `/v1/sdk/profile` and `/v1/sources/me`: what the node and a key are.

use crate::answer::answer;
use crate::value::{Count, Label, Text, Uuid};

answer! {
    /// How the node is.
    derive(Clone, Copy, Debug)
    NodeStatus {
        /// `ok` or `ready`.
        status: required &'static str as Text,
    }
}

answer! {
    /// What the space of the key has turned on.
    derive(Clone, Copy, Debug)
    SdkProfile<'a> {
        /// The features, for example `coordination`.
        features: present &'a [&'static str] as Label<'_>,
        /// How long a client may rely on this answer, in seconds.
        valid_for_s: required u64 as Count,
    }
}

answer! {
    /// What the key is.
    derive(Clone, Debug)
    SourceMe<'a> {
        /// The space.
        space_id: required [u8; 16] as Uuid,
        /// The tenant; a space is one, so both ids are the same.
        tenant_id: required [u8; 16] as Uuid,
        /// The region the key names.
        region: required &'a str as Text,
        /// `test` or `live`.
        environment: required &'static str as Text,
        /// The source's number in the space.
        source_number: required u32 as Count,
        /// The source.
        source_id: required &'a str as Text,
        /// The source's name.
        source_name: required &'a str as Text,
        /// The key, without its secret.
        key_id: required &'a str as Text,
        /// What the key may do.
        scopes: present Vec<&'static str> as Label<'_>,
        /// For whom answers are; always `agent`.
        audience: required &'static str as Text,
        /// The highest verification of customers; a coordinator verifies nobody.
        verification_ceiling: required &'static str as Text,
    }
}
