//! The entry point for every kind of panel line.

#[cfg(test)]
pub(crate) mod bench;
mod lease;
mod mailbox;

use std::io;
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

pub(crate) use mailbox::{Inbox, Mail, Mailbox};

use crate::counters::LineCounters;
use crate::url::PanelUrl;
use crate::vocabulary::{FloorCount, PanelEvent, PanelOutputs};

/// How long [`PanelLine::close`] waits for the line's threads: longer than any of their own limits
/// with the default settings.
const FAREWELL_LIMIT: Duration = Duration::from_secs(3);

/// The first delay before a line that was lost is opened again; it doubles from there.
const FIRST_RETRY: Duration = Duration::from_millis(50);

/// The times of a line. Some concern one back end only. All are at least 1 ms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineSettings {
    /// TCP: how often the server is polled. A press shorter than this may go unseen, and the car
    /// coasts up to this long past its floor. Default 10 ms; servers expect 10 to 25 ms. Modbus: how
    /// often a round of requests begins while the car moves.
    pub poll: Duration,
    /// TCP: how often the server is polled once the car has stood still with its door closed,
    /// without new commands, for a second. A press is seen up to this much later, and a shorter one
    /// may go unseen. Default 20 ms; if it is shorter than `poll`, `poll` applies.
    pub poll_at_rest: Duration,
    /// TCP, Modbus: how long a server may take for any poll before it is disconnected. Also bounds
    /// the attempt to connect, and the delay of outputs while a poll is being answered. Over Modbus
    /// RTU it is divided among three attempts. Default 250 ms.
    pub reply: Duration,
    /// TCP: send op 0 on each connection. One server rebuilds its world when it receives it, hence
    /// the default: no.
    pub reload_configuration: bool,
    /// Serial: how often unchanged outputs are sent; well below the panel's watchdog. Default
    /// 50 ms. Modbus: how often a round of requests begins while the car is at rest.
    pub heartbeat: Duration,
    /// Serial: how long a panel may be silent, or fail to hear the controller, before it is
    /// disconnected; at least three heartbeats. Default 250 ms. Modbus: how long a PLC may fail to
    /// echo the heartbeat.
    pub silence: Duration,
    /// Serial: whether the car has a rear door, so that the panel needs one. Default: no.
    pub rear_door: bool,
    /// All: the longest delay between two attempts to open a lost line. Default 1 s.
    pub retry: Duration,
    /// All: how long a motor runs without a keep-alive of the line's owner, which is
    /// [`PanelLine::set_outputs`] or [`PanelLine::keep_alive`]. Default 300 ms.
    pub lease: Duration,
}

impl Default for LineSettings {
    fn default() -> Self {
        Self {
            poll: Duration::from_millis(10),
            poll_at_rest: Duration::from_millis(20),
            reply: Duration::from_millis(250),
            reload_configuration: false,
            heartbeat: Duration::from_millis(50),
            silence: Duration::from_millis(250),
            rear_door: false,
            retry: Duration::from_secs(1),
            lease: Duration::from_millis(300),
        }
    }
}

