mod api;
mod bench;
mod latched;
mod metrics;

use std::pin::pin;
use std::time::Duration;

use axum::http::request::Builder;
use serde_json::{Value, json};
use socket2::{SockFilter, SockRef};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use self::bench::{
    BEYOND, CALL, LOOPBACK, Line, OPERATE, Side, TOKENS, VIEW, frames, json, next, text,
};
use super::places::STREAMS;
use super::server;
use crate::operator::EVENTS;

const CALLS: &str = "/api/v1/calls";
const COMMANDS: &str = "/api/v1/commands";
const EVENTS_PATH: &str = "/api/v1/events";
const SESSIONS: &str = "/api/v1/sessions";

#[tokio::test]
async fn beyond_loopback_reading_needs_a_token() {
    let read = ["/api/v1/fleet", "/api/v1/cars", "/api/v1/orders", EVENTS_PATH, "/metrics"];
    let (far, near) = (Side::new(BEYOND), Side::new(LOOPBACK));
    for path in read.into_iter().chain(["/readyz"]) {
        assert_eq!(far.status(path, None).await, 401, "{path}");
        assert_eq!(far.status(path, Some("other")).await, 401, "{path}");
    }
    for path in read {
        assert_eq!(far.status(path, VIEW).await, 200, "{path}");
        assert_eq!(near.status(path, None).await, 200, "{path}");
    }
    // They say nothing of the fleet, and a browser has no token before it has the page.
    for path in ["/", "/healthz"] {
        assert_eq!(far.status(path, None).await, 200, "{path}");
    }
}

/// As the document says of each operation.
#[tokio::test(start_paused = true)]
async fn a_change_needs_a_token_of_enough_scope() {
    let side = Side::new(LOOPBACK);
    let api = side.get("/api/v1/openapi.json").await;
    let mut checked = 0;
    for (path, item) in api["paths"].as_object().unwrap() {
        let place = format!("/api/v1{}", path.replace("{car}", "A").replace("{id}", "x"));
        for (method, operation) in item.as_object().unwrap() {
            let security = operation["security"].as_array().unwrap();
            let Some(needed) = security[0]["token"][0].as_str() else { continue };
            let method = method.to_uppercase();
            for (scope, token) in TOKENS {
                // No limit of requests is reached.
                advance(Duration::from_secs(1)).await;
                let (_, said) = side.json(&method, &place, Some(token), &Value::Null).await;
                let is_refused = said["code"] == "scope_missing";
                let is_less =
                    scope < TOKENS.iter().find(|it| it.0.to_string() == needed).unwrap().0;
                assert_eq!(is_refused, is_less, "{method} {path} with {scope}: {said}");
            }
            let (status, _) = side.json(&method, &place, None, &Value::Null).await;
            assert_eq!(status, 401, "{method} {path}");
            checked += 1;
        }
    }
    assert!(checked > 8, "{checked}");
    for (method, path) in [("POST", "/api/v1/tokens"), ("PUT", "/api/v1/cable")] {
        let (status, said) = side.json(method, path, OPERATE, &json!({})).await;
        assert_eq!((status, &said["code"]), (403, &json!("local_only")), "{path}");
    }
}

/// A valid token has its limit as well, and uses up nobody else's.
#[tokio::test(start_paused = true)]
async fn a_token_has_a_limit_of_requests() {
    let side = Side::new(LOOPBACK);
    for (token, allowed, refusal) in [(CALL, 40, 400), (None, 20, 401)] {
        for _ in 0..allowed {
            assert_eq!(side.ask("POST", CALLS, token, &json!({})).await.status(), refusal);
        }
        let refused = side.ask("POST", CALLS, token, &json!({})).await;
        assert_eq!(refused.headers()["retry-after"], "1");
        let (status, said) = json(refused).await;
        assert_eq!((status, &said["code"]), (429, &json!("rate_limited")));
        assert_eq!(side.ask("POST", CALLS, OPERATE, &json!({})).await.status(), 400);
        advance(Duration::from_secs(1)).await;
        assert_eq!(side.ask("POST", CALLS, token, &json!({})).await.status(), refusal);
    }
}

/// A browser takes a page of another site, whose name was made to point here, for one of this node's.
#[tokio::test]
async fn a_request_for_another_host_is_refused() {
    let (side, _told) = Side::over(LOOPBACK, false, mpsc::channel(1).0);
    for (host, status) in [("evil.example", 421), ("localhost:7080", 200)] {
        let request = Builder::new().uri("/healthz").header("Host", host);
        assert_eq!(side.send(request, None, &Value::Null).await.status(), status, "{host}");
    }
}

