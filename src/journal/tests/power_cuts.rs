//! The journal on a disk whose power fails at any moment: in the middle of a commit, while a node
//! starts, and while it repairs what an earlier cut has left.
//!
//! `LIFTMESH_POWER_CUTS=100000 cargo test --release --lib power_cuts -- --nocapture` cuts the power
//! so often; `LIFTMESH_SEED=7` repeats what happened to one disk.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

use fastrand::Rng;
use tokio::sync::watch;

use super::torn_disk::TornDisk;
use super::*;
use crate::journal::writer::{WRITE_QUEUE, write_all};

/// How often the power is cut in a normal run.
const CUTS: u64 = 2_000;

/// How often it is cut on one disk. A new one has first moments, which are to be seen more than
/// once.
const CUTS_PER_DISK: u64 = 50;

fn change(random: &mut Rng) -> Change {
    let (press, number) = (random.u64(1..40), random.u64(..1_000));
    match random.u8(0..10) {
        0 => Change::Term(Term(number)),
        1 => {
            let setting = Setting::FloorLock(floor(random.u8(0..4)), true);
            if random.bool() {
                Change::ForgetSetting(setting.key())
            } else {
                Change::Setting(register(setting, number))
            }
        }
        2 => {
            let sample = u16::try_from(number).expect("small");
            Change::FlightTimes(flights(random.u8(0..8), vec![sample; 5]))
        }
        3 => Change::Counters(Counters { starts: number, ..Counters::default() }),
        4 => Change::Forget(dot(press)),
        _ => {
            let waited = Duration::from_millis(number);
            let state =
                if random.bool() { served() } else { RecordState::Open { waited, recall: number } };
            let absorbed = (0..random.u64(0..4)).map(dot).collect();
            Change::Record(Record { absorbed, ..record(press, random.u8(0..9), state) })
        }
    }
}

/// How often what happened to a disk, or to all of them.
type Toll = BTreeMap<&'static str, u64>;

/// One disk, and what it has to hold.
struct Machine {
    random: Rng,
    image: Vec<u8>,
    /// What may be on the disk: what was acknowledged, or one transaction more. Nothing else was ever
    /// written. `None`: the journal is missing.
    known: Vec<Option<String>>,
    /// How many records there were for the audit log.
    incidents: u64,
    /// The last cut was in the middle of something.
    torn: bool,
    toll: Toll,
}

impl Machine {
    fn count(&mut self, what: &'static str, count: u64) {
        *self.toll.entry(what).or_default() += count;
    }

    /// No journal was ever made on this disk.
    fn is_new(&self) -> bool {
        self.known == [None]
    }

    /// The machine is switched on, and some time later its power fails.
    fn live_and_die(&mut self) {
        let disk = TornDisk::new(self.image.clone(), self.random.u32(1..120));
        let opened = self.live(&disk);
        let remains = disk.after_the_cut(&mut self.random);
        let was_torn = std::mem::replace(&mut self.torn, remains.is_unsynced);
        self.image = remains.image;
        self.count("cuts", 1);
        self.count("unsynced", u64::from(self.torn));
        self.count("torn sectors", u64::from(remains.is_torn));
        self.count("while opening", u64::from(!opened));
        self.count("while repairing", u64::from(!opened && was_torn));
        if self.is_new() {
            self.count("while making", 1);
            // A file in which no journal was made yet is set aside where it is damaged.
            self.image.clear();
            self.torn = false;
        }
    }

