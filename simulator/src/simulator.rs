//! One simulated elevator in real time: a thread that owns the car, fed by a bounded queue.
//!
//! ```text
//!   serial reader ──┐
//!   tcp accept ─────┤                      ┌──────────────────────┐ ─▶ pseudo-terminal
//!   tcp reader ─────┼─▶ Event (bounded) ─▶ │ Owner: car, sessions │ ─▶ TCP client
//!   control accept ─┤                      └──────────────────────┘ ─▶ control writers
//!   control readers ┘
//! ```
//!
//! Both kinds of panel may be offered at once; the first controller keeps the car until it is gone
//! or silent. Meanwhile a TCP client is refused, and a serial controller gets the inputs but its
//! commands are ignored.
//!
//! The owner writes to its lines itself and at once; every other thread only waits for bytes. All
//! of them end with the owner, and the owner ends with the `quit` command, or when the [`Simulator`]
//! is dropped, which waits for them.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use elevator_driver::FloorCount;
use serde::{Deserialize, Serialize};

use crate::car::SimulatedCar;
use crate::config::{CarConfig, ConfigError};
use crate::control::{Command, CommandError};
use crate::state::CarState;
use owner::Owner;

mod owner;

/// The bound of the owner's event queue. When it is full, producers wait, and so finally does a
/// client that sends too fast.
const EVENTS: usize = 256;

/// What a simulator is started with.
#[derive(Debug, Clone)]
pub struct SimulatorConfig {
    pub name: String,
    pub car: CarConfig,
    /// Determines everything random: what the climate sensors read, and the damage of a noisy line.
    pub seed: u64,
    pub serial: Option<SerialConfig>,
    /// The address of the elevator-server, if any; port 0 for any free one.
    pub tcp: Option<SocketAddr>,
    pub control: Option<PathBuf>,
    /// After this silence of the controller the panel stops the motor (S2). At least a few of its
    /// heartbeats or polls.
    pub watchdog: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SerialConfig {
    /// A name that always points to the current pseudo-terminal.
    pub link: Option<PathBuf>,
    /// The share of bytes that are lost or damaged, 0 to 100 %.
    pub noise: u8,
}

impl SimulatorConfig {
    /// A simulator without any line: fill in at least one of `serial` and `tcp`.
    #[must_use]
    pub fn new(name: impl Into<String>, car: CarConfig) -> Self {
        Self {
            name: name.into(),
            car,
            seed: 0,
            serial: None,
            tcp: None,
            control: None,
            watchdog: Duration::from_millis(300),
        }
    }
}

/// Where a running simulator can be reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// The serial panel's device, or the link to it.
    Serial(PathBuf),
    /// The elevator-server's address, with the port that was chosen.
    Tcp(SocketAddr),
    Control(PathBuf),
}

impl fmt::Display for Endpoint {
    /// One machine-readable line: `panel serial:///dev/pts/7`, `panel tcp://127.0.0.1:15657`,
    /// `control /run/car-a.socket`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(path) => write!(f, "panel serial://{}", path.display()),
            Self::Tcp(address) => write!(f, "panel tcp://{address}"),
            Self::Control(path) => write!(f, "control {}", path.display()),
        }
    }
}

/// Everything there is to see of a simulator: the car, and the lines to it.
///
/// As JSON one flat object, so that a [`CarState`] can be read from it too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SimulatorState {
    pub name: String,
    pub controller: Controller,
    pub unplugged: bool,
    /// The share of damaged bytes on the serial line, per cent.
    pub noise: u8,
    #[serde(flatten)]
    pub car: CarState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Controller {
    /// None, or none that is heard.
    Absent,
    Serial,
    Tcp,
}

