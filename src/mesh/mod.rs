//! The node's sockets: datagrams to everybody, links to single peers.
//!
//! ```text
//!   Mesh::broadcast, unicast ─▶ queue ─▶ datagram task ─▶ UDP      UDP ─▶ datagram task ─┐
//!   Mesh::send_packet ────────▶ queue ─▶ datagram task ─▶ UDP      UDP ─▶ datagram task ─┤
//!   Mesh::dial ───────────────────────▶ dial task ──┐                                    │
//!                        TCP ─▶ accept task ─▶ greeting ─▶ Hello exchanged ─▶ link task ─┤
//!   Mesh::send, close ──▶ queue of the link ─▶ link task ─▶ TCP                          ▼
//!                                                           Mesh::next_event ◀─── inbox ─┘
//! ```
//!
//! | task | its job | why ending it is safe |
//! | --- | --- | --- |
//! | datagram | owns both UDP sockets of the beacons: sends what is queued, receives, checks, hands on; under `ballot` another one those of the packets | a lost datagram does no harm (F10) |
//! | accept | owns the listener, and the greetings with those who came in | the peer dials again |
//! | greeting | exchanges `Hello` with one who came in, within a time limit | no link exists yet |
//! | keys | reads the fleet keys until it has all of them, then ends | the process reads them at its next start |
//! | dial | connects, exchanges `Hello`, ends | no link exists yet |
//! | link | reads and writes one link until either side ends it | the peer sees the end and rejoins with its full state |
//!
//! A task that panics, or ends although it never should, is reported as [`MeshEvent::Failed`]: a
//! restarted node is better than half a mesh.
//!
//! Every task's handle is in one of the [`Mesh`]'s `JoinSet`s (greetings: in the accept task's), so
//! dropping the mesh ends them all. [`Mesh`] itself is owned by the runtime loop; its methods never
//! wait, except for the next event, the keys and the end.
//!
//! A missing address, cable or interface is not an error: the node serves alone, says so once, and
//! tries again every second. The sockets for datagrams are reopened when addresses change, because
//! a recreated interface has lost their multicast groups.

mod accept;
mod addresses;
mod cipher;
mod count;
mod datagram;
mod event;
mod gate;
mod gather;
mod greeting;
mod keys;
mod link;
mod links;
mod packets;
mod proven;
mod seal;
mod settings;
mod socket;

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use elevator_fleet::model::NodeId;
use elevator_fleet::node::{BeaconFate, LinkId, LinkSide};
use elevator_fleet::wire::codec;
use elevator_fleet::wire::{Beacon, Frame};
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinSet};
use tracing::{error, info, trace, warn};

pub(crate) use self::addresses::{OwnAddress, Residence, address_of, mac_of};
pub(crate) use self::count::{Count, Counters};
use self::datagram::{Channel, DatagramTask, Outgoing};
pub(crate) use self::event::Cable;
pub use self::event::MeshEvent;
use self::event::Note;
use self::gate::Gate;
pub(crate) use self::gather::gather_time;
use self::link::LinkEnd;
use self::links::Links;
pub(crate) use self::packets::PacketSettings;
pub(crate) use self::proven::Peers;
use self::proven::Proven;
use self::seal::Seal;
pub use self::settings::{LinkTimes, MeshSettings};
use self::socket::DatagramSockets;
pub use self::socket::MeshError;
pub(crate) use self::socket::listen;
use crate::fleet_key::Keys;

/// How many events may wait for the runtime loop. Beyond it links wait, which their peers notice as
/// a slow connection, and datagrams are dropped and counted: the next one serves.
pub(crate) const INBOX: usize = 1024;

/// How long the shutdown of the mesh may take; what is still queued then is dropped.
pub(crate) const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(1);

type Loss = Option<&'static str>;

enum Step {
    Note(Note),
    Ended(Result<Loss, JoinError>),
}

