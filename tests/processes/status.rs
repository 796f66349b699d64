//! What `liftmesh status` shows of trouble, with real nodes on loopback that have neither car nor
//! panel.

use std::net::{Ipv4Addr, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// How long anything may take that should take a moment: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// Nodes on a port of their own, in a block of addresses of their own.
struct Site {
    dir: TempDir,
    port: u16,
    block: u8,
}

/// A running node. It ends with this.
struct Unit(Child);

impl Drop for Unit {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

impl Site {
    fn new(block: u8) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self {
            dir: TempDir::new().expect("a directory"),
            port: socket.local_addr().expect("bound").port(),
            block,
        }
    }

    fn address(&self, number: u8) -> Ipv4Addr {
        let process = u8::try_from(std::process::id() % 200).expect("below 200");
        Ipv4Addr::new(127, 50 + process, self.block, number)
    }

    fn data_dir(&self, directory: &str) -> PathBuf {
        self.dir.path().join(directory)
    }

    /// Starts a node of this name; `more` has settings in place of the usual ones.
    fn start(&self, name: &str, number: u8, more: &[(&str, &str)]) -> Unit {
        let address = self.address(number).to_string();
        let broadcast = format!("127.255.255.255:{}", self.port);
        let data_dir = self.data_dir(&format!("{name}{number}"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["run", "--role", "indicator", "--unit", name]);
        command.args(["--broadcast", &broadcast, "--data-dir"]);
        command.arg(data_dir);
        for (flag, value) in [
            ("--floors", "4"),
            ("--election", "lowest-ip"),
            ("--fleet", "liftmesh"),
            ("--address", &address),
        ] {
            if !more.iter().any(|(other, _)| *other == flag) {
                command.args([flag, value]);
            }
        }
        for (flag, value) in more {
            command.args([flag, value]);
        }
        let child = command.stderr(Stdio::null()).spawn().expect("the node");
        Unit(child)
    }

    fn ask(&self, directory: &str, words: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_liftmesh"))
            .args(words)
            .arg("--data-dir")
            .arg(self.data_dir(directory))
            .output()
            .expect("it runs")
    }

    fn status(&self, directory: &str) -> Option<Value> {
        let output = self.ask(directory, &["status", "--json"]);
        serde_json::from_slice(&output.stdout).ok()
    }

    fn page(&self, directory: &str) -> String {
        let output = self.ask(directory, &["status"]);
        String::from_utf8(output.stdout).expect("text")
    }

    fn wait(&self, directory: &str, what: &str, mut is_so: impl FnMut(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let status = self.status(directory);
            if let Some(status) = status.filter(&mut is_so) {
                return status;
            }
            let page = self.page(directory);
            assert!(start.elapsed() < PATIENCE, "waited for {what}\n{page}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn names(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().filter_map(|entry| entry["node"].as_str()).collect()
}

fn has_conflict(status: &Value, kind: &str) -> bool {
    let conflicts = status["conflicts"].as_array().expect("a list");
    conflicts.iter().any(|conflict| conflict["kind"] == kind)
}

/// Says that a test is skipped, and why; a run that must not skip anything fails instead.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn skip(lack: &str) {
    assert!(std::env::var_os("LIFTMESH_SKIPS_FAIL").is_none(), "nothing may be skipped: {lack}");
    let test = std::thread::current();
    println!("skipped: {}: {lack}", test.name().unwrap_or("a test"));
}

#[test]
fn a_lost_peer_is_shown_until_it_comes_back() {
    let site = Site::new(1);
    let (_a, b) = (site.start("A", 1, &[]), site.start("B", 2, &[]));
    site.wait("A1", "B is a peer", |status| names(&status["peers"]) == ["B"]);
    drop(b);
    let status = site.wait("A1", "B is lost", |status| names(&status["lost"]) == ["B"]);
    assert_eq!(status["lost"][0]["cause"], "silent");
    assert_eq!(status["lost"][0]["address"], site.address(2).to_string());
    let page = site.page("A1");
    assert!(page.contains("\nLost peers\n"), "{page}");
    assert!(page.contains("No other node is heard"), "{page}");
    let _b = site.start("B", 2, &[]);
    site.wait("A1", "B is back", |status| {
        names(&status["peers"]) == ["B"] && names(&status["lost"]).is_empty()
    });
    assert!(!site.page("A1").contains("Lost peers"));
}

/// Whatever keeps a node that is heard from being a peer is said.
#[test]
fn a_node_that_does_not_fit_is_shown_with_the_reason() {
    let site = Site::new(2);
    let _a = site.start("A", 1, &[]);
    for (kind, number, name, setting) in [
        ("floors", 2, "B", ("--floors", "9")),
        ("election", 3, "C", ("--election", "bully")),
        ("fleet", 4, "D", ("--fleet", "other")),
        ("name", 5, "A", ("--floors", "4")),
    ] {
        let _other = site.start(name, number, &[setting]);
        let status = site.wait("A1", kind, |status| has_conflict(status, kind));
        assert!(names(&status["peers"]).is_empty(), "{status}");
        let page = site.page("A1");
        assert!(page.contains("\nConflicts\n"), "{page}");
        let row = page.lines().find(|line| line.starts_with(&format!("  {kind} ")));
        assert!(row.is_some(), "{page}");
    }
}

#[test]
fn a_node_of_another_wire_version_is_shown() {
    let site = Site::new(3);
    let _a = site.start("A", 1, &[]);
    site.wait("A1", "A runs", |_| true);
    let socket = UdpSocket::bind((site.address(9), 0)).expect("a socket");
    let status = site.wait("A1", "the version is shown", |status| {
        let datagram = b"LM\x63\x00whatever it is";
        let sent = socket.send_to(datagram, (site.address(1), site.port));
        sent.is_ok() && has_conflict(status, "version")
    });
    let what = status["conflicts"][0]["what"].as_str().expect("text");
    assert!(what.contains("version 99 of the wire protocol"), "{what}");
    assert!(what.contains(&site.address(9).to_string()), "{what}");
}

/// B9: `lost` is the word of the protocol for a follower; people are told whom it follows.
#[test]
fn a_follower_under_bully_reads_as_one_that_follows() {
    let site = Site::new(4);
    let bully = [("--election", "bully")];
    let _units = [site.start("A", 1, &bully), site.start("B", 2, &bully)];
    let is_follower = |status: &Value| {
        let state = status["election_state"].as_array().expect("a list");
        status["node_state"]["master"] == "B" && state.iter().any(|d| d["value"] == "lost")
    };
    site.wait("A1", "A follows B", is_follower);
    let page = site.page("A1");
    let line = page.lines().find(|line| line.starts_with("  bully: "));
    let line = line.expect("the protocol's line");
    assert!(line.contains("follows B") && !line.contains("lost"), "{line}");
}

/// The socket for reading, with a user that is neither the node's nor root: in its group, status and
/// events can be read and no order placed; outside of it, nothing.
#[test]
fn a_group_may_read_status_and_events_and_nothing_else() {
    const READER: (u32, u32) = (54_321, 54_300);
    const STRANGER: (u32, u32) = (54_322, 54_301);
    if !rustix::process::geteuid().is_root() {
        return skip("only root can run a program as another user");
    }
    let site = Site::new(5);
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(site.dir.path(), open).expect("a directory for all");
    let program = site.dir.path().join("liftmesh");
    std::fs::copy(env!("CARGO_BIN_EXE_liftmesh"), &program).expect("a copy");
    let socket = site.dir.path().join("read.sock");
    let socket = socket.to_str().expect("text");
    let group = READER.1.to_string();
    let _a = site.start("A", 1, &[("--read-only-socket", socket), ("--read-only-group", &group)]);
    site.wait("A1", "A runs", |_| true);
    let as_user = |(uid, gid): (u32, u32), words: &[&str]| {
        let mut command = Command::new(&program);
        command.args(words).uid(uid).gid(gid);
        command.current_dir("/").env_clear();
        command.output().expect("it runs")
    };
    let data_dir = site.data_dir("A1");
    let data_dir = data_dir.to_str().expect("text");

    let status = as_user(READER, &["status", "--json", "--socket", socket]);
    assert_eq!(status.status.code(), Some(0), "{status:?}");
    let view: Value = serde_json::from_slice(&status.stdout).expect("JSON");
    assert_eq!(view["node"], "A");
    let mut events = Command::new(&program)
        .args(["events", "--json", "--kind", "peer_discovered", "--limit", "1"])
        .args(["--socket", socket])
        .uid(READER.0)
        .gid(READER.1)
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    // Until the watch has begun nothing is seen: each new peer is another chance.
    let mut units = Vec::new();
    let start = Instant::now();
    while events.try_wait().expect("a state").is_none() {
        assert!(start.elapsed() < PATIENCE, "no event came");
        let number = 2 + u8::try_from(units.len()).expect("few");
        units.push(site.start(&format!("B{number}"), number, &[]));
        let heard = units.len();
        site.wait("A1", "the next peer", |status| names(&status["peers"]).len() == heard);
    }
    let output = events.wait_with_output().expect("its output");
    let event: Value = serde_json::from_slice(&output.stdout).expect("one event");
    assert_eq!(event["event"], "peer_discovered");

    let order = ["order", "hall", "1", "up", "--data-dir", data_dir];
    assert_eq!(as_user(READER, &order).status.code(), Some(1), "no way in");
    let status = as_user(STRANGER, &["status", "--socket", socket]);
    assert_eq!(status.status.code(), Some(1), "{status:?}");
}
