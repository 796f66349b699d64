use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::response::Response;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Call, HallCall, NodeId};
use elevator_fleet::node::Report;
use elevator_fleet::settings::{Settings, Words};
use elevator_fleet::wire::Nonce;
use futures_util::{Stream, StreamExt};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use liftmesh_api::{Flights, State, id_of};
use serde_json::json;
use socket2::{SockFilter, SockRef};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::metrics::Counted;
use super::origin::Origin;
use super::places::{Places, STREAMS, Streams};
use super::routes::Endpoint;
use super::{Ways, assemble, server};
use crate::operator::tests::full_status;
use crate::operator::{EVENTS, Event, NodeLoop, Query, Reply, Request};
use crate::tokens::{Change, Scope, TokenHash, Tokens};

fn state() -> serde_json::Value {
    let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
    serde_json::to_value(State::new(&full_status(), &Flights::new(Kinematics::default()), at))
        .unwrap()
}

#[test]
fn the_fleet_has_the_node_itself_first() {
    let state = state();
    let fleet = &state["fleet"];
    let status = full_status();
    assert_eq!(fleet["at"], "1970-01-01T00:00:01.500Z");
    assert_eq!(fleet["node"], status.node.as_str());
    assert_eq!(fleet["nodes"][0]["self"], true);
    assert_eq!(fleet["nodes"].as_array().unwrap().len(), 1 + status.peers.len());
}

#[test]
fn an_order_is_named_by_its_call() {
    let floor = |index| elevator_driver::Floor::try_from(index).unwrap();
    let hall = HallCall::new(floor(3), elevator_driver::Direction::Up);
    assert_eq!(id_of(&Call::Hall(hall)), "hall-3-up");
    assert_eq!(id_of(&Call::Hall(HallCall::to(floor(0), floor(3)).unwrap())), "destination-0-3");
    let car = NodeId::new("A").unwrap();
    assert_eq!(id_of(&Call::Car { car, floor: floor(5) }), "car-A-5");
}

#[test]
fn a_lift_state_has_every_field_of_open_rmf() {
    let state = state();
    let lift = state["cars"][0]["lift_state"].as_object().unwrap();
    let names: Vec<_> = lift.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        [
            "available_floors",
            "available_modes",
            "current_floor",
            "current_mode",
            "destination_floor",
            "door_state",
            "lift_name",
            "lift_time",
            "motion_state",
            "session_id",
        ]
    );
    assert_eq!(lift["lift_time"], json!({"sec": 1, "nanosec": 500_000_000}));
}

const ACCOUNT: Origin = Origin::Account(Some(1000));

/// The streams of an account that has none yet.
fn streams() -> Streams {
    Places::new().take(ACCOUNT).unwrap().streams()
}

/// A node's HTTP side without its sockets.
struct Side {
    router: axum::Router,
    tokens: watch::Sender<Arc<Tokens>>,
    events: broadcast::Sender<Event>,
    running: JoinSet<()>,
}

/// What the fleets of these tests have.
const TOKENS: [(Scope, &str); 3] = [
    (Scope::View, "liftmesh-token-view"),
    (Scope::Call, "liftmesh-token-call"),
    (Scope::Operate, "liftmesh-token-operate"),
];
const VIEW: &str = TOKENS[0].1;
const CALL: &str = TOKENS[1].1;
const OPERATE: &str = TOKENS[2].1;

const LOOPBACK: &str = "127.0.0.1:7080";
const BEYOND: &str = "192.168.1.11:7080";

fn tokens() -> Tokens {
    let mut settings = Settings::default();
    for (scope, text) in TOKENS {
        let (name, hash) = (format!("of-{scope}").parse().unwrap(), TokenHash::of(text));
        let change = Change::Create { name, scope, hash, lifetime_s: None };
        let setting = change.register(&settings, SystemTime::now()).unwrap();
        settings.set(setting, Words::new("kovac").unwrap(), Nonce(1)).unwrap();
    }
    Tokens::of(&settings)
}

impl Side {
    /// As at this address, over a loop that has one answer.
    fn new(address: &str) -> Self {
        let (asked, mut requests) = mpsc::channel::<Request>(16);
        let mut side = Self::over(address, asked);
        side.running.spawn(async move {
            while let Some(Request { query, reply }) = requests.recv().await {
                let answer = match query {
                    Query::Status => Reply::Status(Box::new(full_status())),
                    Query::Follow(_) => Reply::Followed(None),
                    Query::Statistics => {
                        let (kept, statistics) = oneshot::channel();
                        kept.send(Vec::new()).unwrap();
                        Reply::Statistics(statistics)
                    }
                    other => panic!("nobody asked for {other:?}"),
                };
                // A client that has gone does not need it.
                drop(reply.send(answer));
            }
        });
        side
    }

