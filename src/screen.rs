//! The screen of `liftmesh demo` and of `liftmesh top`.
//!
//! What does not fit scrolls with the chosen car and floor. A terminal smaller than [`NEEDED`] only
//! shows the size that it needs.

mod lists;
pub(crate) mod palette;
pub(crate) mod shafts;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use elevator_driver::{Direction, Floor, FloorCount};
use elevator_fleet::model::NodeId;
use elevator_fleet::node::OrderStatus;
use elevator_fleet::wire::NodeState;
use ratatui::backend::TestBackend;
use ratatui::buffer::Cell;
use ratatui::crossterm::event::{Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Clear, Paragraph, Wrap};
use ratatui::{Frame, Terminal};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

pub(crate) use self::lists::{Entry, Node};
use self::shafts::{Bank, Label};

/// The columns and lines of the smallest useful terminal.
const NEEDED: (u16, u16) = (80, 22);

/// The columns of the lists, and the fewest, where they omit what is shown elsewhere too.
const LISTS: u16 = 48;
const NARROW_LISTS: u16 = 34;

/// A key, the word for it in the last lines, and what it does.
pub(crate) type Key = (&'static str, &'static str, &'static str);

pub(crate) const CAR: Key = ("←→", "car", "choose a car");
pub(crate) const FLOOR: Key = ("↑↓", "floor", "choose a floor");
pub(crate) const HELP: Key = ("?", "keys", "show what the keys do, or hide it");
pub(crate) const QUIT: Key = ("q", "quit", "end");

#[derive(Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) title: Line<'a>,
    pub(crate) told: (Line<'a>, u16),
    pub(crate) bank: Bank<'a>,
    pub(crate) nodes: Vec<Node<'a>>,
    /// What the nodes' last two columns have.
    pub(crate) columns: [&'static str; 2],
    pub(crate) orders: Vec<&'a OrderStatus>,
    pub(crate) events: Vec<Entry<'a>>,
    pub(crate) foot: Vec<Line<'a>>,
    pub(crate) keys: &'static [&'static [Key]],
    /// What to use in a terminal that is too small.
    pub(crate) instead: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) car: usize,
    pub(crate) floor: Floor,
    pub(crate) help: bool,
}

impl Default for Choice {
    fn default() -> Self {
        Self { car: 0, floor: Floor::BOTTOM, help: false }
    }
}

impl Choice {
    pub(crate) fn handle_key(&mut self, key: KeyCode, cars: usize, floors: FloorCount) {
        let floor = |direction| floors.next(self.floor, direction).unwrap_or(self.floor);
        match key {
            KeyCode::Left => self.car = self.car.saturating_sub(1),
            KeyCode::Right => self.car = (self.car + 1).min(cars.saturating_sub(1)),
            KeyCode::Up => self.floor = floor(Direction::Up),
            KeyCode::Down => self.floor = floor(Direction::Down),
            KeyCode::Char('?') => self.help = !self.help,
            _ => {}
        }
    }
}

pub(crate) fn ending() -> io::Result<Arc<AtomicBool>> {
    let wanted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&wanted))?;
    }
    Ok(wanted)
}

/// The key that was pressed, if one was; each that ends a program is `q`.
pub(crate) fn pressed(event: &Event) -> Option<KeyCode> {
    let key = event.as_key_event().filter(|key| key.kind != KeyEventKind::Release)?;
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('c') if control => Some(KeyCode::Char('q')),
        KeyCode::Esc => Some(KeyCode::Char('q')),
        code => (!control).then_some(code),
    }
}

pub(crate) fn draw(picture: Picture<'_>, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < NEEDED.0 || area.height < NEEDED.1 {
        return draw_size(frame, picture.instead);
    }
    let lines = |count| Constraint::Length(u16::try_from(count).unwrap_or(u16::MAX));
    let (told, told_lines) = picture.told;
    let [title, below, body, foot, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(told_lines),
        Constraint::Min(8),
        lines(picture.foot.len()),
        lines(picture.keys.len()),
    ])
    .areas(area);
    frame.render_widget(picture.title, title);
    let told = Paragraph::new(told).wrap(Wrap { trim: true });
    frame.render_widget(told, below.inner(Margin::new(1, 0)));
    let [left, right] = divide(&picture.bank, body);
    if picture.bank.cars.is_empty() {
        frame.render_widget(Paragraph::new(" No car is heard.").block(block("Shafts")), left);
    } else {
        shafts::draw(&picture.bank, frame, left);
    }
    let heights = lists::heights(picture.nodes.len(), right.height);
    let [top, middle, bottom] = Layout::vertical(heights).areas(right);
    let chosen = picture.bank.cars.get(picture.bank.choice.car).map(|car| car.name);
    lists::draw_nodes(&picture.nodes, chosen, picture.columns, frame, top);
    lists::draw_orders(&picture.orders, frame, middle);
    lists::draw_events(&picture.events, frame, bottom);
    frame.render_widget(Paragraph::new(picture.foot), foot);
    let legend: Vec<_> = picture.keys.iter().map(|keys| legend(keys)).collect();
    frame.render_widget(Paragraph::new(legend), keys);
    if picture.bank.choice.help {
        draw_help(picture.keys, frame);
    }
}

