//! The events of all nodes, as they tell operators.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use liftmesh::client::{Client, Notice};
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
        let data_dir = building.data_dir(node);
        let mut connected = None;
        building.wait(&format!("{node} can be watched"), |_| {
            connected = Client::connect(&data_dir).and_then(Client::watch).ok();
            connected.is_some()
        });
        let mut watch = connected.expect("a watch");
        let (sender, node) = (self.sender.clone(), node.to_owned());
        std::thread::spawn(move || {
            while let Ok(notice) = watch.next() {
                let Notice::Event(event) = notice else { panic!("{node}: {notice:?}") };
                let event = serde_json::to_value(event).expect("JSON");
                if sender.send(Seen { node: node.clone(), event }).is_err() {
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
