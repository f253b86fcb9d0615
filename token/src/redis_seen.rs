//! Used tokens in a Redis that all processes of a gateway share.
//!
//! Here: one atomic command for each token, and what happens when Redis does not answer: the token is
//! not let through. Not here: running Redis. Behind the feature `redis`.

use std::fmt;
use std::time::Duration;

use redis::{Client, Connection, IntoConnectionInfo, RedisError};

use crate::seen::{Seen, SeenError};

/// How much longer an id is kept than its token lives, in seconds: the clocks of Redis and of the
/// gateways may be so far apart before a token that a slow clock still takes is forgotten.
const CLOCKS_APART_S: i64 = 60;

/// A memory that several processes share: a key of Redis for each used token, kept until the token is
/// over, by Redis's clock.
///
/// The look and the memory are one command (`SET … NX EXAT`), so of two processes one is first. When
/// Redis does not answer, or answers anything else, the token is not let through; the next call
/// connects again. Redis must not forget keys by itself: its `maxmemory-policy` must be `noeviction`,
/// and a replica that takes over may lack the last keys, so a token could then go twice. TLS
/// (`rediss://`) needs that feature of the crate `redis`.
///
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use std::time::Duration;
/// use interlock_token::{Gateway, Identity, RedisSeen};
///
/// # let identity = Identity { gateway_id: String::new(), space: String::new(), key: [0; 32] };
/// # let keys = || Ok(br#"{"keys": []}"#.to_vec());
/// let patience = Duration::from_millis(200);
/// let seen = RedisSeen::new("redis://127.0.0.1:6379", "contact-token:", patience)?;
/// let gateway = Gateway::new(identity, keys, seen);
/// # let _ = gateway;
/// # Ok(())
/// # }
/// ```
pub struct RedisSeen {
    client: Client,
    /// `None`: before the first call and after a failure.
    connection: Option<Connection>,
    prefix: String,
    patience: Duration,
}

impl fmt::Debug for RedisSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address may hold a password.
        f.debug_struct("RedisSeen")
            .field("prefix", &self.prefix)
            .finish_non_exhaustive()
    }
}

impl RedisSeen {
    /// At an address such as `redis://127.0.0.1:6379/0` or `unix:///run/redis.sock`, with keys that
    /// begin with `prefix`. Waits at most `patience` for a connection, and for each answer. Connects
    /// with the first token.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(
        address: &str,
        prefix: impl Into<String>,
        patience: Duration,
    ) -> Result<Self, SeenError> {
        let place = address.into_connection_info().map_err(failed)?;
        // A connection then begins with nothing that has to be answered.
        let settings = place.redis_settings().clone().set_skip_set_lib_name();
        let client = Client::open(place.set_redis_settings(settings));
        Ok(Self {
            client: client.map_err(failed)?,
            connection: None,
            prefix: prefix.into(),
            patience,
        })
    }

    fn connect(&self) -> Result<Connection, RedisError> {
        let connection = self.client.get_connection_with_timeout(self.patience)?;
        connection.set_read_timeout(Some(self.patience))?;
        connection.set_write_timeout(Some(self.patience))?;
        Ok(connection)
    }
}

impl Seen for RedisSeen {
    fn first_time(&mut self, jti: &str, until: i64, _now: i64) -> Result<bool, SeenError> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().map_err(failed)?,
        };
        let mut command = redis::cmd("SET");
        command.arg(format!("{}{jti}", self.prefix)).arg(1);
        command.arg("NX").arg("EXAT");
        command.arg(until.saturating_add(CLOCKS_APART_S));
        // Redis says OK to the first, and nothing to every other one.
        let said: Option<String> = command.query(&mut connection).map_err(failed)?;
        // Only a connection that answered is used again: after a failure it may still hold the answer
        // for another token.
        self.connection = Some(connection);
        match said.as_deref() {
            Some("OK") => Ok(true),
            None => Ok(false),
            Some(_) => Err(SeenError("Redis answered something else".into())),
        }
    }
}

fn failed(error: RedisError) -> SeenError {
    SeenError(error.into())
}
