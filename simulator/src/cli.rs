//! The command line: what `elevator-simulator` understands, for its own `main` and for a larger
//! program that offers the simulator as one of its commands.

use std::io::{self, IsTerminal, Write};
use std::net::SocketAddr;
use std::os::unix;
use std::path::PathBuf;
use std::thread::{self, Builder};
use std::time::Duration;

use clap::builder::TypedValueParser;
use clap::{Args as ClapArgs, Subcommand, value_parser};
use elevator_driver::{Building, FloorCount};
use humantime::parse_duration;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::config::{CarConfig, ConstantDrive, DoorTimes, Kinematics, StartPosition};
use crate::control::{ControlClient, ControlError};
use crate::keys::{HELP, Keyboard};
use crate::live::LiveView;
use crate::simulator::{SerialConfig, Simulator, SimulatorConfig, StartError};

#[cfg(test)]
mod tests;

/// How often the live view is redrawn.
const REDRAW: Duration = Duration::from_millis(100);

/// How often the parent process is looked for.
const PARENT_CHECK: Duration = Duration::from_millis(250);

/// Examples for the end of `--help`, with the words that start the simulator.
#[must_use]
pub fn examples(program: &str) -> String {
    EXAMPLES.replace("PROGRAM", program)
}

const EXAMPLES: &str = "\
Examples:
  A car with 4 floors on a pseudo-terminal with a fixed name:
    PROGRAM --serial --serial-link /tmp/car-a --control /tmp/car-a.control

  The same for a client of the elevator-server protocol, started between two floors:
    PROGRAM --tcp 127.0.0.1:15657 --start-position 4.2

  Press its buttons, from anywhere: in the car, and at a landing:
    PROGRAM press /tmp/car-a.control car 3
    PROGRAM press /tmp/car-a.control hall 3 up

  Jam the motor:
    echo fault motor stuck | nc -NU /tmp/car-a.control

  List everything that the control socket can do, including all faults:
    echo help | nc -NU /tmp/car-a.control

In a terminal keys press the buttons too; a line below the car lists them.

At start it prints one line for each way to reach it:
  panel serial:///tmp/car-a
  panel tcp://127.0.0.1:15657
  control /tmp/car-a.control
It exits with 0 on SIGINT, SIGTERM or the control command quit, with 1 if a setting is wrong or a
line can't be made, and with 2 if the command line is wrong.";

/// The settings of one simulated car.
#[derive(Debug, Clone, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub(crate) deed: Option<Deed>,
    /// Floors of the shaft, 2 to 254
    #[arg(long, default_value = "4", value_parser = floors(), value_name = "N")]
    pub(crate) floors: FloorCount,
    /// Offer the panel protocol on a pseudo-terminal
    #[arg(long)]
    pub(crate) serial: bool,
    /// Make PATH a link to the pseudo-terminal (implies --serial)
    #[arg(long, value_name = "PATH", value_parser = absolute)]
    pub(crate) serial_link: Option<PathBuf>,
    /// Offer the elevator-server protocol at this address, e.g. 127.0.0.1:15657 (port 0: any)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) tcp: Option<SocketAddr>,
    /// Offer the control interface on this Unix socket (send it help)
    #[arg(long, value_name = "PATH", value_parser = absolute)]
    pub(crate) control: Option<PathBuf>,
    /// The car's name
    #[arg(long, default_value = "A")]
    pub(crate) name: String,
    /// Start at this floor, counted from 0
    #[arg(long, value_name = "FLOOR", conflicts_with = "start_position")]
    pub(crate) start_floor: Option<u8>,
    /// Start at this height above the lowest floor, even between floors
    #[arg(long, value_name = "METRES")]
    pub(crate) start_position: Option<f64>,
    /// From one floor to the next, m
    #[arg(long, default_value_t = 3.0, value_name = "METRES")]
    pub(crate) floor_height: f64,
    /// The floors of the shaft with their heights, in place of equal ones
    #[arg(skip)]
    pub building: Option<Building>,
    /// Rated speed, m/s
    #[arg(long, default_value_t = Kinematics::default().rated_speed, value_name = "M/S")]
    pub(crate) speed: f64,
    /// Acceleration, m/s²
    #[arg(long, default_value_t = Kinematics::default().acceleration, value_name = "M/S²")]
    pub(crate) acceleration: f64,
    /// Jerk, m/s³
    #[arg(long, default_value_t = Kinematics::default().jerk, value_name = "M/S³")]
    pub(crate) jerk: f64,
    /// Door opening time
    #[arg(long, default_value = "1.5s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) door_opening: Duration,
    /// Door closing time
    #[arg(long, default_value = "1.5s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) door_closing: Duration,
    /// Door closing time while nudging
    #[arg(long, default_value = "4s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) door_nudging: Duration,
    /// Over TCP: time between two floors
    #[arg(long, default_value = "2s", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) between_floors: Duration,
    /// Over TCP: time for passing a floor
    #[arg(long, default_value = "500ms", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) passing_floor: Duration,
    /// Stop the motor when the controller is silent for this long
    #[arg(long, default_value = "300ms", value_parser = parse_duration, value_name = "TIME")]
    pub(crate) watchdog: Duration,
    /// Share of bytes lost or damaged on the serial line, per cent
    #[arg(long, default_value = "0", value_parser = value_parser!(u8).range(0..=100))]
    pub(crate) noise: u8,
    /// Seed of everything random
    #[arg(long, default_value = "0")]
    pub(crate) seed: u64,
    /// Don't draw the car, even in a terminal
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Exit when the parent process, which has this id, is gone
    #[arg(long, hide = true, value_name = "PID")]
    pub(crate) die_with_parent: Option<u32>,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Deed {
    /// Press a button of a running simulator
    Press {
        /// Its control socket
        socket: PathBuf,
        /// car FLOOR, hall FLOOR up|down, or destination FROM TO
        #[arg(required = true, value_name = "BUTTON")]
        button: Vec<String>,
    },
}

