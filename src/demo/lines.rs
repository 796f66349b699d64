//! The threads that talk to the other processes, one per simulator and per node. Each polls at a
//! fixed period, passes the answers on, and ends when its end of either queue is dropped.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use elevator_fleet::node::Status;
use elevator_simulator::ControlClient;
use elevator_simulator::control::ControlError;
use elevator_simulator::simulator::SimulatorState;

use super::error::DemoError;
use crate::client::Client;
use crate::mesh::Cable;

/// How often a car is looked at: as often as the screen is drawn.
const CAR_PERIOD: Duration = Duration::from_millis(40);

/// How often a node is asked.
const NODE_PERIOD: Duration = Duration::from_millis(150);

/// Commands that wait for a simulator or a node. When full, the newest is refused.
const COMMANDS: usize = 64;

#[derive(Debug)]
pub(super) enum Update {
    /// A car, counted from 0, as it is at this moment.
    Car(usize, Box<SimulatorState>),
    /// A simulator did not do what it was asked.
    Refused(usize, String),
    /// A simulator answers no more.
    CarGone(usize, ControlError),
    /// A node did not cut or mend its network, and why.
    Unmoved(usize, String),
    /// The status of a node; `None` if it does not answer.
    Node(usize, Option<Box<Status>>),
}

/// A thread and the queue of what it is to say.
#[derive(Debug)]
pub(super) struct Line<C> {
    commands: SyncSender<C>,
    thread: JoinHandle<()>,
}

impl Line<String> {
    /// Starts a line to a simulator; its commands are those of the control interface. Its period is
    /// multiplied by `slowdown`.
    pub(super) fn to_car(
        car: usize,
        client: ControlClient,
        slowdown: u32,
        updates: SyncSender<Update>,
    ) -> Result<Self, DemoError> {
        Self::start(format!("car {car}"), move |commands| {
            accompany_car(car, client, CAR_PERIOD * slowdown, &commands, &updates);
        })
    }
}

impl Line<Cable> {
    /// Starts a line to a node, whether it runs or not. Its period is multiplied by `slowdown`.
    pub(super) fn to_node(
        car: usize,
        data_dir: PathBuf,
        slowdown: u32,
        updates: SyncSender<Update>,
    ) -> Result<Self, DemoError> {
        Self::start(format!("node {car}"), move |commands| {
            accompany_node(car, &data_dir, NODE_PERIOD * slowdown, &commands, &updates);
        })
    }
}

impl<C: Send + 'static> Line<C> {
    pub(super) fn say(&self, command: C) -> bool {
        match self.commands.try_send(command) {
            Ok(()) => true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => false,
        }
    }

    /// Waits for the thread. The stage must have stopped taking its changes.
    pub(super) fn end(self) {
        drop(self.commands);
        // A panic of the thread was printed to standard error.
        drop(self.thread.join());
    }

    fn start(
        name: String,
        run: impl FnOnce(Receiver<C>) + Send + 'static,
    ) -> Result<Self, DemoError> {
        let (commands, waiting) = sync_channel(COMMANDS);
        let thread =
            Builder::new().name(name).spawn(move || run(waiting)).map_err(DemoError::Thread)?;
        Ok(Self { commands, thread })
    }
}

fn accompany_car(
    car: usize,
    mut client: ControlClient,
    period: Duration,
    commands: &Receiver<String>,
    updates: &SyncSender<Update>,
) {
    loop {
        let told = match commands.recv_timeout(period) {
            Ok(command) => client.send(&command).map(|_ok| None),
            Err(RecvTimeoutError::Timeout) => {
                client.simulator_state().map(|now| Some(Box::new(now)))
            }
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let (item, is_last) = match told {
            Ok(None) => continue,
            Ok(Some(state)) => (Update::Car(car, state), false),
            Err(ControlError::Refused(why)) => (Update::Refused(car, why), false),
            Err(error) => (Update::CarGone(car, error), true),
        };
        if updates.send(item).is_err() || is_last {
            return;
        }
    }
}

fn accompany_node(
    car: usize,
    data_dir: &Path,
    period: Duration,
    commands: &Receiver<Cable>,
    updates: &SyncSender<Update>,
) {
    loop {
        let refused = match commands.recv_timeout(period) {
            Ok(cable) => Client::connect(data_dir).and_then(|node| node.rewire(cable)).err(),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(error) = refused
            && updates.send(Update::Unmoved(car, error.to_string())).is_err()
        {
            return;
        }
        let said = Client::connect(data_dir).and_then(|node| node.status()).ok().map(Box::new);
        if updates.send(Update::Node(car, said)).is_err() {
            return;
        }
    }
}
