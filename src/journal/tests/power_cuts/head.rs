//! The file with the head of the audit log, on the same machine as a [`TornDisk`].

use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

use fastrand::Rng;

use super::disk::TornDisk;
use crate::journal::head::{HeadFile, Place};

/// A file that is written under another name first. Each of the four steps may be the one in which the
/// power fails: the bytes, their sync, the new name, and the sync of the directory.
#[derive(Debug, Clone)]
pub(super) struct TornHead {
    disk: TornDisk,
    file: Arc<Mutex<Versions>>,
}

#[derive(Debug)]
struct Versions {
    /// What survives for certain.
    kept: Option<Vec<u8>>,
    /// What has the file's name since, if the directory was not synced.
    renamed: Option<Vec<u8>>,
    /// The power failed in the middle of writing it.
    is_torn: bool,
}

impl TornHead {
    pub(super) fn new(kept: Option<Vec<u8>>, disk: &TornDisk) -> Self {
        let versions = Versions { kept, renamed: None, is_torn: false };
        Self { disk: disk.clone(), file: Arc::new(Mutex::new(versions)) }
    }

    pub(super) fn file(&self) -> HeadFile {
        HeadFile::at(Box::new(self.clone()))
    }

    /// The power failed while it was written.
    pub(super) fn is_being_written(&self) -> bool {
        self.versions().is_torn
    }

    /// It names the head that is to come beside the one that there is.
    pub(super) fn names_two(&self) -> bool {
        let bytes = self.read().unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains("[next]")
    }

    pub(super) fn after_the_cut(&self, random: &mut Rng) -> Option<Vec<u8>> {
        let Versions { kept, renamed, is_torn: _ } = &*self.versions();
        renamed.clone().filter(|_| random.bool()).or_else(|| kept.clone())
    }

    fn versions(&self) -> MutexGuard<'_, Versions> {
        self.file.lock().expect("no panic while it is held")
    }
}

impl Place for TornHead {
    fn read(&self) -> io::Result<Vec<u8>> {
        let versions = self.versions();
        let present = versions.renamed.as_ref().or(versions.kept.as_ref());
        present.cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn replace(&self, bytes: &[u8]) -> io::Result<()> {
        let mut versions = self.versions();
        let was_dark = self.disk.is_dark();
        let mut replace = || {
            self.disk.step()?;
            self.disk.step()?;
            self.disk.step()?;
            versions.renamed = Some(bytes.to_owned());
            self.disk.step()?;
            versions.kept = versions.renamed.take();
            Ok(())
        };
        let replaced = replace();
        versions.is_torn |= replaced.is_err() && !was_dark;
        replaced
    }

    fn remove(&self) -> io::Result<()> {
        unreachable!("a machine keeps its journal")
    }
}