    /// The same over this loop.
    fn over(address: &str, asked: mpsc::Sender<Request>) -> Self {
        let (send_tokens, tokens) = watch::channel(Arc::new(tokens()));
        let counted = Counted::new(None, None).unwrap();
        let (source, events) = broadcast::channel(2 * EVENTS);
        let ways = Ways { node_loop: NodeLoop::new(asked), events, tokens };
        let endpoint = Some(Endpoint { address: address.parse().unwrap(), is_tls: true });
        let (router, tasks) = assemble(endpoint, ways, None, Kinematics::default(), counted, 7);
        Self { router, tokens: send_tokens, events: source, running: tasks }
    }

    async fn ask(&self, method: &str, path: &str, token: Option<&str>, body: &str) -> Response {
        self.ask_as(&streams(), method, path, token, body).await
    }

    /// The same of a client that has these streams.
    async fn ask_as(
        &self,
        streams: &Streams,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> Response {
        let mut request = axum::http::Request::builder().method(method).uri(path);
        if let Some(token) = token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        let request = request.extension(streams.clone());
        let request = request.body(Body::from(body.to_owned())).unwrap();
        TowerToHyperService::new(self.router.clone()).call(request).await.unwrap()
    }

    /// The status of a response.
    async fn status(&self, path: &str, token: Option<&str>) -> u16 {
        self.ask("GET", path, token, "").await.status().as_u16()
    }

    fn happen(&self, events: usize) {
        for _ in 0..events {
            let event = Event::new(&Report::DriveRefused, SystemTime::UNIX_EPOCH);
            self.events.send(event).unwrap();
        }
    }
}

#[tokio::test]
async fn beyond_loopback_reading_needs_a_token() {
    let read = ["/api/v1/fleet", "/api/v1/cars", "/api/v1/orders", "/api/v1/events", "/metrics"];
    let (far, near) = (Side::new(BEYOND), Side::new(LOOPBACK));
    for path in read.into_iter().chain(["/readyz"]) {
        assert_eq!(far.status(path, None).await, 401, "{path}");
        assert_eq!(far.status(path, Some("other")).await, 401, "{path}");
    }
    for path in read {
        assert_eq!(far.status(path, Some(VIEW)).await, 200, "{path}");
        assert_eq!(near.status(path, None).await, 200, "{path}");
    }
    // They say nothing of the fleet, and a browser has no token before it has the page.
    for path in ["/", "/healthz"] {
        assert_eq!(far.status(path, None).await, 200, "{path}");
    }
}

/// The frames of a stream of server-sent events.
fn frames(response: Response) -> impl Stream<Item = String> + Unpin {
    let bytes = response.into_body().into_data_stream();
    bytes.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
}

async fn next(frames: &mut (impl Stream<Item = String> + Unpin)) -> Option<String> {
    timeout(Duration::from_mins(1), frames.next()).await.expect("it neither goes on nor ends")
}

#[tokio::test]
async fn a_stream_ends_when_its_token_is_revoked() {
    let side = Side::new(BEYOND);
    let [mut revoked, mut stays] = [
        frames(side.ask("GET", "/api/v1/events", Some(VIEW), "").await),
        frames(side.ask("GET", "/api/v1/events", Some(OPERATE), "").await),
    ];
    for stream in [&mut revoked, &mut stays] {
        assert!(next(stream).await.unwrap().starts_with("event: state\n"));
    }
    side.tokens
        .send_modify(|tokens| *tokens = Arc::new(tokens.without(&"of-view".parse().unwrap())));
    while next(&mut revoked).await.is_some() {}
    side.happen(1);
    while !next(&mut stays).await.unwrap().starts_with("event: event\n") {}
}

/// A client's end of a connection that is served.
struct Line {
    stream: DuplexStream,
    served: JoinSet<()>,
}

impl Line {
    /// Asks for something over a connection that has room for so many bytes.
    async fn ask(side: &Side, room: usize, head: &str) -> Self {
        let (mut stream, end) = duplex(room);
        let place = Places::new().take(ACCOUNT).unwrap();
        let mut served = JoinSet::new();
        served.spawn(server::accompany(end, place, None, None, side.router.clone()));
        stream.write_all(format!("{head}\r\nHost: a\r\n\r\n").as_bytes()).await.unwrap();
        Self { stream, served }
    }
}

const WEBSOCKET: &str = "GET /api/v1/events HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";

/// Browsers give a WebSocket no header of the page's, but the protocols that it offers.
#[tokio::test]
async fn a_websocket_with_its_token_as_a_protocol_ends_when_that_is_revoked() {
    let side = Side::new(BEYOND);
    let head = format!("{WEBSOCKET}\r\nSec-WebSocket-Protocol: liftmesh, {VIEW}");
    let mut line = Line::ask(&side, 1 << 16, &head).await;
    let mut answer = Vec::new();
    let has = |answer: &[u8], words: &[u8]| answer.windows(words.len()).any(|it| it == words);
    while !has(&answer, b"\"event\":\"state\"") {
        assert!(line.stream.read_buf(&mut answer).await.unwrap() > 0);
    }
    let head = String::from_utf8_lossy(&answer).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-protocol: liftmesh\r\n"), "{head}");
    side.tokens
        .send_modify(|tokens| *tokens = Arc::new(tokens.without(&"of-view".parse().unwrap())));
    let rest = timeout(Duration::from_mins(1), line.stream.read_to_end(&mut answer)).await;
    rest.expect("it goes on").unwrap();
    let farewell =
        [&[0x88, 30][..], &1008_u16.to_be_bytes(), b"the token is no longer valid"].concat();
    assert!(answer.ends_with(&farewell), "{:?}", String::from_utf8_lossy(&answer));
}

/// Pings are answered, but no flood of them.
#[tokio::test]
async fn a_flood_of_pings_ends_a_websocket() {
    let side = Side::new(LOOPBACK);
    let mut line = Line::ask(&side, 1 << 16, WEBSOCKET).await;
    for _ in 0..100 {
        // The node may have had enough.
        line.stream.write_all(&[0x89, 0x80, 1, 2, 3, 4]).await.ok();
    }
    let mut answer = Vec::new();
    let rest = timeout(Duration::from_mins(1), line.stream.read_to_end(&mut answer)).await;
    rest.expect("it goes on").unwrap();
    let farewell = [&1008_u16.to_be_bytes()[..], b"too many pings"].concat();
    // Pongs may be behind it.
    assert!(answer.windows(farewell.len()).any(|it| it == farewell), "no end: {answer:?}");
    assert!(answer.windows(2).filter(|it| *it == [0x8a, 0]).count() >= 1);
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
        Line::ask(&side, 256, WEBSOCKET).await,
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
        let page = side.ask("GET", "/metrics", None, "").await;
        let page = axum::body::to_bytes(page.into_body(), usize::MAX).await.unwrap();
        let line = format!("\nliftmesh_http_event_streams {count}\n");
        String::from_utf8(page.to_vec()).unwrap().contains(&line)
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
    let streams = streams();
    let other = side.ask_as(&streams, "GET", "/api/v1/events", None, "").await;
    assert_eq!(other.status(), 200);
}

#[tokio::test]
async fn a_client_of_a_stream_too_many_is_refused() {
    let side = Side::new(LOOPBACK);
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let stream = side.ask("GET", "/api/v1/events", None, "").await;
        assert_eq!(stream.status(), 200);
        streams.push(stream);
    }
    let refused = side.ask("GET", "/api/v1/events", None, "").await;
    assert_eq!(problem(refused).await, (503, "busy".to_owned()));
    streams.pop();
    assert_eq!(side.status("/api/v1/events", None).await, 200);
}

