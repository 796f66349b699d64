//! The command lines of a fleet's processes. Callers add further flags to the `Command`.
//!
//! Every process ends with the thread that starts it.

use std::env;
use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::PathBuf;
use std::process::{self, Command, Stdio};

use elevator_driver::FloorCount;
use elevator_fleet::model::Role;
use elevator_fleet::wire::Protocol;

/// `liftmesh simulate`, without a picture of the car.
#[derive(Debug, Clone)]
pub struct SimulatorCommand {
    /// The file of the building, in place of `floors`.
    pub building: Option<PathBuf>,
    pub name: String,
    pub floors: FloorCount,
    pub panel: PanelEnd,
    /// The control socket.
    pub control: PathBuf,
}

/// Where a simulator offers its panel.
#[derive(Debug, Clone)]
pub enum PanelEnd {
    /// A pseudo-terminal with this link to it.
    Serial(PathBuf),
    Tcp(SocketAddrV4),
}

impl SimulatorCommand {
    /// Adds the arguments to `program`, which is Liftmesh or executes it.
    #[must_use]
    pub fn build(&self, program: Command) -> Command {
        let mut command = program;
        command.args(["simulate", "--quiet", "--name", &self.name]);
        command.args(floors(self.floors, self.building.as_ref()));
        match &self.panel {
            PanelEnd::Serial(link) => command.arg("--serial-link").arg(link),
            PanelEnd::Tcp(address) => command.args(["--tcp", &address.to_string()]),
        };
        command.arg("--control").arg(&self.control);
        die_with_this_process(command)
    }
}

/// `liftmesh run`.
#[derive(Debug, Clone)]
pub struct NodeCommand {
    pub name: String,
    pub kind: NodeKind,
    pub fleet: String,
    /// An IPv4 address, or the name of an interface.
    pub address: String,
    /// Where the beacons go.
    pub broadcast: SocketAddrV4,
    pub floors: FloorCount,
    /// The file of the building, in place of `floors`.
    pub building: Option<PathBuf>,
    pub election: Protocol,
    /// The files of the fleet keys, if there are any.
    pub fleet_keys: Option<String>,
    pub data_dir: PathBuf,
}

/// Whether a node has a car.
#[derive(Debug, Clone)]
pub enum NodeKind {
    Car {
        /// The URL of its panel.
        panel: String,
    },
    /// Neither car nor panel.
    Unit(Role),
}

impl NodeCommand {
    /// Adds `run` or `caretaker` and the arguments to `program`, which is Liftmesh or executes it,
    /// and removes the settings in the environment, which are not meant for this node.
    #[must_use]
    pub fn build(&self, verb: &str, program: Command) -> Command {
        let mut command = program;
        for (name, _) in env::vars_os() {
            if name.as_encoded_bytes().starts_with(b"LIFTMESH__") {
                command.env_remove(name);
            }
        }
        // A configuration of this machine is not the fleet's.
        command.env("LIFTMESH_CONFIG", "").arg(verb);
        match &self.kind {
            NodeKind::Car { panel } => command.args(["--car", &self.name, "--panel", panel]),
            NodeKind::Unit(role) => {
                command.args(["--unit", &self.name, "--role", &role.to_string()])
            }
        };
        command
            .args(["--fleet", &self.fleet])
            .args(["--address", &self.address])
            .args(["--broadcast", &self.broadcast.to_string()])
            .args(floors(self.floors, self.building.as_ref()))
            .args(["--election", &self.election.to_string()])
            .arg("--data-dir")
            .arg(&self.data_dir);
        if let Some(files) = &self.fleet_keys {
            command.args(["--fleet-keys", files]);
        }
        die_with_this_process(command)
    }
}

fn die_with_this_process(mut command: Command) -> Command {
    command.stdin(Stdio::null()).args(["--die-with-parent", &process::id().to_string()]);
    command
}

fn floors(count: FloorCount, building: Option<&PathBuf>) -> [OsString; 2] {
    match building {
        Some(file) => ["--building".into(), file.into()],
        None => ["--floors".into(), count.get().to_string().into()],
    }
}
