//! The content of a key file, and the list of key files.

use std::net::Ipv4Addr;
use std::sync::Arc;

use elevator_fleet::model::FleetName;
use elevator_fleet::wire::keyring::Keyring;

use super::file::KeyText;
use super::{KeyFiles, Keys, Known};

impl Keys {
    /// Keys that need no file.
    pub(crate) fn of(keyring: Keyring, fleet: FleetName, address: Ipv4Addr) -> Self {
        let keys = Self::new(KeyFiles::default(), fleet, address);
        keys.known.send_replace(Some(Known { in_use: Some(Arc::new(keyring)), missing: None }));
        keys
    }
}

/// The line that `liftmesh keygen` would write for the key in this text; `None` if it has none.
#[must_use]
pub fn key(text: &str) -> Option<String> {
    KeyText::parse(text).map(|key| key.line().as_str().to_owned())
}

/// The list of files in this text, as it is shown; `None` if it is none.
#[must_use]
pub fn key_files(text: &str) -> Option<String> {
    KeyFiles::parse(text).map(|files| files.to_string())
}
