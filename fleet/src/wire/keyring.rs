//! The fleet key: what proves that a message comes from a node of the fleet.
//!
//! Each fleet and purpose has its own key: a message is worth nothing in another.

use std::fmt;

use constant_time_eq::constant_time_eq_16;
use zeroize::Zeroizing;

use crate::model::FleetName;

/// How many bytes the secret of a fleet has.
pub const SECRET: usize = 32;

/// How many bytes the tag of an authenticated message has. A forger guesses one in 2¹²⁸.
pub const TAG: usize = 16;

/// The key id of messages that nobody authenticates.
pub(super) const NO_KEY: u8 = 0;

/// The keys of one fleet, derived from its secret.
#[derive(Clone)]
pub struct FleetKey {
    id: u8,
    datagrams: Zeroizing<[u8; SECRET]>,
    packets: Zeroizing<[u8; SECRET]>,
    links: Zeroizing<[u8; SECRET]>,
}

impl FleetKey {
    #[must_use]
    pub fn new(secret: &[u8; SECRET], fleet: &FleetName) -> Self {
        let mut material = Zeroizing::new(secret.to_vec());
        material.extend_from_slice(fleet.as_str().as_bytes());
        let derive = |context| Zeroizing::new(blake3::derive_key(context, &material));
        let id = derive("liftmesh 2026-11-23 key id")[0];
        Self {
            // 0 means that there is no key.
            id: id % u8::MAX + 1,
            datagrams: derive("liftmesh 2026-11-23 datagrams"),
            packets: derive("liftmesh 2026-11-23 packets of an election"),
            links: derive("liftmesh 2026-11-23 links"),
        }
    }

    /// What announces this key in a message, 1 to 255. Two keys may have the same one.
    #[must_use]
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The pre-shared key of links.
    #[must_use]
    pub fn links(&self) -> &[u8; SECRET] {
        &self.links
    }

    /// The tag of these bytes, which are sent for this purpose.
    #[must_use]
    pub fn tag(&self, purpose: Purpose, bytes: &[u8]) -> [u8; TAG] {
        let key = match purpose {
            Purpose::Datagram => &self.datagrams,
            Purpose::Packet => &self.packets,
        };
        let mut tag = [0; TAG];
        tag.copy_from_slice(&blake3::keyed_hash(key, bytes).as_bytes()[..TAG]);
        tag
    }

    /// Whether this is the tag of these bytes. Takes the same time wherever a wrong tag differs.
    #[must_use]
    pub fn verifies(&self, purpose: Purpose, bytes: &[u8], tag: &[u8; TAG]) -> bool {
        constant_time_eq_16(&self.tag(purpose, bytes), tag)
    }
}

/// Tells nothing of the key.
impl fmt::Debug for FleetKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FleetKey").field("id", &self.id).finish_non_exhaustive()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Datagram,
    /// A packet of an election with a separate port.
    Packet,
}

/// What shows that a message comes from the fleet.
#[derive(Debug, Clone)]
pub enum Credential {
    /// Nothing: anybody on the network can send such messages.
    None,
    Key(FleetKey),
}

impl Credential {
    fn key(&self) -> Option<&FleetKey> {
        match self {
            Self::None => None,
            Self::Key(key) => Some(key),
        }
    }
}

/// What a node sends its messages with, and what it accepts; by default without authentication.
#[derive(Debug, Clone, Default)]
pub struct Keyring(Vec<Credential>);

impl Keyring {
    /// The first is used to send; all are accepted. With none, messages have no key.
    #[must_use]
    pub fn new(credentials: impl IntoIterator<Item = Credential>) -> Self {
        Self(credentials.into_iter().collect())
    }

    #[must_use]
    pub fn sent(&self) -> Option<&FleetKey> {
        self.0.first().and_then(Credential::key)
    }

    /// Whether messages are accepted that nobody authenticates.
    #[must_use]
    pub fn accepts_anybody(&self) -> bool {
        self.0.is_empty() || self.0.iter().any(|credential| credential.key().is_none())
    }

    pub fn ids(&self) -> impl Iterator<Item = u8> {
        self.0.iter().filter_map(|credential| Some(credential.key()?.id))
    }

    pub fn with_id(&self, id: u8) -> impl Iterator<Item = &FleetKey> {
        self.0.iter().filter_map(Credential::key).filter(move |key| key.id == id)
    }

    /// Checks the tag of bytes that announce this key.
    ///
    /// # Errors
    /// [`KeyError`]: none of the accepted keys has made it.
    pub fn verify(
        &self,
        id: u8,
        purpose: Purpose,
        bytes: &[u8],
        tag: &[u8; TAG],
    ) -> Result<(), KeyError> {
        let mut error = KeyError::Unknown;
        for key in self.with_id(id) {
            if key.verifies(purpose, bytes, tag) {
                return Ok(());
            }
            error = KeyError::Forged;
        }
        Err(error)
    }
}

/// Why a message is not believed to come from the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyError {
    /// This node has no key with that id.
    Unknown,
    /// The tag was not made with the key.
    Forged,
}

#[cfg(test)]
mod tests;