#[derive(Debug, Clone)]
struct Common {
    settings: Arc<MeshSettings>,
    notes: mpsc::Sender<Note>,
    counters: Arc<Counters>,
    proven: Proven,
}

#[derive(Debug)]
pub struct Mesh {
    common: Common,
    /// Tasks that may be ended at any moment: accept, dials, keys.
    openers: JoinSet<Loss>,
    /// Tasks that get time to send what is queued. So do those of the links.
    carriers: JoinSet<Loss>,
    datagrams: mpsc::Sender<Outgoing>,
    packets: Option<mpsc::Sender<Outgoing>>,
    links: Links,
    inbox: mpsc::Receiver<Note>,
    beacon: Arc<AtomicU64>,
    dial_log: Gate<NodeId>,
    replay_log: Gate<()>,
    cable: Cable,
}

impl Mesh {
    /// Opens the sockets, if the node has its address, and starts the tasks.
    ///
    /// # Errors
    /// [`MeshError`]: another process uses a port, or the addresses are no good. Nothing runs.
    pub fn start(settings: MeshSettings) -> Result<Self, MeshError> {
        let settings = Arc::new(settings);
        let address = settings.hello.address;
        let is_open = settings.keys.let_anybody_in();
        if is_open && address.is_loopback() {
            warn!("no fleet key: any account on this machine can command the cars");
        } else if is_open {
            warn!("fleet_keys = none: anybody on the network can command the cars");
        }
        let (broadcast, port) = (settings.broadcast, settings.link_port);
        if broadcast.ip().is_broadcast() {
            return Err(MeshError::LimitedBroadcast(broadcast));
        }
        let datagram_sockets = socket::datagrams(address, broadcast);
        let key = ("the port of broadcast", broadcast.port());
        let datagram_sockets = socket::at_start(datagram_sockets, &settings, key)?;
        let packet_sockets = match &settings.packets {
            Some(packets) => packets.at_start(&settings)?,
            None => None,
        };
        let listener = socket::listener(address, port);
        let listener = socket::at_start(listener, &settings, ("link_port", port))?;
        if datagram_sockets.is_none() || listener.is_none() {
            warn!(
                %address,
                %broadcast,
                "no network with these addresses: serving alone until there is one"
            );
        }
        let (notes, inbox) = mpsc::channel(INBOX);
        let (counters, proven) = Default::default();
        let common = Common { settings: Arc::clone(&settings), notes, counters, proven };
        let beacon = Arc::new(AtomicU64::new(0));
        let mut openers = JoinSet::new();
        let mut carriers = JoinSet::new();
        let mut carry = |channel: Channel, sockets: Option<DatagramSockets>| {
            let (datagrams, outgoing) = mpsc::channel(datagram::QUEUE);
            let task = DatagramTask::new(channel, common.clone(), outgoing);
            carriers.spawn(async move {
                task.run(sockets).await;
                Some("the task of the datagrams has ended")
            });
            datagrams
        };
        let datagrams = carry(Channel::Beacons, datagram_sockets);
        let packets = settings.packets.clone().map(|packets| {
            let everybody = *packets.everybody(broadcast).ip();
            let beacon = Arc::clone(&beacon);
            let seal = Seal::new(&settings.hello, everybody, beacon, common.proven.clone());
            carry(Channel::Packets(packets, seal), packet_sockets)
        });
        let accept = accept::run(listener, common.clone());
        openers.spawn(async move {
            accept.await;
            Some("the task that takes connections in has ended")
        });
        let reading = keys::read_all(common.clone());
        openers.spawn(async move {
            reading.await;
            None
        });
        Ok(Self {
            openers,
            carriers,
            datagrams,
            packets,
            links: Links::new(common.clone()),
            inbox,
            beacon,
            dial_log: Gate::once(),
            replay_log: Gate::once(),
            cable: Cable::Whole,
            common,
        })
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.common.counters
    }

