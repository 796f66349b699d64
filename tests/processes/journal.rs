//! The journal of a real node: what a later start makes of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use elevator_driver::Direction;
use elevator_fleet::model::Term;
use elevator_fleet::node::Status;
use liftmesh_harness::building::{Building, Line};
use redb::{Database, TableDefinition, WriteTransaction};
use serde_json::Value;

use super::command_line;

/// The commit slots in the header of the database, which begin with the version of its file format.
const SLOTS: [usize; 2] = [64, 192];

const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const AUDIT: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("audit");

fn journal(building: &Building, name: &str) -> PathBuf {
    building.data_dir(name).join("journal.redb")
}

/// A building whose node A has run here before, and left this journal. The stop switch is pulled, so
/// that nothing is served.
fn with_golden() -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.panel("A").send("stop on").expect("the switch");
    fs::create_dir(building.data_dir("A")).expect("a data directory");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata/format-3.redb");
    fs::copy(golden, journal(&building, "A")).expect("a copy");
    let mark = building.data_dir("A").join("commissioned.toml");
    fs::write(mark, "node = \"A\"\n").expect("the mark");
    building
}

/// Changes the journal of A as another program might, or makes it.
fn change(building: &Building, change: impl FnOnce(&WriteTransaction)) {
    let database = Database::create(journal(building, "A")).expect("a database");
    let transaction = database.begin_write().expect("a transaction");
    change(&transaction);
    transaction.commit().expect("written");
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
    let before = fs::read(journal(building, "A")).expect("the journal");
    let rights = fs::metadata(journal(building, "A")).expect("there").permissions();
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
    assert!(fs::read(journal(building, "A")).expect("there") == before, "it has changed");
    let after = fs::metadata(journal(building, "A")).expect("there").permissions();
    assert_eq!(after, rights);
    assert!(!building.data_dir("A").join("journal.damaged-1").exists());
    assert!(said.contains("another version of the program"), "{said}");
    assert!(said.contains("journal.redb"), "{said}");
    said
}

/// Another program, by the journal's own format.
#[test]
fn a_journal_of_another_format_ends_the_start_with_two() {
    for (format, is_earlier) in [(2, true), (4, false)] {
        let building = with_golden();
        if is_earlier {
            fs::remove_file(journal(&building, "A")).expect("there");
        }
        change(&building, |transaction| {
            let numbers = transaction.open_table(NUMBERS);
            numbers.expect("a table").insert("format", format).expect("inserted");
        });
        assert!(refused(&building).contains(&format!("it has format {format}")));
    }
}

/// A change of the database's file format, in either direction.
#[test]
fn another_file_format_of_the_database_ends_the_start_with_two() {
    for version in [2, 4] {
        let building = with_golden();
        let mut image = fs::read(journal(&building, "A")).expect("the journal");
        for slot in SLOTS {
            assert_eq!(image[slot], 3, "the header of the database");
            image[slot] = version;
        }
        fs::write(journal(&building, "A"), image).expect("written");
        assert!(refused(&building).contains(&format!("file format {version}")));
    }
}

/// What is damaged is set aside, as ever.
#[test]
fn a_damaged_journal_is_set_aside_and_refuses_the_start_with_four() {
    let building = with_golden();
    let mut image = fs::read(journal(&building, "A")).expect("the journal");
    image[100..256].fill(0xA5);
    fs::write(journal(&building, "A"), &image).expect("written");
    let output = building.command("A").output().expect("it runs");
    assert_eq!(output.status.code(), Some(4));
    let aside = building.data_dir("A").join("journal.damaged-1");
    assert!(aside.exists());
    assert!(!journal(&building, "A").exists());
}

/// The file is at fault, not the program.
#[test]
fn a_file_that_makes_the_database_panic_is_called_damaged() {
    let building = with_golden();
    let mut image = fs::read(journal(&building, "A")).expect("the journal");
    image[12_288] ^= 0x80;
    fs::write(journal(&building, "A"), &image).expect("written");
    let mut audit = command_line::liftmesh(&["audit", "--data-dir"]);
    let audit = audit.arg(building.data_dir("A")).output().expect("it runs");
    assert_eq!(audit.status.code(), Some(1), "{audit:?}");
    let start = building.command("A").output().expect("it runs");
    assert_eq!(start.status.code(), Some(4), "{start:?}");
    let [audit, start] = [audit, start].map(|it| String::from_utf8_lossy(&it.stderr).into_owned());
    assert!(start.contains("the database gave up on it: internal error"), "{start}");
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

/// What becomes of the journal of node A while it does not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Deleted,
    Emptied,
    /// A copy from before the last presses takes its place.
    Older,
    /// The journal of node B does.
    Cloned,
}

/// O1, F13, P2: two nodes have each order, whatever becomes of the disk of one. A node reports what it
/// finds in place of its journal, but for an older one of its own, which is as good as any.
#[test]
fn a_fleet_loses_no_lit_lamp_whatever_becomes_of_a_journal() {
    for (fate, refusal) in [
        (Fate::Deleted, Some((4, "its journal is gone or damaged"))),
        (Fate::Emptied, Some((4, "its journal is gone or damaged"))),
        (Fate::Older, None),
        (Fate::Cloned, Some((2, "is the journal of node B, and this node is A"))),
    ] {
        let names = ["A", "B", "C"];
        let mut building = Building::with_cars(4, Line::Serial, &names);
        building.open_books();
        for name in names {
            building.take_out(name);
        }
        let early = building.hall(1, Direction::Up);
        let (late, car_call) = (building.hall(2, Direction::Down), building.car_call(3));
        building.press("A", early);
        building.wait_lit(&names, early);
        let copy = building.path("copy.redb");
        building.kill("A");
        fs::copy(journal(&building, "A"), &copy).expect("copied");
        building.start("A");
        building.wait_lit(&names, early);
        for button in [late, car_call] {
            building.press("A", button);
        }
        building.wait_lit(&names, late);
        building.wait_lit(&["A"], car_call);

        building.kill("A");
        let path = journal(&building, "A");
        match fate {
            Fate::Deleted => fs::remove_file(&path).expect("deleted"),
            Fate::Emptied => fs::write(&path, "").expect("emptied"),
            Fate::Older => drop(fs::copy(&copy, &path).expect("restored")),
            Fate::Cloned => {
                building.kill("B");
                fs::copy(journal(&building, "B"), &path).expect("cloned");
                building.start("B");
                building.wait_lit(&["B"], early);
            }
        }
        if let Some((exit, report)) = refusal {
            let output = building.command("A").output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(exit), "{fate:?}: {said}");
            assert!(said.contains(report), "{fate:?}: {said}");
            if fate == Fate::Cloned {
                fs::remove_file(&path).expect("moved away, as the message says");
            }
            building.clear_hang("A");
        }
        for button in [early, late] {
            building.wait_lit(&["B", "C"], button);
        }
        building.start("A");
        for button in [early, late] {
            building.wait_lit(&names, button);
        }
        building.wait_lit(&["A"], car_call);
        for name in names {
            building.put_in(name);
        }
        building.close_books();
        building.assert_safe();
    }
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
    let mut building = with_golden();
    change(&building, |transaction| {
        let mut audit = transaction.open_table(AUDIT).expect("a table");
        let record = br#"{"at":"2030-01-01T00:00:00.000Z","node":"A","program":"9.0.0",
            "kind":"brake-test","result":{"passed":true}}"#;
        audit.insert(3, &record[..]).expect("inserted");
        audit.insert(4, &b"no JSON"[..]).expect("inserted");
    });
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
