//! `liftmesh top`, on a pseudo-terminal and as one frame of text.

use std::fs::File;
use std::io::Read;
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line, PATIENCE};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::command_line::{fails, liftmesh};
use super::http::client::serving;
use super::http::remote::Desk;
use super::http::token;

const ROWS: NonZero<u16> = NonZero::new(30).expect("a size");
const COLUMNS: NonZero<u16> = NonZero::new(110).expect("a size");

/// A program on a pseudo-terminal, and what is on its screen.
struct Screen {
    child: Child,
    keys: File,
    output: Receiver<Vec<u8>>,
    parser: vt100::Parser,
}

impl Screen {
    fn start(command: &mut Command) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&master).expect("granted");
        unlockpt(&master).expect("unlocked");
        let path = ptsname(&master, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = open(path, flags, Mode::empty()).expect("the device");
        let size =
            Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&device, size).expect("a size");
        let end = || Stdio::from(device.try_clone().expect("a copy"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("it runs");
        let keys = File::from(master);
        let mut reader = keys.try_clone().expect("a copy");
        let (sender, output) = sync_channel(64);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // It ends with the last end of the device.
            while let Ok(count @ 1..) = reader.read(&mut bytes) {
                if sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, keys, output, parser: vt100::Parser::new(ROWS, COLUMNS, 0) }
    }

    /// Waits until the screen shows this text.
    #[track_caller]
    fn wait_for(&mut self, text: &str) {
        let start = Instant::now();
        loop {
            let shown = self.parser.screen().contents();
            if shown.contains(text) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{text} is never shown:\n{shown}");
            if let Ok(bytes) = self.output.recv_timeout(Duration::from_millis(100)) {
                self.parser.process(&bytes);
            }
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // It may have ended.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(drop).unwrap_or_default();
    }
}

fn building() -> Building {
    let mut building = Building::new(4, Line::Serial);
    building.elect_by(Protocol::LowestIp);
    for (number, name) in (1..).zip(["A", "B"]) {
        building.install_unit(name, number, Role::Indicator);
        building.start(name);
    }
    for name in ["A", "B"] {
        building.wait("they are peers", |building| {
            let synced = |peer: &elevator_fleet::node::PeerStatus| peer.synced;
            building.status(name).is_some_and(|status| status.peers.iter().any(synced))
        });
    }
    building
}

fn top(building: &Building, name: &str, words: &[&str]) -> Command {
    let data_dir = building.data_dir(name);
    let mut command = liftmesh(&["top", "--data-dir", data_dir.to_str().expect("text")]);
    command.args(words);
    command
}

/// Watches a fleet of A and B through B, by this command, while both end and B comes back. Without B,
/// it says why.
#[track_caller]
fn follows(mut building: Building, command: &mut Command, why: &str) {
    use std::io::Write;

    let mut screen = Screen::start(command);
    screen.wait_for("as B sees it");
    screen.wait_for("★ A leads");
    screen.wait_for("slave of A");
    screen.wait_for("in step");
    let order = building.operator("A", &["order", "hall", "2", "up"]).output().expect("it runs");
    assert!(order.status.success(), "{order:?}");
    screen.wait_for("hall 2 up placed at A");
    screen.wait_for("Open orders 1");
    building.kill("A");
    screen.wait_for("★ B leads");
    building.kill("B");
    screen.wait_for("no data since ");
    screen.wait_for(why);
    building.start("B");
    screen.wait_for("★ B leads");
    screen.keys.write_all(b"q").expect("a key");
    let start = Instant::now();
    let ended = loop {
        if let Some(status) = screen.child.try_wait().expect("a state") {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "it does not end");
        thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(ended.code(), Some(0));
}

#[test]
fn it_follows_the_fleet_through_the_end_of_the_node_that_it_asks() {
    let building = building();
    let mut command = top(&building, "B", &[]);
    follows(building, &mut command, "no node is running with data directory ");
}

#[test]
fn it_follows_the_fleet_from_another_computer() {
    let building = building();
    let b = serving(&building, 2);
    let desk = Desk::new(format!("http://{b}"), &token(&building, "B", "desk", "view"));
    let why = format!("no node answers at http://{b}; is that its `http.address`, is it running");
    follows(building, &mut desk.command(&["top"]), &why);
}

#[test]
fn one_frame_of_another_computer_is_that_of_its_own() {
    let building = building();
    let desk = Desk::new(
        format!("http://{}", serving(&building, 1)),
        &token(&building, "A", "desk", "view"),
    );
    let frame = |command: &mut Command| {
        let output = command.output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let shown = String::from_utf8(output.stdout).expect("text");
        // How long the other node was silent, and the age of an order, are of the moment.
        shown.replace(|letter: char| letter.is_ascii_digit(), "").replace(' ', "")
    };
    let here = frame(&mut top(&building, "A", &["--once"]));
    assert!(here.contains("★Aleads") && here.contains("instep"), "{here}");
    building.wait("it is the same there", |_| frame(&mut desk.command(&["top", "--once"])) == here);
}

/// What is wrong, where, and what to do about it; and the exit code for that.
#[test]
fn what_a_picture_of_another_computer_lacks_is_said() {
    let there = |words: &[&str], url: &str| {
        let output = liftmesh(words).args(["--url", url]).output().expect("it runs");
        (output.status.code(), String::from_utf8(output.stderr).expect("text"))
    };
    let nobody = "http://127.0.0.1:1";
    for words in [&["top"][..], &["top", "--once"]] {
        let (code, why) = there(words, nobody);
        assert_eq!(code, Some(5), "{why}");
        assert!(why.contains("no node answers at http://127.0.0.1:1; is that its"), "{why}");
    }
    for (words, url, lacks) in [
        (&["top", "--once"][..], "http://192.0.2.1:7080", "not encrypted"),
        (&["top", "--once", "--data-dir", "/tmp"], nobody, "use only one of them"),
        (&["top", "--once", "--socket", "/tmp/x"], nobody, "use only one of them"),
        (&["top", "--once", "--token-file", "/nowhere/x"], nobody, "/nowhere/x"),
    ] {
        let (code, why) = there(words, url);
        assert_eq!(code, Some(2), "{why}");
        assert!(why.contains(lacks), "{why}");
    }
}

#[test]
fn one_frame_is_text_without_a_terminal() {
    let building = building();
    let output = top(&building, "A", &["--once"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let shown = String::from_utf8(output.stdout).expect("text");
    assert_eq!(shown.lines().count(), 36, "{shown}");
    assert!(shown.contains("★ A leads") && shown.contains("slave of A"), "{shown}");
    assert!(!shown.contains('\x1b'), "{shown}");
    let refused = top(&building, "A", &[]).output().expect("it runs");
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--once"));
}

#[test]
fn without_a_node_it_ends_with_five() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().to_str().expect("text");
    for words in [&["top", "--data-dir", path][..], &["top", "--once", "--data-dir", path]] {
        assert!(fails(5, words).contains("no node is running"));
    }
}
