//! The scene as a picture in a terminal.
//!
//! ```text
//!   title
//!   shafts (side by side)    │ nodes
//!                            │ open orders
//!                            │ events, newest first
//!   counters
//!   keys (two lines)
//! ```

use std::time::Duration;

use elevator_driver::Direction;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph};

use super::scene::{Phase, Power, Scene};

mod lists;
mod palette;
mod shafts;

/// The lists need this many columns to be of use.
const LISTS: u16 = 48;

/// Draws the whole screen.
pub(super) fn draw(scene: &Scene, frame: &mut Frame<'_>) {
    let [title, body, counters, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Min(8),
        Constraint::Length(3),
        Constraint::Length(2),
    ])
    .areas(frame.area());
    frame.render_widget(self::title(scene), title);
    let shafts = shafts::width(scene).min(body.width.saturating_sub(LISTS));
    let [left, right] =
        Layout::horizontal([Constraint::Length(shafts), Constraint::Min(0)]).areas(body);
    shafts::draw(scene, frame, left);
    lists::draw(scene, frame, right);
    self::counters(scene, frame, counters);
    frame.render_widget(Paragraph::new(self::keys()), keys);
}

fn block(title: &str) -> Block<'_> {
    Block::bordered()
        .border_type(BorderType::Rounded)
        .border_style(palette::frame())
        .title(Span::styled(format!(" {title} "), palette::heading()))
}

fn title(scene: &Scene) -> Line<'_> {
    let (word, style) = match scene.phase {
        _ if scene.power == Power::Off => ("no power", palette::bad()),
        Phase::Starting => ("starting", palette::notable()),
        Phase::Traffic => ("passengers come and go", palette::good()),
        Phase::Paused => ("traffic paused", palette::notable()),
        Phase::Draining => ("serving the last orders", palette::notable()),
    };
    Line::from(vec![
        Span::styled(" liftmesh ", palette::badge()),
        Span::raw(format!(
            "  {} cars, {} floors, {}, seed {}   ",
            scene.cars.len(),
            scene.floors.get(),
            scene.election,
            scene.seed
        )),
        Span::styled(
            clock(scene.elapsed),
            Style::new().add_modifier(Modifier::BOLD),
        ),
        Span::raw("   "),
        Span::styled(word, style),
        Span::raw("   "),
        Span::styled(
            scene.cars.get(scene.car).map_or("", |car| &car.display),
            palette::quiet(),
        ),
    ])
}

fn counters(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let tally = scene.tally;
    let lost = if tally.lost == 0 {
        palette::good()
    } else {
        palette::bad()
    };
    let waits = tally.mean().map_or_else(
        || "–".to_owned(),
        |mean| format!("mean {}  max {}", seconds(mean), seconds(tally.longest)),
    );
    let figure = |label: &'static str, value: String, style: Style| {
        [
            Span::styled(label, palette::quiet()),
            Span::styled(format!(" {value}"), style.add_modifier(Modifier::BOLD)),
            Span::raw("   "),
        ]
    };
    let plain = Style::new();
    let line: Line<'_> = [
        figure(" orders placed", tally.placed.to_string(), plain),
        figure("served", tally.served.to_string(), palette::good()),
        figure("lost", tally.lost.to_string(), lost),
        figure("waiting", waits, plain),
        figure("changes of master", scene.master_changes.to_string(), plain),
        figure("passengers arrived", scene.arrived.to_string(), plain),
    ]
    .into_iter()
    .flatten()
    .collect();
    frame.render_widget(Paragraph::new(line).block(block("Account")), area);
}

fn keys() -> Vec<Line<'static>> {
    let traffic = [
        ("←→", "car"),
        ("↑↓", "floor"),
        ("u/d", "hall"),
        ("c", "cab"),
        ("space", "pause"),
        ("p", "power"),
        ("q", "quit"),
    ];
    let faults = [
        ("k", "kill"),
        ("r", "restart"),
        ("f", "freeze"),
        ("n", "net"),
        ("l", "line"),
        ("h", "hang"),
        ("x", "clear"),
        ("o", "obstruct"),
        ("s", "stop"),
    ];
    vec![legend(&traffic), legend(&faults)]
}

fn legend(pairs: &[(&'static str, &'static str)]) -> Line<'static> {
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

fn arrow(direction: Direction) -> char {
    match direction {
        Direction::Up => '▲',
        Direction::Down => '▼',
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn clock(time: Duration) -> String {
    format!("{:02}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests;
