//! Journals as programs have written them: their bytes, and what becomes of them.
//!
//! `LIFTMESH_GOLDEN=write cargo test --lib as_in_the_golden_file` makes `src/journal/testdata/`: the
//! file `format-3.redb`, and every key and value in it. A difference here is a change of the
//! journal's format: see `tables.rs`.

use std::fmt::Write as _;
use std::time::UNIX_EPOCH;

use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle, WriteTransaction};

use super::*;
use crate::latch::{Evidence, Hang, Latch};
use crate::statistics::{CarState, Kind};

/// 2027-01-15T08:00:00Z.
const WRITTEN: u64 = 1_800_000_000;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata").join(name)
}

/// A data directory with the golden file as its journal.
fn with_golden() -> TempDir {
    let directory = TempDir::new().expect("a directory");
    fs::copy(golden("format-3.redb"), directory.path().join(FILE)).expect("a copy");
    directory
}

/// What stands in the golden file, by dot.
fn records() -> Vec<Record> {
    let open = |seconds| RecordState::Open { waited: Duration::from_secs_f64(seconds), recall: 2 };
    let hall = |index, direction| Call::Hall(HallCall::new(floor(index), direction));
    let car_call = |name, index| Call::Car { car: car(name), floor: floor(index) };
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
            floor: Some(3),
            direction: Direction::Up,
            expected_s: 10.0,
            actual_s: 10.004,
            flights_off_target: None,
            not_stopped: false,
            last_sensor: Some(1),
        },
    };
    let cleared = Latch::Hang(hang.clone());
    let clearing = AuditEvent::ClearHang {
        operator: "kovac".to_owned(),
        reason: "brake replaced".to_owned(),
        account: None,
        cleared,
    };
    let mut clearing = AuditRecord::now(car("A"), clearing, UNIX_EPOCH);
    clearing.program = "0.1.0".to_owned();
    clearing.at = "2026-05-01T13:00:00.000Z".to_owned();
    vec![AuditRecord::hang(&hang), clearing]
}

fn statistics() -> Vec<(Slot, Quarter)> {
    let mut quarter = Quarter::default();
    for call in [HallCall::new(floor(0), Direction::Up), HallCall::new(floor(1), Direction::Up)] {
        let waited = Duration::from_millis(1_500) * u32::from(call.floor.index());
        quarter.record_call(Kind::Hall, &Call::Hall(call), waited);
    }
    quarter.record_car(&car("A"), CarState::InService, Duration::from_mins(5));
    quarter.record_car(&car("A"), CarState::Down, Duration::from_secs(2));
    quarter.record_watch(Duration::from_secs(302));
    quarter.journeys.record(Duration::from_secs(5_000));
    vec![(Slot(7), quarter)]
}

fn restored() -> Restored {
    Restored {
        term: Term(5),
        records: records(),
        flight_times: vec![flights(2, vec![205, 207, 205, 311, 206])],
        settings: vec![register(Setting::Mode(car("A"), Mode::OutOfService), 3)],
    }
}

/// Writes what the golden file has.
fn write_golden(path: &Path) {
    let database = Database::builder().create(path).expect("a database");
    let (mut journal, _) = Journal::begin(database, None, &car("A"), path).expect("a journal");
    let Restored { term, records, flight_times, settings } = restored();
    let mut changes: Vec<Change> = records.into_iter().map(Change::Record).collect();
    changes.extend(flight_times.into_iter().map(Change::FlightTimes));
    changes.push(Change::Term(term));
    changes.extend(settings.into_iter().map(Change::Setting));
    let statistics = vec![Changes { changed: statistics(), removed: Vec::new() }];
    let group = Group { changes, records: audit_records(), statistics };
    journal.commit_at(&group, UNIX_EPOCH + Duration::from_secs(WRITTEN)).expect("written");
    while journal.database.compact().expect("compacted") {}
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string");
        text
    })
}

