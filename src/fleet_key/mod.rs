//! The files that hold fleet keys: how they are made, named in the configuration, and read.
//!
//! ```text
//!   liftmesh keygen ─▶ file ─▶ Keys::read ─▶ Keyring ─▶ mesh
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
use std::sync::Arc;

use elevator_fleet::model::FleetName;
use elevator_fleet::node::FleetKeysStatus;
use elevator_fleet::wire::keyring::{Credential, FleetKey, Keyring};
use rustix::process::geteuid;
use tokio::sync::watch;

pub use self::file::FileError;
pub(crate) use self::file::{KeyText, check_secret, create};

/// The word for messages that nobody authenticates.
const NONE: &str = "none";

/// The most keys that a node has to know at once: the old one, the new one, and none.
const MOST: usize = 4;

/// The first key is sent, all are accepted. `None`: anybody on the network is believed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyFiles(Vec<Option<PathBuf>>);

#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// Somebody else on the network could command the cars.
    #[error(
        "address = {0} is not on loopback, and no fleet key is set: make one with liftmesh keygen \
         and set fleet_keys to it on every node (fleet_keys = none lets anybody on the network \
         command the cars)"
    )]
    Missing(Ipv4Addr),
    #[error("{}", listed(.0))]
    Files(Vec<FileError>),
}

impl KeyFiles {
    /// Parses a list of files, of which one may be the word `none`, with commas between.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let source = |text: &str| match text.trim() {
            NONE => Some(None),
            path if path.starts_with('/') => Some(Some(path.into())),
            _ => None,
        };
        let sources: Vec<Option<PathBuf>> = text.split(',').map(source).collect::<Option<_>>()?;
        let is_repeated = |at: usize| sources[..at].contains(&sources[at]);
        let fits = sources.len() <= MOST && !(0..sources.len()).any(is_repeated);
        fits.then_some(Self(sources))
    }
}

fn listed(errors: &[FileError]) -> String {
    let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.join("; ")
}

impl fmt::Display for KeyFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |path: &Option<PathBuf>| match path {
            None => NONE.to_owned(),
            Some(path) => path.to_string_lossy().into_owned(),
        };
        f.pad(&self.0.iter().map(text).collect::<Vec<_>>().join(","))
    }
}

#[derive(Debug)]
pub struct Keys {
    files: KeyFiles,
    fleet: FleetName,
    address: Ipv4Addr,
    user: u32,
    /// `None` until the first attempt to read them has ended.
    known: watch::Sender<Option<Known>>,
}

#[derive(Debug, Clone)]
struct Known {
    /// There are none before the key that is sent was read.
    in_use: Option<Arc<Keyring>>,
    missing: Option<String>,
}

impl Keys {
    #[must_use]
    pub fn new(files: KeyFiles, fleet: FleetName, address: Ipv4Addr) -> Self {
        Self { files, fleet, address, user: geteuid().as_raw(), known: watch::Sender::new(None) }
    }

    pub(crate) fn for_user(self, user: u32) -> Self {
        Self { user, ..self }
    }

    /// Reads the files, which may wait for the disk. There may be keys after an error, too.
    pub(crate) fn read(&self) -> Result<(), KeyError> {
        let credential = |path: &Option<PathBuf>| match path {
            None => Ok(Credential::None),
            Some(path) => {
                let key = file::read(path, self.user)?;
                Ok(Credential::Key(FleetKey::new(key.secret(), &self.fleet)))
            }
        };
        let read: Vec<Result<_, FileError>> = self.files.0.iter().map(credential).collect();
        // Nobody would understand a node without the key that is sent.
        let is_local = self.address.is_loopback();
        let is_usable = read.first().map_or(is_local, Result::is_ok);
        let (known, failed): (Vec<_>, Vec<_>) = read.into_iter().partition(Result::is_ok);
        let ids = |keys: &Keyring| keys.ids().collect::<Vec<_>>();
        let keyring = Keyring::new(known.into_iter().flatten());
        let before = self.get();
        let in_use = match before {
            // The pointer tells an owner that there are no others.
            Some(before) if !is_usable || ids(&before) == ids(&keyring) => Some(before),
            Some(_) | None => is_usable.then(|| Arc::new(keyring)),
        };
        let read = if !failed.is_empty() {
            Err(KeyError::Files(failed.into_iter().filter_map(Result::err).collect()))
        } else if self.files.0.is_empty() && !is_local {
            Err(KeyError::Missing(self.address))
        } else {
            Ok(())
        };
        let missing = read.as_ref().err().map(ToString::to_string);
        self.known.send_replace(Some(Known { in_use, missing }));
        read
    }

    /// Waits until the first attempt to read them has ended.
    pub(crate) async fn tried(&self) {
        self.known.subscribe().wait_for(Option::is_some).await.ok();
    }

    pub(crate) async fn wait(&self) {
        let are_there = |known: &Option<Known>| known.iter().any(|known| known.in_use.is_some());
        self.known.subscribe().wait_for(are_there).await.ok();
    }

    /// Whether anybody who can reach this node can command the cars.
    pub(crate) fn let_anybody_in(&self) -> bool {
        let is_left_out = self.files.0.is_empty() && self.address.is_loopback();
        is_left_out || self.files.0.contains(&None)
    }

    /// Those of the keys that have been read, if the one that is sent is among them.
    pub(crate) fn get(&self) -> Option<Arc<Keyring>> {
        self.known.borrow().as_ref()?.in_use.clone()
    }

    pub(crate) fn status(&self) -> FleetKeysStatus {
        let known = self.known.borrow().clone();
        let (in_use, missing) = match known {
            Some(Known { in_use, missing }) => (in_use, missing),
            None => (None, Some("not read yet".to_owned())),
        };
        FleetKeysStatus {
            sent: in_use.as_deref().and_then(Keyring::sent).map(FleetKey::id),
            accepted: in_use.iter().flat_map(|keys| keys.ids()).collect(),
            accepts_anybody: in_use.is_some() && self.files.0.contains(&None),
            missing,
        }
    }
}

#[cfg(test)]
mod tests;