    /// Waits until the keys were tried for the first time; not for long, as a disk may hang.
    pub(crate) async fn wait_for_keys(&self) {
        if tokio::time::timeout(keys::LIMIT, self.common.settings.keys.tried()).await.is_err() {
            warn!("the fleet keys can't be read yet: serving alone until they can");
        }
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.common.settings.keys
    }

    /// Names the peers that have proven that they hear this node. With a key, no others count.
    pub(crate) fn set_proven(&self, peers: &Peers) {
        self.common.proven.set(peers);
    }

    pub(crate) fn note_fate(&mut self, from: Ipv4Addr, fate: BeaconFate) {
        match fate {
            BeaconFate::Used | BeaconFate::Ignored => {}
            // Several fleets may share a network.
            BeaconFate::Foreign => self.common.counters.add(Count::Foreign),
            // So it begins with every node that starts.
            BeaconFate::Unproven => self.common.counters.add(Count::Unproven),
            BeaconFate::Replayed => {
                self.common.counters.add(Count::Replayed);
                if self.replay_log.opens(&()) {
                    let so_far = self.common.counters.get(Count::Replayed);
                    warn!(%from, so_far, "replayed beacons are dropped");
                }
            }
        }
    }

    /// Fault injection: a cut cable carries nothing. Repairing it closes all links: they lack
    /// frames.
    pub(crate) fn set_cable(&mut self, cable: Cable) {
        self.cable = cable;
        if cable == Cable::Whole {
            let why = "frames were dropped while the cable was cut";
            self.links.give_all_up(&LinkEnd::Sound(why));
        }
    }

    pub fn broadcast(&self, beacon: &Beacon) {
        self.send_datagram(self.common.settings.broadcast, beacon);
    }

    pub(crate) fn unicast(&self, to: Ipv4Addr, beacon: &Beacon) {
        let to = SocketAddrV4::new(to, self.common.settings.broadcast.port());
        self.send_datagram(to, beacon);
    }

    /// Sends a packet to one node or device, or to all, if there is a port for packets.
    pub(crate) fn send_packet(&self, to: Option<Ipv4Addr>, bytes: Vec<u8>) {
        let (Some(queue), Some(settings)) = (&self.packets, &self.common.settings.packets) else {
            return;
        };
        let to = match to {
            Some(to) => SocketAddrV4::new(to, settings.port),
            None => settings.everybody(self.common.settings.broadcast),
        };
        let urgent = true;
        self.enqueue(queue, Outgoing { to, bytes, urgent });
    }

    /// Opens a link; answered by [`MeshEvent::LinkUp`] or [`MeshEvent::DialFailed`] in time.
    pub fn dial(&mut self, peer: NodeId, address: SocketAddrV4) {
        let settings = Arc::clone(&self.common.settings);
        let notes = self.common.notes.clone();
        self.openers.spawn(async move {
            let note = match greeting::dial(&settings, &peer, address).await {
                Ok((connection, peer)) => Note::Greeted {
                    connection: Box::new(connection),
                    peer,
                    side: LinkSide::Dialled,
                },
                Err(error) => Note::DialFailed { peer, error },
            };
            if notes.send(note).await.is_err() {
                trace!("dial outlived the mesh");
            }
            None
        });
    }

    /// Sends a frame over a link, if it is there. One whose queue is full is given up.
    pub fn send(&mut self, link: LinkId, frame: &Frame) {
        if self.cable == Cable::Whole {
            self.links.send(link, frame);
        }
    }

    /// Closes a link after everything sent before has left.
    pub(crate) fn close(&mut self, link: LinkId) {
        self.links.close(link);
    }

    /// Waits for the next event. Cancel-safe: no event is lost.
    pub async fn next_event(&mut self) -> MeshEvent {
        loop {
            if let Some(link) = self.links.given_up.pop_front() {
                return MeshEvent::LinkDown { link };
            }
            let step = tokio::select! {
                Some(note) = self.inbox.recv() => Step::Note(note),
                Some(ended) = self.openers.join_next() => Step::Ended(ended),
                Some(ended) = self.carriers.join_next() => Step::Ended(ended),
                Some(ended) = self.links.tasks.join_next() => Step::Ended(ended),
            };
            let event = match step {
                Step::Note(note) => self.on_note(note),
                Step::Ended(ended) => failure(ended).map(|reason| MeshEvent::Failed { reason }),
            };
            if let Some(event) = event {
                return event;
            }
        }
    }

