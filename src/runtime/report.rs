//! The log lines of the node's reports: one for each transition, and one for each order's life.

use std::collections::BTreeMap;

use elevator_driver::DoorState;
use elevator_fleet::car::HangEvidence;
use elevator_fleet::model::{Availability, Call, NodeId};
use elevator_fleet::node::Report;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use crate::latch::Evidence;
use crate::log::millis;
use crate::operator::view::StandingView;

/// What has been reported of the orders that are open: at most one entry a button of the building.
#[derive(Debug)]
pub(super) struct ReportLog {
    own: NodeId,
    /// Where each was placed.
    open: BTreeMap<Call, NodeId>,
}

impl ReportLog {
    pub(super) fn new(own: NodeId) -> Self {
        let open = BTreeMap::new();
        Self { own, open }
    }

    pub(super) fn log(&mut self, report: &Report) {
        match report {
            Report::Standing { from, to, term } => {
                let (from, to) = (StandingView::from(from), StandingView::from(to));
                info!(%from, %to, %term, "role changed");
            }
            Report::Rotated { from, to, term } => {
                let (from, to) = (StandingView::from(from), StandingView::from(to));
                debug!(%from, %to, %term, "the duty has gone on");
            }
            Report::PeerFound { node, address } => info!(%node, %address, "peer found"),
            Report::PeerLost { node } => warn!(%node, "peer lost"),
            Report::Joined { node } => info!(%node, "peer joined"),
            Report::Repair { node } => warn!(%node, "stores differed: the whole state is sent"),
            Report::Placed { call, origin } => {
                self.open.insert(call.clone(), origin.clone());
                debug!(%call, %origin, "order placed");
            }
            Report::Promised { call } => debug!(%call, "order promised"),
            Report::Assigned { call, car } => debug!(%call, %car, "order assigned"),
            Report::Served {
                call,
                waited,
                here,
                car,
            } => self.served(call, millis(*waited), *here, car.as_ref()),
            Report::Door(state) => info!(state = door(*state), "door"),
            Report::Floor(floor) => info!(%floor, "floor"),
            Report::Availability(Availability::InService) => {
                info!(availability = "in service", "availability changed");
            }
            Report::Availability(Availability::Unavailable(why)) => {
                info!(availability = "not in service", %why, "availability changed");
            }
            Report::Panel(Ok(())) => info!("panel connected"),
            Report::Panel(Err(reason)) => warn!(reason, "panel disconnected"),
            Report::FloorUnreachable(floor) => {
                warn!(%floor, "no sensor at this floor: it is left out for a while");
            }
            Report::DriveRefused => {
                warn!("the drive does not run: it is tried again after a while");
            }
            Report::Conflict(what) => error!(what, "two nodes in conflict"),
            Report::Hung(evidence) => hung(evidence),
            Report::DiskFailed => error!("the node runs without its disk"),
        }
    }

    /// One line for the order's life, where it was placed and where it was served.
    fn served(&mut self, call: &Call, waited_ms: u64, here: bool, car: Option<&NodeId>) {
        let origin = self.open.remove(call);
        let concerned = here || origin.as_ref() == Some(&self.own);
        let (origin, car) = (origin.as_ref().map(display), car.map(display));
        if concerned {
            info!(%call, origin, car, waited_ms, here, "order served");
        } else {
            debug!(%call, origin, car, waited_ms, here, "order served elsewhere");
        }
    }
}

fn hung(evidence: &HangEvidence) {
    error!(
        direction = %evidence.direction,
        stop_at = evidence.floor.map(display),
        last_sensor = evidence.last_sensor.map(display),
        driven_ms = millis(evidence.actual),
        allowed_ms = millis(evidence.expected),
        "hung: motor stopped, the node ends; it was {}",
        Evidence::from(evidence),
    );
}

fn door(state: DoorState) -> &'static str {
    match state {
        DoorState::Closed => "closed",
        DoorState::Opening => "opening",
        DoorState::Open => "open",
        DoorState::Closing => "closing",
    }
}
