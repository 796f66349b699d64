//! What `/metrics` says of MQTT.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::warn;

/// Between two warnings about dropped events.
const WARN_PERIOD: Duration = Duration::from_mins(1);

/// What the metric calls [`CallOutcome::Dropped`].
const DROPPED: &str = "dropped";

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

/// Counted as it happens; clones count together.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    connected: IntGauge,
    published: IntCounter,
    dropped: IntCounter,
    answers_dropped: IntCounter,
    states_dropped: IntCounter,
    calls: IntCounterVec,
    queued: Arc<AtomicUsize>,
    refused: Refused,
}

impl Counted {
    pub(crate) fn new() -> Result<Self, prometheus::Error> {
        let calls = Opts::new(
            "liftmesh_mqtt_calls_total",
            "Calls and session requests received over MQTT.",
        );
        let calls = IntCounterVec::new(calls, &["outcome"])?;
        for outcome in ["taken", "repeated", "refused", DROPPED] {
            calls.with_label_values(&[outcome]);
        }
        Ok(Self {
            connected: IntGauge::new(
                "liftmesh_mqtt_publishing",
                "1 if the node publishes the fleet's state to the MQTT broker.",
            )?,
            published: IntCounter::new(
                "liftmesh_mqtt_published_total",
                "Messages of the fleet that the MQTT broker accepted from this node.",
            )?,
            dropped: IntCounter::new(
                "liftmesh_mqtt_events_dropped_total",
                "Events dropped because the MQTT broker refused them, was too slow or was away too \
                 long.",
            )?,
            answers_dropped: IntCounter::new(
                "liftmesh_mqtt_answers_dropped_total",
                "Answers to calls dropped because the MQTT broker refused them, was too slow or \
                 was away too long.",
            )?,
            states_dropped: IntCounter::new(
                "liftmesh_mqtt_states_dropped_total",
                "States of the fleet that the MQTT broker refused.",
            )?,
            calls,
            queued: Arc::default(),
            refused: Refused::default(),
        })
    }

    pub(super) fn set_connected(&self, is_connected: bool) {
        self.connected.set(is_connected.into());
    }

    pub(super) fn set_queued(&self, messages: usize) {
        self.queued.store(messages, Ordering::Relaxed);
    }

    /// How many events and answers wait for the broker.
    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    /// The topics that the broker refuses, of which the connections keep account.
    pub(super) fn refused(&self) -> Refused {
        self.refused.clone()
    }

    /// The topics that the broker refuses.
    pub(super) fn refused_topics(&self) -> Vec<String> {
        self.refused.borrow().iter().cloned().collect()
    }

    pub(super) fn publish(&self) {
        self.published.inc();
    }

    pub(super) fn drop_events(&self, events: u64) {
        self.dropped.inc_by(events);
    }

    pub(super) fn drop_answers(&self, answers: u64) {
        self.answers_dropped.inc_by(answers);
    }

    pub(super) fn drop_state(&self) {
        self.states_dropped.inc();
    }

    pub(super) fn count_call(&self, outcome: CallOutcome) {
        let word = match outcome {
            CallOutcome::Taken => "taken",
            CallOutcome::Repeated => "repeated",
            CallOutcome::Refused => "refused",
            CallOutcome::Dropped => DROPPED,
        };
        self.calls.with_label_values(&[word]).inc();
    }

    /// Everything, for a registry.
    pub(crate) fn collectors(&self) -> Vec<Box<dyn prometheus::core::Collector>> {
        vec![
            Box::new(self.connected.clone()),
            Box::new(self.published.clone()),
            Box::new(self.dropped.clone()),
            Box::new(self.answers_dropped.clone()),
            Box::new(self.states_dropped.clone()),
            Box::new(self.calls.clone()),
        ]
    }
}

/// Warns of what was dropped: of each kind, not more often than once in [`WARN_PERIOD`].
#[derive(Debug, Default)]
pub(super) struct DropWatch {
    events: Warned,
    answers: Warned,
    calls: Warned,
}

/// When it was warned of, and how many there had been.
type Warned = Option<(Instant, u64)>;

impl DropWatch {
    pub(super) fn check(&mut self, counted: &Counted) {
        if let Some(events) = news(&mut self.events, counted.dropped.get()) {
            warn!(events, "events were dropped: the MQTT broker does not keep up, or refuses them");
        }
        if let Some(answers) = news(&mut self.answers, counted.answers_dropped.get()) {
            warn!(
                answers,
                "answers to calls were dropped: the MQTT broker does not keep up, or refuses them"
            );
        }
        let calls = counted.calls.with_label_values(&[DROPPED]).get();
        if let Some(calls) = news(&mut self.calls, calls) {
            warn!(calls, "calls with QoS 0 were dropped: they came faster than they can be placed");
        }
    }
}

/// How many have been dropped since the last warning, if it is time for one.
fn news(warned: &mut Warned, dropped: u64) -> Option<u64> {
    let now = Instant::now();
    let known = warned.map_or(0, |(_, known)| known);
    let is_time = warned.is_none_or(|(at, _)| now - at >= WARN_PERIOD);
    (dropped > known && is_time).then(|| {
        *warned = Some((now, dropped));
        dropped - known
    })
}
