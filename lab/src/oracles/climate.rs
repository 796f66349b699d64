//! C4, K1, K2: a display shows no temperature beyond the lowest and highest readings of the nodes that
//! it can hear.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::climate::ClimateSettings;
use elevator_fleet::model::Mode;

use super::Finding;
use crate::machine::Line;
use crate::snapshot::Snapshot;

/// The sensors change slowly, and are averaged in tenths: a display may be this far, in °C, beyond
/// what they read at the moment.
const TOLERANCE: f64 = 1.0;

/// By node whose display it is and temperature in °C: when a node that can be heard there last read it.
#[derive(Debug, Default)]
pub(crate) struct Readings {
    read_at: BTreeMap<(usize, i8), Duration>,
}

impl Readings {
    pub(crate) fn inspect(&mut self, snapshot: &Snapshot) -> Vec<Finding> {
        let mut findings = Vec::new();
        for group in snapshot.components() {
            let reads = |node: &usize| {
                let machine = &snapshot.machines[*node];
                let climate = (machine.line == Line::Plugged).then(|| machine.car.inputs().climate);
                climate?.temperature
            };
            let read: Vec<i8> = group.iter().filter_map(reads).collect();
            for node in &group {
                self.read_at.extend(read.iter().map(|it| ((*node, *it), snapshot.now)));
            }
            findings.extend(group.iter().filter_map(|node| self.is_shown(snapshot, *node)));
        }
        findings
    }

    /// What this display shows was read by somebody who could be heard, not too long ago: by then
    /// whatever was read or sent in another group has lapsed.
    fn is_shown(&mut self, snapshot: &Snapshot, node: usize) -> Option<Finding> {
        let requests = snapshot.settings.election.request_period();
        let ClimateSettings { poll_period, reading_limit, display_limit, .. } =
            ClimateSettings::default().requested_every(requests);
        let lapses = poll_period + reading_limit + display_limit;
        self.read_at.retain(|(of, _), at| *of != node || *at + lapses >= snapshot.now);
        let readings = self.read_at.range((node, i8::MIN)..=(node, i8::MAX));
        let read: Vec<f64> = readings.map(|((_, read), _)| f64::from(*read)).collect();
        let text = &snapshot.node(node)?.outputs()?.display.text;
        let shown = text.split_once(" C").map_or("", |(shown, _)| shown);
        let shown = shown.parse::<f64>().ok()?;
        let (least, most) = read.first().zip(read.last()).unwrap_or((&f64::MAX, &f64::MIN));
        let is_so = (least - TOLERANCE..=most + TOLERANCE).contains(&shown);
        // An attendant is shown the hall calls.
        let is_wrong = !is_so && snapshot.machines[node].mode() != Mode::Attendant;
        let what = || format!("shows {text:?}, the sensors read {read:?}");
        is_wrong.then(|| Finding::new("K2", node, what()))
    }
}
