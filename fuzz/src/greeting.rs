//! The greeting on a real link: whom a node takes in, and what a stranger hears of it.

use core::net::Ipv4Addr;

use arbitrary::{Result, Unstructured};
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring, SECRET};
use elevator_fleet::wire::{Hello, Protocol};
use liftmesh::fuzzing::{self, Side, Stranger};

use crate::wire::{fleet, hello, keyring, node};

/// A node with a key that dials somebody, or is dialled, and one message of the other is changed on
/// its way. It takes in who has the key and says what the protocol wants, and nobody else; to those
/// who dial it without the key it says nothing.
pub(crate) fn greeting(bytes: &[u8]) {
    // A script that ends too early has been run up to there.
    run(&mut Unstructured::new(bytes)).unwrap_or_default();
}

fn run(script: &mut Unstructured<'_>) -> Result<()> {
    let own = Side { hello: hello(), keys: keyring() };
    let mut said = Hello { node: node("C"), address: Ipv4Addr::new(127, 0, 0, 3), ..hello() };
    let is_proper = script.ratio(3_u8, 4)?;
    if !is_proper {
        said.protocol = Protocol::Senior;
    }
    let has_key = script.ratio(3_u8, 4)?;
    let keys = if has_key {
        keyring()
    } else if script.arbitrary()? {
        Keyring::new([Credential::Key(FleetKey::new(&[8; SECRET], &fleet()))])
    } else {
        Keyring::new([Credential::None])
    };
    let other = Side { hello: said, keys };
    let is_dialled = script.arbitrary()?;
    let (number, piece) = (usize::from(script.arbitrary::<bool>()?), script.int_in_range(1..=100)?);
    let (kind, at) = (script.int_in_range(0..=4_u8)?, usize::from(script.arbitrary::<u16>()?));
    let flips = script.arbitrary::<u8>()?;
    let length = script.int_in_range(0..=200)?.min(script.len());
    let replacement = script.bytes(length)?;
    let mut changed = None;
    let mut change = |message: usize, bytes: &mut Vec<u8>| {
        if message == number {
            let before = bytes.clone();
            let at = at % bytes.len();
            match kind {
                0 => {}
                1 | 2 => bytes[at] ^= flips,
                3 => bytes.truncate(at),
                _ => drop(bytes.splice(at.., replacement.iter().copied())),
            }
            changed = (before != *bytes).then_some(number);
        }
    };
    let stranger = Stranger { side: &other, is_dialled, change: &mut change, piece };
    let (met, heard) = fuzzing::greet(&own, stranger).expect("sockets");

    let fits = has_key && is_proper && changed.is_none();
    assert_eq!(met.as_ref(), fits.then_some(&other.hello));
    if !is_dialled && (!has_key || changed == Some(0)) {
        assert!(heard.is_empty(), "{} bytes for a stranger", heard.len());
    }
    Ok(())
}

pub(crate) fn greeting_seeds() -> Vec<Vec<u8>> {
    // Whether it is proper, with which key, dialled or not, which message, in pieces of how many bytes.
    let sides = [[0, 0, 0, 0, 9], [0, 0, 1, 1, 63], [3, 0, 1, 0, 40], [0, 3, 0, 0, 1]];
    let changes: [&[u8]; 4] = [&[0], &[1, 7, 7, 1], &[3, 9, 0], &[4, 5, 0, 9, 30]];
    sides.iter().flat_map(|side| changes.map(|it| [side, it, &[0; 32]].concat())).collect()
}
