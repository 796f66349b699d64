//! Where a demo takes place: its directory, names, addresses and ports, and the command line of each
//! process.

use std::fs::DirBuilder;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

use elevator_driver::FloorCount;
use elevator_fleet::election::Carrier;
use elevator_fleet::model::NodeId;
use elevator_fleet::node::MeshTimes;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::{
    BROADCAST, NodeCommand, NodeKind, PanelEnd, Place, SimulatorCommand, free_port,
};

use super::error::DemoError;
use crate::fleet_key::{self, KeyText};
use crate::journal::Account;
use crate::offline::Offline;
use crate::tokens::{self, Change, Scope, TokenHash};

/// Every node hears every other one, and all of them share this machine.
const MOST_CARS: usize = 64;

/// So many cars run at full pace.
const CARS_AT_FULL_PACE: usize = 12;

/// Cars have addresses from 127.0.0.11 on.
const FIRST_ADDRESS: u8 = 11;

/// The port of the web panels, unless another program has it.
const HTTP_PORT: u16 = 7080;

#[derive(Debug)]
pub(super) struct Site {
    pub(super) place: Place,
    program: PathBuf,
    floors: FloorCount,
    election: Protocol,
    port: u16,
    /// Where the election has packets with a port of their own.
    ballot_port: Option<u16>,
    /// Where each node serves its web panel.
    http_port: u16,
    /// With this, the panels place calls.
    token: String,
    /// The file of the fleet key: other accounts of this machine are not to command the cars.
    fleet_key: PathBuf,
    pub(super) cars: Vec<NodeId>,
}

impl Site {
    /// Looks for a place.
    pub(super) fn new(
        cars: usize,
        floors: FloorCount,
        election: Protocol,
    ) -> Result<Self, DemoError> {
        if !(1..=MOST_CARS).contains(&cars) {
            return Err(DemoError::Cars(cars));
        }
        let names: Vec<NodeId> =
            names().filter_map(|name| NodeId::new(&name).ok()).take(cars).collect();
        let place = Place::new("liftmesh-demo-")
            .map_err(|source| DemoError::Directory { dir: env::temp_dir(), source })?;
        let (port, ballot_port) = free_ports(cars, election).map_err(DemoError::Port)?;
        let http_port = free_http_port(cars).map_err(DemoError::Port)?;
        let fleet_key = place.path().join("fleet.key");
        fleet_key::create(&fleet_key, &KeyText::draw()?)
            .map_err(|source| DemoError::Directory { dir: place.path().to_owned(), source })?;
        let mut site = Self {
            fleet_key,
            place,
            program: env::current_exe().map_err(DemoError::Program)?,
            floors,
            election,
            port,
            ballot_port,
            http_port,
            token: String::new(),
            cars: names,
        };
        for car in 0..cars {
            let name = site.name(car);
            site.place.add(name).map_err(|source| {
                let dir = site.place.of(name);
                DemoError::Directory { dir, source }
            })?;
        }
        site.token = site.make_token()?;
        Ok(site)
    }

    /// Makes a token in the first node's journal, from where it comes to all of them.
    fn make_token(&self) -> Result<String, DemoError> {
        let dirs: Vec<_> = (0..self.cars.len()).map(|car| self.data_dir(car)).collect();
        for dir in &dirs {
            let made = DirBuilder::new().mode(0o700).create(dir);
            made.map_err(|source| DemoError::Directory { dir: dir.clone(), source })?;
        }
        let name = "demo".parse().map_err(DemoError::TokenName)?;
        let token = tokens::draw()?;
        let hash = TokenHash::of(&token);
        let change = Change::Create { name, scope: Scope::Operate, hash, lifetime_s: None };
        let mut offline = Offline::open(&dirs[0], self.cars.first().cloned())?;
        offline.change(&change, "demo", Account::of_process())?;
        Ok(token.to_string())
    }

    /// The address of the first car's web panel, with the token for it.
    pub(super) fn panel(&self) -> String {
        format!("http://{}/#token={}", self.http(0), self.token)
    }

    fn http(&self, car: usize) -> SocketAddrV4 {
        SocketAddrV4::new(address(car), self.http_port)
    }

    /// How many times as slow as usual each process is looked at, so that this one machine can run
    /// them all. Beacons, whose number grows with the square of the fleet, are slower by its square.
    pub(super) fn slowdown(&self) -> u32 {
        u32::try_from(self.cars.len().div_ceil(CARS_AT_FULL_PACE)).unwrap_or(u32::MAX)
    }

    pub(super) fn name(&self, car: usize) -> &str {
        self.cars.get(car).map_or("?", NodeId::as_str)
    }

    pub(super) fn data_dir(&self, car: usize) -> PathBuf {
        self.place.data_dir(self.name(car))
    }

    pub(super) fn simulator(&self, car: usize, seed: u64) -> Command {
        let name = self.name(car);
        let simulator = SimulatorCommand {
            name: name.to_owned(),
            floors: self.floors,
            panel: PanelEnd::Serial(self.place.panel(name)),
            control: self.place.control(name),
        };
        let mut command = simulator.build(self.program());
        command
            .args(["--seed", &seed.to_string()])
            .args(["--start-floor", &self.start_floor(car).to_string()]);
        command
    }

    pub(super) fn node(&self, car: usize) -> Command {
        let mut command = self.with_settings(car, NodeCommand::build);
        command.arg("--allow-faults");
        command
    }