/// A line could not be started. Nothing was opened and no thread runs.
#[derive(Debug, thiserror::Error)]
#[error("the panel line's thread could not be started")]
pub struct OpenError(#[source] io::Error);

/// A running line to a panel (F15).
///
/// Its threads open the line, reopen it whenever it is lost, keep the panel equal to the latest
/// outputs, and pass all events of the panel to the sink, from one thread and in order. The sink
/// must not block: the line waits for it.
///
/// All back ends refuse commands that would violate S1 (see [`interlock`](crate::interlock)).
///
/// A motor runs only while its owner is alive. If the owner sends no keep-alive for
/// [`LineSettings::lease`], the line's own thread stops the motor, whatever the owner is doing. The
/// motor then stays stopped until the owner commands a stop: it first has to learn that the car
/// stands. [`lapses`](Self::lapses) counts how often this has happened.
#[derive(Debug)]
pub struct PanelLine {
    mailbox: Arc<Mailbox>,
    thread: Option<JoinHandle<()>>,
}

impl PanelLine {
    /// Starts a line to the panel at `url`, whose shaft has `floors` floors.
    ///
    /// A missing device or server is not an error: the sink gets [`PanelEvent::Disconnected`] with
    /// the reason, once, and the line keeps trying.
    ///
    /// # Errors
    /// [`OpenError`] if there is no thread for the line.
    pub fn open(
        url: &PanelUrl,
        floors: FloorCount,
        settings: LineSettings,
        sink: impl FnMut(PanelEvent) + Send + 'static,
    ) -> Result<Self, OpenError> {
        let mailbox = Arc::new(Mailbox::new());
        let (url, finished) = (url.clone(), mailbox::Finished(Arc::clone(&mailbox)));
        let run = move || {
            let finished = finished;
            finished.0.serve(thread::current());
            let inbox = Inbox::new(Arc::clone(&finished.0), settings.lease);
            match url {
                PanelUrl::Serial { path, baud } => {
                    crate::serial::run(path, baud, floors, settings, inbox, sink);
                }
                PanelUrl::Tcp { host, port } => {
                    crate::tcp::run(host, port, floors, settings, inbox, sink);
                }
                PanelUrl::Modbus(url) => crate::modbus::run(url, floors, settings, inbox, sink),
            }
        };
        let thread = thread::Builder::new().name("panel-line".to_owned()).spawn(run);
        let thread = thread.map_err(OpenError)?;
        // The owner's first command may come before the thread runs.
        mailbox.serve(thread.thread().clone());
        Ok(Self { mailbox, thread: Some(thread) })
    }

    /// Sets the outputs of the panel. Never waits for the line; a later call replaces an earlier
    /// one that was not sent yet.
    pub fn set_outputs(&self, outputs: PanelOutputs) {
        self.mailbox.set_outputs(outputs);
    }

    /// A keep-alive of the line's owner, which keeps a motor running; send at least three per
    /// [`LineSettings::lease`]. Wakes no thread and never waits.
    pub fn keep_alive(&self) {
        self.mailbox.renew();
    }

    /// How often the motor was stopped because its owner sent no keep-alive. After each time the
    /// owner has to command a stop, and to wait until the car is seen at rest.
    #[must_use]
    pub fn lapses(&self) -> u64 {
        self.mailbox.lapses()
    }

    /// The counters of the line since the start, across all reopenings.
    #[must_use]
    pub fn counters(&self) -> LineCounters {
        self.mailbox.counters()
    }

    /// Stops the motor as the last command and ends the line, as dropping it does.
    ///
    /// Waits for its threads for 3 s at most; a thread that hangs in the operating system for
    /// longer is left to end by itself.
    pub fn close(mut self) {
        self.shut_down();
    }

    fn shut_down(&mut self) {
        let Some(thread) = self.thread.take() else {
            return;
        };
        self.mailbox.close();
        // A sink that drops its own line runs on the thread to wait for.
        if thread.thread().id() == thread::current().id() {
            return;
        }
        if self.mailbox.wait_finished(FAREWELL_LIMIT) {
            // A panic of the sink was reported where it happened.
            drop(thread.join());
        }
    }
}

impl Drop for PanelLine {
    fn drop(&mut self) {
        self.shut_down();
    }
}

/// Connects to the first address of the host that accepts within the limit.
pub(crate) fn dial(host: &str, port: u16, limit: Duration) -> io::Result<TcpStream> {
    let mut failure = io::ErrorKind::NotFound.into();
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, limit) {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

#[derive(Debug)]
pub(crate) struct Retry {
    next: Duration,
    limit: Duration,
}

impl Retry {
    pub(crate) fn new(limit: Duration) -> Self {
        Self { next: FIRST_RETRY.min(limit), limit }
    }

    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.limit);
    }

    pub(crate) fn delay(&mut self) -> Duration {
        let delay = self.next;
        self.next = (delay * 2).min(self.limit);
        delay
    }
}
