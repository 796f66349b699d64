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

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use elevator_driver::FloorCount;
use elevator_fleet::wire::Protocol;
use ratatui::crossterm::event::KeyCode;

mod error;
mod lines;
mod picture;
mod scene;
mod site;
mod stage;
mod traffic;
mod view;

pub(crate) use error::DemoError;

use site::Site;
use stage::Stage;
use view::View;

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
  liftmesh demo --headless --duration 30s --seed 7    the same passengers each time, as lines of text
  liftmesh demo --headless --chaos                    one fault after another, for a minute

Everything runs on the loopback interface and in a temporary directory, and ends with the demo.
The exit code is 0, or 1 if an order was lost or still unserved at the end (the last line names it),
a process failed, or the fleet was not whole again after chaos.";

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
    /// The seed of passengers and faults
    #[arg(long, default_value_t = 1, value_name = "N")]
    pub(crate) seed: u64,
}

/// Runs the demo to its end.
pub(crate) fn run(args: &Args) -> Result<(), DemoError> {
    let ending = screen::ending().map_err(DemoError::System)?;
    let site = Site::new(args.cars.into(), args.floors, args.election)?;
    let mut view = View::open(args.headless).map_err(DemoError::Output)?;
    let unattended = !view.is_screen();
    let unwatched = if args.chaos { UNATTENDED_CHAOS } else { UNATTENDED };
    let duration = args.duration.or(unattended.then_some(unwatched));
    let mut stage = Stage::open(Args { duration, ..args.clone() }, unattended, site)?;
    let course = play(&mut stage, &mut view, &ending);
    stage.close_account();
    let tally = stage.account.tally();
    let toll = stage.chaos.as_ref().map(|chaos| chaos.toll.clone());
    let lost = stage.lost.clone();
    stage.close();
    drop(view);
    let concluded = view::conclude(toll.as_ref(), tally);
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
