//! Nodes whose disk takes nothing when they start: read-only, full, or not theirs to use.
//!
//! The disks are mounts in a namespace of the node's own. The tests need root, `unshare` and
//! `setpriv`; without them they say so and do nothing, or fail where `LIFTMESH_SKIPS_FAIL` is set.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use elevator_driver::{Direction, DoorState};
use elevator_fleet::model::NodeId;
use elevator_fleet::node::Status;
use liftmesh::client::Client;
use liftmesh::journal::Journal;
use liftmesh_harness::building::disk::{self, Disk, RuntimeDir};
use liftmesh_harness::building::{Building, Line, skip};

use super::http::client::{get, serving};

/// Long enough for a lamp that would be lit.
const MOMENT: Duration = Duration::from_secs(1);

/// A user who owns nothing.
const NOBODY: u32 = 65534;

/// A node on a failing disk has its socket there.
fn runtime_dir(building: &Building) -> RuntimeDir {
    let path = building.path("run");
    fs::create_dir_all(&path).expect("a directory");
    RuntimeDir::new(path)
}

/// Starts a node whose disk is like that.
fn start_on(disk: Disk, building: &mut Building, name: &str) {
    let data_dir = building.data_dir(name);
    fs::create_dir_all(&data_dir).expect("a data directory");
    let runtime_dir = runtime_dir(building);
    building.start_with(name, |command| runtime_dir.on(disk, &data_dir, command));
}

/// What a node on such a disk says of itself.
fn status(building: &Building, name: &str) -> Option<Status> {
    let data_dir = building.data_dir(name);
    let stand_in = runtime_dir(building).stand_in(&data_dir);
    Client::connect(&stand_in).ok()?.status().ok()
}

fn wait_in_service(building: &Building, name: &str) {
    building.wait("the car is in service without its disk", |building| {
        status(building, name).is_some_and(|status| {
            status.disk_failed && status.car.is_some_and(|car| car.view.is_in_service())
        })
    });
}

fn is_open_at(building: &Building, name: &str, floor: u8) -> bool {
    let car = building.car(name);
    let open = car.door == DoorState::Open || car.door_lamp;
    open && car.floor == Some(building.floor(floor))
}

/// A passenger of a car whose node is alone: no lamp is lit, and the car comes all the same.
fn is_served_in_the_dark(building: &Building, name: &str, floor: u8) {
    let button = building.car_call(floor);
    building.press(name, button);
    building.wait("the passenger is there", |building| {
        assert!(!building.car(name).lamps.contains(&button), "{button} lit");
        is_open_at(building, name, floor)
    });
}

/// P5, F12: what others have on disk is promised, and shown, on a node that has no disk.
#[test]
fn a_node_with_a_read_only_disk_serves_with_the_others() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A", "B"]);
    building.open_books();
    for name in ["A", "B"] {
        building.take_out(name);
    }
    let (before, after) = (building.hall(2, Direction::Up), building.hall(1, Direction::Down));
    building.press("A", before);
    building.wait_lit(&["A", "B"], before);
    building.kill("A");
    start_on(Disk::ReadOnly, &mut building, "A");
    building.wait("A is in step with B without its disk", |building| {
        status(building, "A").is_some_and(|status| {
            status.disk_failed && status.peers.iter().any(|peer| peer.in_step)
        })
    });
    let ready = get(serving(&building, 1), "/readyz");
    assert_eq!((ready.status, ready.problem()), (503, "not_ready".to_owned()));
    assert!(ready.body.contains("its disk has failed"), "{ready:?}");
    building.press("A", after);
    for button in [before, after] {
        building.wait_lit(&["A", "B"], button);
    }
    for name in ["A", "B"] {
        building.put_in(name);
    }
    building.close_books();
    building.assert_safe();
}

