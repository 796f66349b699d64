//! What the displays show is so.

use std::time::Duration;

use elevator_fleet::climate::ClimateSettings;

use crate::World;
use crate::machine::Line;

/// The sensors change slowly, and are averaged in tenths: a display may be so far, in °C, beyond
/// what they read at the moment.
const TOLERANCE: f64 = 1.0;

impl World {
    /// C4, K1, K2: the displays of a group show a temperature between the lowest and the highest
    /// that its sensors read, and `--` where none reads any.
    pub(crate) fn displays_show_the_climate_of_their_group(&mut self) {
        let settled = self.settings.election.bound() + settling();
        if self.now.saturating_sub(self.climate_at) < settled {
            return;
        }
        for group in self.calm_groups(settled) {
            let plugged = |node: &&usize| self.machines[**node].line == Line::Plugged;
            // A node without a sensor of its own that asks the others hears nothing in time.
            if !self.answers_come_in_time() && !group.iter().all(|node| plugged(&node)) {
                continue;
            }
            let read = group.iter().filter(plugged).filter_map(|node| {
                let climate = self.machines[*node].car.inputs().climate;
                climate.temperature.map(f64::from)
            });
            let range = read.fold(None, |range: Option<(f64, f64)>, read| {
                let (least, most) = range.unwrap_or((read, read));
                Some((least.min(read), most.max(read)))
            });
            for node in group {
                let outputs = self.machines[node].node().and_then(|node| node.outputs());
                let Some(text) = outputs.map(|outputs| outputs.display.text.clone()) else {
                    continue;
                };
                let shown = text.split_once(" C").map_or("", |(shown, _)| shown);
                let is_so = match range {
                    None => shown == "--",
                    Some((least, most)) => shown.parse().is_ok_and(|shown: f64| {
                        (least - TOLERANCE..=most + TOLERANCE).contains(&shown)
                    }),
                };
                if !is_so {
                    let what = format!("shows {text:?}, the sensors read {range:?}");
                    self.lasts(&format!("K2 {node}"), "K2", node, &what);
                }
            }
        }
    }
}

impl World {
    /// Whether a request and its answer travel within the time for which answers are gathered.
    fn answers_come_in_time(&self) -> bool {
        let slowest = Duration::from_micros(*self.network.weather.delay.end());
        slowest * 2 < ClimateSettings::default().gather_time
    }
}

/// By then whatever was read or told in another group has lapsed.
fn settling() -> Duration {
    let ClimateSettings {
        poll_period,
        reading_limit,
        display_limit,
        ..
    } = ClimateSettings::default();
    poll_period + reading_limit + display_limit
}
