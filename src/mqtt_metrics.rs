//! What `/metrics` says of MQTT.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, Opts};
use tokio::sync::watch;

const TOPICS: usize = 64;

/// The topics that the broker refuses, on any connection of the node.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedTopics(watch::Sender<BTreeSet<String>>);

impl RefusedTopics {
    pub(super) fn insert(&self, topic: &str) {
        self.0.send_if_modified(|topics| topics.len() < TOPICS && topics.insert(topic.to_owned()));
    }

    pub(super) fn remove(&self, topic: &str) {
        self.0.send_if_modified(|topics| topics.remove(topic));
    }

    pub(super) fn list(&self) -> Vec<String> {
        self.0.borrow().iter().cloned().collect()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CallOutcome {
    /// There is an order, or there will be, or none was needed.
    Taken,
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
    pub(super) connected: IntGauge,
    pub(super) published: IntCounter,
    pub(super) events_dropped: IntCounter,
    pub(super) answers_dropped: IntCounter,
    pub(super) states_dropped: IntCounter,
    calls: IntCounterVec,
    queued: Arc<AtomicUsize>,
    pub(super) refused: RefusedTopics,
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
        let dropped = |what: &str, help: &str| {
            let why = "the MQTT broker refused them, was too slow or was away too long";
            let name = format!("liftmesh_mqtt_{what}_dropped_total");
            IntCounter::new(name, format!("{help} dropped because {why}."))
        };
        Ok(Self {
            connected: IntGauge::new(
                "liftmesh_mqtt_publishing",
                "1 if the node publishes the fleet's state to the MQTT broker.",
            )?,
            published: IntCounter::new(
                "liftmesh_mqtt_published_total",
                "Messages of the fleet that the MQTT broker accepted from this node.",
            )?,
            events_dropped: dropped("events", "Events")?,
            answers_dropped: dropped("answers", "Answers to calls")?,
            states_dropped: dropped("states", "States of the fleet")?,
            calls,
            queued: Arc::default(),
            refused: RefusedTopics::default(),
        })
    }

    pub(super) fn set_queued(&self, messages: usize) {
        self.queued.store(messages, Ordering::Relaxed);
    }

    pub(crate) fn queued(&self) -> usize {
        self.queued.load(Ordering::Relaxed)
    }

    pub(super) fn calls(&self, outcome: CallOutcome) -> IntCounter {
        self.calls.with_label_values(&[outcome.name()])
    }

    pub(crate) fn collectors(&self) -> Vec<Box<dyn Collector>> {
        let Self { published, events_dropped, answers_dropped, states_dropped, .. } = self.clone();
        let counters = [published, events_dropped, answers_dropped, states_dropped];
        let mut all: Vec<Box<dyn Collector>> =
            vec![Box::new(self.connected.clone()), Box::new(self.calls.clone())];
        all.extend(counters.map(|counter| Box::new(counter) as Box<dyn Collector>));
        all
    }
}
