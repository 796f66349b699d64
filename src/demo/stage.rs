//! The owner of everything that happens in a demo: processes, passengers, scene and account. Other
//! threads bring it [`News`]; it alone decides what follows.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use elevator_driver::Floor;
use elevator_fleet::model::NodeId;
use elevator_simulator::ControlClient;
use elevator_simulator::control::ControlError;

use super::Plan;
use super::chaos::Toll;
use super::error::DemoError;
use super::leadership::Leadership;
use super::lines::{Line, News};
use super::process::{Process, end};
use super::scene::{CarScene, Event, Life, Phase, Power, Scene, Weight};
use super::site::{Site, address};
use super::traffic::{Arrivals, Crowd};
use crate::account::Sight;
use crate::account::{Account, Tally};
use crate::cli::Exit;
use crate::mesh::Cable;

mod chaos;
mod faults;
mod hear;
mod perform;
mod wishes;

use self::chaos::Chaos;

/// News that wait for the stage. When full, whoever brings the next waits; what it would have seen
/// meanwhile is left out.
const NEWS: usize = 256;

/// How long a simulator may take to open its control socket.
const SIMULATOR_LIMIT: Duration = Duration::from_secs(15);

/// How long the fleet may take to come together.
const FLEET_LIMIT: Duration = Duration::from_secs(30);

/// How long the last orders may take.
const DRAIN_LIMIT: Duration = Duration::from_mins(1);

/// The same after chaos, where the last hang has to come to its end first.
const HEAL_LIMIT: Duration = Duration::from_mins(3);

/// A node that has just started gets its lamps in line within this.
const SETTLE: Duration = Duration::from_secs(2);

/// What a panel showed before its node stood still is seen within this.
const LATE: Duration = Duration::from_millis(500);

/// Everything that happens.
#[derive(Debug)]
pub(super) struct Stage {
    plan: Plan,
    // The order matters: processes end before their directory is removed.
    actors: Vec<Actor>,
    site: Site,
    news: Receiver<News>,
    begun: Instant,
    scene: Scene,
    fresh: Vec<Event>,
    sights: Vec<Sight>,
    account: Account,
    /// The lost orders, in words.
    lost: Vec<String>,
    chaos: Option<Chaos>,
    leadership: Leadership,
    crowd: Crowd,
    arrivals: Peekable<Arrivals>,
    /// How long passengers have come, without the pauses.
    traffic: Duration,
    ticked_at: Duration,
    /// When the fleet had come together.
    ready_at: Option<Duration>,
    drain_since: Option<Duration>,
    dark_since: Option<Duration>,
}

/// The processes of one car and the lines to them.
#[derive(Debug)]
struct Actor {
    node: Option<Process>,
    simulator: Process,
    to_node: Line<Cable>,
    to_car: Line<String>,
    /// Since when the panel has had a node that answers.
    settled_since: Option<Duration>,
    /// Since when it has had none.
    still_since: Option<Duration>,
}

/// Whether the demo goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    /// It does.
    On,
    /// All that was planned has happened.
    Over,
}

impl Stage {
    /// Starts all processes.
    ///
    /// # Errors
    /// Everything that was started is ended.
    pub(super) fn open(plan: Plan, site: Site) -> Result<Self, DemoError> {
        let cars = site.cars().len();
        let (bring, news) = sync_channel(NEWS);
        let simulators = (0..cars)
            .map(|car| {
                let what = format!("the simulator of car {}", site.name(car));
                let command = site.simulator(car, plan.seed);
                Process::start(what, command, site.log(car, "simulator"))
            })
            .collect::<Result<Vec<_>, _>>()?;
        let mut actors = Vec::new();
        for (car, simulator) in simulators.into_iter().enumerate() {
            actors.push(Actor::start(&site, car, simulator, &bring)?);
        }
        let scenes = site.cars().iter().enumerate();
        let scenes = scenes.map(|(car, name)| CarScene::new(name.clone(), address(car)));
        let mut stage = Self {
            scene: Scene {
                elapsed: Duration::ZERO,
                phase: Phase::Starting,
                power: Power::On,
                election: plan.election,
                leader: None,
                seed: plan.seed,
                floors: plan.floors,
                cars: scenes.collect(),
                orders: Vec::new(),
                events: std::collections::VecDeque::new(),
                tally: Tally::default(),
                master_changes: None,
                arrived: 0,
                waiting: vec![0; usize::from(plan.floors.get())],
                car: 0,
                floor: Floor::BOTTOM,
            },
            arrivals: Arrivals::new(plan.seed, plan.floors, cars, plan.gap).peekable(),
            actors,
            site,
            news,
            begun: Instant::now(),
            fresh: Vec::new(),
            sights: vec![Sight::default(); cars],
            account: Account::default(),
            lost: Vec::new(),
            chaos: plan.chaos.then(|| Chaos::new(plan.seed, cars)),
            leadership: Leadership::new(plan.election),
            crowd: Crowd::new(),
            traffic: Duration::ZERO,
            ticked_at: Duration::ZERO,
            ready_at: None,
            drain_since: None,
            dark_since: None,
            plan,
        };
        let Plan { election, seed, .. } = stage.plan;
        let text = format!("simulators and nodes started, election {election}, seed {seed}");
        stage.tell(None, Weight::Notable, text);
        Ok(stage)
    }

