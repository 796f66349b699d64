//! The files that hold fleet keys: how they are made, named in the configuration, and read.
//!
//! ```text
//!   liftmesh keygen ─▶ file ─▶ KeyFiles::read ─▶ Keyring ─▶ mesh
//! ```
//!
//! A key that can't be read never keeps a car from running: its node serves alone until it can. If it
//! can read the key that it sends, it takes part with those that it can read.

mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;

use std::fmt;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::OnceLock;

use elevator_fleet::model::FleetName;
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring};
use tokio::sync::Notify;

pub use self::file::FileError;
pub(crate) use self::file::{KeyText, create};

/// The word for messages that nobody authenticates.
const NONE: &str = "none";

/// The most keys that a node has to know at once: the old one, the new one, and none.
const MOST: usize = 4;

/// What the configuration says about keys: the first is sent, all are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFiles(Vec<Source>);

/// Where a credential comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Source {
    /// None: anybody on the network is believed.
    None,
    /// A key, from a file.
    File(PathBuf),
}

/// The keys that could be read.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) keyring: Keyring,
    /// Why one of the others is not among them.
    pub(crate) missing: Option<FileError>,
}

/// Why keys are missing.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Somebody else on the network could command the cars.
    #[error(
        "address = {0} is not on loopback, and there is no fleet key: make one with liftmesh keygen \
         and set fleet_keys, alike on every node (fleet_keys = none lets anybody on the network \
         command the cars)"
    )]
    Missing(Ipv4Addr),
    /// A file is not as it has to be.
    #[error(transparent)]
    File(#[from] FileError),
}

impl KeyFiles {
    /// Parses a list of files, of which one may be the word `none`, with commas between.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let source = |text: &str| match text.trim() {
            NONE => Some(Source::None),
            path if path.starts_with('/') => Some(Source::File(path.into())),
            _ => None,
        };
        let sources: Vec<Source> = text.split(',').map(source).collect::<Option<_>>()?;
        let is_repeated = |at: usize| sources[..at].contains(&sources[at]);
        let fits = sources.len() <= MOST && !(0..sources.len()).any(is_repeated);
        fits.then_some(Self(sources))
    }

    /// Whether a node with this address needs no key: nobody else can reach it.
    fn is_needless(&self, address: Ipv4Addr) -> bool {
        self.0.is_empty() && address.is_loopback()
    }

    /// Reads the keys of a node of this fleet with this address: the first, which is sent, and those
    /// of the others that can be read.
    ///
    /// # Errors
    /// [`KeyError`]: the first file can't be used, or the node needs a key and has none.
    pub(crate) fn read(&self, fleet: &FleetName, address: Ipv4Addr) -> Result<Found, KeyError> {
        if self.0.is_empty() && !self.is_needless(address) {
            return Err(KeyError::Missing(address));
        }
        let credential = |source: &Source| -> Result<Credential, FileError> {
            Ok(match source {
                Source::None => Credential::None,
                Source::File(path) => {
                    Credential::Key(FleetKey::new(file::read(path)?.secret(), fleet))
                }
            })
        };
        let (mut credentials, mut missing) = (Vec::new(), None);
        for (at, source) in self.0.iter().enumerate() {
            match credential(source) {
                Ok(credential) => credentials.push(credential),
                Err(error) if at == 0 => return Err(error.into()),
                Err(error) => missing = missing.or(Some(error)),
            }
        }
        Ok(Found { keyring: Keyring::new(credentials), missing })
    }
}

impl fmt::Display for KeyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let texts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.pad(&texts.join(","))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad(NONE),
            Self::File(path) => f.pad(&path.to_string_lossy()),
        }
    }
}

/// The keys of a node, from the moment they can be read.
#[derive(Debug)]
pub struct Keys {
    files: KeyFiles,
    fleet: FleetName,
    address: Ipv4Addr,
    /// All of them.
    all: OnceLock<Keyring>,
    /// Those that could be read while one of the others could not.
    some: OnceLock<Keyring>,
    /// Wakes those who wait for them.
    ready: Notify,
    /// A disk that hangs.
    #[cfg(test)]
    pub(crate) hangs: Option<std::sync::Mutex<std::sync::mpsc::Receiver<()>>>,
}

impl Keys {
    /// The keys in these files, for a node of this fleet with this address.
    #[must_use]
    pub fn new(files: KeyFiles, fleet: FleetName, address: Ipv4Addr) -> Self {
        Self {
            files,
            fleet,
            address,
            all: OnceLock::new(),
            some: OnceLock::new(),
            ready: Notify::new(),
            #[cfg(test)]
            hangs: None,
        }
    }

    /// Reads the files unless all of them have been read. It may wait for the disk.
    ///
    /// # Errors
    /// [`KeyError`]: a file can't be read now. There may be keys all the same: see [`Self::get`].
    pub(crate) fn read(&self) -> Result<(), KeyError> {
        if self.all.get().is_some() {
            return Ok(());
        }
        #[cfg(test)]
        if let Some(hangs) = &self.hangs {
            // Until the other end is dropped.
            assert!(hangs.lock().expect("not poisoned").recv().is_err(), "nothing is sent");
        }
        let Found { keyring, missing } = self.files.read(&self.fleet, self.address)?;
        let kept = if missing.is_none() { &self.all } else { &self.some };
        kept.get_or_init(|| keyring);
        self.ready.notify_waiters();
        missing.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Waits until there are keys.
    pub(crate) async fn wait(&self) {
        let ready = self.ready.notified();
        tokio::pin!(ready);
        // From here on a notification is not missed.
        ready.as_mut().enable();
        if self.get().is_none() {
            ready.await;
        }
    }

    /// Whether the configuration says that messages are accepted without a key.
    pub(crate) fn name_none(&self) -> bool {
        self.files.0.contains(&Source::None)
    }

    /// Whether anybody on a network that others can reach can command the cars.
    pub(crate) fn let_anybody_in(&self) -> bool {
        !self.address.is_loopback() && self.name_none()
    }

    /// The keys, if at least the one that is sent has been read.
    pub(crate) fn get(&self) -> Option<&Keyring> {
        self.all.get().or_else(|| self.some.get())
    }
}

#[cfg(test)]
mod tests;