    /// One life of the machine: it opens the journal and writes until the power fails, or until it
    /// closes the journal. Returns whether it came to write.
    fn live(&mut self, disk: &TornDisk) -> bool {
        let path = Path::new("the disk");
        let (database, found) = match open_database(|| Ok(disk.clone()), path, Some(&node())) {
            Ok(opened) => opened,
            Err(error) => {
                let excused = disk.is_dark() || self.is_new();
                assert!(excused, "a sound journal can't be opened: {error:?}");
                return false;
            }
        };
        let stood = held(&database);
        assert!(self.known.contains(&stood), "{stood:#?} is none of {:#?}", self.known);
        // Everything is written to a medium that does not fail as well.
        let (sound, same) = in_memory(&self.image, path, None).expect("it was opened just now");
        let (sound, _) = Journal::begin(sound, same, &node(), path).expect("a journal");
        let Ok((journal, _)) = Journal::begin(database, found, &node(), path) else {
            self.known = vec![stood, held(&sound.database)];
            return false;
        };
        let groups = if self.random.u8(0..4) == 0 { self.random.u32(1..12) } else { u32::MAX };
        for _ in 0..groups {
            self.write(&journal, &sound);
            if disk.is_dark() {
                return true;
            }
        }
        self.known = vec![held(&sound.database)];
        self.count("closed", 1);
        true
    }

    /// Hands the writer of the journal some work, which the sound journal gets as well.
    fn write(&mut self, journal: &Journal, sound: &Journal) {
        let (work, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let (mut group, batches) = (Group::default(), self.random.u64(0..4));
        for lsn in 1..=batches {
            let changes: Vec<_> =
                (0..self.random.u8(1..8)).map(|_| change(&mut self.random)).collect();
            group.changes.extend(changes.clone());
            work.send(Work::Write(Lsn(lsn), changes)).expect("room");
        }
        if batches == 0 || self.random.u8(0..10) == 0 {
            self.incidents += 1;
            let record = hang(&self.incidents.to_string());
            group.records.push(record.clone());
            work.send(Work::Record(Box::new(record))).expect("room");
        }
        if self.random.u8(0..10) == 0 {
            let [slot, removed] = [(); 2].map(|()| Slot(self.random.u32(0..4)));
            let mut quarter = Quarter::default();
            quarter.record_watch(Duration::from_secs(self.random.u64(..900)));
            let changes = Changes { changed: vec![(slot, quarter)], removed: vec![removed] };
            group.statistics.push(changes.clone());
            work.send(Work::KeepStatistics(changes)).expect("room");
        }
        drop(work);
        write_all(journal, &queue, &report, None);
        let progress = progress.borrow().clone();
        self.count("batches", progress.durable.0);
        let has_failed = progress.failure.is_some();
        assert_eq!(progress.durable, Lsn(if has_failed { 0 } else { batches }));
        let before = has_failed.then(|| held(&sound.database));
        sound.commit(&group, UNSET).expect("a sound medium");
        if let Some(before) = before {
            self.known = vec![before, held(&sound.database)];
        }
    }
}

fn cut_on_one_disk(seed: u64) -> Toll {
    let mut machine = Machine {
        random: Rng::with_seed(seed),
        image: Vec::new(),
        known: vec![None],
        incidents: 0,
        torn: false,
        toll: Toll::new(),
    };
    for _ in 0..CUTS_PER_DISK {
        machine.live_and_die();
    }
    machine.toll
}

fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

/// F13, O1, O6, P3, E3: whatever was acknowledged is there after every cut, a transaction is there
/// whole or not at all, and nothing else is there.
#[test]
fn nothing_acknowledged_is_lost_at_a_power_cut() {
    if let Some(seed) = number("LIFTMESH_SEED") {
        println!("{:#?}", cut_on_one_disk(seed));
        return;
    }
    let cuts = number("LIFTMESH_POWER_CUTS").unwrap_or(CUTS);
    let mut toll = Toll::new();
    for seed in 0..cuts.div_ceil(CUTS_PER_DISK) {
        let one = std::panic::catch_unwind(|| cut_on_one_disk(seed));
        for (what, count) in one.unwrap_or_else(|_| panic!("the disk with LIFTMESH_SEED={seed}")) {
            *toll.entry(what).or_default() += count;
        }
    }
    println!("{toll:#?}");
    // Every kind of cut was among them, and something was written between two.
    for (what, count) in &toll {
        assert!(*count > toll["cuts"] / 1_000, "{what}: {toll:?}");
    }
    assert!(toll.len() == 8 && toll["batches"] > toll["cuts"], "{toll:?}");
}
