//! The elements of a drawing, as SVG.

/// The classes of texts and lines.
const STYLE: &str = "
text{font:12px system-ui,-apple-system,Segoe UI,Roboto,DejaVu Sans,sans-serif;fill:#222}
.title{font-size:16px;font-weight:600}
.name{font-size:14px;font-weight:600;text-anchor:end}
.small-name{font-size:10px;text-anchor:end}
.address{font-size:9.5px;fill:#777;text-anchor:end}
.state{font-size:10px;fill:#333}
.fault{font-size:10px;fill:#a01226}
.tick{font-size:11px;fill:#444;text-anchor:middle}
.axis-name{font-size:11px;fill:#444;text-anchor:end}
.command{font:11px ui-monospace,DejaVu Sans Mono,monospace;fill:#666}
.label{font-size:10px;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
.grid{stroke:#ececec}.zero{stroke:#888;stroke-dasharray:2 3}.axis{stroke:#444}
.down{stroke:#b9b9b9;stroke-width:1.5;stroke-dasharray:4 4}
path{fill:none}
";

#[derive(Debug, Default)]
pub(super) struct Canvas {
    out: String,
    /// Where texts or lines are: left, top, right, bottom.
    taken: Vec<[f64; 4]>,
}

pub(super) type Point = (f64, f64);

impl Canvas {
    pub(super) fn text(&mut self, (x, y): Point, text: &str, class: &str) {
        if !text.is_empty() {
            let text = escaped(text);
            self.put(&format!(r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#));
        }
    }

    /// Takes this place, if it is free.
    pub(super) fn take(&mut self, [left, top, right, bottom]: [f64; 4]) -> bool {
        let is_free = self.taken.iter().all(|[from, upper, to, lower]| {
            right <= *from || *to <= left || bottom <= *upper || *lower <= top
        });
        if is_free {
            self.taken.push([left, top, right, bottom]);
        }
        is_free
    }

    pub(super) fn label(&mut self, (x, y): Point, text: &str, colour: &str) {
        let text = escaped(text);
        self.put(&format!(
            r#"<text class="label" x="{x:.1}" y="{y:.1}" style="fill:{colour}">{text}</text>"#
        ));
    }

    pub(super) fn line(&mut self, (x, y): Point, (to_x, to_y): Point, class: &str) {
        self.put(&format!(
            r#"<line class="{class}" x1="{x:.1}" y1="{y:.1}" x2="{to_x:.1}" y2="{to_y:.1}"/>"#
        ));
    }

    pub(super) fn bar(&mut self, (x, y): Point, size: Point, colour: &str, opacity: f64) {
        let (width, height) = size;
        let fade = if opacity < 1.0 { format!(r#" opacity="{opacity}""#) } else { String::new() };
        self.put(&format!(
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" fill="{colour}"{fade}/>"#
        ));
    }

    pub(super) fn path(&mut self, path: &str, style: &str) {
        if !path.is_empty() {
            self.put(&format!(r#"<path d="{path}" style="{style}"/>"#));
        }
    }

    pub(super) fn finish(self, (width, height): Point, about: &str, by: &str) -> String {
        let (about, by, out) = (escaped(about), escaped(by), self.out);
        format!(
            r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0} {height:.0}" width="{width:.0}" height="{height:.0}" role="img" aria-label="{about}">
<desc>{by}</desc>
<style>{STYLE}</style>
<rect width="100%" height="100%" fill="#fff"/>
{out}</svg>
"##
        )
    }

    fn put(&mut self, element: &str) {
        self.out.push_str(element);
        self.out.push('\n');
    }
}

/// About how wide a text is in a sans-serif of this size.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let characters = u32::try_from(text.chars().count()).unwrap_or(u32::MAX);
    f64::from(characters) * size * 0.56
}

pub(super) fn line(from: Point, to: Point) -> String {
    format!("M{:.1} {:.1}L{:.1} {:.1}", from.0, from.1, to.0, to.1)
}

pub(super) fn arrow(from: Point, to: Point) -> String {
    let (x, y) = (to.0 - from.0, to.1 - from.1);
    let length = x.hypot(y).max(0.001);
    let (along, across) = ((x / length, y / length), (-y / length * 2.2, x / length * 2.2));
    let foot = (to.0 - along.0 * 7.0, to.1 - along.1 * 7.0);
    let head = line(to, (foot.0 + across.0, foot.1 + across.1));
    format!("{}{head} {:.1} {:.1}z", line(from, foot), foot.0 - across.0, foot.1 - across.1)
}

pub(super) fn cross((x, y): Point) -> String {
    format!("M{:.1} {:.1}l7 7m0-7l-7 7", x - 3.5, y - 3.5)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