    /// What is to be seen.
    pub(super) fn scene(&self) -> &Scene {
        &self.scene
    }

    /// What has happened since this was last asked, the oldest first.
    pub(super) fn fresh(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.fresh)
    }

    /// The account.
    pub(super) fn tally(&self) -> Tally {
        self.account.tally()
    }

    /// The lost orders, in words.
    pub(super) fn lost(&self) -> &[String] {
        &self.lost
    }

    /// How many faults chaos has made, by kind.
    pub(super) fn toll(&self) -> Option<&Toll> {
        self.chaos.as_ref().map(Chaos::toll)
    }

    /// Takes in news for this long, and then lets everybody act.
    ///
    /// # Errors
    /// The demo cannot go on.
    pub(super) fn go_on(&mut self, period: Duration) -> Result<Course, DemoError> {
        let until = Instant::now() + period;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.news.recv_timeout(left) {
                Ok(news) => self.hear(news)?,
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
            }
        }
        self.look_after_processes()?;
        self.perform()
    }

    /// Ends everything in an orderly way.
    pub(super) fn close(self) {
        let Self {
            actors, site, news, ..
        } = self;
        // Nobody waits any more until news are taken.
        drop(news);
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

    fn tell(&mut self, car: Option<usize>, weight: Weight, text: impl Into<String>) {
        let event = Event {
            at: self.now(),
            car: car.map(|car| self.scene.cars[car].name.clone()),
            text: text.into(),
            weight,
        };
        self.scene.tell(event.clone());
        self.fresh.push(event);
    }

    fn look_after_processes(&mut self) -> Result<(), DemoError> {
        for car in 0..self.actors.len() {
            let actor = &mut self.actors[car];
            if let Some(status) = actor.simulator.ended() {
                return Err(actor.simulator.failure(status));
            }
            let Some(node) = &mut actor.node else {
                continue;
            };
            let Some(status) = node.ended() else { continue };
            let failure = node.failure(status);
            actor.node = None;
            let exit = |exit: Exit| status.code() == Some(i32::from(exit as u8));
            let scene = &mut self.scene.cars[car].node;
            scene.said = None;
            if exit(Exit::Hung) {
                scene.life = Life::Hung;
                let text = "hung: its node has stopped the motor and ended";
                self.tell(Some(car), Weight::Bad, text);
            } else if exit(Exit::Refused) {
                scene.life = Life::Hung;
                let text = "refused to start: the hang has not been cleared";
                self.tell(Some(car), Weight::Bad, text);
            } else if self.plan.unattended || self.scene.phase == Phase::Starting {
                return Err(failure);
            } else {
                scene.life = Life::Ended(status.to_string());
                self.tell(
                    Some(car),
                    Weight::Bad,
                    failure.to_string().replace('\n', " "),
                );
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

    fn living(&self) -> BTreeSet<NodeId> {
        let cars = self.scene.cars.iter().zip(&self.sights);
        cars.filter(|(_, sight)| sight.living)
            .map(|(car, _)| car.name.clone())
            .collect()
    }
}

impl Actor {
    fn start(
        site: &Site,
        car: usize,
        mut simulator: Process,
        news: &SyncSender<News>,
    ) -> Result<Self, DemoError> {
        let client = connect(site, car, &mut simulator)?;
        Ok(Self {
            to_car: Line::to_car(car, client, news.clone())?,
            to_node: Line::to_node(car, site.data_dir(car), news.clone())?,
            node: Some(start_node(site, car)?),
            simulator,
            settled_since: None,
            still_since: None,
        })
    }
}

fn start_node(site: &Site, car: usize) -> Result<Process, DemoError> {
    let what = format!("node {}", site.name(car));
    Process::start(what, site.node(car), site.log(car, "node"))
}

/// Waits for the simulator's control socket.
fn connect(site: &Site, car: usize, simulator: &mut Process) -> Result<ControlClient, DemoError> {
    let limit = Instant::now() + SIMULATOR_LIMIT;
    loop {
        let error = match ControlClient::connect(site.control(car)) {
            Ok(client) => return Ok(client),
            Err(error) => error,
        };
        if let Some(status) = simulator.ended() {
            return Err(simulator.failure(status));
        }
        if Instant::now() >= limit {
            return Err(silent(site, car, simulator, error));
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn silent(site: &Site, car: usize, simulator: &Process, source: ControlError) -> DemoError {
    DemoError::Simulator {
        car: site.name(car).to_owned(),
        log: simulator.last_lines(),
        source,
    }
}
