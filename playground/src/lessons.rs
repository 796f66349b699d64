//! Each lesson of the page shows what it says.

use elevator_driver::Direction;
use elevator_fleet::model::{Call, HallCall};
use elevator_fleet::wire::NodeState;
use liftmesh_lab::machine_name;

use super::Knowledge::{Known, OnDisk, Served, Unknown};
use super::*;

const PAGE: &str = include_str!("../page/lessons.json");
const MANUAL: &str = include_str!("../../docs/PLAYGROUND.md");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lesson {
    name: String,
    title: String,
    watch: Vec<String>,
    settings: serde_json::Value,
}

fn lessons() -> Vec<Lesson> {
    serde_json::from_str(PAGE).expect("lessons")
}

/// A lesson while it runs.
struct Run(Playground);

impl Run {
    fn of(name: &str) -> Self {
        let lesson = lessons().into_iter().find(|lesson| lesson.name == name).expect(name);
        let settings = Settings::from_json(&lesson.settings.to_string()).expect(name);
        Self(Playground::new(settings).expect(name))
    }

    /// Goes on until this time of the run.
    fn at(&mut self, seconds: f64) -> &World {
        let until = Duration::from_secs_f64(seconds);
        self.0.advance(until.saturating_sub(self.0.world().now()));
        self.0.world()
    }

    /// What each node knows of a call at this time, and whether its lamp is lit anywhere.
    fn row(&mut self, seconds: f64, call: &Call) -> (Vec<Knowledge>, bool) {
        self.at(seconds);
        let row = self.0.orders().rows.into_iter().find(|row| row.call == call.into());
        row.map(|row| (row.nodes, row.lit.is_some_and(|lit| !lit.is_empty()))).unwrap_or_default()
    }

    /// The car that has a hall call at this time, by its number.
    fn assigned(&mut self, seconds: f64, call: &Call) -> Option<usize> {
        let world = self.at(seconds);
        let last = world.assignments().iter().rfind(|assignment| assignment.call == *call)?;
        (0..world.size()).find(|node| *world.name(*node) == last.car)
    }

    /// The nodes that have served a call so far, in order.
    fn servers(&self, call: &Call) -> Vec<usize> {
        let services = self.0.world().services().iter().filter(|service| service.call == *call);
        services.map(|service| service.node).collect()
    }

    fn masters(&self) -> Vec<usize> {
        let world = self.0.world();
        let is_master = |node: &usize| world.node_state(*node) == Some(&NodeState::Master);
        (0..world.size()).filter(is_master).collect()
    }

    /// It ends well.
    fn ends(&mut self) {
        let world = self.at(60.0);
        assert_eq!(world.violations(), []);
        assert_eq!(world.broken_promises(), []);
        assert_eq!(world.master(), world.running().next(), "the lowest address");
        assert!(world.is_idle() && world.in_step());
    }
}

fn floor(index: u8) -> Floor {
    Floor::try_from(index).expect("a floor")
}

fn hall(index: u8, direction: Direction) -> Call {
    Call::Hall(HallCall::new(floor(index), direction))
}

fn ride_of_b() -> Call {
    Call::ride(&machine_name(1).expect("a name"), floor(7))
}

#[test]
fn the_page_and_the_manual_list_the_lessons() {
    let lessons = lessons();
    let names: Vec<_> = lessons.iter().map(|lesson| lesson.name.as_str()).collect();
    assert_eq!(names, ["f6", "f7", "f8", "f9", "f10", "f11", "f12", "f13", "f14"]);
    for Lesson { name, title, watch, .. } in &lessons {
        assert_eq!(watch.len(), 3, "{name}: three sentences");
        let link = format!("?lesson={name}): {title}\n");
        assert!(MANUAL.contains(&link), "docs/PLAYGROUND.md: {link}");
    }
}

/// F6.
#[test]
fn the_hall_call_of_a_dead_slave_goes_to_another_car_and_its_car_call_waits() {
    let mut run = Run::of("f6");
    let call = hall(6, Direction::Up);
    assert_eq!(run.assigned(4.9, &call), Some(1));
    assert_eq!(run.row(4.9, &ride_of_b()), (vec![OnDisk; 3], true));
    run.at(19.9);
    assert!(matches!(run.servers(&call)[..], [0 | 2]), "{:?}", run.servers(&call));
    assert_eq!(run.row(19.9, &ride_of_b()), (vec![OnDisk; 3], false), "it survives");
    run.ends();
    assert_eq!(run.servers(&ride_of_b()), [1]);
}

