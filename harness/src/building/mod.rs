//! A building of real processes: for each car a simulator on a pseudo-terminal or on TCP, and a
//! node, all on loopback addresses of their own, or each on a host of its own in a [`Lan`].
#![allow(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "for tests, which end where what they need is missing"
)]

mod answers;
mod books;
pub mod disk;
mod faults;
mod machine;
mod process;
mod threads;
mod times;
mod wait;

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use elevator_driver::{Button, Direction, DoorState, Floor, FloorCount};
use elevator_fleet::model::{Call, Mode, Role};
use elevator_fleet::node::Status;
use elevator_fleet::wire::Protocol;
use elevator_simulator::{CarState, ControlClient};

use self::answers::{announced, status};
pub use self::books::Report;
use self::books::{Books, Change};
pub use self::machine::Machine;
pub use self::process::processor_time;
pub use self::threads::{Stopped, Thread};
pub use self::times::Times;
pub use crate::lan::{INTERFACE, Interface, Lan};
use crate::process::last_lines;
use crate::{
    BROADCAST, NodeCommand, NodeKind, PanelEnd, Place, Process, SimulatorCommand, free_port,
};

/// How long anything may take that should take a moment: the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The flight limit of every node: twice the time of a flight over one floor, so that no car counts
/// as hung on a machine that is busy with other tests.
pub const FLIGHT_LIMIT: Duration = Duration::from_secs(5);

const FLEET: &str = "liftmesh";

/// Quick cars make short tests; the laws of the shaft stay the same. What node and simulator are
/// told, and what the simulator alone is.
const DRIVE: &str = "--floor-height 3 --acceleration 3 --jerk 10";
const CAR: &str = "--speed 6 --door-opening 200ms --door-closing 200ms --between-floors 300ms \
                   --passing-floor 100ms";

/// How many lines of each log are in a failure's message.
const LOG_LINES: usize = 25;

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Tells the buildings of one test process from each other.
static BUILDINGS: AtomicU8 = AtomicU8::new(1);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line {
    Serial,
    Tcp,
}

/// A building with its cars; every process ends with it.
pub struct Building {
    // The order matters: processes end before their directory is removed.
    cabins: Vec<Cabin>,
    place: Place,
    floors: FloorCount,
    line: Line,
    /// The path of the program that runs the nodes which start from here on.
    pub program: String,
    port: u16,
    block: u8,
    election: Protocol,
    fleet_keys: Option<String>,
    lan: Option<Lan>,
    books: Option<Books>,
    /// What every node is started with besides its settings.
    flags: &'static [&'static str],
}

struct Cabin {
    name: &'static str,
    number: u8,
    role: Role,
    panel: String,
    node: Option<Process>,
    simulator: Option<Process>,
    suspended: bool,
}

impl Building {
    pub fn new(floors: u8, line: Line) -> Self {
        Self::of_program(program(), floors, line)
    }

    /// An empty building for the program at this path.
    pub fn of_program(program: String, floors: u8, line: Line) -> Self {
        machine::wait_for_room();
        let (port, _held) = free_port(&[]).expect("a free port");
        Self {
            cabins: Vec::new(),
            place: Place::new("liftmesh-").expect("a directory"),
            floors: FloorCount::new(floors).expect("a number of floors"),
            line,
            program,
            port,
            block: BUILDINGS.fetch_add(1, Ordering::Relaxed),
            election: chosen_election(),
            fleet_keys: None,
            lan: None,
            books: None,
            flags: &[],
        }
    }

    /// An empty building, whose nodes will each have a host in a LAN of their own; `None` where
    /// this machine can't have such a LAN.
    pub fn with_lan(floors: u8) -> Option<Self> {
        let mut building = Self::new(floors, Line::Serial);
        match Lan::open(building.block) {
            Ok(lan) => building.lan = Some(lan),
            Err(lack) => {
                skip(&lack.to_string());
                return None;
            }
        }
        let key = building.make_key("fleet.key");
        building.use_keys(&key);
        Some(building)
    }