/// P5, P3: alone, it knows what stood in the journal of the node that was killed, and lights nothing
/// on its strength.
#[test]
fn a_node_alone_with_a_read_only_disk_serves_what_stands_there_and_lights_no_lamp() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.take_out("A");
    let button = building.car_call(2);
    building.press("A", button);
    building.wait_lit(&["A"], button);
    building.kill("A");
    start_on(Disk::ReadOnly, &mut building, "A");
    building.wait("A knows the order", |building| {
        status(building, "A").is_some_and(|status| status.disk_failed && status.orders.len() == 1)
    });
    let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
    command.arg("status").arg("--data-dir").arg(building.data_dir("A"));
    command.env("XDG_RUNTIME_DIR", building.path("run"));
    let shown = command.output().expect("it runs").stdout;
    let shown = String::from_utf8_lossy(&shown);
    assert!(shown.contains("the disk has failed"), "{shown}");
    building.wait_dark(&["A"], button);
    building.stays("its lamp is dark", MOMENT, |building| building.car("A").lamps.is_empty());
    building.put_in("A");
    building.wait("the order is served", |building| is_open_at(building, "A", 2));
    is_served_in_the_dark(&building, "A", 3);
    assert!(building.stop("A").success());
    building.assert_safe();
    // The disk is sound again.
    building.start("A");
    building.wait("A has its disk", |building| {
        building.status("A").is_some_and(|status| !status.disk_failed)
    });
}

/// P5
#[test]
fn a_node_without_room_for_a_single_file_serves() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    start_on(Disk::Full, &mut building, "A");
    wait_in_service(&building, "A");
    is_served_in_the_dark(&building, "A", 2);
    assert!(building.stop("A").success());
    assert_eq!(fs::read_dir(building.data_dir("A")).expect("there").count(), 0);
}

/// P5
#[test]
fn a_node_without_any_place_for_its_socket_serves() {
    if !disk::can_fail() {
        return;
    }
    for disk in [Disk::ReadOnly, Disk::Full] {
        let mut building = Building::new(4, Line::Serial);
        building.install("A", 1);
        let data_dir = building.data_dir("A");
        fs::create_dir(&data_dir).expect("a data directory");
        building.start_with("A", |command| {
            disk::on_without_runtime_dir(disk, &data_dir, command);
        });
        is_served_in_the_dark(&building, "A", 2);
        assert!(building.stop("A").success());
    }
}

/// P5: a disk that takes writes again is used again, with all that was on it.
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
        start_on(disk, &mut building, "A");
        building.wait("A runs without its disk", |building| {
            status(building, "A").is_some_and(|status| status.disk_failed)
        });
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
        let works = |status: Status| !status.disk_failed && status.durable;
        building
            .wait("the disk has everything", |building| status(building, "A").is_some_and(works));
        if disk == Disk::ReadOnly {
            building.wait_lit(&["A"], before);
            building.kill("A");
            building.start("A");
            building.wait_lit(&["A"], after);
        }
    }
}

/// P1, P5: what is written to a file that was deleted is on no disk.
#[test]
fn a_journal_that_is_taken_away_is_a_failed_disk() {
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    building.take_out("A");
    let journal = building.data_dir("A").join("journal.redb");
    let away = building.path("away.redb");
    fs::rename(&journal, &away).expect("taken away");
    building.wait("A notices", |building| {
        building.status("A").is_some_and(|status| status.disk_failed)
    });
    let button = building.car_call(2);
    building.press("A", button);
    building.stays("its lamp is dark", MOMENT, |building| building.car("A").lamps.is_empty());
    fs::rename(&away, &journal).expect("brought back");
    building.wait_lit(&["A"], button);
    building.kill("A");
    building.start("A");
    building.wait_lit(&["A"], button);
}

/// P5: what took the directory before the disk failed has it.
#[test]
fn a_second_node_is_refused_on_a_read_only_disk_as_well() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    for _ in 0..2 {
        let mut command = building.command("A");
        let data_dir = building.data_dir("A");
        runtime_dir(&building).on(Disk::ReadOnly, &data_dir, &mut command);
        let output = command.output().expect("it runs");
        let said = told(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("another node is running with this"), "{said}");
        building.kill("A");
        start_on(Disk::ReadOnly, &mut building, "A");
        wait_in_service(&building, "A");
    }
}

/// F9, H2, P5
#[test]
fn a_latch_on_a_read_only_disk_refuses_the_start() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    fs::write(building.data_dir("A").join("hang.toml"), "damaged").expect("written");
    start_on(Disk::ReadOnly, &mut building, "A");
    assert_eq!(building.exit("A").code(), Some(4));
}

/// P5: nor does a node start whose journal is damaged where it can't be set aside.
#[test]
fn a_damaged_journal_on_a_read_only_disk_refuses_the_start() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(4, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    fs::write(building.data_dir("A").join("journal.redb"), [7; 9000]).expect("damaged");
    start_on(Disk::ReadOnly, &mut building, "A");
    assert_eq!(building.exit("A").code(), Some(4));
}

