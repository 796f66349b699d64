//! The picture of `liftmesh top`.
//!
//! ```text
//!   title: the fleet, and whether the picture is the present one
//!   what is commanded for all cars, and warnings (one line)
//!   shafts (side by side)    │ nodes
//!                            │ open orders
//!                            │ events, newest first
//!   keys
//! ```

use std::borrow::Cow;
use std::time::Instant;

use elevator_driver::{Button, DoorState, LampSet};
use elevator_fleet::model::{Call, CarPhase, CarView, Mode, Unavailable};
use elevator_fleet::node::{LossCause, LostStatus, PeerStatus, Report};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table};

use super::scene::{Car, CarNode, News, Scene};
use crate::cli::status;
use crate::operator::Event;
use crate::screen::lists::{self, LEAST};
use crate::screen::shafts::{self, Bank, Cabin, Label};
use crate::screen::{self, LISTS, block, first_shown, legend, palette};

/// The columns and lines of the smallest useful terminal.
const NEEDED: (u16, u16) = (80, 22);

/// From this share of lost beacons on the network needs attention.
const LOSSY: f64 = 0.05;

/// What comes between an error and its remedy. Together they need the line below the title.
const REMEDY: &str = "; ";

/// Draws the whole screen, as it is at `now`.
pub(super) fn draw(scene: &Scene, now: Instant, frame: &mut Frame<'_>) {
    if frame.area().width < NEEDED.0 || frame.area().height < NEEDED.1 {
        return screen::draw_size(frame, NEEDED, "liftmesh status --fleet");
    }
    let lines = [1, 1].map(Constraint::Length);
    let [title, told, body, keys] =
        Layout::vertical([lines[0], lines[1], Constraint::Min(8), Constraint::Length(1)])
            .areas(frame.area());
    let live = scene.is_live(now);
    frame.render_widget(self::title(scene, now), title);
    frame.render_widget(warnings(scene), told);
    let cars = scene.cars();
    let lamps = lamps(scene, &cars, live);
    let bank = Bank {
        floors: scene.fleet.floors,
        cars: cars.iter().zip(&lamps).map(|(car, lamps)| cabin(car, lamps, live)).collect(),
        waiting: &[],
        car: scene.car,
        floor: scene.floor,
    };
    let [left, right] = screen::divide(&bank, body);
    if cars.is_empty() {
        let text = Paragraph::new(" No car is heard.").block(block("Shafts"));
        frame.render_widget(text, left);
    } else {
        shafts::draw(&bank, frame, left);
    }
    let nodes = scene.fleet.nodes.len() + scene.fleet.lost.len();
    let [top, middle, bottom] = Layout::vertical(lists::heights(nodes, right.height)).areas(right);
    draw_nodes(scene, cars.get(scene.car), live, frame, top);
    lists::draw_orders(&scene.fleet.orders, frame, middle);
    lists::draw_events(scene.news.iter().map(news), frame, bottom);
    let pairs = [("←→", "car"), ("↑↓", "floor"), ("q", "quit")];
    frame.render_widget(legend(&pairs), keys);
}

fn title(scene: &Scene, now: Instant) -> Line<'_> {
    let fleet = &scene.fleet;
    let mut spans = vec![
        Span::styled(" liftmesh ", palette::badge()),
        Span::styled(format!("  {}", fleet.fleet), palette::heading()),
        Span::raw(format!(
            " as {} sees it, {}, term {}   ",
            fleet.seen_by, fleet.election, fleet.term
        )),
    ];
    if !scene.is_live(now) {
        let time = humantime::format_rfc3339_seconds(scene.time).to_string();
        let time = time.get(11..19).unwrap_or_default();
        let age = scene.age(now).as_secs();
        let mut text = format!("no data since {time} UTC, {age} s ago");
        if let Some(why) = scene.gone.as_ref().filter(|why| !why.contains(REMEDY)) {
            text = format!("{text}: {why}");
        }
        spans.push(Span::styled(text, palette::bad()));
        return spans.into();
    }
    spans.extend(match &fleet.master {
        Some(master) => {
            [Span::styled(format!("★ {master}"), palette::notable()), Span::raw(" leads")]
        }
        None => [Span::styled("no master", palette::bad()), Span::raw("")],
    });
    spans.into()
}

/// What is commanded for all cars, and what is wrong with the node that was asked, or with the fleet
/// as it sees it. While the node is gone, why, and what to do about that: what it said is of the past.
fn warnings(scene: &Scene) -> Line<'_> {
    let fleet = &scene.fleet;
    if let Some(why) = scene.gone.as_ref().filter(|why| why.contains(REMEDY)) {
        return Line::styled(format!(" {why}"), palette::bad());
    }
    let mut told = status::fleet::faults(fleet);
    let lossy = fleet.nodes.iter().filter_map(|node| Some((node, node.loss?)));
    told.extend(lossy.filter(|(_, loss)| *loss >= LOSSY).map(|(node, loss)| {
        format!("{:.0} % of the beacons of {} get lost", loss * 100.0, node.node)
    }));
    told.extend(fleet.conflicts.iter().map(|conflict| conflict.what.clone()));
    let commands = status::fleet::commands(fleet).join("; ");
    let commands = Span::styled(format!(" {commands}"), palette::notable());
    let told = match (told.is_empty(), commands.width() > 1) {
        (true, true) => return commands.into(),
        (true, false) => Span::styled("no warnings", palette::quiet()),
        (false, true) => Span::styled(format!("; {}", told.join("; ")), palette::bad()),
        (false, false) => Span::styled(told.join("; "), palette::bad()),
    };
    vec![commands, told].into()
}

