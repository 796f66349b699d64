//! The journal of a real node: what a later start makes of it.

use std::fs;
use std::path::{Path, PathBuf};

use elevator_driver::Direction;
use liftmesh_harness::building::{Building, Line};

/// The commit slots in the header of the database, which begin with the version of its file format.
const SLOTS: [usize; 2] = [64, 192];

fn journal(building: &Building, name: &str) -> PathBuf {
    building.data_dir(name).join("journal.redb")
}

/// A building whose node A has run here before, and left this journal. The stop switch is pulled, so
/// that nothing is served.
fn with_golden() -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.tell("A", "stop on");
    fs::create_dir(building.data_dir("A")).expect("a data directory");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/journal/testdata/format-3.redb");
    fs::copy(golden, journal(&building, "A")).expect("a copy");
    let mark = building.data_dir("A").join("commissioned.toml");
    fs::write(mark, "node = \"A\"\n").expect("the mark");
    building
}

/// Changes the bytes of the journal of A.
fn corrupt(building: &Building, corrupt: impl FnOnce(&mut [u8])) {
    let mut image = fs::read(journal(building, "A")).expect("the journal");
    corrupt(&mut image);
    fs::write(journal(building, "A"), image).expect("written");
}

/// Another program's, by the format of the database's file.
#[test]
fn a_journal_of_another_format_ends_the_start_with_two() {
    let building = with_golden();
    corrupt(&building, |image| {
        for slot in SLOTS {
            assert_eq!(image[slot], 3, "the header of the database");
            image[slot] = 4;
        }
    });
    let path = journal(&building, "A");
    let before = fs::read(&path).expect("there");
    let clear = ["clear-hang", "--operator", "kovac", "--reason", "a test"];
    let start = building.refused_start("A");
    assert!(start.1.contains("file format 4"), "{}", start.1);
    for (exit, said) in [building.refusal("A", &["audit"]), building.refusal("A", &clear), start] {
        assert_eq!(exit, Some(2), "{said}");
        assert!(said.contains("another version of the program"), "{said}");
    }
    assert!(fs::read(&path).expect("there") == before, "it has changed");
}

/// The file is at fault, not the program, even if the database panics.
#[test]
fn a_damaged_journal_is_set_aside_and_refuses_the_start_with_four() {
    let building = with_golden();
    corrupt(&building, |image| image[12_288] ^= 0x80);
    let (exit, audit) = building.refusal("A", &["audit"]);
    assert_eq!(exit, Some(1), "{audit}");
    let (exit, start) = building.refused_start("A");
    assert_eq!(exit, Some(4), "{start}");
    assert!(start.contains("the database gave up on it: internal error"), "{start}");
    for said in [audit, start] {
        assert!(!said.contains("panicked"), "{said}");
    }
    assert!(building.data_dir("A").join("journal.damaged-1").exists());
    assert!(!journal(&building, "A").exists());
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
    let names = ["A", "B", "C"];
    let mut building = Building::with_cars(4, Line::Serial, &names);
    for (fate, refusal) in [
        (Fate::Deleted, Some((4, "its journal is gone or damaged"))),
        (Fate::Emptied, Some((4, "its journal is gone or damaged"))),
        (Fate::Older, None),
        (Fate::Cloned, Some((2, "is the journal of node B, and this node is A"))),
    ] {
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
            let (code, said) = building.refused_start("A");
            assert_eq!(code, Some(exit), "{fate:?}: {said}");
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
    }
    building.assert_safe();
}

/// The motor is killed in the middle of a flight: `kill -9`, and the panel stops it.
#[test]
fn maintenance_counters_go_on_after_a_kill() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.wait_in_service(&["A"]);
    let counters =
        |building: &Building| building.status("A").and_then(|it| it.car).map(|car| car.counters);
    for floor in [3, 0] {
        building.serve("A", &["A"], building.car_call(floor));
    }
    let before = building.wait_for("two trips", |building| {
        counters(building).filter(|it| it.trips >= 2 && it.door_cycles >= 2)
    });
    assert!(before.since.is_some() && before.metres >= 9, "{before:?}");
    // What was counted is in the batch of the next press.
    let call = building.fly("A", 3);
    building.kill("A");
    building.start("A");
    let after = building.wait_for("it runs", counters);
    assert_eq!(after.since, before.since);
    assert!(after.trips >= before.trips && after.starts >= before.starts, "{after:?} {before:?}");
    assert!(after.door_cycles >= before.door_cycles, "{after:?} {before:?}");
    assert!(after.running >= before.running && after.metres >= before.metres, "{after:?}");
    building.wait_dark(&["A"], call);
    building.wait("the next trip counts", |building| {
        counters(building).is_some_and(|it| it.trips > before.trips && it.stops > before.stops)
    });
    building.assert_safe();
}
