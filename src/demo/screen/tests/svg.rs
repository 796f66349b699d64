//! A terminal's cells as an SVG. What a font may draw with gaps, frames and blocks, becomes shapes,
//! so that it meets in every browser.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// A cell in tenths of a pixel: whole numbers need no rounding.
const CELL: (u32, u32) = (84, 170);

/// Around all cells, and above the base line of a text.
const MARGIN: u32 = 100;
const ASCENT: u32 = 130;

/// The colours of a terminal that says none.
const PAPER: &str = "#12141a";
const INK: &str = "#d7dae0";

/// The whole picture.
pub(super) fn svg(buffer: &Buffer, about: &str) -> String {
    let area = buffer.area;
    let (width, height) = (
        tenths(u32::from(area.width) * CELL.0 + 2 * MARGIN),
        tenths(u32::from(area.height) * CELL.1 + 2 * MARGIN),
    );
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" role=\"img\" aria-label=\"{about}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for y in 0..area.height {
        let row: Vec<&Cell> = (0..area.width).map(|x| &buffer[(x, y)]).collect();
        for (at, run) in runs(&row, paper) {
            if let Some(colour) = paper(run[0]) {
                rect(&mut svg, at, y, cells(run.len()), (0, 8), &colour);
            }
        }
        for (at, run) in runs(&row, |cell| (ink(cell), is_bold(cell), kind(cell))) {
            match kind(run[0]) {
                Kind::Blank => {}
                Kind::Shape => {
                    for (x, same) in runs(&run, symbol) {
                        shapes(&mut svg, at + x, y, &same);
                    }
                }
                Kind::Text => text(&mut svg, at, y, &run),
                Kind::Sign => {
                    for (x, cell) in (at..).zip(run) {
                        text(&mut svg, x, y, &[cell]);
                    }
                }
            }
        }
    }
    svg + "</svg>\n"
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Blank,
    /// Drawn as a shape.
    Shape,
    /// Letters and digits, drawn as words.
    Text,
    /// Drawn alone: a font may have it wider than a cell.
    Sign,
}

fn kind(cell: &Cell) -> Kind {
    match symbol(cell) {
        ' ' => Kind::Blank,
        '│' | '─' | '━' | '┃' | '╭' | '╮' | '╰' | '╯' | '▒' | '▌' | '▐' | '▁'..='█' => {
            Kind::Shape
        }
        '!'..='~' | '–' | '…' => Kind::Text,
        _ => Kind::Sign,
    }
}

fn symbol(cell: &Cell) -> char {
    cell.symbol().chars().next().unwrap_or(' ')
}

/// Neighbours that are alike, with where they begin.
fn runs<'a, K: PartialEq>(row: &[&'a Cell], key: impl Fn(&Cell) -> K) -> Vec<(u32, Vec<&'a Cell>)> {
    let mut runs: Vec<(u32, Vec<&Cell>)> = Vec::new();
    for (x, &cell) in (0..).zip(row) {
        match runs.last_mut() {
            Some((_, run)) if key(run[0]) == key(cell) => run.push(cell),
            _ => runs.push((x, vec![cell])),
        }
    }
    runs
}

/// Equal neighbours; those that meet are one shape.
fn shapes(svg: &mut String, x: u32, y: u16, run: &[&Cell]) {
    match symbol(run[0]) {
        '─' | '━' | '▒' | '▁'..='█' => shape(svg, (x, y), run[0], cells(run.len())),
        _ => {
            for (x, cell) in (x..).zip(run) {
                shape(svg, (x, y), cell, CELL.0);
            }
        }
    }
}

