//! The journal on a disk whose power fails at any moment.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use elevator_driver::Direction;
use elevator_fleet::car::{FlightRecord, Leg, LegEnd};
use elevator_fleet::model::{Call, HallCall, Term};
use elevator_fleet::node::Change;
use fastrand::Rng;
use redb::StorageBackend;

use super::*;

/// How often the power is cut.
const CUTS: u32 = 500;

/// What a disk writes in one piece.
const SECTOR: usize = 512;

/// A disk that forgets at a power cut what it was not told to keep, but for some of its sectors.
#[derive(Debug, Clone)]
struct TornDisk(Arc<Mutex<Platter>>);

#[derive(Debug)]
struct Platter {
    /// What is read back while the power is on.
    cached: Vec<u8>,
    /// What survives for certain.
    kept: Vec<u8>,
    /// What was changed since, in order.
    unkept: Vec<Unkept>,
    /// How many more operations there are before the power fails.
    fuse: u32,
}

#[derive(Debug)]
enum Unkept {
    Length(usize),
    Write(usize, Vec<u8>),
}

impl TornDisk {
    fn new(kept: Vec<u8>, fuse: u32) -> Self {
        Self(Arc::new(Mutex::new(Platter { cached: kept.clone(), kept, unkept: Vec::new(), fuse })))
    }

    fn platter(&self) -> MutexGuard<'_, Platter> {
        self.0.lock().expect("no panic while it is held")
    }

    /// The disk, if its power is still on after this operation.
    fn use_up(&self) -> io::Result<MutexGuard<'_, Platter>> {
        let mut platter = self.platter();
        platter.fuse = platter.fuse.saturating_sub(1);
        if platter.fuse == 0 {
            return Err(io::Error::other("the power has failed"));
        }
        Ok(platter)
    }

    /// What stands on the platter after the cut: everything kept and, of the rest, what the disk
    /// had come to. Disks write late and in any order, or in order up to somewhere.
    fn after_the_cut(&self, random: &mut Rng) -> Vec<u8> {
        let platter = self.platter();
        let mut image = platter.kept.clone();
        let in_order = random.bool();
        let share = random.f64();
        let mut going = true;
        for change in &platter.unkept {
            match change {
                Unkept::Length(length) if going => image.resize(*length, 0),
                Unkept::Length(_) => {}
                Unkept::Write(offset, data) => {
                    for (index, sector) in data.chunks(SECTOR).enumerate() {
                        going &= !in_order || random.f64() < 0.9;
                        if going && (in_order || random.f64() < share) {
                            let at = offset + index * SECTOR;
                            image.resize(image.len().max(at + sector.len()), 0);
                            image[at..at + sector.len()].copy_from_slice(sector);
                        }
                    }
                }
            }
        }
        image
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).expect("a small file")
}

impl StorageBackend for TornDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.platter().cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let platter = self.platter();
        let part = platter.cached.get(index(offset)..index(offset) + out.len());
        out.copy_from_slice(part.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut platter = self.use_up()?;
        platter.cached.resize(index(length), 0);
        platter.unkept.push(Unkept::Length(index(length)));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut platter = self.use_up()?;
        platter.unkept.clear();
        platter.kept = platter.cached.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut platter = self.use_up()?;
        let at = index(offset);
        platter.cached[at..at + data.len()].copy_from_slice(data);
        platter.unkept.push(Unkept::Write(at, data.to_vec()));
        Ok(())
    }
}

/// What a journal has to hold.
#[derive(Debug, Clone, PartialEq, Default)]
struct Acknowledged {
    /// The journal's identity; `None` until it has been handed out.
    journal: Option<JournalId>,
    reserved: u64,
    term: Term,
    registers: BTreeMap<(JournalId, Call), Record>,
    flight_times: BTreeMap<Leg, FlightRecord>,
}

impl Acknowledged {
    fn of(restored: &Restored) -> Self {
        let register = |record: &Record| (record.dot.journal, record.call.clone());
        Self {
            journal: Some(restored.journal),
            reserved: restored.used,
            term: restored.term,
            registers: restored
                .records
                .iter()
                .map(|record| (register(record), record.clone()))
                .collect(),
            flight_times: restored
                .flight_times
                .iter()
                .map(|record| (record.leg, record.clone()))
                .collect(),
        }
    }

