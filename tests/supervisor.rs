//! The node under a service supervisor: what it tells it, and the unit file.

#![expect(
    clippy::expect_used,
    reason = "a test ends where what it needs is missing"
)]

mod building;

use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use building::{Building, Line, PATIENCE};
use rustix::process::Signal;
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
        });
    }

    /// The next thing told, or `None` when nothing is for so long.
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
fn the_supervisor_hears_of_readiness_role_life_and_end() {
    let supervisor = Supervisor::new();
    let mut building = Building::new(4, Line::Serial);
    building.install("A", 1);
    supervisor.start(&mut building, "A");
    supervisor.wait_for("READY=1");
    supervisor.wait_for("STATUS=master; car in service");
    for _ in 0..8 {
        supervisor.wait_for("WATCHDOG=1");
    }
    // A loop that hangs is silent.
    building.signal("A", Signal::STOP);
    supervisor.wait_for_silence();
    building.signal("A", Signal::CONT);
    supervisor.wait_for("WATCHDOG=1");
    assert!(building.stop("A").success());
    supervisor.wait_for("STOPPING=1");
}

/// F9
#[test]
fn the_supervisor_hears_of_a_hang_before_the_end() {
    let supervisor = Supervisor::new();
    let mut building = Building::new(8, Line::Serial);
    building.install("A", 1);
    building
        .panel("A")
        .send("fault motor stuck")
        .expect("a fault");
    supervisor.start(&mut building, "A");
    supervisor.wait_for("STATUS=master; car in service");
    building.press("A", building.cab(5));
    supervisor.wait_for("STOPPING=1\nSTATUS=the car hung");
    assert_eq!(building.exit("A").code(), Some(3));
}

/// F9: what must wait for a person is not restarted.
#[test]
fn the_unit_file_is_right() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/liftmesh.service");
    let unit = std::fs::read_to_string(file).expect("a unit file");
    for line in [
        "Type=notify",
        "Restart=always",
        "RestartPreventExitStatus=2 3 4",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}");
    }
    let directory = tempfile::tempdir().expect("a directory");
    let installed = directory.path().join("liftmesh.service");
    let unit = unit.replace("/usr/local/bin/liftmesh", env!("CARGO_BIN_EXE_liftmesh"));
    std::fs::write(&installed, unit).expect("written");
    let verified = Command::new("systemd-analyze")
        .args(["verify", "--man=no"])
        .arg(&installed)
        .output();
    let Ok(verified) = verified else {
        println!("skipped: the_unit_file_is_right needs systemd-analyze to verify the unit");
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    assert!(verified.status.success(), "{said}");
    assert!(!said.contains("liftmesh.service"), "{said}");
}
