//! A building of real processes: for each car a simulator on a pseudo-terminal or on TCP, and a
//! node, all on loopback addresses of their own, or each on a host of its own in a [`Lan`].
#![allow(dead_code, unused_imports, reason = "each file of tests uses its part of the building")]

mod books;
pub(crate) mod disk;
mod lan;
mod threads;
mod times;
mod wait;

mod process;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::Status;
use elevator_fleet::wire::Protocol;
use elevator_simulator::{CarState, ControlClient};
use liftmesh::operator::Client;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use books::{Books, Report};
pub(crate) use lan::{INTERFACE, Interface, Lan};
pub(crate) use threads::{Stopped, Thread};
pub(crate) use times::Times;

/// How long anything may take that should take a moment: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The flight limit of every node: twice what a flight over one floor takes, so that a machine that is
/// busy with other tests makes no hang.
pub(crate) const FLIGHT_LIMIT: Duration = Duration::from_secs(5);

const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Tells the buildings of one test process from each other.
static BUILDINGS: AtomicU8 = AtomicU8::new(1);

/// The line between a node and its panel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Line {
    Serial,
    Tcp,
}

/// A building with its cars; every process ends with it.
pub(crate) struct Building {
    dir: TempDir,
    floors: FloorCount,
    line: Line,
    port: u16,
    block: u8,
    election: Protocol,
    group: Option<Ipv4Addr>,
    cabins: Vec<Cabin>,
    lan: Option<Lan>,
    books: Option<Books>,
}

struct Cabin {
    name: &'static str,
    number: u8,
    role: Role,
    panel: String,
    simulator: Option<Child>,
    node: Option<Child>,
    suspended: bool,
}

impl Building {
    /// An empty building.
    pub(crate) fn new(floors: u8, line: Line) -> Self {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        Self {
            dir: TempDir::new().expect("a directory"),
            floors: FloorCount::new(floors).expect("a number of floors"),
            line,
            port: socket.local_addr().expect("bound").port(),
            block: BUILDINGS.fetch_add(1, Ordering::Relaxed),
            election: chosen_election(),
            group: None,
            cabins: Vec::new(),
            lan: None,
            books: None,
        }
    }

    /// An empty building, whose nodes will each have a host in a LAN of their own; `None` where
    /// this machine can't have such a LAN.
    pub(crate) fn with_lan(floors: u8) -> Option<Self> {
        let mut building = Self::new(floors, Line::Serial);
        building.lan = Some(Lan::open(building.block)?);
        Some(building)
    }

    /// The nodes that start from here on elect so; by default as `LIFTMESH_ELECTION` says, or by
    /// the lowest address.
    pub(crate) fn elect_by(&mut self, election: Protocol) {
        self.election = election;
    }

    /// The nodes that start from here on send their beacons to this multicast group.
    pub(crate) fn send_to(&mut self, group: Ipv4Addr) {
        self.group = Some(group);
    }