    pub(super) fn caretaker(&self, car: usize) -> Command {
        self.with_settings(car, NodeCommand::build_caretaker)
    }

    fn with_settings(
        &self,
        car: usize,
        build: impl FnOnce(&NodeCommand, Command) -> Command,
    ) -> Command {
        let name = self.name(car);
        let panel = format!("serial://{}", self.place.panel(name).display());
        let node = NodeCommand {
            name: name.to_owned(),
            kind: NodeKind::Car { panel },
            fleet: "demo".to_owned(),
            address: address(car).to_string(),
            broadcast: SocketAddrV4::new(BROADCAST, self.port),
            floors: self.floors,
            fleet_keys: Some(self.fleet_key.display().to_string()),
            election: self.election,
            data_dir: self.place.data_dir(name),
        };
        let mut command = build(&node, self.program());
        command.args(["--http-address", &self.http(car).to_string()]);
        if let Some(port) = self.ballot_port {
            command.args(["--ballot-port", &port.to_string()]);
        }
        let slowdown = self.slowdown();
        if slowdown > 1 {
            let slowdown = slowdown * slowdown;
            let times = MeshTimes::default();
            for (flag, time) in [
                ("--beacon-period", times.beacon_period),
                ("--probe-after", times.probe_after),
                ("--probe-period", times.probe_period),
                ("--dead-after", times.dead_after),
                ("--repair-after", times.repair_after),
            ] {
                let time = humantime::format_duration(time * slowdown);
                command.args([flag, &time.to_string()]);
            }
        }
        command
    }

    /// The cars start spread over the shaft, the first at the entrance.
    fn start_floor(&self, car: usize) -> usize {
        let top = usize::from(self.floors.top().index());
        car * top / (self.cars.len() - 1).max(1)
    }

    /// In a process group of its own, so that a key pressed in the terminal reaches the demo alone.
    fn program(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.process_group(0);
        command
    }
}

/// A to Z, then AA, AB and so on.
fn names() -> impl Iterator<Item = String> {
    let letters = 'A'..='Z';
    let pairs = letters.clone().flat_map(|one| ('A'..='Z').map(move |two| format!("{one}{two}")));
    letters.map(String::from).chain(pairs)
}

pub(super) fn address(car: usize) -> Ipv4Addr {
    let last = u8::try_from(car).map_or(u8::MAX, |car| FIRST_ADDRESS.saturating_add(car));
    Ipv4Addr::new(127, 0, 0, last)
}

/// The usual port of the web panels if it is free at every node, otherwise another one.
fn free_http_port(cars: usize) -> io::Result<u16> {
    let addresses: Vec<_> = (0..cars).map(address).collect();
    let is_free = |address: &Ipv4Addr| TcpListener::bind((*address, HTTP_PORT)).is_ok();
    if addresses.iter().all(is_free) { Ok(HTTP_PORT) } else { Ok(free_port(&addresses)?.0) }
}

fn free_ports(cars: usize, election: Protocol) -> io::Result<(u16, Option<u16>)> {
    let addresses: Vec<_> = (0..cars).map(address).collect();
    // Held until both are known, so that the second is another one.
    let (port, _held) = free_port(&addresses)?;
    let ballot_port = match election.profile().carrier {
        Carrier::Packet => Some(free_port(&addresses)?.0),
        Carrier::Beacon => None,
    };
    Ok((port, ballot_port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn floors() -> FloorCount {
        FloorCount::new(6).unwrap()
    }

    #[test]
    fn ballot_alone_has_a_second_port_and_it_is_another() {
        for election in Protocol::ALL {
            let site = Site::new(2, floors(), election).unwrap();
            let has_second = site.ballot_port.is_some_and(|port| port != site.port);
            assert_eq!(has_second, election == Protocol::Ballot, "{election}");
            let command = site.node(0);
            let arguments: Vec<_> = command.get_args().collect();
            let after = |flag: &str| {
                let at = arguments.iter().position(|argument| *argument == flag)?;
                arguments[at + 1].to_str().map(str::to_owned)
            };
            assert_eq!(after("--election"), Some(election.to_string()));
            let key = after("--fleet-keys").map(PathBuf::from);
            assert!(key.is_some_and(|file| file.is_file()));
            let port = site.ballot_port.map(|port| port.to_string());
            assert_eq!(after("--ballot-port"), port);
        }
    }

    #[test]
    fn the_cars_are_spread_over_the_shaft() {
        let site = Site::new(3, floors(), Protocol::LowestIp).unwrap();
        let starts: Vec<_> = (0..3).map(|car| site.start_floor(car)).collect();
        assert_eq!(starts, [0, 2, 5]);
        let alone = Site::new(1, floors(), Protocol::LowestIp).unwrap();
        assert_eq!(alone.start_floor(0), 0);
    }

    #[test]
    fn sixty_four_cars_have_names_and_addresses_of_their_own_and_no_more_are_taken() {
        let site = Site::new(64, floors(), Protocol::LowestIp).unwrap();
        let names: std::collections::BTreeSet<_> = site.cars.iter().collect();
        assert_eq!(names.len(), 64);
        assert_eq!(["A", "Z", "AA", "BL"], [0, 25, 26, 63].map(|car| site.name(car)));
        assert_eq!(address(63), Ipv4Addr::new(127, 0, 0, 74));
        for cars in [0, 65] {
            let refused = Site::new(cars, floors(), Protocol::LowestIp).unwrap_err();
            assert!(matches!(refused, DemoError::Cars(_)));
        }
    }
}
