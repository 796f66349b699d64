//! The task that owns two UDP sockets: for beacons, or for packets of a port of their own.

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
use super::gate::Gate;
use super::gather::{self, Shared, Traffic};
use super::seal::Seal;
use super::socket::{self, DatagramSockets};
use super::{Common, Count, MeshEvent, Note, PacketSettings};
use crate::bucket::Bucket;

/// How many datagrams may wait to be sent; one that finds the queue full is dropped and counted.
pub(super) const QUEUE: usize = 64;

/// Between two attempts to open the sockets, also where no datagram to everybody leaves.
const RETRY: Duration = Duration::from_secs(1);

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
    Beacons,
    Packets(PacketSettings, Seal),
}

pub(super) struct DatagramTask {
    channel: Channel,
    common: Common,
    outgoing: mpsc::Receiver<Outgoing>,
    changes: AddressChanges,
    /// While datagrams to everybody do not leave: when the sockets are opened again.
    reopen_at: Option<Instant>,
    traffic: Traffic,
    echo: Vec<u8>,
    unreadable: Bucket,
    log: Gate<&'static str>,
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

impl DatagramTask {
    pub(super) fn new(
        channel: Channel,
        common: Common,
        outgoing: mpsc::Receiver<Outgoing>,
    ) -> Self {
        let traffic = Traffic::new(common.settings.gather_time, Instant::now());
        Self {
            channel,
            common,
            outgoing,
            changes: AddressChanges::open(),
            reopen_at: None,
            traffic,
            echo: Vec::new(),
            unreadable: Bucket::new(UNREADABLE, UNREADABLE, Instant::now().into()),
            log: Gate::once(),
        }
    }

    pub(super) async fn run(mut self, sockets: Option<DatagramSockets>) {
        if sockets.is_none() {
            self.reopen_at = Some(Instant::now() + RETRY);
        }
        // What comes before there are keys is not for this node.
        let mut opened = sockets.filter(|_| self.common.settings.keys.get().is_some());
        loop {
            let served = match opened.take() {
                Some(sockets) => self.serve(sockets).await,
                None => self.pause().await,
            };
            if let Err(Finished) = served {
                return;
            }
            opened = if self.common.settings.keys.get().is_some() { self.open() } else { None };
        }
    }

    fn open(&mut self) -> Option<DatagramSockets> {
        let settings = &self.common.settings;
        let opened = match &self.channel {
            Channel::Beacons => socket::datagrams(settings.hello.address, settings.broadcast),
            Channel::Packets(packets, _) => packets.open(settings),
        };
        let to = self.everybody();
        match opened {
            Ok(sockets) => return Some(sockets),
            Err(error) if self.reopen_at.is_none() => {
                warn!(%to, %error, "the sockets can't be reopened: serving alone");
                self.reopen_at = Some(Instant::now() + RETRY);
            }
            Err(error) if socket::is_absent(&error) => trace!(%error, "no sockets for datagrams"),
            Err(error) => {
                if self.log.opens(&"not opened") {
                    warn!(%to, %error, "no sockets for datagrams");
                }
            }
        }
        None
    }

    fn everybody(&self) -> SocketAddrV4 {
        match &self.channel {
            Channel::Beacons => self.common.settings.broadcast,
            Channel::Packets(packets, _) => packets.everybody(self.common.settings.broadcast),
        }
    }