/// F9, P5: there is nothing to keep the latch, and the motor stops all the same.
#[test]
fn a_car_that_hangs_on_a_read_only_disk_is_stopped() {
    if !disk::can_fail() {
        return;
    }
    let mut building = Building::with_cars(20, Line::Serial, &["A"]);
    assert!(building.stop("A").success());
    start_on(Disk::ReadOnly, &mut building, "A");
    wait_in_service(&building, "A");
    building.press("A", building.car_call(19));
    building.wait("the car moves", |building| building.car("A").speed.abs() > 1.0);
    let stuck = building.panel("A").send("fault motor stuck");
    stuck.expect("taken");
    assert_eq!(building.exit("A").code(), Some(3));
    assert_eq!(building.car("A").driven, None, "the motor still runs");
    assert!(!building.data_dir("A").join("hang.toml").exists());
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a node says, and how it ends, that is started by somebody who owns nothing.
fn run_as_nobody(program: &Path, data_dir: &Path) -> Output {
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let mut command = Command::new("setpriv");
    command.args(ids).arg("--clear-groups").arg(program);
    command.env("LIFTMESH_CONFIG", "").args(["run", "--car", "A", "--floors", "4"]);
    command.args(["--address", "127.0.0.1"]);
    command.args(["--broadcast", "127.255.255.255:46100"]);
    command.args(["--panel", "tcp://127.0.0.1:9", "--data-dir"]);
    command.arg(data_dir).output().expect("setpriv")
}

fn can_be_nobody() -> bool {
    let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}")];
    let mut command = Command::new("setpriv");
    let tried = command.args(ids).args(["--clear-groups", "true"]).output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        skip("setpriv (util-linux) can't change the user: root is needed");
    }
    can
}

/// P5: a missing right is a mistake in the installation, not a disk that fails.
#[test]
fn a_missing_right_ends_with_two_and_names_path_and_right() {
    if !can_be_nobody() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
    };
    mode(directory.path(), 0o755);
    let program = directory.path().join("liftmesh");
    fs::copy(env!("CARGO_BIN_EXE_liftmesh"), &program).expect("copied");

    let foreign = directory.path().join("foreign");
    fs::create_dir(&foreign).expect("made");
    mode(&foreign, 0o700);

    let journal = directory.path().join("journal");
    let node = NodeId::new("A").expect("a name");
    drop(Journal::open(&journal, &node).expect("a journal"));
    mode(&journal.join("journal.redb"), 0o600);

    let read_only = directory.path().join("read-only");
    fs::create_dir(&read_only).expect("made");
    drop(fs::File::create(read_only.join("node.lock")).expect("made"));
    mode(&read_only.join("node.lock"), 0o666);

    let socket = directory.path().join("socket");
    fs::create_dir(&socket).expect("made");
    // With the sticky bit nobody removes what is another's.
    mode(&socket, 0o1777);
    drop(fs::File::create(socket.join("node.sock")).expect("made"));

    chown(&journal, Some(NOBODY), Some(NOBODY)).expect("given");
    for (data_dir, path, right) in [
        (&foreign, "foreign/node.lock", "read and write"),
        (&journal, "journal/journal.redb", "read and write"),
        (&read_only, "read-only/node.sock", "create files"),
        (&socket, "socket/node.sock", "create files"),
        (&directory.path().join("missing"), "missing", "create it"),
    ] {
        let output = run_as_nobody(&program, data_dir);
        let said = told(&output);
        assert_eq!(output.status.code(), Some(2), "{path}: {said}");
        let path = directory.path().join(path);
        assert!(said.contains(&*path.to_string_lossy()), "{said}");
        assert!(said.contains(right), "{said}");
        assert!(said.contains("ermi"), "{said}");
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
    let (said, errors) =
        (String::from_utf8_lossy(&tried.stdout), String::from_utf8_lossy(&tried.stderr));
    assert!(tried.status.success(), "{said}{errors}");
    assert!(errors.contains("fleet.key can't be written"), "{errors}");
    let made = format!("fleet key written to {}\n", directory.path().join("fleet.key").display());
    assert_eq!(said, format!("full\n{made}fleet.key\n"));
}
