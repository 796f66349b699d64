//! Journals as programs have written them: their bytes, and what becomes of them.
//!
//! `src/journal/testdata/` has
//!
//! - `format-1.redb`, made by an earlier program, which this one refuses;
//! - `format-2.redb` and `format-2.txt`, made by
//!   `LIFTMESH_GOLDEN=write cargo test --lib as_in_the_golden_file`: the file, and every key and
//!   value in it.
//!
//! A difference here is a change of the journal's format: see `tables.rs` on when it
//! needs a new number.

use std::fmt::Write as _;
use std::time::UNIX_EPOCH;

use elevator_fleet::car::{FlightRecord, Leg, LegEnd};
use elevator_fleet::directives::{Directive, Key, Value, Version, Words};
use elevator_fleet::model::Term;
use redb::{ReadableDatabase, ReadableTable, TableDefinition, TableHandle};

use super::*;
use crate::latch::{Evidence, Hang, Latch};

/// 2027-01-15T08:00:00Z.
const WRITTEN: u64 = 1_800_000_000;
const ID: JournalId = JournalId(0x0123_4567_89ab_cdef);

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata").join(name)
}

/// A data directory with this file as its journal.
fn with(name: &str) -> TempDir {
    let directory = TempDir::new().expect("a directory");
    fs::copy(golden(name), directory.path().join(FILE)).expect("a copy");
    directory
}

fn bytes(directory: &TempDir) -> Vec<u8> {
    fs::read(directory.path().join(FILE)).expect("the journal")
}

fn car(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

fn dot(sequence: u64) -> Dot {
    let journal = ID;
    Dot { journal, sequence }
}

fn hall(index: u8, direction: Direction) -> Call {
    let floor = floor(index);
    Call::Hall(HallCall::new(floor, direction))
}

fn car_call(name: &str, index: u8) -> Call {
    let (car, floor) = (car(name), floor(index));
    Call::Car { car, floor }
}

/// What stands in every golden file.
fn records() -> Vec<Record> {
    let open = |seconds| RecordState::Open { waited: Duration::from_secs_f64(seconds), recall: 2 };
    let record = |dot, origin, call, state| Record { dot, origin: car(origin), call, state };
    let served =
        RecordState::Served(Service { waited: Duration::from_millis(9_380), car: car("B") });
    let theirs = Dot { journal: JournalId(77), sequence: 300 };
    let trip = HallCall::to(floor(0), floor(3)).expect("a trip");
    vec![
        record(dot(3), "A", hall(2, Direction::Up), open(61.5)),
        record(dot(2), "A", hall(3, Direction::Down), served),
        record(dot(4), "A", car_call("A", 1), open(0.0)),
        record(theirs, "B", car_call("B", 0), open(4000.0)),
        record(dot(5), "A", Call::Hall(trip), open(7.0)),
    ]
}

fn audit_records() -> [AuditRecord; 2] {
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
    [AuditRecord::hang(&hang), clearing]
}

fn flight_times() -> FlightRecord {
    let floor = |index| Floor::try_from(index).expect("a floor");
    FlightRecord {
        leg: Leg { from: floor(2), to: floor(3), start: LegEnd::Rest, end: LegEnd::Passing },
        samples: vec![205, 207, 205, 311, 206],
    }
}

fn directives() -> Vec<Directive> {
    vec![Directive {
        key: Key::new("mode/A").expect("a key"),
        version: Version { counter: 3, journal: ID },
        value: Value::new("out-of-service").expect("a value"),
        operator: Words::new("kovac").expect("a name"),
    }]
}

fn sorted(mut records: Vec<Record>) -> Vec<Record> {
    records.sort_by_key(|record| record.dot);
    records
}

/// Writes what every golden file has.
fn write(path: &Path) {
    let database = Database::builder().create(path).expect("a database");
    tables::make(&database, &car("A"), ID).expect("made");
    let mut changes: Vec<Change> = records().into_iter().map(Change::Record).collect();
    changes.extend([Change::Reserve(512), Change::Term(Term(5))]);
    changes.push(Change::FlightTimes(flight_times()));
    changes.push(Change::Directives(directives()));
    let written = UNIX_EPOCH + Duration::from_secs(WRITTEN);
    tables::write(&database, &changes, written).expect("written");
    let mut journal = Journal { database, place: None };
    journal.record(&audit_records()).expect("recorded");
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
    let database = Database::open(path).expect("a database");
    let transaction = database.begin_read().expect("a transaction");
    let mut text = String::new();
    let mut names: Vec<String> =
        transaction.list_tables().expect("tables").map(|table| table.name().to_owned()).collect();
    names.sort();
    for name in names {
        let mut line = |key: String, value: String| {
            writeln!(text, "{name} {key} = {value}").expect("a string");
        };
        match name.as_str() {
            "numbers" => {
                let table = TableDefinition::<&str, u64>::new(&name);
                let table = transaction.open_table(table).expect("a table");
                for entry in table.iter().expect("entries") {
                    let (key, value) = entry.expect("an entry");
                    line(key.value().to_owned(), value.value().to_string());
                }
            }
            "names" => {
                let table = TableDefinition::<&str, &str>::new(&name);
                let table = transaction.open_table(table).expect("a table");
                for entry in table.iter().expect("entries") {
                    let (key, value) = entry.expect("an entry");
                    line(key.value().to_owned(), value.value().to_owned());
                }
            }
            "audit" => {
                let table = TableDefinition::<u64, &[u8]>::new(&name);
                let table = transaction.open_table(table).expect("a table");
                for entry in table.iter().expect("entries") {
                    let (key, value) = entry.expect("an entry");
                    let json = String::from_utf8(value.value().to_vec()).expect("JSON");
                    line(key.value().to_string(), json);
                }
            }
            _ => {
                let table = TableDefinition::<&[u8], &[u8]>::new(&name);
                let table = transaction.open_table(table).expect("a table");
                for entry in table.iter().expect("entries") {
                    let (key, value) = entry.expect("an entry");
                    line(hex(key.value()), hex(value.value()));
                }
            }
        }
    }
    text
}

/// The stored bytes are pinned: whatever else changes, a journal stays readable.
#[test]
fn a_journal_is_written_byte_for_byte_as_in_the_golden_file() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join(FILE);
    write(&path);
    let text = dump(&path);
    if std::env::var_os("LIFTMESH_GOLDEN").is_some() {
        fs::write(golden("format-2.txt"), &text).expect("written");
        fs::copy(&path, golden("format-2.redb")).expect("written");
    }
    let pinned = fs::read_to_string(golden("format-2.txt")).expect("a golden file");
    assert_eq!(text, pinned);
}

