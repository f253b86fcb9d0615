//! Questions beside the load: one request at a time, the answer whole. Here also what the server's
//! `/metrics` say.

use std::io::Write as _;
use std::net::TcpStream;
use std::time::Duration;

use crate::http::Reader;
use crate::target::Endpoint;

const ANSWER_WAIT: Duration = Duration::from_secs(30);

/// A connection for questions.
#[derive(Debug)]
pub(crate) struct Client {
    stream: TcpStream,
    reader: Reader,
    to: Endpoint,
}

impl Client {
    /// Connects.
    pub(crate) fn connect(to: &Endpoint) -> Result<Self, String> {
        let failed =
            |error: std::io::Error| format!("{}: {error}; is a server running there?", to.address);
        let stream = TcpStream::connect_timeout(&to.address, ANSWER_WAIT).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        stream.set_read_timeout(Some(ANSWER_WAIT)).map_err(failed)?;
        Ok(Self {
            stream,
            reader: Reader::new(),
            to: to.clone(),
        })
    }

    /// GET; the body of a 200.
    pub(crate) fn get(&mut self, path: &str) -> Result<String, String> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n",
            self.to.host, self.to.key
        );
        let (status, body) = self.send(request.as_bytes())?;
        let text = String::from_utf8_lossy(&body).into_owned();
        if status == 200 {
            Ok(text)
        } else {
            Err(format!("GET {path}: status {status}: {text}"))
        }
    }

    /// Sends a whole request; status and body of its answer.
    pub(crate) fn send(&mut self, request: &[u8]) -> Result<(u16, Vec<u8>), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.to.address);
        self.stream.write_all(request).map_err(failed)?;
        let answer = self.reader.read(&mut self.stream).map_err(failed)?;
        Ok((answer.status, self.reader.body().to_vec()))
    }
}

/// A look at `/metrics`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metrics(String);

impl Metrics {
    /// Asks the server.
    pub(crate) fn of(to: &Endpoint) -> Result<Self, String> {
        Client::connect(to)?.get("/metrics").map(Self)
    }

    /// A metric by the number of its shard, or as one value when it has none.
    pub(crate) fn by_shard(&self, name: &str) -> Vec<f64> {
        let mut values = Vec::new();
        for (labels, value) in self.rows(name) {
            let shard = labels
                .split_once("shard=\"")
                .and_then(|(_, rest)| rest.split_once('"'))
                .and_then(|(number, _)| number.parse::<usize>().ok())
                .unwrap_or(0);
            if values.len() <= shard {
                values.resize(shard + 1, 0.0);
            }
            values[shard] += value;
        }
        values
    }

    /// The sum over all labels.
    pub(crate) fn sum(&self, name: &str) -> f64 {
        self.rows(name).map(|(_, value)| value).sum()
    }

    fn rows<'a>(&'a self, name: &'a str) -> impl Iterator<Item = (&'a str, f64)> {
        self.0.lines().filter_map(move |line| {
            let rest = line.strip_prefix(name)?;
            let (labels, value) = rest.rsplit_once(' ')?;
            let whole_name = labels.is_empty() || labels.starts_with('{');
            let value = value.parse().ok()?;
            whole_name.then_some((labels, value))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_add_up_by_shard() {
        let metrics = Metrics(
            "# TYPE a counter\na{kind=\"x\",shard=\"1\"} 2\na{shard=\"0\"} 1.5\n\
             a{shard=\"1\"} 3\na_b{shard=\"0\"} 9\nc 7\n"
                .to_owned(),
        );
        assert_eq!(metrics.by_shard("a"), [1.5, 5.0]);
        assert_eq!(metrics.by_shard("c"), [7.0]);
        assert!((metrics.sum("a") - 6.5).abs() < 1e-9);
        assert!(metrics.by_shard("b").is_empty());
    }
}
