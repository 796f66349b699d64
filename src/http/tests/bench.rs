//! A node's HTTP side without its sockets, in front of a brain that is alone, without a disk.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use axum::Router;
use axum::body::Body;
use axum::http::request::Builder;
use axum::response::Response;
use elevator_driver::{DoorState, DriveFeedback, Floor, FloorCount, PanelEvent, PanelInputs};
use elevator_fleet::car::CarSettings;
use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::{FleetName, Mac, MeshTimes, NodeId, Role, Timestamp};
use elevator_fleet::node::{Identity, Node, NodeSettings, Report, Status};
use elevator_fleet::settings::{Settings, Words};
use elevator_fleet::store::Restored;
use elevator_fleet::wire::{Nonce, Protocol};
use futures_util::{Stream, StreamExt};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::super::metrics::Counted;
use super::super::places::{Origin, Place, Places};
use super::super::routes::Endpoint;
use super::super::{Ways, assemble};
use crate::journal::commit_times;
use crate::mqtt_metrics;
use crate::operator::{Author, EVENTS, Event, FaultInjection, NodeLoop, Request};
use crate::statistics::{Changes, Quarter, Slot};
use crate::tokens::{Change, Scope, TokenHash, Tokens};
use liftmesh_api::Presses;

pub(super) const TOKENS: [(Scope, &str); 4] = [
    (Scope::View, "liftmesh-token-view"),
    (Scope::Call, "liftmesh-token-call"),
    (Scope::Access, "liftmesh-token-access"),
    (Scope::Operate, "liftmesh-token-operate"),
];
pub(super) const VIEW: Option<&str> = Some(TOKENS[0].1);
pub(super) const CALL: Option<&str> = Some(TOKENS[1].1);
pub(super) const ACCESS: Option<&str> = Some(TOKENS[2].1);
pub(super) const OPERATE: Option<&str> = Some(TOKENS[3].1);

pub(super) const LOOPBACK: &str = "127.0.0.1:7080";
pub(super) const BEYOND: &str = "192.168.1.11:7080";

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

pub(super) fn place() -> Arc<Place> {
    Arc::new(Places::new().take(Origin::Here(Some(1000))).unwrap())
}

#[derive(Debug)]
pub(super) enum Told {
    By(Author),
    Keep(Changes),
}

struct Brain {
    node: Node,
    began: Instant,
    /// Its status, if not its own.
    shown: Option<Status>,
    /// The statistics on its disk.
    kept: Vec<(Slot, Quarter)>,
    told: mpsc::Sender<Told>,
}

impl Brain {
    fn new(told: mpsc::Sender<Told>) -> Self {
        let floors = FloorCount::new(4).unwrap();
        let mut node = Node::new(NodeSettings {
            identity: Identity {
                fleet: FleetName::new("liftmesh").unwrap(),
                node: NodeId::new("A").unwrap(),
                address: Ipv4Addr::LOCALHOST,
                mac: Mac::of(Ipv4Addr::LOCALHOST),
                role: Role::Cabin,
                link_port: 46_100,
                nonce: Nonce(1),
            },
            election: ElectionSettings::of(Protocol::LowestIp),
            building: Arc::new(floors.into()),
            mesh: MeshTimes::default(),
            car: Some(CarSettings::new(floors)),
            climate: ClimateSettings::default(),
            restored: Restored::default(),
            seed: 1,
        });
        node.start(Timestamp::START);
        let at_rest = PanelInputs {
            floor: Some(Floor::BOTTOM),
            drive: DriveFeedback::Stopped,
            door: DoorState::Closed,
            ..PanelInputs::default()
        };
        for event in [PanelEvent::Connected, PanelEvent::Inputs(at_rest)] {
            node.handle_panel(event, Timestamp::START);
        }
        Self { node, began: Instant::now(), shown: None, kept: Vec::new(), told }
    }

    async fn run(mut self, mut asked: mpsc::Receiver<Request>) {
        while let Some(request) = asked.recv().await {
            self.answer(request, Timestamp::START + self.began.elapsed());
            while self.node.poll_action().is_some() {}
        }
    }

    fn tell(&self, told: Told) {
        self.told.try_send(told).unwrap();
    }

    fn answer(&mut self, request: Request, now: Timestamp) {
        if let Some(author) = request.author() {
            self.tell(Told::By(author));
        }
        match request {
            Request::OfNode(request) => request.answer(&mut self.node, now),
            Request::Status(reply) => {
                let status = self.shown.clone().unwrap_or_else(|| self.node.status(now));
                reply.send(Box::new(status));
            }
            Request::Release { floor, time, reply, .. } => {
                reply.send(self.node.handle_release(floor, time, now));
            }
            Request::Audit(reply) => reply.send(oneshot::channel().1),
            Request::Presses(reply) => {
                reply.send(Presses { presses: Vec::new(), forgotten: 3 });
            }
            Request::Token { reply, .. } => reply.send(Ok(())),
            Request::Network(_, reply) => reply.send(FaultInjection::Refused),
            Request::Statistics(reply) => {
                let (kept, statistics) = oneshot::channel();
                kept.send(std::mem::take(&mut self.kept)).unwrap();
                reply.send(statistics);
            }
            Request::KeepStatistics(changes, reply) => {
                self.tell(Told::Keep(changes));
                reply.send(Ok(()));
            }
        }
    }
}

