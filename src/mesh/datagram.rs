//! The task that owns two UDP sockets: for beacons, or for packets of a port of their own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

use elevator_fleet::coordination::ballot::packet::MAX_PACKET;
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM, WireError};
use rustix::net::RecvFlags;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tracing::{info, trace, warn};

use super::addresses::AddressChanges;
use super::log_gate::{self, LogGate};
use super::socket::{self, DatagramSockets};
use super::{Count, Counters, MeshSettings, Note, PacketSettings};

/// How many datagrams may wait to be sent; one that finds the queue full is dropped and counted.
pub(super) const QUEUE: usize = 64;

/// Between two attempts to open the sockets, and for how long no datagram to everybody has to leave
/// before they are opened again.
const RETRY: Duration = Duration::from_secs(1);

/// How long broadcasts are collected, where many arrive: each wake-up of the process costs more than
/// the datagram. News goes over links at once.
const COLLECT: Duration = Duration::from_millis(10);

/// The most datagrams that are taken in at one time.
const MOST_AT_ONCE: u32 = 256;

/// One byte more than the largest, so that a longer one is cut and found out.
const BUFFER: usize = MAX_DATAGRAM + 1;

/// A datagram on its way out.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) to: SocketAddrV4,
    pub(super) bytes: Vec<u8>,
}

/// What the datagrams are.
#[derive(Debug)]
pub(super) enum Channel {
    Beacons,
    Packets(PacketSettings),
}

#[derive(Debug)]
pub(super) struct DatagramTask {
    channel: Channel,
    settings: Arc<MeshSettings>,
    outgoing: mpsc::Receiver<Outgoing>,
    notes: mpsc::Sender<Note>,
    counters: Arc<Counters>,
    changes: AddressChanges,
    sending: Sending,
    arrivals: Arrivals,
    /// The latest datagram to everybody, which comes back.
    echo: Vec<u8>,
    log: LogGate<Line>,
}

/// How many broadcasts arrive.
#[derive(Debug)]
struct Arrivals {
    since: Instant,
    count: u32,
    are_many: bool,
}

impl Arrivals {
    /// This often it is looked whether they are many: more in this time than one for each
    /// [`COLLECT`], twice over.
    const LOOK_EVERY: Duration = Duration::from_millis(500);
    const MANY: u32 = 100;

    fn new(now: Instant) -> Self {
        Self {
            since: now,
            count: 0,
            are_many: false,
        }
    }

    /// Until when broadcasts are to be collected from now on.
    fn collect_until(&self) -> Option<Instant> {
        self.are_many.then(|| Instant::now() + COLLECT)
    }

    fn note(&mut self, count: u32, now: Instant) {
        self.count = self.count.saturating_add(count);
        if now.duration_since(self.since) >= Self::LOOK_EVERY {
            self.are_many = self.count >= Self::MANY;
            (self.count, self.since) = (0, now);
        }
    }
}

/// Nobody wants datagrams sent any more.
#[derive(Debug)]
struct Finished;

enum Step {
    Send(Option<Outgoing>),
    Own(io::Result<(usize, SocketAddr)>),
    Shared(io::Result<()>),
    Collected,
    AddressesChanged,
}

/// Whether datagrams to everybody leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Works,
    /// If they still do not leave by then, the sockets are opened again.
    Fails {
        reopen_at: Instant,
    },
}

/// What a line in the log is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Dropped(Count),
    Changed,
    NotOpened,
}

/// What becomes of the sockets after a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sockets {
    Keep,
    Reopen,
}

impl DatagramTask {
    /// A task that sends what is queued; changes of addresses count from here on.
    pub(super) fn new(
        channel: Channel,
        settings: Arc<MeshSettings>,
        outgoing: mpsc::Receiver<Outgoing>,
        notes: mpsc::Sender<Note>,
        counters: Arc<Counters>,
    ) -> Self {
        Self {
            channel,
            settings,
            outgoing,
            notes,
            counters,
            changes: AddressChanges::open(),
            sending: Sending::Works,
            arrivals: Arrivals::new(Instant::now()),
            echo: Vec::new(),
            log: LogGate::new(log_gate::ONE),
        }
    }

    pub(super) async fn run(mut self, sockets: Option<DatagramSockets>) {
        let mut opened = sockets;
        if opened.is_none() {
            self.sending = Sending::fails_from(Instant::now());
        }
        loop {
            let served = match opened.take() {
                Some(sockets) => self.serve(sockets).await,
                None => self.pause().await,
            };
            if let Err(Finished) = served {
                return;
            }
            opened = self.open();
        }
    }

    fn open(&mut self) -> Option<DatagramSockets> {
        let settings = &self.settings;
        let opened = match &self.channel {
            Channel::Beacons => socket::datagrams(settings.hello.address, settings.broadcast),
            Channel::Packets(packets) => packets.again(settings),
        };
        let to = self.everybody();
        match opened {
            Ok(sockets) => return Some(sockets),
            Err(error) if self.sending == Sending::Works => {
                warn!(%to, %error, "the sockets can't be opened again: serving alone");
                self.sending = Sending::fails_from(Instant::now());
            }
            Err(error) if socket::is_absent(&error) => trace!(%error, "no sockets for datagrams"),
            Err(error) => {
                if self.log.opens(&Line::NotOpened).is_some() {
                    warn!(%to, %error, "no sockets for datagrams");
                }
            }
        }
        None
    }

