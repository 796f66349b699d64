//! The lists beside the shafts: open orders, and events.

use std::time::Duration;

use elevator_fleet::node::OrderStatus;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::{LISTS, block, palette, seconds};

/// An order that has waited for this time fills its bar.
const LONG_WAIT: Duration = Duration::from_secs(40);

/// The width of that bar.
const BAR: usize = 8;

/// A list with one row: its frame, its header and the row.
pub(crate) const LEAST: u16 = 4;

/// The height of the list of nodes, that of the orders, and what is left for the events.
pub(crate) fn heights(nodes: usize, height: u16) -> [Constraint; 3] {
    let nodes = u16::try_from(nodes).unwrap_or(u16::MAX);
    let orders = (height * 36 / 100).max(LEAST);
    let rest = height.saturating_sub(orders + LEAST + 1);
    [
        Constraint::Length(nodes.saturating_add(3).min(rest.max(LEAST))),
        Constraint::Length(orders),
        Constraint::Min(0),
    ]
}

/// Draws the open orders, oldest first.
pub(crate) fn draw_orders(orders: &[OrderStatus], frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= LISTS;
    let rows = orders.iter().map(|order| {
        let assignee = order.car.as_ref().map_or("–", |car| car.as_str());
        let cells = [
            Cell::new(format!(" {}", order.call)),
            Cell::new(Line::from(bar(order))),
            Cell::new(format!("{:>7}", seconds(order.waited))),
            Cell::new(format!("→ {assignee}")),
            Cell::new(if order.promised { "✓" } else { " " }).style(palette::good()),
            Cell::new(order.holders.to_string()),
        ];
        Row::new(without_bar(wide, cells))
    });
    let widths = [
        Constraint::Min(12),
        Constraint::Length(u16::try_from(BAR).unwrap_or(u16::MAX)),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(3),
        Constraint::Length(4),
    ];
    let widths = without_bar(wide, widths);
    let header = without_bar(wide, [" call", "", "    age", "car", "lit", "held"]);
    let header = Row::new(header).style(palette::quiet());
    let title = format!("Open orders {}", orders.len());
    frame.render_widget(Table::new(rows, widths).header(header).block(block(&title)), area);
}

/// What a row of the orders shows; a narrow one has no room for the bar and the holders.
fn without_bar<T>(wide: bool, row: [T; 6]) -> Vec<T> {
    let cells = row.into_iter().enumerate();
    let shown = cells.filter(|(index, _)| wide || ![1, 5].contains(index));
    shown.map(|(_, cell)| cell).collect()
}

/// Draws events, newest first, as far as there is room.
pub(crate) fn draw_events<'a>(
    lines: impl Iterator<Item = Line<'a>>,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let room = usize::from(area.height.saturating_sub(2));
    let lines: Vec<Line<'_>> = lines.take(room).collect();
    frame.render_widget(Paragraph::new(lines).block(block("Events")), area);
}

fn bar(order: &OrderStatus) -> Vec<Span<'static>> {
    let share = order.waited.as_secs_f64() / LONG_WAIT.as_secs_f64();
    let filled = (0..BAR)
        .filter(|cell| (f64::from(u8::try_from(*cell).unwrap_or(u8::MAX)) + 0.5) / 8.0 < share)
        .count();
    let style = match filled {
        0..4 => palette::good(),
        4..7 => palette::notable(),
        _ => palette::bad(),
    };
    vec![
        Span::styled("━".repeat(filled), style),
        Span::styled("─".repeat(BAR - filled), palette::frame()),
    ]
}
