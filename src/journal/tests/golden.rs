//! Journals as programs have written them: their bytes, and what becomes of them.
//!
//! `LIFTMESH_GOLDEN=write cargo test --lib as_in_the_golden_file` makes the file in
//! `src/journal/testdata/`. A difference here is a change of the journal's format: see `tables.rs`.

use std::time::UNIX_EPOCH;

use redb::{ReadableDatabase, ReadableTable, TableDefinition};

use super::*;
use crate::latch::{Evidence, Hang, Latch};
use crate::statistics::CarState;

/// 2027-01-15T08:00:00Z.
const WRITTEN: u64 = 1_800_000_000;

fn golden() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata/format-3.redb")
}

/// A data directory with the golden file as its journal.
fn with_golden() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    fs::copy(golden(), directory.path().join(FILE)).expect("a copy");
    directory
}

/// What stands in the golden file, by dot.
fn records() -> Vec<Record> {
    let open = |seconds| RecordState::Open { waited: Duration::from_secs_f64(seconds), recall: 2 };
    let hall = |index, direction| Call::Hall(HallCall::new(floor(index), direction));
    let car_call = |name, index| Call::ride(&car(name), floor(index));
    let record = |dot, origin, call, state, absorbed| Record {
        dot,
        origin: car(origin),
        call,
        state,
        absorbed,
    };
    let served =
        RecordState::Served(Service { waited: Duration::from_millis(9_380), car: car("B") });
    let theirs = |sequence| Dot { incarnation: Nonce(77), sequence };
    let trip = HallCall::to(floor(0), floor(3)).expect("a trip");
    vec![
        record(theirs(300), "B", car_call("B", 0), open(4000.0), vec![]),
        record(dot(2), "A", hall(3, Direction::Down), served, vec![]),
        record(dot(3), "A", hall(2, Direction::Up), open(61.5), vec![theirs(7), theirs(8)]),
        record(dot(4), "A", car_call("A", 1), open(0.0), vec![]),
        record(dot(5), "A", Call::Hall(trip), open(7.0), vec![]),
    ]
}

fn audit_records() -> Vec<AuditRecord> {
    let hang = Hang {
        at: "2026-05-01T12:00:00.123Z".to_owned(),
        node: car("A"),
        program: "0.1.0".to_owned(),
        evidence: Evidence {
            floor: Some(floor(3).into()),
            direction: Direction::Up,
            expected_s: 10.0,
            actual_s: 10.004,
            flights_off_target: None,
            not_stopped: false,
            last_sensor: Some(floor(1).into()),
        },
    };
    let clearing = AuditRecord {
        at: "2026-05-01T13:00:00.000Z".to_owned(),
        event: AuditEvent::ClearHang {
            operator: "kovac".to_owned(),
            reason: "brake replaced".to_owned(),
            account: None,
            cleared: Latch::Hang(hang.clone()),
        },
        ..AuditRecord::hang(&hang)
    };
    vec![AuditRecord::hang(&hang), clearing]
}

fn statistics() -> Vec<(Slot, Quarter)> {
    let mut quarter = Quarter::default();
    for call in [HallCall::new(floor(0), Direction::Up), HallCall::new(floor(1), Direction::Up)] {
        let waited = Duration::from_millis(1_500) * u32::from(call.floor.index());
        quarter.record_call(&Call::Hall(call), waited);
    }
    quarter.record_car(&car("A"), CarState::InService, Duration::from_mins(5));
    quarter.record_car(&car("A"), CarState::Down, Duration::from_secs(2));
    quarter.record_watch(Duration::from_secs(302));
    quarter.record_journey(Duration::from_secs(5_000));
    vec![(Slot(7), quarter)]
}

fn restored() -> Restored {
    Restored {
        term: Term(5),
        records: records(),
        flight_times: vec![flights(2, vec![205, 207, 205, 311, 206])],
        settings: vec![register(Setting::Mode(car("A"), Mode::OutOfService), 3)],
        counters: Some(Counters {
            since: Some("2026-05-01T12:00:00Z".to_owned()),
            trips: 40,
            starts: 300,
            door_cycles: 39,
            reopenings: 2,
            running: 70_000,
            metres: 360,
            stops: vec![20, 0, 19, 1],
        }),
    }
}

