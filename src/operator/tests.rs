mod document;
mod golden;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use elevator_driver::{Button, Direction, DoorState, Floor, FloorCount, KeySwitch, LineCounters};
use elevator_fleet::climate::Reading;
use elevator_fleet::dispatch::Kinematics;
use elevator_fleet::election::Detail;
use elevator_fleet::model::{
    Availability, Call, CarPhase, CarView, FleetName, FloorSet, HallCall, Mac, Mode, NodeId,
    Reason, Role, Term, Unavailable,
};
use elevator_fleet::node::{
    Access, AccessStatus, CallRequest, CarStatus, ClimateStatus, Command, ConflictKind,
    ConflictStatus, DispatchStatus, LossCause, LostStatus, OrderRefused, OrderStatus, PeerStatus,
    RefusedStatus, ReleaseStatus, Report, Requested, ScheduleStatus, SessionRefused, SettingStatus,
    Status, Taken, UnitStatus,
};
use elevator_fleet::settings::{Setting, SettingError, Words};
use elevator_fleet::wire::{NodeState, Protocol};
use tempfile::TempDir;
use tokio::sync::{Notify, broadcast, mpsc, oneshot, watch};

use super::*;
use crate::client::{Client, ClientError, Notice};
use crate::http::{Http, HttpSettings};
use crate::mesh::Cable;
use crate::tokens::{Change as TokenChange, Scope, Tokens};

/// A status with something in every field.
pub(crate) fn full_status() -> Status {
    golden::cabin()
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap()
}

fn node(name: &str) -> NodeId {
    NodeId::new(name).unwrap()
}

fn hall(at: u8, direction: Direction) -> Call {
    Call::Hall(HallCall::new(floor(at), direction))
}

fn car_call(car: &str, at: u8) -> Call {
    Call::Car { car: node(car), floor: floor(at) }
}

fn car_view() -> CarView {
    CarView {
        availability: Availability::InService,
        floor: Some(floor(1)),
        phase: CarPhase::Moving {
            direction: Direction::Up,
            stop_at: floor(3),
            next_stop: floor(2),
        },
        elapsed: Duration::from_millis(1_234),
        direction: Some(Direction::Up),
        load: Some(40),
        locked_out: FloorSet::default(),
        mode: Mode::default(),
    }
}

/// Master A, whose peer B has a blocked door, with a promised order; C hung, and D has other floors.
pub(crate) fn busy_status() -> Status {
    status(vec![OrderStatus {
        call: hall(1, Direction::Up),
        waited: Duration::from_millis(12_300),
        car: Some(node("A")),
        promised: true,
        holders: 2,
        held_by: Vec::new(),
        durable_at: Vec::new(),
    }])
}

fn status(orders: Vec<OrderStatus>) -> Status {
    Status {
        node: node("A"),
        role: Role::Cabin,
        fleet: FleetName::new("liftmesh").unwrap(),
        address: Ipv4Addr::LOCALHOST,
        mac: Mac::of(Ipv4Addr::LOCALHOST),
        election: Protocol::LowestIp,
        election_state: vec![Detail { name: "round".into(), value: "2".to_owned() }],
        floors: FloorCount::new(4).unwrap(),
        uptime: Duration::from_secs(90),
        node_state: NodeState::Master,
        state_since: Duration::from_secs(80),
        term: Term(7),
        digest: 0xabc,
        registers: 12,
        refused: RefusedStatus { impossible: 1, no_room: 3 },
        dispatch: DispatchStatus { plans: 6, target_changes: 7 },
        durable: true,
        disk_failed: false,
        fleet_keys: elevator_fleet::node::FleetKeysStatus::default(),
        log_lines_lost: 0,
        mqtt_refused: Vec::new(),
        mesh: BTreeMap::new(),
        queues: BTreeMap::new(),
        peers: vec![PeerStatus {
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
                ..car_view()
            }),
        }],
        lost: vec![LostStatus {
            node: node("C"),
            role: Role::Cabin,
            address: Ipv4Addr::new(127, 0, 0, 3),
            silent: Duration::from_secs(75),
            cause: LossCause::Hung,
        }],
        hangs: vec![],
        conflicts: vec![ConflictStatus {
            kind: ConflictKind::Floors,
            what: "node D has 9 floors, but this one has 4".to_owned(),
            since: Duration::from_secs(20),
            last: Duration::from_millis(30),
        }],
        settings_held: true,
        settings: vec![SettingStatus {
            setting: Setting::Mode(NodeId::new("B").unwrap(), Mode::Independent),
            operator: Words::new("kovac").unwrap(),
        }],
        access: AccessStatus {
            locked: vec![floor(3)],
            released: vec![ReleaseStatus { floor: floor(3), left: Duration::from_secs(8) }],
            refused: 9,
        },
        schedule: Some(ScheduleStatus {
            local_time: Some("Tue 08:12".to_owned()),
            entry: Some("mon-fri 07:00-09:30 park 0".to_owned()),
        }),
        orders,
        car: Some(CarStatus {
            view: car_view(),
            panel: String::new(),
            connection: Ok(()),
            line: LineCounters::default(),
            door: DoorState::Closed,
            at: None,
            stopped: false,
            obstructed: false,
            key: KeySwitch::Normal,
            stuck: [Button::Car(floor(2))].into(),
            lamps: [Button::Hall(floor(3), Direction::Down)].into(),
        }),
        climate: ClimateStatus {
            own: Reading { temperature: Some(22), illuminance: None },
            average: Some(21.5),
            brightness: Some(188),
            display: "21.5 C 10:05".to_owned(),
            age: Some(Duration::from_millis(250)),
            units: vec![UnitStatus {
                unit: "10.0.0.9".to_owned(),
                reading: Reading { temperature: Some(21), illuminance: Some(128) },
                age: Duration::from_secs(1),
            }],
        },
    }
}

