//! What the displays show is so.

use std::time::Duration;

use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::model::Mode;

use super::{Finding, TOO_LONG};
use crate::machine::Line;
use crate::snapshot::Snapshot;

/// The sensors change slowly, and are averaged in tenths: a display may be this far, in °C, beyond
/// what they read at the moment.
const TOLERANCE: f64 = 1.0;

/// C4, K1, K2: the displays of a group show a temperature between the lowest and the highest
/// that its sensors read, and `--` where none reads any.
pub(super) fn displays_show_the_climate_of_their_group(snapshot: &Snapshot) -> Vec<Finding> {
    let settled = snapshot.bound() + settling(snapshot);
    if snapshot.now.saturating_sub(snapshot.disturbances.climate_at) < settled {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for group in snapshot.calm_groups(settled) {
        let reads = |node: &usize| {
            let machine = &snapshot.machines[*node];
            let climate = (machine.line == Line::Plugged).then(|| machine.car.inputs().climate);
            climate?.temperature.map(f64::from)
        };
        // A node that reads no temperature of its own, because its line is cut or its sensor silent,
        // and asks the others hears nothing in time.
        if !answers_come_in_time(snapshot) && !group.iter().all(|node| reads(node).is_some()) {
            continue;
        }
        let read = group.iter().filter_map(reads);
        let range = read.fold(None, |range: Option<(f64, f64)>, read| {
            let (least, most) = range.unwrap_or((read, read));
            Some((least.min(read), most.max(read)))
        });
        // An attendant is shown the hall calls.
        let is_attended =
            |node: &usize| snapshot.machines[*node].modes().contains(&Mode::Attendant);
        for node in group {
            let outputs = snapshot.node(node).and_then(|node| node.outputs());
            let Some(text) = outputs.map(|outputs| &outputs.display.text) else {
                continue;
            };
            let shown = text.split_once(" C").map_or("", |(shown, _)| shown);
            let is_so = match range {
                None => shown == "--",
                Some((least, most)) => shown.parse().is_ok_and(|shown: f64| {
                    (least - TOLERANCE..=most + TOLERANCE).contains(&shown)
                }),
            };
            if !is_so && !is_attended(&node) {
                let what = format!("shows {text:?}, the sensors read {range:?}");
                let finding = Finding::new("K2", node, what);
                findings.push(finding.lasting(format!("K2 {node}"), TOO_LONG));
            }
        }
    }
    findings
}

/// Whether a request and its answer travel within the time for which answers are gathered.
fn answers_come_in_time(snapshot: &Snapshot) -> bool {
    let slowest = Duration::from_micros(*snapshot.network.weather.delay.end());
    slowest * 2 < ClimateSettings::default().gather_time
}

/// By then whatever was read or sent in another group has lapsed.
fn settling(snapshot: &Snapshot) -> Duration {
    let requests = snapshot.settings.election.request_period();
    let ClimateSettings { poll_period, reading_limit, display_limit, .. } =
        ClimateSettings::default().requested_every(requests);
    poll_period + reading_limit + display_limit
}
