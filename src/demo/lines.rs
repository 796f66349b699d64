//! The threads that talk to the other processes, one per simulator and per node. Each asks at a
//! fixed period, passes the answers on, and ends when its end of either queue is dropped.

use std::path::PathBuf;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
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

const NODE_PERIOD: Duration = Duration::from_millis(150);

/// Commands that wait for a simulator or a node. When full, the newest is refused.
const COMMANDS: usize = 64;

#[derive(Debug)]
pub(super) enum Update {
    /// A car, counted from 0, as it is at this moment.
    Car(usize, Box<SimulatorState>),
    CarGone(usize, ControlError),
    /// The status of a node; `None` if it does not answer.
    Node(usize, Option<Box<Status>>),
    /// A simulator did not do what it was asked, and why.
    Refused(usize, String),
    /// A node did not cut or repair its network, and why.
    Unmoved(usize, String),
}

#[derive(Debug)]
pub(super) struct Line<C> {
    commands: SyncSender<C>,
    thread: JoinHandle<()>,
}

impl Line<String> {
    /// Starts a line to a simulator; its commands are those of the control interface.
    pub(super) fn to_car(
        car: usize,
        mut client: ControlClient,
        updates: SyncSender<Update>,
    ) -> Result<Self, DemoError> {
        Self::start(format!("car {car}"), CAR_PERIOD, updates, move |command| {
            let seen = match command {
                Some(command) => client.send(&command).map(|_ok| None),
                None => client.simulator_state().map(Some),
            };
            match seen {
                Ok(seen) => {
                    seen.map(|state| Update::Car(car, Box::new(state))).into_iter().collect()
                }
                Err(ControlError::Refused(why)) => vec![Update::Refused(car, why)],
                Err(error) => vec![Update::CarGone(car, error)],
            }
        })
    }
}

impl Line<Cable> {
    pub(super) fn to_node(
        car: usize,
        data_dir: PathBuf,
        updates: SyncSender<Update>,
    ) -> Result<Self, DemoError> {
        Self::start(format!("node {car}"), NODE_PERIOD, updates, move |command| {
            let connect = || Client::connect(&data_dir);
            let rewire = |cable| connect().and_then(|node| node.rewire(cable)).err();
            let refused = command.and_then(rewire);
            let refused = refused.map(|error| Update::Unmoved(car, error.to_string()));
            let said = connect().and_then(|node| node.status()).ok().map(Box::new);
            refused.into_iter().chain([Update::Node(car, said)]).collect()
        })
    }
}

impl<C: Send + 'static> Line<C> {
    pub(super) fn say(&self, command: C) -> bool {
        self.commands.try_send(command).is_ok()
    }

    /// Waits for the thread. The stage must have stopped taking its changes.
    pub(super) fn end(self) {
        drop(self.commands);
        // A panic of the thread was printed to standard error.
        drop(self.thread.join());
    }

    /// `act` does what is commanded, or looks where nothing is.
    fn start(
        name: String,
        period: Duration,
        updates: SyncSender<Update>,
        mut act: impl FnMut(Option<C>) -> Vec<Update> + Send + 'static,
    ) -> Result<Self, DemoError> {
        let (commands, waiting) = sync_channel(COMMANDS);
        let run = move || {
            loop {
                let command = match waiting.recv_timeout(period) {
                    Ok(command) => Some(command),
                    Err(RecvTimeoutError::Timeout) => None,
                    Err(RecvTimeoutError::Disconnected) => return,
                };
                if act(command).into_iter().any(|update| updates.send(update).is_err()) {
                    return;
                }
            }
        };
        let thread = Builder::new().name(name).spawn(run).map_err(DemoError::System)?;
        Ok(Self { commands, thread })
    }
}