/// Why the simulator did not run, or not to a clean end.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Press(#[from] ControlError),
    /// Signals could not be caught, so it did not start.
    #[error("cannot handle the signals that end the simulator")]
    Signals(#[source] io::Error),
    /// Nobody reads the standard output; the simulator has ended.
    #[error("cannot write to the standard output")]
    Output(#[source] io::Error),
}

/// Starts the simulator and runs it until a signal, the `quit` command, or (where wanted) the end
/// of the parent process; or does what else is wanted.
///
/// # Errors
/// It could not start. Link and socket are removed in every case.
pub fn run(args: Args) -> Result<(), CliError> {
    if let Some(Deed::Press { socket, button }) = &args.deed {
        let press = format!("press {}", button.join(" "));
        return Ok(ControlClient::connect(socket)?.send(&press).map(drop)?);
    }
    let (parent, quiet) = (args.die_with_parent, args.quiet);
    // Before anything is made that a signal would leave behind.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(CliError::Signals)?;
    let simulator = Simulator::start(config(args))?;
    let (handle, stop) = (signals.handle(), simulator.stopper());
    thread::scope(|scope| {
        let wait = move || signals.forever().for_each(|_| stop());
        let thread = Builder::new().name("signals".into());
        thread.spawn_scoped(scope, wait).map_err(CliError::Signals)?;
        let result = announce(&simulator).and_then(|()| accompany(&simulator, parent, quiet));
        handle.close();
        result.map_err(CliError::Output)
    })
}

fn config(args: Args) -> SimulatorConfig {
    let floor = StartPosition::Floor(args.start_floor.unwrap_or(0));
    let start = args.start_position.map_or(floor, StartPosition::Metres);
    let kinematics = Kinematics::default();
    let car = CarConfig {
        building: args.building.unwrap_or_else(|| {
            Building::uniform(args.floors, Building::millimetres(args.floor_height))
        }),
        kinematics: Kinematics {
            rated_speed: args.speed,
            acceleration: args.acceleration,
            jerk: args.jerk,
            creep_speed: kinematics.creep_speed.min(args.speed),
            emergency_braking: kinematics.emergency_braking.max(args.acceleration),
            ..kinematics
        },
        constant_drive: ConstantDrive {
            between_floors: args.between_floors,
            passing_floor: args.passing_floor,
        },
        door: DoorTimes {
            opening: args.door_opening,
            closing: args.door_closing,
            nudging: args.door_nudging,
        },
        start,
    };
    let serial = (args.serial || args.serial_link.is_some())
        .then_some(SerialConfig { link: args.serial_link, noise: args.noise });
    SimulatorConfig {
        name: args.name,
        car,
        seed: args.seed,
        serial,
        tcp: args.tcp,
        control: args.control,
        watchdog: args.watchdog,
    }
}

fn announce(simulator: &Simulator) -> io::Result<()> {
    let mut output = io::stdout().lock();
    for endpoint in simulator.endpoints() {
        writeln!(output, "{endpoint}")?;
    }
    output.flush()
}

/// Draws the car and reads the keys, where somebody sits at a terminal, until it ends.
fn accompany(simulator: &Simulator, parent: Option<u32>, quiet: bool) -> io::Result<()> {
    let is_seen = !quiet && io::stdout().is_terminal();
    let mut keyboard = if is_seen { Keyboard::open() } else { None };
    let help = if keyboard.is_some() { HELP } else { "" };
    let mut view = is_seen.then(|| LiveView::new(help));
    let period = match (&view, parent) {
        (Some(_), _) => REDRAW,
        (None, Some(_)) => PARENT_CHECK,
        (None, None) => Duration::from_hours(1),
    };
    while !simulator.wait(period) {
        // Named by number: it may have been gone before this process could look.
        if parent.is_some_and(|parent| parent != unix::process::parent_id()) {
            break;
        }
        for command in keyboard.iter_mut().flat_map(Keyboard::commands) {
            simulator.command(&command);
        }
        if let Some(view) = &mut view
            && let Ok(state) = simulator.state()
        {
            view.draw(&state, &mut io::stdout().lock())?;
        }
    }
    Ok(())
}

fn floors() -> impl TypedValueParser<Value = FloorCount> {
    value_parser!(u8).try_map(FloorCount::try_from)
}

/// So that the announced paths hold wherever they are read.
fn absolute(text: &str) -> io::Result<PathBuf> {
    std::path::absolute(text)
}