/// Every key and value of a journal.
fn dump(path: &Path) -> String {
    fn lines<K: redb::Key + 'static, V: redb::Value + 'static>(
        transaction: &redb::ReadTransaction,
        name: &str,
        shown: impl Fn(K::SelfType<'_>, V::SelfType<'_>) -> (String, String),
    ) -> String {
        let table = transaction.open_table(TableDefinition::<K, V>::new(name)).expect("a table");
        let mut lines = String::new();
        for entry in table.iter().expect("entries") {
            let (key, value) = entry.expect("an entry");
            let (key, value) = shown(key.value(), value.value());
            writeln!(lines, "{name} {key} = {value}").expect("a string");
        }
        lines
    }
    let database = Database::open(path).expect("a database");
    let transaction = database.begin_read().expect("a transaction");
    let mut names: Vec<String> =
        transaction.list_tables().expect("tables").map(|table| table.name().to_owned()).collect();
    names.sort();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("JSON");
    let dumped = names.iter().map(|name| match name.as_str() {
        "numbers" => {
            lines::<&str, u64>(&transaction, name, |key, value| (key.to_owned(), value.to_string()))
        }
        "names" => {
            lines::<&str, &str>(&transaction, name, |key, value| (key.to_owned(), value.to_owned()))
        }
        "audit" => {
            lines::<u64, &[u8]>(&transaction, name, |key, value| (key.to_string(), text(value)))
        }
        "statistics" => {
            lines::<u32, &[u8]>(&transaction, name, |key, value| (key.to_string(), hex(value)))
        }
        _ => lines::<&[u8], &[u8]>(&transaction, name, |key, value| (hex(key), hex(value))),
    });
    dumped.collect()
}

/// The stored bytes are pinned: whatever else changes, a journal stays readable.
#[test]
fn a_journal_is_written_byte_for_byte_as_in_the_golden_file() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    write_golden(&path);
    let text = dump(&path);
    if std::env::var_os("LIFTMESH_GOLDEN").is_some() {
        fs::write(golden("format-3.txt"), &text).expect("written");
        fs::copy(&path, golden("format-3.redb")).expect("written");
    }
    let pinned = fs::read_to_string(golden("format-3.txt")).expect("a golden file");
    assert_eq!(text, pinned);
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

/// The golden journal, changed as another program might have written it.
fn changed(change: impl FnOnce(&WriteTransaction)) -> TempDir {
    let directory = with_golden();
    let database = Database::open(directory.path().join(FILE)).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    change(&transaction);
    transaction.commit().expect("written");
    directory
}

/// Holds that a journal is refused as another program's, whatever wants it, and left as it is.
fn refused(directory: &TempDir, expected: &str) {
    let before = bytes(directory);
    for refused in [
        audit_of(directory.path(), None).map(drop),
        settings_of(directory.path(), &car("A")).map(drop),
        Journal::open_or(directory.path(), &car("A"), Lost::MakeAnew).map(drop),
        Journal::open_or(directory.path(), &car("A"), Lost::Refuse).map(drop),
    ] {
        let Err(JournalError::Format { found, .. }) = refused else {
            panic!("{refused:?} instead of {expected}");
        };
        assert!(found.contains(expected), "{found}");
        assert!(bytes(directory) == before, "{found}: it has been changed");
        let files = fs::read_dir(directory.path()).expect("a directory");
        assert_eq!(files.count(), 1, "{found}: something was set aside");
    }
}

#[test]
fn a_journal_of_another_format_is_refused_and_left_as_it_is() {
    const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
    // An earlier one, as small as it can be.
    let earlier = TempDir::new().expect("a directory");
    let database = Database::create(earlier.path().join(FILE)).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    let numbers = transaction.open_table(NUMBERS);
    numbers.expect("a table").insert("format", 2).expect("inserted");
    transaction.commit().expect("written");
    drop(database);
    refused(&earlier, "it has format 2, but this program reads format 3");
    let later = changed(|transaction| {
        let numbers = transaction.open_table(NUMBERS);
        numbers.expect("a table").insert("format", 4).expect("inserted");
    });
    refused(&later, "it has format 4, but this program reads format 3");
}

#[test]
fn tables_of_other_types_are_refused_and_left_as_they_are() {
    for name in ["orders", "settings", "audit", "statistics"] {
        let directory = changed(|transaction| {
            let mut tables = transaction.list_tables().expect("tables");
            let table = tables.find(|table| table.name() == name).expect("a table");
            transaction.delete_table(table).expect("deleted");
            transaction.open_table(TableDefinition::<i16, i16>::new(name)).expect("made");
        });
        refused(&directory, "its tables are not those of a journal");
    }
}

/// The database's own format: what it calls damage, and what it tells itself.
#[test]
fn another_file_format_of_the_database_is_refused_and_left_as_it_is() {
    let both = header::SLOTS;
    for (slots, version) in
        [(&both[..], 1), (&both, 2), (&both, 4), (&both[..1], 4), (&both[1..], 4)]
    {
        let directory = with_golden();
        let mut image = bytes(&directory);
        for slot in slots {
            assert_eq!(image[*slot], header::DATABASE, "redb's header");
            image[*slot] = version;
        }
        fs::write(directory.path().join(FILE), image).expect("written");
        refused(&directory, &format!("its database has file format {version}, but"));
    }
}
