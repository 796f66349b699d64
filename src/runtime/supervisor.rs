//! Notifications to the service supervisor: that the node is ready, and that its loop runs.
//!
//! The protocol is systemd's: datagrams to the socket in `NOTIFY_SOCKET`, if any. The socket never
//! blocks: the loop drives a car.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use elevator_fleet::model::Timestamp;
use tracing::{debug, warn};

/// How many keep-alives are sent within the supervisor's time limit for the loop.
const SIGNS: u32 = 4;

#[derive(Debug, Default)]
pub(super) struct Supervisor {
    socket: Option<UnixDatagram>,
    /// The time between two keep-alives; `None` if the supervisor expects none.
    period: Option<Duration>,
    last: Option<Timestamp>,
}

impl Supervisor {
    pub(super) fn from_environment() -> Self {
        let variable = |name| std::env::var(name).ok();
        let socket = std::env::var_os("NOTIFY_SOCKET").and_then(|address| {
            let connected = connect(&address);
            let failed =
                |error: &_| warn!(?address, %error, "the supervisor's socket can't be used");
            connected.inspect_err(failed).ok()
        });
        let is_meant =
            variable("WATCHDOG_PID").is_none_or(|pid| pid.parse() == Ok(std::process::id()));
        let limit = variable("WATCHDOG_USEC").and_then(|micros| micros.parse().ok());
        let limit = limit.filter(|_| is_meant && socket.is_some());
        Self { socket, period: limit.map(|limit| Duration::from_micros(limit) / SIGNS), last: None }
    }

    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// Called from the loop at every turn, so that a loop that hangs is silent.
    pub(super) fn alive(&mut self, now: Timestamp) {
        let Some(period) = self.period else {
            return;
        };
        if self.last.is_none_or(|last| now.since(last) >= period) {
            self.last = Some(now);
            self.send("WATCHDOG=1");
        }
    }

    pub(super) fn stopping(&self, why: &str) {
        self.send(&format!("STOPPING=1\nSTATUS={why}"));
    }

    fn send(&self, text: &str) {
        if let Some(socket) = &self.socket
            && let Err(error) = socket.send(text.as_bytes())
        {
            debug!(%error, text, "the supervisor does not listen");
        }
    }
}

/// A path, or a name in the abstract namespace behind an `@`.
fn connect(address: &OsString) -> io::Result<UnixDatagram> {
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    match address.as_bytes() {
        [b'@', name @ ..] => socket.connect_addr(&SocketAddr::from_abstract_name(name)?)?,
        _ => socket.connect(address)?,
    }
    Ok(socket)
}
