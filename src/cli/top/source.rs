//! The threads that ask the node: of this machine, one for its status and one for its events; one that
//! is at another computer streams both. Each connects again when the node has ended. They only read,
//! so the process ends without waiting for them.

use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryIter, TrySendError, sync_channel,
};
use std::thread::{self, Builder};
use std::time::Duration;

use elevator_fleet::node::FleetStatus;

use super::TopArgs;
use crate::cli::remote::Target;
use crate::cli::{CommandError, ReadArgs, RemoteArgs};
use crate::operator::{Client, Event, Notice};
use crate::remote::{Remote, Streamed};

/// How often the node is asked at least, and the pause after each answer.
const PERIOD: Duration = Duration::from_millis(500);
const PAUSE: Duration = Duration::from_millis(100);

/// How long a thread waits before it connects again.
const RETRY: Duration = Duration::from_secs(1);

/// Updates that wait to be drawn. A thread waits while it is full: the node then drops events and
/// says how many.
const UPDATES: usize = 256;

/// What a thread has learnt.
#[derive(Debug)]
pub(super) enum Update {
    Fleet(Box<FleetStatus>),
    /// The node does not answer, and why.
    Gone(String),
    Event(Event),
    /// So many events did not arrive.
    Missed(u64),
}

/// The threads' end of the queue.
#[derive(Debug)]
pub(super) struct Source {
    updates: Receiver<Update>,
}

impl Source {
    /// Starts the threads; the first picture comes over this connection.
    pub(super) fn start(node: &TopArgs, connected: Target) -> io::Result<Self> {
        let (sender, updates) = sync_channel(UPDATES);
        match connected {
            Target::Here(client) => {
                let (waker, wake) = sync_channel(1);
                let (asked, watched) = (node.node.clone(), node.node.clone());
                let events = sender.clone();
                spawn("status", move || ask(&asked, Some(client), &wake, &sender))?;
                spawn("events", move || watch(&watched, &waker, &events))?;
            }
            Target::There(remote) => {
                let node = node.remote.clone();
                spawn("stream", move || follow(&node, remote, &sender))?;
            }
        }
        Ok(Self { updates })
    }

    /// What has arrived since the last call.
    pub(super) fn updates(&self) -> TryIter<'_, Update> {
        self.updates.try_iter()
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name(name.to_owned()).spawn(run).map(drop)
}

/// Asks for the status at each event, and once a period.
fn ask(
    node: &ReadArgs,
    mut client: Option<Client>,
    wake: &Receiver<()>,
    updates: &SyncSender<Update>,
) {
    loop {
        let (update, wait) = match answer(node, client.take()) {
            Ok((open, fleet)) => {
                client = Some(open);
                (Update::Fleet(Box::new(fleet)), PERIOD)
            }
            Err(error) => (Update::Gone(reason(&error)), RETRY),
        };
        if updates.send(update).is_err() {
            return;
        }
        match wake.recv_timeout(wait) {
            Ok(()) => thread::sleep(PAUSE),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn answer(node: &ReadArgs, client: Option<Client>) -> Result<(Client, FleetStatus), CommandError> {
    let mut client = client.map_or_else(|| node.connect(), Ok)?;
    let fleet = FleetStatus::from(&client.status()?);
    Ok((client, fleet))
}

/// Passes events on, and has the status asked for.
fn watch(node: &ReadArgs, wake: &SyncSender<()>, updates: &SyncSender<Update>) {
    loop {
        let events = node.connect().and_then(|client| Ok(client.watch()?));
        for notice in events.into_iter().flatten() {
            let update = match notice {
                Ok(Notice::Event(event)) => Update::Event(event),
                Ok(Notice::Missed(events)) => Update::Missed(events),
                Err(_) => break,
            };
            if updates.send(update).is_err() {
                return;
            }
            match wake.try_send(()) {
                // One wake-up is enough for many events.
                Ok(()) | Err(TrySendError::Full(())) => {}
                Err(TrySendError::Disconnected(())) => return,
            }
        }
        thread::sleep(RETRY);
    }
}

/// Passes on what a node at another computer streams.
fn follow(node: &RemoteArgs, connected: Remote, updates: &SyncSender<Update>) {
    let mut connected = Some(connected);
    // The token and the authorities are read again: they may have been renewed meanwhile.
    let connect = || node.remote(false)?.ok_or(CommandError::NoUrl);
    while let Err(error) =
        connected.take().map_or_else(connect, Ok).and_then(|remote| stream(remote, updates))
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
fn stream(remote: Remote, updates: &SyncSender<Update>) -> Result<(), CommandError> {
    let mut watch = remote.watch()?;
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