/// Writes what the golden file has, and before that what is replaced, forgotten or not believed.
fn write_golden(path: &Path) -> Database {
    let database = Database::builder().create(path).expect("a database");
    let (mut journal, _) = Journal::begin(database, None, &car("A"), path).expect("a journal");
    let Restored { term, records, flight_times, settings, counters } = restored();
    let lock = register(Setting::FloorLock(floor(3), true), 1);
    let mode = register(Setting::Mode(car("A"), Mode::InService), 2);
    let mut changes = vec![
        Change::Record(open_order(1)),
        Change::Record(open_order(2)),
        Change::Setting(lock.clone()),
        Change::Setting(mode),
        Change::FlightTimes(flights(2, vec![1])),
        Change::Counters(Counters::default()),
        Change::Forget(dot(1)),
        Change::ForgetSetting(lock.setting.key()),
        Change::Term(term),
        Change::Term(Term(3)),
    ];
    changes.extend(records.into_iter().map(Change::Record));
    changes.extend(flight_times.into_iter().map(Change::FlightTimes));
    changes.extend(settings.into_iter().map(Change::Setting));
    changes.extend(counters.map(Change::Counters));
    let removed = Changes { changed: vec![(Slot(6), Quarter::default())], removed: Vec::new() };
    let statistics = vec![removed, Changes { changed: statistics(), removed: vec![Slot(6)] }];
    let group = Group { changes, records: audit_records(), statistics };
    journal.commit(&group, UNIX_EPOCH + Duration::from_secs(WRITTEN)).expect("written");
    while journal.database.compact().expect("compacted") {}
    journal.database
}

/// The bytes of every key and value.
fn entries(database: &Database) -> Vec<[Vec<u8>; 2]> {
    fn of<K: redb::Key + 'static, V: redb::Value + 'static>(
        transaction: &redb::ReadTransaction,
        table: TableDefinition<'_, K, V>,
    ) -> Vec<[Vec<u8>; 2]> {
        let table = transaction.open_table(table).expect("a table");
        let entries = table.iter().expect("entries").map(|entry| {
            let (key, value) = entry.expect("an entry");
            let (key, value) = (key.value(), value.value());
            [K::as_bytes(&key).as_ref().to_vec(), V::as_bytes(&value).as_ref().to_vec()]
        });
        entries.collect()
    }
    let transaction = database.begin_read().expect("a transaction");
    [
        of(&transaction, tables::NUMBERS),
        of(&transaction, tables::NAMES),
        of(&transaction, tables::ORDERS),
        of(&transaction, tables::FLIGHT_TIMES),
        of(&transaction, tables::SETTINGS),
        of(&transaction, tables::COUNTERS),
        of(&transaction, tables::STATISTICS),
        of(&transaction, crate::journal::audit::AUDIT),
    ]
    .concat()
}

/// E3: the stored bytes are pinned: whatever else changes, a journal stays readable. A term never
/// becomes less.
#[test]
fn a_journal_is_written_byte_for_byte_as_in_the_golden_file() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    let written = entries(&write_golden(&path));
    if std::env::var_os("LIFTMESH_GOLDEN").is_some() {
        fs::copy(&path, golden()).expect("written");
    }
    let golden = Database::open(with_golden().path().join(FILE)).expect("a database");
    assert_eq!(written, entries(&golden));
}

#[test]
fn a_golden_journal_of_this_format_is_read() {
    let directory = with_golden();
    let (journal, _) = Journal::open(directory.path(), &car("A")).expect("a journal");
    assert_eq!(journal.audit().expect("a log"), audit_records());
    assert_eq!(journal.statistics().expect("statistics"), statistics());
    let hour = UNIX_EPOCH + Duration::from_secs(WRITTEN + 3600);
    let read = tables::read(&journal.database, hour).expect("read");
    let mut expected = restored();
    for record in &mut expected.records {
        if let RecordState::Open { waited, .. } = &mut record.state {
            *waited += Duration::from_hours(1);
        }
    }
    assert_eq!(format!("{read:?}"), format!("{:?}", Some((car("A"), expected))));
}

/// Of a program that counted nothing.
#[test]
fn a_journal_without_counters_is_read() {
    let directory = with_golden();
    let (journal, _) = Journal::open(directory.path(), &car("A")).expect("a journal");
    let transaction = header::begin(&journal.database).expect("a transaction");
    transaction.delete_table(tables::COUNTERS).expect("there");
    transaction.commit().expect("on disk");
    drop(journal);
    let (journal, restored) = Journal::open(directory.path(), &car("A")).expect("a journal");
    assert_eq!(restored.counters, None);
    write(&journal, vec![Change::Counters(Counters::default())]);
    let (_, read) = tables::read(&journal.database, UNSET).expect("read").expect("a journal");
    assert_eq!(read.counters, Some(Counters::default()));
}
