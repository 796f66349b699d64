//! The lists beside the shafts: nodes, open orders, and events.

use std::borrow::Cow;
use std::net::Ipv4Addr;
use std::time::Duration;

use elevator_fleet::node::OrderStatus;
use ratatui::Frame;
use ratatui::layout::{Constraint, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::shafts::Label;
use super::{LISTS, block, first_shown, palette, seconds};

/// An order that has waited for this time fills its bar.
const LONG_WAIT: Duration = Duration::from_secs(40);

const BAR: usize = 8;

/// A list with one row: its frame, its header and the row.
const LEAST: u16 = 4;

#[derive(Debug)]
pub(crate) struct Node<'a> {
    pub(crate) name: &'a str,
    pub(crate) address: Ipv4Addr,
    pub(crate) state: Label,
    pub(crate) more: [Span<'a>; 2],
}

#[derive(Debug)]
pub(crate) struct Entry<'a> {
    /// When, and where.
    pub(crate) head: Vec<Span<'a>>,
    pub(crate) text: Cow<'a, str>,
    pub(crate) style: Style,
}

/// The height of the list of nodes, that of the orders, and what is left for the events.
pub(super) fn heights(nodes: usize, height: u16) -> [Constraint; 3] {
    let nodes = u16::try_from(nodes).unwrap_or(u16::MAX);
    let orders = (height * 36 / 100).max(LEAST);
    let rest = height.saturating_sub(orders + LEAST + 1);
    [
        Constraint::Length(nodes.saturating_add(3).min(rest.max(LEAST))),
        Constraint::Length(orders),
        Constraint::Min(0),
    ]
}

pub(super) fn draw_nodes(
    nodes: &[Node<'_>],
    chosen: Option<&str>,
    columns: [&'static str; 2],
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let wide = area.width >= LISTS;
    let is_chosen = |node: &Node<'_>| chosen == Some(node.name);
    let shown = usize::from(area.height.saturating_sub(LEAST - 1)).min(nodes.len());
    let first = nodes.iter().position(is_chosen).unwrap_or(0);
    let first = first_shown(first, shown, nodes.len());
    let rows = nodes.iter().skip(first).take(shown).map(|node| {
        let style = if is_chosen(node) { palette::SELECTED } else { palette::HEADING };
        let [one, other] = node.more.clone();
        let cells = [
            Span::styled(format!(" {} ", node.name), style),
            Span::raw(node.address.to_string()),
            Span::styled(&*node.state.long, node.state.style),
            one,
            other,
        ];
        Row::new(without(wide, [1], cells))
    });
    let widths = [
        Constraint::Length(5),
        Constraint::Length(13),
        Constraint::Min(10),
        Constraint::Length(8),
        Constraint::Length(7),
    ];
    let header = without(wide, [1], ["node", "address", "state", columns[0], columns[1]]);
    let header = Row::new(header).style(palette::QUIET);
    let title = if shown < nodes.len() {
        format!("Fleet {}–{} of {}", first + 1, first + shown, nodes.len())
    } else {
        "Fleet".to_owned()
    };
    let table = Table::new(rows, without(wide, [1], widths)).header(header);
    frame.render_widget(table.block(block(&title)), area);
}

pub(super) fn draw_orders(orders: &[&OrderStatus], frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= LISTS;
    let rows = orders.iter().map(|order| {
        let assignee = order.car.as_ref().map_or("–", |car| car.as_str());
        let cells = [
            Cell::new(format!(" {}", order.call)),
            Cell::new(Line::from(bar(order))),
            Cell::new(format!("{:>7}", seconds(order.waited))),
            Cell::new(format!("→ {assignee}")),
            Cell::new(if order.promised { "✓" } else { " " }).style(palette::GOOD),
            Cell::new(order.holders.to_string()),
        ];
        Row::new(without(wide, [1, 5], cells))
    });
    let widths = [
        Constraint::Min(12),
        Constraint::Length(u16::try_from(BAR).unwrap_or(u16::MAX)),
        Constraint::Length(7),
        Constraint::Length(5),
        Constraint::Length(3),
        Constraint::Length(4),
    ];
    let widths = without(wide, [1, 5], widths);
    let header = without(wide, [1, 5], [" call", "", "    age", "car", "lit", "held"]);
    let header = Row::new(header).style(palette::QUIET);
    let title = format!("Open orders {}", orders.len());
    frame.render_widget(Table::new(rows, widths).header(header).block(block(&title)), area);
}

/// What a row shows; a narrow one has no room for all columns.
fn without<T, const COLUMNS: usize, const WIDE: usize>(
    wide: bool,
    only_wide: [usize; WIDE],
    row: [T; COLUMNS],
) -> Vec<T> {
    let cells = row.into_iter().enumerate();
    let shown = cells.filter(|(index, _)| wide || !only_wide.contains(index));
    shown.map(|(_, cell)| cell).collect()
}

pub(super) fn draw_events(events: &[Entry<'_>], frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let width = usize::from(area.width.saturating_sub(2));
    let lines = events.iter().flat_map(|entry| entry.lines(width)).take(room);
    frame.render_widget(Paragraph::new(lines.collect::<Vec<_>>()).block(block("Events")), area);
}

impl Entry<'_> {
    fn lines(&self, width: usize) -> Vec<Line<'_>> {
        let head = Line::from(self.head.clone());
        let room = width.saturating_sub(head.width());
        let indent = " ".repeat(head.width());
        let mut rows = vec![String::new()];
        for word in self.text.split(' ') {
            match rows.last_mut() {
                Some(row) if row.is_empty() => row.push_str(word),
                Some(row) if Line::raw(&**row).width() + 1 + Line::raw(word).width() <= room => {
                    row.push(' ');
                    row.push_str(word);
                }
                _ => rows.push(word.to_owned()),
            }
        }
        let heads = std::iter::once(head).chain(std::iter::repeat_n(Line::raw(indent), rows.len()));
        let lines = heads.zip(rows).map(|(mut line, row)| {
            line.push_span(Span::styled(row, self.style));
            line
        });
        lines.collect()
    }
}

fn bar(order: &OrderStatus) -> Vec<Span<'static>> {
    let share = order.waited.as_secs_f64() / LONG_WAIT.as_secs_f64();
    let filled = (0..BAR)
        .filter(|cell| (f64::from(u8::try_from(*cell).unwrap_or(u8::MAX)) + 0.5) / 8.0 < share)
        .count();
    let style = match filled {
        0..4 => palette::GOOD,
        4..7 => palette::NOTABLE,
        _ => palette::BAD,
    };
    vec![
        Span::styled("━".repeat(filled), style),
        Span::styled("─".repeat(BAR - filled), palette::FRAME),
    ]
}