#[test]
fn a_golden_journal_of_this_format_is_read() {
    let directory = with("format-2.redb");
    let (journal, restored) = Journal::open(directory.path(), &car("A")).expect("a journal");
    assert_eq!((restored.journal, restored.used), (ID, 512));
    assert_eq!(restored.term, Term(5));
    assert_eq!(restored.flight_times, [flight_times()]);
    assert_eq!(restored.directives, directives());
    assert_eq!(journal.audit().expect("a log"), audit_records());
    drop(journal);
    let database = Database::open(directory.path().join(FILE)).expect("a database");
    let hour = UNIX_EPOCH + Duration::from_secs(WRITTEN + 3600);
    let contents = tables::read(&database, hour).expect("read");
    let Contents::Journal { restored, .. } = contents else {
        panic!("{contents:?}");
    };
    let aged = records().into_iter().map(|mut record| {
        if let RecordState::Open { waited, .. } = &mut record.state {
            *waited += Duration::from_hours(1);
        }
        record
    });
    assert_eq!(sorted(restored.records), sorted(aged.collect()));
}

/// Changes a golden journal as a later program might have written it.
fn later(change: impl FnOnce(&redb::WriteTransaction)) -> TempDir {
    let directory = with("format-2.redb");
    let database = Database::open(directory.path().join(FILE)).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    change(&transaction);
    transaction.commit().expect("written");
    directory
}

fn refused(directory: &TempDir) -> OtherFormat {
    let before = bytes(directory);
    let audit = audit_of(directory.path());
    assert!(matches!(audit, Err(JournalError::Format { .. })), "{audit:?}");
    for lost in [Lost::MakeAnew, Lost::Refuse] {
        match Journal::open_or(directory.path(), &car("A"), lost) {
            Err(JournalError::Format { found, .. }) => {
                assert!(bytes(directory) == before, "{found}: it has been changed");
                let files = fs::read_dir(directory.path()).expect("a directory");
                assert_eq!(files.count(), 1, "{found}: something was set aside");
                if lost == Lost::Refuse {
                    return found;
                }
            }
            other => panic!("{other:?}"),
        }
    }
    unreachable!("both were refused");
}

#[test]
fn a_journal_of_another_format_is_refused_and_left_as_it_is() {
    assert_eq!(refused(&with("format-1.redb")), OtherFormat::Journal(1));
    let directory = later(|transaction| {
        let numbers = TableDefinition::<&str, u64>::new("numbers");
        let mut numbers = transaction.open_table(numbers).expect("a table");
        numbers.insert("format", 3).expect("inserted");
    });
    assert_eq!(refused(&directory), OtherFormat::Journal(3));
}

