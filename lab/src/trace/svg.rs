//! A trace as a drawing for documents: time runs from left to right.

mod canvas;
mod labels;
mod layout;

use std::collections::BTreeMap;
use std::time::Duration;

use elevator_fleet::wire::NodeState;

use self::canvas::{Canvas, Style};
use self::labels::{Labels, width_of};
use self::layout::Layout;
use super::{Arrow, Fate, Kind, MarkKind, Selection, Sent, Trace};

/// What people with any colour vision can tell apart on white.
const COLOURS: [&str; 10] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#7a4fb5", "#8c6d1f", "#17a2c4", "#5b5b5b",
    "#b3306b", "#3c7d22",
];

/// The colour of what gets lost.
const LOST: &str = "#c8102e";

/// With more arrows than this a drawing shows who sends how much instead.
const MOST_DRAWN: usize = 3_000;

/// A text on an arrow is not repeated for the same sender within so many pixels.
const NEAR: f64 = 90.0;

/// The names of the states, as in the documents, and their colours.
const STATES: [(&str, &str); 4] =
    [("master", MASTER), ("slave", SLAVE), ("seeking", SEEKING), ("down", DOWN)];
const MASTER: &str = "#1b9e5a";
const SLAVE: &str = "#9db8dc";
const SEEKING: &str = "#f0b429";
const DOWN: &str = "#c9c9c9";

/// A drawing of what the selection shows: an SVG without external resources.
#[must_use]
pub fn svg(trace: &Trace, selection: &Selection) -> String {
    Drawing::new(trace, selection).draw()
}

struct Drawing<'a> {
    trace: &'a Trace,
    layout: Layout,
    labels: Labels,
    canvas: Canvas,
    /// The kinds that are shown, each with its number.
    kinds: Vec<(Kind, usize)>,
    /// The arrows that are shown.
    arrows: Vec<(&'a Arrow, &'a Sent)>,
    /// There are too many arrows to draw.
    dense: bool,
}

impl<'a> Drawing<'a> {
    fn new(trace: &'a Trace, selection: &Selection) -> Self {
        let rows = selection.rows(trace);
        let is_shown =
            |sent: &Sent| selection.shows(sent.kind, trace.protocol) && rows.contains(&sent.from);
        let mut kinds = Vec::new();
        let mut sent = 0;
        for (kind, _) in trace.kinds() {
            let shown = |message: &&Sent| message.kind == kind && is_shown(message);
            let number = trace.messages.iter().filter(shown).count();
            sent += number;
            if number > 0 {
                kinds.push((kind, number));
            }
        }
        let arrows: Vec<(&Arrow, &Sent)> = trace
            .arrows
            .iter()
            .filter_map(|arrow| Some((arrow, trace.messages.get(arrow.message)?)))
            .filter(|(arrow, sent)| {
                arrow.to != sent.from && rows.contains(&arrow.to) && is_shown(sent)
            })
            .collect();
        let dense = arrows.len() > MOST_DRAWN || sent > MOST_DRAWN;
        let layout = Layout::new(trace, rows, dense);
        Self {
            trace,
            layout,
            labels: Labels::default(),
            canvas: Canvas::default(),
            kinds,
            arrows,
            dense,
        }
    }

    fn draw(mut self) -> String {
        self.legend();
        self.grid();
        self.network_bands();
        self.rows();
        self.name_states();
        if self.dense {
            self.runs();
            self.rate();
        } else {
            self.draw_arrows();
            self.label_arrows();
        }
        self.marks();
        self.axis();
        let about = format!("Space-time diagram: {}", self.trace.title);
        let shown = match self.trace.command.as_str() {
            "" => self.trace.title.clone(),
            command => command.to_owned(),
        };
        self.canvas.finish(self.layout.size(), &about, &shown)
    }

