//! Whether datagrams to everybody leave.

use std::io;
use std::time::{Duration, Instant};

/// Between two attempts to open the sockets, and for how long no datagram to everybody has to leave
/// before they are opened again.
pub(super) const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sending {
    Works,
    /// If they still do not leave by then, the sockets are opened again.
    Fails {
        reopen_at: Instant,
    },
}

/// What becomes of the sockets after a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sockets {
    Keep,
    Reopen,
}

impl Sending {
    /// The state of sending after a broadcast, and whether to reopen the sockets.
    pub(super) fn after<T>(self, sent: &io::Result<T>, now: Instant) -> (Self, Sockets) {
        match (self, sent) {
            (Self::Works | Self::Fails { .. }, Ok(_)) => (Self::Works, Sockets::Keep),
            (Self::Works, Err(_)) => (Self::fails_from(now), Sockets::Keep),
            (Self::Fails { reopen_at }, Err(_)) if now < reopen_at => (self, Sockets::Keep),
            (Self::Fails { .. }, Err(_)) => (Self::fails_from(now), Sockets::Reopen),
        }
    }

    pub(super) fn fails_from(now: Instant) -> Self {
        Self::Fails { reopen_at: now + RETRY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F8: also where the system does not report changes of addresses.
    #[test]
    fn sockets_are_opened_again_once_a_second_while_nothing_leaves() {
        let start = Instant::now();
        let (mut sending, mut reopened) = (Sending::Works, Vec::new());
        for (at, leaves) in [
            (0, true),
            (100, false),
            (1_000, false),
            (1_100, false),
            (2_000, false),
            (2_200, false),
            (2_300, true),
            (9_000, false),
            (9_025, true),
            (9_900, false),
            (10_100, false),
        ] {
            let sent = if leaves { Ok(()) } else { Err(io::ErrorKind::NetworkUnreachable.into()) };
            let sockets;
            (sending, sockets) = sending.after(&sent, start + Duration::from_millis(at));
            if sockets == Sockets::Reopen {
                reopened.push(at);
            }
        }
        assert_eq!(reopened, [1_100, 2_200]);
    }
}
