//! The thread that follows the node's stream of states and events. It connects again when the node has
//! ended. It only reads, so the process ends without waiting for it.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, TryIter, sync_channel};
use std::thread::{self, Builder};
use std::time::Duration;

use elevator_fleet::node::FleetStatus;

use super::TopArgs;
use crate::cli::CommandError;
use crate::client::{Client, Notice, Streamed};
use crate::operator::Event;

/// How long the thread waits before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// Updates that wait to be drawn. The thread waits while it is full: the node then drops events and
/// says how many.
const UPDATES: usize = 256;

/// What the thread has learnt.
#[derive(Debug)]
pub(super) enum Update {
    Fleet(Box<FleetStatus>),
    /// The node does not answer, and why.
    Gone(String),
    Event(Event),
    /// So many events did not arrive.
    Missed(u64),
}

/// The screen's end of the queue.
#[derive(Debug)]
pub(super) struct Source {
    updates: Receiver<Update>,
}

impl Source {
    /// Starts the thread.
    pub(super) fn start(node: &TopArgs, connected: Client) -> io::Result<Self> {
        let (sender, updates) = sync_channel(UPDATES);
        let node = node.clone();
        Builder::new()
            .name("stream".to_owned())
            .spawn(move || follow(&node, connected, &sender))?;
        Ok(Self { updates })
    }

    /// What has arrived since the last call.
    pub(super) fn updates(&self) -> TryIter<'_, Update> {
        self.updates.try_iter()
    }
}

/// Passes on what the node streams.
fn follow(node: &TopArgs, connected: Client, updates: &SyncSender<Update>) {
    let mut connected = Some(connected);
    // The token and the authorities are read again: they may have been renewed meanwhile.
    let connect = || node.remote.connect_to_read(&node.node);
    while let Err(error) =
        connected.take().map_or_else(connect, Ok).and_then(|client| stream(client, updates))
    {
        if updates.send(Update::Gone(reason(&error))).is_err() {
            return;
        }
        thread::sleep(RETRY);
    }
}

/// Passes on states and events until nobody wants them any more.
///
/// # Errors
/// Why there are none any more.
fn stream(client: Client, updates: &SyncSender<Update>) -> Result<(), CommandError> {
    let mut watch = client.watch()?;
    loop {
        let update = match watch.next_streamed()? {
            Streamed::Fleet(fleet) => Update::Fleet(fleet),
            Streamed::Notice(Notice::Event(event)) => Update::Event(event),
            Streamed::Notice(Notice::Missed(events)) => Update::Missed(events),
        };
        if updates.send(update).is_err() {
            return Ok(());
        }
    }
}

/// The error in one line, without the remedy that follows in further lines.
fn reason(error: &CommandError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
