//! A line under test, and everything that it has reported.

use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};

use super::{LineSettings, PanelLine};
use crate::vocabulary::{Button, FloorCount, PanelEvent, PanelInputs};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// For an owner that commands once and leaves it at that.
pub(crate) fn settings() -> LineSettings {
    LineSettings { lease: PATIENCE, ..LineSettings::default() }
}

pub(crate) struct Bench {
    pub(crate) line: PanelLine,
    pub(crate) heard: Vec<PanelEvent>,
    events: Receiver<PanelEvent>,
}

impl Bench {
    pub(crate) fn open(url: &str, floors: FloorCount, settings: LineSettings) -> Self {
        let (sink, events) = sync_channel(4096);
        let line = PanelLine::open(&url.parse().unwrap(), floors, settings, move |event| {
            // The test may be over already.
            drop(sink.try_send(event));
        });
        Self { line: line.unwrap(), heard: Vec::new(), events }
    }

    pub(crate) fn until(&mut self, mut condition: impl FnMut(&Self) -> bool) {
        let end = Instant::now() + PATIENCE;
        while !condition(self) {
            assert!(Instant::now() < end, "never happened: {:?}", self.heard);
            self.heard.extend(self.events.recv_timeout(Duration::from_millis(1)));
            self.heard.extend(self.events.try_iter());
        }
    }

    pub(crate) fn until_inputs(&mut self, condition: impl Fn(&PanelInputs) -> bool) {
        self.until(|line| {
            let inputs = line.heard.iter().rev().find_map(|event| match event {
                PanelEvent::Inputs(inputs) => Some(inputs),
                _ => None,
            });
            inputs.is_some_and(&condition)
        });
    }

    pub(crate) fn is_connected(&self) -> bool {
        let is_change = |event: &&PanelEvent| {
            matches!(event, PanelEvent::Connected | PanelEvent::Disconnected(_))
        };
        self.heard.iter().rfind(is_change) == Some(&PanelEvent::Connected)
    }

    /// How often the line was reported as disconnected for a reason with these words.
    pub(crate) fn disconnections(&self, words: &str) -> usize {
        let is_reason = |event: &&PanelEvent| matches!(event, PanelEvent::Disconnected(reason) if reason.contains(words));
        self.heard.iter().filter(is_reason).count()
    }

    pub(crate) fn presses(&self) -> Vec<Button> {
        let pressed = self.heard.iter().filter_map(|event| match event {
            PanelEvent::Pressed(button) => Some(*button),
            _ => None,
        });
        pressed.collect()
    }
}
