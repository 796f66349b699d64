//! What `liftmesh top` shows.

use std::borrow::Cow;
use std::time::Instant;

use elevator_driver::{DoorState, LampSet};
use elevator_fleet::model::{Call, CarPhase, Mode, NodeId, Reason, Unavailable};
use elevator_fleet::node::Report;
use liftmesh_api::Car;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::scene::{Known, Scene, name};
use crate::cli::status::fleet::{commands, faults, is_said_by_mode};
use crate::cli::status::word;
use crate::client::Notice;
use crate::operator::Event;
use crate::screen::shafts::{Bank, Cabin, Label};
use crate::screen::{self, Entry, Key, Node, Picture, palette};

const KEYS: &[&[Key]] = &[&[screen::CAR, screen::FLOOR, screen::HELP, screen::QUIT]];

/// From this share of lost beacons on the network needs attention.
const LOSSY: f64 = 0.05;

/// The scene as it is at `now`; without cars and nodes if the node that was asked is gone.
pub(super) fn picture(scene: &Scene, now: Instant) -> Picture<'_> {
    let is_live = scene.is_live(now);
    let [cabins, nodes] =
        if is_live { [scene.cabins(), scene.nodes()] } else { [Vec::new(), Vec::new()] };
    Picture {
        title: title(scene, now),
        told: (warnings(scene), 1),
        bank: Bank {
            floors: scene.state.fleet.floors(),
            cars: cabins.into_iter().map(|known| cabin(scene, known)).collect(),
            waiting: &[],
            choice: scene.choice,
        },
        nodes: nodes.into_iter().map(|known| node(scene, known)).collect(),
        columns: ["store", "silent"],
        orders: scene.state.orders.iter().map(|order| &order.what).collect(),
        events: scene.news.iter().map(news).collect(),
        foot: Vec::new(),
        keys: KEYS,
        instead: "liftmesh status --fleet",
    }
}

fn title(scene: &Scene, now: Instant) -> Line<'_> {
    let fleet = &scene.state.fleet;
    let mut spans = vec![
        Span::styled(" liftmesh ", palette::BADGE),
        Span::styled(format!("  {}", fleet.fleet), palette::HEADING),
        Span::raw(format!(
            " as {} sees it, {}, term {}   ",
            fleet.node, fleet.election, fleet.term
        )),
    ];
    if !scene.is_live(now) {
        let time = humantime::format_rfc3339_seconds(scene.time).to_string();
        let time = time.get(11..19).unwrap_or_default();
        let age = scene.age(now).as_secs();
        let text = format!("no data since {time} UTC, {age} s ago");
        spans.push(Span::styled(text, palette::BAD));
        return spans.into();
    }
    spans.extend(screen::leader(fleet.master.as_ref(), "no master"));
    spans.into()
}

/// What is commanded for all cars, and what is wrong; while the node is gone, why.
fn warnings(scene: &Scene) -> Line<'_> {
    let fleet = &scene.state.fleet;
    if let Some(why) = &scene.gone {
        return Line::styled(why, palette::BAD);
    }
    let mut told = faults(fleet);
    let lossy = fleet.nodes.iter().filter_map(|node| Some((node, node.loss?)));
    told.extend(lossy.filter(|(_, loss)| *loss >= LOSSY).map(|(node, loss)| {
        format!("{:.0} % of the beacons of {} are lost", loss * 100.0, node.node)
    }));
    told.extend(fleet.conflicts.iter().map(|conflict| conflict.what.clone()));
    let commands = commands(fleet).into_iter().map(|text| (text, palette::NOTABLE));
    let told = told.into_iter().map(|text| (text, palette::BAD));
    let mut spans = Vec::new();
    for (text, style) in commands.chain(told) {
        let text = if spans.is_empty() { text } else { format!("; {text}") };
        spans.push(Span::styled(text, style));
    }
    if spans.is_empty() {
        spans.push(Span::styled("no warnings", palette::QUIET));
    }
    spans.into()
}

/// The lamps of a car's shaft: those of promised orders, as on the panels.
fn lamps(scene: &Scene, name: &NodeId) -> LampSet {
    let promised = scene.state.orders.iter().filter(|order| order.what.promised);
    let lit = promised.filter_map(|order| match &order.what.call {
        Call::Car { car, .. } if car != name => None,
        call => call.button(),
    });
    lit.collect()
}