    /// Closes every link, sends what is queued and ends every task, within [`SHUT_DOWN_LIMIT`].
    pub async fn shut_down(self) {
        let Self { openers, mut carriers, datagrams, packets, links, mut inbox, common, .. } = self;
        let mut linked = links.end();
        drop((openers, datagrams, packets, common));
        let ended = async {
            while !(carriers.is_empty() && linked.is_empty()) {
                // They are to end now, and a panic was logged.
                tokio::select! {
                    // A link that waits for room in the inbox would not get to its end.
                    Some(_) = inbox.recv() => {}
                    Some(_) = carriers.join_next() => {}
                    Some(_) = linked.join_next() => {}
                }
            }
        };
        if tokio::time::timeout(SHUT_DOWN_LIMIT, ended).await.is_err() {
            info!("some links did not send everything in their queues");
        }
    }

    fn send_datagram(&self, to: SocketAddrV4, beacon: &Beacon) {
        self.beacon.store(beacon.sequence, Ordering::Relaxed);
        let Some(keys) = self.common.settings.keys.get() else {
            return self.common.counters.add(Count::SendFailed);
        };
        match codec::encode_beacon(beacon, &keys) {
            Ok(bytes) => {
                let urgent = gather::is_urgent(beacon);
                self.enqueue(&self.datagrams, Outgoing { to, bytes, urgent });
            }
            Err(error) => {
                self.common.counters.add(Count::SendFailed);
                error!(%error, "a beacon can't be encoded");
            }
        }
    }

    /// The lengths of the inbox, of the queue of datagrams, and of the longest queue of a link.
    pub(crate) fn queued(&self) -> [usize; 3] {
        let datagrams = length(&self.datagrams) + self.packets.as_ref().map_or(0, length);
        [length(&self.common.notes), datagrams, self.links.queued()]
    }

    fn enqueue(&self, queue: &mpsc::Sender<Outgoing>, outgoing: Outgoing) {
        if self.cable == Cable::Whole && queue.try_send(outgoing).is_err() {
            self.common.counters.add(Count::SendQueueFull);
        }
    }

    fn on_note(&mut self, note: Note) -> Option<MeshEvent> {
        let note = match self.cable {
            Cable::Whole => note,
            Cable::Cut => note.through_cut()?,
        };
        match note {
            Note::Datagram(event) => Some(event),
            Note::KeysRead => Some(MeshEvent::KeysRead),
            Note::Greeted { connection, peer, side } => self.links.open(*connection, peer, side),
            Note::DialFailed { peer, error } => {
                if self.dial_log.opens(&peer) {
                    warn!(%peer, %error, "a peer that is heard can't be dialled");
                }
                Some(MeshEvent::DialFailed { peer })
            }
            Note::Frame { link, frame, place } => {
                drop(place);
                self.links.has(link).then_some(MeshEvent::Frame { link, frame })
            }
            Note::Ended { link, end } => self.links.on_ended(link, &end),
        }
    }
}

fn length<T>(queue: &mpsc::Sender<T>) -> usize {
    queue.max_capacity() - queue.capacity()
}

fn failure(ended: Result<Loss, JoinError>) -> Option<String> {
    match ended {
        Ok(loss) => loss.map(str::to_owned),
        // This node gave a link up.
        Err(error) if error.is_cancelled() => None,
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
impl Mesh {
    pub(crate) fn panic_in_a_task(&mut self) {
        self.carriers.spawn(async { panic!("injected") });
    }
}

#[cfg(test)]
pub(crate) mod tests;
