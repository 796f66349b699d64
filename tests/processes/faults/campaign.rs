//! Random kills, suspensions and returns while passengers press all the time.

use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line, Times};

/// How many nodes a normal run kills.
const KILLS: u64 = 14;

/// The passengers and the kills of a normal run.
const SEED: u64 = 1;

const FLOORS: u8 = 8;

const FOUR: [&str; 4] = ["A", "B", "C", "D"];

/// E1, E2, F4, F6, F7, F11, F12, F13, F14, O1, O5, S1.
///
/// `LIFTMESH_KILLS=200 cargo test --test processes faults::campaign` makes it longer, `LIFTMESH_SEED=7` another
/// one. The seed chooses who is killed and pressed, and when; what the processes make of it is
/// theirs. Some nodes are suspended instead of killed. One at least is always left.
#[test]
fn every_lit_order_is_served_in_a_campaign_of_kills() {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("a number"))
    };
    let kills = number("LIFTMESH_KILLS").unwrap_or(KILLS);
    let seed = number("LIFTMESH_SEED").unwrap_or(SEED);
    let mut building = Building::with_cars(FLOORS, Line::Serial, &FOUR);
    building.open_books();
    let mut campaign = Campaign {
        building,
        chance: fastrand::Rng::with_seed(seed),
        down: Vec::new(),
        killed: 0,
        suspended: 0,
        pressed: 0,
    };
    println!("seed {seed}");
    while campaign.killed < kills {
        campaign.press_for_a_while();
        campaign.fall_or_return();
    }
    let mut merged = Times::default();
    merged.add(campaign.bring_all_back());
    let Campaign { mut building, killed, suspended, pressed, .. } = campaign;
    let report = building.close_books();
    let settled = building.wait_for_master("A");
    building.assert_safe();
    println!(
        "{killed} kills, {suspended} suspensions, {pressed} presses: {report:?}; one group \
         {} ms after the last return, equal stores {settled:?} after the last order",
        merged.worst().as_millis()
    );
    assert!(report.tally.placed > 0, "nobody pressed anything");
}

struct Campaign {
    building: Building,
    chance: fastrand::Rng,
    down: Vec<Down>,
    killed: u64,
    suspended: u64,
    pressed: u64,
}

#[derive(Debug, Clone, Copy)]
enum Down {
    Killed(&'static str),
    Suspended(&'static str),
}

impl Campaign {
    /// Between two deeds: long enough that what was promised before is on the disks of those that
    /// promised it, for an order survives the loss of one node at a time (F12).
    fn press_for_a_while(&mut self) {
        let until = Instant::now() + Duration::from_millis(self.chance.u64(300..1200));
        while Instant::now() < until {
            let at = *self.chance.choice(&FOUR).expect("four");
            let floor = self.chance.u8(..FLOORS);
            let button = match self.chance.u8(..3) {
                0 if floor > 0 => self.building.hall(floor, Direction::Down),
                1 if floor + 1 < FLOORS => self.building.hall(floor, Direction::Up),
                _ => self.building.car_call(floor),
            };
            self.building.press(at, button);
            self.pressed += 1;
            std::thread::sleep(Duration::from_millis(self.chance.u64(20..250)));
        }
    }

    fn fall_or_return(&mut self) {
        let up: Vec<&'static str> = self.building.running().collect();
        let returns = !self.down.is_empty() && (up.len() == 1 || self.chance.bool());
        if returns {
            let index = self.chance.usize(..self.down.len());
            let down = self.down.swap_remove(index);
            self.bring_back(down);
            return;
        }
        let victim = *self.chance.choice(&up).expect("one runs");
        if self.chance.u8(..4) == 0 {
            self.building.suspend(victim);
            self.suspended += 1;
            self.down.push(Down::Suspended(victim));
        } else {
            self.building.kill(victim);
            self.killed += 1;
            self.down.push(Down::Killed(victim));
        }
    }

    fn bring_back(&mut self, down: Down) {
        match down {
            Down::Killed(name) => self.building.start(name),
            Down::Suspended(name) => self.building.resume(name),
        }
    }

    fn bring_all_back(&mut self) -> Duration {
        for down in std::mem::take(&mut self.down) {
            self.bring_back(down);
        }
        self.building.wait_for_master("A")
    }
}
