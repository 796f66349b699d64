//! The elements of a drawing, as SVG.

use std::collections::BTreeMap;
use std::fmt::{Arguments, Write as _};

use crate::trace::MarkKind;

/// How a text or a line looks: its class in the style sheet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Title,
    Legend,
    Name,
    SmallName,
    Address,
    State,
    Fault,
    NodeFault,
    Tick,
    AxisName,
    Command,
    Grid,
    Zero,
    Down,
    Axis,
}

impl Style {
    fn class(self) -> &'static str {
        match self {
            Self::Title => "t",
            Self::Legend => "l",
            Self::Name => "n",
            Self::SmallName => "m",
            Self::Address => "a",
            Self::State => "s",
            Self::Fault => "f",
            Self::NodeFault => "g",
            Self::Tick => "k",
            Self::AxisName => "x",
            Self::Command => "c",
            Self::Grid => "G",
            Self::Zero => "Z",
            Self::Down => "D",
            Self::Axis => "A",
        }
    }
}

const STYLE: &str = "\
text{font:12px system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif;fill:#222}\
.t{font-size:16px;font-weight:600}.n{font-size:14px;font-weight:600;text-anchor:end}\
.m{font-size:10px;text-anchor:end}.a{font-size:9.5px;fill:#777;text-anchor:end}\
.s{font-size:10px;fill:#333}.f{font-size:11px;fill:#8c1020}.g{font-size:10px;fill:#a01226}\
.k{font-size:11px;fill:#444;text-anchor:middle}.x{font-size:11px;fill:#444;text-anchor:end}\
.c{font:11px ui-monospace,DejaVu Sans Mono,monospace;fill:#666}\
.e{font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}\
.G{stroke:#ececec}.Z{stroke:#888;stroke-dasharray:2 3}.A{stroke:#444}\
.D{stroke:#b9b9b9;stroke-width:1.5;stroke-dasharray:4 4}\
path{fill:none}";

/// A drawing under way.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
    /// By colour: the shafts and the heads of the arrows, those that got lost, and crosses. All of
    /// one colour are one path.
    shafts: BTreeMap<&'static str, String>,
    heads: BTreeMap<&'static str, String>,
    faint: BTreeMap<&'static str, String>,
    crosses: BTreeMap<&'static str, String>,
}

type Point = (f64, f64);

impl Canvas {
    pub(super) fn text(&mut self, (x, y): Point, text: &str, style: Style) {
        if !text.is_empty() {
            let (class, text) = (style.class(), escaped(text));
            self.put(format_args!(
                "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\">{text}</text>\n"
            ));
        }
    }

    /// Text on an arrow.
    pub(super) fn label(&mut self, (x, y): Point, text: &str, colour: &str) {
        self.flush();
        let text = escaped(text);
        self.put(format_args!(
            "<text class=\"e\" x=\"{x:.1}\" y=\"{y:.1}\" style=\"fill:{colour}\">{text}</text>\n"
        ));
    }

    pub(super) fn line(&mut self, from: Point, to: Point, style: Style) {
        let class = style.class();
        self.put(format_args!(
            "<line class=\"{class}\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>\n",
            from.0, from.1, to.0, to.1
        ));
    }

