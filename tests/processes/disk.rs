//! Nodes whose disk takes nothing when they start: read-only, or full.
//!
//! The disks are mounts in a namespace of the node's own. The tests need root and `unshare`;
//! without them they say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set.

use std::fs;
use std::process::Command;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::node::Status;
use liftmesh_harness::building::disk::{self, Disk};
use liftmesh_harness::building::{Building, Line};

use super::http::client::{get, serving};

/// Long enough for a lamp that would be lit.
const MOMENT: Duration = Duration::from_secs(1);

fn wait_until(building: &Building, what: &str, is_so: impl Fn(&Status) -> bool) {
    building.wait(&format!("without its disk A {what}"), |building| {
        let status = building.status_on_failed_disk("A");
        status.is_some_and(|status| status.disk_failed && is_so(&status))
    });
}

fn wait_in_service(building: &Building) {
    wait_until(building, "is in service", |status| {
        status.car.as_ref().is_some_and(|car| car.view.is_in_service())
    });
}

/// A passenger of a car whose node is alone: no lamp is lit, and the car comes all the same.
fn is_served_in_the_dark(building: &Building, floor: u8) {
    let button = building.car_call(floor);
    building.press("A", button);
    building.wait("the passenger is there", |building| {
        assert!(!building.car("A").lamps.contains(&button), "{button} lit");
        building.is_open_at("A", floor)
    });
}

/// P5, F12: what others have on disk is promised, and shown, on a node that has no disk.
#[test]
fn a_node_with_a_read_only_disk_serves_with_the_others() {
    if !disk::can_fail() {
        return;
    }
    let names = ["A", "B"];
    let mut building = Building::with_cars(4, Line::Serial, &names);
    building.open_books();
    for name in names {
        building.take_out(name);
    }
    let (before, after) = (building.hall(2, Direction::Up), building.hall(1, Direction::Down));
    building.press("A", before);
    building.wait_lit(&names, before);
    building.kill("A");
    building.start_on(Disk::ReadOnly, "A");
    wait_until(&building, "is in step with B", |status| status.peers.iter().any(|it| it.in_step));
    let ready = get(serving(&building, 1), "/readyz");
    assert_eq!((ready.status, ready.problem()), (503, "not_ready".to_owned()));
    assert!(ready.body.contains("its disk has failed"), "{ready:?}");
    building.press("A", after);
    for button in [before, after] {
        building.wait_lit(&names, button);
    }
    for name in names {
        building.put_in(name);
    }
    building.close_books();
    building.assert_safe();
}

/// P5
#[test]
fn a_node_without_room_for_a_single_file_serves() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    building.start_on(Disk::Full, "A");
    wait_in_service(&building);
    is_served_in_the_dark(&building, 2);
    assert!(building.stop("A").success());
    assert_eq!(fs::read_dir(building.data_dir("A")).expect("there").count(), 0);
}

/// P5, P3: alone, a node knows what it can read of its journal, and lights nothing on its strength.
/// A disk that takes writes again is used again, with all that was on it.
#[test]
fn a_disk_that_works_again_is_used_without_a_restart() {
    if !disk::can_fail() {
        return;
    }
    for (disk, remedy) in [(Disk::ReadOnly, "rw,bind"), (Disk::Full, "nr_inodes=100")] {
        let mut building = Building::with_cars(4, Line::Serial, &["A"]);
        building.take_out("A");
        let (before, after) = (building.car_call(2), building.car_call(3));
        building.press("A", before);
        building.wait_lit(&["A"], before);
        building.kill("A");
        building.start_on(disk, "A");
        let known = usize::from(disk == Disk::ReadOnly);
        wait_until(&building, "knows the order", |status| status.orders.len() == known);
        let mut page = building.operator("A", &["status"]);
        let page = page.env("XDG_RUNTIME_DIR", building.path("run")).output().expect("it runs");
        let page = String::from_utf8(page.stdout).expect("text");
        assert!(page.contains("the disk has failed"), "{page}");
        building.wait_dark(&["A"], before);
        building.press("A", after);
        building.stays("no lamp is lit", MOMENT, |building| building.car("A").lamps.is_empty());
        let (data_dir, pid) = (building.data_dir("A"), building.process_id("A").to_string());
        let mount = Command::new("nsenter")
            .args(["--mount", "--target", &pid, "mount", "-o", &format!("remount,{remedy}")])
            .arg(&data_dir)
            .output()
            .expect("nsenter");
        assert!(mount.status.success(), "{mount:?}");
        building.wait_lit(&["A"], after);
        building.wait("the disk has everything", |building| {
            let status = building.status_on_failed_disk("A");
            status.is_some_and(|status| !status.disk_failed && status.durable)
        });
        if disk == Disk::ReadOnly {
            building.wait_lit(&["A"], before);
            building.kill("A");
            building.start("A");
            building.wait_lit(&["A"], after);
        }
    }
}

/// F9, H2, P5: nor does a node start there that is latched, or whose journal is damaged and can't be
/// set aside. There is nothing to keep a latch, and the motor of a car that hangs stops all the same.
#[test]
fn a_read_only_disk_excuses_no_hang() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    let [latch, journal] = ["hang.toml", "journal.redb"].map(|it| building.data_dir("A").join(it));
    let sound = fs::read(&journal).expect("a journal");
    for file in [&latch, &journal] {
        fs::write(file, [7; 9000]).expect("written");
        building.start_on(Disk::ReadOnly, "A");
        assert_eq!(building.exit("A").code(), Some(4));
        fs::write(&journal, &sound).expect("written");
        drop(fs::remove_file(&latch));
    }
    building.start_on(Disk::ReadOnly, "A");
    wait_in_service(&building);
    building.fly("A", 19);
    building.tell("A", "fault motor stuck");
    assert_eq!(building.exit("A").code(), Some(3));
    assert_eq!(building.car("A").driven, None, "the motor still runs");
    assert!(!building.is_latched("A"));
}
