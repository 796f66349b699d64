//! A trace as a drawing for documents: time runs from left to right.

mod canvas;
mod layout;

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::wire::NodeState;

use self::canvas::{Canvas, Point, width_of};
use self::layout::{LEFT, Layout, RIGHT};
use super::{Arrow, Fate, Kind, Sent, Trace, count};

/// What people with any colour vision can tell apart on white.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a4fb5", "#8c6d1f", "#17a2c4", "#5b5b5b",
    "#b3306b", "#3c7d22",
];

/// The colour of what gets lost.
const LOST: &str = "#c8102e";

/// What marks its end.
const CROSS: &str = "stroke:#c8102e;stroke-width:1.8";

/// More arrows than these would hide each other, and are left out.
const MOST_DRAWN: usize = 10_000;

/// A text on an arrow is not repeated for the same sender within this many pixels.
const NEAR: f64 = 90.0;

/// The names of the states, as in the documents, and their colours.
const STATES: [(&str, &str); 4] =
    [("master", MASTER), ("slave", SLAVE), ("seeking", SEEKING), ("down", "")];
const MASTER: &str = "#1b9e5a";
const SLAVE: &str = "#9db8dc";
const SEEKING: &str = "#f0b429";

/// A drawing of what a trace shows: an SVG without external resources.
#[must_use]
pub fn svg(trace: &Trace) -> String {
    Drawing::new(trace).draw()
}

struct Drawing<'a> {
    trace: &'a Trace,
    layout: Layout<'a>,
    canvas: Canvas,
    /// The kinds that are shown, each with its number.
    kinds: Vec<(Kind, usize)>,
    /// The messages that are shown, each with its arrows.
    shown: Vec<(&'a Sent, &'a [Arrow])>,
    left_out: usize,
}

impl<'a> Drawing<'a> {
    fn new(trace: &'a Trace) -> Self {
        let (mut shown, mut room, mut left_out) = (Vec::new(), MOST_DRAWN, 0);
        for sent in trace.shown() {
            let (drawn, more) = sent.arrows.split_at(sent.arrows.len().min(room));
            room -= drawn.len();
            left_out += more.len();
            shown.push((sent, drawn));
        }
        Self {
            trace,
            kinds: count(shown.iter().map(|(sent, _)| *sent)),
            layout: Layout::new(trace),
            canvas: Canvas::default(),
            shown,
            left_out,
        }
    }

    fn draw(mut self) -> String {
        self.legend();
        self.grid();
        self.rows();
        self.draw_arrows();
        self.label_arrows();
        self.axis();
        let about = format!("Space-time diagram: {}", self.trace.title);
        let command = &self.trace.command;
        let by = if command.is_empty() { &self.trace.title } else { command };
        self.canvas.finish(self.layout.size(), &about, by)
    }

