//! Connections of somebody who has no key.

use std::collections::{BTreeMap, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use elevator_fleet::model::NodeId;
use elevator_fleet::wire::{Frame, Hello, codec};
use liftmesh::fleet_key::{KeyFiles, Keys};
use liftmesh::mesh::{LinkTimes, Mesh, MeshSettings};
use socket2::{Domain, Socket, Type};

use super::outsider::Segment;

/// How long it takes to open them, however many there are.
const LASTS: Duration = Duration::from_secs(30);

/// A node closes a connection without a hello within this.
const LIMIT: Duration = Duration::from_secs(1);

/// How many are open at once. The oldest is closed first, after the node's time limit for a hello.
const OPEN: usize = 250;

/// The addresses that are no node's.
const STRANGE: std::ops::Range<u8> = 100..200;

/// One connection in so many comes from a node's address.
const FROM_A_NODE: usize = 16;

/// What the other side hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Says {
    Nothing,
    Garbage,
    /// A hello without a key.
    Hello,
    /// The recorded beginning of a real link.
    Opening,
    /// A length, and less than that.
    HalfAFrame,
}

impl Says {
    const ALL: [Self; 5] =
        [Self::Nothing, Self::Garbage, Self::Hello, Self::Opening, Self::HalfAFrame];
}

/// What became of the connections.
#[derive(Debug, Default)]
pub(crate) struct Connected {
    /// How many were opened.
    pub(crate) opened: BTreeMap<Says, usize>,
    /// To how many the node has sent something.
    pub(crate) answered: BTreeMap<Says, usize>,
    /// How many were still open when they were closed here.
    pub(crate) left_open: u32,
    /// How many could not be opened.
    pub(crate) failed: u32,
}

/// What one node has said first when it dialled another.
#[derive(Debug, Clone)]
pub(crate) struct Opening {
    pub(crate) from: Ipv4Addr,
    pub(crate) to: Ipv4Addr,
    pub(crate) bytes: Vec<u8>,
}

/// Opens connections until there were so many. Those to a node that does not run do not count.
pub(super) fn open(
    most: usize,
    segment: &Segment,
    hello: &Hello,
    openings: &[Opening],
    stops: &AtomicBool,
) -> Connected {
    let pause = LASTS / u32::try_from(most).expect("a number of connections");
    let mut connected = Connected::default();
    let mut kept = VecDeque::new();
    for number in 0.. {
        if connected.total() >= most || stops.load(Ordering::Relaxed) {
            break;
        }
        std::thread::sleep(pause);
        if kept.len() >= OPEN
            && let Some((says, stream)) = kept.pop_front()
        {
            connected.close(says, stream);
        }
        let says = Says::ALL[number / 3 % Says::ALL.len()];
        let (from, to) = ends(segment, openings, number, says);
        match connect(from, SocketAddrV4::new(to, segment.link_port)) {
            Ok(mut stream) => {
                *connected.opened.entry(says).or_default() += 1;
                // The node may have closed it already.
                drop(stream.write_all(&words(says, hello, openings, to)));
                kept.push_back((says, stream));
            }
            Err(_) => connected.failed += 1,
        }
    }
    std::thread::sleep(LIMIT);
    for (says, stream) in kept {
        connected.close(says, stream);
    }
    connected
}

impl Connected {
    /// How many were opened in all.
    pub(crate) fn total(&self) -> usize {
        self.opened.values().sum()
    }

    fn close(&mut self, says: Says, mut stream: TcpStream) {
        stream.set_nonblocking(true).expect("nonblocking");
        match stream.read(&mut [0; 1024]) {
            Ok(0) => {}
            Ok(_) => *self.answered.entry(says).or_default() += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => self.left_open += 1,
            Err(_) => {}
        }
    }
}

/// From where to where a connection goes: from many addresses, and sometimes from a node's.
fn ends(
    segment: &Segment,
    openings: &[Opening],
    number: usize,
    says: Says,
) -> (Ipv4Addr, Ipv4Addr) {
    let victims = &segment.victims;
    let index = number % victims.len();
    let to = victims[index];
    if number.is_multiple_of(FROM_A_NODE) {
        let recorded = openings.iter().find(|opening| says == Says::Opening && opening.to == to);
        let next = victims[(index + 1) % victims.len()];
        return (recorded.map_or(next, |opening| opening.from), to);
    }
    let strange = usize::from(STRANGE.start) + number % STRANGE.len();
    let [a, b, c, _] = segment.own.octets();
    (Ipv4Addr::new(a, b, c, u8::try_from(strange).expect("a byte")), to)
}

fn words(says: Says, hello: &Hello, openings: &[Opening], to: Ipv4Addr) -> Vec<u8> {
    let plain = || codec::encode_frame(&Frame::Hello(hello.clone())).expect("a hello");
    match says {
        Says::Nothing => Vec::new(),
        Says::Garbage => b"\0\0\0\x40GET / HTTP/1.1\r\n\r\n".repeat(8),
        Says::Hello => framed(&plain()),
        Says::Opening => {
            let recorded = openings.iter().find(|opening| opening.to == to);
            let recorded = recorded.or_else(|| openings.first()).expect("a recorded opening");
            framed(&recorded.bytes)
        }
        Says::HalfAFrame => {
            let mut frame = framed(&plain());
            frame.truncate(frame.len() / 2);
            frame
        }
    }
}

fn framed(bytes: &[u8]) -> Vec<u8> {
    let length = u32::try_from(bytes.len()).expect("it is short");
    [&length.to_be_bytes(), bytes].concat()
}

fn connect(from: Ipv4Addr, to: SocketAddrV4) -> std::io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((from, 0)).into())?;
    socket.connect_timeout(&SocketAddr::from(to).into(), Duration::from_millis(50))?;
    Ok(socket.into())
}

/// What this node, which does not run, has said when it dialled these others: what somebody on the
/// cable has recorded. The node dials a listener of the attacker instead.
pub(crate) fn recorded_openings(
    segment: &Segment,
    dialling: &Hello,
    key: &str,
    others: &[(&str, Ipv4Addr)],
) -> Vec<Opening> {
    let listener = TcpListener::bind((segment.own, 0)).expect("a listener");
    let at = listener.local_addr().expect("an address");
    let SocketAddr::V4(at) = at else {
        panic!("{at}");
    };
    let keys = KeyFiles::parse(key).expect("the key of the fleet");
    let settings = MeshSettings {
        hello: dialling.clone(),
        broadcast: segment.beacons,
        link_port: segment.link_port,
        packets: None,
        gather_time: None,
        times: LinkTimes::default(),
        keys: Arc::new(Keys::new(keys, dialling.fleet.clone(), dialling.address)),
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _inside = runtime.enter();
    let mut mesh = Mesh::start(settings).expect("a mesh");
    let openings = others.iter().map(|(name, to)| {
        // The mesh reads its key beside, and says nothing before it has one.
        let bytes = (0..100).find_map(|_| {
            mesh.dial(NodeId::new(name).expect("a name"), at);
            let (mut stream, _) = listener.accept().expect("a connection");
            let said = first_message(&mut stream);
            if said.is_none() {
                std::thread::sleep(Duration::from_millis(100));
            }
            said
        });
        Opening { from: dialling.address, to: *to, bytes: bytes.expect("an opening") }
    });
    let openings = openings.collect();
    runtime.block_on(mesh.shut_down());
    openings
}

/// What is said first, if anything is said before the end.
fn first_message(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut bytes = vec![0; usize::try_from(u32::from_be_bytes(length)).ok()?];
    stream.read_exact(&mut bytes).ok()?;
    Some(bytes)
}
