//! Requests for sensor data, the answers, and display data (C4).
//!
//! ```text
//!   master                                   every other unit
//!        │ ── SensorRequest, to all ──────────────────▶ │
//!        │ ◀───────────── SensorData, to the asker ──── │   for `gather_time` at most
//!        │ ── DisplayData, to all ────────────────────▶ │
//! ```
//!
//! Under a protocol with requests of its own, the protocol sends the first line.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::Display;

use crate::climate::{ClimateSettings, DisplayData, Reading, Readings, Source, display_text};
use crate::model::{NodeId, Timestamp};

#[derive(Debug, Clone)]
pub(crate) struct Climate {
    pub(crate) settings: ClimateSettings,
    readings: Readings,
    /// When any node last requested sensor data.
    requested_at: Option<Timestamp>,
    gathering: Option<Gathering>,
    pub(crate) latest: Option<(DisplayData, Timestamp)>,
    wall_clock: Option<(u32, Timestamp)>,
}

#[derive(Debug, Clone)]
struct Gathering {
    until: Timestamp,
    waits_for: BTreeSet<NodeId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClimateTimer {
    Request,
    Gather,
    Display,
}

impl Climate {
    pub(super) fn new(settings: ClimateSettings) -> Self {
        Self {
            readings: Readings::new(settings.reading_limit),
            settings,
            requested_at: None,
            gathering: None,
            latest: None,
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

    /// The next deadline. `asks`: whether this node requests sensor data.
    pub(crate) fn due(&self, asks: bool) -> Option<(Timestamp, ClimateTimer)> {
        let gather = self.gathering.as_ref();
        let gather = gather.map(|gathering| (gathering.until, ClimateTimer::Gather));
        let display = self.latest.as_ref().map(|(_, at)| {
            let limit = self.settings.display_limit;
            (*at + limit, ClimateTimer::Display)
        });
        let request = self.request_due(asks);
        let request = request.map(|at| (at, ClimateTimer::Request));
        request.into_iter().chain(gather).chain(display).min()
    }

    /// Counted from the last request of any node: the mastership may rotate.
    pub(crate) fn request_due(&self, asks: bool) -> Option<Timestamp> {
        let period = self.settings.poll_period;
        asks.then(|| self.requested_at.map_or(Timestamp::START, |at| at + period))
    }

    pub(crate) fn is_request_due(&self, asks: bool, now: Timestamp) -> bool {
        self.request_due(asks).is_some_and(|at| at <= now)
    }

    pub(super) fn note_request(&mut self, now: Timestamp) {
        self.requested_at = Some(now);
    }

    /// This node has requested sensor data of these nodes. Display data ends that, master or not.
    pub(crate) fn start_gathering(&mut self, waits_for: BTreeSet<NodeId>, now: Timestamp) {
        self.requested_at = Some(now);
        self.gathering = Some(Gathering { until: now + self.settings.gather_time, waits_for });
    }

    /// The process was interrupted for `late` and missed answers. If the reading of its own sensors
    /// may have expired (K1), the next request waits until they are heard again.
    pub(super) fn handle_interrupted(&mut self, late: Duration, now: Timestamp) {
        self.gathering = None;
        if late >= self.settings.reading_limit {
            self.requested_at = Some(now);
        }
    }

    pub(crate) fn handle_reading(&mut self, source: Source, reading: Reading, now: Timestamp) {
        if let Source::Node(node) = &source
            && let Some(gathering) = &mut self.gathering
        {
            gathering.waits_for.remove(node);
        }
        self.readings.record(source, reading, now);
    }

    /// Ends the request once all nodes have answered or the time is over. Returns the data that
    /// every indicator, including this node's own, shows from now on.
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
            brightness: self.settings.brightness(illuminance),
        };
        self.latest = Some((data, now));
        Some(data)
    }

    pub(super) fn follow(&mut self, data: DisplayData, now: Timestamp) {
        self.latest = Some((data, now));
    }

    /// Drops the shown data if it has expired; `true` if it did.
    pub(super) fn expire(&mut self, now: Timestamp) -> bool {
        let is_expired = self.latest.is_some() && self.display_data(now).is_none();
        if is_expired {
            self.latest = None;
        }
        is_expired
    }

    /// The display data and when it was received, unless it has expired.
    pub(super) fn display_data(&self, now: Timestamp) -> Option<(DisplayData, Timestamp)> {
        let limit = self.settings.display_limit;
        self.latest.filter(|(_, at)| now.since(*at) < limit)
    }

    pub(crate) fn display(&self, now: Timestamp) -> Display {
        let latest = self.display_data(now).map(|(data, _)| data);
        let time = match latest {
            Some(data) => Some(data.time).filter(|time| *time > 0),
            None => self.wall_clock(now),
        };
        let temperature = latest.and_then(|data| data.temperature);
        Display {
            position: String::new(),
            text: display_text(temperature, time, self.settings.utc_offset),
            brightness: latest.map(|data| data.brightness),
        }
    }

    pub(super) fn fresh_readings(
        &self,
        now: Timestamp,
    ) -> impl Iterator<Item = (&Source, Reading, Duration)> {
        self.readings.fresh(now)
    }
}
