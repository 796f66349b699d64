//! A trace as text: one line for each thing that happened.

use std::time::Duration;

use super::svg::milliseconds;
use super::{Fate, Trace};

/// What a trace shows, in the order of time: what was sent and when it arrived, states,
/// marks and faults. Times are in milliseconds, relative to the drawing's 0.
pub fn story(trace: &Trace) -> String {
    let name = |node| trace.name(node);
    let mut lines: Vec<(Duration, String)> = Vec::new();
    for sent in trace.shown() {
        let receivers = sent.arrows.iter().map(|arrow| {
            let how = match arrow.fate {
                Fate::Arrives(_) => "",
                Fate::Waits(_) => " (waits)",
                Fate::Unheard(_) => " (not heard)",
                Fate::Lost => " (lost)",
                Fate::Cut => " (cut)",
            };
            let after = arrow.fate.arrival().map_or_else(String::new, |at| {
                format!(" +{:.2}", milliseconds(at.saturating_sub(sent.at)))
            });
            format!("{}{after}{how}", name(arrow.to))
        });
        let receivers: Vec<String> = receivers.collect();
        let (from, kind) = (name(sent.from), sent.kind.name);
        let says =
            if sent.detail.is_empty() { String::new() } else { format!(" ({})", sent.detail) };
        let to = if receivers.is_empty() { "" } else { " to " };
        lines.push((sent.at, format!("{from}: {kind}{says}{to}{}", receivers.join(", "))));
    }
    for state in &trace.states {
        let is = state.state.as_ref().map_or_else(|| "down".to_owned(), ToString::to_string);
        lines.push((state.at, format!("{} is {is}, term {}", name(state.node), state.term)));
    }
    for mark in &trace.marks {
        lines.push((mark.at, format!("{}: {}", name(mark.node), mark.what)));
    }
    for band in &trace.bands {
        let of = band.node.map_or_else(String::new, |node| format!("{}: ", name(node)));
        if trace.window.contains(band.from) {
            lines.push((band.from, format!("{of}{} begins", band.what)));
        }
        if let Some(to) = band.to.filter(|to| trace.window.contains(*to)) {
            lines.push((to, format!("{of}{} ends", band.what)));
        }
    }
    lines.sort_by_key(|(at, _)| *at);
    let zero = milliseconds(trace.window.zero);
    let times = lines.into_iter().map(|(at, text)| (milliseconds(at) - zero, text));
    times.fold(String::new(), |story, (at, text)| story + &format!("{at:12.3} {text}\n"))
}
