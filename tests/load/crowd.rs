//! Many real nodes on one machine: they form one fleet, stay one while nothing happens, and follow
//! the next master at once when the first is killed.
//!
//! A usual run is short and has few nodes. The campaign is `LIFTMESH_CROWD=64 LIFTMESH_SECONDS=300
//! cargo test --release --test load crowd -- --nocapture`. `LIFTMESH_CROWD_CARS=64` gives this many
//! of the nodes a car with a simulated panel, the others are units without one. They print what
//! they measure.

use std::time::{Duration, Instant};

use elevator_driver::DoorState;
use elevator_fleet::model::Role;
use elevator_fleet::wire::NodeState;
use liftmesh_harness::building::{Building, Line, Machine};

/// Nodes, cars among them, and idle seconds of a usual run.
const NODES: u8 = 12;
const CARS: u8 = 3;
const SECONDS: u8 = 3;

/// On a busy machine.
const FORMED_WITHIN: Duration = Duration::from_secs(5);
const KNOWN_WITHIN: Duration = Duration::from_secs(1);

fn number(name: &str, usual: u64) -> u64 {
    let Ok(text) = std::env::var(name) else {
        return usual;
    };
    text.parse().expect("a number")
}

struct Crowd {
    building: Building,
    names: Vec<&'static str>,
}

impl Crowd {
    /// Starts the nodes; the first has the lowest address.
    fn start(nodes: u8, cars: u8, line: Line) -> Self {
        let mut building = Building::new(4, line);
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        let mut names = Vec::new();
        for number in 1..=nodes {
            let name: &'static str = format!("N{number:03}").leak();
            if number <= cars {
                building.install(name, number);
            } else {
                building.install_unit(name, number, Role::ControlUnit);
            }
            names.push(name);
        }
        for name in &names {
            building.start(name);
        }
        Self { building, names }
    }

    /// Waits until all that run follow this one; hands back how long that took.
    ///
    /// Nodes that follow are not asked again, as it takes time to ask them all.
    fn wait_until_all_follow(&self, master: &str, limit: Duration) -> Duration {
        let mut waiting: Vec<&str> = self.building.running().collect();
        let what = format!("all follow {master}");
        self.building.wait_within(limit, &what, |building| {
            while let Some(name) = waiting.last() {
                let node_state = building.status(name).map(|status| status.node_state);
                let follows = match node_state {
                    Some(NodeState::Master) => *name == master,
                    Some(NodeState::Slave { master: followed }) => followed == *master,
                    Some(NodeState::Seeking) | None => false,
                };
                if !follows {
                    return false;
                }
                waiting.pop();
            }
            true
        })
    }

    /// How often a peer was lost, and a node has changed its state.
    fn losses_and_changes(&self) -> [usize; 2] {
        let logs: String = self.names.iter().map(|name| self.building.logged(name)).collect();
        ["peer lost", "node state changed"].map(|what| logs.matches(what).count())
    }

    /// The processor time that each running node has used, in seconds.
    fn processor_times(&self) -> Vec<f64> {
        let running = self.building.running();
        running.map(|name| self.building.processor_time(name)).collect()
    }
}

/// The mean share of a core.
fn share(before: &[f64], after: &[f64], took: Duration) -> String {
    let used = after.iter().sum::<f64>() - before.iter().sum::<f64>();
    #[expect(clippy::cast_precision_loss, reason = "few nodes")]
    let mean = used / took.as_secs_f64() * 100.0 / before.len() as f64;
    format!("{mean:.2} % of a core each")
}

/// F2, F7: on a busy machine as well.
#[test]
fn a_crowd_forms_stays_and_follows_the_next_master() {
    let _machine = Machine::alone();
    let byte = |name, usual: u8| u8::try_from(number(name, usual.into())).expect("below 256");
    let nodes = byte("LIFTMESH_CROWD", NODES);
    let cars = byte("LIFTMESH_CROWD_CARS", CARS).min(nodes);
    let idle = Duration::from_secs(number("LIFTMESH_SECONDS", SECONDS.into()));
    let line = match std::env::var("LIFTMESH_CROWD_LINE").as_deref() {
        Ok("tcp") => Line::Tcp,
        _ => Line::Serial,
    };
    println!("{nodes} nodes, {cars} cars");
    let mut crowd = Crowd::start(nodes, cars, line);
    let formed = crowd.wait_until_all_follow(crowd.names[0], FORMED_WITHIN);
    println!("one master {formed:?} after the last start");
    let with_cars = &crowd.names[..usize::from(cars)];
    crowd.building.wait_in_service(with_cars);
    crowd.building.wait("every car rests with its door closed", |building| {
        with_cars.iter().all(|name| {
            let car = building.car(name);
            car.driven.is_none() && car.door == DoorState::Closed
        })
    });
    let before = crowd.losses_and_changes();
    let (began, used) = (Instant::now(), crowd.processor_times());
    std::thread::sleep(idle);
    let (took, now_used) = (began.elapsed(), crowd.processor_times());
    let after = crowd.losses_and_changes();
    let cars = usize::from(cars);
    println!("idle for {took:?}");
    println!("  cars:  {}", share(&used[..cars], &now_used[..cars], took));
    println!("  units: {}", share(&used[cars..], &now_used[cars..], took));
    println!("  lost peers {}, changes of role {}", after[0] - before[0], after[1] - before[1]);
    crowd.building.kill(crowd.names[0]);
    let known = crowd.wait_until_all_follow(crowd.names[1], KNOWN_WITHIN);
    println!("the next master known to all {known:?} after the kill");
    assert_eq!(before, after, "peers lost, and roles changed, while nothing happened");
}
