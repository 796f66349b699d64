//! The threads that ask the node: one for its status, one for its events. Each connects again when
//! the node has ended. They only read, so the process ends without waiting for them.

use std::io;
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SyncSender, TryIter, TrySendError, sync_channel,
};
use std::thread::{self, Builder};
use std::time::Duration;

use crate::cli::{CommandError, ReadArgs};
use crate::operator::{Client, Event, Notice};
use elevator_fleet::node::Status;

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
    Status(Box<Status>),
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
    /// Starts the threads; the first status comes over `client`.
    pub(super) fn start(node: &ReadArgs, client: Client) -> io::Result<Self> {
        let (sender, updates) = sync_channel(UPDATES);
        let (waker, wake) = sync_channel(1);
        let (asked, watched) = (node.clone(), node.clone());
        let events = sender.clone();
        Builder::new()
            .name("status".to_owned())
            .spawn(move || ask(&asked, Some(client), &wake, &sender))
            .map(drop)?;
        Builder::new()
            .name("events".to_owned())
            .spawn(move || watch(&watched, &waker, &events))
            .map(drop)?;
        Ok(Self { updates })
    }

    /// What has arrived since the last call.
    pub(super) fn updates(&self) -> TryIter<'_, Update> {
        self.updates.try_iter()
    }
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
            Ok((open, status)) => {
                client = Some(open);
                (Update::Status(Box::new(status)), PERIOD)
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

fn answer(node: &ReadArgs, client: Option<Client>) -> Result<(Client, Status), CommandError> {
    let mut client = client.map_or_else(|| node.connect(), Ok)?;
    let status = client.status()?;
    Ok((client, status))
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

/// The error in one line, without the remedy that follows in further lines.
fn reason(error: &CommandError) -> String {
    let text = error.to_string();
    text.lines().next().unwrap_or_default().to_owned()
}