/// The lamps of each car's shaft: those of promised orders, as on the panels. What a lost node's
/// panel shows is not known.
fn lamps(scene: &Scene, cars: &[Car<'_>], live: bool) -> Vec<LampSet> {
    let promised = || scene.fleet.orders.iter().filter(|order| order.promised);
    let of_car = |car: &Car<'_>| {
        if !live || matches!(car.node, CarNode::Lost(_)) {
            return LampSet::new();
        }
        let lit = promised().filter_map(|order| match &order.call {
            Call::Hall(hall) if hall.to.is_none() => Some(Button::Hall(hall.floor, hall.direction)),
            Call::Car { car: of, floor } if of == car.name => Some(Button::Car(*floor)),
            Call::Hall(_) | Call::Car { .. } => None,
        });
        lit.collect()
    };
    cars.iter().map(of_car).collect()
}

fn cabin<'a>(car: &Car<'a>, lamps: &'a LampSet, live: bool) -> Cabin<'a> {
    let view = match car.node {
        CarNode::Heard { view, .. } => view,
        CarNode::Lost(_) => None,
    };
    let (door, door_fraction) = view.map_or((DoorState::Closed, 0.0), |view| match view.phase {
        CarPhase::Idle | CarPhase::Moving { .. } | CarPhase::Homing => (DoorState::Closed, 0.0),
        CarPhase::Opening => (DoorState::Opening, 0.5),
        CarPhase::Open => (DoorState::Open, 1.0),
        CarPhase::Closing => (DoorState::Closing, 0.5),
    });
    let floor = view.and_then(|view| view.floor);
    let unknown = || Label::new("unknown", palette::quiet()).or_short("?");
    Cabin {
        name: car.name.as_str(),
        height: floor.map(|floor| f64::from(floor.index())),
        door,
        door_fraction,
        indicator: floor,
        lantern: view.and_then(|view| view.direction),
        lamps: Cow::Borrowed(lamps),
        riding: 0,
        obstructed: false,
        sound: live && view.is_some_and(|view| view.availability.unavailable().is_none()),
        role: match car.node {
            _ if !live => unknown(),
            CarNode::Heard { state, .. } => screen::role(state),
            CarNode::Lost(_) => Label::new("lost", palette::bad()),
        },
        condition: match (&car.node, view) {
            _ if !live => unknown(),
            (CarNode::Lost(lost), _) => Label::new(cause(lost.cause), palette::bad()),
            (CarNode::Heard { .. }, Some(view)) => condition(view),
            (CarNode::Heard { .. }, None) => unknown(),
        },
    }
}

fn condition(view: &CarView) -> Label {
    match (view.availability.unavailable(), view.phase) {
        (Some(Unavailable::Hung), _) => Label::new("hung", palette::bad()),
        (Some(why), _) if why.is_said_by(view.mode) => mode(view.mode),
        (Some(why), _) => Label::new(why.to_string(), palette::notable()),
        (None, _) if view.mode != Mode::InService => mode(view.mode),
        (None, CarPhase::Moving { direction, stop_at, .. }) => {
            let arrow = screen::arrow(direction);
            Label::new(format!("{direction} to {stop_at}"), palette::quiet())
                .or_short(format!("{arrow} {stop_at}"))
        }
        (None, CarPhase::Idle) => Label::new("at rest", palette::quiet()),
        (None, CarPhase::Homing) => Label::new("homing", palette::notable()),
        (None, CarPhase::Opening) => Label::new("opening", palette::good()),
        (None, CarPhase::Open) => Label::new("open", palette::good()),
        (None, CarPhase::Closing) => Label::new("closing", palette::good()),
    }
}

/// The mode of a car, which says more than what it does. The narrowest car has room for 11 columns.
fn mode(mode: Mode) -> Label {
    let word = |word: &'static str| Label::new(word, palette::notable());
    match mode {
        Mode::InService => word("in service"),
        Mode::Attendant => word("attendant"),
        Mode::Priority => word("priority"),
        Mode::Independent => word("independent"),
        Mode::OutOfService => word("out of service").or_short("out of serv"),
        Mode::EmergencyPower => word("emergency power").or_short("emerg power"),
        Mode::FireRecall => word("fire recall"),
        Mode::FireService => word("fire service").or_short("firefighter"),
    }
}

