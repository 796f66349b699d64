//! The events of all nodes, as they tell operators.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use liftmesh_harness::building::Building;
use serde_json::Value;

/// How many events may wait to be judged: several times what a phase of the test has.
const EVENTS: usize = 10_000;

/// An event, and whose.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) node: String,
    pub(crate) event: Value,
}

impl Seen {
    /// Its kind.
    pub(crate) fn kind(&self) -> &str {
        self.event["event"].as_str().unwrap_or_default()
    }
}

/// Everything that the nodes tell, from the moment they are followed.
pub(crate) struct Watch {
    sender: SyncSender<Seen>,
    seen: Receiver<Seen>,
}

impl Watch {
    pub(crate) fn new() -> Self {
        let (sender, seen) = sync_channel(EVENTS);
        Self { sender, seen }
    }

    /// Follows a node that is starting or runs, until it ends.
    pub(crate) fn follow(&self, building: &Building, node: &str) {
        let path = building.data_dir(node).join("node.sock");
        let mut connected = None;
        building.wait(&format!("{node} can be watched"), |_| {
            connected = watched(&path);
            connected.is_some()
        });
        let lines = connected.expect("a watch").lines();
        let (sender, node) = (self.sender.clone(), node.to_owned());
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let mut line: Value = serde_json::from_str(&line).expect("JSON");
                assert_eq!(line["reply"], "event", "{line}");
                let seen = Seen { node: node.clone(), event: line["event"].take() };
                if sender.send(seen).is_err() {
                    return;
                }
            }
        });
    }

    /// What was told since the last time.
    pub(crate) fn take(&self) -> Vec<Seen> {
        self.seen.try_iter().collect()
    }
}

/// A connection over which a node tells its events, once it accepts one.
fn watched(path: &std::path::Path) -> Option<BufReader<UnixStream>> {
    let mut stream = UnixStream::connect(path).ok()?;
    stream.write_all(b"{\"query\":\"watch\"}\n").ok()?;
    let mut reader = BufReader::new(stream);
    let mut reply = String::new();
    reader.read_line(&mut reply).ok()?;
    reply.contains("watching").then_some(reader)
}