/// Browsers let a page of any site open a WebSocket to any host.
#[tokio::test]
async fn a_page_of_another_site_gets_no_websocket() {
    let side = Side::new(LOOPBACK);
    let own = "http://127.0.0.1:7080";
    for (origin, is_own) in [
        (own, true),
        ("https://127.0.0.1:7080", true),
        ("http://evil.example", false),
        ("http://127.0.0.1:9", false),
        ("null", false),
        ("", false),
        ("http://", false),
    ] {
        let request = Builder::new().uri(EVENTS_PATH).header("Sec-WebSocket-Key", "key");
        let request = request.header("Host", LOOPBACK).header("Origin", origin);
        // It lacks the rest of what a WebSocket needs.
        let expected = if is_own { (400, "malformed") } else { (403, "other_origin") };
        let (status, said) = json(side.send(request, None, &Value::Null).await).await;
        assert_eq!((status, said["code"].as_str().unwrap()), expected, "{origin}");
    }
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let side = Side::new(BEYOND);
    let [mut revoked, mut stays] = [
        frames(side.ask("GET", EVENTS_PATH, VIEW, &Value::Null).await),
        frames(side.ask("GET", EVENTS_PATH, OPERATE, &Value::Null).await),
    ];
    for stream in [&mut revoked, &mut stays] {
        assert!(next(stream).await.unwrap().starts_with("event: state\n"));
    }
    side.revoke("of-view");
    while next(&mut revoked).await.is_some() {}
    side.happen(1);
    while !next(&mut stays).await.unwrap().starts_with("event: event\n") {}
}

const WEBSOCKET: &str = "HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

const TEXT: u8 = 1;
const PING: u8 = 9;

/// Why the node ends a WebSocket: because of what the client did.
fn farewell(reason: &str) -> Vec<u8> {
    [&1008_u16.to_be_bytes()[..], reason.as_bytes()].concat()
}

/// The messages are those of the stream of server-sent events, and a client resumes.
#[tokio::test]
async fn a_websocket_has_the_events_and_resumes() {
    let side = Side::new(LOOPBACK);
    let first = r#"{"event":"event","id":"0000000000000007-1-0-00000000","data":{"at":""#;
    let mut line = Line::ask(&side, 1 << 16, &format!("GET {EVENTS_PATH} {WEBSOCKET}")).await;
    line.wait_for(br#"{"event":"state","data":{"fleet":"#).await;
    side.happen(1);
    line.wait_for(first.as_bytes()).await;
    line.send(PING, b"there?").await;
    line.wait_for(b"\x8a\x06there?").await;
    side.happen(1);
    let head = format!("GET {EVENTS_PATH}?after=0000000000000007-1-0-00000000 {WEBSOCKET}");
    let mut resumed = Line::ask(&side, 1 << 16, &head).await;
    resumed.wait_for(first.replace("7-1-", "7-2-").as_bytes()).await;
    assert!(!resumed.has(first.as_bytes()));
    line.send(TEXT, b"hello").await;
    line.wait_for_end().await;
    assert!(line.has(&farewell("this stream accepts no messages")));
}

/// Browsers give a WebSocket no header of the page's, but the protocols that it offers.
#[tokio::test]
async fn a_websocket_with_its_token_as_a_protocol_ends_when_that_is_revoked() {
    let side = Side::new(BEYOND);
    let protocols = format!("Sec-WebSocket-Protocol: liftmesh, {}", VIEW.unwrap());
    let head = format!("GET {EVENTS_PATH} {WEBSOCKET}\r\n{protocols}");
    let mut line = Line::ask(&side, 1 << 16, &head).await;
    line.wait_for(b"\"event\":\"state\"").await;
    let head = String::from_utf8_lossy(&line.read).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-protocol: liftmesh\r\n"), "{head}");
    side.revoke("of-view");
    line.wait_for_end().await;
    assert!(line.read.ends_with(&farewell("the token is no longer valid")));
}

/// Pings are answered, but no flood of them.
#[tokio::test]
async fn a_flood_of_pings_ends_a_websocket() {
    let side = Side::new(LOOPBACK);
    let mut line = Line::ask(&side, 1 << 16, &format!("GET {EVENTS_PATH} {WEBSOCKET}")).await;
    for _ in 0..100 {
        line.send(PING, b"").await;
    }
    line.wait_for_end().await;
    // Pongs may be behind it.
    assert!(line.has(&farewell("too many pings")) && line.has(&[0x8a, 0]));
}

/// A filter that lets nothing through to a socket.
const DROP_ALL: SockFilter = SockFilter::new(6, 0, 0, 0);

#[tokio::test]
async fn a_client_that_takes_nothing_is_disconnected() {
    let side = Side::new(LOOPBACK);
    let begun = Instant::now();
    // Too little room for a state.
    let stuck = [
        Line::ask(&side, 256, "GET /api/v1/events HTTP/1.1").await,
        Line::ask(&side, 256, &format!("GET {EVENTS_PATH} {WEBSOCKET}")).await,
    ];
    // One whose computer has lost its power: nothing that is sent to it gets there.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut vanished = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(server::accept(listener, None, side.router.clone()));
    vanished.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    vanished.read_exact(&mut [0; 12]).await.unwrap();
    SockRef::from(&vanished).attach_filter(&[DROP_ALL]).unwrap();
    let has_streams = async |count: usize| {
        let page = side.ask("GET", "/metrics", None, &Value::Null).await;
        let line = format!("\nliftmesh_http_event_streams {count}\n");
        text(page).await.contains(&line)
    };
    while !has_streams(3).await {
        assert!(begun.elapsed() < Duration::from_secs(5), "they are not served");
    }
    while !has_streams(0).await {
        assert!(begun.elapsed() < Duration::from_mins(1), "they are served still");
    }
    assert!(begun.elapsed() >= Duration::from_secs(10));
    for mut line in stuck {
        line.served.join_next().await.unwrap().unwrap();
    }
}

/// With all that one account may have, another one follows the stream, and everybody's monitoring goes
/// on.
#[tokio::test]
async fn health_is_answered_when_there_are_too_many_connections() {
    let side = Side::new(LOOPBACK);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(server::accept(listener, None, side.router.clone()));
    let ask = async |path: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut status = [0; 12];
        stream.read_exact(&mut status).await.unwrap();
        (stream, String::from_utf8_lossy(&status[9..]).into_owned())
    };
    let mut kept = Vec::new();
    let refused = loop {
        match ask("/api/v1/events").await {
            (stream, status) if status == "200" => kept.push(stream),
            (stream, status) => {
                kept.push(stream);
                break status;
            }
        }
        assert!(kept.len() <= STREAMS, "one account has all streams");
    };
    assert_eq!((refused.as_str(), kept.len()), ("503", 225));
    // The panel has connections left until they are used up, too.
    while ask("/").await.1 == "200" {
        kept.push(TcpStream::connect(address).await.unwrap());
        assert!(kept.len() <= 320, "one account has all connections");
    }
    assert_eq!(ask("/healthz").await.1, "200");
    assert_eq!(side.status(EVENTS_PATH, None).await, 200);
}