    fn colour(&self, kind: Kind) -> &'static str {
        let place = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_default();
        COLOURS[place % COLOURS.len()]
    }

    /// The title, the command, and what colours and signs stand for.
    fn legend(&mut self) {
        let left = 16.0;
        self.canvas.text((left, 26.0), &self.trace.title, Style::Title);
        let mut line = Line { x: left, y: 50.0, right: self.layout.right };
        for (name, colour) in STATES {
            let at = line.take(&mut self.layout.legend, 26.0 + width_of(name, 12.0));
            if name == "down" {
                self.canvas.line((at.0, at.1 - 4.0), (at.0 + 16.0, at.1 - 4.0), Style::Down);
            } else {
                self.canvas.bar((at.0, at.1 - 9.0), (16.0, 9.0), colour, 1.0);
            }
            self.canvas.text((at.0 + 22.0, at.1), name, Style::Legend);
        }
        for (kind, number) in self.kinds.clone() {
            let text = format!("{} ({number})", kind.name);
            let at = line.take(&mut self.layout.legend, 34.0 + width_of(&text, 12.0));
            let (from, to) = ((at.0, at.1 - 1.0), (at.0 + 22.0, at.1 - 8.0));
            self.canvas.arrow(from, to, self.colour(kind));
            self.canvas.text((at.0 + 28.0, at.1), &text, Style::Legend);
        }
        let fates = self.arrows.iter().map(|(arrow, _)| arrow.fate);
        let lost = fates.filter(|fate| is_lost(*fate)).count();
        if lost > 0 && !self.dense {
            let text = format!("lost or not heard ({lost})");
            let at = line.take(&mut self.layout.legend, 24.0 + width_of(&text, 12.0));
            self.canvas.cross((at.0 + 7.0, at.1 - 4.0), LOST);
            self.canvas.text((at.0 + 18.0, at.1), &text, Style::Legend);
        }
        for kind in MarkKind::ALL {
            if !self.shown_marks().any(|mark| mark == kind) {
                continue;
            }
            let at = line.take(&mut self.layout.legend, 22.0 + width_of(kind.name(), 12.0));
            self.canvas.mark((at.0 + 6.0, at.1 - 4.0), kind);
            self.canvas.text((at.0 + 16.0, at.1), kind.name(), Style::Legend);
        }
        self.layout.settle();
    }

    /// Reports are for the story: here they would hide the rest.
    fn shown_marks(&self) -> impl Iterator<Item = MarkKind> {
        let marks = self.trace.marks.iter();
        marks.filter(|mark| is_drawn(mark.kind)).map(|mark| mark.kind)
    }

    fn grid(&mut self) {
        let (top, bottom) = (self.layout.top(), self.layout.bottom());
        for (x, _) in self.layout.ticks() {
            self.canvas.line((x, top), (x, bottom), Style::Grid);
        }
        if let Some(x) = self.layout.zero() {
            self.canvas.line((x, top), (x, bottom), Style::Zero);
        }
    }

    /// Faults of the network, above the nodes, each in a separate lane while it lasts.
    fn network_bands(&mut self) {
        for (lane, band) in self.layout.lanes.clone() {
            let Some(band) = self.trace.bands.get(band) else {
                continue;
            };
            let (from, to) = self.layout.span(band.from, band.to);
            let y = self.layout.lane(lane);
            self.canvas.bar((from, y), (to - from, 15.0), "#f3d9dc", 1.0);
            let bottom = self.layout.bottom();
            self.canvas.bar((from, y + 15.0), (to - from, bottom - y - 15.0), "#c8102e", 0.035);
            let room = self.layout.right - from;
            if width_of(&band.what, 11.0) < room {
                self.canvas.text((from + 4.0, y + 11.5), &band.what, Style::Fault);
            }
        }
    }

    /// The lifelines, coloured by state, with the faults of each node below.
    fn rows(&mut self) {
        let thick = self.layout.thick();
        for row in 0..self.layout.rows.len() {
            let node = self.layout.rows[row];
            let y = self.layout.row(row);
            let named = &self.trace.nodes[node];
            let size = if self.layout.step < 20.0 { Style::SmallName } else { Style::Name };
            self.canvas.text((self.layout.left - 12.0, y + 4.0), named.name.as_str(), size);
            if self.layout.step >= 40.0 {
                let address = named.address.to_string();
                self.canvas.text((self.layout.left - 12.0, y + 17.0), &address, Style::Address);
            }
            for (from, to, state) in self.layout.states(self.trace, node) {
                match state {
                    Some(state) => {
                        let size = (to - from, thick);
                        self.canvas.bar((from, y - thick / 2.0), size, colour_of(state), 1.0);
                    }
                    None => self.canvas.line((from, y), (to, y), Style::Down),
                }
            }
            self.node_bands(node, y);
            if !self.dense {
                let (left, width) = (self.layout.left, self.layout.right - self.layout.left);
                self.labels.occupy(left, y - thick / 2.0, width, thick);
            }
        }
    }

    fn node_bands(&mut self, node: usize, y: f64) {
        let thick = self.layout.thick();
        let trace = self.trace;
        for band in trace.bands.iter().filter(|band| band.node == Some(node)) {
            if !self.layout.meets(band.from, band.to) {
                continue;
            }
            let (from, to) = self.layout.span(band.from, band.to);
            let suspended = band.what == "suspended";
            if suspended {
                self.canvas.hatch((from, y - thick / 2.0), (to - from, thick));
            } else {
                self.canvas.bar((from, y + thick / 2.0 + 1.0), (to - from, 3.0), LOST, 0.7);
            }
            let width = width_of(&band.what, 10.0);
            let y = y + thick / 2.0 + 13.0;
            // Where its beginning is taken, a little later.
            let mut places =
                [0.0, 0.5, 1.0, 1.5, 2.0].map(|late| from + 3.0 + late * 60.0).into_iter();
            let place = places.find(|x| {
                let fits = x + width < to.max(from + 60.0).min(self.layout.right);
                fits && self.layout.step >= 20.0 && self.labels.place(*x, y - 9.0, width, 11.0)
            });
            if let Some(x) = place {
                self.canvas.text((x, y), &band.what, Style::NodeFault);
            }
        }
    }

    fn draw_arrows(&mut self) {
        for (arrow, sent) in self.arrows.clone() {
            let (Some(from), Some(to)) = self.layout.ends(arrow, sent) else {
                continue;
            };
            let colour = self.colour(sent.kind);
            match arrow.fate {
                Fate::Received(_) | Fate::UnderWay(_) | Fate::Waits(_) => {
                    self.canvas.arrow(from, to, colour);
                }
                Fate::Unheard(_) => {
                    self.canvas.faint(from, to, colour);
                    self.canvas.cross(to, LOST);
                }
                Fate::Lost => {
                    let half = between(from, to, 0.5);
                    self.canvas.faint(from, half, colour);
                    self.canvas.cross(half, LOST);
                }
                // The band says why.
                Fate::Cut => {
                    let stub = between(from, to, 0.3);
                    self.canvas.faint(from, stub, colour);
                    self.canvas.cross(stub, "#999");
                }
            }
        }
    }

    /// The kind of each message, once, where there is room for it.
    fn label_arrows(&mut self) {
        let mut labelled = None;
        let mut latest: BTreeMap<(usize, String), f64> = BTreeMap::new();
        for (arrow, sent) in self.arrows.clone() {
            if labelled == Some(arrow.message) {
                continue;
            }
            let (Some(from), Some(to)) = self.layout.ends(arrow, sent) else {
                continue;
            };
            let says = matches!(sent.kind.name, "vote") && !sent.detail.is_empty();
            let text = if says {
                format!("{} {}", sent.kind.name, sent.detail)
            } else {
                sent.kind.name.to_owned()
            };
            let (width, colour) = (width_of(&text, 10.0), self.colour(sent.kind));
            let near = latest.get(&(sent.from, text.clone()));
            if near.is_some_and(|x| (from.0 - x).abs() < NEAR) {
                continue;
            }
            for share in [0.5, 0.35, 0.65, 0.25, 0.75] {
                let (x, y) = between(from, to, share);
                let sides = [x + 4.0, x - width - 4.0];
                let inside = |x: &f64| *x > self.layout.left && *x + width < self.layout.right;
                let free = sides
                    .into_iter()
                    .filter(inside)
                    .find(|x| self.labels.place(*x, y - 6.0, width, 11.0));
                if let Some(x) = free {
                    self.canvas.label((x, y + 3.0), &text, colour);
                    labelled = Some(arrow.message);
                    latest.insert((sent.from, text.clone()), from.0);
                    break;
                }
            }
        }
    }

    /// Who sends what, where there are too many arrows.
    fn runs(&mut self) {
        let count = f64::from(u32::try_from(self.kinds.len().max(1)).unwrap_or(1));
        let room = (self.layout.step - self.layout.thick() - 2.0).max(4.0);
        let height = (room / count).min(6.0);
        for place in 0..self.kinds.len() {
            let (kind, _) = self.kinds[place];
            let down = f64::from(u32::try_from(place).unwrap_or(0)) * height;
            for row in 0..self.layout.rows.len() {
                let node = self.layout.rows[row];
                let y = self.layout.row(row) + self.layout.thick() / 2.0 + 1.0 + down;
                let sent = self.trace.messages.iter();
                let mine = sent.filter(|sent| sent.from == node && sent.kind == kind);
                let at: Vec<f64> = mine.filter_map(|sent| self.layout.x(sent.at)).collect();
                self.canvas.runs(&at, y, height - 0.5, COLOURS[place % COLOURS.len()]);
            }
        }
    }

    /// How many messages all nodes together send, over the time.
    fn rate(&mut self) {
        let (left, right) = (self.layout.left, self.layout.right);
        let mut columns = [0_u32; 240];
        let width = (right - left) / 240.0;
        for sent in &self.trace.messages {
            let is_shown = self.kinds.iter().any(|(kind, _)| *kind == sent.kind);
            let Some(x) = self.layout.x(sent.at).filter(|_| is_shown) else {
                continue;
            };
            let place = (0..240).rev().find(|at| left + f64::from(*at) * width <= x);
            let place = place.and_then(|at| usize::try_from(at).ok()).unwrap_or_default();
            if let Some(column) = columns.get_mut(place) {
                *column += 1;
            }
        }
        let most = columns.iter().copied().max().unwrap_or(1).max(1);
        let bottom = self.layout.bottom() - 4.0;
        for (place, count) in (0_u32..).zip(columns).filter(|(_, count)| *count > 0) {
            let height = f64::from(count) / f64::from(most) * layout::RATE;
            let x = left + f64::from(place) * width;
            self.canvas.bar((x, bottom - height), (width, height), "#5b5b5b", 0.8);
        }
        let per = self.layout.milliseconds_of(width);
        let text = format!("messages of all nodes: at most {most} in {per:.1} ms");
        let at = (left + 4.0, bottom - layout::RATE - 4.0);
        self.canvas.text(at, &text, Style::Legend);
    }

    fn marks(&mut self) {
        for mark in self.trace.marks.iter().filter(|mark| is_drawn(mark.kind)) {
            let row = self.layout.rows.iter().position(|node| *node == mark.node);
            if let (Some(row), Some(x)) = (row, self.layout.x(mark.at)) {
                self.canvas.mark((x, self.layout.row(row)), mark.kind);
            }
        }
    }

    /// Says above its line what a node has become.
    fn name_states(&mut self) {
        if self.layout.step < 20.0 {
            return;
        }
        for row in 0..self.layout.rows.len() {
            let y = self.layout.row(row) - self.layout.thick() / 2.0 - 3.0;
            for (from, to, state) in self.layout.states(self.trace, self.layout.rows[row]) {
                let Some(state) = state else {
                    continue;
                };
                let text = state.to_string();
                let width = width_of(&text, 10.0);
                let room = (to - from).max(60.0).min(self.layout.right - from);
                if width < room && self.labels.place(from + 2.0, y - 9.0, width, 11.0) {
                    self.canvas.text((from + 2.0, y), &text, Style::State);
                }
            }
        }
    }

    fn axis(&mut self) {
        let y = self.layout.bottom();
        self.canvas.line((self.layout.left, y), (self.layout.right, y), Style::Axis);
        for (x, text) in self.layout.ticks() {
            self.canvas.line((x, y), (x, y + 4.0), Style::Axis);
            self.canvas.text((x, y + 17.0), &text, Style::Tick);
        }
        let end = (self.layout.right, y + 33.0);
        self.canvas.text(end, "time in ms", Style::AxisName);
        let mut notes = Vec::new();
        if self.trace.left_out > 0 {
            notes.push(format!("{} more arrows or messages are not recorded", self.trace.left_out));
        }
        if self.dense {
            notes.push("a tick below a line is a message that its node sends".to_owned());
        }
        self.canvas.text((16.0, y + 33.0), &notes.join("; "), Style::Legend);
        let command = (16.0, y + 52.0);
        self.canvas.text(command, &self.trace.command, Style::Command);
    }
}