fn cabin<'a>(scene: &'a Scene, known: Known<'a>) -> Cabin<'a> {
    let (name, car) = (name(&known), scene.car(known));
    let door = car.map_or(DoorState::Closed, |car| car.door);
    let floor = car.and_then(|car| car.floor);
    let (role, lamps, condition) = match known {
        Ok(node) => {
            let condition = car.map_or_else(unknown, condition);
            (screen::node_state(&node.node_state), lamps(scene, name), condition)
        }
        // What its panel shows is not known.
        Err(lost) => (
            Label::new("lost", palette::BAD),
            LampSet::new(),
            Label::new(word(&lost.cause), palette::BAD),
        ),
    };
    Cabin {
        name: name.as_str(),
        height: floor.map(|floor| f64::from(floor.index())),
        door,
        door_fraction: match door {
            DoorState::Closed => 0.0,
            DoorState::Opening | DoorState::Closing => 0.5,
            DoorState::Open => 1.0,
        },
        indicator: floor,
        lantern: car.and_then(|car| car.direction),
        lamps: Cow::Owned(lamps),
        riding: 0,
        obstructed: false,
        sound: car.is_some_and(|car| car.in_service),
        role,
        condition,
    }
}

fn condition(car: &Car) -> Label {
    match (car.unavailable, car.phase) {
        (Some(Reason::Other(Unavailable::Hung)), _) => Label::new("hung", palette::BAD),
        _ if is_said_by_mode(car) => mode(car.mode),
        (Some(why), _) => Label::new(why.to_string(), palette::NOTABLE),
        (None, _) if car.mode != Mode::InService => mode(car.mode),
        (None, CarPhase::Moving { direction, stop_at, .. }) => {
            let arrow = screen::arrow(direction);
            Label::new(format!("{direction} to {stop_at}"), palette::QUIET)
                .or_short(format!("{arrow} {stop_at}"))
        }
        (None, CarPhase::Idle) => Label::new("at rest", palette::QUIET),
        (None, CarPhase::Homing) => Label::new("homing", palette::NOTABLE),
        (None, CarPhase::Opening) => Label::new("opening", palette::GOOD),
        (None, CarPhase::Open) => Label::new("open", palette::GOOD),
        (None, CarPhase::Closing) => Label::new("closing", palette::GOOD),
    }
}

/// The mode of a car, which says more than what it does. The narrowest car has room for 11 columns.
fn mode(mode: Mode) -> Label {
    let label = Label::new(mode.to_string().replace('-', " "), palette::NOTABLE);
    match mode {
        Mode::OutOfService => label.or_short("out of serv"),
        Mode::EmergencyPower => label.or_short("emerg power"),
        Mode::FireService => label.or_short("firefighter"),
        Mode::InService
        | Mode::Attendant
        | Mode::Priority
        | Mode::Independent
        | Mode::FireRecall => label,
    }
}

fn unknown() -> Label {
    Label::new("unknown", palette::QUIET).or_short("?")
}

fn node<'a>(scene: &Scene, known: Known<'a>) -> Node<'a> {
    let (address, state, link, silent) = match known {
        Ok(node) => {
            let (link, silent) = if node.is_self { own(scene) } else { link(node) };
            (node.address, screen::node_state(&node.node_state), link, silent)
        }
        Err(lost) => (
            lost.address,
            Label::new(word(&lost.cause), palette::BAD),
            Span::styled("lost", palette::BAD),
            format!("{} s", lost.silent.as_secs()),
        ),
    };
    Node { name: name(&known).as_str(), address, state, more: [link, Span::raw(silent)] }
}

fn own(scene: &Scene) -> (Span<'static>, String) {
    let store = if scene.state.fleet.durable {
        Span::styled("on disk", palette::GOOD)
    } else {
        Span::styled("writing", palette::NOTABLE)
    };
    (store, "–".to_owned())
}

/// The link to a peer and its store, and how long it has been silent.
fn link(peer: &liftmesh_api::Node) -> (Span<'static>, String) {
    let link = match (peer.synced, peer.in_step) {
        (true, true) => Span::styled("in step", palette::GOOD),
        (true, false) => Span::styled("differs", palette::NOTABLE),
        (false, _) => Span::styled("no link", palette::NOTABLE),
    };
    (link, format!("{:.0} ms", peer.silent * 1_000.0))
}

fn news(notice: &Notice) -> Entry<'_> {
    match notice {
        Notice::Event(Event { at, report, .. }) => Entry {
            head: vec![Span::styled(format!(" {} ", at.get(11..19).unwrap_or(at)), palette::QUIET)],
            text: report.to_string().into(),
            style: weight(report),
        },
        Notice::Missed(events) => Entry {
            head: vec![Span::raw(" ")],
            text: format!("{events} events were missed").into(),
            style: palette::NOTABLE,
        },
    }
}

fn weight(report: &Report) -> Style {
    match report.name() {
        _ if matches!(report, Report::Rotated { .. }) => Style::new(),
        "served" => palette::GOOD,
        _ if matches!(report, Report::Panel(Ok(())) | Report::Dispatcher(Ok(()))) => {
            palette::NOTABLE
        }
        "hung" | "disk_failed" | "conflict" | "peer_lost" | "drive_refused" | "off_target"
        | "floor_unreachable" | "maintenance_due" | "panel" | "dispatcher" => palette::BAD,
        "synced" | "placed" | "promised" | "assigned" | "door" | "floor" => Style::new(),
        _ => palette::NOTABLE,
    }
}
