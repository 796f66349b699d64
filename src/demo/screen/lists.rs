//! The lists beside the shafts: nodes, open orders, events.

use std::time::Duration;

use elevator_fleet::node::{OrderStatus, Status};
use elevator_fleet::wire::NodeState;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

use super::super::scene::{CarScene, Event, Life, Scene, Weight};
use super::{LISTS, block, clock, first_shown, palette, seconds};
use crate::mesh::Cable;

/// An order that has waited for this time fills its bar.
const LONG_WAIT: Duration = Duration::from_secs(40);

/// The columns of a node's peers; where their names have no room, they are counted.
const PEERS: u16 = 8;

/// The width of that bar.
const BAR: usize = 8;

/// A list with one row: its frame, its header and the row.
const LEAST: u16 = 4;

/// Draws the three lists.
pub(super) fn draw(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let nodes = u16::try_from(scene.cars.len()).unwrap_or(u16::MAX);
    let orders = (area.height * 36 / 100).max(LEAST);
    let rest = area.height.saturating_sub(orders + LEAST + 1);
    let [top, middle, bottom] = Layout::vertical([
        Constraint::Length(nodes.saturating_add(3).min(rest.max(LEAST))),
        Constraint::Length(orders),
        Constraint::Min(0),
    ])
    .areas(area);
    draw_nodes(scene, frame, top);
    draw_orders(scene, frame, middle);
    draw_events(scene, frame, bottom);
}

fn draw_nodes(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let all = scene.cars.len();
    let shown = usize::from(area.height.saturating_sub(LEAST - 1)).min(all);
    let first = first_shown(scene.car, shown, all);
    let wide = area.width >= LISTS;
    let rows = scene.cars.iter().enumerate().skip(first).take(shown);
    let rows = rows.map(|(index, car)| {
        let name = if index == scene.car { palette::selected() } else { palette::heading() };
        let (node_state, style) = node_state(car);
        let view = car.node.view();
        let cells = [
            Cell::new(Span::styled(format!(" {} ", car.name), name)),
            Cell::new(car.address.to_string()),
            Cell::new(Span::styled(node_state, style)),
            Cell::new(view.map_or_else(String::new, |view| view.term.to_string())),
            Cell::new(view.map_or_else(String::new, peers)),
        ];
        Row::new(without_address(wide, cells))
    });
    let widths = without_address(
        wide,
        [
            Constraint::Length(4),
            Constraint::Length(12),
            Constraint::Min(12),
            Constraint::Length(4),
            Constraint::Length(PEERS),
        ],
    );
    let header = without_address(wide, ["node", "address", "state", "term", "peers"]);
    let header = Row::new(header).style(palette::quiet());
    let title = if shown < all {
        format!("Fleet {}–{} of {all}", first + 1, first + shown)
    } else {
        "Fleet".to_owned()
    };
    frame.render_widget(Table::new(rows, widths).header(header).block(block(&title)), area);
}

/// What a row of the fleet shows; a narrow one has no room for the address.
fn without_address<T>(wide: bool, row: [T; 5]) -> Vec<T> {
    let cells = row.into_iter().enumerate();
    let shown = cells.filter(|(index, _)| wide || *index != 1);
    shown.map(|(_, cell)| cell).collect()
}

fn draw_orders(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let wide = area.width >= LISTS;
    let rows = scene.orders.iter().map(|order| {
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
    let title = format!("Open orders {}", scene.orders.len());
    frame.render_widget(Table::new(rows, widths).header(header).block(block(&title)), area);
}

/// What a row of the orders shows; a narrow one has no room for the bar and the holders.
fn without_bar<T>(wide: bool, row: [T; 6]) -> Vec<T> {
    let cells = row.into_iter().enumerate();
    let shown = cells.filter(|(index, _)| wide || ![1, 5].contains(index));
    shown.map(|(_, cell)| cell).collect()
}

fn draw_events(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.height.saturating_sub(2));
    let lines: Vec<Line<'_>> = scene.events.iter().take(room).map(event).collect();
    frame.render_widget(Paragraph::new(lines).block(block("Events")), area);
}

fn event(event: &Event) -> Line<'_> {
    let style = match event.weight {
        Weight::Plain => Style::new(),
        Weight::Good => palette::good(),
        Weight::Notable => palette::notable(),
        Weight::Bad => palette::bad(),
    };
    let car = event.car.as_ref().map_or(" ", |car| car.as_str());
    Line::from(vec![
        Span::styled(format!(" {} ", clock(event.at)), palette::quiet()),
        Span::styled(format!("{car} "), palette::heading()),
        Span::styled(event.text.as_str(), style),
    ])
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

/// Where its node stands, or what became of it.
pub(super) fn node_state(car: &CarScene) -> (String, Style) {
    match (&car.node.life, car.node.view()) {
        (Life::Starting, _) => ("starting".to_owned(), palette::quiet()),
        (Life::Suspended, _) => ("suspended".to_owned(), palette::bad()),
        (Life::Killed, _) => ("killed".to_owned(), palette::bad()),
        (Life::Hung, _) => ("hung".to_owned(), palette::bad()),
        (Life::Cleared, _) => ("cleared".to_owned(), palette::notable()),
        (Life::Ended(status), _) => (status.clone(), palette::bad()),
        (Life::Running, None) => ("silent".to_owned(), palette::quiet()),
        (Life::Running, Some(view)) => {
            let cut = match car.node.cable {
                Cable::Whole => "",
                Cable::Cut => ", cut",
            };
            match &view.node_state {
                NodeState::Master => (format!("★ master{cut}"), palette::notable()),
                NodeState::Slave { master } => (format!("slave of {master}{cut}"), Style::new()),
                NodeState::Seeking => (format!("seeking{cut}"), palette::notable()),
            }
        }
    }
}

fn peers(view: &Status) -> String {
    let names = view.peers.iter().map(|peer| peer.node.as_str());
    let names: Vec<&str> = names.collect();
    let listed = names.join(" ");
    if names.is_empty() {
        "alone".to_owned()
    } else if listed.len() <= usize::from(PEERS) {
        listed
    } else {
        names.len().to_string()
    }
}
