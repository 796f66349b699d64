//! The task that owns two UDP sockets: for beacons, or for packets of a port of their own.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Duration;

use elevator_fleet::coordination::ballot::packet::MAX_PACKET;
use elevator_fleet::wire::codec::{self, MAX_DATAGRAM, WireError};
use tokio::sync::mpsc;
use tracing::{info, trace, warn};

use super::log_gate::LogGate;
use super::socket::{self, DatagramSockets};
use super::{Count, Counters, MeshSettings, Note, PacketSettings};

/// How many datagrams may wait to be sent; one that finds the queue full is dropped and counted.
pub(super) const QUEUE: usize = 64;

/// Between two attempts to open the sockets.
const RETRY: Duration = Duration::from_secs(1);

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
    pub(super) channel: Channel,
    pub(super) settings: Arc<MeshSettings>,
    pub(super) outgoing: mpsc::Receiver<Outgoing>,
    pub(super) notes: mpsc::Sender<Note>,
    pub(super) counters: Arc<Counters>,
}

/// Nobody wants datagrams sent any more.
#[derive(Debug)]
struct Finished;

enum Step {
    Send(Option<Outgoing>),
    Own(io::Result<(usize, SocketAddr)>),
    Shared(io::Result<(usize, SocketAddr)>),
}

/// Whether broadcasts leave, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sending {
    Works,
    Fails,
}

impl DatagramTask {
    pub(super) async fn run(mut self, sockets: Option<DatagramSockets>) {
        let mut opened = sockets;
        loop {
            let served = match opened.take() {
                Some(sockets) => self.serve(&sockets).await,
                None => Ok(()),
            };
            if served.is_err() || self.pause().await.is_err() {
                return;
            }
            match self.open() {
                Ok(sockets) => {
                    info!(address = %self.settings.hello.address, "the network is there");
                    opened = Some(sockets);
                }
                Err(error) => trace!(%error, "no sockets for datagrams yet"),
            }
        }
    }

    fn open(&self) -> io::Result<DatagramSockets> {
        let settings = &self.settings;
        match &self.channel {
            Channel::Beacons => socket::datagrams(settings.hello.address, settings.broadcast),
            Channel::Packets(packets) => packets.again(settings),
        }
    }

    /// Sends and receives until a socket breaks.
    async fn serve(&mut self, sockets: &DatagramSockets) -> Result<(), Finished> {
        let (mut own, mut shared) = ([0; BUFFER], [0; BUFFER]);
        let mut sending = Sending::Works;
        let mut log = LogGate::default();
        // A fresh socket refuses to try before the runtime has seen it ready once.
        if let Err(error) = sockets.own.writable().await {
            trace!(%error, "the first datagram may not leave");
        }
        loop {
            let step = tokio::select! {
                outgoing = self.outgoing.recv() => Step::Send(outgoing),
                received = sockets.own.recv_from(&mut own) => Step::Own(received),
                received = sockets.shared.recv_from(&mut shared) => Step::Shared(received),
            };
            let broken = match step {
                Step::Send(None) => return Err(Finished),
                Step::Send(Some(outgoing)) => {
                    self.send(sockets, &outgoing, &mut sending);
                    continue;
                }
                Step::Own(Ok((length, from))) => {
                    self.receive(&own[..length], from, &mut log);
                    continue;
                }
                Step::Shared(Ok((length, from))) => {
                    self.receive(&shared[..length], from, &mut log);
                    continue;
                }
                Step::Own(Err(error)) | Step::Shared(Err(error)) => error,
            };
            warn!(error = %broken, "datagrams can't be received: the sockets are opened again");
            return Ok(());
        }
    }

    /// Waits before the sockets are tried again; what is to be sent meanwhile is dropped.
    async fn pause(&mut self) -> Result<(), Finished> {
        let retry = tokio::time::sleep(RETRY);
        tokio::pin!(retry);
        loop {
            tokio::select! {
                () = &mut retry => return Ok(()),
                outgoing = self.outgoing.recv() => match outgoing {
                    Some(_) => self.counters.add(Count::SendFailed),
                    None => return Err(Finished),
                },
            }
        }
    }

    fn send(&self, sockets: &DatagramSockets, outgoing: &Outgoing, sending: &mut Sending) {
        let to = outgoing.to;
        // A system without room for a datagram drops it; the next one serves (F10).
        let sent = sockets.own.try_send_to(&outgoing.bytes, to.into());
        let outcome = match &sent {
            Ok(_) => {
                self.counters.add(Count::Sent);
                Sending::Works
            }
            Err(error) => {
                self.counters.add(Count::SendFailed);
                trace!(%to, %error, "a datagram was not sent");
                Sending::Fails
            }
        };
        // One peer that can't be reached says nothing of the network.
        let everybody = match &self.channel {
            Channel::Beacons => self.settings.broadcast,
            Channel::Packets(packets) => packets.everybody(self.settings.broadcast),
        };
        if to == everybody && outcome != *sending {
            *sending = outcome;
            match sent {
                Ok(_) => info!(%to, "datagrams leave"),
                Err(error) => warn!(%to, %error, "datagrams can't leave: serving alone"),
            }
        }
    }

    fn receive(&self, bytes: &[u8], from: SocketAddr, log: &mut LogGate<Count>) {
        let IpAddr::V4(from) = from.ip() else {
            return;
        };
        match &self.channel {
            Channel::Beacons => self.receive_beacon(bytes, from, log),
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

    fn receive_beacon(&self, bytes: &[u8], from: Ipv4Addr, log: &mut LogGate<Count>) {
        let beacon = match codec::decode_beacon(bytes) {
            Ok(beacon) => beacon,
            Err(error) => {
                let count = count_of(&error);
                self.counters.add(count);
                trace!(%from, %error, "a datagram was dropped");
                if log.opens(&count) {
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
        self.counters.add(Count::Received);
        let beacon = Box::new(beacon);
        if self.notes.try_send(Note::Beacon { from, beacon }).is_err() {
            self.counters.add(Count::InboxFull);
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
