//! A world under test: it is judged when it goes out of scope.

use std::ops::{Deref, DerefMut};
use std::time::Duration;

use elevator_driver::{Button, Direction, DoorState, Floor};
use elevator_fleet::election::ElectionSettings;
use elevator_fleet::model::{Call, Mode, Term, Timestamp};
use elevator_fleet::node::{MeshTimes, Node};
use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Fault, Weather, World, WorldSettings};

/// How many of the latest events a failure prints.
const STORY: usize = 120;

/// What a normal run takes, or the nightly one, which has the time for more.
pub(crate) fn usually<T>(normal: T, nightly: T) -> T {
    if std::env::var_os("LIFTMESH_NIGHTLY").is_some_and(|it| it == "1") { nightly } else { normal }
}

/// A world that must be sound at the end of its test.
pub(crate) struct Building(World);

impl Building {
    /// So many machines, none of which runs.
    pub(crate) fn dark(nodes: usize) -> Self {
        Self::of(WorldSettings::new(nodes, seed()))
    }

    pub(crate) fn of(settings: WorldSettings) -> Self {
        Self(World::new(settings).expect("a world"))
    }

    /// So many machines, which have found each other.
    pub(crate) fn merged(nodes: usize) -> Self {
        Self::merged_of(WorldSettings::new(nodes, seed()))
    }

    /// Machines that have run this long.
    pub(crate) fn on(settings: WorldSettings, time: Duration) -> Self {
        let mut building = Self::of(settings);
        building.start_all();
        building.run_for(time);
        building
    }

    /// Machines that have found each other.
    pub(crate) fn merged_of(settings: WorldSettings) -> Self {
        let building = Self::on(settings, secs(2));
        assert_eq!(building.master(), Some(0), "{}", building.story(STORY));
        building
    }

    /// Waits until something holds, and fails if it never does.
    pub(crate) fn until(
        &mut self,
        limit: Duration,
        what: &str,
        holds: impl FnMut(&World) -> bool,
    ) -> Duration {
        let took = self.run_until(limit, holds);
        took.unwrap_or_else(|| panic!("not within {limit:?}: {what}\n{}", self.story(STORY)))
    }

    /// Waits until a lamp is lit, or dark, on every panel of a running node.
    pub(crate) fn until_all_show(
        &mut self,
        button: Button,
        lit: bool,
        limit: Duration,
    ) -> Duration {
        let what = format!("{button} is {} everywhere", if lit { "lit" } else { "dark" });
        self.until(limit, &what, |world| world.all_show(button, lit))
    }

    /// Waits until every order is served and all stores are equal, and a second longer.
    pub(crate) fn until_at_rest(&mut self) {
        self.until(mins(4), "every order is served", |world| world.is_idle() && world.in_step());
        self.run_for(secs(2));
    }

    /// Puts everything right and expects the fleet to come to rest under its lowest address.
    pub(crate) fn recovers(&mut self) {
        self.recovers_under(|world| world.master() == Some(0));
    }

    /// Puts everything right and expects the fleet to come to rest under the right master.
    pub(crate) fn recovers_under(&mut self, right: impl FnMut(&World) -> bool) {
        self.repair_everything();
        self.until(secs(5), "the right master leads", right);
        self.until_at_rest();
        let broken = self.broken_promises();
        assert!(broken.is_empty(), "{broken:?}\n{}", self.story(STORY));
    }

    /// Kills a process, and starts it again a second later.
    pub(crate) fn restart(&mut self, node: usize) {
        self.inflict(Fault::Kill(node));
        self.run_for(secs(1));
        self.start(node);
    }

    /// Holds these cars where they are, or lets them go on.
    pub(crate) fn stop_switches(&mut self, nodes: impl IntoIterator<Item = usize>, stop: bool) {
        for node in nodes {
            self.inflict(Fault::StopSwitch(node, stop));
        }
    }

