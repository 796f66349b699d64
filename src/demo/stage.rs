//! The owner of all state of a demo: processes, passengers, scene and account. Other threads send
//! it [`Update`]s; it alone decides what follows.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use elevator_driver::Building;
use elevator_fleet::model::NodeId;
use elevator_simulator::ControlClient;
use elevator_simulator::control::ControlError;
use elevator_simulator::simulator::SimulatorState;
use liftmesh_harness::account::{Account, Sight, Tally};
use liftmesh_harness::{Process, end};

use super::Args;
use super::error::{DemoError, log_of};
use super::lines::{Line, Update};
use super::scene::{CarScene, Event, Life, Phase, Power, Scene, Weight};
use super::site::{Site, address};
use super::traffic::Passengers;
use crate::exit::Exit;
use crate::mesh::Cable;
use crate::screen::Choice;

mod chaos;
mod faults;
mod hear;
mod perform;

use self::chaos::Chaos;

/// Updates that wait. When full, the thread that sends the next one waits, and misses news.
const NEWS: usize = 256;

/// How long a simulator may take to open its control socket.
const SIMULATOR_LIMIT: Duration = Duration::from_secs(15);

/// A node that has just started gets its lamps in line within this.
const SETTLE: Duration = Duration::from_secs(2);

/// What a panel showed before its node stood still is seen within this.
const LATE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Stage {
    args: Args,
    /// Nobody is there to press a key.
    unattended: bool,
    // The order matters: processes end before their directory is removed.
    actors: Vec<Actor>,
    site: Site,
    updates: Receiver<Update>,
    begun: Instant,
    pub(super) scene: Scene,
    /// What has happened and was not shown yet, the oldest first.
    pub(super) fresh: Vec<Event>,
    sights: Vec<Sight>,
    pub(super) account: Account,
    pub(super) lost: Vec<String>,
    unserved: Vec<String>,
    pub(super) chaos: Option<Chaos>,
    passengers: Passengers,
    /// How long passengers have been coming, without pauses.
    traffic: Duration,
    ticked_at: Duration,
    /// When the fleet had come together.
    ready_at: Option<Duration>,
    draining_since: Option<Duration>,
    dark_since: Option<Duration>,
}

/// The processes of one car and the lines to them.
#[derive(Debug)]
struct Actor {
    node: Option<Process>,
    simulator: Process,
    to_node: Line<Cable>,
    to_car: Line<String>,
    /// Whether the panel has a node that answers, and since when.
    attended: (bool, Duration),
}