pub(super) struct Side {
    pub(super) router: Router,
    pub(super) tokens: watch::Sender<Arc<Tokens>>,
    pub(super) events: broadcast::Sender<Event>,
    pub(super) told: mpsc::Receiver<Told>,
    running: JoinSet<()>,
}

impl Side {
    /// As at this address, over TLS.
    pub(super) fn new(address: &str) -> Self {
        Self::with(address, None, Vec::new())
    }

    pub(super) fn with(address: &str, shown: Option<Status>, kept: Vec<(Slot, Quarter)>) -> Self {
        let (asked, requests) = mpsc::channel(16);
        let (mut side, told) = Self::over(address, true, asked);
        side.running.spawn(Brain { shown, kept, ..Brain::new(told) }.run(requests));
        side
    }

    pub(super) fn over(
        address: &str,
        is_tls: bool,
        asked: mpsc::Sender<Request>,
    ) -> (Self, mpsc::Sender<Told>) {
        let (tokens, known) = watch::channel(Arc::new(tokens()));
        let counted = Counted::new(mqtt_metrics::Counted::new().ok(), commit_times().ok());
        let (events, heard) = broadcast::channel(2 * EVENTS);
        let (tell, told) = mpsc::channel(64);
        let ways = Ways { node_loop: NodeLoop::new(asked), events: heard, tokens: known };
        let endpoint = Some(Endpoint { address: address.parse().unwrap(), is_tls });
        let (router, running) = assemble(endpoint, ways, None, Kinematics::default(), counted, 7);
        (Self { router, tokens, events, told, running }, tell)
    }

    pub(super) async fn ask(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> Response {
        send(&self.router, Builder::new().method(method).uri(path), token, body).await
    }

    pub(super) async fn json(
        &self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &Value,
    ) -> (u16, Value) {
        json(self.ask(method, path, token, body).await).await
    }

    pub(super) async fn get(&self, path: &str) -> Value {
        self.json("GET", path, VIEW, &Value::Null).await.1
    }

    pub(super) async fn status(&self, path: &str, token: Option<&str>) -> u16 {
        self.ask("GET", path, token, &Value::Null).await.status().as_u16()
    }

    pub(super) fn report(&self, report: &Report) {
        self.events.send(Event::new(report, SystemTime::UNIX_EPOCH)).unwrap();
    }

    pub(super) fn happen(&self, events: usize) {
        for _ in 0..events {
            self.report(&Report::DriveRefused);
        }
    }

    pub(super) fn revoke(&self, name: &str) {
        let name = name.parse().unwrap();
        self.tokens.send_modify(|tokens| *tokens = Arc::new(tokens.without(&name)));
    }
}

/// What a router answers. A body that is a text is sent as it is.
pub(super) async fn send(
    router: &Router,
    mut request: Builder,
    token: Option<&str>,
    body: &Value,
) -> Response {
    if let Some(token) = token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    if request.extensions_ref().is_some_and(|has| has.get::<Arc<Place>>().is_none()) {
        request = request.extension(place());
    }
    let body = match body {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        json => json.to_string(),
    };
    let request = request.body(Body::from(body)).unwrap();
    TowerToHyperService::new(router.clone()).call(request).await.unwrap()
}

pub(super) async fn text(response: Response) -> String {
    let body = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
    String::from_utf8(body.to_vec()).unwrap()
}

/// The status and the JSON of a response; what is no success has to be a problem of RFC 9457.
pub(super) async fn json(response: Response) -> (u16, Value) {
    let status = response.status();
    let kind = response.headers()["content-type"].clone();
    let json: Value = serde_json::from_str(&text(response).await).unwrap();
    if !status.is_success() {
        assert_eq!(kind, "application/problem+json", "{json}");
        assert_eq!(json["status"], status.as_u16(), "{json}");
        assert!(json["detail"].as_str().is_some_and(|why| !why.is_empty()), "{json}");
    }
    (status.as_u16(), json)
}

pub(super) fn frames(response: Response) -> impl Stream<Item = String> + Unpin {
    let bytes = response.into_body().into_data_stream();
    bytes.map(|chunk| String::from_utf8(chunk.unwrap().to_vec()).unwrap())
}

pub(super) async fn next(frames: &mut (impl Stream<Item = String> + Unpin)) -> Option<String> {
    timeout(Duration::from_mins(1), frames.next()).await.expect("it neither goes on nor ends")
}
