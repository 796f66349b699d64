//! A client for HTTP/1.1, just enough to test a server: one request a connection.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use liftmesh_harness::building::{Building, PATIENCE};
use serde_json::{Value, json};

/// What a node has answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem, which has to be one of RFC 9457.
    #[track_caller]
    pub(crate) fn problem(&self) -> String {
        assert!(self.head.contains("content-type: application/problem+json\r\n"), "{self:?}");
        let problem = self.json();
        assert_eq!(problem["status"], self.status, "{self:?}");
        problem["code"].as_str().expect("a code").to_owned()
    }
}

/// Where a node of a building serves HTTP.
pub(crate) fn address(building: &Building, number: u8) -> SocketAddr {
    SocketAddr::new(building.endpoint(number).0.into(), 7080)
}

/// The same, once it does.
pub(crate) fn serving(building: &Building, number: u8) -> SocketAddr {
    let address = address(building, number);
    building.wait("HTTP is served", |_| TcpStream::connect(address).is_ok());
    address
}

pub(crate) fn get(address: SocketAddr, path: &str) -> Answer {
    request(address, "GET", path, &[], "")
}

/// Posts JSON with a token, if there is one.
pub(crate) fn post(address: SocketAddr, path: &str, token: Option<&str>, body: &str) -> Answer {
    let bearer = token.map(|token| format!("Bearer {token}"));
    let header = bearer.as_deref().map(|bearer| ("Authorization", bearer));
    request(address, "POST", path, header.as_slice(), body)
}

/// Gives a command with a token.
pub(super) fn command(address: SocketAddr, token: &str, command: &Value) -> Answer {
    let body = json!({"command": command, "operator": "J. Kovac", "reason": "new carpet"});
    post(address, "/api/v1/commands", Some(token), &body.to_string())
}

/// Puts JSON with a token.
pub(super) fn put(address: SocketAddr, path: &str, token: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    request(address, "PUT", path, &[("Authorization", &bearer)], &body.to_string())
}

pub(crate) fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    let mut stream = send(address, method, path, headers, body);
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, head: format!("{head}\r\n"), body: body.to_owned() }
}

fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    if headers.iter().all(|(name, _)| *name != "Host") {
        write!(head, "Host: {address}\r\n").expect("text");
    }
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if !body.is_empty() {
        write!(head, "Content-Length: {}\r\n", body.len()).expect("text");
    }
    // The server may have answered before it has read a body that is too long.
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).ok();
    stream
}

/// A message of an event stream.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) kind: String,
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

/// The messages of a node's event stream.
pub(crate) struct Events(BufReader<TcpStream>);

impl Events {
    /// Follows the events; after the one with this id, if there is one.
    pub(crate) fn follow(address: SocketAddr, after: Option<&str>) -> Self {
        Self::at(address, "/api/v1/events", after)
    }

    /// The same, at this path.
    pub(super) fn at(address: SocketAddr, path: &str, after: Option<&str>) -> Self {
        let header = after.map(|id| ("Last-Event-ID", id));
        let stream = send(address, "GET", path, header.as_slice(), "");
        let mut events = Self(BufReader::new(stream));
        let status = events.line();
        assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let length = self.0.read_line(&mut line).expect("a line");
        assert!(length > 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The next message. Each is a chunk, so that the lines of the encoding stand between messages.
    pub(crate) fn next(&mut self) -> Message {
        let (mut kind, mut id) = (String::new(), None);
        loop {
            let line = self.line();
            if let Some(text) = line.strip_prefix("event: ") {
                text.clone_into(&mut kind);
            } else if let Some(text) = line.strip_prefix("id: ") {
                id = Some(text.to_owned());
            } else if let Some(text) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(text).expect("JSON");
                return Message { kind, id, data };
            }
        }
    }

    /// The next message of a kind that fulfils a condition.
    pub(crate) fn wait(&mut self, kind: &str, is_it: impl Fn(&Value) -> bool) -> Message {
        let begun = std::time::Instant::now();
        loop {
            let message = self.next();
            if message.kind == kind && is_it(&message.data) {
                return message;
            }
            assert!(begun.elapsed() < PATIENCE, "no {kind} came, but {message:?}");
        }
    }
}
