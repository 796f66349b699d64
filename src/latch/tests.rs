use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::vocabulary::{Landing, show_labels_here};
use elevator_driver::{Building, FloorCount};
use elevator_fleet::car::HangCause;
use tempfile::TempDir;

use super::*;

pub(crate) fn node() -> NodeId {
    NodeId::new("car-1").expect("a name")
}

pub(crate) fn hang() -> Hang {
    let floor = |index| FloorCount::new(9).and_then(|floors| floors.floor(index));
    let evidence = HangEvidence {
        cause: HangCause::NoProgress,
        floor: floor(5),
        direction: Direction::Up,
        expected: Duration::from_secs(3),
        actual: Duration::from_millis(3012),
        last_sensor: floor(2),
    };
    Hang::new(node(), &evidence, SystemTime::UNIX_EPOCH)
}

fn directory() -> TempDir {
    TempDir::new().expect("a directory")
}

/// H2
#[test]
fn a_latch_says_after_a_restart_what_it_said_before() {
    let directory = directory();
    assert_eq!(check(directory.path()), Ok(()));
    let evidence =
        Evidence { floor: None, last_sensor: None, not_stopped: true, ..hang().evidence };
    let hangs = [Hang { evidence, ..hang() }, hang()].map(Latch::Hang);
    for latch in [Latch::JournalLost].into_iter().chain(hangs) {
        let kept = set(directory.path(), &latch).expect("on disk");
        assert!(matches!(kept, Kept::Whole), "{kept:?}");
        assert_eq!(find(directory.path()), Some(latch));
    }
    let path = directory.path().join(FILE);
    let mode = fs::metadata(&path).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // People can read it.
    let text = fs::read_to_string(&path).expect("a text");
    for line in ["cause = \"hang\"", "at = \"1970-01-01T00:00:00.000Z\"", "actual_s = 3.012"] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

/// H2: people read labels where no building is known any more, and the indices of older latches.
#[test]
fn a_latch_names_floors_by_their_labels() {
    let labels = ["B2", "B1", "G", "1", "2", "3"].into_iter().zip((0..).step_by(3_000));
    let landings = labels.map(|(label, height)| Landing::new(label, height));
    let building = Building::new(landings.collect(), Vec::new()).expect("a building");
    show_labels_here(Some(Arc::new(building)));
    let latch = Latch::Hang(hang());
    show_labels_here(None);
    let written = text(&latch).expect("a text");
    let read = |text: &str| parse(text).expect("a latch").to_string();
    let said = read(&written);
    assert!(said.contains("up to floor 3: ") && said.ends_with("the last was floor G"), "{said}");
    let said = read(&written.replace("\"G\"", "2"));
    assert!(said.ends_with("the last was floor 2"), "{said}");
}

/// F9: what each kind of hang is called.
#[test]
fn evidence_is_a_sentence() {
    let way = hang().evidence;
    let running_on = Evidence { floor: None, not_stopped: true, ..way.clone() };
    let search =
        Evidence { floor: None, last_sensor: None, flights_off_target: Some(6), ..way.clone() };
    for (evidence, [begin, end]) in [
        (way, ["on its way up to floor 5: driven for 3.0 s (3.0 s allowed)", "was floor 2"]),
        (running_on, ["told to stop: driven on for 3.0 s", "the last was floor 2"]),
        (search, ["on its way up to find a floor: 6 flights or searches", "none was seen before"]),
    ] {
        let sentence = evidence.to_string();
        assert!(sentence.starts_with(begin) && sentence.ends_with(end), "{sentence}");
    }
}

/// H2: a latch that can't be understood is a latch, and says what to do.
#[test]
fn a_damaged_latch_refuses_the_start_as_well() {
    let whole = text(&Latch::Hang(hang())).expect("a text");
    let cut = &whole.as_bytes()[..whole.len() - 30];
    let newer = whole.replace("format = 1", "format = 2");
    for damaged in [&b""[..], &[0; 4], &[0xff, 0xfe], b"format = 1\n", cut, newer.as_bytes()] {
        let directory = directory();
        fs::write(directory.path().join(FILE), damaged).expect("written");
        let refusal = check(directory.path()).expect_err("refused");
        assert!(matches!(*refusal.latch, Latch::Unreadable { .. }), "{damaged:?}: {refusal:?}");
        let command = format!("clear-hang --operator NAME --reason TEXT --data-dir {}", {
            directory.path().display()
        });
        assert!(refusal.to_string().contains(&command), "{refusal}");
    }
}

/// H2
#[test]
fn something_else_in_its_place_is_a_latch() {
    for name in [FILE, UNFINISHED] {
        let directory = directory();
        fs::create_dir(directory.path().join(name)).expect("made");
        assert!(matches!(find(directory.path()), Some(Latch::Unreadable { .. })));
        assert_eq!(owner(directory.path()), None);
    }
}

/// H2: the power went while the latch was written.
#[test]
fn a_latch_that_was_not_finished_is_a_latch() {
    let directory = directory();
    fs::write(directory.path().join(UNFINISHED), "format = 1\ncau").expect("written");
    assert!(find(directory.path()).is_some());
    for _ in 0..2 {
        remove(directory.path()).expect("removed");
        assert_eq!(find(directory.path()), None);
    }
}

/// H2: no room for a single byte.
#[test]
fn a_disk_that_takes_no_file_still_keeps_a_bare_latch() {
    let directory = directory();
    commission::mark(directory.path(), &node(), SystemTime::UNIX_EPOCH).expect("marked");
    // Nothing can be written under this name, as on a full disk.
    fs::create_dir(directory.path().join(UNFINISHED)).expect("made");
    let kept = set(directory.path(), &Latch::Hang(hang())).expect("kept");
    assert!(matches!(kept, Kept::Bare(_)), "{kept:?}");
    assert!(matches!(find(directory.path()), Some(Latch::Unreadable { .. })));
    assert_eq!(owner(directory.path()), Some(node()));
    assert!(set(&directory.path().join("gone"), &Latch::Hang(hang())).is_err());
}
