//! The journal on a disk whose power fails at any moment: in the middle of a commit, while a node
//! starts, and while it repairs what an earlier cut has left.
//!
//! `LIFTMESH_POWER_CUTS=100000 cargo test --release --lib power_cuts -- --nocapture` cuts the power
//! so often; `LIFTMESH_SEED=7` repeats what happened to one disk.

use std::collections::BTreeMap;
use std::sync::mpsc::sync_channel;

use elevator_fleet::settings::Key;
use fastrand::Rng;
use tokio::sync::watch;

use super::torn_disk::{SECTOR, Torn, TornDisk};
use super::*;
use crate::journal::writer::{WRITE_QUEUE, write_all};

/// How often the power is cut in a normal run.
const CUTS: u64 = 2_000;

/// How often it is cut on one disk. A new one has first moments, which are to be seen more than
/// once.
const CUTS_PER_DISK: u64 = 50;

/// Of so many cuts one is followed by a start from a real file.
const FILES: u64 = 50;

/// An age is compared in these: it goes on while the test runs.
const AGE: Duration = Duration::from_hours(1);

/// What a journal has to hold.
#[derive(Debug, Clone, PartialEq, Default)]
struct Contents {
    term: Term,
    records: BTreeMap<Dot, Record>,
    flight_times: BTreeMap<Leg, FlightRecord>,
    settings: BTreeMap<Key, Register>,
    statistics: BTreeMap<Slot, Quarter>,
    audit: Vec<AuditRecord>,
}

impl Contents {
    /// What a journal holds.
    fn of(restored: &Restored, database: &Database) -> Self {
        let Restored { term, records, flight_times, settings } = restored.clone();
        Self {
            term,
            records: records.iter().map(|record| (record.dot, aged(record))).collect(),
            flight_times: flight_times.into_iter().map(|record| (record.leg, record)).collect(),
            settings: settings.into_iter().map(|it| (it.setting.key(), it)).collect(),
            statistics: tables::read_statistics(database)
                .expect("statistics")
                .into_iter()
                .collect(),
            audit: crate::journal::audit::read(database).expect("an audit log"),
        }
    }

    fn apply(&mut self, change: &Change) {
        match change {
            Change::Record(record) => drop(self.records.insert(record.dot, aged(record))),
            Change::Forget(dot) => drop(self.records.remove(dot)),
            Change::Term(term) => self.term = self.term.max(*term),
            Change::Setting(register) => {
                self.settings.insert(register.setting.key(), register.clone());
            }
            Change::ForgetSetting(key) => drop(self.settings.remove(key)),
            Change::FlightTimes(times) => {
                self.flight_times.insert(times.leg, times.clone());
            }
        }
    }
}