/// F7.
#[test]
fn slaves_go_on_without_their_master() {
    let mut run = Run::of("f7");
    let calls = [hall(2, Direction::Up), hall(6, Direction::Down)];
    for call in &calls {
        assert_eq!(run.row(4.4, call), (vec![OnDisk; 3], true), "{call}");
    }
    assert_eq!(run.masters(), [0]);
    run.at(19.9);
    assert_eq!(run.masters(), [1]);
    for call in calls {
        assert!(matches!(run.servers(&call)[..], [1 | 2]), "{call}: {:?}", run.servers(&call));
    }
    run.ends();
}

/// F8.
#[test]
fn both_sides_of_a_partition_serve_the_call() {
    let mut run = Run::of("f8");
    run.at(24.9);
    assert_eq!(run.masters(), [0, 2]);
    let mut servers = run.servers(&hall(7, Direction::Down));
    servers.sort_unstable();
    assert!(matches!(servers[..], [0 | 1, 2 | 3]), "{servers:?}");
    run.ends();
}

/// F9.
#[test]
fn a_car_that_hangs_stays_out_until_an_operator_clears_it() {
    let mut run = Run::of("f9");
    assert!(!run.at(4.1).is_latched(1));
    for at in [14.9, 19.9] {
        assert!(run.at(at).is_latched(1), "at {at} s");
        assert!(run.0.world().node(1).is_none());
    }
    assert_eq!(run.row(19.9, &ride_of_b()).0, [OnDisk; 3]);
    run.ends();
    assert_eq!(run.servers(&ride_of_b()), [1]);
}

/// F10.
#[test]
fn lost_packets_delay_a_call_and_change_no_master() {
    let mut run = Run::of("f10");
    run.at(2.0);
    let changes = run.0.world().state_changes();
    assert_eq!(run.row(4.5, &hall(6, Direction::Down)), (vec![OnDisk; 3], true));
    run.ends();
    assert_eq!(run.0.world().state_changes(), changes, "no node is believed dead");
    for call in [hall(2, Direction::Up), hall(6, Direction::Down)] {
        assert_eq!(run.servers(&call).len(), 1, "{call}");
    }
}

/// F11.
#[test]
fn a_call_that_never_reached_the_master_is_served_where_it_was_made() {
    let mut run = Run::of("f11");
    let call = hall(6, Direction::Down);
    assert_eq!(run.row(4.2, &call).0, [Unknown, Unknown, OnDisk]);
    run.at(19.9);
    assert_eq!((run.masters(), run.servers(&call)), (vec![0, 2], vec![2]));
    run.ends();
    assert_eq!(run.servers(&call), [2], "no second car comes");
}

/// F12.
#[test]
fn a_lamp_is_lit_once_the_call_would_survive() {
    let mut run = Run::of("f12");
    let call = hall(6, Direction::Down);
    assert_eq!(run.row(4.2, &call), (vec![Known; 3], false));
    let (nodes, lit) = run.row(5.9, &call);
    assert!(lit && nodes.contains(&OnDisk), "{nodes:?}");
    run.ends();
    assert!(matches!(run.servers(&call)[..], [0 | 2]), "{:?}", run.servers(&call));
}

/// F13.
#[test]
fn calls_survive_a_power_cut_of_the_whole_building() {
    let mut run = Run::of("f13");
    let calls = [hall(6, Direction::Down), ride_of_b()];
    for call in &calls {
        assert_eq!(run.row(9.9, call), (vec![OnDisk; 3], false), "{call}");
    }
    assert_eq!(run.at(9.9).running().count(), 0);
    assert!(run.row(11.5, &ride_of_b()).1, "the lamp is lit again");
    run.ends();
    assert_eq!(run.servers(&calls[1]), [1]);
    assert_eq!(run.servers(&calls[0]).len(), 1);
}

/// F14.
#[test]
fn what_was_served_on_one_side_does_not_come_back() {
    let mut run = Run::of("f14");
    let (served, open) = (hall(6, Direction::Down), hall(3, Direction::Up));
    assert_eq!(run.row(24.9, &served), (vec![Served, Served, OnDisk, OnDisk], true));
    assert_eq!(run.row(24.9, &open).0, [Unknown, Unknown, OnDisk, OnDisk]);
    run.at(60.0);
    for call in [&served, &open] {
        assert!(matches!(run.servers(call)[..], [0 | 1]), "{call}: {:?}", run.servers(call));
    }
    assert_eq!(run.0.world().broken_promises(), []);
}
