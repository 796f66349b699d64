//! A terminal's cells as an SVG. The height of a line is that of the fonts' frames and blocks, so
//! that they meet.

use std::fmt::Write;

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};

/// A cell, and the base line of its text, in tenths of a pixel: whole numbers need no rounding.
const CELL: (u32, u32) = (84, 162);
const ASCENT: u32 = 129;

/// Around all cells.
const MARGIN: u32 = 100;

/// The colours of a terminal that says none.
const PAPER: &str = "#12141a";
const INK: &str = "#d7dae0";

/// The whole picture.
pub(super) fn svg(buffer: &Buffer, about: &str) -> String {
    let area = buffer.area;
    let [width, height] =
        [u32::from(area.width) * CELL.0, u32::from(area.height) * CELL.1].map(|it| it + 2 * MARGIN);
    let (width, height) = (tenths(width), tenths(height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"'DejaVu Sans Mono', ui-monospace, Menlo, Consolas, monospace\" font-size=\"14\" role=\"img\" aria-label=\"{about}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{PAPER}\"/>\n"
    );
    for y in 0..area.height {
        let row: Vec<&Cell> = (0..area.width).map(|x| &buffer[(x, y)]).collect();
        let top = MARGIN + u32::from(y) * CELL.1;
        let mut x = 0;
        // A font may have signs that are wider than a cell.
        for run in
            row.chunk_by(|one, other| look(one) == look(other) && !is_sign(one) && !is_sign(other))
        {
            let count = u32::try_from(run.len()).unwrap();
            let [left, width] = [MARGIN + x * CELL.0, count * CELL.0].map(tenths);
            x += count;
            let (ink, paper, bold) = look(run[0]);
            if let Some(paper) = paper {
                let [top, height] = [top, CELL.1].map(tenths);
                writeln!(svg, "<rect x=\"{left}\" y=\"{top}\" width=\"{width}\" height=\"{height}\" fill=\"{paper}\" shape-rendering=\"crispEdges\"/>").unwrap();
            }
            let words: String = run.iter().map(|cell| cell.symbol()).collect();
            if words.trim().is_empty() {
                continue;
            }
            // In exactly its cells, whatever the font's own widths are.
            let words = words.replace('&', "&amp;").replace('<', "&lt;").replace(' ', "\u{a0}");
            let (base, bold) =
                (tenths(top + ASCENT), if bold { " font-weight=\"bold\"" } else { "" });
            writeln!(svg, "<text x=\"{left}\" y=\"{base}\" textLength=\"{width}\" lengthAdjust=\"spacingAndGlyphs\" fill=\"{ink}\"{bold}>{words}</text>").unwrap();
        }
    }
    svg + "</svg>\n"
}

/// Neither a letter nor of a frame or block.
fn is_sign(cell: &Cell) -> bool {
    !cell.symbol().chars().all(|char| matches!(char, ' '..='~' | '–' | '\u{2500}'..='\u{259f}'))
}

/// The colours of the text and of what is behind it, and whether it is bold.
fn look(cell: &Cell) -> (String, Option<String>, bool) {
    let (ink, paper) = (hex(cell.fg), hex(cell.bg));
    let bold = cell.modifier.contains(Modifier::BOLD);
    if cell.modifier.contains(Modifier::REVERSED) {
        return (paper.unwrap_or(PAPER.to_owned()), Some(ink.unwrap_or(INK.to_owned())), bold);
    }
    (ink.unwrap_or(INK.to_owned()), paper, bold)
}

fn tenths(length: u32) -> String {
    format!("{}.{}", length / 10, length % 10)
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
