//! The task that owns two UDP sockets: for beacons, or for packets of a port of their own.

use std::fmt::Display;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::{Duration, Instant};

use elevator_fleet::election::ballot::packet::MAX_PACKET;
use elevator_fleet::node::unreadable;
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM, WireError};
use elevator_fleet::wire::keyring::Keyring;
use tokio::net::UdpSocket;
use tokio::sync::mpsc;
use tracing::{info, trace, warn};

use super::addresses::AddressChanges;
use super::gather::{self, Traffic};
use super::heard::Hearing;
use super::log_gate::{self, LogGate};
use super::seal::Seal;
use super::sending::{RETRY, Sending, Sockets};
use super::socket::{self, DatagramSockets};
use super::{Count, Counters, MeshEvent, MeshSettings, Note, PacketSettings};
use crate::bucket::Bucket;

/// How many datagrams may wait to be sent; one that finds the queue full is dropped and counted.
pub(super) const QUEUE: usize = 64;

/// The most datagrams that are received at a time.
const MOST_AT_ONCE: u32 = 256;

/// How many datagrams a second that can't be read the loop learns of, at most.
const UNREADABLE: f64 = 20.0;

/// One byte more than the largest, so that a longer one is cut and found out.
const BUFFER: usize = MAX_DATAGRAM + 1;

#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) to: SocketAddrV4,
    pub(super) bytes: Vec<u8>,
    /// Somebody waits for it, and answers.
    pub(super) urgent: bool,
}

#[derive(Debug)]
pub(super) enum Channel {
    Beacons(Hearing),
    Packets(PacketSettings, Seal),
}

pub(super) struct DatagramTask {
    channel: Channel,
    settings: Arc<MeshSettings>,
    outgoing: mpsc::Receiver<Outgoing>,
    notes: mpsc::Sender<Note>,
    counters: Arc<Counters>,
    changes: AddressChanges,
    sending: Sending,
    traffic: Traffic,
    /// The latest datagram to everybody, which comes back.
    echo: Vec<u8>,
    /// How many datagrams that can't be read the loop learns of.
    unreadable: Bucket,
    log: LogGate<Line>,
}

/// Nobody wants datagrams sent any more.
#[derive(Debug)]
struct Finished;

enum Step {
    Send(Option<Outgoing>),
    Own(io::Result<()>),
    Shared(io::Result<()>),
    Gathered,
    AddressesChanged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Line {
    Dropped(Count),
    Changed,
    NotOpened,
}

impl DatagramTask {
    /// A task that sends what is queued. Changes of addresses count from now on.
    pub(super) fn new(
        channel: Channel,
        settings: Arc<MeshSettings>,
        outgoing: mpsc::Receiver<Outgoing>,
        notes: mpsc::Sender<Note>,
        counters: Arc<Counters>,
    ) -> Self {
        let traffic = Traffic::new(settings.gather_time, Instant::now());
        Self {
            channel,
            settings,
            outgoing,
            notes,
            counters,
            changes: AddressChanges::open(),
            sending: Sending::Works,
            traffic,
            echo: Vec::new(),
            unreadable: Bucket::new(UNREADABLE, UNREADABLE, Instant::now().into()),
            log: LogGate::new(log_gate::ONE),
        }
    }

    pub(super) async fn run(mut self, sockets: Option<DatagramSockets>) {
        if sockets.is_none() {
            self.sending = Sending::fails_from(Instant::now());
        }
        // What comes before there are keys is not for this node.
        let mut opened = sockets.filter(|_| self.settings.keys.get().is_some());
        loop {
            let served = match opened.take() {
                Some(sockets) => self.serve(sockets).await,
                None => self.pause().await,
            };
            if let Err(Finished) = served {
                return;
            }
            opened = if self.settings.keys.get().is_some() { self.open() } else { None };
        }
    }