    /// Presses these, one after the other.
    pub(crate) fn press_all(&mut self, presses: &[(usize, Button)]) {
        for (node, button) in presses {
            self.press(*node, *button);
        }
    }

    /// Likewise, and waits until all is served.
    pub(crate) fn serve(&mut self, presses: &[(usize, Button)]) {
        self.press_all(presses);
        self.run_for(millis(200));
        self.until_at_rest();
    }

    pub(crate) fn call(&self, button: Button, node: usize) -> Call {
        Call::of_button(button, self.name(node))
    }
}

/// So many machines whose idle cars stay where they are, for tests that say where each car is.
pub(crate) fn without_parking(nodes: usize) -> WorldSettings {
    WorldSettings::without_parking(nodes, seed())
}

impl Deref for Building {
    type Target = World;

    fn deref(&self) -> &World {
        &self.0
    }
}

impl DerefMut for Building {
    fn deref_mut(&mut self) -> &mut World {
        &mut self.0
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay with LIFTMESH_SEED={}", seed());
            return;
        }
        let violations = self.violations();
        assert!(
            violations.is_empty(),
            "replay with LIFTMESH_SEED={}\n{}\n{}",
            seed(),
            self.story(STORY),
            lines(&violations)
        );
    }
}

pub(crate) fn lines<T: std::fmt::Display>(items: &[T]) -> String {
    let lines: Vec<String> = items.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// A LAN with 40 ms of jitter that loses 5 % of the packets, and repeats as many.
pub(crate) fn rough() -> Weather {
    Weather { delay: 100..=40_000, loss: 5, duplication: 5, ..Weather::default() }
}

/// How long an election of this many nodes may take in a whole and quiet network (C3).
pub(crate) fn bound_of(election: &ElectionSettings, nodes: usize) -> Duration {
    election.bound(&MeshTimes::default(), nodes)
}

/// The mode of a car, as a node sees it.
pub(crate) fn seen(world: &World, at: usize, car: usize) -> Option<Mode> {
    let status = world.node(at)?.status(Timestamp::START);
    let name = world.name(car);
    if at == car {
        return status.car.map(|car| car.view.mode);
    }
    let peer = status.peers.into_iter().find(|peer| peer.node == *name)?;
    peer.car.map(|car| car.mode)
}

/// Whether the car stands at this floor with its door open.
pub(crate) fn is_open_at(world: &World, car: usize, at: u8) -> bool {
    let inputs = world.car(car).inputs();
    (inputs.floor, inputs.door) == (Some(floor(at)), DoorState::Open)
}

/// Whether these cars are where a recall or emergency power brings them.
pub(crate) fn are_down(world: &World, cars: impl IntoIterator<Item = usize>) -> bool {
    cars.into_iter().all(|car| is_open_at(world, car, 0))
}

/// Whether every car whose node runs is in service.
pub(crate) fn are_back(world: &World) -> bool {
    world.running().all(|car| seen(world, car, car) == Some(Mode::InService))
}

/// The state and the term of each of these nodes.
pub(crate) fn states(world: &World, nodes: &[usize]) -> Vec<(Option<NodeState>, Option<Term>)> {
    let term = |node| world.node(node).map(Node::term);
    nodes.iter().map(|node| (world.node_state(*node).cloned(), term(*node))).collect()
}

/// The seed of this run.
pub(crate) fn seed() -> u64 {
    std::env::var("LIFTMESH_SEED").map_or(1, |seed| seed.parse().expect("LIFTMESH_SEED: a number"))
}

pub(crate) fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}

pub(crate) fn mins(count: u64) -> Duration {
    Duration::from_mins(count)
}

pub(crate) fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

pub(crate) fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

pub(crate) fn up(index: u8) -> Button {
    Button::Hall(floor(index), Direction::Up)
}

pub(crate) fn down(index: u8) -> Button {
    Button::Hall(floor(index), Direction::Down)
}

pub(crate) fn car_call(index: u8) -> Button {
    Button::Car(floor(index))
}
