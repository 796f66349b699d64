//! What `/metrics` says of MQTT.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

/// Between two warnings about dropped events.
const WARN_PERIOD: Duration = Duration::from_mins(1);

/// The refused topics of all connections, for others to see.
pub(super) type Refused = watch::Sender<BTreeSet<String>>;

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// There is an order, or there will be, or none was needed.
    Taken,
    /// It was one that had been answered before.
    Repeated,
    Refused,
    /// The broker does not keep it, and there were too many.
    Dropped,
}

impl CallOutcome {
    const ALL: [Self; 4] = [Self::Taken, Self::Repeated, Self::Refused, Self::Dropped];

    fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::Repeated => "repeated",
            Self::Refused => "refused",
            Self::Dropped => "dropped",
        }
    }
}

/// Counted as it happens; clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    /// Whether the node publishes.
    pub(super) connected: IntGauge,
    pub(super) published: IntCounter,
    pub(super) events_dropped: IntCounter,
    pub(super) answers_dropped: IntCounter,
    pub(super) states_dropped: IntCounter,
    calls: IntCounterVec,
    queued: Arc<AtomicUsize>,
    /// The topics that the broker refuses, of which the connections keep account.
    pub(super) refused: Refused,
}

impl Counted {
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let calls = Opts::new(
            "liftmesh_mqtt_calls_total",
            "Calls and session requests received over MQTT.",
        );
        let calls = IntCounterVec::new(calls, &["outcome"])?;
        for outcome in CallOutcome::ALL {
            calls.with_label_values(&[outcome.name()]);
        }
        let counter = |name: &str, what: &str| {
            IntCounter::new(format!("liftmesh_mqtt_{name}_total"), format!("{what}."))
        };
        Ok(Self {
            connected: IntGauge::new(
                "liftmesh_mqtt_publishing",
                "1 if the node publishes the fleet's state to the MQTT broker.",
            )?,
            published: counter(
                "published",
                "Messages of the fleet that the MQTT broker accepted from this node",
            )?,
            events_dropped: counter(
                "events_dropped",
                "Events dropped because the MQTT broker refused them, was too slow or was away too \
                 long",
            )?,
            answers_dropped: counter(
                "answers_dropped",
                "Answers to calls dropped because the MQTT broker refused them, was too slow or \
                 was away too long",
            )?,
            states_dropped: counter(
                "states_dropped",
                "States of the fleet that the MQTT broker refused",
            )?,
            calls,
            queued: Arc::default(),
            refused: Refused::default(),
        })
    }

    pub(super) fn set_queued(&self, messages: usize) {
        self.queued.store(messages, Ordering::Relaxed);
    }

    /// How many events and answers wait for the broker.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// The topics that the broker refuses.
    pub(super) fn refused_topics(&self) -> Vec<String> {
        self.refused.borrow().iter().cloned().collect()
    }

    pub(super) fn calls(&self, outcome: CallOutcome) -> IntCounter {
        self.calls.with_label_values(&[outcome.name()])
    }

    /// Everything, for a registry.
    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self { published, events_dropped, answers_dropped, states_dropped, .. } = self.clone();
        let counters = [published, events_dropped, answers_dropped, states_dropped];
        let mut all: Vec<Box<dyn Collector>> =
            vec![Box::new(self.connected.clone()), Box::new(self.calls.clone())];
        all.extend(counters.map(|counter| Box::new(counter) as Box<dyn Collector>));
        all
    }
}

/// Warns of what was dropped: of each kind, not more often than once in [`WARN_PERIOD`].
#[derive(Debug, Default)]
pub(super) struct DropWatch {
    /// When each was warned of, and how many there had been.
    warned: [Option<(Instant, u64)>; 3],
}

impl DropWatch {
    pub(super) fn check(&mut self, counted: &Counted) {
        let now = Instant::now();
        let [events, answers, calls] = &mut self.warned;
        if let Some(count) = news(events, counted.events_dropped.get(), now) {
            warn!(count, "events were dropped: the MQTT broker does not keep up, or refuses them");
        }
        if let Some(count) = news(answers, counted.answers_dropped.get(), now) {
            warn!(
                count,
                "answers to calls were dropped: the MQTT broker does not keep up, or refuses them"
            );
        }
        if let Some(count) = news(calls, counted.calls(CallOutcome::Dropped).get(), now) {
            warn!(count, "calls with QoS 0 were dropped: they came faster than they can be placed");
        }
    }
}

/// How many were dropped since the last warning, if it is time for another.
fn news(warned: &mut Option<(Instant, u64)>, dropped: u64, now: Instant) -> Option<u64> {
    let known = warned.map_or(0, |(_, known)| known);
    let is_time = warned.is_none_or(|(at, _)| now - at >= WARN_PERIOD);
    if dropped <= known || !is_time {
        return None;
    }
    *warned = Some((now, dropped));
    Some(dropped - known)
}
