//! Notifications to the service supervisor: that the node is ready, that its loop runs, and what it
//! does.
//!
//! The protocol is systemd's: datagrams to the socket in `NOTIFY_SOCKET`. Without that variable
//! nothing happens. The socket never blocks: a supervisor that does not read loses notifications,
//! and the loop, which drives a car, continues.

use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use elevator_fleet::model::{Reason, Timestamp};
use elevator_fleet::node::Report;
use elevator_fleet::wire::NodeState;
use tracing::{debug, warn};

/// How many keep-alives are sent within the supervisor's time limit for the loop.
const SIGNS: u32 = 4;

/// The line to the supervisor, if there is one.
#[derive(Debug, Default)]
pub(super) struct Supervisor {
    socket: Option<UnixDatagram>,
    /// The time between two keep-alives; `None` if the supervisor expects none.
    period: Option<Duration>,
    last: Option<Timestamp>,
    node_state: Option<NodeState>,
    unavailable: Option<Reason>,
}

impl Supervisor {
    pub(super) fn from_environment() -> Self {
        let is_meant =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid.parse() == Ok(std::process::id()));
        let limit = std::env::var("WATCHDOG_USEC")
            .ok()
            .filter(|_| is_meant)
            .and_then(|micros| micros.parse().ok())
            .map(Duration::from_micros);
        Self::new(std::env::var_os("NOTIFY_SOCKET"), limit)
    }

    fn new(address: Option<OsString>, limit: Option<Duration>) -> Self {
        let socket = address.and_then(|address| match connect(&address) {
            Ok(socket) => Some(socket),
            Err(error) => {
                warn!(?address, %error, "the supervisor's socket can't be used");
                None
            }
        });
        Self {
            period: limit.filter(|_| socket.is_some()).map(|l| l / SIGNS),
            socket,
            ..Self::default()
        }
    }

    pub(super) fn ready(&self) {
        self.send("READY=1");
    }

    /// The loop runs. Called from the loop itself at every turn, so that a loop that hangs is
    /// silent.
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

    /// Shows the node's state and its car's service mode.
    pub(super) fn show(&mut self, node_state: &NodeState) {
        self.node_state = Some(node_state.clone());
        self.send_status();
    }

    /// Shows what a report changes of that.
    pub(super) fn note(&mut self, report: &Report) {
        if let Report::NodeState { to, .. } | Report::Rotated { to, .. } = report {
            self.show(to);
        }
        if let Report::Availability(unavailable) = report {
            self.unavailable = *unavailable;
            self.send_status();
        }
    }

    fn send_status(&self) {
        let Some(node_state) = &self.node_state else {
            return;
        };
        let car = self.unavailable.map_or_else(
            || "car in service".to_owned(),
            |why| format!("car not in service: {why}"),
        );
        self.send(&format!("STATUS={node_state}; {car}"));
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Timestamp {
        Timestamp::after_start(Duration::from_millis(millis))
    }

    fn told(socket: &UnixDatagram) -> Option<String> {
        let mut bytes = [0; 256];
        let length = socket.recv(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
    }

    fn listen(name: &str) -> (UnixDatagram, OsString) {
        let name = format!("liftmesh-{name}-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let socket = UnixDatagram::bind_addr(&address).expect("bound");
        socket.set_nonblocking(true).expect("set");
        (socket, format!("@{name}").into())
    }

    #[test]
    fn signs_of_life_come_four_times_within_the_limit() {
        let (socket, address) = listen("signs");
        let mut supervisor = Supervisor::new(Some(address), Some(Duration::from_secs(2)));
        for millis in (0..2000).step_by(100) {
            supervisor.alive(at(millis));
        }
        let signs = std::iter::from_fn(|| told(&socket));
        assert_eq!(signs.collect::<Vec<_>>(), ["WATCHDOG=1"; 4]);
    }

    #[test]
    fn a_supervisor_that_does_not_read_holds_nothing_up() {
        let (_socket, address) = listen("deaf");
        let mut supervisor = Supervisor::new(Some(address), Some(Duration::from_nanos(4)));
        for millis in 0..10_000 {
            supervisor.alive(at(millis));
        }
    }
}
