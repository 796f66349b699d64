//! Who asks for sensor data, who answers, and what the indicators are told (C4).
//!
//! ```text
//!   coordinator                                   every other unit
//!        │ ── SensorRequest, to all ──────────────────▶ │
//!        │ ◀───────────── SensorData, to the asker ──── │   for `gather_time` at most
//!        │ ── DisplayData, to all ────────────────────▶ │
//! ```
//!
//! A protocol that has requests of its own sends the first line by itself. The rest is the same
//! under each.

use std::collections::BTreeSet;

use elevator_driver::Display;

use super::Node;
use super::office::Enclosed;
use crate::climate::{
    ClimateSettings, Dimmer, DisplayData, Reading, Readings, Source, display_text,
};
use crate::election::Message;
use crate::model::{NodeId, Timestamp};
use crate::wire::Standing;

/// What a node knows of the building's climate.
#[derive(Debug, Clone)]
pub(super) struct Climate {
    pub(super) readings: Readings,
    dimmer: Dimmer,
    /// When somebody, this node included, last asked for sensor data.
    requested_at: Option<Timestamp>,
    gathering: Option<Gathering>,
    told: Option<(DisplayData, Timestamp)>,
    /// The wall clock, and when it was read.
    wall_clock: Option<(u32, Timestamp)>,
}

/// The answers to a request of this node's come in.
#[derive(Debug, Clone)]
struct Gathering {
    until: Timestamp,
    /// Who has yet to answer.
    waits_for: BTreeSet<NodeId>,
}

/// The timers of the climate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClimateTimer {
    /// The coordinator is to ask for sensor data.
    Request,
    /// Whoever has not answered by then is not waited for.
    Gather,
    /// What the indicator shows is unknown from then on.
    Display,
}

impl Climate {
    pub(super) fn new(settings: &ClimateSettings) -> Self {
        Self {
            readings: Readings::new(settings.reading_limit),
            dimmer: Dimmer::default(),
            requested_at: None,
            gathering: None,
            told: None,
            wall_clock: None,
        }
    }

    /// The process was held up: whoever answered meanwhile was not heard, so what was gathered
    /// is not worth telling.
    pub(super) fn forget_request(&mut self) {
        self.gathering = None;
    }

    fn wall_clock(&self, now: Timestamp) -> Option<u32> {
        let (seconds, at) = self.wall_clock?;
        let passed = u32::try_from(now.since(at).as_secs()).unwrap_or(u32::MAX);
        Some(seconds.saturating_add(passed))
    }
}

impl Node {
    /// The wall clock shows so many seconds since 1970-01-01. Call it before the start and every
    /// few seconds. It is shown to people, and nothing else depends on it (E5).
    pub fn handle_wall_clock(&mut self, unix_seconds: u32, now: Timestamp) {
        self.climate.wall_clock = Some((unix_seconds, now));
        self.stale.car = true;
        self.settle(now);
    }

    /// When there is something to do for the climate, and what.
    pub(super) fn climate_due(&self) -> Option<(Timestamp, ClimateTimer)> {
        let gather = self.climate.gathering.as_ref();
        let gather = gather.map(|gathering| (gathering.until, ClimateTimer::Gather));
        let display = self.climate.told.as_ref().map(|(_, at)| {
            let limit = self.settings.climate.display_limit;
            (*at + limit, ClimateTimer::Display)
        });
        let request = self.request_due().map(|at| (at, ClimateTimer::Request));
        request.into_iter().chain(gather).chain(display).min()
    }

    /// Counted from the last request of anybody: where the duty goes round, whoever has it when
    /// a request is due asks.
    fn request_due(&self) -> Option<Timestamp> {
        let asks = self.standing == Standing::Master && !self.election.requests_sensor_data();
        let period = self.settings.climate.poll_period;
        asks.then(|| {
            self.climate
                .requested_at
                .map_or(Timestamp::START, |at| at + period)
        })
    }

