//! `liftmesh demo`: a fleet to look at, made of real processes on this machine.
//!
//! ```text
//!   one thread a simulator ─┐                        ┌─▶ Scene ──▶ View: screen, or lines
//!   one thread a node ──────┼─ Changes (bounded) ─▶ Stage ─▶ Account: placed, served, lost
//!   keys, signals, time ────┘                        └─▶ processes, presses, faults
//! ```
//!
//! Read `stage` first; `traffic` has no processes, no threads and no clock, nor has `picture`,
//! which says what the [screen](crate::screen) shows of a `scene`.

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use elevator_driver::FloorCount;
use elevator_driver::vocabulary::show_labels;
use elevator_fleet::wire::Protocol;
use liftmesh_harness::account::Tally;
use liftmesh_lab::Toll;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, KeyCode};

mod error;
mod lines;
mod picture;
mod scene;
mod site;
mod stage;
mod traffic;

pub(crate) use error::DemoError;

use picture::picture;
use scene::{Event, Scene};
use site::Site;
use stage::Stage;

use crate::config::{ConfigErrors, building};
use crate::screen;

/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(40);

/// How long passengers come where nobody can press a key to end the demo.
const UNATTENDED: Duration = Duration::from_secs(30);

/// The same with chaos: long enough for several of each fault.
const UNATTENDED_CHAOS: Duration = Duration::from_mins(1);

/// What can still be looked at, and run on one machine.
const MOST_FLOORS: i64 = 40;
const MOST_CARS: i64 = 12;

pub(crate) const EXAMPLES: &str = "\
Examples:
  liftmesh demo --cars 5 --floors 10
  liftmesh demo --building config/car-park.toml
  liftmesh demo --headless --duration 30s --seed 7    the same passengers each time, as lines of text
  liftmesh demo --headless --chaos                    one fault after another, for a minute

Everything runs on the loopback interface and in a temporary directory, and ends with the demo.
The exit code is 0, or 1 if an order was lost or still unserved at the end (the last line names it),
a process failed, or the fleet was not whole again after chaos.";

/// The place of a file, whatever directory a process starts in.
fn existing(path: &str) -> Result<PathBuf, String> {
    std::fs::canonicalize(path).map_err(|error| error.to_string())
}

fn protocol() -> impl TypedValueParser<Value = Protocol> {
    PossibleValuesParser::new(Protocol::ALL.map(|protocol| protocol.to_string()))
        .try_map(|name| name.parse::<Protocol>())
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of cars, 1 to 12
    #[arg(long, default_value_t = 3, value_name = "N",
          value_parser = value_parser!(u8).range(1..=MOST_CARS))]
    pub(crate) cars: u8,
    /// The number of floors, 2 to 40
    #[arg(long, default_value = "6", value_name = "N",
          value_parser = value_parser!(u8).range(2..=MOST_FLOORS).try_map(FloorCount::try_from))]
    pub(crate) floors: FloorCount,
    /// A file with the building: named floors, and cars that serve only some of them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cars", "floors"],
          value_parser = existing)]
    pub(crate) building: Option<PathBuf>,
    /// How the master is elected
    #[arg(long, default_value_t = Protocol::LowestIp, value_name = "PROTOCOL",
          value_parser = protocol())]
    pub(crate) election: Protocol,
    /// Print lines of text instead of a screen; the default if there is no terminal
    #[arg(long)]
    pub(crate) headless: bool,
    /// Inject one fault after another, chosen by the seed: nodes killed and suspended, networks and
    /// panel lines cut, hangs, obstructions, stop switches, power cuts; then repair everything
    #[arg(long)]
    pub(crate) chaos: bool,
    /// Stop passengers and faults after this time, and end once all orders are served, which may
    /// take some minutes [default: none on a screen, otherwise 30s, with chaos 1m]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// Publish the fleet to this MQTT broker, with topics below liftmesh/demo
    #[arg(long, value_name = "mqtt://HOST:PORT")]
    pub(crate) mqtt_broker: Option<String>,
    /// The seed of passengers and faults
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), DemoError> {
    let ending = screen::ending().map_err(DemoError::System)?;
    let building = args.building.as_deref().map(building::read).transpose();
    let building = building.map_err(ConfigErrors::from)?;
    let mut args = args.clone();
    if let Some(building) = &building {
        show_labels(building);
        args.floors = building.floors();
        let cars = building.cars().len();
        let large = DemoError::Large { cars, floors: args.floors.get() };
        args.cars = match u8::try_from(cars) {
            Ok(0) => args.cars,
            Ok(cars) if i64::from(cars) <= MOST_CARS => cars,
            _ => return Err(large),
        };
        if i64::from(args.floors.get()) > MOST_FLOORS {
            return Err(large);
        }
    }
    let site = Site::new(&args, building.as_deref())?;
    let mut view = View::open(args.headless).map_err(DemoError::Output)?;
    let unattended = !view.is_screen();
    let unwatched = if args.chaos { UNATTENDED_CHAOS } else { UNATTENDED };
    let duration = args.duration.or(unattended.then_some(unwatched));
    let mut stage = Stage::open(Args { duration, ..args }, building.as_deref(), unattended, site)?;
    let course = play(&mut stage, &mut view, &ending);
    stage.close_account();
    let tally = stage.account.tally();
    let toll = stage.chaos.as_ref().map(|chaos| chaos.toll.clone());
    let lost = stage.lost.clone();
    stage.close();
    drop(view);
    let concluded = conclude(toll.as_ref(), tally);
    course?;
    concluded.map_err(DemoError::Output)?;
    if lost.is_empty() { Ok(()) } else { Err(DemoError::OrdersLost(lost)) }
}

