use std::time::{Duration, Instant};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand, ValueEnum};
use elevator_driver::{Direction, Entrance, Side};
use elevator_fleet::json::CallError;
use elevator_fleet::model::{Call, HallCall, NodeId};
use elevator_fleet::node::{Access, Report, Taken};

use super::{AnyNodeArgs, CommandError, output};
use crate::client::{Client, Notice, Watch};

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh order hall 3 up --data-dir /var/lib/liftmesh
  liftmesh order hall G up --rear --data-dir /var/lib/liftmesh
  liftmesh order car A 5 --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token
  liftmesh order destination 0 5 --wait served --timeout 2m --config /etc/liftmesh/node.toml

Floors are named by their labels. If the command exits with 0, the order was placed; --wait lit
also waits until it is promised (its lamp may be lit), --wait assigned until it also has a car,
--wait served until a car has come. If a car is already there with its door open, no order is
placed: the command says so and exits with 0.";

#[derive(Debug, Clone, Args)]
pub(crate) struct OrderArgs {
    #[command(subcommand)]
    pub(crate) order: OrderCommand,
    #[command(flatten)]
    pub(crate) node: AnyNodeArgs,
    /// Give the passenger a right of access, so that a locked floor accepts the order
    #[arg(long, global = true)]
    pub(crate) access: bool,
    /// What to wait for
    #[arg(long, global = true)]
    pub(crate) wait: Option<Wait>,
    /// How long to wait
    #[arg(long, global = true, default_value = "60s", value_name = "TIME",
          value_parser = humantime::parse_duration)]
    pub(crate) timeout: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Subcommand)]
pub(crate) enum OrderCommand {
    /// Call a car to a landing
    Hall {
        /// The landing
        floor: String,
        /// Where the passenger wants to go
        #[arg(value_parser = direction())]
        direction: Direction,
        /// At the rear entrance of a floor that has two
        #[arg(long)]
        rear: bool,
    },
    /// Request a trip from a landing: its car is chosen at once, and kept while it can serve
    Destination {
        /// The landing
        from: String,
        /// Where the passenger wants to go
        to: String,
    },
    /// Press a floor button in a car
    Car {
        /// The car
        car: NodeId,
        /// Where the passenger wants to get off
        floor: String,
        /// Through the rear entrance of a floor that has two
        #[arg(long)]
        rear: bool,
    },
}

fn direction() -> impl TypedValueParser<Value = Direction> {
    PossibleValuesParser::new(["up", "down"])
        .map(|way| if way == "up" { Direction::Up } else { Direction::Down })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wait {
    /// Until the order is promised
    Lit,
    /// Until the order is promised and has a car, which is printed
    Assigned,
    /// Until a car has come
    Served,
}

impl OrderCommand {
    fn call(&self) -> Result<Call, CommandError> {
        let entrance = |floor: &String, rear: bool| -> Result<Entrance, CommandError> {
            let side = if rear { Side::Rear } else { Side::Front };
            Ok(Entrance { floor: floor.parse()?, side })
        };
        Ok(match self {
            Self::Hall { floor, direction, rear } => {
                Call::Hall(HallCall::at(entrance(floor, *rear)?, *direction))
            }
            Self::Destination { from, to } => {
                let (from, to) = (from.parse()?, to.parse()?);
                Call::Hall(HallCall::to(from, to).ok_or(CallError::NoTrip(from))?)
            }
            Self::Car { car, floor, rear } => Call::ride(car, entrance(floor, *rear)?),
        })
    }
}

impl OrderArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let access = if self.access { Access::Granted } else { Access::Public };
        let node = self.node.connect()?;
        let call = self.order.call()?;
        let watch = match self.wait {
            // Before the order, so that no event is missed.
            Some(wait) => Some((wait, self.node.connect()?.watch()?)),
            None => None,
        };
        let started = Instant::now();
        let said = match (node.order(&call, access)?, watch) {
            (Taken::Absorbed, _) => {
                "not placed: the car is there with its door open, and keeps it open".to_owned()
            }
            (Taken::Placed, None) => "placed".to_owned(),
            (Taken::Placed, Some((wait, watch))) => {
                let what = self.follow(&call, wait, &node, watch, started)?;
                format!("{what} after {:.2} s", started.elapsed().as_secs_f64())
            }
        };
        Ok(output::print(&format!("{call} {said}\n"))?)
    }

    fn follow(
        &self,
        call: &Call,
        wait: Wait,
        node: &Client,
        mut watch: Watch,
        started: Instant,
    ) -> Result<String, CommandError> {
        // A repeated press of a promised order causes no further event.
        let mut is_news = true;
        loop {
            if is_news && let Some(what) = reached(node, call, wait)? {
                return Ok(what);
            }
            let left = self.timeout.saturating_sub(started.elapsed());
            let Some(notice) = watch.next_within(left)? else {
                let what = match wait {
                    Wait::Lit => "lit",
                    Wait::Assigned => "assigned",
                    Wait::Served => "served",
                };
                let (call, limit) = (call.to_string(), humantime::format_duration(self.timeout));
                return Err(CommandError::WaitedTooLong { call, what, limit });
            };
            is_news = match notice {
                Notice::Event(event) => match event.report {
                    Report::Served { call: served, car, .. } if served == *call => {
                        let by = car.map(|car| format!(" by {car}")).unwrap_or_default();
                        return Ok(format!("served{by}"));
                    }
                    Report::Promised { call: lit } if lit == *call && wait == Wait::Lit => {
                        return Ok("promised".to_owned());
                    }
                    Report::Promised { call: ready } | Report::Assigned { call: ready, .. } => {
                        ready == *call
                    }
                    _ => false,
                },
                // This many events after its press, an open order is in the status.
                Notice::Missed(_) if node.open_order(call)?.is_none() => {
                    return Ok("served".to_owned());
                }
                Notice::Missed(_) => true,
            };
        }
    }
}

/// What the node says of the order, if that is what is waited for.
fn reached(node: &Client, call: &Call, wait: Wait) -> Result<Option<String>, CommandError> {
    let promised = node.open_order(call)?.filter(|order| order.promised);
    Ok(match wait {
        Wait::Lit => promised.map(|_| "promised".to_owned()),
        Wait::Assigned => promised.and_then(|order| order.car).map(|car| format!("given to {car}")),
        Wait::Served => None,
    })
}
