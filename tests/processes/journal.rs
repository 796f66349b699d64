//! The journal of a real node: what a later start makes of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use elevator_driver::Direction;
use elevator_fleet::model::Term;
use elevator_fleet::node::Status;
use liftmesh_harness::building::{Building, Line};
use redb::{Database, TableDefinition};
use serde_json::Value;

use super::command_line;

/// The commit slots in the header of the database, which begin with the version of its file format.
const SLOTS: [usize; 2] = [64, 192];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata").join(name)
}

fn journal(building: &Building) -> PathBuf {
    building.data_dir("A").join("journal.redb")
}

/// A building whose node A has run here before, and finds this file as its journal. The stop switch
/// is pulled, so that nothing is served.
fn with(name: &str) -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.panel("A").send("stop on").expect("the switch");
    fs::create_dir(building.data_dir("A")).expect("a data directory");
    fs::copy(golden(name), journal(&building)).expect("a copy");
    let mark = building.data_dir("A").join("commissioned.toml");
    fs::write(mark, "node = \"A\"\n").expect("the mark");
    building
}

fn wait_for_status(building: &Building, name: &str) -> Status {
    let mut found = None;
    building.wait("the node answers", |building| {
        found = building.status(name);
        found.is_some()
    });
    found.expect("a status")
}

/// How long the oldest open order has waited, in seconds.
fn age(status: &Status) -> f64 {
    status.orders.first().expect("an order").waited.as_secs_f64()
}

/// Starts a node that is to refuse its journal; holds that nothing in the directory has changed.
fn refused(building: &Building) -> String {
    let before = fs::read(journal(building)).expect("the journal");
    let rights = fs::metadata(journal(building)).expect("there").permissions();
    let clear = ["clear-hang", "--operator", "kovac", "--reason", "a test"];
    for words in [&["audit"][..], &clear] {
        let output = building.operator("A", words).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("another version of the program"), "{said}");
    }
    let output = building.command("A").output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(fs::read(journal(building)).expect("there") == before, "it has changed");
    let after = fs::metadata(journal(building)).expect("there").permissions();
    assert_eq!(after, rights);
    assert!(!building.data_dir("A").join("journal.damaged-1").exists());
    assert!(said.contains("another version of the program"), "{said}");
    assert!(said.contains("journal.redb"), "{said}");
    said
}

/// Another program, by the journal's own format.
#[test]
fn a_journal_of_another_format_ends_the_start_with_two() {
    assert!(refused(&with("format-1.redb")).contains("format 1"));
    let building = with("format-2.redb");
    let database = Database::open(journal(&building)).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    let numbers = TableDefinition::<&str, u64>::new("numbers");
    let mut numbers = transaction.open_table(numbers).expect("a table");
    numbers.insert("format", 3).expect("inserted");
    drop(numbers);
    transaction.commit().expect("written");
    drop(database);
    assert!(refused(&building).contains("format 3"));
}

/// A change of the database's file format, in either direction.
#[test]
fn another_file_format_of_the_database_ends_the_start_with_two() {
    for version in [1, 2, 4, 9] {
        let building = with("format-2.redb");
        let mut image = fs::read(journal(&building)).expect("the journal");
        for slot in SLOTS {
            assert_eq!(image[slot], 3, "the header of the database");
            image[slot] = version;
        }
        fs::write(journal(&building), image).expect("written");
        assert!(refused(&building).contains(&format!("file format {version}")));
    }
}

/// What is damaged is set aside, as ever.
#[test]
fn a_damaged_journal_is_set_aside_and_refuses_the_start_with_four() {
    let building = with("format-2.redb");
    let mut image = fs::read(journal(&building)).expect("the journal");
    image[100..256].fill(0xA5);
    fs::write(journal(&building), &image).expect("written");
    let output = building.command("A").output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    let aside = building.data_dir("A").join("journal.damaged-1");
    assert!(aside.exists());
    assert!(!journal(&building).exists());
}