impl Stage {
    pub(super) fn open(
        args: Args,
        building: Option<&Building>,
        unattended: bool,
        site: Site,
    ) -> Result<Self, DemoError> {
        let count = site.cars.len();
        let (bring, updates) = sync_channel(NEWS);
        let simulators = (0..count)
            .map(|car| {
                let (name, command) = (site.name(car), site.simulator(car, args.seed));
                let what = format!("the simulator of car {name}");
                start(what, command, site.place.simulator_log(name))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let (mut actors, mut cars) = (Vec::new(), Vec::new());
        for (car, (simulator, name)) in simulators.into_iter().zip(&site.cars).enumerate() {
            let (actor, seen) = Actor::start(&site, car, simulator, &bring)?;
            actors.push(actor);
            cars.push(CarScene::new(name.clone(), address(car), seen));
        }
        let mut stage = Self {
            scene: Scene {
                elapsed: Duration::ZERO,
                phase: Phase::Starting,
                power: Power::On,
                election: args.election,
                leader: None,
                panel: site.panel(),
                seed: args.seed,
                floors: args.floors,
                cars,
                orders: Vec::new(),
                events: std::collections::VecDeque::new(),
                tally: Tally::default(),
                arrived: 0,
                waiting: vec![0; usize::from(args.floors.get())],
                choice: Choice::default(),
            },
            passengers: Passengers::new(&args, building),
            actors,
            site,
            updates,
            begun: Instant::now(),
            fresh: Vec::new(),
            sights: vec![Sight::default(); count],
            account: Account::default(),
            lost: Vec::new(),
            unserved: Vec::new(),
            chaos: args.chaos.then(|| Chaos::new(args.seed, count)),
            traffic: Duration::ZERO,
            ticked_at: Duration::ZERO,
            ready_at: None,
            draining_since: None,
            dark_since: None,
            args,
            unattended,
        };
        let Args { election, seed, .. } = stage.args;
        let text = format!("simulators and nodes started, election {election}, seed {seed}");
        stage.log(None, Weight::Notable, text);
        if stage.unattended {
            let text = format!("web panel: {}", stage.scene.panel);
            stage.log(None, Weight::Notable, text);
        }
        Ok(stage)
    }

    /// Takes in changes for this long, and then lets everybody act.
    pub(super) fn go_on(&mut self, period: Duration) -> Result<ControlFlow<()>, DemoError> {
        let until = Instant::now() + period;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.updates.recv_timeout(left) {
                Ok(update) => self.hear(update)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.look_after_processes()?;
        self.perform()
    }

    pub(super) fn close(self) {
        let Self { actors, site, updates, .. } = self;
        // No thread has to wait until its updates are received.
        drop(updates);
        let (mut nodes, mut simulators, mut lines) = (Vec::new(), Vec::new(), Vec::new());
        for actor in actors {
            nodes.extend(actor.node);
            simulators.push(actor.simulator);
            lines.push((actor.to_node, actor.to_car));
        }
        end(nodes);
        end(simulators);
        for (to_node, to_car) in lines {
            to_node.end();
            to_car.end();
        }
        drop(site);
    }

    fn now(&self) -> Duration {
        self.begun.elapsed()
    }

    fn log(&mut self, car: Option<usize>, weight: Weight, text: impl Into<String>) {
        let event = Event {
            at: self.now(),
            car: car.map(|car| self.scene.cars[car].name.clone()),
            text: text.into(),
            weight,
        };
        self.scene.log(event.clone());
        self.fresh.push(event);
    }

    fn look_after_processes(&mut self) -> Result<(), DemoError> {
        for car in 0..self.actors.len() {
            let actor = &mut self.actors[car];
            if let Some(status) = actor.simulator.ended() {
                return Err(DemoError::ended(&actor.simulator, status));
            }
            let Some(node) = &mut actor.node else {
                continue;
            };
            let Some(status) = node.ended() else { continue };
            let failure = DemoError::ended(node, status);
            actor.node = None;
            let exit = |exit: Exit| status.code() == Some(i32::from(exit as u8));
            let scene = &mut self.scene.cars[car].node;
            scene.said = None;
            if exit(Exit::Hung) || exit(Exit::Refused) {
                scene.life = Life::Hung;
                let text = if exit(Exit::Hung) {
                    "hung: its node has stopped the motor and ended"
                } else {
                    faults::HANG_NOT_CLEARED
                };
                self.log(Some(car), Weight::Bad, text);
            } else if self.unattended || self.scene.phase == Phase::Starting {
                return Err(failure);
            } else {
                scene.life = Life::Ended(status.to_string());
                self.log(Some(car), Weight::Bad, failure.to_string().replace('\n', " "));
            }
        }
        Ok(())
    }

    fn start_node(&mut self, car: usize) -> Result<(), DemoError> {
        self.actors[car].node = Some(start_node(&self.site, car)?);
        let node = &mut self.scene.cars[car].node;
        (node.life, node.cable, node.said) = (Life::Starting, Cable::Whole, None);
        Ok(())
    }

    /// The panels whose nodes run, even if silent for a moment.
    fn attended(&self) -> BTreeSet<NodeId> {
        let runs = |car: &&CarScene| matches!(car.node.life, Life::Starting | Life::Running);
        self.scene.cars.iter().filter(runs).map(|car| car.name.clone()).collect()
    }
}

impl Actor {
    fn start(
        site: &Site,
        car: usize,
        mut simulator: Process,
        updates: &SyncSender<Update>,
    ) -> Result<(Self, SimulatorState), DemoError> {
        let mut client = connect(site, car, &mut simulator)?;
        let seen = client.simulator_state();
        let seen = seen.map_err(|error| silent(site, car, &simulator, error))?;
        let actor = Self {
            to_car: Line::to_car(car, client, updates.clone())?,
            to_node: Line::to_node(car, site.data_dir(car), updates.clone())?,
            node: Some(start_node(site, car)?),
            simulator,
            attended: (false, Duration::ZERO),
        };
        Ok((actor, seen))
    }
}

fn start_node(site: &Site, car: usize) -> Result<Process, DemoError> {
    start(format!("node {}", site.name(car)), site.node(car), site.place.node_log(site.name(car)))
}

fn start(what: String, command: Command, log: PathBuf) -> Result<Process, DemoError> {
    Process::start(&*what, command, log).map_err(|source| DemoError::Start { what, source })
}

fn connect(site: &Site, car: usize, simulator: &mut Process) -> Result<ControlClient, DemoError> {
    let limit = Instant::now() + SIMULATOR_LIMIT;
    loop {
        let error = match ControlClient::connect(site.place.control(site.name(car))) {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        if let Some(status) = simulator.ended() {
            return Err(DemoError::ended(simulator, status));
        }
        if Instant::now() >= limit {
            return Err(silent(site, car, simulator, error));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn silent(site: &Site, car: usize, simulator: &Process, source: ControlError) -> DemoError {
    DemoError::Simulator { car: site.name(car).to_owned(), log: log_of(simulator), source }
}
