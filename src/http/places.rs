//! How many connections there may be, of all clients and of each.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most connections at a time, those of event streams and `WebSockets` included; a further one is
/// closed.
const CONNECTIONS: usize = 320;

/// The most of one address, so that one computer can't lock out the others. Those of this machine have
/// no such bound: a proxy may be here, which passes on what comes from everywhere.
const OF_ONE: usize = 64;

/// A place for each connection.
#[derive(Debug)]
pub(super) struct Places {
    all: Arc<Semaphore>,
    /// Those of each address that has connections.
    each: HashMap<IpAddr, Weak<Semaphore>>,
}

/// A connection's place; it is free again when this is dropped.
#[derive(Debug)]
pub(super) struct Place {
    _all: OwnedSemaphorePermit,
    _own: Option<OwnedSemaphorePermit>,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS)), each: HashMap::new() }
    }

    /// A place for a connection from this address, if there is one.
    pub(super) fn take(&mut self, client: IpAddr) -> Option<Place> {
        let all = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let client = client.to_canonical();
        if client.is_loopback() {
            return Some(Place { _all: all, _own: None });
        }
        self.each.retain(|_, places| places.strong_count() > 0);
        let places = self.each.entry(bearer_of(client)).or_default();
        let own = places.upgrade().unwrap_or_else(|| Arc::new(Semaphore::new(OF_ONE)));
        *places = Arc::downgrade(&own);
        let own = own.try_acquire_owned().ok()?;
        Some(Place { _all: all, _own: Some(own) })
    }
}

/// By which address a client counts. A computer may choose the second half of its IPv6 address.
fn bearer_of(client: IpAddr) -> IpAddr {
    match client {
        IpAddr::V4(_) => client,
        IpAddr::V6(address) => {
            let mut bytes = address.octets();
            bytes[8..].fill(0);
            IpAddr::from(bytes)
        }
    }
}

/// A connection with its place. It keeps it when it becomes a WebSocket, which a separate task serves.
#[derive(Debug)]
pub(super) struct Placed<S> {
    stream: S,
    _place: Place,
}

impl<S> Placed<S> {
    pub(super) fn new(stream: S, place: Place) -> Self {
        Self { stream, _place: place }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Placed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Placed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn one_address_can_not_lock_out_the_others() {
        for (greedy, its_own, other) in [
            ("192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("::ffff:192.168.1.7", "192.168.1.7", "192.168.1.8"),
            ("fe80::1:2", "fe80::3:4", "fe80:0:0:1::1"),
        ] {
            let mut places = Places::new();
            let mut held: Vec<_> =
                (0..CONNECTIONS).filter_map(|_| places.take(ip(greedy))).collect();
            assert_eq!(held.len(), OF_ONE, "{greedy}");
            assert!(places.take(ip(its_own)).is_none(), "{greedy}");
            assert!(places.take(ip(other)).is_some(), "{greedy}");
            held.pop();
            assert!(places.take(ip(its_own)).is_some(), "{greedy}");
        }
    }

    #[test]
    fn a_proxy_on_this_machine_has_all_places_but_no_more() {
        let mut places = Places::new();
        let held: Vec<_> = (0..400).filter_map(|_| places.take(ip("127.0.0.1"))).collect();
        assert_eq!(held.len(), CONNECTIONS);
        assert!(places.take(ip("192.168.1.7")).is_none());
        drop(held);
        assert!(places.take(ip("192.168.1.7")).is_some());
        assert!(places.each.len() <= 1);
    }
}
