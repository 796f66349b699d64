use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::Poll;
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::dispatch::{Assignments, CarSituation, CollectiveCost, Dispatcher, HallDemand};
use elevator_fleet::model::{Call, HallCall};
use elevator_fleet::node::Access;
use elevator_simulator::simulator::SerialConfig;
use elevator_simulator::{
    CarConfig, CarState, ControlClient, Simulator, SimulatorConfig, StartPosition,
};
use tempfile::TempDir;

use super::*;
use crate::config::Sources;
use crate::mesh::tests::Lan;

const PATIENCE: Duration = Duration::from_mins(1);

const FLOORS: u8 = 4;

/// One car: its data directory, its simulated panel, its settings.
struct Cabin {
    simulator: Simulator,
    control: ControlClient,
    settings: Settings,
    _directory: TempDir,
}

impl Cabin {
    fn new() -> Self {
        let lan = Lan::new();
        let directory = TempDir::new().expect("a directory");
        let mut car = CarConfig::new(FloorCount::new(FLOORS).expect("floors"));
        car.start = StartPosition::Floor(0);
        let mut config = SimulatorConfig::new("car-1".to_owned(), car);
        let [link, control, data] =
            ["panel", "control", "data"].map(|it| directory.path().join(it));
        config.serial = Some(SerialConfig { link: Some(link.clone()), noise: 0 });
        config.control = Some(control.clone());
        // A machine that is busy with other tests keeps a node waiting.
        config.watchdog = Duration::from_secs(5);
        let simulator = Simulator::start(config).expect("a simulator");
        let control = ControlClient::connect(control).expect("a control socket");
        let flags: BTreeMap<&'static str, String> = [
            ("fleet", "fleet".to_owned()),
            ("car", "car-1".to_owned()),
            ("address", lan.address(1).to_string()),
            ("broadcast", lan.broadcast.to_string()),
            ("link_port", lan.link_port.to_string()),
            ("floors", FLOORS.to_string()),
            ("panel", format!("serial://{}", link.display())),
            ("data_dir", data.display().to_string()),
        ]
        .into();
        let sources = Sources { flags, ..Sources::default() };
        let (_, settings) = sources.check().expect("valid settings");
        Self { simulator, control, settings, _directory: directory }
    }

    async fn start(&self, dispatcher: impl Dispatcher + Send + 'static) -> Running {
        Running::start(&self.settings, Box::new(dispatcher)).await.expect("it starts")
    }

    fn car(&self) -> CarState {
        self.simulator.state().expect("it runs").car
    }

    fn press(&mut self, button: Button) {
        self.control.press(button).expect("pressed");
    }
}

fn floor(index: u8) -> Floor {
    FloorCount::new(FLOORS).and_then(|floors| floors.floor(index)).expect("a floor")
}

/// Runs turns of the node until this is so, which each turn looks at.
async fn run_until(running: &mut Running, what: &str, mut is_so: impl FnMut() -> bool) {
    let stop = poll_fn(|_| if is_so() { Poll::Ready(()) } else { Poll::Pending });
    let ending = tokio::time::timeout(PATIENCE, running.run(stop)).await;
    assert!(matches!(ending, Ok(Ending::Stopped)), "{what}: {ending:?}");
}

/// A dispatcher that is at its plan until it is let go.
#[derive(Debug)]
struct Slow {
    begun: SyncSender<()>,
    let_go: Receiver<()>,
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
#[tokio::test]
async fn a_stop_does_not_wait_for_a_plan() {
    let mut cabin = Cabin::new();
    let ((begun, planning), (release, let_go)) = (sync_channel(1024), sync_channel(1));
    let Settings { kinematics, building, .. } = &cabin.settings;
    let dispatcher = CollectiveCost::new(*kinematics, building);
    let mut running = cabin.start(Slow { begun, let_go, dispatcher }).await;
    run_until(&mut running, "a plan is asked for", || {
        cabin.press(Button::Hall(floor(1), Direction::Up));
        planning.try_recv().is_ok()
    })
    .await;
    // A car call needs no plan.
    run_until(&mut running, "the motor runs", || {
        cabin.press(Button::Car(floor(3)));
        cabin.car().driven.is_some()
    })
    .await;
    cabin.control.send("stop on").expect("taken");
    run_until(&mut running, "the motor stops", || cabin.car().driven.is_none()).await;
    assert_eq!(cabin.car().watchdog_stops, 0, "it was the node that stopped the motor");
    run_until(&mut running, "both calls are promised", || cabin.car().lamps.len() == 2).await;
    cabin.control.send("stop off").expect("taken");
    drop(release);
    run_until(&mut running, "both calls are served", || cabin.car().lamps.is_empty()).await;
    Box::pin(running.end(&Ending::Stopped, None)).await;
}

/// H1: a suspension that begins in the middle of a turn is no time that the loop has watched. It is
/// noticed in the next turn.
#[tokio::test]
async fn time_stands_still_during_a_turn() {
    const SUSPENDED: Duration = Duration::from_secs(1);
    let cabin = Cabin::new();
    let mut running = cabin.start(Broken).await;
    running.turned = running.clock.now();
    running.clock.origin -= SUSPENDED;
    running.handle(Event::Timeout);
    let (next, _) = running.node.poll_timeout().expect("a beacon is due");
    assert!(next < running.turned + SUSPENDED, "{next:?}, after {:?}", running.turned);
    let (_, planned) = running.next(std::future::pending()).await;
    assert!(clock::suspended(planned, running.clock.now()).is_some());
    Box::pin(running.end(&Ending::Stopped, None)).await;
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
async fn fails(expected: &str, inject: impl FnOnce(&mut Running)) {
    let mut cabin = Cabin::new();
    let mut running = cabin.start(Broken).await;
    run_until(&mut running, "the motor runs", || {
        cabin.press(Button::Car(floor(3)));
        cabin.car().driven.is_some()
    })
    .await;
    inject(&mut running);
    let ending = tokio::time::timeout(PATIENCE, running.run(std::future::pending())).await;
    let ending = ending.expect("it ends");
    Box::pin(running.end(&ending, None)).await;
    let Ending::Failed(failure) = ending else {
        panic!("{ending:?}");
    };
    assert!(failure.to_string().contains(expected), "{failure}");
    // It has been told to stop, and may still brake.
    let at_rest = async {
        while cabin.car().driven.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, at_rest).await.expect("the motor stops");
    assert_eq!(cabin.car().watchdog_stops, 0);
}

#[tokio::test]
async fn a_planner_that_panics_ends_the_node() {
    fails("the planner failed", |running| {
        let hall = Call::Hall(HallCall::new(floor(1), Direction::Up));
        let now = running.clock.now();
        running.node.handle_order(&hall, Access::Public, now).expect("placed");
        running.drain();
    })
    .await;
}

#[tokio::test]
async fn a_mesh_or_a_panel_line_that_has_ended_ends_the_node() {
    fails("the mesh failed", |running| running.mesh.panic_in_a_task()).await;
    fails("the panel line failed", |running| {
        running.panel.as_mut().expect("a panel").lose_thread();
    })
    .await;
}