#[tokio::test]
async fn a_client_of_a_stream_too_many_is_refused() {
    let side = Side::new(LOOPBACK);
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let stream = side.ask("GET", EVENTS_PATH, None, &Value::Null).await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let (status, said) = side.json("GET", EVENTS_PATH, None, &Value::Null).await;
    assert_eq!((status, &said["code"]), (503, &json!("busy")));
    streams.pop();
    assert_eq!(side.status(EVENTS_PATH, None).await, 200);
}

/// P5 in spirit: whatever is wrong with HTTP, the node goes on, and serves it as soon as that is right.
#[tokio::test(start_paused = true)]
async fn a_port_in_use_is_served_once_it_is_free() {
    let side = Side::new(LOOPBACK);
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = taken.local_addr().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(server::serve(address, None, side.router.clone()));
    sleep(Duration::from_secs(1)).await;
    drop(taken);
    let begun = Instant::now();
    while TcpStream::connect(address).await.is_err() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it is not served");
        sleep(Duration::from_secs(1)).await;
    }
}

#[tokio::test]
async fn a_client_learns_of_events_that_it_has_missed() {
    let side = Side::new(LOOPBACK);
    let mut live = frames(side.ask("GET", EVENTS_PATH, None, &Value::Null).await);
    side.happen(EVENTS + 10);
    let last = format!("\nid: 0000000000000007-{}-0-00000000\n", EVENTS + 10);
    // One that has followed all the time has them all.
    while !next(&mut live).await.unwrap().contains(&last) {}
    for (after, missed) in [
        ("after=0000000000000007-4-0-0", Some("6")),
        ("after=0000000000000007-11-0-0", None),
        ("recent=3", None),
        ("after=0000000000000008-4-1-1", Some("null")),
        ("after=x", Some("null")),
    ] {
        let path = format!("{EVENTS_PATH}?{after}");
        let mut stream = frames(side.ask("GET", &path, None, &Value::Null).await);
        assert!(next(&mut stream).await.unwrap().starts_with("event: state\n"));
        // Another one to come, where there is nothing to resume with.
        side.happen(1);
        let second = next(&mut stream).await.unwrap();
        match missed {
            Some(events) => {
                let expected = format!("event: missed\ndata: {{\"events\":{events}}}\n\n");
                assert_eq!(second, expected, "{after}");
            }
            None => assert!(second.starts_with("event: event\n"), "{after}: {second}"),
        }
    }
}

/// A call that waits for the node's loop keeps nobody else out.
#[tokio::test(start_paused = true)]
async fn requests_are_admitted_while_the_loop_does_not_answer() {
    let (asked, _unanswered) = mpsc::channel(16);
    let (side, _told) = Side::over(BEYOND, true, asked);
    let call = json!({"call": {"kind": "car", "car": "A", "floor": 1}, "request_id": "x"});
    let mut placed = pin!(side.json("POST", CALLS, CALL, &call));
    let others = async {
        let (refused, _) = side.json("POST", CALLS, None, &call).await;
        (refused, side.status("/api/v1/openapi.json", VIEW).await)
    };
    let others = tokio::select! {
        biased;
        _ = &mut placed => panic!("the call is answered first"),
        others = others => others,
    };
    assert_eq!(others, (401, 200));
    let (status, problem) = placed.await;
    assert_eq!((status, &problem["code"]), (503, &json!("no_answer")));
}
