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
//! Every task's handle is in one of the [`Mesh`]'s two `JoinSet`s (greetings: in the accept
//! task's), so dropping the mesh ends them all. [`Mesh`] itself is owned by the runtime loop; its
//! methods never wait, except for the next event and the end, and before the loop begins for the
//! first attempt to read the fleet keys (200 ms at most).
//!
//! A missing address, a missing cable or an interface that is down is not an error: the node serves
//! alone, reports that once, and tries again every second. The sockets for datagrams are reopened
//! when the addresses of the machine change, because a recreated interface has lost their multicast
//! groups.

mod accept;
mod addresses;
mod cipher;
mod count;
mod datagram;
mod event;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod gather;
mod greeting;
mod heard;
mod interface;
mod keys;
mod link;
mod log_gate;
mod packets;
mod proven;
mod seal;
mod settings;
mod socket;

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::{BeaconFate, FleetKeysStatus, LinkId, LinkSide};
use elevator_fleet::wire::{Beacon, Frame, Hello, codec};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinError, JoinSet};
use tracing::{error, info, trace, warn};

pub(crate) use self::addresses::{OwnAddress, Residence};
pub(crate) use self::count::{Count, Counters};
use self::datagram::{Channel, DatagramTask, Outgoing};
pub(crate) use self::event::Cable;
pub use self::event::MeshEvent;
use self::event::Note;
pub(crate) use self::gather::gather_time;
use self::greeting::Connection;
use self::heard::Hearing;
pub(crate) use self::interface::{address_of, mac_of};
use self::keys::KeyState;
pub(crate) use self::link::LINK_QUEUE;
use self::link::LinkEnd;
use self::log_gate::LogGate;
pub(crate) use self::packets::PacketSettings;
pub(crate) use self::proven::Peers;
use self::proven::Proven;
use self::seal::Seal;
pub use self::settings::{LinkTimes, MeshSettings};
use self::socket::DatagramSockets;
pub use self::socket::MeshError;
pub(crate) use self::socket::listen;

/// The most links in total, several times as many as the largest fleet needs. More are refused.
const LINKS: usize = 512;

/// The most links per address. A further one replaces the oldest.
const LINKS_PER_ADDRESS: usize = 4;

/// How many events may wait for the runtime loop. Beyond it links wait, which their peers notice as
/// a slow connection, and datagrams are dropped and counted: the next one serves.
pub(crate) const INBOX: usize = 1024;

/// How long the shutdown of the mesh may take; what is still queued then is dropped.
pub(crate) const SHUT_DOWN_LIMIT: Duration = Duration::from_secs(1);

/// The log lines about a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum LinkLine {
    Up,
    Down,
    TooMany,
}

/// The purpose of a task that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Task {
    Accept,
    Dial,
    Datagrams,
    Keys,
    Link,
}

/// What the mesh waits for.
enum Step {
    Note(Note),
    Ended(Result<Task, JoinError>),
}

/// A link as the mesh keeps it.
#[derive(Debug)]
struct Link {
    peer: NodeId,
    /// The peer's address, verified against the connection's source.
    address: Ipv4Addr,
    queue: mpsc::Sender<Bytes>,
    task: AbortHandle,
}