    pub(super) fn bar(&mut self, (x, y): Point, size: Point, colour: &str, opacity: f64) {
        let (width, height) = size;
        let fade = if opacity < 1.0 { format!(" opacity=\"{opacity}\"") } else { String::new() };
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{colour}\"{fade}/>\n"
        ));
    }

    /// A bar of something that stands still.
    pub(super) fn hatch(&mut self, at: Point, size: Point) {
        self.bar(at, size, "url(#h)", 1.0);
    }

    pub(super) fn arrow(&mut self, from: Point, to: Point, colour: &'static str) {
        let (x, y) = (to.0 - from.0, to.1 - from.1);
        let length = x.hypot(y).max(0.001);
        let (along, across) = ((x / length, y / length), (-y / length, x / length));
        let foot = (to.0 - along.0 * 7.0, to.1 - along.1 * 7.0);
        append(
            self.shafts.entry(colour).or_default(),
            format_args!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, foot.0, foot.1),
        );
        append(
            self.heads.entry(colour).or_default(),
            format_args!(
                "M{:.1} {:.1}L{:.1} {:.1} {:.1} {:.1}z",
                to.0,
                to.1,
                foot.0 + across.0 * 2.6,
                foot.1 + across.1 * 2.6,
                foot.0 - across.0 * 2.6,
                foot.1 - across.1 * 2.6
            ),
        );
    }

    /// An arrow that gets no further.
    pub(super) fn faint(&mut self, from: Point, to: Point, colour: &'static str) {
        append(
            self.faint.entry(colour).or_default(),
            format_args!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1),
        );
    }

    pub(super) fn cross(&mut self, (x, y): Point, colour: &'static str) {
        append(
            self.crosses.entry(colour).or_default(),
            format_args!("M{:.1} {:.1}l7 7m0-7l-7 7", x - 3.5, y - 3.5),
        );
    }

    pub(super) fn mark(&mut self, (x, y): Point, kind: MarkKind) {
        self.flush();
        match kind {
            MarkKind::Pressed => self
                .put(format_args!("<path d=\"M{x:.1} {y:.1}l-5-8h10z\" style=\"fill:#222\"/>\n")),
            MarkKind::Lit => self.put(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#ffd400\" stroke=\"#222\"/>\n"
            )),
            MarkKind::Dark => self.put(format_args!(
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#fff\" stroke=\"#222\"/>\n"
            )),
            MarkKind::Served => self.put(format_args!(
                "<path d=\"M{x:.1} {y:.1}m-5-1l4 5 6-9\" style=\"stroke:#222;stroke-width:2.4\"/>\n"
            )),
            MarkKind::LinkUp | MarkKind::LinkDown | MarkKind::PeerLost | MarkKind::Report => {
                self.put(format_args!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"1.5\"/>\n"));
            }
        }
    }

    /// Ticks at these places, of which those that touch are one.
    pub(super) fn runs(&mut self, at: &[f64], y: f64, height: f64, colour: &str) {
        let mut path = String::new();
        let mut run: Option<(f64, f64)> = None;
        for x in at.iter().copied() {
            run = match run {
                Some((from, to)) if x <= to + 0.6 => Some((from, to.max(x + 0.8))),
                Some((from, to)) => {
                    append(&mut path, format_args!("M{from:.1} {y:.1}H{to:.1}"));
                    Some((x, x + 0.8))
                }
                None => Some((x, x + 0.8)),
            };
        }
        if let Some((from, to)) = run {
            append(&mut path, format_args!("M{from:.1} {y:.1}H{to:.1}"));
            self.put(format_args!(
                "<path d=\"{path}\" style=\"stroke:{colour};stroke-width:{height:.1}\"/>\n"
            ));
        }
    }

    /// The arrows so far are below what follows.
    fn flush(&mut self) {
        for (colour, path) in std::mem::take(&mut self.faint) {
            self.put(format_args!(
                "<path d=\"{path}\" style=\"stroke:{colour};stroke-dasharray:4 3;opacity:.75\"/>\n"
            ));
        }
        for (colour, path) in std::mem::take(&mut self.shafts) {
            self.put(format_args!(
                "<path d=\"{path}\" style=\"stroke:{colour};stroke-width:1.2\"/>\n"
            ));
        }
        for (colour, path) in std::mem::take(&mut self.heads) {
            self.put(format_args!("<path d=\"{path}\" style=\"fill:{colour}\"/>\n"));
        }
        for (colour, path) in std::mem::take(&mut self.crosses) {
            self.put(format_args!(
                "<path d=\"{path}\" style=\"stroke:{colour};stroke-width:1.8\"/>\n"
            ));
        }
    }

    pub(super) fn finish(mut self, (width, height): Point, about: &str, by: &str) -> String {
        self.flush();
        let (about, by) = (escaped(about), escaped(by));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\" aria-label=\"{about}\">\n\
             <desc>{by}</desc>\n<style>{STYLE}</style>\n\
             <defs><pattern id=\"h\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">\
             <path d=\"M0 6L6 0\" style=\"stroke:#222;stroke-width:1.2\"/></pattern></defs>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{}</svg>\n",
            self.out
        )
    }

    fn put(&mut self, element: Arguments<'_>) {
        append(&mut self.out, element);
    }
}

fn append(text: &mut String, more: Arguments<'_>) {
    let written = text.write_fmt(more);
    debug_assert!(written.is_ok(), "writing to a string does not fail");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