    fn colour(&self, kind: Kind) -> &'static str {
        let place = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_default();
        COLOURS[place % COLOURS.len()]
    }

    fn legend(&mut self) {
        self.canvas.text((16.0, 26.0), &self.trace.title, "title");
        let mut next = (16.0, 50.0);
        for (name, colour) in STATES {
            let (x, y) = self.legend_of(&mut next, 16.0, name);
            if name == "down" {
                self.canvas.line((x, y - 4.0), (x + 16.0, y - 4.0), "down");
            } else {
                self.canvas.bar((x, y - 9.0), (16.0, 9.0), colour, 1.0);
            }
        }
        for (kind, number) in self.kinds.clone() {
            let text = format!("{} ({number})", kind.name);
            let (x, y) = self.legend_of(&mut next, 22.0, &text);
            let path = canvas::arrow((x, y - 1.0), (x + 22.0, y - 8.0));
            self.canvas.path(&path, &arrow_style(self.colour(kind)));
        }
        let arrows = self.shown.iter().flat_map(|(_, arrows)| *arrows);
        let lost = arrows.filter(|arrow| arrow.fate.is_lost()).count();
        if lost > 0 {
            let text = format!("lost or not heard ({lost})");
            let (x, y) = self.legend_of(&mut next, 12.0, &text);
            self.canvas.path(&canvas::cross((x + 7.0, y - 4.0)), CROSS);
        }
        self.layout.top = next.1 + 22.0;
    }

    /// Writes what something stands for that is so wide, and says where to draw that. A full line of
    /// the legend goes on below.
    fn legend_of(&mut self, next: &mut Point, width: f64, text: &str) -> Point {
        let entry = width + 12.0 + width_of(text, 12.0);
        if next.0 + entry > RIGHT {
            *next = (16.0, next.1 + 20.0);
        }
        let (x, y) = *next;
        self.canvas.text((x + width + 6.0, y), text, "legend");
        next.0 += entry + 8.0;
        (x, y)
    }

    fn grid(&mut self) {
        let (top, bottom) = (self.layout.top, self.layout.bottom());
        for (x, _) in self.layout.ticks() {
            self.canvas.line((x, top), (x, bottom), "grid");
        }
        let window = self.trace.window;
        if window.zero > window.from && window.zero < window.to {
            let x = self.layout.x(window.zero);
            self.canvas.line((x, top), (x, bottom), "zero");
        }
    }

    /// The lifelines, coloured by state, with the faults of each below; those of the network above all.
    fn rows(&mut self) {
        let thick = self.layout.thick();
        let has_room = self.layout.step >= 20.0;
        self.bands(None, self.layout.top + 4.0);
        for (node, y) in self.layout.rows() {
            let (name, address) = &self.trace.nodes[node];
            let style = if has_room { "name" } else { "small-name" };
            self.canvas.text((LEFT - 12.0, y + 4.0), name.as_str(), style);
            if self.layout.step >= 40.0 {
                self.canvas.text((LEFT - 12.0, y + 17.0), &address.to_string(), "address");
            }
            for (from, to, state) in self.layout.states(node) {
                let colour = match state {
                    None => {
                        self.canvas.line((from, y), (to, y), "down");
                        continue;
                    }
                    Some(NodeState::Seeking) => SEEKING,
                    Some(NodeState::Slave { .. }) => SLAVE,
                    Some(NodeState::Master) => MASTER,
                };
                self.canvas.bar((from, y - thick / 2.0), (to - from, thick), colour, 1.0);
            }
            self.canvas.take([LEFT, y - thick / 2.0, RIGHT, y + thick / 2.0]);
            self.bands(Some(node), y);
        }
        for (node, y) in self.layout.rows() {
            for (from, to, state) in self.layout.states(node) {
                if let Some(state) = state.filter(|_| has_room) {
                    let at = (from + 2.0, y - thick / 2.0 - 3.0);
                    self.write(&state.to_string(), "state", [at], to.max(from + 60.0));
                }
            }
        }
    }

    fn bands(&mut self, node: Option<usize>, y: f64) {
        let trace = self.trace;
        let y = y + self.layout.thick() / 2.0;
        for band in trace.bands.iter().filter(|band| band.node == node) {
            let Some((from, to)) = self.layout.span(band) else { continue };
            self.canvas.bar((from, y + 1.0), (to - from, 3.0), LOST, 0.7);
            if node.is_none() {
                let size = (to - from, self.layout.bottom() - y);
                self.canvas.bar((from, y), size, LOST, 0.035);
            }
            if node.is_some() && self.layout.step < 20.0 {
                continue;
            }
            // Where its beginning is taken, a little later.
            let places = (0..5_u8).map(|late| (from + 3.0 + f64::from(late) * 30.0, y + 13.0));
            let end = if node.is_some() { to.max(from + 60.0) } else { RIGHT };
            self.write(&band.what, "fault", places, end);
        }
    }

    /// Writes a text at the first of these places that is free, if it ends before this one.
    fn write(
        &mut self,
        text: &str,
        class: &str,
        places: impl IntoIterator<Item = Point>,
        end: f64,
    ) {
        let width = width_of(text, 10.0);
        let mut places = places.into_iter().filter(|(x, _)| x + width < end.min(RIGHT));
        let place = places.find(|(x, y)| self.canvas.take([*x, y - 9.0, x + width, y + 2.0]));
        if let Some(at) = place {
            self.canvas.text(at, text, class);
        }
    }

    fn draw_arrows(&mut self) {
        for (sent, arrows) in &self.shown {
            let [mut whole, mut stubs, mut crosses] = [const { String::new() }; 3];
            for arrow in *arrows {
                let (from, to) = self.layout.ends(arrow, sent);
                let end = match arrow.fate {
                    Fate::Arrives(_) | Fate::Waits(_) => {
                        whole += &canvas::arrow(from, to);
                        continue;
                    }
                    Fate::Unheard(_) => to,
                    Fate::Lost => between(from, to, 0.5),
                    Fate::Cut => between(from, to, 0.3),
                };
                stubs += &canvas::line(from, end);
                crosses += &canvas::cross(end);
            }
            let colour = self.colour(sent.kind);
            self.canvas.path(&whole, &arrow_style(colour));
            let dashed = format!("stroke:{colour};stroke-dasharray:4 3;opacity:.75");
            self.canvas.path(&stubs, &dashed);
            self.canvas.path(&crosses, CROSS);
        }
    }

    /// The kind of each message, once, where there is room for it.
    fn label_arrows(&mut self) {
        let mut latest: BTreeMap<(usize, String), f64> = BTreeMap::new();
        for (sent, arrows) in &self.shown {
            let mut text = sent.kind.name.to_owned();
            if text == "vote" {
                text = format!("{text} {}", sent.detail);
            }
            let width = width_of(&text, 10.0);
            let ends = || arrows.iter().map(|arrow| self.layout.ends(arrow, sent));
            let Some(((start, _), _)) = ends().next() else { continue };
            let near = latest.get(&(sent.from, text.clone()));
            if near.is_some_and(|x| (start - x).abs() < NEAR) {
                continue;
            }
            let places = ends().flat_map(|(from, to)| {
                [0.5, 0.35, 0.65, 0.25, 0.75].into_iter().flat_map(move |share| {
                    let (x, y) = between(from, to, share);
                    [(x + 4.0, y + 3.0), (x - width - 4.0, y + 3.0)]
                })
            });
            let mut inside = places.filter(|(x, _)| *x > LEFT && x + width < RIGHT);
            let is_free = |(x, y): &Point| self.canvas.take([*x, y - 9.0, x + width, y + 2.0]);
            if let Some(at) = inside.find(is_free) {
                self.canvas.label(at, &text, self.colour(sent.kind));
                latest.insert((sent.from, text), start);
            }
        }
    }

    fn axis(&mut self) {
        let y = self.layout.bottom();
        self.canvas.line((LEFT, y), (RIGHT, y), "axis");
        for (x, text) in self.layout.ticks() {
            self.canvas.line((x, y), (x, y + 4.0), "axis");
            self.canvas.text((x, y + 17.0), &text, "tick");
        }
        self.canvas.text((RIGHT, y + 33.0), "time in ms", "axis-name");
        let mut notes = Vec::new();
        if self.trace.left_out > 0 {
            notes.push(format!("{} more arrows or messages are not recorded", self.trace.left_out));
        }
        if self.left_out > 0 {
            notes.push(format!("{} more arrows are not drawn", self.left_out));
        }
        self.canvas.text((16.0, y + 33.0), &notes.join("; "), "legend");
        self.canvas.text((16.0, y + 52.0), &self.trace.command, "command");
    }
}

fn arrow_style(colour: &str) -> String {
    format!("stroke:{colour};fill:{colour};stroke-width:1.2")
}

fn between(from: Point, to: Point, share: f64) -> Point {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