fn play(stage: &mut Stage, view: &mut View, ending: &AtomicBool) -> Result<(), DemoError> {
    loop {
        let course = stage.go_on(PICTURE);
        let fresh = std::mem::take(&mut stage.fresh);
        view.show(&stage.scene, &fresh).map_err(DemoError::Output)?;
        let keys = view.keys().map_err(DemoError::Output)?;
        let is_ended = ending.load(Ordering::Relaxed) || keys.contains(&KeyCode::Char('q'));
        if course? == ControlFlow::Break(()) || is_ended {
            return Ok(());
        }
        for key in keys {
            stage.handle_key(key)?;
        }
    }
}

#[derive(Debug)]
enum View {
    /// In a terminal. It is restored when this is dropped, and by the panic hook.
    Screen(DefaultTerminal),
    Lines,
}

impl View {
    fn open(headless: bool) -> io::Result<Self> {
        let has_screen = !headless && io::stdout().is_terminal();
        Ok(if has_screen { Self::Screen(ratatui::try_init()?) } else { Self::Lines })
    }

    fn is_screen(&self) -> bool {
        matches!(self, Self::Screen(_))
    }

    /// Shows the scene and the new events, oldest first.
    fn show(&mut self, scene: &Scene, fresh: &[Event]) -> io::Result<()> {
        match self {
            Self::Screen(terminal) => {
                terminal.draw(|frame| screen::draw(picture(scene), frame)).map(drop)
            }
            Self::Lines => {
                let mut output = io::stdout().lock();
                for event in fresh {
                    writeln!(output, "{}", line(event))?;
                }
                output.flush()
            }
        }
    }

    fn keys(&mut self) -> io::Result<Vec<KeyCode>> {
        let mut keys = Vec::new();
        while self.is_screen() && event::poll(Duration::ZERO)? {
            keys.extend(screen::pressed(&event::read()?));
        }
        Ok(keys)
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.is_screen() {
            ratatui::restore();
        }
    }
}

/// Writes the last lines of a demo: the faults of chaos, if any, and the account.
fn conclude(toll: Option<&Toll>, tally: Tally) -> io::Result<()> {
    let mut output = io::stdout().lock();
    if let Some(toll) = toll {
        writeln!(output, "faults: {toll}")?;
    }
    let Tally { placed, served, lost, unserved, late, longest, .. } = tally;
    let [mean, late, longest] =
        [tally.mean().unwrap_or_default(), late, longest].map(|time| time.as_secs_f64());
    writeln!(
        output,
        "summary: {placed} orders placed, {served} served, {lost} lost, {unserved} unserved at the \
         end; waiting mean {mean:.1} s, P90 {late:.1} s, max {longest:.1} s"
    )
}

fn line(event: &Event) -> String {
    let at = event.at.as_secs_f64();
    let car = event.car.as_ref().map_or("", |car| car.as_str());
    format!("{at:7.1} s  {car:1}  {}", event.text)
}
