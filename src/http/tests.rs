mod api;
mod bench;
mod latched;

use std::pin::pin;
use std::time::Duration;

use axum::http::request::Builder;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, advance, sleep};

use self::bench::{
    BEYOND, CALL, LOOPBACK, OPERATE, Side, TOKENS, Told, VIEW, frames, json, next, place, send,
};
use super::auth::Local;
use super::places::{Origin, Places};
use super::server;
use crate::operator::EVENTS;
use crate::tokens::Scope;

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
}

/// The account takes the place of a token. Who may read can't change anything, whatever they send.
#[tokio::test]
async fn an_account_at_a_socket_may_do_what_the_socket_permits() {
    let mut side = Side::new(BEYOND);
    let revoke = json!({"change": {"kind": "revoke", "name": "kiosk"}, "operator": "kovac"});
    let cut = json!({"cable": "cut"});
    for (method, path, body, code) in [
        ("POST", "/api/v1/tokens", &revoke, None),
        ("PUT", "/api/v1/cable", &cut, Some("faults_not_allowed")),
        ("GET", "/api/v1/presses", &Value::Null, None),
        ("POST", CALLS, &Value::Null, Some("malformed")),
    ] {
        for (scope, expected) in [(Scope::Operate, code), (Scope::View, Some("scope_missing"))] {
            let local = Local { uid: 1000, scope };
            let request = Builder::new().method(method).uri(path).extension(local);
            let request = request.extension(place());
            let (_, said) = json(send(&side.router, request, None, body).await).await;
            assert_eq!(said["code"].as_str(), expected, "{method} {path} with {scope}: {said}");
        }
        let (status, said) = side.json(method, path, OPERATE, body).await;
        let is_local = ["/api/v1/tokens", "/api/v1/cable"].contains(&path);
        assert_eq!(said["code"] == "local_only", is_local, "{status} {path}: {said}");
    }
    let Some(Told::By(author)) = side.told.recv().await else { panic!("nobody is told") };
    assert_eq!((author.operator.as_str(), author.account.uid), ("kovac", 1000));
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
    let (side, _told) = Side::over("127.0.0.3:7080", false, mpsc::channel(1).0);
    let own = ["127.0.0.3:7080", "127.0.0.1:9", "localhost:7080", "localhost", "[::1]:80"];
    let others = ["evil.example", "evil.example:7080", "192.168.1.1:7080", "localhost.evil", ""];
    for (hosts, status) in [(own, 200), (others, 421)] {
        for host in hosts {
            let request = Builder::new().uri("/healthz").header("Host", host);
            let answer = send(&side.router, request, None, &Value::Null).await;
            assert_eq!(answer.status(), status, "{host}");
        }
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

/// Of slow clients, only the memory of a few messages is taken.
#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_disconnected() {
    let side = Side::new(LOOPBACK);
    // Too little room for a state.
    let (mut stuck, end) = duplex(256);
    let place = Places::new().take(Origin::Here(Some(1000))).unwrap();
    let mut served = JoinSet::new();
    served.spawn(server::accompany(end, place, None, None, side.router.clone()));
    stuck.write_all(b"GET /api/v1/events HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
    let begun = Instant::now();
    served.join_next().await.unwrap().unwrap();
    let limit = Duration::from_secs(10);
    assert!((limit..2 * limit).contains(&begun.elapsed()), "{:?}", begun.elapsed());
}

/// Beyond the limits of connections, everybody's monitoring goes on.
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
        String::from_utf8_lossy(&status[9..]).into_owned()
    };
    let mut kept = Vec::new();
    while ask("/").await == "200" {
        kept.push(TcpStream::connect(address).await.unwrap());
        assert!(kept.len() <= 256, "one computer has all connections");
    }
    assert_eq!([ask("/api/v1/fleet").await, ask("/healthz").await], ["503", "200"]);
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
    let call = json!({"call": {"kind": "car", "car": "A", "floor": "1"}, "request_id": "x"});
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