    /// A building with these cars at floor 0, their nodes running and merged. The first has the
    /// lowest address.
    pub(crate) fn with_cars(floors: u8, line: Line, names: &[&'static str]) -> Self {
        let mut building = Self::new(floors, line);
        building.fill(names);
        building
    }

    /// Installs these cars, and waits until their nodes have merged; the first has the lowest
    /// address.
    pub(crate) fn fill(&mut self, names: &[&'static str]) {
        for (name, number) in names.iter().zip(1..) {
            self.install(name, number);
            self.start(name);
        }
        self.wait_for_master(names[0]);
        self.wait_in_service(names);
    }

    /// From here on an account is kept of every order.
    pub(crate) fn open_books(&mut self) {
        let cars = self.cars();
        let cars: Vec<_> =
            cars.map(|cabin| (node_id(cabin.name), self.control(cabin.name))).collect();
        self.books = Some(Books::open(&cars));
    }

    /// Waits until every lamp is dark, and holds that no order was lost; hands back the account.
    pub(crate) fn close_books(&mut self) -> Report {
        self.wait_all_dark();
        let books = self.books.take().expect("open books");
        let report = books.close();
        assert!(report.lost.is_empty(), "lost: {:#?}{}", report.lost, self.logs());
        assert_eq!(report.tally.served, report.tally.placed, "{report:?}");
        report
    }

    /// The LAN.
    pub(crate) fn lan(&self) -> &Lan {
        self.lan.as_ref().expect("a building with a LAN")
    }

    /// Installs a car and its panel; its node gets the address with this last number.
    pub(crate) fn install(&mut self, name: &'static str, number: u8) {
        self.install_at(name, number, Interface::Ready);
    }

    /// The same, with the host's interface as it is in the beginning, where there is a LAN.
    pub(crate) fn install_at(&mut self, name: &'static str, number: u8, interface: Interface) {
        self.add(name, number, Role::Cabin, interface);
        self.power_panel(name);
    }

    /// Installs a node that has no car and no panel.
    pub(crate) fn install_unit(&mut self, name: &'static str, number: u8, role: Role) {
        self.add(name, number, role, Interface::Ready);
    }

    fn add(&mut self, name: &'static str, number: u8, role: Role, interface: Interface) {
        if let Some(lan) = &mut self.lan {
            lan.add_host(number, interface);
        }
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

    /// Starts the simulator of a car.
    pub(crate) fn power_panel(&mut self, name: &str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["simulate", "--quiet", "--name", name]);
        command.args(["--die-with-parent", &std::process::id().to_string()]);
        command.args(["--floors", &self.floors.get().to_string()]);
        // Quick cars make short tests; the shaft's laws stay the same.
        command.args(["--speed", "6", "--acceleration", "3", "--jerk", "10"]);
        command.args(["--between-floors", "300ms", "--passing-floor", "100ms"]);
        command.args(["--door-opening", "200ms", "--door-closing", "200ms"]);
        command.arg("--control").arg(self.control(name));
        match self.line {
            Line::Serial => command.arg("--serial-link").arg(self.dir.path().join(name)),
            Line::Tcp => command.args(["--tcp", "127.0.0.1:0"]),
        };
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the simulator");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut panel = String::new();
        for line in output.lines() {
            let line = line.expect("text");
            if let Some(url) = line.strip_prefix("panel ") {
                url.clone_into(&mut panel);
            }
            if line.starts_with("control ") {
                break;
            }
        }
        assert!(!panel.is_empty(), "the simulator of {name} told no panel");
        let cabin = self.cabin_mut(name);
        cabin.panel = panel;
        cabin.simulator = Some(child);
    }

    /// Starts a node.
    pub(crate) fn start(&mut self, name: &str) {
        self.start_with(name, |_| {});
    }

    /// Starts a node whose command line is changed first.
    pub(crate) fn start_with(&mut self, name: &str, change: impl FnOnce(&mut Command)) {
        let mut command = self.command(name);
        change(&mut command);
        let log = File::options().create(true).append(true).open(self.log(name)).expect("a log");
        let child = command.stderr(log).spawn().expect("the node");
        self.cabin_mut(name).node = Some(child);
        if let Some(books) = &self.books {
            books.runs(&node_id(name));
        }
    }

    /// The address with this last number and where beacons go, where there is no LAN.
    pub(crate) fn endpoint(&self, number: u8) -> (Ipv4Addr, SocketAddrV4) {
        let block = u8::try_from(std::process::id() % 200).expect("below 200");
        let address = Ipv4Addr::new(127, 50 + block, self.block, number);
        let everybody = Ipv4Addr::new(127, 255, 255, 255);
        (address, SocketAddrV4::new(everybody, self.port))
    }

    pub(crate) fn floors(&self) -> FloorCount {
        self.floors
    }

    /// The command line that starts a node.
    pub(crate) fn command(&self, name: &str) -> Command {
        let cabin = self.cabin(name);
        let program = env!("CARGO_BIN_EXE_liftmesh");
        let (mut command, address, broadcast) = if let Some(lan) = &self.lan {
            let command = lan.on_host(cabin.number, program);
            (command, lan.address(cabin.number), lan.broadcast())
        } else {
            let (address, broadcast) = self.endpoint(cabin.number);
            (Command::new(program), address, broadcast)
        };
        let broadcast = match self.group {
            Some(group) => SocketAddrV4::new(group, broadcast.port()),
            None => broadcast,
        };
        match cabin.role {
            Role::Cabin => command.args(["run", "--car", name, "--panel", &cabin.panel]),
            role => command.args(["run", "--role", &role.to_string(), "--unit", name]),
        };
        command.args(["--election", &self.election.to_string()]);
        command.args(["--address", &address.to_string()]);
        command.args(["--broadcast", &broadcast.to_string()]);
        command.args(["--floors", &self.floors.get().to_string()]);
        let limit = format!("{}s", FLIGHT_LIMIT.as_secs());
        command.args(["--dwell", "1s", "--flight-limit", &limit]);
        command.args(["--rated-speed", "6", "--acceleration", "3", "--jerk", "10"]);
        command.arg("--data-dir").arg(self.data_dir(name));
        command
    }

    /// Ends a node with SIGKILL.
    pub(crate) fn kill(&mut self, name: &str) {
        self.kill_all(&[name]);
    }

    /// Ends all these nodes at once with SIGKILL, as a power cut does.
    pub(crate) fn kill_all(&mut self, names: &[&str]) {
        for name in names {
            self.note_standstill(name);
        }
        for name in names {
            self.signal(name, Signal::KILL);
        }
        for name in names {
            let cabin = self.cabin_mut(name);
            cabin.suspended = false;
            let mut node = cabin.node.take().expect("a running node");
            node.wait().expect("wait");
        }
    }

    /// Suspends a node with SIGSTOP.
    pub(crate) fn suspend(&mut self, name: &str) {
        self.note_standstill(name);
        self.signal(name, Signal::STOP);
        self.cabin_mut(name).suspended = true;
    }

    /// Lets a suspended node go on, with SIGCONT.
    pub(crate) fn resume(&mut self, name: &str) {
        self.signal(name, Signal::CONT);
        self.cabin_mut(name).suspended = false;
        if let Some(books) = &self.books {
            books.runs(&node_id(name));
        }
    }

    fn note_standstill(&self, name: &str) {
        if let Some(books) = &self.books {
            books.stands_still(&node_id(name));
        }
    }

    /// Asks a node to end; hands back how it did.
    pub(crate) fn stop(&mut self, name: &str) -> ExitStatus {
        self.signal(name, Signal::TERM);
        self.exit(name)
    }

    /// Sends a node a signal.
    pub(crate) fn signal(&self, name: &str, signal: Signal) {
        let node = self.cabin(name).node.as_ref().expect("a running node");
        kill_process(Pid::from_child(node), signal).expect("a signal");
    }

    /// Takes a node's disk away.
    pub(crate) fn wipe(&self, name: &str) {
        std::fs::remove_dir_all(self.data_dir(name)).expect("the data directory");
    }

    /// A passenger presses a button on a car's panel.
    pub(crate) fn press(&self, name: &str, button: Button) {
        // Nobody waits for a controller that does not run.
        if let Some(books) = &self.books
            && self.running().any(|running| running == name)
        {
            books.press(&node_id(name), button);
        }
        self.panel(name).press(button).expect("a press");
    }

    /// Pushes a car's stop switch back.
    pub(crate) fn put_in(&self, name: &str) {
        self.panel(name).send("stop off").expect("the stop switch");
    }

    /// The control interface of a car's simulator.
    pub(crate) fn panel(&self, name: &str) -> ControlClient {
        ControlClient::connect(self.control(name)).expect("the simulator's control socket")
    }

    /// What a node says of itself, or `None` while it does not run.
    pub(crate) fn status(&self, name: &str) -> Option<Status> {
        Client::connect(&self.data_dir(name)).ok()?.status().ok()
    }

    /// What there is to see of a car.
    pub(crate) fn car(&self, name: &str) -> CarState {
        self.panel(name).state().expect("a state")
    }

    /// The hall button at a floor.
    pub(crate) fn hall(&self, floor: u8, direction: Direction) -> Button {
        Button::Hall(self.floor(floor), direction)
    }

    /// The car button for a floor.
    pub(crate) fn car_call(&self, floor: u8) -> Button {
        Button::Car(self.floor(floor))
    }

    pub(crate) fn floor(&self, floor: u8) -> Floor {
        self.floors.floor(floor).expect("a floor")
    }

    pub(crate) fn data_dir(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.data"))
    }

    /// S1: no controller has asked its panel for anything unsafe.
    pub(crate) fn assert_safe(&self) {
        for cabin in &self.cabins {
            assert_eq!(self.car(cabin.name).violations, 0, "violations of {}", cabin.name);
        }
    }

    /// The cars whose nodes run.
    pub(crate) fn running(&self) -> impl Iterator<Item = &'static str> {
        self.cabins
            .iter()
            .filter(|cabin| cabin.node.is_some() && !cabin.suspended)
            .map(|cabin| cabin.name)
    }

    /// Those that have a car.
    fn cars(&self) -> impl Iterator<Item = &Cabin> {
        let has_car = |cabin: &&Cabin| cabin.role == Role::Cabin;
        self.cabins.iter().filter(has_car)
    }

    fn cabin(&self, name: &str) -> &Cabin {
        self.cabins.iter().find(|cabin| cabin.name == name).expect("a cabin")
    }

    fn cabin_mut(&mut self, name: &str) -> &mut Cabin {
        self.cabins.iter_mut().find(|cabin| cabin.name == name).expect("a cabin")
    }

    /// A place for things of this building.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn control(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.control"))
    }

