//! The thread that follows the node's stream of states and events. It connects again when the node has
//! ended. It only reads, so the process ends without waiting for it.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, Builder};
use std::time::Duration;

use crate::cli::{CommandError, ReadArgs};
use crate::client::{Client, Streamed};

const RETRY: Duration = Duration::from_secs(1);

/// Updates that wait to be drawn. While it is full, the node drops events and says how many.
const UPDATES: usize = 256;

#[derive(Debug)]
pub(super) enum Update {
    Streamed(Streamed),
    /// The node does not answer, and why.
    Gone(String),
}

pub(super) fn start(node: &ReadArgs, connected: Client) -> io::Result<Receiver<Update>> {
    let (sender, updates) = sync_channel(UPDATES);
    let node = node.clone();
    Builder::new().name("stream".to_owned()).spawn(move || follow(&node, connected, &sender))?;
    Ok(updates)
}

fn follow(node: &ReadArgs, connected: Client, updates: &SyncSender<Update>) {
    let mut connected = Some(connected);
    // The token and the authorities are read again: they may have been renewed meanwhile.
    let connect = || node.connect();
    while let Err(error) =
        connected.take().map_or_else(connect, Ok).and_then(|client| stream(client, updates))
    {
        // Without the remedy that follows in further lines.
        let why = error.to_string().lines().next().unwrap_or_default().to_owned();
        if updates.send(Update::Gone(why)).is_err() {
            return;
        }
        thread::sleep(RETRY);
    }
}

/// Passes on states and events until nobody wants them any more; an error says why there are none.
fn stream(client: Client, updates: &SyncSender<Update>) -> Result<(), CommandError> {
    let mut watch = client.watch()?;
    while updates.send(Update::Streamed(watch.next_streamed()?)).is_ok() {}
    Ok(())
}
