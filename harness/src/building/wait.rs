//! Waiting until a building is as it should be: for a condition, with a generous limit.

use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use elevator_driver::{Button, DoorState};
use elevator_fleet::election::Preferred;
use elevator_fleet::wire::NodeState;

use super::{Building, LOOK_EVERY, PATIENCE};

impl Building {
    pub fn wait(&self, what: &str, is_so: impl FnMut(&Self) -> bool) -> Duration {
        self.wait_within(PATIENCE, what, is_so)
    }

    /// The same within another limit; hands back how long it took.
    pub fn wait_within(
        &self,
        limit: Duration,
        what: &str,
        mut is_so: impl FnMut(&Self) -> bool,
    ) -> Duration {
        let start = Instant::now();
        while !is_so(self) {
            assert!(start.elapsed() < limit, "waited in vain until {what}{}", self.logs());
            std::thread::sleep(LOOK_EVERY);
        }
        start.elapsed()
    }

    pub fn wait_for<T>(&self, what: &str, mut find: impl FnMut(&Self) -> Option<T>) -> T {
        let mut found = None;
        self.wait(what, |building| {
            found = find(building);
            found.is_some()
        });
        found.expect("found")
    }

    pub fn stays(&self, what: &str, duration: Duration, mut is_so: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while start.elapsed() < duration {
            assert!(is_so(self), "not so any more: {what}{}", self.logs());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until every running node follows this one, and its store equals theirs.
    pub fn wait_for_master(&self, master: &str) -> Duration {
        let running: Vec<&str> = self.running().collect();
        self.wait_for_master_of(&running, master)
    }

    /// Waits until [they are led](Self::are_led_by) by this one.
    pub fn wait_for_master_of(&self, group: &[&str], master: &str) -> Duration {
        self.wait(&format!("{group:?} follow {master}, or one of them"), |building| {
            building.are_led_by(group, master)
        })
    }

    /// Whether these nodes hear each other and nobody else, follow this one of them, and have equal
    /// stores (E1, O7). Where the lowest address has no right to lead, any of them will do.
    pub fn are_led_by(&self, group: &[&str], master: &str) -> bool {
        match self.election.profile().preferred {
            Preferred::LowestAddress => self.follow(group, master),
            Preferred::Anybody | Preferred::Fittest | Preferred::Designated => {
                self.are_led_by_one(group)
            }
        }
    }

    pub fn wait_for_one_master_of(&self, group: &[&str]) -> Duration {
        let what = format!("{group:?} follow one of them");
        self.wait(&what, |building| building.are_led_by_one(group))
    }

    fn are_led_by_one(&self, group: &[&str]) -> bool {
        if self.election.profile().rotates {
            // Faster than it can be asked for.
            return self.are_one_group(group, |_, node_state| match node_state {
                NodeState::Master => true,
                NodeState::Slave { master } => group.contains(&master.as_str()),
                NodeState::Seeking => false,
            });
        }
        group.iter().any(|master| self.follow(group, master))
    }

    /// Waits until all that run follow one of them; hands back its name.
    pub fn wait_for_one_master(&self) -> &'static str {
        let running: Vec<&'static str> = self.running().collect();
        self.wait_for_one_master_of(&running);
        self.wait_for("somebody leads", |building| {
            running.iter().copied().find(|name| {
                building.status(name).is_some_and(|it| it.node_state == NodeState::Master)
            })
        })
    }

    /// Whether they hear each other and nobody else, follow this one, and have equal stores.
    pub fn follow(&self, group: &[&str], master: &str) -> bool {
        self.are_one_group(group, |name, node_state| match node_state {
            NodeState::Master => name == master,
            NodeState::Slave { master: followed } => name != master && *followed == master,
            NodeState::Seeking => false,
        })
    }

    fn are_one_group(
        &self,
        group: &[&str],
        stands_right: impl Fn(&str, &NodeState) -> bool,
    ) -> bool {
        let mut stores = BTreeSet::new();
        group.iter().all(|name| {
            self.status(name).is_some_and(|status| {
                stores.insert(status.digest);
                stands_right(name, &status.node_state)
                    && status.peers.len() + 1 == group.len()
                    && status.peers.iter().all(|peer| peer.in_step)
            })
        }) && stores.len() == 1
    }

    pub fn wait_in_service(&self, names: &[&str]) {
        self.wait("every car is in service", |building| {
            names.iter().all(|name| {
                let car = building.status(name).and_then(|status| status.car);
                car.is_some_and(|car| car.view.is_in_service())
            })
        });
    }

    /// Pulls a car's stop switch once its door is closed, and waits until the group does not count on
    /// it any more.
    pub fn take_out(&self, name: &str) {
        self.wait("the door is closed", |it| it.car(name).door == DoorState::Closed);
        self.tell(name, "stop on");
        self.wait(&format!("{name} is out of the group"), |building| {
            building.running().filter_map(|node| building.status(node)).all(|status| {
                let car = if status.node == name {
                    status.car.map(|car| car.view)
                } else {
                    let mut peers = status.peers.into_iter();
                    let peer = peers.find(|peer| peer.node == name);
                    peer.and_then(|peer| peer.car)
                };
                car.is_none_or(|car| !car.is_in_service())
            })
        });
    }

    pub fn put_in(&self, name: &str) {
        self.tell(name, "stop off");
    }

    pub fn wait_open_at(&self, name: &str, floor: u8) {
        self.wait(&format!("{name} is open at {floor}"), |it| it.is_open_at(name, floor));
    }

    /// Presses a car button and waits until the car is on its way.
    pub fn fly(&self, name: &str, floor: u8) -> Button {
        let button = self.car_call(floor);
        self.press(name, button);
        self.wait("the car moves", |building| building.car(name).speed.abs() > 1.0);
        button
    }

    pub fn wait_lit(&self, names: &[&str], button: Button) -> Duration {
        self.wait(&format!("{button} is lit on {names:?}"), |building| {
            names.iter().all(|name| building.car(name).lamps.contains(&button))
        })
    }

    pub fn wait_dark(&self, names: &[&str], button: Button) -> Duration {
        self.wait(&format!("{button} is dark on {names:?}"), |building| {
            names.iter().all(|name| !building.car(name).lamps.contains(&button))
        })
    }

    /// Presses a button on the panel of a car, and waits until its call is served: the lamps on the
    /// panels of all these cars are lit, and then dark.
    pub fn serve(&self, at: &str, names: &[&str], button: Button) {
        self.press(at, button);
        self.wait_lit(names, button);
        self.wait_dark(names, button);
    }

    pub fn wait_all_dark(&self) {
        self.wait_within(PATIENCE * 3, "every lamp is dark", |building| {
            building.cars().all(|cabin| building.car(cabin.name).lamps.is_empty())
        });
    }

    /// Waits for a node to end by itself.
    pub fn exit(&mut self, name: &str) -> ExitStatus {
        let mut node = self.cabin_mut(name).node.take().expect("a running node");
        self.end_of(&mut node)
    }
}