    /// Sends and receives until the sockets are to be opened again. That a socket has lost its
    /// group or its interface does not show in what it receives.
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
                () = &mut gathered, if matches!(shared, Shared::Gathered(_)) => Step::Gathered,
                () = self.changes.changed() => Step::AddressesChanged,
            };
            let has_looked = !matches!(step, Step::Own(_));
            let taken = match step {
                Step::Send(None) => return Err(Finished),
                Step::Send(Some(outgoing)) => {
                    self.send(&own, outgoing);
                    if self.reopen_at.is_some_and(|at| at <= Instant::now()) {
                        self.reopen_at = Some(Instant::now() + RETRY);
                        return Ok(());
                    }
                    // What was sent to everybody is there already: it must not wake the process.
                    self.receive_all(&mut buffer, |buffer| shared.look(buffer))
                }
                Step::Own(ready) => ready.and_then(|()| {
                    self.receive_all(&mut buffer, |buffer| own.try_recv_from(buffer))
                }),
                Step::Shared(ready) => ready.and_then(|()| {
                    self.receive_all(&mut buffer, |buffer| shared.try_receive(buffer))
                }),
                Step::Gathered => self.receive_all(&mut buffer, |buffer| shared.look(buffer)),
                Step::AddressesChanged => {
                    // Where datagrams do not leave, the next one that does is worth a line.
                    if self.reopen_at.is_none() && self.log.opens(&"changed") {
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
                // A timer that is set to a later moment still wakes the process at the earlier one.
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
        let keys = Arc::clone(&self.common.settings.keys);
        let is_keyless = keys.get().is_none();
        let has_keys = keys.wait();
        tokio::pin!(retry, has_keys);
        loop {
            tokio::select! {
                () = &mut retry => return Ok(()),
                () = &mut has_keys, if is_keyless => return Ok(()),
                () = self.changes.changed() => return Ok(()),
                outgoing = self.outgoing.recv() => match outgoing {
                    Some(_) => self.common.counters.add(Count::SendFailed),
                    None => return Err(Finished),
                },
            }
        }
    }

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

    fn send(&mut self, own: &UdpSocket, outgoing: Outgoing) {
        let to = outgoing.to;
        if outgoing.urgent {
            self.traffic.note_urgent(Instant::now());
        }
        let keys = self.common.settings.keys.get();
        let key = keys.as_deref().and_then(Keyring::sent);
        let sent = match (&mut self.channel, key) {
            (Channel::Packets(packets, seal), Some(key)) => {
                let sealed = seal.seal(&outgoing.bytes, *to.ip(), key);
                if packets.foreign_devices {
                    self.try_send(own, to, &outgoing.bytes).ok();
                }
                self.try_send(own, to, &sealed)
            }
            (Channel::Packets(..), None) | (Channel::Beacons, _) => {
                self.try_send(own, to, &outgoing.bytes)
            }
        };
        // One peer that can't be reached says nothing of the network.
        if to != self.everybody() {
            return;
        }
        self.echo = outgoing.bytes;
        match (self.reopen_at, sent) {
            (None, Ok(_)) | (Some(_), Err(_)) => {}
            (None, Err(error)) => {
                warn!(%to, %error, "datagrams can't be sent: serving alone");
                self.reopen_at = Some(Instant::now() + RETRY);
            }
            (Some(_), Ok(_)) => {
                info!(%to, "datagrams can be sent again");
                self.reopen_at = None;
            }
        }
    }

    /// If the system has no room for a datagram, it is dropped; the next one follows (F10).
    fn try_send(&self, own: &UdpSocket, to: SocketAddrV4, bytes: &[u8]) -> io::Result<usize> {
        let sent = own.try_send_to(bytes, to.into());
        match &sent {
            Ok(_) => self.common.counters.add(Count::Sent),
            Err(error) => {
                self.common.counters.add(Count::SendFailed);
                trace!(%to, %error, "a datagram was not sent");
            }
        }
        sent
    }

    fn receive(&mut self, bytes: &[u8], from: SocketAddr) {
        let IpAddr::V4(from) = from.ip() else {
            return;
        };
        let Some(keys) = self.common.settings.keys.get() else {
            return;
        };
        let received = match &self.channel {
            Channel::Beacons if bytes == self.echo => return,
            // One's own comes back from the network.
            Channel::Packets(..) if from == self.common.settings.hello.address => return,
            _ if bytes.len() > MAX_DATAGRAM => Err(Count::Oversized),
            Channel::Beacons => self.receive_beacon(bytes, from, &keys),
            Channel::Packets(..) => self.receive_packet(bytes, from, &keys),
        };
        match received {
            Ok(Some(event)) => {
                self.traffic.note_arrival();
                self.common.counters.add(Count::Received);
                self.hand_on(event);
            }
            Ok(None) => {}
            Err(count) => self.refuse(count, from),
        }
    }

    fn receive_packet(
        &mut self,
        bytes: &[u8],
        from: Ipv4Addr,
        keys: &Keyring,
    ) -> Result<Option<MeshEvent>, Count> {
        let Channel::Packets(settings, seal) = &mut self.channel else {
            return Ok(None);
        };
        self.traffic.note_urgent(Instant::now());
        let packet = seal.open(bytes, from, keys, settings.foreign_devices)?;
        if packet.is_some_and(|packet| packet.len() > MAX_PACKET) {
            return Err(Count::Oversized);
        }
        Ok(packet.map(|packet| MeshEvent::Packet { from, bytes: packet.to_vec() }))
    }

    fn receive_beacon(
        &mut self,
        bytes: &[u8],
        from: Ipv4Addr,
        keys: &Keyring,
    ) -> Result<Option<MeshEvent>, Count> {
        let beacon = codec::decode_beacon(bytes, keys).map_err(|error| {
            let count = count_of(&error);
            // Strangers must not keep the loop busy.
            if unreadable(from, &error).is_some() && self.unreadable.take(Instant::now().into()) {
                self.hand_on(MeshEvent::Unreadable { from, error });
            }
            count
        })?;
        let hello = &beacon.hello;
        if hello.nonce == self.common.settings.hello.nonce {
            return Ok(None);
        }
        if hello.address != from {
            return Err(Count::Address);
        }
        self.common.proven.note((from, hello.nonce), beacon.sequence);
        if gather::is_urgent(&beacon) {
            self.traffic.note_urgent(Instant::now());
        }
        Ok(Some(MeshEvent::Beacon { from, beacon: Box::new(beacon) }))
    }

    /// Counts a datagram that is dropped, and logs it unless such ones are usual.
    fn refuse(&mut self, count: Count, from: Ipv4Addr) {
        self.common.counters.add(count);
        let (reason, so_far) = (count.name(), self.common.counters.get(count));
        trace!(%from, reason, "a datagram was dropped");
        let is_usual = matches!(count, Count::Unproven | Count::Version);
        if is_usual || !self.log.opens(&reason) {
            return;
        }
        match self.channel {
            Channel::Beacons => {
                warn!(%from, reason, so_far, "datagrams that are not beacons of the fleet are dropped");
            }
            Channel::Packets(..) => {
                warn!(%from, reason, so_far, "packets that do not come from the fleet are dropped");
            }
        }
    }

    fn hand_on(&self, event: MeshEvent) {
        if self.common.notes.try_send(Note::Datagram(event)).is_err() {
            self.common.counters.add(Count::InboxFull);
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
