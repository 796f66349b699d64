//! As many kills as fit into the time, at any moment: also of a node that has only just been
//! started.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::disk::{self, Disk};
use liftmesh_harness::building::{Building, Line};

use super::THREE;

/// How many nodes a normal run kills.
const KILLS: u32 = 24;

/// How many buildings live at a time.
const BUILDINGS: u32 = 3;

const FLOORS: u8 = 8;

/// From what happens to one node to what happens to another, at least: as long as a disk may take
/// to have what its node has promised, for an order survives the loss of one node at a time (F12).
const GAP: Duration = Duration::from_millis(250);

/// The last strikes that a failure's message has.
const HISTORY: usize = 40;

/// E1, F4, F6, F7, F11, F12, F13, F14, O1, P3, P5, S1: whatever moment a node is killed at, no order is lost.
///
/// `LIFTMESH_DENSE_KILLS=1000 cargo test --test processes faults::kills` kills more, and
/// `LIFTMESH_SEED=7` at other moments. In between nodes are suspended, lose the line to their panel,
/// and start on a full disk. Fleets with a key and without one take turns.
#[test]
fn no_order_is_lost_by_kills_at_any_moment() {
    let number = |name: &str, otherwise: u32| {
        std::env::var(name).map_or(otherwise, |text| text.parse().expect("a number"))
    };
    let kills = number("LIFTMESH_DENSE_KILLS", KILLS).div_ceil(BUILDINGS);
    let seed = u64::from(number("LIFTMESH_SEED", 1));
    let disks_can_fail = disk::can_fail();
    println!("seed {seed}");
    let began = Instant::now();
    let mut toll = Toll::new();
    thread::scope(|scope| {
        let buildings: Vec<_> = (0..BUILDINGS)
            .map(|number| {
                let seed = seed * u64::from(BUILDINGS) + u64::from(number);
                scope.spawn(move || Struck::fill(seed, disks_can_fail).strike(kills))
            })
            .collect();
        for building in buildings {
            for (what, count) in building.join().expect("a building without a loss") {
                *toll.entry(what).or_default() += count;
            }
        }
    });
    println!("{toll:?} in {:.0?}", began.elapsed());
    assert!(toll["placed"] > toll["kills"] / 4, "hardly anybody pressed anything: {toll:?}");
}

/// What has been done, and what became of it, by what it is called.
type Toll = BTreeMap<&'static str, u32>;

/// A building in which something happens all the time.
struct Struck {
    building: Building,
    chance: fastrand::Rng,
    began: Instant,
    disks_can_fail: bool,
    /// Nobody presses at the panel of this car.
    spared: Option<&'static str>,
    history: Vec<String>,
    toll: Toll,
}

impl Struck {
    /// A node that is killed within this after its start is starting.
    const MOMENT: Duration = Duration::from_millis(300);

    fn fill(seed: u64, disks_can_fail: bool) -> Self {
        let mut building = Building::new(FLOORS, Line::Serial);
        if seed % 2 == 1 {
            let key = building.make_key("fleet.key");
            building.use_keys(&key);
        }
        building.fill(&THREE);
        building.open_books();
        Self {
            building,
            chance: fastrand::Rng::with_seed(seed),
            began: Instant::now(),
            disks_can_fail,
            spared: None,
            history: Vec::new(),
            toll: Toll::new(),
        }
    }

    fn strike(mut self, kills: u32) -> Toll {
        while self.toll.get("kills").is_none_or(|done| *done < kills) {
            let name = *self.chance.choice(&THREE).expect("three");
            self.spared = Some(name);
            match self.chance.u8(..24) {
                0 if self.disks_can_fail => self.fill_disk(name),
                1 | 2 => self.suspend(name),
                3 | 4 => self.unplug(name),
                _ => self.kill_over_and_over(name),
            }
            self.spared = None;
            self.live_for(GAP, GAP * 2);
        }
        self.building.wait_for_one_master();
        let report = self.building.close_books();
        self.building.assert_safe();
        self.toll.extend([("placed", report.tally.placed), ("served", report.tally.served)]);
        std::mem::take(&mut self.toll)
    }

    /// A node is killed, and most often again as soon as it is back or while it starts.
    fn kill_over_and_over(&mut self, name: &'static str) {
        self.kill(name);
        for _ in 0..self.chance.u8(..4) {
            self.live_for(Duration::ZERO, Self::MOMENT);
            self.start(name);
            let longest = if self.chance.bool() { Self::MOMENT / 10 } else { Self::MOMENT };
            self.live_for(Duration::ZERO, longest);
            self.kill(name);
        }
        self.live_for(Duration::ZERO, Self::MOMENT);
        self.start(name);
    }

    fn suspend(&mut self, name: &'static str) {
        self.note("suspensions", &format!("{name} is suspended"));
        self.building.suspend(name);
        self.live_for(Duration::from_millis(20), Duration::from_millis(1500));
        self.note("resumptions", &format!("{name} goes on"));
        self.building.resume(name);
    }

    fn unplug(&mut self, name: &'static str) {
        self.note("lines unplugged", &format!("the line of {name} is unplugged"));
        self.building.unplug_line(name);
        self.live_for(Duration::from_millis(20), Duration::from_millis(1500));
        self.building.plug_line(name);
        self.note("lines plugged in", &format!("the line of {name} is plugged in"));
    }

    /// A node loses its disk, which has what nobody else may have, so that nothing else may happen
    /// just before and after.
    fn fill_disk(&mut self, name: &'static str) {
        self.building.wait_for_one_master();
        self.kill(name);
        self.note("full disks", &format!("{name} starts on a full disk"));
        self.building.start_on(Disk::Full, name);
        self.live_for(Duration::from_millis(300), Duration::from_millis(1500));
        self.kill(name);
        self.start(name);
        self.building.wait_for_one_master();
    }

    fn kill(&mut self, name: &'static str) {
        self.note("kills", &format!("{name} is killed"));
        self.building.kill(name);
    }

    fn start(&mut self, name: &'static str) {
        self.note("starts", &format!("{name} starts"));
        self.building.start(name);
    }

    /// Passengers press for a while.
    fn live_for(&mut self, shortest: Duration, longest: Duration) {
        let micros = |limit: Duration| u64::try_from(limit.as_micros()).expect("short");
        let time = Duration::from_micros(self.chance.u64(micros(shortest)..=micros(longest)));
        let until = Instant::now() + time;
        if self.chance.bool() {
            thread::sleep(time / 2);
            self.press();
        }
        thread::sleep(until.saturating_duration_since(Instant::now()));
    }

    fn press(&mut self) {
        let panels: Vec<_> = THREE.into_iter().filter(|name| self.spared != Some(*name)).collect();
        let at = *self.chance.choice(&panels).expect("two at least");
        let floor = self.chance.u8(..FLOORS);
        let button = match self.chance.u8(..3) {
            0 if floor > 0 => self.building.hall(floor, Direction::Down),
            1 if floor + 1 < FLOORS => self.building.hall(floor, Direction::Up),
            _ => self.building.car_call(floor),
        };
        self.note("presses", &format!("{button} at {at}"));
        self.building.press(at, button);
    }

    fn note(&mut self, kind: &'static str, what: &str) {
        *self.toll.entry(kind).or_default() += 1;
        self.history.push(format!("{:8.3} s {what}", self.began.elapsed().as_secs_f64()));
    }
}

impl Drop for Struck {
    fn drop(&mut self) {
        if thread::panicking() {
            let last = &self.history[self.history.len().saturating_sub(HISTORY)..];
            println!("what happened last:\n{}", last.join("\n"));
        }
    }
}
