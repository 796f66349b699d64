//! Disks that take nothing: mounts in a mount namespace of the node alone, which go with it.

use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::geteuid;

use super::skip;

/// What is wrong with the disk of a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// It holds what it held, and takes nothing.
    ReadOnly,
    /// It is empty, and has no room for a single file.
    Full,
}

/// A directory in which the sockets of nodes with such disks are.
pub struct RuntimeDir(PathBuf);

/// Whether this machine can have such disks; a test that finds it can't is skipped, having said so.
pub fn can_fail() -> bool {
    let lack = if geteuid().is_root() {
        let tried = Command::new("unshare").args(["--mount", "true"]).output();
        (!tried.is_ok_and(|output| output.status.success()))
            .then_some("unshare (util-linux) can't make a mount namespace")
    } else {
        Some("only root can make mount namespaces")
    };
    lack.inspect(|lack| skip(lack)).is_none()
}

impl RuntimeDir {
    pub fn new(path: PathBuf) -> Self {
        Self(path)
    }

    /// Lets a node have its data directory, which is there, on such a disk.
    pub fn on(&self, disk: Disk, data_dir: &Path, command: &mut Command) {
        wrap(disk, "", data_dir, command);
        command.env("XDG_RUNTIME_DIR", &self.0);
    }

    /// The directory that stands in for a data directory.
    pub fn stand_in(&self, data_dir: &Path) -> PathBuf {
        let data_dir = data_dir.canonicalize().expect("a data directory");
        let below = data_dir.strip_prefix("/").expect("an absolute path");
        self.0.join("liftmesh").join(below)
    }
}

/// The same, and nothing can be written in `/run` either.
pub fn on_without_runtime_dir(disk: Disk, data_dir: &Path, command: &mut Command) {
    wrap(disk, "mount -t tmpfs -o ro tmpfs /run && ", data_dir, command);
    command.env_remove("XDG_RUNTIME_DIR");
}

fn wrap(disk: Disk, more: &str, data_dir: &Path, command: &mut Command) {
    let mount = match disk {
        Disk::ReadOnly => r#"mount --bind "$0" "$0" && mount -o remount,ro,bind "$0""#,
        // The one file is its root.
        Disk::Full => r#"mount -t tmpfs -o nr_inodes=1,mode=700 tmpfs "$0""#,
    };
    let mut wrapped = Command::new("unshare");
    // Whoever is executed at last has the process id that was started at first.
    wrapped.args(["--mount", "sh", "-c"]);
    wrapped.arg(format!(r#"{more}{mount} && exec "$@""#));
    wrapped.arg(data_dir).arg(command.get_program());
    wrapped.args(command.get_args()).env("LIFTMESH_CONFIG", "");
    *command = wrapped;
}