    /// Where datagrams to everybody go.
    fn everybody(&self) -> SocketAddrV4 {
        match &self.channel {
            Channel::Beacons => self.settings.broadcast,
            Channel::Packets(packets) => packets.everybody(self.settings.broadcast),
        }
    }

    /// Sends and receives until the sockets are to be opened again.
    ///
    /// A multicast socket loses its group with the interface, and one that is bound to an interface
    /// the interface itself; neither shows in what it receives.
    async fn serve(&mut self, sockets: DatagramSockets) -> Result<(), Finished> {
        let (mut own, mut shared) = ([0; BUFFER], [0; BUFFER]);
        // A fresh socket refuses to try before the runtime has seen it ready once.
        if let Err(error) = sockets.own.writable().await {
            trace!(%error, "the first datagram may not leave");
        }
        let mut collect_until: Option<Instant> = None;
        loop {
            let step = tokio::select! {
                outgoing = self.outgoing.recv() => Step::Send(outgoing),
                received = sockets.own.recv_from(&mut own) => Step::Own(received),
                ready = sockets.shared.readable(), if collect_until.is_none() => Step::Shared(ready),
                () = pass(collect_until) => Step::Collected,
                () = self.changes.changed() => Step::AddressesChanged,
            };
            let broken = match step {
                Step::Send(None) => return Err(Finished),
                Step::Send(Some(outgoing)) => match self.send(&sockets, outgoing) {
                    Sockets::Keep => {
                        // What was sent to everybody is there already: it must not wake the process.
                        self.take_all(&sockets.shared, &mut shared);
                        continue;
                    }
                    Sockets::Reopen => return Ok(()),
                },
                Step::Own(Ok((length, from))) => {
                    self.receive(&own[..length], from);
                    continue;
                }
                Step::Shared(Ok(())) => match self.take_ready(&sockets.shared, &mut shared) {
                    Ok(()) => {
                        collect_until = self.arrivals.collect_until();
                        continue;
                    }
                    Err(error) => error,
                },
                Step::Collected => {
                    collect_until = match self.take_all(&sockets.shared, &mut shared) {
                        0 => None,
                        _ => self.arrivals.collect_until(),
                    };
                    continue;
                }
                Step::AddressesChanged => {
                    // Where datagrams do not leave, the next one that does is worth a line.
                    if self.sending == Sending::Works && self.log.opens(&Line::Changed).is_some() {
                        let to = self.everybody();
                        info!(%to, "network addresses have changed: the sockets are opened again");
                    }
                    return Ok(());
                }
                Step::Own(Err(error)) | Step::Shared(Err(error)) => error,
            };
            warn!(error = %broken, "datagrams can't be received: the sockets are opened again");
            drop(sockets);
            return self.pause().await;
        }
    }

    /// Waits before the sockets are tried again; what is to be sent meanwhile is dropped.
    async fn pause(&mut self) -> Result<(), Finished> {
        let retry = tokio::time::sleep(RETRY);
        tokio::pin!(retry);
        loop {
            tokio::select! {
                () = &mut retry => return Ok(()),
                () = self.changes.changed() => return Ok(()),
                outgoing = self.outgoing.recv() => match outgoing {
                    Some(_) => self.counters.add(Count::SendFailed),
                    None => return Err(Finished),
                },
            }
        }
    }

