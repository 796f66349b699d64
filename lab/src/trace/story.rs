//! A trace as text: one line for each thing that happened.

use std::time::Duration;

use super::svg::milliseconds;
use super::{Fate, Selection, Trace};

/// What the selection shows, in the order of time: what was sent and when it arrived, states,
/// marks and faults. Times are in milliseconds, relative to the drawing's 0.
#[must_use]
pub fn story(trace: &Trace, selection: &Selection) -> String {
    let rows = selection.rows(trace);
    let name = |node: usize| trace.nodes.get(node).map_or("?", |node| node.name.as_str());
    let mut lines: Vec<(Duration, String)> = Vec::new();
    let mut receivers = vec![Vec::new(); trace.messages.len()];
    for arrow in trace.arrows.iter().filter(|arrow| rows.contains(&arrow.to)) {
        if let Some(receivers) = receivers.get_mut(arrow.message) {
            receivers.push(arrow);
        }
    }
    for (sent, receivers) in trace.messages.iter().zip(receivers) {
        if !selection.shows(sent.kind, trace.protocol) || !rows.contains(&sent.from) {
            continue;
        }
        let receivers = receivers.iter().map(|arrow| {
            let how = match arrow.fate {
                Fate::Received(_) | Fate::UnderWay(_) => "",
                Fate::Waits(_) => " (waits)",
                Fate::Unheard(_) => " (not heard)",
                Fate::Lost => " (lost)",
                Fate::Cut => " (cut)",
            };
            let after = arrow.fate.arrival().map(|at| milliseconds(at.saturating_sub(sent.at)));
            let after = after.map_or_else(String::new, |after| format!(" +{after:.2}"));
            format!("{}{after}{how}", name(arrow.to))
        });
        let receivers: Vec<String> = receivers.collect();
        let (from, kind) = (name(sent.from), sent.kind.name);
        let says =
            if sent.detail.is_empty() { String::new() } else { format!(" ({})", sent.detail) };
        let to = match receivers.as_slice() {
            [] => String::new(),
            [..] => format!(" to {}", receivers.join(", ")),
        };
        lines.push((sent.at, format!("{from}: {kind}{says}{to}")));
    }
    for state in trace.states.iter().filter(|state| rows.contains(&state.node)) {
        let is = state.state.as_ref().map_or_else(|| "down".to_owned(), ToString::to_string);
        lines.push((state.at, format!("{} is {is}, term {}", name(state.node), state.term)));
    }
    for mark in trace.marks.iter().filter(|mark| rows.contains(&mark.node)) {
        lines.push((mark.at, format!("{}: {}", name(mark.node), mark.what)));
    }
    for band in trace.bands.iter().filter(|band| band.from <= trace.window.to) {
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
    let line =
        |(at, text): &(Duration, String)| format!("{:12.3} {text}\n", milliseconds(*at) - zero);
    lines.iter().map(line).collect()
}
