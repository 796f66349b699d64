//! A client for HTTP/1.1, just enough to test a server: one request a connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};

use liftmesh_harness::building::{Building, PATIENCE};
use serde_json::Value;

/// What a node has answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The code of a problem.
    pub(crate) fn problem(&self) -> String {
        self.json()["code"].as_str().expect("a code").to_owned()
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
    answer(send(address, "GET", path, None, ""))
}

/// Posts JSON with a token.
pub(super) fn post(address: SocketAddr, path: &str, token: &str, body: &Value) -> Answer {
    let bearer = format!("Bearer {token}");
    answer(send(address, "POST", path, Some(("Authorization", &bearer)), &body.to_string()))
}

fn answer(mut stream: TcpStream) -> Answer {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Answer { status, body: body.to_owned() }
}

fn send(
    address: SocketAddr,
    method: &str,
    path: &str,
    header: Option<(&str, &str)>,
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let header = header.map(|(name, value)| format!("{name}: {value}\r\n")).unwrap_or_default();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{header}\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).expect("sent");
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
    pub(super) fn follow(address: SocketAddr, after: Option<&str>) -> Self {
        let header = after.map(|id| ("Last-Event-ID", id));
        let stream = send(address, "GET", "/api/v1/events", header, "");
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
