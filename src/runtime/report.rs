//! The log lines of the node's reports: one per transition, and one per order.

use std::collections::BTreeMap;

use elevator_driver::Alarm;
use elevator_fleet::car::HangEvidence;
use elevator_fleet::model::{Call, NodeId, Reason, Unavailable};
use elevator_fleet::node::Report;
use elevator_fleet::settings::Setting;
use tracing::field::display;
use tracing::{debug, error, info, warn};

use crate::latch::Evidence;
use crate::log::millis;

/// The reports about open orders: at most one entry per button of the building.
#[derive(Debug)]
pub(super) struct ReportLog {
    own: NodeId,
    /// The node at which each was placed.
    open: BTreeMap<Call, NodeId>,
}

impl ReportLog {
    pub(super) fn new(own: NodeId) -> Self {
        let open = BTreeMap::new();
        Self { own, open }
    }

    pub(super) fn log(&mut self, report: &Report) {
        match report {
            Report::NodeState { from, to, term } => info!(%from, %to, %term, "node state changed"),
            Report::Rotated { from, to, term } => {
                debug!(%from, %to, %term, "the mastership has rotated");
            }
            Report::PeerDiscovered { node, address } => info!(%node, %address, "peer discovered"),
            Report::PeerLost { node } => warn!(%node, "peer lost"),
            Report::Synced { node } => info!(%node, "peer synced"),
            Report::Repair { node } => warn!(%node, "stores differed: sending the whole state"),
            Report::Placed { call, origin, .. } => {
                self.open.insert(call.clone(), origin.clone());
                debug!(%call, %origin, "order placed");
            }
            Report::Promised { call } => debug!(%call, "order promised"),
            Report::Assigned { call, car, .. } => debug!(%call, %car, "order assigned"),
            Report::Served { call, waited, here, car } => {
                self.served(call, millis(*waited), *here, car.as_ref());
            }
            Report::Dropped { call } => {
                self.open.remove(call);
                info!(%call, "order dropped: fire recall");
            }
            Report::TakenOver { call } => warn!(%call, "a call is overdue: this car serves it"),
            Report::Door { door } => info!(state = door.to_string(), "door"),
            Report::Floor { floor } => info!(%floor, "floor"),
            Report::Availability(None) => {
                info!(availability = "in service", "availability changed");
            }
            Report::Availability(Some(Reason::Other(Unavailable::Overdue))) => {
                warn!("the flight takes longer than any before: other cars get its hall calls");
            }
            Report::Availability(Some(why)) => {
                info!(availability = "not in service", %why, "availability changed");
            }
            Report::Panel(Ok(())) => info!("panel connected"),
            Report::Panel(Err(reason)) => warn!(reason, "panel disconnected"),
            Report::PressRefused { text } => warn!(text, "press refused"),
            Report::FloorUnreachable { floor } => {
                warn!(%floor, "no sensor signal at this floor: locked out for a while");
            }
            Report::DriveRefused => {
                warn!("the drive does not start: it will be tried again");
            }
            Report::OffTarget { stop_at, at } => {
                warn!(%stop_at, at = at.map(display), "the drive did not stop where it should");
            }
            Report::MaintenanceDue { wear, count } => warn!(%count, "maintenance is due: {wear}"),
            Report::Dispatcher(Ok(())) => info!("the program that dispatches works"),
            Report::Dispatcher(Err(reason)) => {
                warn!(reason, "the program that dispatches fails: the planner does its work");
            }
            Report::Conflict { text: what } => error!(what, "two nodes in conflict"),
            Report::Hung(evidence) => hung(evidence),
            // It has said so already.
            Report::Setting { setting: Setting::Hang(car, Some(_)), .. } if *car == self.own => {}
            Report::Setting { setting: Setting::Hang(car, Some(evidence)), .. } => {
                let evidence = display(Evidence::from(evidence));
                warn!(%car, evidence, "a car hung: its node has stopped");
            }
            Report::Setting { setting, operator, reason } => {
                let reason = reason.as_ref().map(tracing::field::display);
                info!(key = %setting.subject(), value = %setting, %operator, reason, "setting");
            }
            Report::Alarm { car, alarm: Alarm::Sent } => {
                warn!(%car, "alarm from a car: somebody in it calls for help");
            }
            Report::Alarm { car, alarm: alarm @ (Alarm::Acknowledged | Alarm::Off) } => {
                info!(%car, %alarm, "alarm");
            }
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
        "hung: motor stopped, node stopping; it was {}",
        Evidence::from(evidence),
    );
}