    fn open(&mut self) -> Option<DatagramSockets> {
        let settings = &self.settings;
        let opened = match &self.channel {
            Channel::Beacons(_) => socket::datagrams(settings.hello.address, settings.broadcast),
            Channel::Packets(packets, _) => packets.again(settings),
        };
        let to = self.everybody();
        match opened {
            Ok(sockets) => return Some(sockets),
            Err(error) if self.sending == Sending::Works => {
                warn!(%to, %error, "the sockets can't be reopened: serving alone");
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
            Channel::Beacons(_) => self.settings.broadcast,
            Channel::Packets(packets, _) => packets.everybody(self.settings.broadcast),
        }
    }

    /// Sends and receives until the sockets are to be opened again.
    ///
    /// A multicast socket loses its group together with the interface, and a socket bound to an
    /// interface loses the interface itself; neither shows in what it receives.
    async fn serve(&mut self, sockets: DatagramSockets) -> Result<(), Finished> {
        let DatagramSockets { own, mut shared } = sockets;
        let mut buffer = [0; BUFFER];
        // A fresh socket refuses to try before the runtime has seen it ready once.
        if let Err(error) = own.writable().await {
            trace!(%error, "the first datagram may not be sent");
        }
        let gathered = tokio::time::sleep(Duration::ZERO);
        tokio::pin!(gathered);
        let broken = loop {
            let step = tokio::select! {
                outgoing = self.outgoing.recv() => Step::Send(outgoing),
                ready = own.readable() => Step::Own(ready),
                ready = shared.readable() => Step::Shared(ready),
                () = &mut gathered, if shared.is_gathered() => Step::Gathered,
                () = self.changes.changed() => Step::AddressesChanged,
            };
            let has_looked = match step {
                Step::Own(_) => false,
                Step::Send(_) | Step::Shared(_) | Step::Gathered | Step::AddressesChanged => true,
            };
            let taken = match step {
                Step::Send(None) => return Err(Finished),
                Step::Send(Some(outgoing)) => match self.send(&own, outgoing) {
                    // What was sent to everybody is there already: it must not wake the process.
                    Sockets::Keep => self.receive_all(&mut buffer, |buffer| shared.look(buffer)),
                    Sockets::Reopen => return Ok(()),
                },
                Step::Own(ready) => ready.and_then(|()| {
                    self.receive_all(&mut buffer, |buffer| own.try_recv_from(buffer))
                }),
                Step::Shared(ready) => ready.and_then(|()| {
                    self.receive_all(&mut buffer, |buffer| shared.try_receive(buffer))
                }),
                Step::Gathered => self.receive_all(&mut buffer, |buffer| shared.look(buffer)),
                Step::AddressesChanged => {
                    // Where datagrams do not leave, the next one that does is worth a line.
                    if self.sending == Sending::Works && self.log.opens(&Line::Changed).is_some() {
                        let to = self.everybody();
                        info!(%to, "network addresses have changed: reopening the sockets");
                    }
                    return Ok(());
                }
            };
            if let Err(error) = taken {
                break error;
            }
            let now = Instant::now();
            let may_wait = self.traffic.may_wait(now);
            shared = match shared.let_wait(may_wait.is_some()) {
                Ok(shared) => shared,
                Err(error) => break error,
            };
            if let Some(time) = may_wait.filter(|_| has_looked) {
                // A timer that is set to a later moment wakes the process at the earlier one as
                // well.
                gathered.set(tokio::time::sleep(time));
            }
        };
        warn!(error = %broken, "datagrams can't be received: reopening the sockets");
        drop(own);
        self.pause().await
    }

    /// Waits before the sockets are opened again; what is to be sent meanwhile is dropped.
    async fn pause(&mut self) -> Result<(), Finished> {
        let retry = tokio::time::sleep(RETRY);
        let keys = Arc::clone(&self.settings.keys);
        let is_keyless = keys.get().is_none();
        let has_keys = keys.wait();
        tokio::pin!(retry, has_keys);
        loop {
            tokio::select! {
                () = &mut retry => return Ok(()),
                () = &mut has_keys, if is_keyless => return Ok(()),
                () = self.changes.changed() => return Ok(()),
                outgoing = self.outgoing.recv() => match outgoing {
                    Some(_) => self.counters.add(Count::SendFailed),
                    None => return Err(Finished),
                },
            }
        }
    }

    /// Receives the datagrams that are waiting.
    fn receive_all(
        &mut self,
        buffer: &mut [u8],
        mut next: impl FnMut(&mut [u8]) -> io::Result<(usize, SocketAddr)>,
    ) -> io::Result<()> {
        let mut taken = 0;
        while taken < MOST_AT_ONCE {
            match next(buffer) {
                Ok((length, from)) => self.receive(&buffer[..length], from),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
            taken += 1;
        }
        self.traffic.note_taken(taken);
        Ok(())
    }

    fn send(&mut self, own: &UdpSocket, outgoing: Outgoing) -> Sockets {
        let to = outgoing.to;
        if outgoing.urgent {
            self.traffic.note_urgent(Instant::now());
        }
        let keys = self.settings.keys.get();
        let key = keys.as_deref().and_then(Keyring::sent);
        let sent = match (&mut self.channel, key) {
            (Channel::Packets(packets, seal), Some(key)) => {
                let sealed = seal.seal(&outgoing.bytes, *to.ip(), key);
                if packets.foreign_devices {
                    self.try_send(own, to, &outgoing.bytes).ok();
                }
                self.try_send(own, to, &sealed)
            }
            (Channel::Packets(..), None) | (Channel::Beacons(_), _) => {
                self.try_send(own, to, &outgoing.bytes)
            }
        };
        // One peer that can't be reached says nothing of the network.
        if to != self.everybody() {
            return Sockets::Keep;
        }
        self.echo = outgoing.bytes;
        let (sending, sockets) = self.sending.after(&sent, Instant::now());
        match (self.sending, sent) {
            (Sending::Works, Err(error)) => {
                warn!(%to, %error, "datagrams can't be sent: serving alone");
            }
            (Sending::Fails { .. }, Ok(_)) => info!(%to, "datagrams can be sent again"),
            (Sending::Works, Ok(_)) | (Sending::Fails { .. }, Err(_)) => {}
        }
        self.sending = sending;
        sockets
    }

    /// If the system has no room for a datagram, it is dropped; the next one follows (F10).
    fn try_send(&self, own: &UdpSocket, to: SocketAddrV4, bytes: &[u8]) -> io::Result<usize> {
        let sent = own.try_send_to(bytes, to.into());
        match &sent {
            Ok(_) => self.counters.add(Count::Sent),
            Err(error) => {
                self.counters.add(Count::SendFailed);
                trace!(%to, %error, "a datagram was not sent");
            }
        }
        sent
    }

    fn receive(&mut self, bytes: &[u8], from: SocketAddr) {
        let IpAddr::V4(from) = from.ip() else {
            return;
        };
        let Some(keys) = self.settings.keys.get() else {
            return;
        };
        let received = match &self.channel {
            Channel::Beacons(_) if bytes == self.echo => return,
            // One's own comes back from the network.
            Channel::Packets(..) if from == self.settings.hello.address => return,
            Channel::Beacons(_) => self.receive_beacon(bytes, from, &keys),
            Channel::Packets(..) => self.receive_packet(bytes, from, &keys),
        };
        if let Some(event) = received {
            self.traffic.note_arrival();
            self.counters.add(Count::Received);
            self.hand_on(event);
        }
    }

    /// What is in a packet is the brain's affair.
    fn receive_packet(
        &mut self,
        bytes: &[u8],
        from: Ipv4Addr,
        keys: &Keyring,
    ) -> Option<MeshEvent> {
        let Channel::Packets(settings, seal) = &mut self.channel else {
            return None;
        };
        self.traffic.note_urgent(Instant::now());
        let opened = if bytes.len() > MAX_DATAGRAM {
            Err(Count::Oversized)
        } else {
            seal.open(bytes, from, keys, settings.foreign_devices)
        };
        match opened {
            Ok(packet) if packet.is_some_and(|packet| packet.len() > MAX_PACKET) => {
                self.refuse(Count::Oversized, from, &"too long");
                None
            }
            Ok(packet) => Some(MeshEvent::Packet { from, bytes: packet?.to_vec() }),
            Err(count) => {
                self.refuse(count, from, &count.name());
                None
            }
        }
    }

    fn receive_beacon(
        &mut self,
        bytes: &[u8],
        from: Ipv4Addr,
        keys: &Keyring,
    ) -> Option<MeshEvent> {
        if bytes.len() > MAX_DATAGRAM {
            let most = MAX_DATAGRAM;
            self.refuse(Count::Oversized, from, &format!("more than {most} bytes"));
            return None;
        }
        let beacon = match codec::decode_beacon(bytes, keys) {
            Ok(beacon) => beacon,
            Err(error) => {
                self.refuse(count_of(&error), from, &error);
                // Strangers must not keep the loop busy.
                if unreadable(from, &error).is_some() && self.unreadable.take(Instant::now().into())
                {
                    self.hand_on(MeshEvent::Unreadable { from, error });
                }
                return None;
            }
        };
        let hello = &beacon.hello;
        if hello.nonce == self.settings.hello.nonce {
            return None;
        }
        if hello.address != from {
            self.refuse(Count::Address, from, &format!("a beacon of {}", hello.address));
            return None;
        }
        // While bare beacons are accepted, anybody could make a peer's packets look old by one.
        if let Channel::Beacons(hearing) = &self.channel
            && codec::announces_key(bytes)
        {
            hearing.note((from, hello.nonce), beacon.sequence);
        }
        if gather::is_urgent(&beacon) {
            self.traffic.note_urgent(Instant::now());
        }
        Some(MeshEvent::Beacon { from, beacon: Box::new(beacon) })
    }

    /// Counts a datagram that is dropped, and logs it unless datagrams are dropped like this whenever
    /// a node starts or the fleet is upgraded.
    fn refuse(&mut self, count: Count, from: Ipv4Addr, error: &dyn Display) {
        self.counters.add(count);
        trace!(%from, %error, "a datagram was dropped");
        let is_usual = matches!(count, Count::Unproven | Count::Version);
        if is_usual || self.log.opens(&Line::Dropped(count)).is_none() {
            return;
        }
        let (reason, so_far) = (count.name(), self.counters.get(count));
        match self.channel {
            Channel::Beacons(_) => warn!(%from, reason, %error, so_far, "datagrams that are not \
                                         beacons of the fleet are dropped"),
            Channel::Packets(..) => warn!(%from, reason, so_far, "packets that do not come from \
                                          the fleet are dropped"),
        }
    }

    fn hand_on(&self, event: MeshEvent) {
        if self.notes.try_send(Note::Datagram(event)).is_err() {
            self.counters.add(Count::InboxFull);
        }
    }
}

pub(super) fn count_of(error: &WireError) -> Count {
    match error {
        WireError::Unauthenticated => Count::Unauthenticated,
        WireError::Forged => Count::Forged,
        WireError::Foreign => Count::Foreign,
        WireError::Version(_) => Count::Version,
        WireError::Key(_) => Count::Key,
        WireError::Damaged => Count::Damaged,
        WireError::Malformed(_) | WireError::TooLarge { .. } => Count::Malformed,
    }
}

#[cfg(test)]
mod tests {
    use super::super::proven::Proven;
    use super::super::tests::Lan;
    use super::*;

    /// Datagrams that are not beacons neither delay beacons nor, as a flood, fill the socket
    /// meanwhile.
    #[tokio::test]
    async fn strangers_do_not_make_beacons_wait() {
        let (_queue, outgoing) = mpsc::channel(QUEUE);
        let (notes, _inbox) = mpsc::channel(1);
        let settings = Arc::new(Lan::new().settings(1));
        settings.keys.read().expect("none is needed");
        let counters = Arc::new(Counters::default());
        let (_peers, proven) = Proven::nobody();
        let (hearing, _heard) = Hearing::start(proven);
        let channel = Channel::Beacons(hearing);
        let mut task = DatagramTask::new(channel, settings, outgoing, notes, counters);
        let start = Instant::now();
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        for _ in 0..900 {
            task.receive(b"stranger", from);
        }
        assert_eq!(task.traffic.may_wait(start + RETRY), None);
        assert_eq!(task.counters.get(Count::Foreign), 900);

        for _ in 0..100 {
            task.traffic.note_arrival();
        }
        assert!(task.traffic.may_wait(start + RETRY * 2).is_some());
        let flood = |_: &mut [u8]| Ok((0, from));
        task.receive_all(&mut [0; BUFFER], flood).expect("taken in");
        assert_eq!(task.traffic.may_wait(start + RETRY * 2), None);
    }
}