#[derive(Debug)]
pub(crate) enum Event {
    /// Bytes from the serial port of this generation.
    SerialBytes(u64, Vec<u8>),
    TcpConnected(TcpStream),
    /// Bytes from the TCP client of this connection.
    TcpBytes(u64, Vec<u8>),
    TcpClosed(u64),
    ControlConnected(UnixStream),
    Control(ControlId, Result<Command, CommandError>),
    ControlClosed(ControlId),
    /// Somebody in this process wants to see the state.
    Observe(SyncSender<SimulatorState>),
    Quit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ControlId(u64);

impl ControlId {
    /// The terminal, which sees no answers.
    const TERMINAL: Self = Self(u64::MAX);
}

#[derive(Debug, thiserror::Error)]
pub enum LineError {
    #[error("cannot make a pseudo-terminal for the serial panel (is /dev/pts mounted?)")]
    Pty(#[source] io::Error),
    #[error(
        "cannot make the link {} to the serial panel: choose another --serial-link", path.display()
    )]
    Link { path: PathBuf, source: io::Error },
    #[error("cannot listen at {address} for elevator-server clients: choose another --tcp")]
    Tcp { address: SocketAddr, source: io::Error },
    #[error("cannot listen at {} for control clients: choose another --control", path.display())]
    Control { path: PathBuf, source: io::Error },
}

/// Why a simulator did not start. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "a car without a panel: give --serial for a pseudo-terminal, --tcp ADDRESS for the \
         elevator-server protocol, or both"
    )]
    NoPanel,
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Line(#[from] LineError),
    #[error("the system has no room for the simulator's threads")]
    Thread(#[from] io::Error),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulator has ended")]
pub struct Ended;

/// A running simulator; dropping it ends it and removes its link and socket.
#[derive(Debug)]
pub struct Simulator {
    endpoints: Vec<Endpoint>,
    floors: FloorCount,
    events: SyncSender<Event>,
    /// Hangs up when the owner has ended.
    finished: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

impl Simulator {
    /// Starts the car and everything that leads to it.
    ///
    /// # Errors
    /// The configuration is wrong, or a line cannot be made.
    pub fn start(config: SimulatorConfig) -> Result<Self, StartError> {
        if config.serial.is_none() && config.tcp.is_none() {
            return Err(StartError::NoPanel);
        }
        let mut car = SimulatedCar::new(&config.car, config.seed)?;
        // The other protocol has none.
        if config.serial.is_some() {
            car.fit_door_buttons();
        }
        let floors = car.floors();
        let (events, incoming) = sync_channel(EVENTS);
        let owner = Owner::new(car, config, events.clone())?;
        let endpoints = owner.endpoints();
        let (finishing, finished) = sync_channel(0);
        let thread = Builder::new().name("car".into()).spawn(move || {
            owner.run(incoming);
            drop(finishing);
        })?;
        Ok(Self { endpoints, floors, events, finished, thread: Some(thread) })
    }

    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.endpoints.iter().find_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(*address),
            Endpoint::Serial(_) | Endpoint::Control(_) => None,
        })
    }

    /// # Errors
    /// It has ended.
    pub fn state(&self) -> Result<SimulatorState, Ended> {
        let (answer, answered) = sync_channel(1);
        if self.events.send(Event::Observe(answer)).is_err() {
            return Err(Ended);
        }
        answered.recv().or(Err(Ended))
    }

    /// Does what a line of the control interface says, if it is one.
    pub(crate) fn command(&self, line: &str) {
        let command = Command::parse(line, self.floors);
        // It may have ended.
        drop(self.events.send(Event::Control(ControlId::TERMINAL, command)));
    }

    /// Waits until it has ended, for at most this time; true once it has.
    #[must_use]
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        self.finished.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    }

    /// Ends it, from any thread; harmless if it has ended.
    pub(crate) fn stopper(&self) -> impl Fn() + Send + use<> {
        let events = self.events.clone();
        // Fails only if the owner has ended.
        move || drop(events.send(Event::Quit))
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stopper()();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed to standard error.
            drop(thread.join());
        }
    }
}