/// A node's loop that does no more than keep orders and promise and serve hall orders at once, and
/// the sockets in front of it.
pub(crate) struct Bench {
    directory: TempDir,
    events: broadcast::Sender<Event>,
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

    fn client(&self) -> Client {
        Client::connect(self.path()).unwrap()
    }

    pub(crate) fn reading_path(&self) -> std::path::PathBuf {
        self.path().join("read.sock")
    }

    fn stop(&mut self) {
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
            Query::Status => Reply::Status(Box::new(status(orders.clone()))),
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
                orders.push(OrderStatus {
                    call,
                    waited: Duration::from_millis(1_500),
                    car: None,
                    promised: false,
                    holders: 1,
                    held_by: Vec::new(),
                    durable_at: Vec::new(),
                });
                Reply::Requested(Ok(Requested::Now(Taken::Placed)))
            }
        };
        reply.send(answer).unwrap();
    }
}

fn code_of<T: std::fmt::Debug>(refused: Result<T, ClientError>) -> String {
    match refused {
        Err(ClientError::Refused { code, .. }) => code,
        other => panic!("{other:?}"),
    }
}

#[test]
fn faults_are_injected_only_where_they_are_allowed() {
    let bench = Bench::start();
    let client = bench.client();
    client.rewire(Cable::Whole).unwrap();
    assert_eq!(code_of(client.rewire(Cable::Cut)), "faults_not_allowed");
}

fn independent() -> Command {
    Command::Mode { car: node("B"), mode: Mode::Independent }
}

/// What is to go into the audit log is a line of bounded length.
#[test]
fn a_setting_needs_a_name_and_a_reason_that_fit() {
    let bench = Bench::start();
    let client = bench.client();
    let set = |operator: &str, reason| client.command(&independent(), operator, reason);
    set("kovac", Some("new carpet")).unwrap();
    let long = "x".repeat(501);
    for (operator, reason) in [(" ", "why"), ("kovac", ""), ("ko\nvac", "why"), ("kovac", &long)] {
        assert_eq!(code_of(set(operator, Some(reason))), "malformed");
    }
    client.status().unwrap();
}

/// A program that may read can't place, clear or break anything, whatever it sends.
#[test]
fn the_socket_for_reading_only_reads() {
    let bench = Bench::start();
    let path = bench.reading_path();
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o660);
    let client = Client::connect_to(path.clone()).unwrap();
    let revoke = TokenChange::Revoke { name: "kiosk".parse().unwrap() };
    for code in [
        code_of(client.order(&hall(1, Direction::Up), Access::Public)),
        code_of(client.rewire(Cable::Cut)),
        code_of(client.clear_hang("x", "y")),
        code_of(client.audit()),
        code_of(client.presses()),
        code_of(client.command(&independent(), "x", None)),
        code_of(client.change_token(&revoke, "x")),
    ] {
        assert_eq!(code, "scope_missing");
    }
    assert!(client.status().unwrap().orders.is_empty());
    client.watch().unwrap();
}