/// Divides the room between shafts and lists: few columns for the shafts if all cars fit beside.
fn divide(bank: &Bank<'_>, body: Rect) -> [Rect; 2] {
    let (wanted, least) = shafts::width(bank);
    let beside_lists = body.width.saturating_sub(LISTS);
    let shafts = if least <= beside_lists {
        wanted.min(beside_lists)
    } else {
        least.min(body.width.saturating_sub(NARROW_LISTS))
    };
    Layout::horizontal([Constraint::Length(shafts), Constraint::Min(0)]).areas(body)
}

fn first_shown(chosen: usize, shown: usize, all: usize) -> usize {
    chosen.saturating_sub(shown / 2).min(all.saturating_sub(shown))
}

fn draw_size(frame: &mut Frame<'_>, instead: &str) {
    let Rect { width, height, .. } = frame.area();
    let text = vec![
        Line::styled(format!("This terminal has {width} × {height}."), palette::BAD),
        Line::raw(format!("The picture needs {} × {}.", NEEDED.0, NEEDED.1)),
        Line::raw(format!("Make it larger, or use {instead}.")),
        Line::styled("q  quit", palette::KEY),
    ];
    frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), frame.area());
}

fn draw_help(keys: &[&[Key]], frame: &mut Frame<'_>) {
    let lines = keys.iter().copied().flatten().map(|(key, _, what)| {
        Line::from(vec![Span::styled(format!(" {key:<7}"), palette::KEY), Span::raw(*what)])
    });
    let lines: Vec<_> = lines.collect();
    let width = lines.iter().map(Line::width).max().unwrap_or(0) + 3;
    let size = [width, lines.len() + 2].map(|size| u16::try_from(size).unwrap_or(u16::MAX));
    let [width, height] = size.map(Constraint::Length);
    let area = frame.area().centered(width, height);
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(lines).block(block("Keys")), area);
}

fn block(title: &str) -> Block<'_> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(palette::FRAME)
        .title(Span::styled(format!(" {title} "), palette::HEADING))
}

fn legend(keys: &[Key]) -> Line<'static> {
    let spans = keys.iter().flat_map(|(key, word, _)| {
        [
            Span::styled(format!(" {key}"), palette::KEY),
            Span::styled(format!(" {word} "), palette::QUIET),
        ]
    });
    spans.collect()
}

/// A picture as text, in this many columns and lines.
pub(crate) fn page(picture: Picture<'_>, (width, height): (u16, u16)) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(width, height));
    let Ok(_) = terminal.draw(|frame| draw(picture, frame));
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(buffer.area.width));
    let rows = rows.map(|row| row.iter().map(Cell::symbol).collect::<String>());
    rows.map(|row| row.trim_end().to_owned() + "\n").collect()
}

pub(crate) fn node_state(node_state: &NodeState) -> Label {
    match node_state {
        NodeState::Master => Label::new("★ master", palette::NOTABLE).or_short("★"),
        NodeState::Slave { master } => {
            Label::new(format!("slave of {master}"), palette::QUIET).or_short(format!("→{master}"))
        }
        NodeState::Seeking => Label::new("seeking", palette::NOTABLE),
    }
}

/// Who leads the fleet.
pub(crate) fn leader<'a>(master: Option<&NodeId>, otherwise: &'a str) -> [Span<'a>; 2] {
    match master {
        Some(master) => {
            [Span::styled(format!("★ {master}"), palette::NOTABLE), Span::raw(" leads")]
        }
        None => [Span::styled(otherwise, palette::BAD), Span::raw("")],
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
