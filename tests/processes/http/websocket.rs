//! The event stream as a WebSocket (RFC 6455), spoken by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line, PATIENCE};
use serde_json::{Value, json};

use super::client::{get, serving};

/// The example of RFC 6455, section 1.3.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

const TEXT: u8 = 1;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A client's end.
struct Socket(BufReader<TcpStream>);

/// Asks for a WebSocket; the status, if there is none.
fn open(address: SocketAddr, path: &str, headers: &[(&str, &str)]) -> Result<Socket, u16> {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
    let mut head = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n"
    );
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("sent");
    let mut socket = Socket(BufReader::new(stream));
    let status = socket.line();
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    if status != 101 {
        return Err(status);
    }
    let mut lines = std::iter::from_fn(|| Some(socket.line()).filter(|line| !line.is_empty()));
    assert!(
        lines.any(|line| line.eq_ignore_ascii_case(&format!("sec-websocket-accept: {ACCEPT}")))
    );
    lines.for_each(drop);
    Ok(socket)
}

impl Socket {
    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).expect("a line") > 0, "the connection has ended");
        line.trim_end().to_owned()
    }

    /// The next frame: what it is, and its payload.
    fn frame(&mut self) -> (u8, Vec<u8>) {
        let mut head = [0; 2];
        self.0.read_exact(&mut head).expect("a frame");
        let [kind, length] = head;
        assert_eq!((kind & 0xf0, length & 0x80), (0x80, 0), "whole, and not masked");
        let length = match length {
            126 => {
                let mut long = [0; 2];
                self.0.read_exact(&mut long).expect("a length");
                u64::from(u16::from_be_bytes(long))
            }
            127 => {
                let mut long = [0; 8];
                self.0.read_exact(&mut long).expect("a length");
                u64::from_be_bytes(long)
            }
            short => u64::from(short),
        };
        let mut payload = Vec::new();
        (&mut self.0).take(length).read_to_end(&mut payload).expect("a payload");
        (kind & 0xf, payload)
    }

    /// The next message; it has to be text.
    fn next(&mut self) -> Value {
        let (kind, payload) = self.frame();
        assert_eq!(kind, TEXT, "{payload:?}");
        serde_json::from_slice(&payload).expect("JSON")
    }

    fn wait(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let message = self.next();
            if is_it(&message) {
                return message;
            }
            assert!(begun.elapsed() < PATIENCE, "it did not come, but {message}");
        }
    }

    /// Sends a short frame; those of clients are masked.
    fn send(&mut self, kind: u8, payload: &[u8]) {
        let mask = [1, 2, 3, 4];
        let mut frame = vec![0x80 | kind, 0x80 | u8::try_from(payload.len()).expect("short")];
        frame.extend(mask);
        frame.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        self.0.get_mut().write_all(&frame).expect("sent");
    }
}

/// The messages are those of the stream of server-sent events, and a client resumes.
#[test]
fn a_websocket_has_the_events_and_resumes() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let path = "/api/v1/events";
    let mut socket = open(a, path, &[("Origin", &format!("http://{a}"))]).expect("a socket");
    let state = socket.next();
    assert_eq!(state["event"], "state", "{state}");
    assert_eq!(state["data"]["cars"][0]["car"], "A", "{state}");
    building.press("A", building.hall(2, Direction::Up));
    let placed = socket.wait(|message| message["data"]["event"] == "placed");
    let hall = json!({"kind": "hall", "floor": 2, "direction": "up"});
    assert_eq!((&placed["event"], &placed["data"]["call"]), (&json!("event"), &hall));
    socket.send(PING, b"there?");
    let begun = Instant::now();
    while socket.frame() != (PONG, b"there?".to_vec()) {
        assert!(begun.elapsed() < PATIENCE, "no answer to the ping");
    }
    drop(socket);
    building.wait("the order is served", |building| {
        building.status("A").is_some_and(|status| status.orders.is_empty())
    });
    let id = placed["id"].as_str().expect("an id");
    let mut socket = open(a, &format!("{path}?after={id}"), &[]).expect("a socket");
    assert_eq!(socket.next()["event"], "state");
    let number = |id: &Value| id.as_str()?.split('-').nth(1)?.parse::<u64>().ok();
    let next = socket.next();
    assert_eq!(number(&next["id"]), number(&placed["id"]).map(|number| number + 1), "{next}");
    socket.wait(|message| message["data"]["event"] == "served");
    // It has nothing to say.
    socket.send(TEXT, b"hello");
    let begun = Instant::now();
    let reason = loop {
        if let (CLOSE, payload) = socket.frame() {
            break payload;
        }
        assert!(begun.elapsed() < PATIENCE, "it goes on");
    };
    assert_eq!(reason[..2], 1008_u16.to_be_bytes());
    building.assert_safe();
}

#[test]
fn a_page_of_another_site_gets_no_websocket() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let refused = |path: &str, headers: &[(&str, &str)]| open(a, path, headers).err();
    assert_eq!(refused("/api/v1/events", &[("Origin", "http://evil.example")]), Some(403));
    assert_eq!(refused("/api/v1/events", &[("Origin", "null")]), Some(403));
    assert_eq!(refused("/api/v1/events?recent=x", &[]), Some(400));
}

/// A client that goes away leaves its place to another one.
#[test]
fn the_place_of_a_websocket_that_is_gone_is_free() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let streams = || {
        let page = get(a, "/metrics").body;
        let line = page.lines().find(|line| line.starts_with("liftmesh_http_event_streams"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
    };
    let mut stays = open(a, "/api/v1/events", &[]).expect("a socket");
    let goes = open(a, "/api/v1/events", &[]).expect("a socket");
    assert_eq!(streams(), Some(2.0));
    drop(goes);
    building.wait("its place is free", |_| streams() == Some(1.0));
    stays.wait(|message| message["event"] == "state");
}

/// A connection that has become a WebSocket keeps its place among the 256 of an account.
#[test]
fn websockets_count_as_connections() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    let sockets: Vec<_> =
        (0..190).map(|_| open(a, "/api/v1/events", &[]).expect("a socket")).collect();
    let mut silent: Vec<_> = (0..200)
        .map(|_| {
            let stream = TcpStream::connect(a).expect("a connection");
            stream.set_nonblocking(true).expect("set");
            stream
        })
        .collect();
    let mut closed = 0;
    building.wait("those without a place are closed", |_| {
        silent.retain_mut(|stream| match stream.read(&mut [0]) {
            Err(error) => error.kind() == std::io::ErrorKind::WouldBlock,
            Ok(_) => false,
        });
        closed = 200 - silent.len();
        // 66 have places, and four more for a moment.
        closed >= 130
    });
    assert!(closed <= 135, "{closed} were closed");
    drop(sockets);
    drop(silent);
    building.wait("their places are free", |_| {
        let mut stream = TcpStream::connect(a).expect("a connection");
        let head = format!("GET /healthz HTTP/1.1\r\nHost: {a}\r\nConnection: close\r\n\r\n");
        let mut answer = String::new();
        stream.write_all(head.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.starts_with("HTTP/1.1 200 ")
    });
}
