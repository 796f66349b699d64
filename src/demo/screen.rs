//! The scene as a picture in a terminal.
//!
//! ```text
//!   title
//!   election (one or two lines)
//!   shafts (side by side)    │ nodes
//!                            │ open orders
//!                            │ events, newest first
//!   counters
//!   keys (two lines), and the address of a web panel
//! ```
//!
//! What does not fit scrolls with the chosen car and floor. A terminal smaller than [`NEEDED`] only
//! shows the size that it needs.

use std::time::Duration;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Margin, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Wrap};

use super::scene::{Phase, Power, Scene};
use crate::screen::{self, block, legend, palette, seconds, shafts};

mod cabins;
mod lists;

/// The columns and lines of the smallest useful terminal.
const NEEDED: (u16, u16) = (80, 23);

/// Draws the whole screen.
pub(super) fn draw(scene: &Scene, frame: &mut Frame<'_>) {
    let (width, height) = (frame.area().width, frame.area().height);
    if width < NEEDED.0 || height < NEEDED.1 {
        return screen::draw_size(frame, NEEDED, "liftmesh demo --headless");
    }
    let [title, election, body, counters, keys] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(scene.election.profile().detail_lines),
        Constraint::Min(8),
        Constraint::Length(3),
        Constraint::Length(3),
    ])
    .areas(frame.area());
    frame.render_widget(self::title(scene), title);
    let told = Paragraph::new(self::election(scene)).wrap(Wrap { trim: true });
    frame.render_widget(told, election.inner(Margin::new(1, 0)));
    let bank = cabins::bank(scene);
    let [left, right] = screen::divide(&bank, body);
    shafts::draw(&bank, frame, left);
    lists::draw(scene, frame, right);
    self::counters(scene, frame, counters);
    frame.render_widget(Paragraph::new(self::keys(scene)), keys);
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
        Span::styled(clock(scene.elapsed), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw("   "),
        Span::styled(word, style),
        Span::raw("   "),
        Span::styled(scene.cars.get(scene.car).map_or("", |car| &car.display), palette::quiet()),
    ])
}

/// The master, and the chosen node's election state.
fn election(scene: &Scene) -> Line<'_> {
    let mut spans = match &scene.leader {
        Some(leader) => {
            vec![Span::styled(format!("★ {leader}"), palette::notable()), Span::raw(" leads")]
        }
        None => vec![Span::styled("no leader that all know", palette::bad())],
    };
    if let Some(car) = scene.cars.get(scene.car) {
        let (node_state, style) = lists::node_state(car);
        spans.push(Span::raw("   node "));
        spans.push(Span::styled(car.name.as_str(), palette::heading()));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(node_state, style));
        let details = car.node.view().map_or(&[][..], |view| &view.election_state);
        for detail in details {
            spans.push(Span::styled(format!(", {} ", detail.name), palette::quiet()));
            spans.push(Span::raw(detail.value.as_str()));
        }
    }
    spans.into()
}

fn counters(scene: &Scene, frame: &mut Frame<'_>, area: Rect) {
    let room = usize::from(area.width.saturating_sub(2));
    let lines = LABELS.map(|labels| account(scene, labels));
    let [long, middle, short] = lines;
    let line = [long, middle].into_iter().find(|line| line.width() <= room).unwrap_or(short);
    frame.render_widget(Paragraph::new(line).block(block("Account")), area);
}

/// The texts of the account, from the widest terminal to the narrowest.
const LABELS: [[&str; 6]; 3] = [
    ["orders placed", "served", "lost", "waiting mean", "changes of master", "passengers arrived"],
    ["placed", "served", "lost", "waiting mean", "changes of master", "arrived"],
    ["placed", "served", "lost", "mean", "masters", "arrived"],
];

fn account<'a>(scene: &Scene, labels: [&'a str; 6]) -> Line<'a> {
    let tally = scene.tally;
    let lost = if tally.lost == 0 { palette::good() } else { palette::bad() };
    let waits = tally.mean().map_or_else(
        || "–".to_owned(),
        |mean| {
            let [mean, late, longest] = [mean, tally.late, tally.longest].map(seconds);
            // Where there is room.
            let longest =
                if labels == LABELS[0] { format!("  max {longest}") } else { String::new() };
            format!("{mean}  P90 {late}{longest}")
        },
    );
    let changes = scene.master_changes;
    let changes = changes.map_or_else(|| "–".to_owned(), |changes| changes.to_string());
    let plain = Style::new();
    let figures = [
        (tally.placed.to_string(), plain),
        (tally.served.to_string(), palette::good()),
        (tally.lost.to_string(), lost),
        (waits, plain),
        (changes, plain),
        (scene.arrived.to_string(), plain),
    ];
    let spans = labels.into_iter().zip(figures).flat_map(|(label, (value, style))| {
        [
            Span::styled(format!(" {label}"), palette::quiet()),
            Span::styled(format!(" {value} "), style.add_modifier(Modifier::BOLD)),
        ]
    });
    spans.collect()
}

fn keys(scene: &Scene) -> Vec<Line<'_>> {
    let traffic = [
        ("←→", "car"),
        ("↑↓", "floor"),
        ("u/d", "hall"),
        ("c", "car call"),
        ("space", "pause"),
        ("p", "power"),
        ("q", "quit"),
    ];
    let faults = [
        ("k", "kill"),
        ("r", "start"),
        ("z", "suspend"),
        ("n", "net"),
        ("l", "line"),
        ("h", "hang"),
        ("x", "clear"),
        ("o", "obstruct"),
        ("s", "stop"),
    ];
    // As a whole, so that a terminal offers to open it.
    let panel = Line::styled(format!(" {}", scene.panel), palette::quiet());
    vec![legend(&traffic), legend(&faults), panel]
}

fn clock(time: Duration) -> String {
    format!("{:02}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests;
