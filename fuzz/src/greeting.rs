//! The greeting on a real link: whom a node takes in, and what a stranger hears of it.

use core::net::Ipv4Addr;

use arbitrary::{Result, Unstructured};
use elevator_fleet::wire::codec::VERSION;
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET};
use elevator_fleet::wire::{Hello, Nonce};
use liftmesh::fuzzing::{self, Side, Stranger};

use crate::wire::{fleet, fleet_key, hello, node};

/// What becomes of one message of the stranger.
enum Change {
    None,
    /// A byte has other bits.
    Flip(u16, u8),
    /// The rest is missing.
    Cut(u16),
    /// It is another one.
    Replace(Vec<u8>),
}

/// A node that dials somebody, or is dialled: it takes in who has the key and says what the protocol
/// wants, and nobody else. Where a key is required it says nothing to those who have none.
pub(crate) fn greeting(bytes: &[u8]) {
    match run(&mut Unstructured::new(bytes)) {
        // A script that ends too early has been run up to there.
        Ok(()) | Err(_) => {}
    }
}

fn run(script: &mut Unstructured<'_>) -> Result<()> {
    let own = Side { hello: hello(), keys: keys(script)? };
    let other = Side { hello: stranger(script)?, keys: keys(script)? };
    let is_dialled = script.arbitrary()?;
    let number = usize::from(script.arbitrary::<bool>()?);
    let piece = script.int_in_range(1..=100)?;
    let is_replay = script.ratio(1_u8, 8)?;
    let change = if is_replay {
        Change::Replace(recording(&own, &other, is_dialled))
    } else {
        change(script)?
    };
    let is_replacement = matches!(change, Change::Replace(_));
    let mut has_changed = None;
    let mut alter = |at: usize, message: &mut Vec<u8>| {
        if at == number {
            let before = message.clone();
            change.apply(message);
            has_changed = (before != *message).then_some(at);
        }
    };
    let stranger = Stranger { side: &other, is_dialled, change: &mut alter, piece };
    let (met, heard) = fuzzing::greet(&own, stranger).expect("sockets");

    let fits = understand(&own.keys, &other.keys, is_dialled)
        && other.hello == (Hello { nonce: other.hello.nonce, ..proper() });
    let needs_key = !own.keys.accepts_anybody() || (is_dialled && own.keys.sent().is_some());
    if has_changed.is_none() {
        assert_eq!(met.as_ref(), fits.then_some(&other.hello));
    } else if needs_key || !is_replacement {
        assert_eq!(met, None, "it was changed");
    }
    if !is_dialled && !own.keys.accepts_anybody() {
        let has_key = other.keys.sent().is_some_and(|key| key.id() == fleet_key().id());
        let is_known = has_key && (has_changed != Some(0) || is_replay);
        assert!(is_known || heard.is_empty(), "{} bytes for a stranger", heard.len());
    }
    Ok(())
}

/// Whether a node with these keys takes in one with those that says what the protocol wants.
fn understand(own: &Keyring, other: &Keyring, is_dialled: bool) -> bool {
    let (dials, answers) = if is_dialled { (own, other) } else { (other, own) };
    match dials.sent() {
        // The stranger answers whomever says hello.
        None => is_dialled || answers.accepts_anybody(),
        Some(key) if is_dialled => {
            // The stranger answers with the key that it sends.
            answers.sent().is_some_and(|other| other.id() == key.id())
        }
        Some(key) => answers.ids().any(|id| id == key.id()),
    }
}

fn keys(script: &mut Unstructured<'_>) -> Result<Keyring> {
    let own = || Credential::Key(fleet_key());
    Ok(Keyring::new(match script.int_in_range(0..=7_u8)? {
        0 => vec![Credential::None],
        1 => vec![Credential::None, own()],
        2 => vec![own(), Credential::None],
        3 => vec![Credential::Key(FleetKey::new(&[8; SECRET], &fleet()))],
        _ => vec![own()],
    }))
}

/// Whom the node expects.
fn proper() -> Hello {
    Hello { node: node("C"), address: Ipv4Addr::new(127, 0, 0, 3), ..hello() }
}

/// The same, or with something that does not fit.
fn stranger(script: &mut Unstructured<'_>) -> Result<Hello> {
    let mut hello = Hello { nonce: Nonce(script.arbitrary::<u8>()?.into()), ..proper() };
    match script.int_in_range(0..=15_u8)? {
        0 => hello.floors = 5.try_into().expect("a count"),
        1 => hello.fleet = elevator_fleet::model::FleetName::new("other").expect("a name"),
        2 => hello.protocol = elevator_fleet::wire::Protocol::Senior,
        _ => {}
    }
    Ok(hello)
}

/// What a peer has sent in an earlier greeting.
fn recording(own: &Side, other: &Side, is_dialled: bool) -> Vec<u8> {
    let mut sent = Vec::new();
    let mut record = |_: usize, message: &mut Vec<u8>| sent.extend_from_slice(message);
    let peer = Stranger { side: other, is_dialled, change: &mut record, piece: 64 };
    fuzzing::greet(own, peer).expect("sockets");
    sent
}

fn change(script: &mut Unstructured<'_>) -> Result<Change> {
    let length = script.int_in_range(0..=200)?;
    Ok(match script.int_in_range(0..=5_u8)? {
        0 => Change::None,
        1 | 2 => Change::Flip(script.arbitrary()?, script.arbitrary()?),
        3 => Change::Cut(script.arbitrary()?),
        4 => Change::Replace(script.bytes(length.min(script.len()))?.to_vec()),
        // A frame that begins as a handshake does.
        _ => {
            let body = script.bytes(length.min(script.len()))?;
            let id = if script.arbitrary()? { fleet_key().id() } else { script.arbitrary()? };
            let frame = [&[b'L', b'M', VERSION, id], body].concat();
            let length = u32::try_from(frame.len()).expect("short").to_be_bytes();
            Change::Replace([&length[..], &frame].concat())
        }
    })
}

impl Change {
    fn apply(&self, message: &mut Vec<u8>) {
        match self {
            Self::None => {}
            Self::Flip(at, bits) => {
                let at = usize::from(*at) % message.len();
                message[at] ^= bits;
            }
            Self::Cut(at) => message.truncate(usize::from(*at) % message.len()),
            Self::Replace(other) => message.clone_from(other),
        }
    }
}

pub(crate) fn greeting_seeds() -> Vec<Vec<u8>> {
    let keys = [[7, 7], [0, 0], [2, 1], [7, 3]];
    let sides = keys
        .iter()
        .flat_map(|[own, other]| [0, 1].map(|is_dialled| vec![*own, 0, 9, *other, is_dialled]));
    let changes: [&[u8]; 4] =
        [&[0, 63, 7, 0], &[0, 7, 7, 1, 9, 0, 1], &[1, 63, 7, 3, 9], &[0, 0, 0]];
    sides.flat_map(|side| changes.map(|change| [&side[..], change, &[0; 32]].concat())).collect()
}
