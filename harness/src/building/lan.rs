//! A LAN of its own for every node of a building: a network namespace for each host and one for the
//! switch between them, a bridge whose ports can lose, refuse or cut what passes. Nothing outside
//! these namespaces is touched, and they go with the [`Lan`].

use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::{Command, Output};

use rustix::process::geteuid;

use super::skip;
pub const INTERFACE: &str = "eth0";

/// The port of the mesh: these namespaces have nobody else who could use it.
const PORT: u16 = 46100;
pub struct Lan {
    name: String,
    block: u8,
    hosts: Vec<u8>,
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

impl Lan {
    /// A LAN without hosts, or `None`, having said why, where there can't be one; a run that must
    /// not skip anything fails instead.
    pub fn open(block: u8) -> Option<Self> {
        if let Some(lack) = lack() {
            skip(lack);
            return None;
        }
        let lan = Self {
            name: format!("liftmesh-{}-{block}", std::process::id()),
            block,
            hosts: Vec::new(),
        };
        ip(&["netns", "add", &lan.switch()]);
        lan.switch_ip(&["link", "add", "br0", "type", "bridge"]);
        lan.switch_ip(&["link", "set", "br0", "up"]);
        Some(lan)
    }

    /// Adds a host whose address ends with this number, and plugs it in.
    pub fn add_host(&mut self, number: u8, interface: Interface) {
        let host = self.host(number);
        ip(&["netns", "add", &host]);
        self.hosts.push(number);
        self.make_interface(number);
        ip(&["-n", &host, "link", "set", "lo", "up"]);
        if interface != Interface::Bare {
            self.address_host(number, number);
        }
        if interface != Interface::Down {
            self.raise(number);
        }
    }

    fn make_interface(&self, number: u8) {
        let (host, port) = (self.host(number), port(number));
        let pair = ["type", "veth", "peer", "name", INTERFACE, "netns", &host];
        self.switch_ip(&[&["link", "add", &port][..], &pair].concat());
        self.switch_ip(&["link", "set", &port, "master", "br0"]);
        self.plug(number);
    }

    /// Deletes a host's interface, as a driver does whose device is pulled out.
    pub fn delete_interface(&self, number: u8) {
        ip(&["-n", &self.host(number), "link", "delete", INTERFACE]);
    }

    /// Makes the interface anew, with the same name and address.
    pub fn recreate_interface(&self, number: u8) {
        self.make_interface(number);
        self.address_host(number, number);
        self.raise(number);
    }

    /// Takes a host's address, and gives it the one of this number.
    pub fn address_host(&self, host: u8, number: u8) {
        ip(&["-n", &self.host(host), "addr", "flush", "dev", INTERFACE]);
        let address = format!("{}/24", self.address(number));
        let broadcast = self.broadcast().ip().to_string();
        let device = ["dev", INTERFACE];
        let add = ["addr", "add", &address, "broadcast", &broadcast];
        ip(&[&["-n", &self.host(host)][..], &add, &device].concat());
    }

    pub fn raise(&self, number: u8) {
        ip(&["-n", &self.host(number), "link", "set", INTERFACE, "up"]);
    }

    /// Pulls a host's cable out of the switch.
    pub fn unplug(&self, number: u8) {
        self.switch_ip(&["link", "set", &port(number), "down"]);
    }

    /// Puts a host's cable into the switch.
    pub fn plug(&self, number: u8) {
        self.switch_ip(&["link", "set", &port(number), "up"]);
    }

    /// Loses this share of all that passes, whatever it is.
    pub fn lose(&self, percent: u8) {
        self.rule("counter");
        self.rule(&format!("numgen random mod 100 < {percent} counter drop"));
    }

    /// How many packets have been lost since [`Lan::lose`], and of how many.
    pub fn lost(&self) -> (u64, u64) {
        let text = self.nft("list ruleset");
        let counts = text.split("counter packets ").skip(1);
        let counts = counts.filter_map(|rest| rest.split(' ').next()?.parse().ok());
        let counts: Vec<u64> = counts.collect();
        let [all, lost] = counts[..] else { panic!("two counters are wanted: {text}") };
        (lost, all)
    }

    pub fn repair(&self) {
        self.nft("flush ruleset");
    }

    pub fn address(&self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.block, number)
    }

    pub fn broadcast(&self) -> SocketAddrV4 {
        SocketAddrV4::new(self.address(255), PORT)
    }

    /// Runs a program on a host; it keeps the process that is started.
    pub fn on_host(&self, number: u8, program: &str) -> Command {
        inside(&self.host(number), program)
    }

    fn rule(&self, rule: &str) {
        self.nft("add table bridge faults");
        self.nft("add chain bridge faults forward { type filter hook forward priority 0; }");
        self.nft(&format!("add rule bridge faults forward {rule}"));
    }

    fn nft(&self, command: &str) -> String {
        let output = inside(&self.switch(), "nft").arg(command).output().expect("nft");
        assert!(output.status.success(), "nft {command}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    fn switch_ip(&self, arguments: &[&str]) {
        ip(&[&["-n", &self.switch()], arguments].concat());
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
        let hosts = self.hosts.iter().map(|host| self.host(*host));
        for name in hosts.chain([self.switch()]) {
            drop(Command::new("ip").args(["netns", "delete", &name]).output());
        }
    }
}

/// What this machine lacks.
fn lack() -> Option<&'static str> {
    if !geteuid().is_root() {
        return Some("only root can make network namespaces");
    }
    let lacks = |tool: &&str| {
        let shown = Command::new(tool).arg("-V").output();
        !shown.is_ok_and(|output| output.status.success())
    };
    ["ip", "nft"].iter().any(lacks).then_some("iproute2 or nftables is not installed")
}

fn inside(namespace: &str, program: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, program]);
    command
}

fn ip(arguments: &[&str]) {
    let Output { status, stderr, .. } = Command::new("ip").args(arguments).output().expect("ip");
    let error = String::from_utf8_lossy(&stderr);
    assert!(status.success(), "ip {}: {error}", arguments.join(" "));
}

fn port(number: u8) -> String {
    format!("port{number}")
}