#[test]
fn the_socket_for_reading_replaces_a_dead_nodes_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let bind = |name: &str, group: Option<&str>| {
        let settings =
            ReadingSettings { path: directory.path().join(name), group: group.map(str::to_owned) };
        let socket = OperatorSocket::bind(&directory.path().join("data")).unwrap();
        socket.with_reading(Some(&settings))
    };
    let path = directory.path().join("read.sock");
    drop(UnixListener::bind(&path).unwrap());
    drop(bind("read.sock", None).unwrap());
    assert!(!path.exists(), "it goes with the node");
    let _other = UnixListener::bind(&path).unwrap();
    assert!(matches!(bind("read.sock", None), Err(ReadingError::InUse(_))));
    std::fs::write(directory.path().join("file"), "precious").unwrap();
    assert!(matches!(bind("file", None), Err(ReadingError::NoSocket(_))));
    let nobody = bind("new", Some("no-such-group-here"));
    assert!(matches!(nobody, Err(ReadingError::NoGroup(_))));
    assert!(matches!(bind("a/b", None), Err(ReadingError::Bind { .. })));
}

#[test]
fn every_kind_of_event_has_the_name_that_its_json_has() {
    let event = Event::new(&Report::DiskFailed, SystemTime::UNIX_EPOCH);
    let json = serde_json::to_value(&event).unwrap();
    assert_eq!(json["event"], event.report.name());
    let mut names = Report::NAMES.to_vec();
    names.dedup();
    assert_eq!(names.len(), Report::NAMES.len());
    for name in names {
        let unknown = serde_json::from_value::<Report>(serde_json::json!({"event": name}));
        // A kind with fields misses them, and is known.
        let known = unknown.map_or_else(|error| error.to_string(), |kind| kind.name().to_owned());
        assert!(known == name || known.contains("missing field"), "{name}: {known}");
    }
}

#[test]
fn an_order_is_placed_and_shown() {
    let bench = Bench::start();
    let client = bench.client();
    let calls = [car_call("B", 2), car_call("A", 3)];
    for call in &calls {
        client.order(call, Access::Public).unwrap();
    }
    // Many clients see one node.
    let shown = bench.client().status().unwrap();
    assert_eq!(client.status().unwrap(), shown);
    let orders: Vec<_> = shown.orders.iter().map(|order| order.call.clone()).collect();
    assert_eq!(orders, calls);
    assert_eq!(shown.nodes().collect::<Vec<_>>(), [&node("A"), &node("B")]);
}

#[test]
fn an_order_for_a_button_or_a_car_that_is_not_there_is_refused() {
    let bench = Bench::start();
    let client = bench.client();
    assert_eq!(code_of(client.order(&hall(3, Direction::Up), Access::Public)), "no_such_button");
    assert_eq!(code_of(client.order(&car_call("C", 1), Access::Public)), "unknown_car");
    let refused = client.order(&car_call("C", 1), Access::Public).unwrap_err();
    assert_eq!(refused.to_string(), "unknown car C; use one of A, B");
    assert!(client.status().unwrap().orders.is_empty());
}

#[test]
fn the_json_of_a_status_has_these_names() {
    let status = serde_json::to_value(status(Vec::new())).unwrap();
    assert_eq!(status["node"], "A");
    assert_eq!(status["election"], "lowest-ip");
    assert_eq!(status["node_state"]["kind"], "master");
    assert_eq!(status["term"], 7);
    assert_eq!(status["digest"], "0000000000000abc");
    assert_eq!(status["uptime"], 90.0);
    let climate = serde_json::json!({
        "temperature": 22, "illuminance": null, "average": 21.5, "brightness": 188, "age": 0.25,
        "display": "21.5 C 10:05",
        "units": [{"unit": "10.0.0.9", "temperature": 21, "illuminance": 128, "age": 1.0}]
    });
    assert_eq!(status["climate"], climate);
    let peer = &status["peers"][0];
    assert_eq!(peer["node_state"], serde_json::json!({"kind": "slave", "master": "A"}));
    assert_eq!(peer["silent"], 0.012);
    assert_eq!(peer["car"]["unavailable"], "door blocked");
    let lost = serde_json::json!([{
        "node": "C", "role": "cabin", "address": "127.0.0.3", "silent": 75.0, "cause": "hung"
    }]);
    assert_eq!(status["lost"], lost);
    let conflicts = serde_json::json!([{
        "kind": "floors", "what": "node D has 9 floors, but this one has 4", "since": 20.0, "last": 0.03
    }]);
    assert_eq!(status["conflicts"], conflicts);
    let car = &status["car"];
    assert_eq!(
        car["phase"],
        serde_json::json!({"kind": "moving", "direction": "up", "stop_at": 3, "next_stop": 2})
    );
    assert_eq!(car["in_service"], true);
    assert_eq!(
        car["lamps"],
        serde_json::json!([{"kind": "hall", "floor": 3, "direction": "down"}])
    );
}

