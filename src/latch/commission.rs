//! The mark of a commissioned node: its data directory has had a journal.
//!
//! It is written once the node's first journal is on disk: a power cut in the first moments of a
//! node asks nothing of an operator. A data directory that is wiped as a whole is a new node's.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use serde::Serialize;

use super::{PROGRAM, file, wall};

pub(crate) const FILE: &str = "commissioned.toml";

const UNFINISHED: &str = "commissioned.toml.new";

const PREAMBLE: &str = "\
# This node has run here before. If its journal is ever missing or damaged, it does not start until
# an operator has run `liftmesh clear-hang`.
";

#[derive(Serialize)]
struct Mark<'a> {
    node: &'a str,
    at: String,
    program: &'static str,
}

/// Whether the directory belongs to a commissioned node; `true` if that can't be determined.
pub(crate) fn is_marked(data_dir: &Path) -> bool {
    match fs::symlink_metadata(data_dir.join(FILE)) {
        Ok(_) => true,
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

/// Marks the directory as that of a commissioned node, unless it is marked.
pub(crate) fn mark(data_dir: &Path, node: &NodeId, at: SystemTime) -> io::Result<()> {
    if is_marked(data_dir) {
        return Ok(());
    }
    let mark = Mark { node: node.as_str(), at: wall(at), program: PROGRAM };
    let body = toml::to_string(&mark).map_err(io::Error::other)?;
    let text = format!("{PREAMBLE}{body}");
    file::replace(data_dir, UNFINISHED, FILE, text.as_bytes())
}

/// Gives the mark another name, which a disk does that has room for nothing more.
pub(super) fn turn_into(data_dir: &Path, name: &str) -> io::Result<()> {
    fs::rename(data_dir.join(FILE), data_dir.join(name))?;
    file::sync_directory(data_dir)
}