/// The node's sockets.
#[derive(Debug)]
pub struct Mesh {
    settings: Arc<MeshSettings>,
    /// Tasks that may be ended at any moment: accept, dials.
    openers: JoinSet<Task>,
    /// Tasks that get time to send what is queued: datagrams, links.
    carriers: JoinSet<Task>,
    datagrams: mpsc::Sender<Outgoing>,
    packets: Option<mpsc::Sender<Outgoing>>,
    links: BTreeMap<LinkId, Link>,
    next_link: u64,
    inbox: mpsc::Receiver<Note>,
    notes: mpsc::Sender<Note>,
    /// Links that this side gave up, which were not reported to the node yet.
    given_up: VecDeque<LinkId>,
    counters: Arc<Counters>,
    proven: watch::Sender<Peers>,
    /// The sequence of the latest beacon, which packets name.
    beacon: Arc<AtomicU64>,
    keys: KeyState,
    dial_log: LogGate<NodeId>,
    link_log: LogGate<(NodeId, LinkLine)>,
    replay_log: LogGate<()>,
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
        if settings.keys.let_anybody_in() {
            warn!("fleet_keys = none: anybody on the network can command the cars");
        }
        if settings.keys.let_machine_in() {
            warn!("no fleet key: any account on this machine can command the cars");
        }
        let datagram_sockets = socket::at_start(&settings, socket::Kind::Datagrams, |settings| {
            socket::datagrams(settings.hello.address, settings.broadcast)
        })?;
        let packet_sockets = match &settings.packets {
            Some(packets) => packets.at_start(&settings)?,
            None => None,
        };
        let listener = socket::at_start(&settings, socket::Kind::Links, |settings| {
            socket::listener(settings.hello.address, settings.link_port)
        })?;
        if datagram_sockets.is_none() || listener.is_none() {
            warn!(
                %address,
                broadcast = %settings.broadcast,
                "no network with these addresses: serving alone until there is one"
            );
        }
        // No sooner: nothing is read for a node that can't start.
        let (keys, reading) = KeyState::begin(&settings.keys);
        let (notes, inbox) = mpsc::channel(INBOX);
        let (proven, peers) = Proven::nobody();
        let (hearing, heard) = Hearing::start(peers.clone());
        let beacon = Arc::new(AtomicU64::new(0));
        let counters = Arc::new(Counters::default());
        let mut openers = JoinSet::new();
        let mut carriers = JoinSet::new();
        let mut carry = |channel: Channel, sockets: Option<DatagramSockets>| {
            let (datagrams, outgoing) = mpsc::channel(datagram::QUEUE);
            let (settings, counters) = (Arc::clone(&settings), Arc::clone(&counters));
            let task = DatagramTask::new(channel, settings, outgoing, notes.clone(), counters);
            carriers.spawn(async move {
                task.run(sockets).await;
                Task::Datagrams
            });
            datagrams
        };
        let datagrams = carry(Channel::Beacons(hearing), datagram_sockets);
        let packets = settings.packets.clone().map(|packets| {
            let everybody = *packets.everybody(settings.broadcast).ip();
            let beacon = Arc::clone(&beacon);
            let seal = Seal::new(&settings.hello, everybody, beacon, peers.clone(), heard);
            carry(Channel::Packets(packets, seal), packet_sockets)
        });
        let accept = accept::run(
            listener,
            Arc::clone(&settings),
            notes.clone(),
            Arc::clone(&counters),
            peers.clone(),
        );
        openers.spawn(async move {
            accept.await;
            Task::Accept
        });
        let reading = reading.run(notes.clone());
        openers.spawn(async move {
            reading.await;
            Task::Keys
        });
        Ok(Self {
            settings,
            openers,
            carriers,
            datagrams,
            packets,
            links: BTreeMap::new(),
            next_link: 1,
            inbox,
            notes,
            given_up: VecDeque::new(),
            counters,
            proven,
            beacon,
            keys,
            dial_log: LogGate::new(log_gate::ONE),
            link_log: LogGate::new(log_gate::SOME),
            replay_log: LogGate::new(log_gate::ONE),
            cable: Cable::Whole,
        })
    }

    /// What has come and gone since the start.
    #[must_use]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Waits until it was tried once to read the fleet keys, so that a node that starts is not alone
    /// for a moment because of them; for a short time only, as a disk may hang.
    pub(crate) fn wait_for_keys(&mut self) {
        self.keys.wait();
    }

    /// The fleet keys in use, if there are any.
    pub(crate) fn fleet_keys_in_use(&self) -> Option<FleetKeysStatus> {
        self.keys.in_use()
    }

    /// The fleet keys in use, and why others are missing.
    pub(crate) fn fleet_keys(&self) -> FleetKeysStatus {
        self.keys.status()
    }

    /// Names the peers that have proven by their beacons that they hear this node. With a key, links
    /// and packets of others are not taken in.
    pub(crate) fn set_proven(&self, peers: Peers) {
        self.proven.send_if_modified(|known| {
            let is_new = *known != peers;
            *known = peers;
            is_new
        });
    }

    /// Counts what became of a beacon that was received.
    pub(crate) fn note_fate(&mut self, from: Ipv4Addr, fate: BeaconFate) {
        match fate {
            BeaconFate::Used | BeaconFate::Ignored => {}
            // Several fleets may share a network.
            BeaconFate::Foreign => self.counters.add(Count::Foreign),
            // So it begins with every node that starts.
            BeaconFate::Unproven => self.counters.add(Count::Unproven),
            BeaconFate::Replayed => {
                self.counters.add(Count::Replayed);
                if self.replay_log.opens(&()).is_some() {
                    let so_far = self.counters.get(Count::Replayed);
                    warn!(%from, so_far, "replayed beacons are dropped");
                }
            }
        }
    }

    /// Fault injection: a mesh with a cut cable receives and sends nothing. A link that survived
    /// the cut has lost frames in it, so mending the cable gives up all links.
    pub(crate) fn set_cable(&mut self, cable: Cable) {
        self.cable = cable;
        if cable == Cable::Whole {
            let links: Vec<LinkId> = self.links.keys().copied().collect();
            for link in links {
                self.give_up(link, &LinkEnd::Mended);
            }
        }
    }

    /// Sends a beacon to everybody.
    pub fn broadcast(&self, beacon: &Beacon) {
        self.send_datagram(self.settings.broadcast, beacon);
    }

    /// Sends a beacon to one node.
    pub(crate) fn unicast(&self, to: Ipv4Addr, beacon: &Beacon) {
        let to = SocketAddrV4::new(to, self.settings.broadcast.port());
        self.send_datagram(to, beacon);
    }

    /// Sends a packet to one node or device, or to all. Does nothing if there is no port for
    /// packets.
    pub(crate) fn send_packet(&self, to: Option<Ipv4Addr>, bytes: Vec<u8>) {
        let (Some(queue), Some(settings)) = (&self.packets, &self.settings.packets) else {
            return;
        };
        let to = match to {
            Some(to) => SocketAddrV4::new(to, settings.port),
            None => settings.everybody(self.settings.broadcast),
        };
        let urgent = true;
        self.enqueue(queue, Outgoing { to, bytes, urgent });
    }

    /// Opens a link. Answered by [`MeshEvent::LinkUp`] or [`MeshEvent::DialFailed`] within
    /// [`LinkTimes::connect`] and [`LinkTimes::greeting`].
    pub fn dial(&mut self, peer: NodeId, address: SocketAddrV4) {
        let settings = Arc::clone(&self.settings);
        let notes = self.notes.clone();
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
            Task::Dial
        });
    }

    /// Sends a frame over a link; nothing happens if the link is gone.
    ///
    /// A link with a full queue is given up: its peer rejoins with its full state.
    pub fn send(&mut self, link: LinkId, frame: &Frame) {
        let Some(known) = self.links.get(&link).filter(|_| self.cable == Cable::Whole) else {
            return;
        };
        let sent = match codec::encode_frame(frame) {
            Ok(bytes) => known.queue.try_send(bytes.into()).map_err(|refused| match refused {
                mpsc::error::TrySendError::Full(_) => LinkEnd::QueueFull,
                mpsc::error::TrySendError::Closed(_) => LinkEnd::Closed,
            }),
            Err(error) => Err(LinkEnd::Wire(error)),
        };
        if let Err(end) = sent {
            self.give_up(link, &end);
        }
    }

    /// Closes a link after everything sent before has left.
    pub(crate) fn close(&mut self, link: LinkId) {
        // The link's task sends the rest of the queue when it sees that there are no senders left.
        self.forget(link, &LinkEnd::ClosedHere);
    }

    /// Waits for the next event. Cancel-safe: no event is lost.
    pub async fn next_event(&mut self) -> MeshEvent {
        loop {
            if let Some(link) = self.given_up.pop_front() {
                return MeshEvent::LinkDown { link };
            }
            let step = tokio::select! {
                Some(note) = self.inbox.recv() => Step::Note(note),
                Some(ended) = self.openers.join_next() => Step::Ended(ended),
                Some(ended) = self.carriers.join_next() => Step::Ended(ended),
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
        let Self { openers, mut carriers, datagrams, packets, links, mut inbox, notes, .. } = self;
        drop((openers, datagrams, packets, links, notes));
        let ended = async {
            loop {
                tokio::select! {
                    // A link that waits for room in the inbox would not get to its end.
                    Some(_) = inbox.recv() => {}
                    ended = carriers.join_next() => match ended {
                        // They are to end now, and a panic was logged.
                        Some(_) => {}
                        None => break,
                    },
                }
            }
        };
        if tokio::time::timeout(SHUT_DOWN_LIMIT, ended).await.is_err() {
            info!("some links did not send everything in their queues");
        }
    }

    fn send_datagram(&self, to: SocketAddrV4, beacon: &Beacon) {
        self.beacon.store(beacon.sequence, Ordering::Relaxed);
        let Some(keys) = self.settings.keys.get() else {
            return self.counters.add(Count::SendFailed);
        };
        match codec::encode_beacon(beacon, &keys) {
            Ok(bytes) => {
                let urgent = gather::is_urgent(beacon);
                self.enqueue(&self.datagrams, Outgoing { to, bytes, urgent });
            }
            Err(error) => {
                self.counters.add(Count::SendFailed);
                error!(%error, "a beacon can't be encoded");
            }
        }
    }

    /// How many events wait for the node's loop, how many datagrams wait to be sent, and how many frames
    /// wait at the link with the most.
    pub(crate) fn queued(&self) -> [usize; 3] {
        fn length<T>(queue: &mpsc::Sender<T>) -> usize {
            queue.max_capacity() - queue.capacity()
        }
        let datagrams = length(&self.datagrams) + self.packets.as_ref().map_or(0, length);
        let frames = self.links.values().map(|link| length(&link.queue)).max();
        [length(&self.notes), datagrams, frames.unwrap_or(0)]
    }

    fn enqueue(&self, queue: &mpsc::Sender<Outgoing>, outgoing: Outgoing) {
        if self.cable == Cable::Whole && queue.try_send(outgoing).is_err() {
            self.counters.add(Count::SendQueueFull);
        }
    }

    /// Ends a link at once; the node gets an event.
    fn give_up(&mut self, link: LinkId, end: &LinkEnd) {
        if let Some(known) = self.links.get(&link) {
            known.task.abort();
            self.given_up.push_back(link);
            self.forget(link, end);
        }
    }

    fn on_note(&mut self, note: Note) -> Option<MeshEvent> {
        let note = match self.cable {
            Cable::Whole => note,
            Cable::Cut => note.through_cut()?,
        };
        match note {
            Note::Beacon { from, beacon } => Some(MeshEvent::Beacon { from, beacon }),
            Note::Unreadable { from, error } => Some(MeshEvent::Unreadable { from, error }),
            Note::Packet { from, bytes } => Some(MeshEvent::Packet { from, bytes }),
            Note::Keys(missing) => self.keys.on_read(missing).then_some(MeshEvent::KeysRead),
            Note::Greeted { connection, peer, side } => self.open(*connection, peer, side),
            Note::DialFailed { peer, error } => {
                if self.dial_log.opens(&peer).is_some() {
                    warn!(%peer, %error, "a peer that is heard can't be dialled");
                }
                Some(MeshEvent::DialFailed { peer })
            }
            Note::Frame { link, frame, place } => {
                drop(place);
                self.links.contains_key(&link).then_some(MeshEvent::Frame { link, frame })
            }
            Note::Ended { link, end } => self.forget(link, &end).then(|| {
                if matches!(end, LinkEnd::Forged) {
                    self.counters.add(Count::Forged);
                }
                if end.is_malformed() {
                    self.counters.add(Count::Malformed);
                    MeshEvent::Malformed { link }
                } else {
                    MeshEvent::LinkDown { link }
                }
            }),
        }
    }

    /// Opens a link, unless there are too many. The oldest link of an address is replaced rather
    /// than the newest refused: a machine that lost power leaves dead links behind.
    fn open(&mut self, connection: Connection, peer: Hello, side: LinkSide) -> Option<MeshEvent> {
        let of_address = |(_, known): &(&LinkId, &Link)| known.address == peer.address;
        let mut siblings = self.links.iter().filter(of_address);
        let oldest = siblings.next().map(|(link, _)| *link);
        if siblings.count() + 1 >= LINKS_PER_ADDRESS
            && let Some(oldest) = oldest
        {
            self.give_up(oldest, &LinkEnd::TooMany);
        }
        if side == LinkSide::Accepted && self.links.len() >= LINKS {
            self.counters.add(Count::Refused);
            let kind = (peer.node, LinkLine::TooMany);
            if let Some(unlogged) = self.link_log.opens(&kind) {
                warn!(peer = %kind.0, unlogged = unlogged.count(), "too many links: the newest are refused");
            }
            return None;
        }
        let link = LinkId(self.next_link);
        self.next_link += 1;
        let (queue, outgoing) = mpsc::channel(LINK_QUEUE);
        let run = link::run(link, connection, outgoing, self.notes.clone());
        let task = self.carriers.spawn(async move {
            run.await;
            Task::Link
        });
        let kind = (peer.node.clone(), LinkLine::Up);
        if let Some(unlogged) = self.link_log.opens(&kind) {
            let Hello { node, address, .. } = &peer;
            info!(link = link.0, peer = %node, %address, ?side, unlogged = unlogged.count(), "link up");
        }
        let known = Link { peer: peer.node.clone(), address: peer.address, queue, task };
        self.links.insert(link, known);
        Some(MeshEvent::LinkUp { link, peer, side })
    }

    /// Drops the state of a link; returns whether there was any.
    fn forget(&mut self, link: LinkId, end: &LinkEnd) -> bool {
        let Some(known) = self.links.remove(&link) else {
            return false;
        };
        let kind = (known.peer, LinkLine::Down);
        if let Some(unlogged) = self.link_log.opens(&kind) {
            info!(link = link.0, peer = %kind.0, reason = %end, unlogged = unlogged.count(), "link down");
        }
        true
    }
}

/// Why a task's end is a failure, if it is one.
fn failure(ended: Result<Task, JoinError>) -> Option<String> {
    match ended {
        Ok(Task::Dial | Task::Keys | Task::Link) => None,
        Ok(Task::Accept) => Some("the task that takes connections in has ended".to_owned()),
        Ok(Task::Datagrams) => Some("the task of the datagrams has ended".to_owned()),
        // This node gave a link up.
        Err(error) if error.is_cancelled() => None,
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
impl Mesh {
    /// A task of the mesh panics.
    pub(crate) fn panic_in_a_task(&mut self) {
        self.carriers.spawn(async { panic!("injected") });
    }
}

#[cfg(test)]
pub(crate) mod tests;