    /// Does what is due.
    pub(super) fn mind_climate(&mut self, now: Timestamp) {
        if self.request_due().is_some_and(|at| at <= now) {
            self.tell(None, Message::SensorRequest, Enclosed::Nothing, now);
        }
        let complete = |gathering: &Gathering| gathering.waits_for.is_empty();
        let over = |gathering: &Gathering| complete(gathering) || gathering.until <= now;
        if self.climate.gathering.as_ref().is_some_and(over) {
            self.climate.gathering = None;
            self.tell_display_data(now);
        }
        if self.climate.told.is_some() && self.display_data(now).is_none() {
            self.climate.told = None;
            self.stale.car = true;
        }
    }

    /// This node has asked everybody for sensor data: the answers are gathered. It ends with
    /// display data even if the node leads no longer by then.
    pub(super) fn has_requested(&mut self, now: Timestamp) {
        self.climate.requested_at = Some(now);
        self.climate.gathering = Some(Gathering {
            until: now + self.settings.climate.gather_time,
            waits_for: self.links.joined().map(|(_, peer)| peer.clone()).collect(),
        });
    }

    /// Takes in what concerns the climate. Any peer that counts will do, whether the election
    /// hears of it or not.
    pub(super) fn take_climate(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        if let Message::SensorData(reading) = message {
            self.take_reading(Source::Node(from.clone()), *reading, now);
        } else if let Message::DisplayData(data) = message {
            if self.shows_for(from) {
                self.climate.dimmer.follow(data.brightness, now);
                self.show(*data, now);
            }
        } else if *message == Message::SensorRequest {
            self.climate.requested_at = Some(now);
            let answer = Message::SensorData(self.own_reading());
            self.tell(Some(from.clone()), answer, Enclosed::Nothing, now);
        }
    }

    /// Takes a reading in, whatever carried it.
    pub(super) fn take_reading(&mut self, source: Source, reading: Reading, now: Timestamp) {
        if let Source::Node(node) = &source
            && let Some(gathering) = &mut self.climate.gathering
        {
            gathering.waits_for.remove(node);
        }
        self.climate.readings.take(source, reading, now);
    }

    /// What the node's own sensors read. The panel's line sees to it that an old value is
    /// unknown (K1).
    pub(super) fn own_reading(&self) -> Reading {
        let climate = self.inputs.climate;
        Reading {
            temperature: climate.temperature,
            illuminance: climate.illuminance,
        }
    }

    /// What the indicators are to show, while it is fresh, and when it was told.
    pub(super) fn display_data(&self, now: Timestamp) -> Option<(DisplayData, Timestamp)> {
        let limit = self.settings.climate.display_limit;
        let told = self.climate.told;
        told.filter(|(_, at)| now.since(*at) < limit)
    }

    /// What the indicator shows.
    pub(super) fn display(&self, now: Timestamp) -> Display {
        let told = self.display_data(now).map(|(data, _)| data);
        let time = match told {
            Some(data) => Some(data.time).filter(|time| *time > 0),
            None => self.climate.wall_clock(now),
        };
        let temperature = told.and_then(|data| data.temperature);
        Display {
            text: display_text(temperature, time, self.settings.climate.utc_offset),
            brightness: told.map(|data| data.brightness),
        }
    }

    /// Tells every indicator what to show, this node's own among them (V11).
    fn tell_display_data(&mut self, now: Timestamp) {
        let own = Source::Node(self.hello.node.clone());
        self.take_reading(own, self.own_reading(), now);
        let climate = &mut self.climate;
        let illuminance = climate.readings.illuminance(now);
        let data = DisplayData {
            temperature: climate.readings.temperature(now),
            time: climate.wall_clock(now).unwrap_or(0),
            brightness: climate.dimmer.dim(illuminance, &self.settings.climate, now),
        };
        self.tell(None, Message::DisplayData(data), Enclosed::Nothing, now);
        self.show(data, now);
    }

    /// Whether the indicator shows what this peer says. Who has a coordinator shows what that one
    /// says: between two groups that hear each other in part it would change with every word.
    fn shows_for(&self, peer: &NodeId) -> bool {
        match &self.standing {
            Standing::Slave { master } => master == peer || self.election.rotates(),
            Standing::Master => self.election.rotates(),
            Standing::Seeking => true,
        }
    }

    fn show(&mut self, data: DisplayData, now: Timestamp) {
        self.climate.told = Some((data, now));
        self.stale.car = true;
    }
}

#[cfg(test)]
mod tests;