fn draw_nodes(
    scene: &Scene,
    chosen: Option<&Car<'_>>,
    live: bool,
    frame: &mut Frame<'_>,
    area: Rect,
) {
    let wide = area.width >= LISTS;
    let fleet = &scene.fleet;
    let mut nodes: Vec<_> = fleet.nodes.iter().map(Ok).chain(fleet.lost.iter().map(Err)).collect();
    let name = |node: &Result<&PeerStatus, &LostStatus>| match node {
        Ok(heard) => heard.node.clone(),
        Err(lost) => lost.node.clone(),
    };
    nodes.sort_by_key(name);
    let is_chosen = |node: &_| chosen.is_some_and(|car| *car.name == name(node));
    let shown = usize::from(area.height.saturating_sub(LEAST - 1)).min(nodes.len());
    let first = nodes.iter().position(is_chosen).unwrap_or(0);
    let first = first_shown(first, shown, nodes.len());
    let rows = nodes.iter().skip(first).take(shown).map(|node| {
        let style = if is_chosen(node) { palette::selected() } else { palette::heading() };
        let unknown = || Span::styled("unknown", palette::quiet());
        let (address, state, link, silent) = match node {
            Ok(heard) if !live => (heard.address, unknown(), unknown(), String::new()),
            Ok(heard) => {
                let (state, style) = screen::node_state(&heard.node_state);
                let is_own = heard.node == fleet.seen_by;
                let (link, silent) = if is_own { own(scene) } else { link(heard) };
                (heard.address, Span::styled(state, style), link, silent)
            }
            Err(lost) => {
                let silent = format!("{} s", lost.silent.as_secs());
                let state = Span::styled(cause(lost.cause), palette::bad());
                (lost.address, state, Span::styled("lost", palette::bad()), silent)
            }
        };
        let name = Span::styled(format!(" {} ", name(node)), style);
        Row::new(without_address(
            wide,
            [name, Span::raw(address.to_string()), state, link, Span::raw(silent)],
        ))
    });
    let lengths = [(5, 0), (13, 0), (0, 10), (8, 0), (7, 0)];
    let widths = lengths.map(|(fixed, least)| match fixed {
        0 => Constraint::Min(least),
        fixed => Constraint::Length(fixed),
    });
    let header = without_address(wide, ["node", "address", "state", "store", "silent"]);
    let header = Row::new(header).style(palette::quiet());
    let title = if shown < nodes.len() {
        format!("Fleet {}–{} of {}", first + 1, first + shown, nodes.len())
    } else {
        "Fleet".to_owned()
    };
    let table = Table::new(rows, without_address(wide, widths)).header(header);
    frame.render_widget(table.block(block(&title)), area);
}

/// What a row of the fleet shows; a narrow one has no room for the address.
fn without_address<T>(wide: bool, row: [T; 5]) -> Vec<T> {
    let cells = row.into_iter().enumerate();
    let shown = cells.filter(|(index, _)| wide || *index != 1);
    shown.map(|(_, cell)| cell).collect()
}

/// The store of the node that was asked, and no silence.
fn own(scene: &Scene) -> (Span<'static>, String) {
    let store = if scene.fleet.durable {
        Span::styled("on disk", palette::good())
    } else {
        Span::styled("writing", palette::notable())
    };
    (store, "–".to_owned())
}

/// The link to a peer and its store, and how long it has been silent.
fn link(peer: &PeerStatus) -> (Span<'static>, String) {
    let link = match (peer.synced, peer.in_step) {
        (true, true) => Span::styled("in step", palette::good()),
        (true, false) => Span::styled("differs", palette::notable()),
        (false, _) => Span::styled("no link", palette::notable()),
    };
    (link, format!("{} ms", peer.silent.as_millis()))
}

fn cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Silent => "silent",
        LossCause::Hung => "hung",
    }
}

fn news(news: &News) -> Line<'_> {
    match news {
        News::Event(Event { at, report }) => Line::from(vec![
            Span::styled(format!(" {} ", at.get(11..19).unwrap_or(at)), palette::quiet()),
            Span::styled(report.to_string(), weight(report)),
        ]),
        News::Missed(events) => {
            Line::styled(format!(" {events} events were missed"), palette::notable())
        }
    }
}

/// How much an event matters.
fn weight(report: &Report) -> Style {
    match report {
        Report::Served { .. } => palette::good(),
        Report::Hung(_)
        | Report::DiskFailed
        | Report::Conflict(_)
        | Report::PeerLost { .. }
        | Report::DriveRefused
        | Report::OffTarget { .. }
        | Report::FloorUnreachable { .. }
        | Report::Panel(Err(_)) => palette::bad(),
        Report::NodeState { .. }
        | Report::PeerDiscovered { .. }
        | Report::Repair { .. }
        | Report::TakenOver { .. }
        | Report::Dropped { .. }
        | Report::Setting { .. }
        | Report::Availability(_)
        | Report::Panel(Ok(()))
        | Report::PressRefused { .. } => palette::notable(),
        Report::Rotated { .. }
        | Report::Synced { .. }
        | Report::Placed { .. }
        | Report::Promised { .. }
        | Report::Assigned { .. }
        | Report::Door { .. }
        | Report::Floor { .. } => Style::new(),
    }
}
