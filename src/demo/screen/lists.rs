//! The lists beside the shafts: nodes, open orders, events.

use elevator_fleet::node::Status;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Cell, Row, Table};

use super::super::scene::{CarScene, Event, Life, Scene, Weight};
use super::clock;
use crate::mesh::Cable;
use crate::screen::lists::{self, LEAST};
use crate::screen::{self, LISTS, block, first_shown, palette};

/// The columns of a node's peers; where their names have no room, they are counted.
const PEERS: u16 = 8;

/// Draws the three lists.
pub(super) fn draw(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let heights = lists::heights(scene.cars.len(), area.height);
    let [top, middle, bottom] = Layout::vertical(heights).areas(area);
    draw_nodes(scene, frame, top);
    lists::draw_orders(&scene.orders, frame, middle);
    lists::draw_events(scene.events.iter().map(event), frame, bottom);
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
            let (state, style) = screen::node_state(&view.node_state);
            match car.node.cable {
                Cable::Whole => (state, style),
                Cable::Cut => (format!("{state}, cut"), style),
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
