//! The journal on a disk whose power fails at any moment: in the middle of a commit, while a node
//! starts, and while it repairs what an earlier cut has left.
//!
//! `LIFTMESH_POWER_CUTS=100000 cargo test --release --lib power_cuts -- --nocapture` cuts the power
//! so often, on all processors; `LIFTMESH_SEED=7` repeats what happened to one disk.

mod disk;
mod statistics;

use std::collections::BTreeMap;
use std::ops::AddAssign;
use std::sync::mpsc::sync_channel;
use std::thread;

use elevator_driver::Direction;
use elevator_fleet::car::{FlightRecord, Leg, LegEnd};
use elevator_fleet::directives::{Directive, Key, Value, Version, Words};
use elevator_fleet::model::{Call, HallCall, Term};
use elevator_fleet::node::Change;
use fastrand::Rng;
use tokio::sync::watch;

use self::disk::{Torn, TornDisk};
use super::*;
use crate::journal::audit;
use crate::journal::writer::{Batch, WRITE_QUEUE, Work, write_all};

/// How often the power is cut in a normal run.
const CUTS: u32 = 2_000;

/// How often it is cut on one disk. A new one has first moments, which are to be seen more than
/// once.
const CUTS_PER_DISK: u32 = 50;

/// Of so many cuts one is followed by a start from a real file.
const FILES: u32 = 50;

/// An age is compared in these: it goes on while the test runs.
const AGE: Duration = Duration::from_hours(1);

/// What a journal has to hold.
#[derive(Debug, Clone, PartialEq, Default)]
struct Acknowledged {
    /// The journal's identity; `None` until it has been handed out.
    journal: Option<JournalId>,
    reserved: u64,
    term: Term,
    registers: BTreeMap<(JournalId, Call), Record>,
    flight_times: BTreeMap<Leg, FlightRecord>,
    directives: Vec<Directive>,
    audit: Vec<AuditRecord>,
}

impl Acknowledged {
    /// What a journal holds.
    fn of(restored: &Restored, database: &Database) -> Self {
        let register = |record: &Record| (record.dot.journal, record.call.clone());
        Self {
            journal: Some(restored.journal),
            reserved: restored.used,
            term: restored.term,
            registers: restored
                .records
                .iter()
                .map(|record| (register(record), aged(record)))
                .collect(),
            directives: restored.directives.clone(),
            flight_times: restored
                .flight_times
                .iter()
                .map(|record| (record.leg, record.clone()))
                .collect(),
            audit: audit::read(database).expect("an audit log"),
        }
    }