#[tokio::test]
async fn a_client_learns_of_events_that_it_has_missed() {
    let side = Side::new(LOOPBACK);
    let mut live = frames(side.ask("GET", "/api/v1/events", None, "").await);
    side.happen(EVENTS + 10);
    let last = format!("\nid: 0000000000000007-{}-0-00000000\n", EVENTS + 10);
    // One that has followed all the time has them all.
    while !next(&mut live).await.unwrap().contains(&last) {}
    for (after, missed) in [
        ("0000000000000007-4-0-0", Some("6")),
        ("0000000000000007-11-0-0", None),
        ("0000000000000008-4-1-1", Some("null")),
        ("x", Some("null")),
    ] {
        let path = format!("/api/v1/events?after={after}");
        let mut stream = frames(side.ask("GET", &path, None, "").await);
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

/// The status and the code of a problem, which has to be one of RFC 9457.
async fn problem(response: Response) -> (u16, String) {
    let status = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    assert_eq!(kind.unwrap(), "application/problem+json", "{status}");
    let body = axum::body::to_bytes(response.into_body(), 4096).await.unwrap();
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["status"], status, "{body}");
    assert!(body["detail"].as_str().is_some_and(|why| !why.is_empty()), "{body}");
    (status, body["code"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn every_error_is_a_problem() {
    let side = Side::new(LOOPBACK);
    let long = " ".repeat(17 * 1024);
    for (method, path, token, body, status, code) in [
        ("GET", "/nothing", None, "", 404, "not_found"),
        ("GET", "/assets/nothing", None, "", 404, "not_found"),
        ("GET", "/assets/%ff", None, "", 400, "malformed"),
        ("GET", "/api/v1/nothing", None, "", 404, "not_found"),
        ("POST", "/api/v1/fleet", None, "", 405, "method_not_allowed"),
        ("POST", "/healthz", None, "", 405, "method_not_allowed"),
        ("GET", "/api/v1/events?recent=x", None, "", 400, "malformed"),
        ("GET", "/api/v1/events?recent=1&recent=2", None, "", 400, "malformed"),
        ("GET", "/api/v1/statistics?window=year", None, "", 400, "malformed"),
        ("GET", "/api/v1/statistics.csv?utc_offset=x", None, "", 400, "malformed"),
        ("POST", "/api/v1/calls", None, "", 401, "token_required"),
        ("POST", "/api/v1/calls", Some("other"), "", 401, "token_unknown"),
        ("POST", "/api/v1/calls", Some(VIEW), "", 403, "scope_missing"),
        ("POST", "/api/v1/calls", Some(CALL), "", 400, "malformed"),
        ("POST", "/api/v1/calls", Some(CALL), &long, 413, "too_large"),
        ("GET", "/api/v1/calls/hall-77-up", None, "", 404, "not_open"),
        ("GET", "/api/v1/calls/000000000000000000000000", None, "", 404, "not_open"),
        ("DELETE", "/api/v1/calls/hall-77-up", Some(CALL), "", 404, "not_open"),
        ("DELETE", "/api/v1/calls/%ff", Some(CALL), "", 400, "malformed"),
        ("POST", "/api/v1/commands", Some(OPERATE), "{}", 400, "malformed"),
        ("POST", "/api/v1/commands", Some(OPERATE), UNKNOWN, 400, "malformed"),
        ("POST", "/api/v1/commands", Some(OPERATE), NAMELESS, 400, "malformed"),
        ("POST", "/api/v1/cars/%ff/release", Some(OPERATE), "{}", 400, "malformed"),
        ("POST", "/api/v1/cars/%ff/clear-hang", Some(OPERATE), "{}", 400, "malformed"),
    ] {
        let response = side.ask(method, path, token, body).await;
        let challenge = response.headers().get("www-authenticate").cloned();
        let allowed = response.headers().get("allow").cloned();
        let found = problem(response).await;
        assert_eq!(found, (status, code.to_owned()), "{method} {path}");
        assert_eq!(challenge.is_some(), [401, 403].contains(&status), "{method} {path}");
        assert_eq!(allowed.is_some(), status == 405, "{method} {path}");
    }
    for path in ["/api/v1/calls", "/api/v1/calls/x"] {
        let method = if path.ends_with('x') { "DELETE" } else { "POST" };
        let wait = loop {
            let response = side.ask(method, path, None, "").await;
            let wait = response.headers().get("retry-after").cloned();
            match problem(response).await {
                (401, _) => {}
                refused => break (refused, wait),
            }
        };
        assert_eq!(wait.0, (429, "rate_limited".to_owned()));
        assert_eq!(wait.1.unwrap(), "1");
    }
}

/// A command of an unknown kind, and one without an operator.
const UNKNOWN: &str = r#"{"command":{"kind":"stop"},"operator":"J. Kovac"}"#;
const NAMELESS: &str = r#"{"command":{"kind":"fire_recall","on":true},"operator":" "}"#;

/// A call that waits for the node's loop keeps nobody else out.
#[tokio::test]
async fn requests_are_admitted_while_the_loop_does_not_answer() {
    let (asked, _unanswered) = mpsc::channel(16);
    let side = Side::over(BEYOND, asked);
    let call = json!({"call": {"kind": "car", "car": "A", "floor": 1}, "request_id": "x"});
    let call = call.to_string();
    let mut placed = pin!(side.ask("POST", "/api/v1/calls", Some(CALL), &call));
    let others = async {
        let refused = problem(side.ask("POST", "/api/v1/calls", None, &call).await).await;
        (refused, side.status("/api/v1/openapi.json", Some(VIEW)).await)
    };
    let others = tokio::select! {
        biased;
        _ = &mut placed => panic!("the call is answered first"),
        others = others => others,
    };
    assert_eq!(others, ((401, "token_required".to_owned()), 200));
    assert_eq!(problem(placed.await).await, (503, "no_answer".to_owned()));
}
