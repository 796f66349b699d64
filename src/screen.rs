//! What the screens of `liftmesh demo` and `liftmesh top` draw alike: shafts with their cars, open
//! orders, events. Each screen describes what it knows as a [`Bank`]; nothing here knows where it
//! comes from.

pub(crate) mod lists;
pub(crate) mod palette;
pub(crate) mod shafts;

use std::time::Duration;

use elevator_driver::Direction;
use elevator_fleet::wire::NodeState;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};

use self::shafts::{Bank, Label};

/// The columns of the lists, and the smallest number in which they omit what is shown elsewhere
/// too.
pub(crate) const LISTS: u16 = 48;
const NARROW_LISTS: u16 = 34;

/// Divides the room between the shafts, which come first, and the lists. The shafts get the columns
/// that the lists can spare: few if all cars fit beside the full lists, and more otherwise.
pub(crate) fn divide(bank: &Bank<'_>, body: Rect) -> [Rect; 2] {
    let (wanted, least) = shafts::width(bank);
    let beside_lists = body.width.saturating_sub(LISTS);
    let shafts = if least <= beside_lists {
        wanted.min(beside_lists)
    } else {
        least.min(body.width.saturating_sub(NARROW_LISTS))
    };
    Layout::horizontal([Constraint::Length(shafts), Constraint::Min(0)]).areas(body)
}

/// The first item to show if not all fit, so that the chosen one is visible.
pub(crate) fn first_shown(chosen: usize, shown: usize, all: usize) -> usize {
    chosen.saturating_sub(shown / 2).min(all.saturating_sub(shown))
}

/// Says what size the terminal needs, and what to use instead.
pub(crate) fn draw_size(frame: &mut Frame<'_>, needed: (u16, u16), instead: &str) {
    let Rect { width, height, .. } = frame.area();
    let text = vec![
        Line::styled(format!("This terminal has {width} × {height}."), palette::bad()),
        Line::raw(format!("The picture needs {} × {}.", needed.0, needed.1)),
        Line::raw(format!("Make it larger, or use {instead}.")),
        Line::styled("q  quit", palette::key()),
    ];
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), frame.area());
}

/// A frame with a title.
pub(crate) fn block(title: &str) -> Block<'_> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(palette::frame())
        .title(Span::styled(format!(" {title} "), palette::heading()))
}

/// Keys and what they do.
pub(crate) fn legend(pairs: &[(&'static str, &'static str)]) -> Line<'static> {
    pairs
        .iter()
        .flat_map(|(key, what)| {
            [
                Span::styled(format!(" {key}"), palette::key()),
                Span::styled(format!(" {what} "), palette::quiet()),
            ]
        })
        .collect()
}

/// The state of a running node, as it stands above a shaft.
pub(crate) fn role(node_state: &NodeState) -> Label {
    match node_state {
        NodeState::Master => Label::new("★ master", palette::notable()).or_short("★"),
        NodeState::Slave { master } => {
            Label::new(format!("follows {master}"), palette::quiet()).or_short(format!("→{master}"))
        }
        NodeState::Seeking => Label::new("seeking", palette::notable()),
    }
}

/// The state of a running node in a list.
pub(crate) fn node_state(node_state: &NodeState) -> (String, Style) {
    match node_state {
        NodeState::Master => ("★ master".to_owned(), palette::notable()),
        NodeState::Slave { master } => (format!("slave of {master}"), Style::new()),
        NodeState::Seeking => ("seeking".to_owned(), palette::notable()),
    }
}

pub(crate) fn arrow(direction: Direction) -> char {
    match direction {
        Direction::Up => '▲',
        Direction::Down => '▼',
    }
}

pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
