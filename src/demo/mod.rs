//! `liftmesh demo`: a fleet to look at, made of real processes on this machine.
//!
//! ```text
//!   one thread a simulator ─┐                        ┌─▶ Scene ──▶ View: screen, or lines
//!   one thread a node ──────┼─ Changes (bounded) ─▶ Stage ─▶ Account: placed, served, lost
//!   keys, signals, time ────┘                        └─▶ processes, presses, faults
//! ```
//!
//! For each car a `liftmesh simulate` is started, with its panel on a pseudo-terminal, and a
//! `liftmesh run` that drives it. Passengers come by a seed and press the panels' buttons through
//! the simulators. So does chaos, which breaks one thing after the other and puts it right again.
//! The [`account`](liftmesh_harness::account) looks at the lamps and the doors alone.
//!
//! Read `stage` first; `traffic` has no processes, no threads and no clock, nor has `picture`, which
//! says what the [screen](crate::screen) shows of a `scene`.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use elevator_driver::FloorCount;
use elevator_fleet::wire::Protocol;
use ratatui::crossterm::event::KeyCode;

mod error;
mod leadership;
mod lines;
mod picture;
mod scene;
mod site;
mod stage;
mod traffic;
mod view;

pub(crate) use error::DemoError;

use site::Site;
use stage::{Course, Stage};
use view::View;

use crate::screen;

/// Between two pictures.
const PICTURE: Duration = Duration::from_millis(40);

/// How long passengers come where nobody can press a key to end the demo.
const UNATTENDED: Duration = Duration::from_secs(30);

/// The same with chaos: long enough for several of each fault.
const UNATTENDED_CHAOS: Duration = Duration::from_mins(1);

/// On average a passenger comes this often for each car.
const GAP: Duration = Duration::from_secs(15);

/// What can still be looked at.
const MOST_FLOORS: i64 = 40;
const MOST_CARS_ON_SCREEN: usize = 12;

pub(crate) const EXAMPLES: &str = "\
Examples:
  Three cars in a building of six floors; ? lists the keys:
    liftmesh demo

  A larger bank:
    liftmesh demo --cars 5 --floors 10

  Half a minute of the same passengers each time, as lines of text; fails if an order is lost:
    liftmesh demo --headless --duration 30s --seed 7

  A large fleet:
    liftmesh demo --headless --cars 24 --floors 40

  One fault after another for a minute, the same each time; fails if an order is lost:
    liftmesh demo --headless --chaos --seed 7

  A mastership that rotates with a token:
    liftmesh demo --election token-ring

Everything runs on the loopback interface and in a temporary directory, and ends with the demo.
The exit code is 0, or 1 if an order was lost or still unserved at the end (the last line names it),
a process failed, or the fleet was not whole again after chaos.";

fn protocol() -> impl TypedValueParser<Value = Protocol> {
    let names = Protocol::ALL.map(|protocol| PossibleValue::new(protocol.to_string()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<Protocol>())
}

#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The number of cars, 1 to 12, or up to 64 without a screen
    #[arg(long, default_value_t = 3, value_name = "N")]
    pub(crate) cars: usize,
    /// The number of floors, 2 to 40
    #[arg(long, default_value = "6", value_name = "N",
          value_parser = value_parser!(u8).range(2..=MOST_FLOORS).try_map(FloorCount::try_from))]
    pub(crate) floors: FloorCount,
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
    /// Stop passengers and faults after this time, and end once all orders are served. That may
    /// take a minute, or longer in a larger building or after chaos [default: none on a screen,
    /// otherwise 30s, with chaos 1m]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    pub(crate) duration: Option<Duration>,
    /// The seed of passengers and faults
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

/// Runs the demo to its end.
pub(crate) fn run(args: &Args) -> Result<(), DemoError> {
    let ending = screen::ending().map_err(DemoError::Signals)?;
    if View::has_screen(args.headless) && args.cars > MOST_CARS_ON_SCREEN {
        return Err(DemoError::CarsOnScreen(args.cars));
    }
    let site = Site::new(args.cars, args.floors, args.election)?;
    let mut view = View::open(args.headless).map_err(DemoError::Output)?;
    let unattended = !view.is_screen();
    let unwatched = if args.chaos { UNATTENDED_CHAOS } else { UNATTENDED };
    let duration = args.duration.or(unattended.then_some(unwatched));
    let mut stage = Stage::open(Args { duration, ..args.clone() }, unattended, site)?;
    let course = play(&mut stage, &mut view, &ending);
    stage.close_account();
    let (tally, changes) = (stage.account.tally(), stage.scene.master_changes);
    let (toll, lost) = (stage.toll().cloned(), stage.lost.clone());
    stage.close();
    drop(view);
    let concluded = view::conclude(toll.as_ref(), tally, changes);
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
        if course? == Course::Over || is_ended {
            return Ok(());
        }
        for key in keys {
            stage.handle_key(key)?;
        }
    }
}