    /// The nodes that start from here on elect so; by default as `LIFTMESH_ELECTION` says, or by
    /// the lowest address.
    pub fn elect_by(&mut self, election: Protocol) {
        self.election = election;
    }

    /// Makes a fleet key; returns the setting that names its file.
    pub fn make_key(&self, name: &str) -> String {
        let path = self.path(name).to_str().expect("a path").to_owned();
        let made = Command::new(&self.program).args(["keygen", "--out", &path]).output();
        let made = made.expect("the program");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        path
    }

    /// The nodes that start from here on have these fleet keys; by default none, except in a LAN.
    pub fn use_keys(&mut self, files: &str) {
        self.fleet_keys = Some(files.to_owned());
    }

    /// A building with these cars at floor 0, their nodes running and merged.
    pub fn with_cars(floors: u8, line: Line, names: &[&'static str]) -> Self {
        let mut building = Self::new(floors, line);
        building.fill(names);
        building
    }

    /// Installs these cars in the order of their addresses, and waits until their nodes have merged.
    pub fn fill(&mut self, names: &[&'static str]) {
        for (name, number) in names.iter().zip(1..) {
            self.install(name, number);
            self.start(name);
        }
        self.wait_for_master(names[0]);
        self.wait_in_service(names);
    }

    /// From here on an account is kept of every order.
    pub fn open_books(&mut self) {
        self.books =
            Some(Books::open(self.cars().map(|it| (it.name, self.place.control(it.name)))));
    }

    /// Waits until every lamp is dark, and holds that no order was lost; hands back the account.
    pub fn close_books(&mut self) -> Report {
        self.wait_all_dark();
        let books = self.books.take().expect("open books");
        let report = books.close();
        assert!(report.lost.is_empty(), "lost: {:#?}{}", report.lost, self.logs());
        assert_eq!(report.tally.served, report.tally.placed, "{report:?}");
        report
    }

    pub fn lan(&self) -> &Lan {
        self.lan.as_ref().expect("a building with a LAN")
    }

    /// Installs a car and its panel; its node gets the address with this last number.
    pub fn install(&mut self, name: &'static str, number: u8) {
        self.install_at(name, number, Interface::Ready);
    }

    /// The same, with the host's interface as it is in the beginning, where there is a LAN.
    pub fn install_at(&mut self, name: &'static str, number: u8, interface: Interface) {
        self.add(name, number, Role::Cabin, interface);
        self.power_panel(name);
    }

    /// Installs a car whose panel is none of this building's simulators, but what is at this URL.
    pub fn install_panel(&mut self, name: &'static str, number: u8, url: String) {
        self.add(name, number, Role::Cabin, Interface::Ready);
        self.cabin_mut(name).panel = url;
    }

    /// Installs a node that has no car and no panel.
    pub fn install_unit(&mut self, name: &'static str, number: u8, role: Role) {
        self.add(name, number, role, Interface::Ready);
    }

    fn add(&mut self, name: &'static str, number: u8, role: Role, interface: Interface) {
        if let Some(lan) = &self.lan {
            lan.add_host(number, interface).expect("a host");
        }
        self.place.add(name).expect("a directory");
        self.cabins.push(Cabin {
            name,
            number,
            role,
            panel: String::new(),
            simulator: None,
            node: None,
            suspended: false,
        });
    }

    fn power_panel(&mut self, name: &str) {
        let panel = match self.line {
            Line::Serial => PanelEnd::Serial(self.place.panel(name)),
            Line::Tcp => PanelEnd::Tcp(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)),
        };
        let (floors, control) = (self.floors, self.place.control(name));
        let simulator =
            SimulatorCommand { building: None, name: name.to_owned(), floors, panel, control };
        let mut command = simulator.build(Command::new(&self.program));
        command.args(DRIVE.split(' ')).args(CAR.split(' '));
        let log = self.place.simulator_log(name);
        // An earlier simulator of the car may have written its panel to it.
        fs::write(&log, "").expect("a log");
        let simulator = Process::start(format!("the simulator of {name}"), command, log);
        let simulator = simulator.expect("the simulator");
        let panel = self.wait_for("the simulator is ready", |_| announced(simulator.log()));
        let cabin = self.cabin_mut(name);
        cabin.panel = panel;
        cabin.simulator = Some(simulator);
    }

    pub fn start(&mut self, name: &str) {
        self.start_with(name, |_| {});
    }

    /// Starts a node whose command line is changed first.
    pub fn start_with(&mut self, name: &str, change: impl FnOnce(&mut Command)) {
        let mut command = self.command(name);
        change(&mut command);
        self.run(name, |log| Process::start(name, command, log));
    }

    /// Starts a node with other settings than those of the building.
    pub fn start_as(&mut self, name: &str, change: impl FnOnce(&mut NodeCommand)) {
        let mut settings = self.settings(name);
        change(&mut settings);
        let command = self.command_of(name, "run", &settings);
        self.run(name, |log| Process::start(name, command, log));
    }

    fn run(&mut self, name: &str, start: impl FnOnce(PathBuf) -> io::Result<Process>) {
        let node = start(self.place.node_log(name)).expect("the node");
        self.cabin_mut(name).node = Some(node);
        self.record(name, Change::Runs);
    }

    /// The address with this last number and where beacons go, where there is no LAN.
    pub fn endpoint(&self, number: u8) -> (Ipv4Addr, SocketAddrV4) {
        let block = u8::try_from(std::process::id() % 200).expect("below 200");
        let address = Ipv4Addr::new(127, 50 + block, self.block, number);
        (address, SocketAddrV4::new(BROADCAST, self.port))
    }

    pub fn command(&self, name: &str) -> Command {
        self.command_of(name, "run", &self.settings(name))
    }

    fn command_of(&self, name: &str, verb: &str, settings: &NodeCommand) -> Command {
        let number = self.cabin(name).number;
        let program = match &self.lan {
            Some(lan) => lan.on_host(number, &self.program),
            None => Command::new(&self.program),
        };
        let mut command = settings.build(verb, program);
        let limit = format!("{}s", FLIGHT_LIMIT.as_secs());
        command.args(["--flight-limit", &limit, "--homing-limit", "10s"]);
        command.args(DRIVE.split(' ')).args(["--rated-speed", "6", "--dwell", "1s"]);
        command.args(self.flags);
        command
    }

    fn settings(&self, name: &str) -> NodeCommand {
        let cabin = self.cabin(name);
        let (address, broadcast) = match &self.lan {
            Some(lan) => (lan.address(cabin.number), lan.broadcast()),
            None => self.endpoint(cabin.number),
        };
        NodeCommand {
            name: name.to_owned(),
            kind: match cabin.role {
                Role::Cabin => NodeKind::Car { panel: cabin.panel.clone() },
                role => NodeKind::Unit(role),
            },
            fleet: FLEET.to_owned(),
            address: address.to_string(),
            broadcast,
            floors: self.floors,
            building: None,
            election: self.election,
            fleet_keys: self.fleet_keys.clone(),
            data_dir: self.data_dir(name),
        }
    }

    pub fn press(&self, name: &str, button: Button) {
        // Nobody waits for a controller that does not run.
        if self.running().any(|running| running == name) {
            self.record(name, |at| Change::Pressed(Call::of_button(button, &at)));
        }
        self.panel(name).press(button).expect("a press");
    }

    /// Tells a car's simulator something: a fault, a switch, a key.
    pub fn tell(&self, name: &str, command: &str) {
        self.panel(name).send(command).expect("a command of the simulator");
    }

    pub fn panel(&self, name: &str) -> ControlClient {
        ControlClient::connect(self.place.control(name)).expect("the simulator's control socket")
    }

    pub fn status(&self, name: &str) -> Option<Status> {
        status(&self.data_dir(name)).ok()
    }

    pub fn car(&self, name: &str) -> CarState {
        self.panel(name).state().expect("a state")
    }

    pub fn mode(&self, name: &str) -> Option<Mode> {
        self.status(name)?.car.map(|car| car.view.mode)
    }

    pub fn is_open_at(&self, name: &str, floor: u8) -> bool {
        let car = self.car(name);
        let is_open = car.door == DoorState::Open || car.door_lamp;
        is_open && car.floor == Some(self.floor(floor))
    }

    /// Whether a node's car hung, and nobody has cleared it.
    pub fn is_latched(&self, name: &str) -> bool {
        self.data_dir(name).join("hang.toml").exists()
    }

    pub fn hall(&self, floor: u8, direction: Direction) -> Button {
        Button::Hall(self.floor(floor), direction)
    }

    pub fn car_call(&self, floor: u8) -> Button {
        Button::Car(self.floor(floor))
    }

    pub fn floor(&self, floor: u8) -> Floor {
        self.floors.floor(floor).expect("a floor")
    }

    pub fn data_dir(&self, name: &str) -> PathBuf {
        self.place.data_dir(name)
    }

    /// S1: no controller has asked its panel for anything unsafe.
    pub fn assert_safe(&self) {
        for cabin in self.cars() {
            let violations = self.panel(cabin.name).send("violations").expect("an answer");
            assert_eq!(violations, "[]", "violations of {}{}", cabin.name, self.logs());
        }
    }

    /// The cars whose nodes run.
    pub fn running(&self) -> impl Iterator<Item = &'static str> {
        self.cabins
            .iter()
            .filter(|cabin| cabin.node.is_some() && !cabin.suspended)
            .map(|cabin| cabin.name)
    }

