//! Random kills, suspensions and returns while passengers press all the time.

use std::iter::Peekable;
use std::time::{Duration, Instant};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};
use liftmesh_lab::{FaultKind, Schedule, ScheduleSettings, ScheduledFault, Toll};

/// How many nodes a normal run kills.
const KILLS: u32 = 5;

/// The passengers and the faults of a normal run.
const SEED: u64 = 1;

const FLOORS: u8 = 8;

const FOUR: [&str; 4] = ["A", "B", "C", "D"];

/// E1, E2, F4, F6, F7, F11, F12, F13, F14, O1, O5, S1.
///
/// `LIFTMESH_KILLS=200 cargo test --test processes faults::campaign` makes it longer, `LIFTMESH_SEED=7` another
/// one. The seed chooses who is killed and pressed, and when, and whether the fleet has a key; what
/// the processes make of it is theirs. Some nodes are suspended instead of killed. One at least is
/// always left.
#[test]
fn every_lit_order_is_served_in_a_campaign_of_kills() {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().expect("a number"))
    };
    let kills = number("LIFTMESH_KILLS").map_or(KILLS, |kills| kills.try_into().expect("kills"));
    let seed = number("LIFTMESH_SEED").unwrap_or(SEED);
    println!("seed {seed}");
    let mut campaign = Campaign::begin(seed);
    while campaign.toll.of(FaultKind::Kill) < kills {
        campaign.press();
        campaign.bring_back_those_due();
        campaign.strike_if_due();
    }
    let merged = campaign.bring_all_back();
    let Campaign { mut building, toll, pressed, .. } = campaign;
    let report = building.close_books();
    let settled = building.wait_for_master("A");
    building.assert_safe();
    println!(
        "{toll}; {pressed} presses: {report:?}; one group {} ms after the last return, equal stores \
         {settled:?} after the last order",
        merged.as_millis()
    );
    assert!(report.tally.placed > 0, "nobody pressed anything");
}

struct Campaign {
    building: Building,
    chance: fastrand::Rng,
    schedule: Peekable<Schedule>,
    began: Instant,
    /// The faults that last.
    lasting: Vec<ScheduledFault>,
    toll: Toll,
    pressed: u64,
}

impl Campaign {
    fn begin(seed: u64) -> Self {
        let mut building = Building::new(FLOORS, Line::Serial);
        building.draw_key(seed);
        building.fill(&FOUR);
        building.open_books();
        let settings = ScheduleSettings {
            round: vec![FaultKind::Kill, FaultKind::Kill, FaultKind::Kill, FaultKind::Suspension],
            first: Duration::from_millis(300),
            // Long enough that what was promised before is on the disks of those that promised it,
            // for an order survives the loss of one node at a time (F12).
            gap: Duration::from_millis(300)..=Duration::from_millis(2200),
            ..ScheduleSettings::default()
        };
        Self {
            building,
            chance: fastrand::Rng::with_seed(seed),
            schedule: Schedule::new(seed, FOUR.len(), settings).peekable(),
            began: Instant::now(),
            lasting: Vec::new(),
            toll: Toll::default(),
            pressed: 0,
        }
    }

    fn press(&mut self) {
        let at = *self.chance.choice(&FOUR).expect("four");
        let floor = self.chance.u8(..FLOORS);
        let button = match self.chance.u8(..3) {
            0 if floor > 0 => self.building.hall(floor, Direction::Down),
            1 if floor + 1 < FLOORS => self.building.hall(floor, Direction::Up),
            _ => self.building.car_call(floor),
        };
        self.building.press(at, button);
        self.pressed += 1;
        let pause = Duration::from_millis(self.chance.u64(20..250));
        let due = self.schedule.peek().map_or(Duration::MAX, |fault| fault.at);
        std::thread::sleep(pause.min(due.saturating_sub(self.began.elapsed())));
    }

    fn strike_if_due(&mut self) {
        let now = self.began.elapsed();
        let Some(due) = self.schedule.next_if(|fault| fault.at <= now) else { return };
        // One put off would come too soon before the next.
        if self.lasting.len() + 1 == FOUR.len() {
            return;
        }
        let is_up = |node: &usize| self.lasting.iter().all(|fault| fault.node != *node);
        let mut nodes = (0..FOUR.len()).map(|step| (due.node + step) % FOUR.len());
        let node = nodes.find(is_up).expect("one runs");
        match due.kind {
            FaultKind::Suspension => self.building.suspend(FOUR[node]),
            FaultKind::Kill => self.building.kill(FOUR[node]),
            other => unreachable!("{other} is not in the round"),
        }
        self.toll.count(due.kind);
        self.lasting.push(ScheduledFault { at: now, node, ..due });
    }

    fn bring_back_those_due(&mut self) {
        let now = self.began.elapsed();
        let due = self.lasting.extract_if(.., |fault| fault.at + fault.lasts <= now);
        for fault in due.collect::<Vec<_>>() {
            self.bring_back(fault);
        }
    }

    fn bring_back(&mut self, fault: ScheduledFault) {
        let name = FOUR[fault.node];
        match fault.kind {
            FaultKind::Suspension => self.building.resume(name),
            FaultKind::Kill => self.building.start(name),
            other => unreachable!("{other} is not in the round"),
        }
    }

    fn bring_all_back(&mut self) -> Duration {
        for fault in std::mem::take(&mut self.lasting) {
            self.bring_back(fault);
        }
        self.building.wait_for_master("A")
    }
}
