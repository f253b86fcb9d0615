//! A small blocking client.

use std::time::Duration;

use serde_json::Value;
use ureq::http::Response;
use ureq::{Agent, Body};

use super::{PATIENCE, documented};

/// Asks one server.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    url: String,
    agent: Agent,
}

/// An answer, whatever its status.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answer {
    /// The status.
    pub(crate) status: u16,
    /// `Retry-After`, where there is one.
    pub(crate) retry_after: Option<String>,
    /// The body as it came.
    pub(crate) text: String,
}

impl Answer {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        match serde_json::from_str(&self.text) {
            Ok(json) => json,
            Err(error) => panic!("{error} in {self:?}"),
        }
    }
}

impl Client {
    /// For a server's address.
    pub(crate) fn new(url: &str) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .max_idle_age(Duration::from_secs(30))
            .build()
            .new_agent();
        Self {
            url: url.to_owned(),
            agent,
        }
    }

    /// The address.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// GET with a key; no key when it is empty.
    pub(crate) fn get(&self, path: &str, key: &str) -> Answer {
        let mut request = self.agent.get(format!("{}{path}", self.url));
        if !key.is_empty() {
            request = request.header("Authorization", format!("Bearer {key}"));
        }
        read("GET", path, request.call())
    }

    /// POST of a JSON body with a key.
    pub(crate) fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("Authorization", format!("Bearer {key}"));
        read("POST", path, request.send_json(body))
    }

    /// POST with an Idempotency-Key.
    pub(crate) fn post_once(
        &self,
        path: &str,
        key: &str,
        idempotency_key: &str,
        body: &Value,
    ) -> Answer {
        let request = self
            .agent
            .post(format!("{}{path}", self.url))
            .header("Authorization", format!("Bearer {key}"))
            .header("Idempotency-Key", idempotency_key);
        read("POST", path, request.send_json(body))
    }

    /// PUT of a JSON body without a key.
    pub(crate) fn put(&self, path: &str, body: &Value) -> Answer {
        let request = self.agent.put(format!("{}{path}", self.url));
        read("PUT", path, request.send_json(body))
    }
}

fn read(method: &str, path: &str, answer: Result<Response<Body>, ureq::Error>) -> Answer {
    let mut answer = match answer {
        Ok(answer) => answer,
        Err(error) => panic!("{path}: {error}"),
    };
    let text = answer
        .body_mut()
        .read_to_string()
        .expect("a body in UTF-8 of at most 10 MB");
    let header = |name: &str| answer.headers().get(name)?.to_str().ok();
    let status = answer.status().as_u16();
    documented::hold(&interlock_document::Answer {
        method,
        path,
        status,
        media_type: header("Content-Type"),
        body: text.as_bytes(),
    });
    Answer {
        status,
        retry_after: header("Retry-After").map(str::to_owned),
        text,
    }
}
