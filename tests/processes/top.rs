//! `liftmesh top`, on a pseudo-terminal.

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

/// Watches a fleet of A and B through B, while both end and B comes back. Without B, it says why.
#[test]
fn it_follows_the_fleet_through_the_end_of_the_node_that_it_asks() {
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
