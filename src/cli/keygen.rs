use std::io;
use std::path::PathBuf;

use clap::Args;

use super::{CommandError, output};
use crate::fleet_key::{self, KeyText};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh keygen --out /etc/liftmesh/fleet.key
  chown liftmesh: /etc/liftmesh/fleet.key

Make one key for the whole fleet, copy the file to every cabin computer over a secure channel, and
name it in the configuration: fleet_keys = \"/etc/liftmesh/fleet.key\". Anyone with the key can
command every car: if a computer is stolen or lost, change the key on all others. To change it while
the fleet runs, restart the nodes one at a time: first all with fleet_keys = \"OLD,NEW\", then all
with \"NEW,OLD\", then all with \"NEW\". If the fleet has no key yet, write none for OLD.";

#[derive(Debug, Clone, Args)]
pub(crate) struct KeygenArgs {
    /// New file to write, readable only by its owner [default: print the key]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
pub enum KeygenError {
    #[error("{} already exists, and keys are never overwritten: name another file", .0.display())]
    Exists(PathBuf),
    #[error("{} can't be written", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl KeygenArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let key = KeyText::draw().map_err(CommandError::Random)?;
        let Some(path) = &self.out else {
            return Ok(output::print(&format!("{}\n", key.line().as_str()))?);
        };
        fleet_key::create(path, &key).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => KeygenError::Exists(path.clone()),
            _ => KeygenError::Write { path: path.clone(), source },
        })?;
        Ok(output::print(&format!("fleet key written to {}\n", path.display()))?)
    }
}