/// The record with its age in whole [`AGE`]s.
fn aged(record: &Record) -> Record {
    let mut record = record.clone();
    if let RecordState::Open { waited, .. } = &mut record.state {
        *waited = AGE * u32::try_from(waited.as_secs() / AGE.as_secs()).expect("a day at most");
    }
    record
}

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
        3 | 4 => Change::Forget(dot(press)),
        _ => {
            let state = if random.bool() {
                let waited = Duration::from_millis(number);
                RecordState::Served(Service { waited, car: node() })
            } else {
                RecordState::Open { waited: AGE * random.u32(0..20), recall: number }
            };
            let mut record = record(press, random.u8(0..9), state);
            record.absorbed = (0..random.u64(0..4)).map(dot).collect();
            Change::Record(record)
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
    known: Vec<Option<Contents>>,
    /// How many records there were for the audit log.
    incidents: u64,
    /// The last cut was in the middle of something.
    torn: bool,
    toll: Toll,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            image: Vec::new(),
            known: vec![None],
            incidents: 0,
            torn: false,
            toll: Toll::new(),
        }
    }

    fn count(&mut self, what: &'static str, count: u64) {
        *self.toll.entry(what).or_default() += count;
    }

    /// No journal was ever made on this disk.
    fn is_new(&self) -> bool {
        self.known == [None]
    }

    /// The machine is switched on, and some time later its power fails.
    fn live_and_die(&mut self) {
        let disk = TornDisk::new(std::mem::take(&mut self.image), self.random.u32(1..120));
        let opened = self.live(&disk);
        let remains = disk.after_the_cut(&mut self.random);
        let was_torn = std::mem::replace(&mut self.torn, remains.unsynced > 0);
        self.image = remains.image;
        self.count("cuts", 1);
        self.count("unsynced", u64::from(self.torn));
        self.count("split sectors", u64::from(remains.torn == Torn::Split));
        self.count("sectors of garbage", u64::from(remains.torn == Torn::Garbage));
        self.count("while opening", u64::from(!opened));
        self.count("while repairing", u64::from(!opened && was_torn));
        if self.is_new() {
            self.count("while making", 1);
            // A file in which no journal was made yet is set aside where it is damaged.
            self.image.clear();
            self.torn = false;
        } else if !self.known.contains(&None) && self.toll["cuts"].is_multiple_of(FILES) {
            self.start_from_a_file();
        }
    }

    /// A node starts from what is left, as a file; it must not have lost its journal.
    fn start_from_a_file(&mut self) {
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join(FILE), &self.image).expect("a file");
        let (journal, restored) =
            Journal::open_or(directory.path(), &node(), Lost::Refuse).expect("a sound journal");
        self.assert_known(Some(&Contents::of(&restored, &journal.database)));
        self.count("starts from files", 1);
    }

    fn assert_known(&self, found: Option<&Contents>) {
        let is_known = self.known.iter().any(|known| known.as_ref() == found);
        assert!(is_known, "{found:#?} is none of {:#?}", self.known);
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
        let stood = found.as_ref().map(|restored| Contents::of(restored, &database));
        self.assert_known(stood.as_ref());
        let Ok((journal, _)) = Journal::begin(database, found, &node(), path) else {
            self.known = vec![stood.clone(), Some(stood.unwrap_or_default())];
            return false;
        };
        let mut contents = stood.unwrap_or_default();
        self.known = vec![Some(contents.clone())];
        let groups = if self.random.u8(0..4) == 0 { self.random.u32(1..12) } else { u32::MAX };
        for _ in 0..groups {
            contents = self.write(&journal, contents);
            if disk.is_dark() {
                return true;
            }
        }
        drop(journal);
        self.count("closed", 1);
        true
    }

    /// Hands the writer of the journal some work. Returns what is on the disk once that is written.
    fn write(&mut self, journal: &Journal, before: Contents) -> Contents {
        let (work, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let batches = self.random.u64(0..4);
        let mut after = before.clone();
        for lsn in 1..=batches {
            let changes: Vec<_> =
                (0..self.random.u8(1..8)).map(|_| change(&mut self.random)).collect();
            for change in &changes {
                after.apply(change);
            }
            work.send(Work::Write(Lsn(lsn), changes)).expect("room");
        }
        if batches == 0 || self.random.u8(0..10) == 0 {
            self.incidents += 1;
            let record = hang(&self.incidents.to_string());
            after.audit.push(record.clone());
            work.send(Work::Record(Box::new(record))).expect("room");
        }
        if self.random.u8(0..10) == 0 {
            let (slot, mut quarter) = (Slot(self.random.u32(0..4)), Quarter::default());
            quarter.record_watch(Duration::from_secs(self.random.u64(..900)));
            let removed = Vec::from_iter(after.statistics.pop_first().map(|(slot, _)| slot));
            after.statistics.insert(slot, quarter.clone());
            let changes = Changes { changed: vec![(slot, quarter)], removed };
            work.send(Work::KeepStatistics(changes)).expect("room");
        }
        drop(work);
        write_all(journal, &queue, &report, None);
        let progress = progress.borrow().clone();
        self.count("batches", progress.durable.0);
        if progress.failure.is_none() {
            assert_eq!(progress.durable, Lsn(batches));
            self.known = vec![Some(after.clone())];
        } else {
            assert_eq!(progress.durable, Lsn(0));
            self.known = vec![Some(before), Some(after.clone())];
        }
        after
    }
}

fn cut_on_one_disk(seed: u64) -> Toll {
    let mut machine = Machine::new(seed);
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
/// whole or not at all, and nothing else is there. A term never becomes less.
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
    assert!(toll.len() == 10 && toll["batches"] > toll["cuts"], "{toll:?}");
}

/// A disk that leaves arbitrary bytes in place of the database's header has lost the journal, but
/// what is found is never taken for another one.
#[test]
fn a_header_of_arbitrary_bytes_is_no_journal() {
    let mut random = Rng::with_seed(5);
    let mut machine = Machine::new(1);
    let disk = TornDisk::new(Vec::new(), 200);
    machine.live(&disk);
    assert!(!machine.is_new());
    for _ in 0..200 {
        let mut image = disk.after_the_cut(&mut random).image;
        random.fill(&mut image[..SECTOR]);
        let opened = in_memory(&image, Path::new("the disk"), None);
        assert!(matches!(opened, Err(JournalError::Damaged { .. })), "{opened:?}");
    }
}
