//! A node's loop without a node, behind the sockets of a real HTTP server.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use elevator_driver::{Button, Direction, FloorCount};
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::model::{Availability, Call, CarPhase, CarView, Role, Unavailable};
use elevator_fleet::node::{
    CallRequest, CarStatus, Command, ConflictKind, ConflictStatus, LossCause, LostStatus,
    OrderRefused, OrderStatus, PeerStatus, Report, Requested, SessionRefused, Status, Taken,
};
use elevator_fleet::settings::SettingError;
use elevator_fleet::wire::NodeState;
use liftmesh_api::{Flights, State};
use tempfile::TempDir;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use super::{floor, hall, node, statuses};
use crate::client::Client;
use crate::http::{Http, HttpSettings};
use crate::mesh::Cable;
use crate::operator::{
    Event, FaultInjection, NodeLoop, OperatorSocket, Query, REQUESTS, ReadingSettings, Reply,
    Request,
};
use crate::tokens::{Scope, Tokens};

/// The fleet of [`busy_status`].
pub(crate) fn busy_fleet() -> State {
    State::new(&busy_status(), &Flights::new(Kinematics::default()), SystemTime::now())
}

/// Master A, whose peer B has a blocked door, with a promised order; C hung, and D has other floors.
pub(crate) fn busy_status() -> Status {
    let full = statuses().remove(0);
    let car = full.car.unwrap();
    let peer = PeerStatus {
        node: node("B"),
        role: Role::Cabin,
        address: Ipv4Addr::new(127, 0, 0, 2),
        node_state: NodeState::Slave { master: node("A") },
        silent: Duration::from_millis(12),
        round_trip: Some(Duration::from_micros(1_500)),
        loss: Some(0.0125),
        synced: true,
        in_step: false,
        car: Some(CarView {
            availability: Availability::Unavailable(Unavailable::DoorBlocked),
            phase: CarPhase::Open,
            ..car.view
        }),
    };
    Status {
        fleet_keys: elevator_fleet::node::FleetKeysStatus::default(),
        log_lines_lost: 0,
        mqtt_refused: Vec::new(),
        mesh: BTreeMap::new(),
        peers: vec![peer],
        lost: vec![LostStatus {
            node: node("C"),
            role: Role::Cabin,
            address: Ipv4Addr::new(127, 0, 0, 3),
            silent: Duration::from_secs(75),
            cause: LossCause::Hung,
        }],
        hangs: Vec::new(),
        conflicts: vec![ConflictStatus {
            kind: ConflictKind::Floors,
            what: "node D has 9 floors, but this one has 4".to_owned(),
            since: Duration::from_secs(20),
            last: Duration::from_millis(30),
        }],
        orders: vec![OrderStatus {
            car: Some(node("A")),
            promised: true,
            holders: 2,
            ..open(hall(1, Direction::Up), 12_300)
        }],
        car: Some(CarStatus {
            panel: String::new(),
            line: elevator_driver::LineCounters::default(),
            at: None,
            stuck: [Button::Car(floor(2))].into(),
            lamps: [Button::Hall(floor(3), Direction::Down)].into(),
            ..car
        }),
        ..full
    }
}

/// An order that is neither promised nor assigned, after this many milliseconds.
fn open(call: Call, waited_ms: u64) -> OrderStatus {
    OrderStatus {
        call,
        waited: Duration::from_millis(waited_ms),
        car: None,
        promised: false,
        holders: 1,
        held_by: Vec::new(),
        durable_at: Vec::new(),
    }
}

