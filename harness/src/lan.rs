//! A LAN of its own for a fleet: a network namespace for each host and one for the switch between them,
//! a bridge whose ports can lose, refuse or cut what passes. Nothing outside these namespaces is
//! touched, and they go with the [`Lan`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, Command, Stdio};
use std::thread;

use rustix::process::geteuid;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

pub const INTERFACE: &str = "eth0";

/// The port of the mesh: these namespaces have nobody else who could use it.
const PORT: u16 = 46100;

/// Where `ip netns` keeps namespaces.
const NAMESPACES: &str = "/run/netns";

const PREFIX: &str = "liftmesh-";

#[derive(Debug)]
pub struct Lan {
    name: String,
    block: u8,
}

/// What a host's interface is when its cable is plugged in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interface {
    /// Up, with its address.
    Ready,
    /// With its address, but down.
    Down,
    /// Up, without an address.
    Bare,
}

/// Runs a program of the system, with its arguments and this input; returns what it prints.
///
/// # Errors
/// It can't be run or fails; the error has what it says.
pub fn run_tool(call: &str, input: &str) -> io::Result<String> {
    let failed = |why: &str| io::Error::other(format!("{call}: {why}"));
    let mut words = call.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Ctrl-C ends this program, not what undoes its traces.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| failed(&error.to_string()))?;
    if let Some(mut pipe) = child.stdin.take() {
        // A program that does not read its input says why.
        pipe.write_all(input.as_bytes()).unwrap_or_default();
    }
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(failed(String::from_utf8_lossy(&output.stderr).trim()))
}

/// What this account or machine lacks to use these programs as root.
#[must_use]
pub fn lack(tools: &[&str]) -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root".to_owned());
    }
    let is_missing = |tool: &&&str| run_tool(&format!("{tool} -V"), "").is_err();
    tools.iter().find(is_missing).map(|tool| format!("needs the program {tool}"))
}

/// Whether a process has left this behind: its name has the process's id after the prefix, and the
/// process has ended.
#[must_use]
pub fn is_left_behind(name: &str, prefix: &str) -> bool {
    let id = name.strip_prefix(prefix).and_then(|rest| rest.split('-').next()?.parse::<u32>().ok());
    id.is_some_and(|id| !Path::new(&format!("/proc/{id}")).exists())
}

/// Deletes namespaces.
fn sweep(is_due: impl Fn(&str) -> bool) {
    for entry in fs::read_dir(NAMESPACES).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_due(&name) {
            // Another process may have deleted it.
            drop(ip(&format!("netns delete {name}")));
        }
    }
}

/// What can't be done to a LAN is an error of the system, which says what was tried.
#[allow(clippy::missing_errors_doc, reason = "all are the same")]
impl Lan {
    /// A LAN without hosts. Deletes those of processes that were killed.
    pub fn open(block: u8) -> io::Result<Self> {
        if let Some(lack) = lack(&["ip", "nft"]) {
            return Err(io::Error::other(lack));
        }
        sweep(|name| is_left_behind(name, PREFIX));
        let name = format!("{PREFIX}{}-{block}", process::id());
        let lan = Self { name, block };
        ip(&format!("netns add {}", lan.switch()))?;
        lan.switch_ip("link add br0 type bridge")?;
        lan.switch_ip("link set br0 up")?;
        Ok(lan)
    }

    /// Adds a host whose address ends with this number, and plugs it in.
    pub fn add_host(&self, number: u8, interface: Interface) -> io::Result<()> {
        ip(&format!("netns add {}", self.host(number)))?;
        self.make_interface(number)?;
        self.host_ip(number, "link set lo up")?;
        if interface != Interface::Bare {
            self.address_host(number, number)?;
        }
        if interface == Interface::Down { Ok(()) } else { self.raise(number) }
    }

    fn make_interface(&self, number: u8) -> io::Result<()> {
        let (host, port) = (self.host(number), port(number));
        self.switch_ip(&format!("link add {port} type veth peer name {INTERFACE} netns {host}"))?;
        self.switch_ip(&format!("link set {port} master br0"))?;
        self.plug(number)
    }

    /// Deletes a host's interface, as a driver does whose device is pulled out.
    pub fn delete_interface(&self, number: u8) -> io::Result<()> {
        self.host_ip(number, &format!("link delete {INTERFACE}"))
    }

