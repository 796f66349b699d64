//! Nodes whose disk takes nothing when they start: read-only, full, or not theirs to use.
//!
//! The disks are mounts in a namespace of the node's own. The tests need root, `unshare` and
//! `setpriv`; without them they say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Status;
use liftmesh::journal::Journal;
use liftmesh_harness::building::disk::{self, Disk};
use liftmesh_harness::building::{Building, Line, skip};

use super::command_line::NODE;
use super::http::client::{get, serving};

/// Long enough for a lamp that would be lit.
const MOMENT: Duration = Duration::from_secs(1);

/// A user who owns nothing.
const NOBODY: u32 = 65534;

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

/// P5: without room for a single file, and also without any place for its socket.
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
    building.start_without_runtime_dir(Disk::ReadOnly, "A");
    is_served_in_the_dark(&building, 3);
    assert!(building.stop("A").success());
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

/// P5: what took the directory has it, also where the disk has failed before or since.
#[test]
fn a_second_node_is_refused_on_any_disk() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    let (exit, said) = building.refused_start("A");
    assert_eq!(exit, Some(2), "{said}");
    for _ in 0..2 {
        let second = building.command_on(Disk::ReadOnly, "A").output().expect("it runs");
        let said = String::from_utf8_lossy(&second.stderr);
        assert_eq!(second.status.code(), Some(2), "{said}");
        assert!(said.contains("another node is running with this"), "{said}");
        building.kill("A");
        building.start_on(Disk::ReadOnly, "A");
        wait_in_service(&building);
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

/// P5: a missing right is a mistake in the installation, not a disk that fails.
#[test]
fn a_missing_right_ends_with_two_and_names_path_and_right() {
    let as_nobody = |program: &Path| {
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")]);
        command.arg("--clear-groups").arg(program).env("LIFTMESH_CONFIG", "");
        command
    };
    let tried = as_nobody("true".as_ref()).output();
    if !tried.is_ok_and(|output| output.status.success()) {
        return skip("setpriv (util-linux) can't change the user: root is needed");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    };
    mode(directory.path(), 0o755);
    let [program, foreign, journal, read_only] =
        ["liftmesh", "foreign", "journal", "read-only"].map(|name| directory.path().join(name));
    fs::copy(env!("CARGO_BIN_EXE_liftmesh"), &program).expect("copied");
    for (made, rights) in [(&foreign, 0o700), (&read_only, 0o755)] {
        fs::create_dir(made).expect("made");
        mode(made, rights);
    }
    drop(Journal::open(&journal, &NodeId::new("A").expect("a name")).expect("a journal"));
    mode(&journal.join("journal.redb"), 0o600);
    chown(&journal, Some(NOBODY), Some(NOBODY)).expect("given");
    drop(fs::File::create(read_only.join("node.lock")).expect("made"));
    mode(&read_only.join("node.lock"), 0o666);
    for (data_dir, path, right) in [
        (&foreign, "foreign/node.lock", "read and write"),
        (&journal, "journal/journal.redb", "read and write"),
        (&read_only, "read-only/node.sock", "create files"),
        (&directory.path().join("missing"), "missing", "create it"),
    ] {
        let mut command = as_nobody(&program);
        command.arg("run").args(NODE.split(' ')).args([
            "--panel",
            "tcp://127.0.0.1:9",
            "--data-dir",
        ]);
        let output = command.arg(data_dir).output().expect("setpriv");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{path}: {said}");
        let path = directory.path().join(path);
        for part in [&*path.to_string_lossy(), right, "ermi"] {
            assert!(said.contains(part), "{said}");
        }
    }
}

/// A key that can't be written whole is not there, and the next attempt is not refused because of it.
#[test]
fn a_full_disk_holds_no_part_of_a_key() {
    if !disk::can_fail() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let script = "mount -t tmpfs -o size=4k tmpfs \"$1\" && head -c 4096 /dev/zero > \"$1/full\" && \
                  ! \"$0\" keygen --out \"$1/fleet.key\" && ls -A \"$1\" && rm \"$1/full\" && \
                  \"$0\" keygen --out \"$1/fleet.key\" && ls -A \"$1\"";
    let tried = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_liftmesh")])
        .arg(directory.path())
        .output()
        .expect("unshare");
    let [said, errors] =
        [tried.stdout, tried.stderr].map(|it| String::from_utf8(it).expect("text"));
    assert!(tried.status.success(), "{said}{errors}");
    assert!(errors.contains("fleet.key can't be written"), "{errors}");
    let made = format!("fleet key written to {}\n", directory.path().join("fleet.key").display());
    assert_eq!(said, format!("full\n{made}fleet.key\n"));
}