/// A line of the legend, and where it goes on.
struct Line {
    x: f64,
    y: f64,
    right: f64,
}

impl Line {
    /// The next place of this width; a full line goes on below.
    fn take(&mut self, bottom: &mut f64, width: f64) -> (f64, f64) {
        if self.x + width > self.right {
            (self.x, self.y) = (16.0, self.y + 20.0);
        }
        let at = (self.x, self.y);
        self.x += width + 14.0;
        *bottom = self.y + 12.0;
        at
    }
}

fn colour_of(state: &NodeState) -> &'static str {
    match state {
        NodeState::Seeking => SEEKING,
        NodeState::Slave { .. } => SLAVE,
        NodeState::Master => MASTER,
    }
}

fn is_lost(fate: Fate) -> bool {
    match fate {
        Fate::Unheard(_) | Fate::Lost | Fate::Cut => true,
        Fate::UnderWay(_) | Fate::Received(_) | Fate::Waits(_) => false,
    }
}

fn is_drawn(kind: MarkKind) -> bool {
    match kind {
        MarkKind::Pressed | MarkKind::Lit | MarkKind::Dark | MarkKind::Served => true,
        MarkKind::LinkUp | MarkKind::LinkDown | MarkKind::PeerLost | MarkKind::Report => false,
    }
}

fn between(from: (f64, f64), to: (f64, f64), share: f64) -> (f64, f64) {
    (from.0 + (to.0 - from.0) * share, from.1 + (to.1 - from.1) * share)
}

/// In milliseconds.
pub(super) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