    /// Makes the interface anew, with the same name and address.
    pub fn recreate_interface(&self, number: u8) -> io::Result<()> {
        self.make_interface(number)?;
        self.address_host(number, number)?;
        self.raise(number)
    }

    /// Takes a host's address, and gives it the one of this number.
    pub fn address_host(&self, host: u8, number: u8) -> io::Result<()> {
        let (address, broadcast) = (self.address(number), self.broadcast());
        self.host_ip(host, &format!("addr flush dev {INTERFACE}"))?;
        let broadcast = broadcast.ip();
        self.host_ip(host, &format!("addr add {address}/24 broadcast {broadcast} dev {INTERFACE}"))
    }

    pub fn raise(&self, number: u8) -> io::Result<()> {
        self.host_ip(number, &format!("link set {INTERFACE} up"))
    }

    /// Sends what has no other way to the LAN: broadcasts to 255.255.255.255.
    pub fn route_all(&self, number: u8) -> io::Result<()> {
        self.host_ip(number, &format!("route add default dev {INTERFACE}"))
    }

    /// Pulls a host's cable out of the switch.
    pub fn unplug(&self, number: u8) -> io::Result<()> {
        self.switch_ip(&format!("link set {} down", port(number)))
    }

    /// Puts a host's cable into the switch.
    pub fn plug(&self, number: u8) -> io::Result<()> {
        self.switch_ip(&format!("link set {} up", port(number)))
    }

    /// Loses this share of all that passes, whatever it is.
    pub fn lose(&self, percent: u8) -> io::Result<()> {
        self.nft(&format!(
            "table bridge faults {{ chain forward {{ type filter hook forward priority 0; counter; \
             numgen random mod 100 < {percent} counter drop; }}\n}}\n"
        ))
        .map(drop)
    }

    /// How many packets have been lost since [`Lan::lose`], and of how many.
    pub fn lost(&self) -> io::Result<(u64, u64)> {
        let text = self.nft("list ruleset")?;
        let counts = text.split("counter packets ").skip(1);
        let counts = counts.filter_map(|rest| rest.split(' ').next()?.parse().ok());
        match counts.collect::<Vec<u64>>()[..] {
            [all, lost] => Ok((lost, all)),
            _ => Err(io::Error::other(format!("two counters are wanted: {text}"))),
        }
    }

    pub fn repair(&self) -> io::Result<()> {
        self.nft("flush ruleset").map(drop)
    }

    #[must_use]
    pub fn address(&self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.block, number)
    }

    #[must_use]
    pub fn broadcast(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address(255), PORT)
    }

    /// Runs a program on a host; it keeps the process that is started.
    #[must_use]
    pub fn on_host(&self, number: u8, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.host(number), program]);
        command
    }

    /// Makes something whose sockets are a host's.
    pub fn inside<T: Send>(&self, number: u8, make: impl FnOnce() -> T + Send) -> io::Result<T> {
        let namespace = File::open(Path::new(NAMESPACES).join(self.host(number)))?;
        let enter = || {
            let kind = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(namespace.as_fd(), kind).map(|()| make())
        };
        // On a thread of its own, because the others stay where they are.
        let result = thread::scope(|scope| scope.spawn(enter).join());
        Ok(result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?)
    }

    fn nft(&self, script: &str) -> io::Result<String> {
        run_tool(&format!("ip netns exec {} nft -f -", self.switch()), script)
    }

    fn switch_ip(&self, words: &str) -> io::Result<()> {
        ip(&format!("-n {} {words}", self.switch()))
    }

    fn host_ip(&self, number: u8, words: &str) -> io::Result<()> {
        ip(&format!("-n {} {words}", self.host(number)))
    }

    fn switch(&self) -> String {
        format!("{}-switch", self.name)
    }

    fn host(&self, number: u8) -> String {
        format!("{}-{number}", self.name)
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        let own = format!("{}-", self.name);
        sweep(|name| name.starts_with(&own));
    }
}

fn ip(words: &str) -> io::Result<()> {
    run_tool(&format!("ip {words}"), "").map(drop)
}

fn port(number: u8) -> String {
    format!("port{number}")
}
