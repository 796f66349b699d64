//! A trace as one page to explore, without any external resource.

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::wire::NodeState;
use serde::Serialize;

use super::svg::COLOURS;
use super::{Fate, MarkKind, Selection, Trace};

/// The page, with places for its title and its data.
const PAGE: &str = include_str!("html/page.html");
const SCRIPT: &str = include_str!("html/page.js");
const STYLE: &str = include_str!("html/page.css");

/// The page of a trace. It shows what the selection shows; its reader can change that.
#[must_use]
pub fn html(trace: &Trace, selection: &Selection) -> String {
    let data = serde_json::to_string(&Data::new(trace, selection)).unwrap_or_default();
    // Nothing in the data ends the element that holds it.
    let data = data.replace('<', "\\u003c");
    let title = trace.title.replace('&', "&amp;").replace('<', "&lt;");
    PAGE.replace("{{style}}", STYLE)
        .replace("{{script}}", SCRIPT)
        .replace("{{title}}", &title)
        .replace("{{data}}", &data)
}

/// What the page knows. Times are in microseconds, relative to the trace's 0; texts are places
/// among `texts`.
#[derive(Debug, Serialize)]
struct Data<'a> {
    title: &'a str,
    command: &'a str,
    from: i64,
    to: i64,
    nodes: Vec<NodeData<'a>>,
    kinds: Vec<KindData>,
    mark_kinds: Vec<&'static str>,
    texts: Vec<&'a str>,
    /// Time, sender, kind, what it says.
    messages: Vec<(i64, usize, usize, usize)>,
    /// Message, receiver, fate, arrival.
    arrows: Vec<(usize, usize, u8, Option<i64>)>,
    /// Time, node, state, its master, term.
    states: Vec<(i64, usize, u8, Option<&'a str>, u64)>,
    /// Time, node, what its protocol is doing.
    details: Vec<(i64, usize, usize)>,
    /// Time, node, kind, what.
    marks: Vec<(i64, usize, usize, usize)>,
    /// From, to, node, what.
    bands: Vec<(i64, Option<i64>, Option<usize>, usize)>,
    left_out: usize,
}

#[derive(Debug, Serialize)]
struct NodeData<'a> {
    name: &'a str,
    address: String,
    shown: bool,
}

#[derive(Debug, Serialize)]
struct KindData {
    name: &'static str,
    category: &'static str,
    number: usize,
    colour: &'static str,
    shown: bool,
}

/// Texts that many things share are there once.
#[derive(Default)]
struct Texts<'a> {
    places: BTreeMap<&'a str, usize>,
    texts: Vec<&'a str>,
}

impl<'a> Texts<'a> {
    fn place(&mut self, text: &'a str) -> usize {
        let next = self.texts.len();
        let place = *self.places.entry(text).or_insert(next);
        if place == next {
            self.texts.push(text);
        }
        place
    }
}

impl<'a> Data<'a> {
    fn new(trace: &'a Trace, selection: &Selection) -> Self {
        let zero = microseconds(trace.window.zero);
        let since = |at: Duration| microseconds(at) - zero;
        let rows = selection.rows(trace);
        let kinds = trace.kinds();
        let place_of = |kind| kinds.iter().position(|(known, _)| *known == kind);
        let mut texts = Texts::default();
        let messages = trace.messages.iter().map(|sent| {
            let kind = place_of(sent.kind).unwrap_or_default();
            (since(sent.at), sent.from, kind, texts.place(&sent.detail))
        });
        let messages = messages.collect();
        let details = trace.details.iter();
        let details = details.map(|at| (since(at.at), at.node, texts.place(&at.detail))).collect();
        let marks = trace.marks.iter().map(|mark| {
            let kind = MarkKind::ALL.iter().position(|kind| *kind == mark.kind).unwrap_or_default();
            (since(mark.at), mark.node, kind, texts.place(&mark.what))
        });
        let marks = marks.collect();
        let bands = trace
            .bands
            .iter()
            .map(|band| (since(band.from), band.to.map(since), band.node, texts.place(&band.what)));
        let bands = bands.collect();
        let nodes = trace.nodes.iter().enumerate().map(|(place, node)| NodeData {
            name: node.name.as_str(),
            address: node.address.to_string(),
            shown: rows.contains(&place),
        });
        let arrows = trace.arrows.iter().map(|arrow| {
            (arrow.message, arrow.to, number_of(arrow.fate), arrow.fate.arrival().map(since))
        });
        let states = trace.states.iter().map(|state| {
            let (number, master) = match &state.state {
                None => (0, None),
                Some(NodeState::Seeking) => (1, None),
                Some(NodeState::Slave { master }) => (2, Some(master.as_str())),
                Some(NodeState::Master) => (3, None),
            };
            (since(state.at), state.node, number, master, state.term.0)
        });
        let colours = COLOURS.iter().copied().cycle();
        let kinds = kinds.iter().zip(colours).map(|((kind, number), colour)| KindData {
            name: kind.name,
            category: kind.category.name(),
            number: *number,
            colour,
            shown: selection.shows(*kind, trace.protocol),
        });
        Self {
            title: &trace.title,
            command: &trace.command,
            from: since(trace.window.from),
            to: since(trace.window.to),
            nodes: nodes.collect(),
            kinds: kinds.collect(),
            mark_kinds: MarkKind::ALL.map(MarkKind::name).to_vec(),
            messages,
            arrows: arrows.collect(),
            states: states.collect(),
            details,
            marks,
            bands,
            left_out: trace.left_out,
            texts: texts.texts,
        }
    }
}

/// The numbers that the script knows.
fn number_of(fate: Fate) -> u8 {
    match fate {
        Fate::UnderWay(_) => 0,
        Fate::Received(_) => 1,
        Fate::Waits(_) => 2,
        Fate::Unheard(_) => 3,
        Fate::Lost => 4,
        Fate::Cut => 5,
    }
}

fn microseconds(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