/// The file is at fault, not the program.
#[test]
fn a_file_that_makes_the_database_panic_is_called_damaged() {
    let building = with("format-1.redb");
    let mut image = fs::read(journal(&building)).expect("the journal");
    image[36_871] ^= 0x80;
    fs::write(journal(&building), &image).expect("written");
    let mut audit = command_line::liftmesh(&["audit", "--data-dir"]);
    let audit = audit.arg(building.data_dir("A")).output().expect("it runs");
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let start = building.command("A").output().expect("it runs");
    assert_eq!(start.status.code(), Some(4), "{start:?}");
    let [audit, start] = [audit, start].map(|it| String::from_utf8_lossy(&it.stderr).into_owned());
    assert!(start.contains("the database gave up on it: range start index"), "{start}");
    for said in [audit, start] {
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// F18: the age of an order goes on, whatever ends the process.
#[test]
fn the_age_of_an_order_goes_on_after_a_kill() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.take_out("A");
    let button = building.hall(2, Direction::Up);
    building.press("A", button);
    building.wait_lit(&["A"], button);
    let mut before = (0.0, Instant::now());
    building.wait("the order has waited for a while", |building| {
        let seen = Instant::now();
        before = (age(&building.status("A").expect("a status")), seen);
        before.0 > 2.0
    });
    for _ in 0..2 {
        building.kill("A");
        building.start("A");
        let (waited, seen) = (age(&wait_for_status(&building, "A")), Instant::now());
        // The order is on disk a moment after it was placed, and times are shown to the
        // millisecond.
        let least = before.0 + (seen - before.1).as_secs_f64() - 1.0;
        assert!(waited >= before.0, "{waited} s after {} s", before.0);
        assert!(waited >= least, "{waited} s, not {least} s");
        before = (waited, seen);
    }
}

/// E3: nobody is left who would know the term.
#[test]
fn the_term_goes_on_after_a_power_cut() {
    let names = ["A", "B", "C"];
    let mut building = Building::with_cars(4, Line::Serial, &names);
    for _ in 0..2 {
        building.kill("A");
        building.wait_for_one_master_of(&["B", "C"]);
        building.start("A");
        building.wait_for_master("A");
    }
    let term = |building: &Building, name| wait_for_status(building, name).term;
    let before = names.map(|name| term(&building, name));
    assert!(before.iter().all(|term| *term > Term(2)), "{before:?}");
    building.kill_all(&names);
    for (name, before) in names.iter().zip(before) {
        building.start(name);
        // It hears nobody.
        assert!(term(&building, name) >= before);
        building.kill(name);
    }
}

/// O1, O4: a repair needs no latch and no stop, loses no order, and is on record.
#[test]
fn a_repair_gives_the_journal_a_fresh_identity() {
    let mut building = with("format-2.redb");
    building.start("A");
    let before = wait_for_status(&building, "A");
    let words = ["repair", "--operator", "kovac", "--reason", "restored from a copy"];
    let said = liftmesh(&building, &words);
    let identities: Vec<_> = said.trim_end().split(' ').collect();
    let ["repaired:", "journal", fresh, "in", "place", "of", old] = identities[..] else {
        panic!("{said}");
    };
    assert_ne!(fresh, old);
    let calls = |status: &Status| {
        let calls = status.orders.iter().map(|order| order.call.clone());
        calls.collect::<BTreeSet<_>>()
    };
    let repaired = wait_for_status(&building, "A");
    assert_eq!(calls(&repaired), calls(&before));
    assert!(!building.data_dir("A").join("hang.toml").exists());
    let records = liftmesh(&building, &["audit", "--json"]);
    let record: Value =
        records.lines().last().and_then(|line| serde_json::from_str(line).ok()).expect("a record");
    for (key, value) in [
        ("kind", "repair"),
        ("operator", "kovac"),
        ("reason", "restored from a copy"),
        ("old", old),
        ("fresh", fresh),
    ] {
        assert_eq!(record[key], value, "{record}");
    }
    assert_eq!(record["account"]["uid"], rustix::process::getuid().as_raw());
    let page = liftmesh(&building, &["audit"]);
    assert!(page.contains(&format!("journal {fresh} in place of {old}")), "{page}");

    building.kill("A");
    building.start("A");
    let again = wait_for_status(&building, "A");
    assert_eq!(calls(&again), calls(&before));
    assert!(liftmesh(&building, &words).trim_end().ends_with(fresh), "it holds after a kill");
    assert!(building.stop("A").success());
    let output = building.operator("A", &words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(5));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("no node runs with data directory"), "{said}");
}

fn liftmesh(building: &Building, words: &[&str]) -> String {
    let output = building.operator("A", words).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// H3: what a program of another version has recorded is shown, and keeps nobody from clearing.
#[test]
fn an_unknown_kind_in_the_audit_log_blocks_no_clearing() {
    let mut building = with("format-2.redb");
    let database = Database::open(journal(&building)).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    let audit = TableDefinition::<u64, &[u8]>::new("audit");
    let mut audit = transaction.open_table(audit).expect("a table");
    let record = br#"{"at":"2030-01-01T00:00:00.000Z","node":"A","program":"9.0.0",
        "kind":"brake-test","result":{"passed":true}}"#;
    audit.insert(3, &record[..]).expect("inserted");
    audit.insert(4, &b"no JSON"[..]).expect("inserted");
    drop(audit);
    transaction.commit().expect("written");
    drop(database);
    fs::write(building.data_dir("A").join("hang.toml"), "?").expect("a latch");
    let shown = liftmesh(&building, &["audit"]);
    for part in ["brake-test", r#"{"result":{"passed":true}}"#, "unreadable", "no JSON"] {
        assert!(shown.contains(part), "{shown}");
    }
    let words = ["clear-hang", "--operator", "kovac", "--reason", "found it in order"];
    assert!(liftmesh(&building, &words).starts_with("cleared: "));
    let json = liftmesh(&building, &["audit", "--json"]);
    let records: Vec<Value> =
        json.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records[2]["result"]["passed"], true, "{json}");
    let account = &records.last().expect("a clearing")["account"];
    assert_eq!(account["uid"], rustix::process::getuid().as_raw());
    building.start("A");
    wait_for_status(&building, "A");
    assert_eq!(liftmesh(&building, &["audit", "--json"]), json);
}
