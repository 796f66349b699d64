//! Network namespaces with nothing but loopback.

use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;
use std::thread;

use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Where a node is; it goes when this is dropped.
#[derive(Debug)]
pub(super) struct Namespace {
    name: String,
    pub(super) number: u8,
    pub(super) address: Ipv4Addr,
}

impl Namespace {
    pub(super) fn make(name: String, number: u8, address: Ipv4Addr) -> Self {
        let made = Self { name, number, address };
        ip(&["netns", "add", &made.name]);
        ip(&["-n", &made.name, "link", "set", "lo", "up"]);
        made
    }

    /// A program that runs here.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Lets a thread go on here: the sockets that it makes are here wherever they are used.
    pub(super) fn entrance(&self) -> io::Result<Entrance> {
        File::open(Path::new("/run/netns").join(&self.name)).map(Entrance)
    }

    /// What this makes here.
    pub(super) fn make_here<T: Send>(
        &self,
        make: impl FnOnce() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        let entrance = self.entrance()?;
        thread::scope(|scope| {
            let maker = scope.spawn(|| {
                entrance.enter()?;
                make()
            });
            maker.join().unwrap_or_else(|_| Err(io::Error::other("its thread has ended")))
        })
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(Command::new("ip").args(["netns", "delete", &self.name]).output());
    }
}

/// The way into a namespace.
#[derive(Debug)]
pub(super) struct Entrance(File);

impl Entrance {
    /// This thread goes on there.
    pub(super) fn enter(&self) -> io::Result<()> {
        Ok(move_into_link_name_space(self.0.as_fd(), Some(LinkNameSpaceType::Network))?)
    }
}

/// What this machine lacks.
pub(super) fn lack() -> Option<&'static str> {
    if !geteuid().is_root() {
        return Some("only root can make network namespaces");
    }
    let shown = Command::new("ip").arg("-V").output();
    let is_there = shown.is_ok_and(|output| output.status.success());
    (!is_there).then_some("ip (iproute2) is not installed")
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("ip");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {error}", arguments.join(" "));
}
