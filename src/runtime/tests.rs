use std::collections::BTreeMap;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::dispatch::{Assignments, CarSituation, CollectiveCost, HallDemand};
use elevator_fleet::model::{Call, HallCall, NodeId};
use elevator_fleet::node::{Access, Status, Taken};
use elevator_fleet::wire::NodeState;
use elevator_simulator::simulator::SerialConfig;
use elevator_simulator::{CarConfig, ControlClient, Simulator, SimulatorConfig, StartPosition};
use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::client::Client;
use crate::config::Sources;
use crate::fleet_key::{self, KeyFiles, KeyText};
use crate::journal::last_fleet_keys;
use crate::latch::Latch;
use crate::mesh::tests::Lan;

const PATIENCE: Duration = Duration::from_mins(1);

const FLOORS: u8 = 4;

/// One car of a fleet: its data directory, its simulated panel, its settings.
struct Cabin {
    directory: TempDir,
    simulator: Simulator,
    settings: Settings,
}

impl Cabin {
    fn new(lan: &Lan, number: u8) -> Self {
        Self::with(lan, number, &[])
    }

    fn with(lan: &Lan, number: u8, more: &[(&'static str, &str)]) -> Self {
        let directory = TempDir::new().expect("a directory");
        let floors = FloorCount::new(FLOORS).expect("floors");
        let mut car = CarConfig::new(floors);
        car.start = StartPosition::Floor(0);
        let mut config = SimulatorConfig::new(format!("car-{number}"), car);
        let link = directory.path().join("panel");
        config.serial = Some(SerialConfig { link: Some(link.clone()), noise: 0 });
        config.control = Some(directory.path().join("control"));
        // A machine that is busy with other tests keeps a node waiting.
        config.watchdog = Duration::from_secs(5);
        let simulator = Simulator::start(config).expect("a simulator");
        let values = [
            ("fleet", "fleet".to_owned()),
            ("car", format!("car-{number}")),
            ("address", lan.address(number).to_string()),
            ("broadcast", lan.broadcast.to_string()),
            ("link_port", lan.link_port.to_string()),
            ("floors", FLOORS.to_string()),
            ("panel", format!("serial://{}", link.display())),
            ("data_dir", directory.path().join("data").display().to_string()),
        ];
        let more = more.iter().map(|(key, value)| (*key, (*value).to_owned()));
        let flags: BTreeMap<&'static str, String> = values.into_iter().chain(more).collect();
        let sources = Sources { flags, ..Sources::default() };
        let settings = sources.read().and_then(|values| values.settings());
        Self { directory, simulator, settings: settings.expect("valid settings") }
    }

    fn start(&self) -> Process {
        self.start_with(self.settings.dispatcher())
    }

    fn start_with(&self, dispatcher: Box<dyn Dispatcher + Send>) -> Process {
        let (stop, stopped) = oneshot::channel::<()>();
        let settings = self.settings.clone();
        let thread = thread::spawn(move || {
            tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .expect("a runtime")
                .block_on(run_with(&settings, dispatcher, async {
                    drop(stopped.await);
                }))
        });
        Process { data_dir: self.settings.data_dir.clone(), stop, thread }
    }

    fn control(&self) -> ControlClient {
        ControlClient::connect(self.directory.path().join("control")).expect("a control socket")
    }
}

/// A node that runs on a thread of its own.
struct Process {
    data_dir: std::path::PathBuf,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Result<Outcome, RunError>>,
}

impl Process {
    fn status(&self) -> Option<Status> {
        Client::connect(&self.data_dir).ok()?.status().ok()
    }

    /// Waits until its status is as wanted.
    fn until(&self, what: &str, wanted: impl Fn(&Status) -> bool) -> Status {
        until(what, || self.status().filter(|status| wanted(status)))
    }

    fn order(&self, call: &Call) {
        let client = until("node", || Client::connect(&self.data_dir).ok());
        assert_eq!(client.order(call, Access::Public).expect("an answer"), Taken::Placed);
    }

    fn stop(self) -> Outcome {
        self.stop.send(()).expect("it runs");
        self.thread.join().expect("no panic").expect("it ran")
    }

    /// Waits until it ends by itself.
    fn outcome(self) -> Outcome {
        until("the end of the node", || self.thread.is_finished().then_some(()));
        self.thread.join().expect("no panic").expect("it ran")
    }
}

fn until<T>(what: &str, mut condition: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = condition() {
            return found;
        }
        assert!(started.elapsed() < PATIENCE, "no {what} in time");
        thread::sleep(Duration::from_millis(10));
    }
}

fn hall(index: u8) -> Call {
    Call::Hall(HallCall::new(floor(index), Direction::Up))
}

fn promised(status: &Status, call: &Call) -> bool {
    status.order(call).is_some_and(|order| order.promised)
}

fn floor(index: u8) -> Floor {
    FloorCount::new(FLOORS).and_then(|floors| floors.floor(index)).expect("a floor")
}

/// F15, F16, F18, S1
#[test]
fn a_press_at_the_panel_brings_the_car_and_lights_the_lamp_until_it_is_there() {
    let cabin = Cabin::new(&Lan::new(), 1);
    let node = cabin.start();
    let mut control = cabin.control();
    node.until("connection to the panel", |status| {
        status.car.as_ref().is_some_and(|car| car.connection.is_ok())
    });
    let button = Button::Hall(floor(2), Direction::Up);
    control.press(button).expect("pressed");
    let state = || cabin.simulator.state().expect("it runs").car;
    until("lamp", || state().lamps.contains(&button).then_some(()));
    until("car at floor 2 with its door open", || {
        let state = state();
        (state.floor == Some(floor(2)) && state.door_fraction > 0.9).then_some(())
    });
    until("dark lamp", || (!state().lamps.contains(&button)).then_some(()));
    assert_eq!(state().violations, 0);
    assert_eq!(node.stop(), Outcome::Stopped);
}

/// F3, F4, F12
#[test]
fn two_nodes_find_each_other_and_share_their_orders() {
    let lan = Lan::new();
    let cabins = [Cabin::new(&lan, 1), Cabin::new(&lan, 2)];
    // Pulled stop switches: the order stays open long enough to be seen on both.
    for cabin in &cabins {
        cabin.control().send("stop on").expect("taken");
    }
    let [one, two] = [cabins[0].start(), cabins[1].start()];
    one.until("joined peer", |status| {
        status.node_state == NodeState::Master && status.peers.iter().any(|peer| peer.synced)
    });
    let master = NodeId::new("car-1").expect("a name");
    two.until("master", |status| status.node_state == NodeState::Slave { master: master.clone() });
    two.order(&hall(2));
    for node in [&one, &two] {
        let status = node.until("promised order", |status| promised(status, &hall(2)));
        assert_eq!(status.order(&hall(2)).map(|order| order.holders), Some(2));
    }
    // F7
    assert_eq!(one.stop(), Outcome::Stopped);
    two.until("own mastery", |status| {
        status.node_state == NodeState::Master && status.peers.is_empty()
    });
    assert_eq!(two.stop(), Outcome::Stopped);
}

/// F13, P3
#[test]
fn an_order_and_its_lamp_outlive_the_node() {
    let cabin = Cabin::new(&Lan::new(), 1);
    cabin.control().send("stop on").expect("taken");
    let node = cabin.start();
    node.order(&hall(2));
    node.until("promised order", |status| promised(status, &hall(2)));
    node.stop();
    cabin.control().send("fault panel restart").expect("taken");
    let button = Button::Hall(floor(2), Direction::Up);
    let lamp = || cabin.simulator.state().expect("it runs").car.lamps.contains(&button);
    assert!(!lamp(), "a panel without a memory");
    let again = cabin.start();
    until("lamp", || lamp().then_some(()));
    assert!(promised(&again.until("status", |_| true), &hall(2)));
    again.stop();
}

/// F9, H1
#[test]
fn a_car_that_hangs_ends_its_node_with_the_evidence() {
    let cabin = Cabin::with(&Lan::new(), 1, &[("motion.flight_limit", "4500ms")]);
    let node = cabin.start();
    cabin.control().send("fault motor stuck").expect("taken");
    node.until("car in service", |status| {
        status.car.as_ref().is_some_and(|car| car.connection.is_ok())
    });
    node.order(&hall(2));
    let Outcome::Hung(evidence) = node.outcome() else {
        panic!("it ended in another way");
    };
    assert_eq!(evidence.direction, Direction::Up);
    let state = cabin.simulator.state().expect("it runs").car;
    assert_eq!(state.driven, None, "the motor still runs");
    // H2
    let Some(Latch::Hang(hang)) = latch::find(&cabin.settings.data_dir) else {
        panic!("not latched");
    };
    assert_eq!(hang.node, cabin.settings.node);
    assert_eq!(hang.evidence, (&evidence).into());
    let again = cabin.start().thread.join().expect("no panic");
    assert!(matches!(again, Err(RunError::Latched(_))), "{again:?}");
}

#[test]
fn a_node_that_ends_lets_go_of_everything() {
    let cabin = Cabin::new(&Lan::new(), 1);
    for _ in 0..2 {
        let node = cabin.start();
        node.until("status", |_| true);
        let begun = Instant::now();
        assert_eq!(node.stop(), Outcome::Stopped);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}

/// A dispatcher that is at its plan until it is let go.
#[derive(Debug)]
struct Slow {
    begun: std::sync::mpsc::SyncSender<()>,
    let_go: std::sync::mpsc::Receiver<()>,
    dispatcher: CollectiveCost,
}

impl Dispatcher for Slow {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        self.begun.send(()).expect("the test waits");
        // Let go for good once the test drops its end.
        assert!(self.let_go.recv().is_err(), "nobody sends anything");
        self.dispatcher.assign(cars, demand)
    }
}

/// H6: the motor stops while a plan is being made, however long that takes. The plan is carried out
/// when it comes.
#[test]
fn a_stop_does_not_wait_for_a_plan() {
    let cabin = Cabin::new(&Lan::new(), 1);
    let (begun, planning) = std::sync::mpsc::sync_channel(1024);
    let (release, let_go) = std::sync::mpsc::sync_channel(1);
    let dispatcher = Slow {
        begun,
        let_go,
        dispatcher: CollectiveCost::new(cabin.settings.kinematics, cabin.settings.floors),
    };
    let process = cabin.start_with(Box::new(dispatcher));
    let mut control = cabin.control();
    let driven = || cabin.simulator.state().expect("it runs").car.driven;
    process.until("connection to the panel", |status| {
        status.car.as_ref().is_some_and(|car| car.connection.is_ok())
    });
    control.press(Button::Hall(floor(1), Direction::Up)).expect("pressed");
    planning.recv_timeout(PATIENCE).expect("a plan is asked for");
    // A car call needs no plan.
    control.press(Button::Car(floor(3))).expect("pressed");
    until("the motor runs", || driven().map(|_| ()));
    control.send("stop on").expect("taken");
    until("the motor stops", || driven().is_none().then_some(()));
    let stops = cabin.simulator.state().expect("it runs").car.watchdog_stops;
    assert_eq!(stops, 0, "it was the node that stopped the motor");
    control.send("stop off").expect("taken");
    drop(release);
    process.until("both calls are served", |status| status.orders.is_empty());
    assert!(matches!(process.stop(), Outcome::Stopped));
}

#[test]
fn a_node_whose_port_is_taken_does_not_start() {
    let lan = Lan::new();
    let cabin = Cabin::new(&lan, 1);
    let taken = (lan.address(1), lan.broadcast.port());
    let _taken = std::net::UdpSocket::bind(taken).expect("bound");
    let ended = cabin.start().thread.join().expect("no panic");
    assert!(matches!(ended, Err(RunError::Mesh(_))), "{ended:?}");
}

/// H1: a suspension that begins in the middle of a turn is no time that the loop has watched. It is
/// noticed in the next turn.
#[test]
fn time_stands_still_during_a_turn() {
    const SUSPENDED: Duration = Duration::from_secs(1);
    let cabin = Cabin::new(&Lan::new(), 1);
    let turn = async {
        let mut running = Running::start(&cabin.settings, Box::new(Broken)).expect("it starts");
        running.turned = running.clock.now();
        thread::sleep(SUSPENDED);
        running.handle(Event::Timeout);
        let (next, _) = running.node.poll_timeout().expect("a beacon is due");
        assert!(next < running.turned + SUSPENDED, "{next:?}, after {:?}", running.turned);
        let (_, planned) = running.next(std::future::pending()).await;
        assert!(clock::suspended(planned, running.clock.now()).is_some());
        Box::pin(running.end(&Ending::Stopped, None)).await;
    };
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(turn);
}

/// A node that names `none` differs from one for which nothing is configured. A key that is missing
/// counts only once it is there.
#[test]
fn each_change_of_the_fleet_keys_is_in_the_audit_log() {
    let mut cabin = Cabin::new(&Lan::new(), 1);
    let path = |name: &str| cabin.directory.path().join(name).to_str().expect("text").to_owned();
    let made = |name: &str| {
        let key = KeyText::draw().expect("random numbers");
        fleet_key::create(path(name).as_ref(), &key).expect("written");
        path(name)
    };
    let (key, late) = (made("fleet.key"), made("late.key"));
    let both = format!("{},{late}", made("new.key"));
    let away = path("away.key");
    std::fs::rename(&late, &away).expect("away");
    let mut recorded = 0;
    for (files, is_change, accepts_anybody) in [
        ("", false, false),
        ("none", true, true),
        (&key, true, false),
        (&both, true, false),
        ("none", true, true),
    ] {
        cabin.settings.keys = KeyFiles::parse(files).unwrap_or_default();
        for is_change in [is_change, false] {
            let process = cabin.start();
            let keys = process.until("a status", |_| true).fleet_keys;
            assert_eq!(keys.accepts_anybody, accepts_anybody, "{files}");
            assert_eq!(keys.missing.is_some(), files == both, "{files}");
            let client = Client::connect(&process.data_dir).expect("it runs");
            let records = client.audit().expect("an audit log");
            recorded += usize::from(is_change);
            assert_eq!(records.len(), recorded, "{files}");
            let in_use = FleetKeysStatus { missing: None, ..keys };
            assert_eq!(last_fleet_keys(&records), in_use, "{files}");
            assert!(matches!(process.stop(), Outcome::Stopped));
        }
    }

    cabin.settings.keys = KeyFiles::parse(&both).expect("a setting");
    let process = cabin.start();
    process.until("one is missing", |status| status.fleet_keys.accepted.len() == 1);
    std::fs::rename(&away, &late).expect("back");
    let keys = process.until("none is", |status| status.fleet_keys.missing.is_none()).fleet_keys;
    assert_eq!(keys.accepted.len(), 2);
    let client = Client::connect(&process.data_dir).expect("it runs");
    let records = client.audit().expect("an audit log");
    assert_eq!((records.len(), last_fleet_keys(&records)), (recorded + 2, keys));
    assert!(matches!(process.stop(), Outcome::Stopped));
}

/// A dispatcher that fails as soon as there is a hall call.
#[derive(Debug)]
struct Broken;

impl Dispatcher for Broken {
    fn assign(&mut self, _cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        assert!(demand.is_empty(), "injected");
        Assignments::new()
    }
}

/// S2: a part of the process fails while the motor runs. The motor stops, the process ends.
fn fails(expected: &str, inject: impl FnOnce(&mut Running)) {
    let cabin = Cabin::new(&Lan::new(), 1);
    let driven = || cabin.simulator.state().expect("it runs").car.driven;
    let failed = async {
        let dispatcher = Box::new(Broken);
        let mut running = Running::start(&cabin.settings, dispatcher).expect("it starts");
        let mut control = cabin.control();
        let is_driven = async {
            while driven().is_none() {
                control.press(Button::Car(floor(3))).expect("pressed");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let ending = tokio::time::timeout(PATIENCE, running.run(is_driven)).await;
        assert!(matches!(ending, Ok(Ending::Stopped)), "{ending:?}");
        inject(&mut running);
        let ending = tokio::time::timeout(PATIENCE, running.run(std::future::pending())).await;
        let ending = ending.expect("it ends");
        Box::pin(running.end(&ending, None)).await;
        ending
    };
    let ending = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
        .block_on(failed);
    let Ending::Failed(failure) = ending else {
        panic!("{ending:?}");
    };
    assert!(failure.to_string().contains(expected), "{failure}");
    assert!(!RunError::Failed(failure).is_usage());
    // It has been told to stop, and may still brake.
    until("motor at rest", || driven().is_none().then_some(()));
    assert_eq!(cabin.simulator.state().expect("it runs").car.watchdog_stops, 0);
}

#[test]
fn a_planner_that_panics_ends_the_node() {
    fails("the planner failed", |running| {
        let hall = Call::Hall(HallCall::new(floor(1), Direction::Up));
        let now = running.clock.now();
        running.node.handle_order(&hall, now).expect("placed");
        running.drain();
    });
}

#[test]
fn a_mesh_task_that_panics_ends_the_node() {
    fails("the mesh failed", |running| running.mesh.panic_in_a_task());
}

#[test]
fn a_panel_line_whose_thread_has_ended_ends_the_node() {
    fails("the panel line failed", |running| {
        running.panel.as_mut().expect("a panel").lose_thread();
    });
}