fn shape(svg: &mut String, (x, y): (u32, u16), cell: &Cell, width: u32) {
    let colour = ink(cell);
    let (left, top) = (MARGIN + x * CELL.0, MARGIN + u32::from(y) * CELL.1);
    let (right, bottom) = (left + width, top + CELL.1);
    let (middle, centre) = (left + CELL.0 / 2, top + CELL.1 / 2);
    let mut path = |way: &str, thickness: u32| {
        let width = tenths(thickness);
        writeln!(
            svg,
            "<path d=\"{way}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        )
        .unwrap();
    };
    let point = |x: u32, y: u32| format!("{} {}", tenths(x), tenths(y));
    let line = |from: (u32, u32), to: (u32, u32)| {
        format!("M{} L{}", point(from.0, from.1), point(to.0, to.1))
    };
    let bend = |from: (u32, u32), to: (u32, u32)| {
        format!("M{} Q{} {}", point(from.0, from.1), point(middle, centre), point(to.0, to.1))
    };
    match symbol(cell) {
        '│' => path(&line((middle, top), (middle, bottom)), 10),
        '┃' => path(&line((middle, top), (middle, bottom)), 20),
        '─' => path(&line((left, centre), (right, centre)), 10),
        '━' => path(&line((left, centre), (right, centre)), 25),
        '╭' => path(&bend((middle, bottom), (right, centre)), 10),
        '╮' => path(&bend((middle, bottom), (left, centre)), 10),
        '╰' => path(&bend((middle, top), (right, centre)), 10),
        '╯' => path(&bend((middle, top), (left, centre)), 10),
        '▒' => rect(svg, x, y, width, (0, 8), &format!("{colour}b0")),
        '▌' => rect(svg, x, y, CELL.0 / 2, (0, 8), &colour),
        '▐' => area(svg, middle, top, CELL.0 / 2, CELL.1, &colour),
        block => {
            let filled = u32::from(block) - u32::from('▁') + 1;
            rect(svg, x, y, width, (8 - filled, 8), &colour);
        }
    }
}

/// Some eighths of a line, from the top.
fn rect(svg: &mut String, x: u32, y: u16, width: u32, eighths: (u32, u32), colour: &str) {
    let (left, top) = (MARGIN + x * CELL.0, MARGIN + u32::from(y) * CELL.1);
    let from = CELL.1 * eighths.0 / 8;
    let to = CELL.1 * eighths.1 / 8;
    area(svg, left, top + from, width, to - from, colour);
}

fn area(svg: &mut String, left: u32, top: u32, width: u32, height: u32, colour: &str) {
    let [left, top, width, height] = [left, top, width, height].map(tenths);
    writeln!(
        svg,
        "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\" shape-rendering=\"crispEdges\"/>"
    )
    .unwrap();
}

/// In exactly its cells, whatever the font's own widths are.
fn text(svg: &mut String, x: u32, y: u16, run: &[&Cell]) {
    let (left, base) =
        (tenths(MARGIN + x * CELL.0), tenths(MARGIN + u32::from(y) * CELL.1 + ASCENT));
    let width = tenths(cells(run.len()));
    let (colour, weight) =
        (ink(run[0]), if is_bold(run[0]) { " font-weight=\"bold\"" } else { "" });
    let words: String = run.iter().map(|cell| escaped(symbol(cell))).collect();
    writeln!(
        svg,
        "<text x=\"{left}\" y=\"{base}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{colour}\"{weight}>{words}</text>"
    )
    .unwrap();
}

fn escaped(symbol: char) -> String {
    match symbol {
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '&' => "&amp;".to_owned(),
        other => other.to_string(),
    }
}

fn cells(count: usize) -> u32 {
    u32::try_from(count).unwrap() * CELL.0
}

fn tenths(length: u32) -> String {
    if length.is_multiple_of(10) {
        (length / 10).to_string()
    } else {
        format!("{}.{}", length / 10, length % 10)
    }
}

fn is_bold(cell: &Cell) -> bool {
    cell.modifier.contains(Modifier::BOLD)
}

fn is_reversed(cell: &Cell) -> bool {
    cell.modifier.contains(Modifier::REVERSED)
}

fn ink(cell: &Cell) -> String {
    let colour = if is_reversed(cell) { cell.bg } else { cell.fg };
    hex(colour).unwrap_or_else(|| if is_reversed(cell) { PAPER } else { INK }.to_owned())
}

fn paper(cell: &Cell) -> Option<String> {
    if is_reversed(cell) {
        return Some(hex(cell.fg).unwrap_or_else(|| INK.to_owned()));
    }
    hex(cell.bg)
}

/// The colours that the palette has.
fn hex(colour: Color) -> Option<String> {
    match colour {
        Color::Reset => None,
        Color::Black => Some("#1c1f26".to_owned()),
        Color::Indexed(index @ 16..=231) => {
            let cube = index - 16;
            let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
            let [red, green, blue] = [cube / 36, cube / 6 % 6, cube % 6].map(level);
            Some(format!("#{red:02x}{green:02x}{blue:02x}"))
        }
        Color::Indexed(index @ 232..) => {
            let level = 8 + 10 * (index - 232);
            Some(format!("#{level:02x}{level:02x}{level:02x}"))
        }
        other => panic!("the palette has got {other:?}"),
    }
}