#[test]
fn a_watcher_gets_every_event_in_order_and_is_told_of_those_it_missed() {
    let mut bench = Bench::start();
    let mut watch = bench.client().watch().unwrap();
    let event = |index| Event::new(&Report::Floor { floor: floor(index) }, SystemTime::UNIX_EPOCH);
    // More than the queue holds, faster than the server's only thread can take them out: what is
    // missed, is counted.
    for index in 0..200 {
        bench.events.send(event(index)).unwrap();
    }
    let mut next = 0_u64;
    while next < 200 {
        match watch.next().unwrap() {
            Notice::Event(event) => {
                assert_eq!(event.at, "1970-01-01T00:00:00.000Z");
                let Report::Floor { floor } = event.report else {
                    panic!("{event:?}");
                };
                assert_eq!(u64::from(floor.index()), next);
                next += 1;
            }
            Notice::Missed(events) => next += events,
        }
    }
    bench.stop();
    assert!(matches!(watch.next(), Err(ClientError::Ended { .. })));
}

#[test]
fn a_watcher_need_not_wait_for_ever() {
    let bench = Bench::start();
    let mut watch = bench.client().watch().unwrap();
    let event = Event::new(&Report::DiskFailed, SystemTime::UNIX_EPOCH);
    bench.events.send(event.clone()).unwrap();
    let notice = watch.next_within(Duration::from_secs(20)).unwrap();
    assert_eq!(notice, Some(Notice::Event(event)));
    assert_eq!(watch.next_within(Duration::ZERO).unwrap(), None);
}

#[test]
fn the_socket_is_for_its_user_alone_and_goes_with_the_node() {
    let mut bench = Bench::start();
    let path = bench.path().join("node.sock");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    bench.client().status().unwrap();
    bench.stop();
    assert!(!path.exists());
    assert!(matches!(Client::connect(bench.path()), Err(ClientError::NoNode(_))));
}

#[test]
fn a_dead_nodes_socket_is_replaced_and_a_running_nodes_is_not() {
    let directory = tempfile::tempdir().unwrap();
    // Closing a listener leaves its file behind, as a killed node does.
    drop(UnixListener::bind(directory.path().join("node.sock")).unwrap());
    assert!(matches!(Client::connect(directory.path()), Err(ClientError::NoNode(_))));
    let socket = OperatorSocket::bind(directory.path()).unwrap();
    assert!(matches!(OperatorSocket::bind(directory.path()), Err(BindError::AnotherNode(_))));
    assert!(socket.path().unwrap().exists());
    drop(socket);
    OperatorSocket::bind(&directory.path().join("a/b")).unwrap();
    OperatorSocket::bind(directory.path()).unwrap();
}

/// `liftmesh audit` has the directory of a node that does not run while it reads.
#[test]
fn a_node_that_starts_waits_for_a_command_that_has_its_directory() {
    let directory = tempfile::tempdir().unwrap();
    let claim = Claim::new(directory.path()).unwrap();
    let refused = Claim::new(directory.path());
    assert!(matches!(refused, Err(BindError::AnotherNode(_))), "{refused:?}");
    let command = thread::spawn(move || {
        thread::sleep(Duration::from_millis(100));
        drop(claim);
    });
    OperatorSocket::bind(directory.path()).unwrap();
    command.join().unwrap();
}

#[test]
fn a_path_that_is_too_long_for_a_socket_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let long = directory.path().join("x".repeat(120));
    assert!(matches!(OperatorSocket::bind(&long), Err(BindError::Socket { .. })));
}

#[test]
fn an_event_reads_back_as_it_was_written() {
    for report in [
        Report::NodeState {
            from: NodeState::Seeking,
            to: NodeState::Slave { master: node("B") },
            term: Term(3),
        },
        Report::Panel(Err("cable".to_owned())),
        Report::OffTarget { stop_at: floor(3), at: Some(floor(1)) },
        Report::Availability(Some(Reason::Other(Unavailable::Hung))),
        Report::Availability(Some(Reason::Mode(Mode::Priority))),
        Report::Served {
            call: hall(1, Direction::Up),
            waited: Duration::from_millis(2_500),
            here: false,
            car: None,
        },
        Report::Setting {
            setting: Setting::Mode(NodeId::new("B").unwrap(), Mode::Independent),
            operator: Words::new("kovac").unwrap(),
            reason: None,
        },
        Report::DiskFailed,
    ] {
        let event = Event::new(&report, SystemTime::UNIX_EPOCH);
        let text = serde_json::to_string(&event).unwrap();
        assert_eq!(serde_json::from_str::<Event>(&text).unwrap(), event);
    }
}
