//! The log lines of the node's reports: one per transition, and one per order.

use std::collections::BTreeMap;

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

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use elevator_driver::{Direction, Floor};
    use elevator_fleet::model::HallCall;
    use elevator_fleet::settings::Words;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("a lock").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn node(name: &str) -> NodeId {
        NodeId::new(name).expect("a name")
    }

    /// What a node logs at level `info` of reports.
    fn logged(own: &str, reports: &[Report]) -> String {
        let page = Page::default();
        let pen = page.clone();
        let subscriber = tracing_subscriber::fmt()
            .without_time()
            .with_ansi(false)
            .with_target(false)
            .with_writer(move || pen.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let mut log = ReportLog::new(node(own));
            for report in reports {
                log.log(report);
            }
        });
        String::from_utf8(page.0.lock().expect("a lock").clone()).expect("text")
    }

    #[test]
    fn an_order_has_one_line_where_it_was_placed_and_where_it_was_served() {
        let call = Call::Hall(HallCall::new(Floor::try_from(3).expect("a floor"), Direction::Up));
        let life = |own: &str| {
            let call = call.clone();
            let placed = Report::Placed { call: call.clone(), origin: node("A"), press: None };
            let promised = Report::Promised { call: call.clone() };
            let assigned = Report::Assigned { call: call.clone(), car: node("B"), here: true };
            let served = Report::Served {
                call,
                waited: Duration::from_millis(12_345),
                here: own == "B",
                car: Some(node("B")),
            };
            logged(own, &[placed, promised, assigned, served])
        };
        let served = "order served call=hall 3 up origin=A car=B waited_ms=12345";
        assert_eq!(life("A"), format!(" INFO {served} here=false\n"));
        assert_eq!(life("B"), format!(" INFO {served} here=true\n"));
        assert_eq!(life("C"), "");
    }

    /// F9
    #[test]
    fn a_hang_is_a_sentence_with_fields() {
        let floor = |index| Floor::try_from(index).ok();
        let evidence = HangEvidence {
            cause: elevator_fleet::car::HangCause::NoProgress,
            floor: floor(5),
            direction: Direction::Up,
            expected: Duration::from_secs(10),
            actual: Duration::from_millis(10_040),
            last_sensor: floor(2),
        };
        let words = |text: &str| Words::new(text).expect("words");
        let told = |hang| Report::Setting {
            setting: Setting::Hang(NodeId::new("B").expect("a name"), hang),
            operator: words("B"),
            reason: None,
        };
        assert_eq!(
            logged("A", &[told(Some(evidence))]),
            " WARN a car hung: its node has stopped car=B evidence=on its way up to floor 5: driven \
             for 10.0 s (10.0 s allowed) without a new floor sensor, the last was floor 2\n"
        );
        assert_eq!(logged("A", &[told(None)]), " INFO setting key=hang/B value=off operator=B\n");
        assert_eq!(logged("B", &[told(Some(evidence))]), "");
        assert_eq!(
            logged("A", &[Report::Hung(evidence)]),
            "ERROR hung: motor stopped, node stopping; it was on its way up to floor 5: driven for \
             10.0 s (10.0 s allowed) without a new floor sensor, the last was floor 2 direction=up \
             stop_at=5 last_sensor=2 driven_ms=10040 allowed_ms=10000\n"
        );
    }
}
