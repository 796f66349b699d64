//! The fleet keys: the task that reads them, and what is known of them.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use elevator_fleet::node::FleetKeysStatus;
use elevator_fleet::wire::keyring::FleetKey;
use tokio::sync::mpsc;
use tokio::task::{JoinHandle, spawn_blocking};
use tracing::{error, info, trace, warn};

use super::event::Note;
use super::log_gate::{self, LogGate};
use crate::fleet_key::Keys;

/// How long a node that starts waits for its keys. A sound disk takes a small part of that.
const LIMIT: Duration = Duration::from_millis(200);

/// Between two attempts to read them.
const RETRY: Duration = Duration::from_secs(1);

/// Why keys are missing, if some are.
pub(super) type Missing = Option<String>;

/// What is known of the keys.
#[derive(Debug)]
pub(super) struct KeyState {
    keys: Arc<Keys>,
    /// What comes of the first attempt to read them.
    first: Receiver<Missing>,
    missing: Missing,
    log: LogGate<Line>,
}

/// The log lines about keys that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    /// One that is only accepted.
    Accepted,
    /// The one that is sent: the others are of no use.
    Sent,
}

impl KeyState {
    /// Begins to read the keys.
    pub(super) fn begin(keys: &Arc<Keys>) -> (Self, Reading) {
        let (done, first) = sync_channel(1);
        let reading = Reading::begin(keys, done);
        let missing = Some("not read yet".to_owned());
        let keys = Arc::clone(keys);
        (Self { keys, first, missing, log: LogGate::new(log_gate::ONE) }, reading)
    }

    /// Waits for the first attempt, no longer than [`LIMIT`].
    pub(super) fn wait(&mut self) {
        match self.first.recv_timeout(LIMIT) {
            Ok(missing) => self.missing = missing,
            // The task tells of it later.
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                warn!("the fleet keys are not read yet: serving alone until they are");
            }
        }
    }

    pub(super) fn status(&self) -> FleetKeysStatus {
        let missing = self.missing.clone();
        let Some(keys) = self.keys.get() else {
            return FleetKeysStatus { missing, ..FleetKeysStatus::default() };
        };
        FleetKeysStatus {
            sent: keys.sent().map(FleetKey::id),
            accepted: keys.ids().collect(),
            accepts_anybody: self.keys.name_none(),
            missing,
        }
    }

    /// An attempt to read the keys has come to this. Returns whether it is news that all are read.
    pub(super) fn on_read(&mut self, missing: Missing) -> bool {
        let is_news = self.missing.is_some() && missing.is_none();
        let line = if self.keys.get().is_some() { Line::Accepted } else { Line::Sent };
        if is_news {
            info!("all fleet keys are read: taking part");
        }
        if let Some(error) = &missing
            && self.log.opens(&line).is_some()
        {
            match line {
                Line::Accepted => {
                    error!(%error, "a fleet key can't be read: nodes that send it are not heard");
                }
                Line::Sent => error!(%error, "serving alone until there is a fleet key"),
            }
        }
        self.missing = missing;
        is_news
    }
}

/// The first attempt to read the keys, which is under way on a thread of its own: the disk may keep
/// that waiting, but neither a task nor the panel.
#[derive(Debug)]
pub(super) struct Reading {
    keys: Arc<Keys>,
    read: JoinHandle<Missing>,
}

impl Reading {
    fn begin(keys: &Arc<Keys>, done: SyncSender<Missing>) -> Self {
        let keys = Arc::clone(keys);
        let reading = Arc::clone(&keys);
        let read = spawn_blocking(move || {
            let missing = read(&reading);
            if done.send(missing.clone()).is_err() {
                trace!("nobody waits for the fleet keys any more");
            }
            missing
        });
        Self { keys, read }
    }

    /// Reads again and again, until all keys have been read.
    pub(super) async fn run(self, notes: mpsc::Sender<Note>) {
        let Self { keys, mut read } = self;
        let mut log = LogGate::new(log_gate::ONE);
        loop {
            match read.await {
                Ok(missing) => {
                    let is_complete = missing.is_none();
                    if notes.send(Note::Keys(missing)).await.is_err() {
                        trace!("the keys outlived the mesh");
                    }
                    if is_complete {
                        return;
                    }
                }
                Err(error) => {
                    if log.opens(&()).is_some() {
                        error!(%error, "the fleet keys were not read");
                    }
                }
            }
            tokio::time::sleep(RETRY).await;
            let keys = Arc::clone(&keys);
            read = spawn_blocking(move || self::read(&keys));
        }
    }
}

fn read(keys: &Keys) -> Missing {
    keys.read().err().map(|error| error.to_string())
}