/// A node's loop that does no more than keep orders and promise and serve hall orders at once, and
/// the sockets in front of it.
pub(crate) struct Bench {
    directory: TempDir,
    pub(super) events: broadcast::Sender<Event>,
    shutdown: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Bench {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let reading = ReadingSettings { path: directory.path().join("read.sock"), group: None };
        let socket = OperatorSocket::bind(directory.path()).unwrap();
        let mut socket = socket.with_reading(Some(&reading)).unwrap();
        let (events, _) = broadcast::channel(4);
        let shutdown = Arc::new(Notify::new());
        let (sender, stopped) = (events.clone(), Arc::clone(&shutdown));
        let thread = thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let (requests, queue) = mpsc::channel(REQUESTS);
                let (_tokens, tokens) = watch::channel(Arc::new(Tokens::default()));
                let [own, reading] = socket.take_listeners().map(Option::unwrap);
                let sockets = vec![(own, Scope::Operate), (reading, Scope::View)];
                let settings = HttpSettings {
                    sockets,
                    address: None,
                    tls: None,
                    kinematics: Kinematics::default(),
                    mqtt: None,
                    commits: None,
                };
                let node_loop = NodeLoop::new(requests);
                let http = Http::start(settings, node_loop, sender.subscribe(), tokens).unwrap();
                tokio::select! {
                    () = stopped.notified() => http.finish().await,
                    () = answer(queue, &sender) => {}
                }
            });
        });
        Self { directory, events, shutdown, thread: Some(thread) }
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }

    pub(super) fn client(&self) -> Client {
        Client::connect(self.path()).unwrap()
    }

    pub(crate) fn reading_path(&self) -> PathBuf {
        self.path().join("read.sock")
    }

    pub(super) fn stop(&mut self) {
        self.shutdown.notify_one();
        self.thread.take().unwrap().join().unwrap();
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        if self.thread.is_some() {
            self.stop();
        }
    }
}

async fn answer(mut requests: mpsc::Receiver<Request>, events: &broadcast::Sender<Event>) {
    let mut orders = Vec::new();
    while let Some(Request { query, reply }) = requests.recv().await {
        let answer = match query {
            Query::Status => {
                Reply::Status(Box::new(Status { orders: orders.clone(), ..busy_status() }))
            }
            Query::Follow(_) => Reply::Followed(None),
            Query::Order(..) => panic!("every order over HTTP is a request"),
            Query::Place(CallRequest { call, .. })
                if !call.is_within(FloorCount::new(4).unwrap()) =>
            {
                Reply::Requested(Err(OrderRefused::NoSuchButton { call, top: 3 }))
            }
            Query::Place(CallRequest { call: call @ Call::Hall(_), .. }) => {
                for report in [
                    Report::Promised { call: call.clone() },
                    Report::Served { call, waited: Duration::ZERO, here: true, car: None },
                ] {
                    // Nobody may be watching.
                    events.send(Event::new(&report, SystemTime::UNIX_EPOCH)).unwrap_or_default();
                }
                Reply::Requested(Ok(Requested::Now(Taken::Placed)))
            }
            Query::Command(Command::FireRecall { .. }, _) => {
                Reply::Command(Err(SettingError::Full.into()))
            }
            Query::Command(command, _) => Reply::Command(Ok(command)),
            Query::Earlier(_) => Reply::Earlier(None),
            Query::Token { .. } => Reply::Token(Ok(())),
            Query::Audit => Reply::Audit(oneshot::channel().1),
            Query::Presses => Reply::Presses(Vec::new(), 0),
            Query::Statistics => Reply::Statistics(oneshot::channel().1),
            Query::KeepStatistics(_) => Reply::StatisticsKept(Ok(())),
            Query::Network(Cable::Cut) => Reply::Network(FaultInjection::Refused),
            Query::Network(Cable::Whole) => Reply::Network(FaultInjection::Allowed),
            Query::Release { .. } => Reply::Released(Ok(())),
            Query::OpenSession(_) | Query::ChangeSession { .. } => {
                Reply::Session(Err(SessionRefused::NotOpen))
            }
            Query::Place(CallRequest { call, .. }) => {
                orders.push(open(call, 1_500));
                Reply::Requested(Ok(Requested::Now(Taken::Placed)))
            }
        };
        reply.send(answer).unwrap();
    }
}
