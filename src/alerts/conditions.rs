//! What an operator has to know of, as the status of a node shows it.

use std::time::Duration;

use elevator_fleet::model::{Call, NodeId, Wear};
use elevator_fleet::node::{LossCause, Status, unserved_limit};
use elevator_fleet::wire::NodeState;
use serde::Serialize;

/// How long a hall call may be without a car (E8).
const WITHOUT_CAR: Duration = Duration::from_secs(5);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kind {
    Hang,
    Alarm,
    NodeLost,
    Split,
    Overdue,
    EmergencyPower,
    DiskFailed,
    Maintenance,
}

impl Kind {
    /// Whether only the node itself knows of it, so that no other node can send it.
    pub(super) fn is_own(self) -> bool {
        matches!(self, Self::DiskFailed | Self::Maintenance)
    }

    pub(super) fn severity(self) -> &'static str {
        match self {
            Self::Hang | Self::Alarm | Self::NodeLost | Self::DiskFailed => "critical",
            Self::Split | Self::Overdue | Self::EmergencyPower | Self::Maintenance => "warning",
        }
    }

    /// How many times as long as others it waits until it is repeated.
    pub(super) fn patience(self) -> u32 {
        if self == Self::Maintenance { 24 } else { 1 }
    }
}

/// What an alert is about: there is one at a time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: Kind,
    /// The car or node, or the fleet.
    pub(super) subject: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Condition {
    pub(super) key: Key,
    /// How long it has to last until it is an alert.
    pub(super) hold: Duration,
    pub(super) text: String,
}

/// The alarm of a car that hung: its node says so before it ends.
pub(super) fn hang(car: &NodeId, why: &str) -> Condition {
    let text = format!("car {car} {why}: inspect it before `liftmesh clear-hang`");
    let key = Key { kind: Kind::Hang, subject: car.to_string() };
    Condition { key, hold: Duration::ZERO, text }
}

/// Everything that holds now. A lost node and a split count after `lost_after`.
pub(super) fn conditions(status: &Status, lost_after: Duration) -> Vec<Condition> {
    let mut found: Vec<_> = liftmesh_api::hung(status)
        .iter()
        .map(|car| {
            let known = status.hangs.iter().find(|hang| hang.car == *car);
            hang(car, &known.map_or("hung".to_owned(), |hang| hang.evidence.to_string()))
        })
        .collect();
    let mut add = |kind, subject: &dyn ToString, hold, text| {
        found.push(Condition { key: Key { kind, subject: subject.to_string() }, hold, text });
    };
    let now = Duration::ZERO;
    for car in status.alarms() {
        let text = format!("somebody in car {car} calls for help; answer and acknowledge it");
        add(Kind::Alarm, car, now, text);
    }
    for lost in status.lost.iter().filter(|lost| lost.cause == LossCause::Silent) {
        let text = format!("node {} at {} is not heard", lost.node, lost.address);
        add(Kind::NodeLost, &lost.node, lost_after, text);
    }
    let own = (&status.node, &status.node_state);
    let peers = status.peers.iter().map(|peer| (&peer.node, &peer.node_state));
    let masters = std::iter::once(own).chain(peers).filter(|(_, it)| **it == NodeState::Master);
    let masters: Vec<_> = masters.map(|(node, _)| node.as_str()).collect();
    if masters.len() > 1 && !status.election.profile().rotates {
        let text = format!("there are {} masters: {}", masters.len(), masters.join(", "));
        add(Kind::Split, &status.fleet, lost_after, text);
    }
    let limit = unserved_limit(status.building.floors());
    let is_late = |waited: Duration, car: Option<&NodeId>| {
        waited >= limit || car.is_none() && waited >= WITHOUT_CAR
    };
    let hall = status.orders.iter().filter(|order| matches!(order.call, Call::Hall(_)));
    let late: Vec<_> = hall.filter(|it| is_late(it.waited, it.car.as_ref())).collect();
    if let Some(oldest) = late.iter().max_by_key(|order| order.waited) {
        let (call, seconds) = (&oldest.call, oldest.waited.as_secs());
        let text = format!("{} overdue: {call} has waited for {seconds} s", late.len());
        let hold = if oldest.waited >= limit { now } else { WITHOUT_CAR };
        add(Kind::Overdue, &status.fleet, hold, text);
    }
    if status.is_on_emergency_power() {
        let text = "the building is on emergency power: one car moves at a time".to_owned();
        add(Kind::EmergencyPower, &status.fleet, now, text);
    }
    if status.disk_failed {
        let text = format!("the disk of node {} has failed; its log says why", status.node);
        add(Kind::DiskFailed, &status.node, now, text);
    }
    let due = status.car.iter().flat_map(|car| {
        let count = move |wear: &Wear| format!("{} {wear}", wear.of(&car.counters));
        car.maintenance_due.iter().map(count)
    });
    let due: Vec<_> = due.collect();
    if !due.is_empty() {
        let text = format!("maintenance of car {} is due: {}", status.node, due.join(", "));
        add(Kind::Maintenance, &status.node, now, text);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operator::tests::busy_status;

    fn kinds(status: &Status) -> Vec<(Kind, String)> {
        let all = conditions(status, Duration::from_mins(1)).into_iter();
        all.map(|Condition { key: Key { kind, subject }, .. }| (kind, subject)).collect()
    }

    /// Each thing that may be wrong, on top of what the others are.
    #[test]
    fn what_is_wrong_in_the_status_is_a_condition() {
        let mut status = busy_status();
        status.settings.clear();
        status.disk_failed = false;
        status.car.as_mut().unwrap().maintenance_due.clear();
        let is = |kind, subject: &str| (kind, subject.to_owned());
        let mut expected = vec![is(Kind::Hang, "C")];
        assert_eq!(kinds(&status), expected);
        status.lost[0].cause = LossCause::Silent;
        expected = vec![is(Kind::NodeLost, "C")];
        assert_eq!(kinds(&status), expected);
        status.peers[0].node_state = NodeState::Master;
        expected.push(is(Kind::Split, status.fleet.as_str()));
        assert_eq!(kinds(&status), expected);
        status.orders[0].waited = Duration::from_secs(90 + 4 * 20);
        expected.push(is(Kind::Overdue, status.fleet.as_str()));
        assert_eq!(kinds(&status), expected);
        status.orders[0].waited = Duration::from_secs(6);
        assert_eq!(kinds(&status), expected[..2]);
        status.orders[0].car = None;
        assert_eq!(kinds(&status), expected);
        status.disk_failed = true;
        status.car.as_mut().unwrap().maintenance_due.insert(Wear::Starts);
        expected.extend([is(Kind::DiskFailed, "A"), is(Kind::Maintenance, "A")]);
        assert_eq!(kinds(&status), expected);
    }
}