    fn with(&self, batch: &[Change]) -> Self {
        let mut after = self.clone();
        for change in batch {
            match change {
                Change::Record(record) => {
                    let register = (record.dot.journal, record.call.clone());
                    after.registers.insert(register, record.clone());
                }
                Change::Collect(journal) => after.registers.retain(|(of, _), _| of != journal),
                Change::Journal(_) => after.reserved = 0,
                Change::Reserve(up_to) => after.reserved = after.reserved.max(*up_to),
                Change::Term(term) => after.term = after.term.max(*term),
                Change::FlightTimes(record) => {
                    after.flight_times.insert(record.leg, record.clone());
                }
            }
        }
        after
    }
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
            return Change::FlightTimes(FlightRecord {
                leg: leg(random.u8(0..8)),
                samples: vec![u16::try_from(*sequence % 1_000).expect("small"); 5],
            });
        }
        let journals = [journal, JournalId(77), JournalId(78)];
        let state = if random.bool() {
            RecordState::Served(Some(Service {
                waited: Duration::from_millis(random.u64(0..9_000)),
                car: NodeId::new("A").expect("a name"),
            }))
        } else {
            let waited = Duration::from_millis(random.u64(0..9_000));
            RecordState::Open { waited }
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

/// One life of the machine: it opens the journal and writes until the power fails. Hands back what
/// was acknowledged, and what it was about to write.
fn live(disk: &TornDisk, before: &[Acknowledged], random: &mut Rng) -> Vec<Acknowledged> {
    let opened = attempt(|builder| builder.create_with_backend(disk.clone()));
    let (database, contents) = match opened {
        Attempt::Open(database, contents) => (database, contents),
        other => {
            let dark = disk.platter().fuse == 0;
            let new = before.iter().all(|known| known.journal.is_none());
            assert!(dark || new, "a sound journal can't be opened: {other:?}");
            return before.to_vec();
        }
    };
    if let Contents::Journal { restored, .. } = &contents {
        let found = Acknowledged::of(restored);
        let known = before.iter().any(|known| match known.journal {
            Some(_) => *known == found,
            None => found.registers.is_empty(),
        });
        assert!(known, "{found:?} is none of {before:?}");
    } else {
        let new = before.iter().all(|known| known.journal.is_none());
        assert!(new, "{contents:?} instead of {before:?}");
    }
    let stood = match &contents {
        Contents::Journal { restored, .. } => Acknowledged::of(restored),
        Contents::Empty | Contents::Other(_) => Acknowledged::default(),
    };
    let path = PathBuf::from("the disk");
    let Ok((journal, restored)) = Journal::begin(database, contents, &node(), path, || Ok(()))
    else {
        let reserved = Change::Reserve(stood.reserved + FIRST_BLOCK);
        return vec![stood.with(&[reserved]), stood];
    };
    let mut known = Acknowledged::of(&restored).with(&[Change::Reserve(restored.reserved)]);
    let mut sequence = restored.used;
    loop {
        let batch = batch(restored.journal, &mut sequence, random);
        let after = known.with(&batch);
        if tables::write(&journal.database, &batch, UNSET).is_err() {
            return vec![known, after];
        }
        known = after;
    }
}

/// F13, O1, O4: whatever was acknowledged stands after every cut, and a batch stands whole or not
/// at all.
#[test]
fn nothing_acknowledged_is_lost_at_a_power_cut() {
    let mut random = Rng::with_seed(0x70_17);
    let (mut image, mut known) = (Vec::new(), vec![Acknowledged::default()]);
    let mut survived = 0;
    for cut in 0..CUTS {
        if cut % 50 == 0 {
            // A new disk: its first moments are to be seen more than once.
            (image, known) = (Vec::new(), vec![Acknowledged::default()]);
        }
        let disk = TornDisk::new(image, random.u32(1..120));
        known = live(&disk, &known, &mut random);
        survived += known[0].registers.len();
        image = disk.after_the_cut(&mut random);
        let new = known.iter().all(|known| known.journal.is_none());
        if new {
            // A file that no journal was made in yet is set aside where it is damaged.
            image.clear();
        }
    }
    assert!(survived > 1_000, "{survived}: hardly anything was written");
}

/// The disk of these tests does lose what it was not told to keep.
#[test]
fn a_torn_disk_keeps_what_was_synced_and_some_of_the_rest() {
    let mut random = Rng::with_seed(3);
    let disk = TornDisk::new(Vec::new(), u32::MAX);
    disk.set_len(8 * SECTOR as u64).expect("power");
    disk.write(0, &[1; SECTOR]).expect("power");
    disk.sync_data().expect("power");
    disk.write(SECTOR as u64, &[2; 7 * SECTOR]).expect("power");
    let images: Vec<Vec<u8>> = (0..40).map(|_| disk.after_the_cut(&mut random)).collect();
    assert!(images.iter().all(|image| image[..SECTOR] == [1; SECTOR]));
    let torn = |image: &&Vec<u8>| image[SECTOR..].contains(&0) && image[SECTOR..].contains(&2);
    assert!(images.iter().filter(torn).count() > 10);
}