    fn cars(&self) -> impl Iterator<Item = &Cabin> {
        let has_car = |cabin: &&Cabin| cabin.role == Role::Cabin;
        self.cabins.iter().filter(has_car)
    }

    fn node(&self, name: &str) -> &Process {
        self.cabin(name).node.as_ref().expect("a running node")
    }

    fn cabin(&self, name: &str) -> &Cabin {
        self.cabins.iter().find(|cabin| cabin.name == name).expect("a cabin")
    }

    fn cabin_mut(&mut self, name: &str) -> &mut Cabin {
        self.cabins.iter_mut().find(|cabin| cabin.name == name).expect("a cabin")
    }

    /// A path for things of this building.
    pub fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The end of every node's log, for a failure's message.
    fn logs(&self) -> String {
        let tail = |cabin: &Cabin| {
            let log = last_lines(&self.place.node_log(cabin.name), LOG_LINES);
            format!("\n{}:\n{log}", cabin.name)
        };
        self.cabins.iter().map(tail).collect()
    }
}

/// The program under test. Cargo gives its path to tests and benchmarks.
fn program() -> String {
    std::env::var("CARGO_BIN_EXE_liftmesh").expect("cargo test and cargo bench set it")
}

/// What `LIFTMESH_ELECTION` says, so that every test can be run under every protocol.
fn chosen_election() -> Protocol {
    std::env::var("LIFTMESH_ELECTION")
        .map_or(Protocol::LowestIp, |name| name.parse().expect("LIFTMESH_ELECTION: a protocol"))
}

/// Whether this is the nightly run, in which the longer variants of some tests run too.
#[must_use]
pub fn is_nightly() -> bool {
    std::env::var_os("LIFTMESH_NIGHTLY").is_some_and(|it| it == "1")
}

/// Says that a test is skipped, and why; a run that must not skip anything fails instead.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
pub fn skip(lack: &str) {
    assert!(std::env::var_os("LIFTMESH_SKIPS_FAIL").is_none(), "nothing may be skipped: {lack}");
    let test = std::thread::current();
    println!("skipped: {}: {lack}", test.name().unwrap_or("a test"));
}
