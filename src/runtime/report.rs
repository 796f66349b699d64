//! The log lines of the node's reports: one for each transition.

use elevator_fleet::node::Report;
use tracing::{debug, error, info, warn};

pub(super) fn log(report: &Report) {
    match report {
        Report::Standing { from, to, term } => {
            info!(?from, ?to, %term, "role changed");
        }
        Report::Rotated { from, to, term } => debug!(?from, ?to, %term, "the duty has gone on"),
        Report::PeerFound { node, address } => info!(%node, %address, "peer found"),
        Report::PeerLost { node } => warn!(%node, "peer lost"),
        Report::Joined { node } => info!(%node, "peer joined"),
        Report::Repair { node } => warn!(%node, "stores differed: the whole state is sent"),
        Report::Placed { call, origin } => info!(%call, %origin, "order placed"),
        Report::Promised { call } => info!(%call, "order promised"),
        Report::Served {
            call, waited, car, ..
        } => {
            let car = car.as_ref().map(tracing::field::display);
            info!(%call, ?waited, car, "order served");
        }
        Report::Assigned { call, car } => info!(%call, %car, "order assigned"),
        Report::Door(state) => info!(?state, "door"),
        Report::Floor(floor) => info!(%floor, "floor"),
        Report::Availability(availability) => info!(?availability, "availability changed"),
        Report::Panel(Ok(())) => info!("panel connected"),
        Report::Panel(Err(reason)) => warn!(reason, "panel disconnected"),
        Report::FloorUnreachable(floor) => {
            warn!(%floor, "no sensor at this floor: it is left out for a while");
        }
        Report::DriveRefused => warn!("the drive does not run: it is tried again after a while"),
        Report::Conflict(what) => error!(what, "two nodes in conflict"),
        Report::Hung(evidence) => error!(?evidence, "hung: motor stopped, the node ends"),
        Report::DiskFailed => error!("the node runs without its disk"),
    }
}