    fn with(&self, batch: &[Change]) -> Self {
        let mut after = self.clone();
        for change in batch {
            match change {
                Change::Record(record) => {
                    let register = (record.dot.journal, record.call.clone());
                    after.registers.insert(register, aged(record));
                }
                Change::Collect(journal) => after.registers.retain(|(of, _), _| of != journal),
                Change::Journal(_) => after.reserved = 0,
                Change::Reserve(up_to) => after.reserved = after.reserved.max(*up_to),
                Change::Term(term) => after.term = after.term.max(*term),
                Change::Directives(all) => after.directives.clone_from(all),
                Change::FlightTimes(record) => {
                    after.flight_times.insert(record.leg, record.clone());
                }
            }
        }
        after
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

/// So many directives, of these versions, by key as they are read.
fn directives(counter: u64, count: u8) -> Vec<Directive> {
    let directive = |index: u8| Directive {
        key: Key::new(&format!("mode/{index}")).expect("a key"),
        version: Version { counter, journal: JournalId(7) },
        value: Value::new("independent").expect("a value"),
        operator: Words::new("kovac").expect("a name"),
    };
    (0..count).map(directive).collect()
}

/// From this floor to the next.
fn leg(from: u8) -> Leg {
    Leg { from: floor(from), to: floor(from + 1), start: LegEnd::Rest, end: LegEnd::Passing }
}

fn batch(journal: JournalId, sequence: &mut u64, random: &mut Rng) -> Vec<Change> {
    let more = random.u8(0..7);
    let mut change = || {
        *sequence += 1;
        if random.u8(0..8) == 0 {
            return Change::Reserve(*sequence + 300);
        }
        if random.u8(0..32) == 0 {
            return Change::Collect(JournalId(78));
        }
        if random.u8(0..8) == 0 {
            return Change::Term(Term(*sequence));
        }
        if random.u8(0..8) == 0 {
            return Change::Directives(directives(*sequence, random.u8(0..4)));
        }
        if random.u8(0..8) == 0 {
            return Change::FlightTimes(FlightRecord {
                leg: leg(random.u8(0..8)),
                samples: vec![u16::try_from(*sequence % 1_000).expect("small"); 5],
            });
        }
        let journals = [journal, JournalId(77), JournalId(78)];
        let state = if random.bool() {
            RecordState::Served(Service {
                waited: Duration::from_millis(random.u64(0..9_000)),
                car: NodeId::new("A").expect("a name"),
            })
        } else {
            RecordState::Open { waited: AGE * random.u32(0..20), recall: 0 }
        };
        let mut record = record(journals[random.usize(0..3)], *sequence, 0, state);
        record.call = Call::Hall(HallCall::new(
            floor(random.u8(0..9)),
            [Direction::Up, Direction::Down][random.usize(0..2)],
        ));
        Change::Record(record)
    };
    let first = change();
    let more: Vec<Change> = (0..more).map(|_| change()).collect();
    std::iter::once(first).chain(more).collect()
}

/// What happened to a disk, or to all of them.
#[derive(Debug, Clone, Copy, Default)]
struct Toll {
    cuts: u32,
    /// With something in the cache.
    unsynced: u32,
    split: u32,
    garbage: u32,
    /// Before a journal had been opened.
    opening: u32,
    /// While an earlier cut was being repaired.
    repairing: u32,
    /// Before a journal had ever been made: what is left may be damaged, but nothing is lost.
    making: u32,
    /// The journal was closed meanwhile.
    closed: u32,
    /// The next start was from a real file.
    files: u32,
    /// What was acknowledged.
    batches: u64,
    records: u64,
}

impl AddAssign for Toll {
    fn add_assign(&mut self, other: Self) {
        self.cuts += other.cuts;
        self.unsynced += other.unsynced;
        self.split += other.split;
        self.garbage += other.garbage;
        self.opening += other.opening;
        self.repairing += other.repairing;
        self.making += other.making;
        self.closed += other.closed;
        self.files += other.files;
        self.batches += other.batches;
        self.records += other.records;
    }
}

/// One disk, and what it has to hold.
struct Machine {
    random: Rng,
    image: Vec<u8>,
    owner: NodeId,
    /// What the journal may hold: what was acknowledged, or one transaction more. Nothing else was
    /// ever written.
    known: Vec<Acknowledged>,
    /// The number of the next record of the audit log.
    incident: u64,
    /// The last cut was in the middle of something.
    torn: bool,
    toll: Toll,
}

impl Machine {
    fn new(seed: u64) -> Self {
        Self {
            random: Rng::with_seed(seed),
            image: Vec::new(),
            owner: node(),
            known: vec![Acknowledged::default()],
            incident: 0,
            torn: false,
            toll: Toll::default(),
        }
    }

    /// No journal was ever made on this disk, as far as anybody knows.
    fn is_new(&self) -> bool {
        self.known.iter().all(|known| known.journal.is_none())
    }

    /// The machine is switched on, and some time later its power fails.
    fn live_and_die(&mut self) {
        let disk = TornDisk::new(std::mem::take(&mut self.image), self.random.u32(1..120));
        let opened = self.live(&disk);
        let remains = disk.after_the_cut(&mut self.random);
        let Toll { cuts, unsynced, split, garbage, opening, repairing, making, .. } =
            &mut self.toll;
        *cuts += 1;
        *unsynced += u32::from(remains.unsynced > 0);
        *split += u32::from(remains.torn == Torn::Split);
        *garbage += u32::from(remains.torn == Torn::Garbage);
        *opening += u32::from(!opened);
        *repairing += u32::from(!opened && self.torn);
        self.torn = remains.unsynced > 0;
        self.image = remains.image;
        if self.known.iter().all(|known| known.journal.is_none()) {
            *making += 1;
            // A file that no journal was made in yet is set aside where it is damaged.
            self.image.clear();
            self.torn = false;
        } else {
            assert_eq!(version::of_database(&self.image), None, "no other version wrote it");
            if self.toll.cuts.is_multiple_of(FILES)
                && self.known.iter().all(|one| one.journal.is_some())
            {
                self.start_from_a_file();
            }
        }
    }

    /// A node starts from what is left, as a file; it must not have lost its journal.
    fn start_from_a_file(&mut self) {
        let directory = TempDir::new().expect("a directory");
        fs::write(directory.path().join(FILE), &self.image).expect("a file");
        let (journal, restored) =
            Journal::open_or(directory.path(), &self.owner, Lost::Refuse).expect("a sound journal");
        self.assert_known(&Acknowledged::of(&restored, &journal.database));
        self.toll.files += 1;
    }

    fn assert_known(&self, found: &Acknowledged) {
        let known = self.known.iter().any(|known| match known.journal {
            Some(_) => known == found,
            None => found.registers.is_empty() && found.audit.is_empty(),
        });
        assert!(known, "{found:#?} is none of {:#?}", self.known);
    }

    /// One life of the machine: it opens the journal and writes until the power fails, or until it
    /// closes the journal. Returns whether it came to write.
    fn live(&mut self, disk: &TornDisk) -> bool {
        let opened = attempt(|| Ok(disk.clone()));
        let (database, contents) = match opened {
            Attempt::Open(database, contents) => (database, contents),
            other => {
                let excused = disk.is_dark() || self.is_new();
                assert!(excused, "a sound journal can't be opened: {other:?}");
                return false;
            }
        };
        let stood = match &contents {
            Contents::Journal { restored, .. } => {
                let found = Acknowledged::of(restored, &database);
                self.assert_known(&found);
                found
            }
            Contents::Empty | Contents::Other(_) => {
                assert!(self.is_new(), "{contents:?} instead of {:?}", self.known);
                Acknowledged::default()
            }
        };
        let path = PathBuf::from("the disk");
        let begun = Journal::begin(database, contents, &self.owner, path, || Ok(()));
        let Ok((journal, restored)) = begun else {
            let reserved = Change::Reserve(stood.reserved + FIRST_BLOCK);
            self.known = vec![stood.with(&[reserved]), stood];
            return false;
        };
        let reserved = Change::Reserve(restored.reserved);
        let mut known = Acknowledged::of(&restored, &journal.database).with(&[reserved]);
        self.known = vec![known.clone()];
        let mut sequence = restored.used;
        let groups = if self.random.u8(0..4) == 0 { self.random.u32(1..12) } else { u32::MAX };
        for _ in 0..groups {
            match self.write(&journal, disk, known, &mut sequence) {
                Some(after) => known = after,
                None => return true,
            }
        }
        drop(journal);
        self.toll.closed += 1;
        true
    }

    /// Hands the writer of the journal some work. Returns what must be on the disk from then on;
    /// `None` if the power failed.
    fn write(
        &mut self,
        journal: &Journal,
        disk: &TornDisk,
        before: Acknowledged,
        sequence: &mut u64,
    ) -> Option<Acknowledged> {
        let (work, queue) = sync_channel(WRITE_QUEUE);
        let (report, progress) = watch::channel(Progress::default());
        let id = before.journal.expect("a journal");
        let batches = self.random.u64(0..4);
        let records = if batches == 0 { 1 } else { self.random.u64(0..12) / 10 };
        let (mut after_batches, mut after_records) = (before.clone(), Vec::new());
        for lsn in 1..=batches {
            let changes = batch(id, sequence, &mut self.random);
            after_batches = after_batches.with(&changes);
            work.send(Work::Write(Batch { lsn: Lsn(lsn), changes })).expect("room");
        }
        for _ in 0..records {
            self.incident += 1;
            let record = incident(&self.owner, self.incident);
            after_records.push(record.clone());
            work.send(Work::Record(Box::new(record))).expect("room");
        }
        drop(work);
        write_all(journal, &queue, &report, None);
        let mut all = after_batches.clone();
        all.audit.extend(after_records);
        let progress = progress.borrow().clone();
        self.toll.batches += progress.durable.0;
        self.known = if progress.failure.is_none() && !disk.is_dark() {
            assert_eq!(progress.durable, Lsn(batches));
            self.toll.records += records;
            vec![all]
        } else if progress.durable == Lsn(batches) {
            // Batches have one transaction, and records another, after the report of the first.
            vec![after_batches, all]
        } else {
            assert_eq!(progress.durable, Lsn(0));
            vec![before, after_batches]
        };
        match &self.known[..] {
            [all] => Some(all.clone()),
            _ => None,
        }
    }
}

/// A record of the audit log.
fn incident(owner: &NodeId, number: u64) -> AuditRecord {
    let event = AuditEvent::Repair {
        operator: "kovac".to_owned(),
        reason: format!("incident {number}"),
        account: Account::default(),
        old: "0".repeat(16),
        fresh: "f".repeat(16),
    };
    AuditRecord::now(owner.clone(), event, UNSET)
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

/// F13, O1, O4: whatever was acknowledged is there after every cut, a transaction is there whole or
/// not at all, and nothing else is there.
#[test]
fn nothing_acknowledged_is_lost_at_a_power_cut() {
    if let Some(seed) = number("LIFTMESH_SEED") {
        println!("{:#?}", cut_on_one_disk(seed));
        return;
    }
    let wanted = number("LIFTMESH_POWER_CUTS");
    let disks = wanted.unwrap_or(CUTS.into()).div_ceil(CUTS_PER_DISK.into());
    let workers = match wanted {
        Some(_) => thread::available_parallelism().map_or(1, |count| count.get() as u64),
        None => 1,
    };
    let share = |worker: u64| {
        let mut toll = Toll::default();
        for seed in (worker..disks).step_by(usize::try_from(workers).expect("few")) {
            let one = std::panic::catch_unwind(|| cut_on_one_disk(seed));
            toll += one.unwrap_or_else(|_| panic!("the disk with LIFTMESH_SEED={seed}"));
        }
        toll
    };
    let mut toll = Toll::default();
    thread::scope(|scope| {
        let workers: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || share(worker))).collect();
        for worker in workers {
            toll += worker.join().expect("every disk is sound");
        }
    });
    println!("{toll:#?}");
    // Every kind of cut was among them.
    let kinds = [toll.unsynced, toll.split, toll.garbage, toll.opening, toll.repairing];
    let rarer = [toll.making, toll.closed, toll.files];
    for kind in kinds.into_iter().chain(rarer) {
        assert!(kind > toll.cuts / 1_000, "{toll:?}");
    }
    assert!(toll.batches > u64::from(toll.cuts), "{toll:?}: hardly anything was written");
    assert!(toll.records > u64::from(toll.cuts / 10), "{toll:?}");
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
        let image = disk.with_garbage(0, &mut random);
        let disk = TornDisk::new(image, u32::MAX);
        let opened = attempt(|| Ok(disk));
        assert!(matches!(opened, Attempt::Damaged(_)), "{opened:?}");
    }
}