    /// Takes in the broadcasts that have made the socket ready.
    fn take_ready(&mut self, shared: &UdpSocket, buffer: &mut [u8]) -> io::Result<()> {
        for taken in 0..MOST_AT_ONCE {
            match shared.try_recv_from(buffer) {
                Ok((length, from)) => self.receive(&buffer[..length], from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.arrivals.note(taken, Instant::now());
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.arrivals.note(MOST_AT_ONCE, Instant::now());
        Ok(())
    }

    /// Takes in the broadcasts that are there, ready or not; hands back how many. An error shows at the next wait.
    fn take_all(&mut self, shared: &UdpSocket, buffer: &mut [u8]) -> u32 {
        let mut taken = 0;
        while taken < MOST_AT_ONCE {
            let received = rustix::net::recvfrom(shared, &mut *buffer, RecvFlags::DONTWAIT);
            let Ok((length, _, Some(from))) = received else {
                break;
            };
            if let Ok(from) = SocketAddr::try_from(from) {
                self.receive(&buffer[..length], from);
            }
            taken += 1;
        }
        self.arrivals.note(taken, Instant::now());
        taken
    }

    fn send(&mut self, sockets: &DatagramSockets, outgoing: Outgoing) -> Sockets {
        let to = outgoing.to;
        // A system without room for a datagram drops it; the next one serves (F10).
        let sent = sockets.own.try_send_to(&outgoing.bytes, to.into());
        match &sent {
            Ok(_) => self.counters.add(Count::Sent),
            Err(error) => {
                self.counters.add(Count::SendFailed);
                trace!(%to, %error, "a datagram was not sent");
            }
        }
        // One peer that can't be reached says nothing of the network.
        if to != self.everybody() {
            return Sockets::Keep;
        }
        self.echo = outgoing.bytes;
        let (sending, sockets) = self.sending.after(&sent, Instant::now());
        match (self.sending, sent) {
            (Sending::Works, Err(error)) => {
                warn!(%to, %error, "datagrams can't leave: serving alone");
            }
            (Sending::Fails { .. }, Ok(_)) => info!(%to, "datagrams leave"),
            (Sending::Works, Ok(_)) | (Sending::Fails { .. }, Err(_)) => {}
        }
        self.sending = sending;
        sockets
    }

    fn receive(&mut self, bytes: &[u8], from: SocketAddr) {
        let IpAddr::V4(from) = from.ip() else {
            return;
        };
        match &self.channel {
            Channel::Beacons => self.receive_beacon(bytes, from),
            Channel::Packets(_) => self.receive_packet(bytes, from),
        }
    }

    /// What is in a packet is the brain's affair; one's own comes back from the network.
    fn receive_packet(&self, bytes: &[u8], from: Ipv4Addr) {
        if from == self.settings.hello.address {
            return;
        }
        if bytes.len() > MAX_PACKET {
            return self.counters.add(Count::Foreign);
        }
        self.counters.add(Count::Received);
        let bytes = bytes.to_vec();
        if self.notes.try_send(Note::Packet { from, bytes }).is_err() {
            self.counters.add(Count::InboxFull);
        }
    }

    fn receive_beacon(&mut self, bytes: &[u8], from: Ipv4Addr) {
        if bytes == self.echo {
            return;
        }
        let beacon = match codec::decode_beacon(bytes) {
            Ok(beacon) => beacon,
            Err(error) => {
                let count = count_of(&error);
                self.counters.add(count);
                trace!(%from, %error, "a datagram was dropped");
                if let WireError::Version(version) = error {
                    self.hand_on(Note::OtherVersion { from, version });
                    return;
                }
                if self.log.opens(&Line::Dropped(count)).is_some() {
                    warn!(
                        %from,
                        %error,
                        so_far = self.counters.get(count),
                        "datagrams that are no beacons are dropped"
                    );
                }
                return;
            }
        };
        if beacon.hello.nonce == self.settings.hello.nonce {
            return;
        }
        if beacon.hello.address != from {
            return self.counters.add(Count::Address);
        }
        self.counters.add(Count::Received);
        let beacon = Box::new(beacon);
        self.hand_on(Note::Beacon { from, beacon });
    }

    fn hand_on(&self, note: Note) {
        if self.notes.try_send(note).is_err() {
            self.counters.add(Count::InboxFull);
        }
    }
}

/// Waits for a moment; for ever, where there is none.
async fn pass(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until.into()).await,
        None => std::future::pending().await,
    }
}

impl Sending {
    /// What holds after a datagram to everybody, and what becomes of the sockets.
    fn after<T>(self, sent: &io::Result<T>, now: Instant) -> (Self, Sockets) {
        match (self, sent) {
            (Self::Works | Self::Fails { .. }, Ok(_)) => (Self::Works, Sockets::Keep),
            (Self::Works, Err(_)) => (Self::fails_from(now), Sockets::Keep),
            (Self::Fails { reopen_at }, Err(_)) if now < reopen_at => (self, Sockets::Keep),
            (Self::Fails { .. }, Err(_)) => (Self::fails_from(now), Sockets::Reopen),
        }
    }

    fn fails_from(now: Instant) -> Self {
        Self::Fails {
            reopen_at: now + RETRY,
        }
    }
}

fn count_of(error: &WireError) -> Count {
    match error {
        WireError::Foreign => Count::Foreign,
        WireError::Version(_) => Count::Version,
        WireError::Key(_) => Count::Key,
        WireError::Damaged => Count::Damaged,
        WireError::Malformed(_) | WireError::TooLarge { .. } => Count::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// F8: also where the system does not report changes of addresses.
    #[test]
    fn sockets_are_opened_again_once_a_second_while_nothing_leaves() {
        let left = || Ok(());
        let failed = || Err(io::ErrorKind::NetworkUnreachable.into());
        let start = Instant::now();
        let mut sending = Sending::Works;
        let mut reopened = Vec::new();
        for (at, sent) in [
            (0, left()),
            (100, failed()),
            (1_000, failed()),
            (1_100, failed()),
            (1_125, failed()),
            (2_000, failed()),
            (2_200, failed()),
            (2_300, left()),
            (9_000, failed()),
            (9_025, left()),
            (9_900, failed()),
            (10_100, failed()),
        ] {
            let sockets;
            (sending, sockets) = sending.after(&sent, start + Duration::from_millis(at));
            if sockets == Sockets::Reopen {
                reopened.push(at);
            }
        }
        assert_eq!(reopened, [1_100, 2_200]);
    }
}
