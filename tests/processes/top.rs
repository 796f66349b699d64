//! `liftmesh top`, on a pseudo-terminal and as one frame of text.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::building::{Building, Line, PATIENCE};
use rustix::termios::{Winsize, tcsetwinsize};

use super::command_line::fails;
use super::http::client::serving;
use super::http::remote::Desk;
use super::http::token;
use super::supervisor::terminal;

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
        let (keys, device) = terminal();
        let size =
            Winsize { ws_row: ROWS.get(), ws_col: COLUMNS.get(), ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&device, size).expect("a size");
        let end = || Stdio::from(device.try_clone().expect("a copy"));
        command.stdin(end()).stdout(end()).stderr(end()).env("TERM", "xterm-256color");
        let child = command.spawn().expect("it runs");
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
            let status = building.status(name);
            status.is_some_and(|status| status.peers.iter().any(|peer| peer.synced))
        });
    }
    building
}

/// Watches a fleet of A and B through B, while both end and B comes back. Without B, it says why.
#[test]
fn it_follows_the_fleet_through_the_end_of_the_node_that_it_asks() {
    let mut building = building();
    let mut screen = Screen::start(&mut building.operator("B", &["top"]));
    screen.wait_for("as B sees it");
    screen.wait_for("★ A leads");
    screen.wait_for("slave of A");
    screen.wait_for("in step");
    building.done("A", &["order", "hall", "2", "up"]);
    screen.wait_for("hall 2 up placed at A");
    screen.wait_for("Open orders 1");
    building.kill("A");
    screen.wait_for("★ B leads");
    building.kill("B");
    screen.wait_for("no data since ");
    screen.wait_for("no node is running with data directory ");
    building.start("B");
    screen.wait_for("★ B leads");
    screen.keys.write_all(b"q").expect("a key");
    let ended = building.wait_for("it ends", |_| screen.child.try_wait().expect("a state"));
    assert!(ended.success(), "{ended}");
}

/// One frame is text, without a terminal; that of another computer is that of the node's own.
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
        assert!(shown.lines().count() == 36 && !shown.contains('\x1b'), "{shown}");
        // How long the other node was silent, and the age of an order, are of the moment.
        shown.replace(|letter: char| letter.is_ascii_digit(), "").replace(' ', "")
    };
    building.wait("both are the same", |building| {
        let here = frame(&mut building.operator("A", &["top", "--once"]));
        assert!(here.contains("★Aleads") && here.contains("instep"), "{here}");
        frame(&mut desk.command(&["top", "--once"])) == here
    });
    let (exit, why) = building.refusal("A", &["top"]);
    assert!(exit == Some(2) && why.contains("--once"), "{why}");
}

/// What is wrong, where, and what to do about it; and the exit code for that.
#[test]
fn what_a_picture_of_another_computer_lacks_is_said() {
    let nobody = "http://127.0.0.1:1";
    for (exit, words, url, lacks) in [
        (5, &["top"][..], nobody, "no node answers at http://127.0.0.1:1; is that its"),
        (5, &["top", "--once"], nobody, "no node answers at http://127.0.0.1:1; is that its"),
        (2, &["top", "--once"], "http://192.0.2.1:7080", "not encrypted"),
        (2, &["top", "--once", "--data-dir", "/tmp"], nobody, "use only one of them"),
        (2, &["top", "--once", "--socket", "/tmp/x"], nobody, "use only one of them"),
        (2, &["top", "--once", "--token-file", "/nowhere/x"], nobody, "/nowhere/x"),
    ] {
        let why = fails(exit, &[words, &["--url", url]].concat());
        assert!(why.contains(lacks), "{why}");
    }
}
