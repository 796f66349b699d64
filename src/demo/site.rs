//! Where a demo takes place: its directory, names, addresses and ports, and the command line of
//! each process.

use std::fs::DirBuilder;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{env, io};

use elevator_driver::{Building, FloorCount};
use elevator_fleet::model::NodeId;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::{
    BROADCAST, NodeCommand, NodeKind, PanelEnd, Place, SimulatorCommand, free_port,
};

use super::Args;
use super::error::DemoError;
use crate::fleet_key::{self, KeyText};
use crate::journal::Account;
use crate::offline::Offline;
use crate::tokens::{self, Change, Scope, TokenHash};

/// Cars have addresses from 127.0.0.11 on.
const FIRST_ADDRESS: u8 = 11;

/// The port of the web panels, unless another program has it.
const HTTP_PORT: u16 = 7080;

#[derive(Debug)]
pub(super) struct Site {
    pub(super) place: Place,
    program: PathBuf,
    floors: FloorCount,
    /// The file of the building, if one was named.
    building: Option<PathBuf>,
    election: Protocol,
    mqtt_broker: Option<String>,
    port: u16,
    /// For the packets of an election that has a port of its own.
    ballot_port: u16,
    http_port: u16,
    /// With this, the panels place calls.
    token: String,
    /// The file of the fleet key: other accounts of this machine are not to command the cars.
    fleet_key: PathBuf,
    pub(super) cars: Vec<NodeId>,
}

impl Site {
    pub(super) fn new(args: &Args, building: Option<&Building>) -> Result<Self, DemoError> {
        let &Args { cars, floors, election, .. } = args;
        let listed = building.map(Building::cars).unwrap_or_default();
        let letters = ('A'..='Z').map(String::from).take(cars.into());
        let names: Vec<String> = match listed {
            [] => letters.collect(),
            cars => cars.iter().map(|served| served.car.clone()).collect(),
        };
        let name = |name: String| NodeId::new(&name).map_err(|_unfit| DemoError::CarName(name));
        let names: Vec<_> = names.into_iter().map(name).collect::<Result<_, _>>()?;
        let cars = names.len();
        let place = Place::new("liftmesh-demo-").map_err(failed(env::temp_dir()))?;
        let [port, ballot_port, http_port] = free_ports(cars).map_err(DemoError::Port)?;
        let fleet_key = place.path().join("fleet.key");
        fleet_key::create(&fleet_key, &KeyText::draw()?)
            .map_err(failed(place.path().to_owned()))?;
        let mut site = Self {
            fleet_key,
            place,
            program: env::current_exe().map_err(DemoError::System)?,
            floors,
            building: args.building.clone(),
            election,
            mqtt_broker: args.mqtt_broker.clone(),
            port,
            ballot_port,
            http_port,
            token: String::new(),
            cars: names,
        };
        for car in 0..cars {
            let name = site.name(car);
            site.place.add(name).map_err(failed(site.place.of(name)))?;
        }
        site.token = site.make_token()?;
        Ok(site)
    }

    /// Makes a token in the first node's journal, from where it comes to all of them.
    fn make_token(&self) -> Result<String, DemoError> {
        let dir = self.data_dir(0);
        DirBuilder::new().mode(0o700).create(&dir).map_err(failed(dir.clone()))?;
        let name = "demo".parse()?;
        let token = tokens::draw()?;
        let hash = TokenHash::of(&token);
        let change = Change::Create { name, scope: Scope::Operate, hash, lifetime_s: None };
        let mut offline = Offline::open(&dir, self.cars.first().cloned())?;
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

    pub(super) fn name(&self, car: usize) -> &str {
        self.cars[car].as_str()
    }

    pub(super) fn data_dir(&self, car: usize) -> PathBuf {
        self.place.data_dir(self.name(car))
    }

    pub(super) fn simulator(&self, car: usize, seed: u64) -> Command {
        let name = self.name(car);
        let simulator = SimulatorCommand {
            name: name.to_owned(),
            floors: self.floors,
            building: self.building.clone(),
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
        let name = self.name(car);
        let panel = format!("serial://{}", self.place.panel(name).display());
        let node = NodeCommand {
            name: name.to_owned(),
            kind: NodeKind::Car { panel },
            fleet: "demo".to_owned(),
            address: address(car).to_string(),
            broadcast: SocketAddrV4::new(BROADCAST, self.port),
            floors: self.floors,
            building: self.building.clone(),
            fleet_keys: Some(self.fleet_key.display().to_string()),
            election: self.election,
            data_dir: self.place.data_dir(name),
        };
        let mut command = node.build("run", self.program());
        command.arg("--allow-faults");
        command.args(["--http-address", &self.http(car).to_string()]);
        command.args(["--ballot-port", &self.ballot_port.to_string()]);
        command.args(self.mqtt_broker.iter().flat_map(|url| ["--mqtt-broker", url]));
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

fn failed(dir: PathBuf) -> impl FnOnce(io::Error) -> DemoError {
    |source| DemoError::Directory { dir, source }
}

pub(super) fn address(car: usize) -> Ipv4Addr {
    let last = FIRST_ADDRESS + u8::try_from(car).unwrap_or_default();
    Ipv4Addr::new(127, 0, 0, last)
}

/// Ports that are free at every node: of the mesh, of ballots, and of the web panels, which is the
/// usual one if possible.
fn free_ports(cars: usize) -> io::Result<[u16; 3]> {
    let addresses: Vec<_> = (0..cars).map(address).collect();
    // Held until all are known, so that each is another one.
    let (port, _held) = free_port(&addresses)?;
    let (ballot_port, _held_too) = free_port(&addresses)?;
    let is_free = |address: &Ipv4Addr| TcpListener::bind((*address, HTTP_PORT)).is_ok();
    let has_usual = addresses.iter().all(is_free);
    let http_port = if has_usual { HTTP_PORT } else { free_port(&addresses)?.0 };
    Ok([port, ballot_port, http_port])
}
