//! A building of real processes: for each car a simulator on a pseudo-terminal or on TCP, and a
//! node, all on loopback addresses of their own.

mod process;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use elevator_driver::{Button, Direction, Floor, FloorCount};
use elevator_simulator::{CarState, ControlClient};
use liftmesh::operator::Client;
use liftmesh::operator::view::{StandingView, StatusView};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// How long anything may take that should take a moment: the machine may be busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

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
    cabins: Vec<Cabin>,
}

struct Cabin {
    name: &'static str,
    address: Ipv4Addr,
    panel: String,
    simulator: Option<Child>,
    node: Option<Child>,
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
            cabins: Vec::new(),
        }
    }

    /// A building with these cars at floor 0, their nodes running and merged. The first has the
    /// lowest address.
    pub(crate) fn with_cars(floors: u8, line: Line, names: &[&'static str]) -> Self {
        let mut building = Self::new(floors, line);
        for (name, number) in names.iter().zip(1..) {
            building.install(name, number);
            building.start(name);
        }
        building.wait_for_master(names[0]);
        building.wait("every car is in service", |building| {
            names.iter().all(|name| {
                let car = building.status(name).and_then(|status| status.car);
                car.is_some_and(|car| car.group.in_service)
            })
        });
        building
    }

    /// Installs a car and its panel; its node gets the address with this last number.
    pub(crate) fn install(&mut self, name: &'static str, number: u8) {
        let block = u8::try_from(std::process::id() % 200).expect("below 200");
        let address = Ipv4Addr::new(127, 50 + block, self.block, number);
        let panel = String::new();
        self.cabins.push(Cabin {
            name,
            address,
            panel,
            simulator: None,
            node: None,
        });
        self.power_panel(name);
    }

    /// Starts the simulator of a car.
    pub(crate) fn power_panel(&mut self, name: &str) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["simulate", "--quiet", "--die-with-parent", "--name", name]);
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
        let mut child = command
            .stdout(Stdio::piped())
            .spawn()
            .expect("the simulator");
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
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.log(name))
            .expect("a log");
        let child = command.stderr(log).spawn().expect("the node");
        self.cabin_mut(name).node = Some(child);
    }

    /// The command line that starts a node.
    pub(crate) fn command(&self, name: &str) -> Command {
        let cabin = self.cabin(name);
        let mut command = Command::new(env!("CARGO_BIN_EXE_liftmesh"));
        command.args(["run", "--car", name, "--panel", &cabin.panel]);
        command.args(["--address", &cabin.address.to_string()]);
        command.args(["--broadcast", &format!("127.255.255.255:{}", self.port)]);
        command.args(["--floors", &self.floors.get().to_string()]);
        command.args(["--dwell", "1s", "--flight-limit", "3s"]);
        command.args(["--rated-speed", "6", "--acceleration", "3", "--jerk", "10"]);
        command.arg("--data-dir").arg(self.data_dir(name));
        command
    }

    /// Ends a node with SIGKILL.
    pub(crate) fn kill(&mut self, name: &str) {
        let mut node = self.cabin_mut(name).node.take().expect("a running node");
        node.kill().expect("kill");
        node.wait().expect("wait");
    }

    /// Asks a node to end; hands back how it did.
    pub(crate) fn stop(&mut self, name: &str) -> ExitStatus {
        self.signal(name, Signal::TERM);
        self.exit(name)
    }

    /// Waits for a node to end by itself.
    pub(crate) fn exit(&mut self, name: &str) -> ExitStatus {
        let mut node = self.cabin_mut(name).node.take().expect("a running node");
        let start = Instant::now();
        loop {
            if let Some(status) = node.try_wait().expect("wait") {
                return status;
            }
            if start.elapsed() > PATIENCE {
                node.kill().expect("kill");
                panic!("{name} does not end{}", self.logs());
            }
            std::thread::sleep(LOOK_EVERY);
        }
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
        self.panel(name).press(button).expect("a press");
    }

    /// The control interface of a car's simulator.
    pub(crate) fn panel(&self, name: &str) -> ControlClient {
        ControlClient::connect(self.control(name)).expect("the simulator's control socket")
    }

    /// What a node says of itself, or `None` while it does not run.
    pub(crate) fn status(&self, name: &str) -> Option<StatusView> {
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

    /// The cab button for a floor.
    pub(crate) fn cab(&self, floor: u8) -> Button {
        Button::Cab(self.floor(floor))
    }

    pub(crate) fn floor(&self, floor: u8) -> Floor {
        self.floors.floor(floor).expect("a floor")
    }

    pub(crate) fn data_dir(&self, name: &str) -> PathBuf {
        self.dir.path().join(format!("{name}.data"))
    }

    /// Waits until something is so.
    pub(crate) fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let start = Instant::now();
        while !is_so(self) {
            assert!(
                start.elapsed() < PATIENCE,
                "waited in vain until {what}{}",
                self.logs()
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Holds that something stays so for a while.
    pub(crate) fn stays(
        &self,
        what: &str,
        duration: Duration,
        mut is_so: impl FnMut(&Self) -> bool,
    ) {
        let start = Instant::now();
        while start.elapsed() < duration {
            assert!(is_so(self), "not so any more: {what}{}", self.logs());
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Waits until every running node follows this one, and its store equals theirs.
    pub(crate) fn wait_for_master(&self, master: &str) {
        self.wait(&format!("all follow {master}"), |building| {
            let running: Vec<&str> = building.running().collect();
            running.iter().all(|name| {
                building.status(name).is_some_and(|status| {
                    let standing = if *name == master {
                        StandingView::Master
                    } else {
                        StandingView::Slave {
                            master: master.to_owned(),
                        }
                    };
                    status.standing == standing
                        && status.peers.len() + 1 == running.len()
                        && status.peers.iter().all(|peer| peer.in_step)
                })
            })
        });
    }

    /// Waits until a button's lamp is lit on the panels of all these cars.
    pub(crate) fn wait_lit(&self, names: &[&str], button: Button) {
        self.wait(&format!("{button} is lit on {names:?}"), |building| {
            names
                .iter()
                .all(|name| building.car(name).lamps.contains(&button))
        });
    }

    /// Waits until a button's lamp is dark on the panels of all these cars.
    pub(crate) fn wait_dark(&self, names: &[&str], button: Button) {
        self.wait(&format!("{button} is dark on {names:?}"), |building| {
            names
                .iter()
                .all(|name| !building.car(name).lamps.contains(&button))
        });
    }

    /// S1: no controller has asked its panel for anything unsafe.
    pub(crate) fn assert_safe(&self) {
        for cabin in &self.cabins {
            assert_eq!(
                self.car(cabin.name).violations,
                0,
                "violations of {}",
                cabin.name
            );
        }
    }

    fn running(&self) -> impl Iterator<Item = &'static str> {
        self.cabins
            .iter()
            .filter(|cabin| cabin.node.is_some())
            .map(|cabin| cabin.name)
    }

    fn cabin(&self, name: &str) -> &Cabin {
        self.cabins
            .iter()
            .find(|cabin| cabin.name == name)
            .expect("a cabin")
    }

    fn cabin_mut(&mut self, name: &str) -> &mut Cabin {
        self.cabins
            .iter_mut()
            .find(|cabin| cabin.name == name)
            .expect("a cabin")
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
            for child in [&mut cabin.node, &mut cabin.simulator]
                .into_iter()
                .flatten()
            {
                drop(child.kill());
                drop(child.wait());
            }
        }
    }
}
