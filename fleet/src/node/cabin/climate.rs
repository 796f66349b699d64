//! Who asks for sensor data, who answers, and what the indicators are told (C4).
//!
//! ```text
//!   master                                   every other unit
//!        │ ── SensorRequest, to all ──────────────────▶ │
//!        │ ◀───────────── SensorData, to the asker ──── │   for `gather_time` at most
//!        │ ── DisplayData, to all ────────────────────▶ │
//! ```
//!
//! A protocol that has requests of its own sends the first line by itself. The rest is the same
//! under each. The node carries the messages; nothing here knows who leads.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::Display;

use crate::climate::{
    ClimateSettings, Dimmer, DisplayData, Reading, Readings, Source, display_text,
};
use crate::model::{NodeId, Timestamp};

/// What a node knows of the building's climate.
#[derive(Debug, Clone)]
pub(super) struct Climate {
    settings: ClimateSettings,
    readings: Readings,
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
    /// The master is to ask for sensor data.
    Request,
    /// Whoever has not answered by then is not waited for.
    Gather,
    /// What the indicator shows is unknown from then on.
    Display,
}

impl Climate {
    pub(super) fn new(settings: ClimateSettings) -> Self {
        Self {
            readings: Readings::new(settings.reading_limit),
            settings,
            dimmer: Dimmer::default(),
            requested_at: None,
            gathering: None,
            told: None,
            wall_clock: None,
        }
    }

    pub(super) fn set_wall_clock(&mut self, unix_seconds: u32, now: Timestamp) {
        self.wall_clock = Some((unix_seconds, now));
    }

    fn wall_clock(&self, now: Timestamp) -> Option<u32> {
        let (seconds, at) = self.wall_clock?;
        let passed = u32::try_from(now.since(at).as_secs()).unwrap_or(u32::MAX);
        Some(seconds.saturating_add(passed))
    }

    /// When there is something to do, and what. `asks`: this node asks for sensor data.
    pub(super) fn due(&self, asks: bool) -> Option<(Timestamp, ClimateTimer)> {
        let gather = self.gathering.as_ref();
        let gather = gather.map(|gathering| (gathering.until, ClimateTimer::Gather));
        let display = self.told.as_ref().map(|(_, at)| {
            let limit = self.settings.display_limit;
            (*at + limit, ClimateTimer::Display)
        });
        let request = self.request_due(asks);
        let request = request.map(|at| (at, ClimateTimer::Request));
        request.into_iter().chain(gather).chain(display).min()
    }

    /// Counted from the last request of anybody: where the mastership rotates, whoever has it when
    /// a request is due asks.
    pub(super) fn request_due(&self, asks: bool) -> Option<Timestamp> {
        let period = self.settings.poll_period;
        asks.then(|| self.requested_at.map_or(Timestamp::START, |at| at + period))
    }

    /// Somebody else has asked for sensor data.
    pub(super) fn note_request(&mut self, now: Timestamp) {
        self.requested_at = Some(now);
    }

    /// This node has asked these for sensor data: the answers are gathered. It ends with display
    /// data even if the node leads no longer by then.
    pub(super) fn start_gathering(&mut self, waits_for: BTreeSet<NodeId>, now: Timestamp) {
        self.requested_at = Some(now);
        self.gathering = Some(Gathering { until: now + self.settings.gather_time, waits_for });
    }

    /// The process was held up: whoever answered meanwhile was not heard, so what was gathered
    /// is not worth telling.
    pub(super) fn forget_request(&mut self) {
        self.gathering = None;
    }

    pub(super) fn handle_reading(&mut self, source: Source, reading: Reading, now: Timestamp) {
        if let Source::Node(node) = &source
            && let Some(gathering) = &mut self.gathering
        {
            gathering.waits_for.remove(node);
        }
        self.readings.record(source, reading, now);
    }

    /// Ends the gathering once all have answered or the time is over: what is to be shown by every
    /// indicator, and by this node's own from here on.
    pub(super) fn gathered(
        &mut self,
        own: (Source, Reading),
        now: Timestamp,
    ) -> Option<DisplayData> {
        let complete = |gathering: &Gathering| gathering.waits_for.is_empty();
        let over = |gathering: &mut Gathering| complete(gathering) || gathering.until <= now;
        self.gathering.take_if(over)?;
        let (source, reading) = own;
        self.readings.record(source, reading, now);
        let illuminance = self.readings.illuminance(now);
        let data = DisplayData {
            temperature: self.readings.temperature(now),
            time: self.wall_clock(now).unwrap_or(0),
            brightness: self.dimmer.dim(illuminance, &self.settings, now),
        };
        self.told = Some((data, now));
        Some(data)
    }

    /// Shows what a master tells.
    pub(super) fn follow(&mut self, data: DisplayData, now: Timestamp) {
        self.dimmer.follow(data.brightness, now);
        self.told = Some((data, now));
    }

    /// Drops what is shown if it is too old; tells whether it did.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        let is_expired = self.told.is_some() && self.display_data(now).is_none();
        if is_expired {
            self.told = None;
        }
        is_expired
    }

    /// What the indicators are to show, while it is fresh, and when it was told.
    pub(super) fn display_data(&self, now: Timestamp) -> Option<(DisplayData, Timestamp)> {
        let limit = self.settings.display_limit;
        self.told.filter(|(_, at)| now.since(*at) < limit)
    }

    /// What the indicator shows.
    pub(super) fn display(&self, now: Timestamp) -> Display {
        let told = self.display_data(now).map(|(data, _)| data);
        let time = match told {
            Some(data) => Some(data.time).filter(|time| *time > 0),
            None => self.wall_clock(now),
        };
        let temperature = told.and_then(|data| data.temperature);
        Display {
            text: display_text(temperature, time, self.settings.utc_offset),
            brightness: told.map(|data| data.brightness),
        }
    }

    /// The fresh readings, and their ages.
    pub(super) fn fresh_readings(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Source, Reading, Duration)> {
        self.readings.fresh(now)
    }
}

#[cfg(test)]
mod tests;