    fn log(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.log"))
    }

    /// The end of every node's log, for a failure's message.
    fn logs(&self) -> String {
        let tail = |cabin: &Cabin| {
            let log = std::fs::read_to_string(self.log(cabin.name)).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines[lines.len().saturating_sub(25)..].join("\n  ");
            format!("\n{}:\n  {end}", cabin.name)
        };
        self.cabins.iter().map(tail).collect()
    }
}

impl Drop for Building {
    fn drop(&mut self) {
        for cabin in &mut self.cabins {
            for child in [&mut cabin.node, &mut cabin.simulator].into_iter().flatten() {
                drop(child.kill());
                drop(child.wait());
            }
        }
    }
}

/// Says that a test is skipped, and why; a run that must not skip anything fails instead.
#[allow(clippy::print_stdout, reason = "a test that is skipped says so")]
pub(crate) fn skip(lack: &str) {
    assert!(std::env::var_os("LIFTMESH_SKIPS_FAIL").is_none(), "nothing may be skipped: {lack}");
    let test = std::thread::current();
    println!("skipped: {}: {lack}", test.name().unwrap_or("a test"));
}

fn node_id(name: &str) -> NodeId {
    NodeId::new(name).expect("a name")
}

/// What `LIFTMESH_ELECTION` says, so that every test can be run under every protocol.
fn chosen_election() -> Protocol {
    let Ok(name) = std::env::var("LIFTMESH_ELECTION") else {
        return Protocol::LowestIp;
    };
    name.parse().expect("LIFTMESH_ELECTION: a protocol")
}
