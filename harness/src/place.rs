//! Where a fleet runs: a directory of its own, and a port that nobody else uses.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// The broadcast address of loopback.
pub const BROADCAST: Ipv4Addr = Ipv4Addr::new(127, 255, 255, 255);

const PORT_ATTEMPTS: usize = 50;

/// The directory of a fleet, with one for each node. It is removed when this is dropped; the
/// processes must have ended by then.
#[derive(Debug)]
pub struct Place(TempDir);

impl Place {
    /// Makes a directory whose name starts with `prefix`, where temporary files go.
    ///
    /// # Errors
    /// Nothing was made.
    pub fn new(prefix: &str) -> io::Result<Self> {
        tempfile::Builder::new().prefix(prefix).tempdir().map(Self)
    }

    /// Makes the directory of a node.
    ///
    /// # Errors
    /// Nothing was made.
    pub fn add(&self, node: &str) -> io::Result<()> {
        fs::create_dir(self.of(node))
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    #[must_use]
    pub fn of(&self, node: &str) -> PathBuf {
        self.path().join(node)
    }

    /// The link to the pseudo-terminal of a car's panel.
    #[must_use]
    pub fn panel(&self, car: &str) -> PathBuf {
        self.of(car).join("panel")
    }

    #[must_use]
    pub fn control(&self, car: &str) -> PathBuf {
        self.of(car).join("control")
    }

    /// The data directory of a node, which the node makes.
    #[must_use]
    pub fn data_dir(&self, node: &str) -> PathBuf {
        self.of(node).join("data")
    }

    #[must_use]
    pub fn simulator_log(&self, car: &str) -> PathBuf {
        self.of(car).join("simulator.log")
    }

    #[must_use]
    pub fn node_log(&self, node: &str) -> PathBuf {
        self.of(node).join("node.log")
    }
}

/// A port on which nobody hears the broadcasts and each of these addresses can listen. It is taken
/// for as long as the socket lives.
///
/// # Errors
/// No port is free, or there is no loopback interface.
pub fn free_port(addresses: &[Ipv4Addr]) -> io::Result<(u16, UdpSocket)> {
    let mut last = io::Error::from(ErrorKind::AddrInUse);
    for _ in 0..PORT_ATTEMPTS {
        let broadcast = UdpSocket::bind((BROADCAST, 0))?;
        let port = broadcast.local_addr()?.port();
        let all_free = addresses.iter().try_for_each(|address| {
            drop((UdpSocket::bind((*address, port))?, TcpListener::bind((*address, port))?));
            Ok(())
        });
        match all_free {
            Ok(()) => return Ok((port, broadcast)),
            Err(error) => last = error,
        }
    }
    Err(last)
}
