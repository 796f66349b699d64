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
//! of them end with the owner, and the owner ends with [`Simulator::stop`], the `quit` command, or
//! when the [`Simulator`] is dropped.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

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
    /// The car's name, shown in its state.
    pub name: String,
    /// Its shaft, its door and its sensors.
    pub car: CarConfig,
    /// Determines everything random: the start position if it is not given, and the damage of a
    /// noisy line.
    pub seed: u64,
    /// The serial panel, if any.
    pub serial: Option<SerialConfig>,
    /// The address of the elevator-server, if any; port 0 for any free one.
    pub tcp: Option<SocketAddr>,
    /// The path of the control socket, if any.
    pub control: Option<PathBuf>,
    /// After this silence of the controller the panel stops the motor (S2). At least a few of its
    /// heartbeats or polls.
    pub watchdog: Duration,
}

/// The serial panel.
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
    /// The control socket.
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
    /// Who drives it.
    pub controller: Controller,
    /// The serial line is cut.
    pub unplugged: bool,
    /// The share of damaged bytes on the serial line, per cent.
    pub noise: u8,
    /// What there is to see of the car itself.
    #[serde(flatten)]
    pub car: CarState,
}

/// Who drives a simulated car.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Controller {
    /// None, or none that is heard.
    Absent,
    /// A controller on the serial panel.
    Serial,
    /// A client of the elevator-server.
    Tcp,
}

/// What goes to the owner's thread.
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
    /// A command that was typed at the terminal.
    Typed(String),
    /// Somebody in this process wants to see the state.
    Observe(SyncSender<SimulatorState>),
    Quit,
}

/// One client of the control socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ControlId(u64);

/// Why a line to the car could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// No pseudo-terminal.
    #[error("cannot make a pseudo-terminal for the serial panel (is /dev/pts mounted?)")]
    Pty(#[source] io::Error),
    /// No link to the pseudo-terminal.
    #[error(
        "cannot make the link {} to the serial panel: choose another --serial-link", path.display()
    )]
    Link {
        /// Where the link was to be.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// No TCP listener.
    #[error("cannot listen at {address} for elevator-server clients: choose another --tcp")]
    Tcp {
        /// As given with `--tcp`.
        address: SocketAddr,
        /// What the system says.
        source: io::Error,
    },
    /// No control socket.
    #[error("cannot listen at {} for control clients: choose another --control", path.display())]
    Control {
        /// As given with `--control`.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// Why a simulator did not start. Nothing of it is left behind.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Neither of the two lines to a controller is wanted.
    #[error(
        "a car without a panel: give --serial for a pseudo-terminal, --tcp ADDRESS for the \
         elevator-server protocol, or both"
    )]
    NoPanel,
    /// A value of the car that is out of its range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// One of the lines.
    #[error(transparent)]
    Line(#[from] LineError),
    /// A thread or what it needs.
    #[error("the system has no room for the simulator's threads")]
    Thread(#[from] io::Error),
}

/// The simulator has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the simulator has ended")]
pub struct Ended;

/// A running simulator; dropping it ends it and removes its link and socket.
#[derive(Debug)]
pub struct Simulator {
    endpoints: Vec<Endpoint>,
    events: SyncSender<Event>,
    /// Hangs up when the owner has ended.
    finished: Receiver<()>,
    thread: Option<JoinHandle<()>>,
}

/// Ends a [`Simulator`] from another thread.
#[derive(Debug, Clone)]
pub(crate) struct StopHandle(SyncSender<Event>);

impl Simulator {
    /// Starts the car and everything that leads to it.
    ///
    /// # Errors
    /// The configuration is wrong, or a line cannot be made.
    pub fn start(config: SimulatorConfig) -> Result<Self, StartError> {
        if config.serial.is_none() && config.tcp.is_none() {
            return Err(StartError::NoPanel);
        }
        let car = SimulatedCar::new(&config.car, config.seed)?;
        let (events, incoming) = sync_channel(EVENTS);
        let owner = Owner::new(car, config, events.clone())?;
        let endpoints = owner.endpoints();
        let (finishing, finished) = sync_channel(0);
        let thread = Builder::new().name("car".into()).spawn(move || {
            owner.run(incoming);
            drop(finishing);
        })?;
        Ok(Self { endpoints, events, finished, thread: Some(thread) })
    }

    /// Where it can be reached.
    #[must_use]
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// The elevator-server's address.
    #[must_use]
    pub fn tcp(&self) -> Option<SocketAddr> {
        self.endpoints.iter().find_map(|endpoint| match endpoint {
            Endpoint::Tcp(address) => Some(*address),
            Endpoint::Serial(_) | Endpoint::Control(_) => None,
        })
    }

    /// Everything there is to see.
    ///
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
    pub(crate) fn command(&self, line: String) {
        // It may have ended.
        drop(self.events.send(Event::Typed(line)));
    }

    /// Waits until it has ended, for at most this time; true once it has.
    #[must_use]
    pub(crate) fn wait(&self, limit: Duration) -> bool {
        self.finished.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    }

    /// What can end it from another thread.
    #[must_use]
    pub(crate) fn stop_handle(&self) -> StopHandle {
        StopHandle(self.events.clone())
    }

    /// Ends it and waits until every thread of it has ended.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.stop_handle().stop();
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was printed to standard error.
            drop(thread.join());
        }
    }
}

impl StopHandle {
    /// Ends the simulator; harmless if it has ended.
    pub(crate) fn stop(&self) {
        // Fails only if the owner has ended.
        drop(self.0.send(Event::Quit));
    }
}
