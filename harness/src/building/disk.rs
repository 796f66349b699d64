//! Disks that take nothing: mounts in a mount namespace of the node alone, which go with it.

use std::fs;
use std::path::Path;
use std::process::Command;

use elevator_fleet::node::Status;
use rustix::process::geteuid;

use super::answers::status;
use super::{Building, skip};

/// What is wrong with the disk of a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disk {
    /// It holds what it held, and takes nothing.
    ReadOnly,
    /// It is empty, and has no room for a single file.
    Full,
}

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

impl Building {
    /// Starts a node with its data directory on such a disk.
    pub fn start_on(&mut self, disk: Disk, name: &str) {
        let command = self.command_on(disk, name);
        self.start_with(name, |start| *start = command);
    }

    /// The command that does so. The node's Unix socket is in a runtime directory of the building.
    pub fn command_on(&self, disk: Disk, name: &str) -> Command {
        let runtime_dir = self.path("run");
        fs::create_dir_all(&runtime_dir).expect("a directory");
        let data_dir = self.data_dir(name);
        fs::create_dir_all(&data_dir).expect("a data directory");
        let mut command = wrap(disk, &data_dir, &self.command(name));
        command.env("XDG_RUNTIME_DIR", runtime_dir);
        command
    }

    /// What a node on such a disk says of itself, or `None` while it does not run.
    pub fn status_on_failed_disk(&self, name: &str) -> Option<Status> {
        let data_dir = self.data_dir(name).canonicalize().expect("a data directory");
        let below = data_dir.strip_prefix("/").expect("an absolute path");
        status(&self.path("run/liftmesh").join(below)).ok()
    }
}

fn wrap(disk: Disk, data_dir: &Path, command: &Command) -> Command {
    let mount = match disk {
        Disk::ReadOnly => r#"mount --bind "$0" "$0" && mount -o remount,ro,bind "$0""#,
        // The one file is its root.
        Disk::Full => r#"mount -t tmpfs -o nr_inodes=1,mode=700 tmpfs "$0""#,
    };
    let mut wrapped = Command::new("unshare");
    // Whoever is executed at last has the process id that was started at first.
    wrapped.args(["--mount", "sh", "-c"]);
    wrapped.arg(format!(r#"{mount} && exec "$@""#));
    wrapped.arg(data_dir).arg(command.get_program());
    wrapped.args(command.get_args()).env("LIFTMESH_CONFIG", "");
    wrapped
}