#[test]
fn a_record_of_another_version_is_refused_and_left_as_it_is() {
    for version in [4, 6] {
        let directory = later(|transaction| {
            let orders = TableDefinition::<&[u8], &[u8]>::new("orders");
            let mut orders = transaction.open_table(orders).expect("a table");
            orders.insert(&[0_u8][..], &[version, 1, 2][..]).expect("inserted");
        });
        let other = OtherFormat::Record { kind: "orders", found: version, known: 5 };
        assert_eq!(refused(&directory), other);
    }
}

#[test]
fn tables_of_other_types_are_refused_and_left_as_they_are() {
    let directory = later(|transaction| {
        let orders = TableDefinition::<&[u8], &[u8]>::new("orders");
        transaction.delete_table(orders).expect("deleted");
        let orders = TableDefinition::<u64, u64>::new("orders");
        transaction.open_table(orders).expect("made");
    });
    assert!(matches!(refused(&directory), OtherFormat::Tables(_)));
    let directory = later(|transaction| {
        let audit = TableDefinition::<u64, &[u8]>::new("audit");
        transaction.delete_table(audit).expect("deleted");
        let audit = TableDefinition::<u64, &str>::new("audit");
        transaction.open_table(audit).expect("made");
    });
    assert!(matches!(refused(&directory), OtherFormat::Tables(_)));
}

/// The database's own format: what it is told as damage, and what it tells itself.
#[test]
fn another_file_format_of_the_database_is_refused_and_left_as_it_is() {
    for (slots, version) in [
        (&[64, 192][..], 1),
        (&[64, 192][..], 2),
        (&[64, 192][..], 4),
        (&[64][..], 4),
        (&[192][..], 4),
    ] {
        for file in ["format-1.redb", "format-2.redb"] {
            let directory = with(file);
            let mut image = bytes(&directory);
            for slot in slots {
                assert_eq!(image[*slot], version::DATABASE, "redb's header");
                image[*slot] = version;
            }
            fs::write(directory.path().join(FILE), image).expect("written");
            assert_eq!(refused(&directory), OtherFormat::Database(version));
        }
    }
}

/// A later program may keep more: an older one leaves it alone.
#[test]
fn a_kind_of_data_that_is_unknown_is_kept() {
    let directory = later(|transaction| {
        let table = TableDefinition::<&[u8], &[u8]>::new("weather");
        let mut table = transaction.open_table(table).expect("made");
        table.insert(&b"today"[..], &[1_u8, 7][..]).expect("inserted");
    });
    let (journal, restored) = Journal::open(directory.path(), &car("A")).expect("a journal");
    assert_eq!(restored.records.len(), records().len());
    drop(journal);
    let text = dump(&directory.path().join(FILE));
    assert!(text.contains("weather 746f646179 = 0107\n"), "{text}");
}

/// E3
#[test]
fn a_term_is_kept_and_never_becomes_less() {
    let directory = with("format-2.redb");
    for (written, kept) in [(Some(9), 9), (Some(4), 9), (None, 9)] {
        let (journal, _) = Journal::open(directory.path(), &car("A")).expect("a journal");
        let changes: Vec<Change> = written.map(Term).map(Change::Term).into_iter().collect();
        tables::write(&journal.database, &changes, UNSET).expect("written");
        drop(journal);
        let (_, restored) = Journal::open(directory.path(), &car("A")).expect("a journal");
        assert_eq!(restored.term, Term(kept));
    }
}

/// Whatever the umask, and whatever the rights were before.
#[test]
fn a_journal_is_for_its_user_and_group_alone() {
    let mode = |directory: &TempDir| {
        let file = fs::metadata(directory.path().join(FILE)).expect("there");
        file.permissions().mode() & 0o7777
    };
    let directory = TempDir::new().expect("a directory");
    drop(Journal::open(directory.path(), &car("A")).expect("a journal"));
    assert_eq!(mode(&directory) & !MODE, 0, "{:o}", mode(&directory));
    for (before, after) in [(0o666, 0o640), (0o644, 0o640), (0o600, 0o600)] {
        let path = directory.path().join(FILE);
        fs::set_permissions(path, Permissions::from_mode(before)).expect("set");
        drop(Journal::open(directory.path(), &car("A")).expect("a journal"));
        assert_eq!(mode(&directory), after);
    }
}
