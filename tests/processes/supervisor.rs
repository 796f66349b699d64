//! The node under a service supervisor: what it tells it, and the unit file.

use std::fs::File;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use liftmesh_harness::building::{Building, Line, PATIENCE, skip};
use rustix::fs::OFlags;
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tempfile::TempDir;

/// After so long without a sign of life the supervisor would act.
const WATCHDOG: Duration = Duration::from_secs(1);

/// What a supervisor would hear.
struct Supervisor {
    directory: TempDir,
    socket: UnixDatagram,
}

impl Supervisor {
    fn new() -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let socket = UnixDatagram::bind(directory.path().join("notify")).expect("a socket");
        Self { directory, socket }
    }

    fn start(&self, building: &mut Building, name: &str) {
        let path = self.directory.path().join("notify");
        building.start_with(name, |command| {
            command.env("NOTIFY_SOCKET", path);
            command.env("WATCHDOG_USEC", WATCHDOG.as_micros().to_string());
            command.args(["--log-format", "json"]);
        });
    }

    /// The next notification, or `None` if none comes within this time.
    fn next_within(&self, limit: Duration) -> Option<String> {
        self.socket.set_read_timeout(Some(limit)).expect("set");
        let mut bytes = [0; 1024];
        let length = self.socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    fn wait_for(&self, what: &str) {
        let started = Instant::now();
        let mut told = Vec::new();
        while started.elapsed() < PATIENCE {
            let next = self.next_within(PATIENCE).unwrap_or_default();
            if next.contains(what) {
                return;
            }
            told.push(next);
        }
        panic!("not told {what}, but {told:?}");
    }

    /// Listens until nothing has come for as long as the supervisor would wait.
    fn wait_for_silence(&self) {
        let started = Instant::now();
        while self.next_within(WATCHDOG).is_some() {
            assert!(started.elapsed() < PATIENCE, "it does not fall silent");
        }
    }
}

#[test]
fn the_supervisor_gets_readiness_keepalives_and_end() {
    let supervisor = Supervisor::new();
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    supervisor.start(&mut building, "A");
    supervisor.wait_for("READY=1");
    supervisor.wait_for("WATCHDOG=1");
    // A loop that hangs is silent.
    building.signal("A", Signal::STOP);
    supervisor.wait_for_silence();
    building.signal("A", Signal::CONT);
    supervisor.wait_for("WATCHDOG=1");
    assert!(building.stop("A").success());
    supervisor.wait_for("STOPPING=1");

    // F9: it hears of a hang before the end.
    supervisor.start(&mut building, "A");
    building.wait_in_service(&["A"]);
    building.tell("A", "fault motor stuck");
    building.press("A", building.car_call(3));
    supervisor.wait_for("STOPPING=1\nSTATUS=the car hung");
    assert_eq!(building.exit("A").code(), Some(3));
    // A program that reads the log gets objects.
    for line in building.logged("A").lines() {
        let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
        for part in ["timestamp", "level", "target", "message"] {
            assert!(object[part].is_string(), "{line}");
        }
    }
}

/// F9: what must wait for a person is not restarted, but taken care of; only a clearing starts it.
#[test]
fn the_unit_files_are_right() {
    let units = [
        ("liftmesh.service", ["Restart=always", "RestartPreventExitStatus=2 3 4"]),
        ("liftmesh-caretaker.service", ["Restart=on-failure", "RestartPreventExitStatus=2 4"]),
    ];
    let directory = tempfile::tempdir().expect("a directory");
    for (name, lines) in units {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(name);
        let unit = std::fs::read_to_string(file).expect("a unit file");
        for line in lines {
            assert!(unit.lines().any(|found| found == line), "{name}: {line}");
        }
        assert!(!unit.contains("LIFTMESH__"), "{name}: a variable would override the file");
        let unit = unit.replace("/usr/local/bin/liftmesh", env!("CARGO_BIN_EXE_liftmesh"));
        std::fs::write(directory.path().join(name), unit).expect("written");
    }
    let files = units.map(|(name, _)| directory.path().join(name));
    let verified =
        Command::new("systemd-analyze").args(["verify", "--man=no"]).args(files).output();
    let Ok(verified) = verified else {
        return skip("it needs systemd-analyze (Debian: systemd)");
    };
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success(), "{said}");
    assert!(!said.contains("liftmesh"), "{said}");
}

/// A terminal: its far end, and the side that a process has.
pub(super) fn terminal() -> (File, File) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).expect("a pseudo-terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new()).expect("a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let side = rustix::fs::open(name, flags, rustix::fs::Mode::empty()).expect("a terminal");
    (File::from(master), File::from(side))
}

/// S2: the terminal in which a node was started is closed; and a daemon has nothing to read again.
#[test]
fn a_node_goes_on_at_sighup() {
    if Command::new("setsid").arg("--version").output().is_err() {
        return skip("it needs setsid");
    }
    let (far_end, terminal) = terminal();
    let mut building = Building::new(20, Line::Serial);
    building.install("A", 1);
    building.start_by("A", &["setsid", "--ctty"], terminal);
    building.wait_in_service(&["A"]);
    building.fly("A", 19);
    drop(far_end);
    building.signal("A", Signal::HUP);
    building.fly("A", 0);
    assert!(building.stop("A").success());
    assert_eq!(building.car("A").watchdog_stops, 0);
}
