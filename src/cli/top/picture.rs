//! What `liftmesh top` shows.

use std::borrow::Cow;
use std::time::Instant;

use elevator_driver::{Button, DoorState, LampSet};
use elevator_fleet::model::{Call, CarPhase, Mode, Reason, Unavailable};
use elevator_fleet::node::{LossCause, Report};
use liftmesh_api::Car;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::scene::{Scene, Shaft};
use crate::cli::status::fleet::{commands, faults, is_said_by_mode};
use crate::client::Notice;
use crate::operator::Event;
use crate::screen::shafts::{Bank, Cabin, Label};
use crate::screen::{self, Entry, Key, Node, Picture, palette};

const KEYS: &[&[Key]] = &[&[screen::CAR, screen::FLOOR, screen::HELP, screen::QUIT]];

/// From this share of lost beacons on the network needs attention.
const LOSSY: f64 = 0.05;

/// What comes between an error and its remedy. Together they need the line below the title.
const REMEDY: &str = "; ";

/// The scene as it is at `now`.
pub(super) fn picture(scene: &Scene, now: Instant) -> Picture<'_> {
    let live = scene.is_live(now);
    Picture {
        title: title(scene, now),
        told: (warnings(scene), 1),
        bank: Bank {
            floors: scene.state.fleet.floors,
            cars: scene.shafts().iter().map(|shaft| cabin(scene, shaft, live)).collect(),
            waiting: &[],
            choice: scene.choice,
        },
        nodes: nodes(scene, live),
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
        Span::styled(" liftmesh ", palette::badge()),
        Span::styled(format!("  {}", fleet.fleet), palette::heading()),
        Span::raw(format!(
            " as {} sees it, {}, term {}   ",
            fleet.node, fleet.election, fleet.term
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
    let fleet = &scene.state.fleet;
    if let Some(why) = scene.gone.as_ref().filter(|why| why.contains(REMEDY)) {
        return Line::styled(why, palette::bad());
    }
    let mut told = faults(fleet);
    let lossy = fleet.nodes.iter().filter_map(|node| Some((node, node.loss?)));
    told.extend(lossy.filter(|(_, loss)| *loss >= LOSSY).map(|(node, loss)| {
        format!("{:.0} % of the beacons of {} are lost", loss * 100.0, node.node)
    }));
    told.extend(fleet.conflicts.iter().map(|conflict| conflict.what.clone()));
    let commands = commands(fleet).join("; ");
    let commands = Span::styled(commands, palette::notable());
    let told = match (told.is_empty(), commands.width() > 0) {
        (true, true) => return commands.into(),
        (true, false) => Span::styled("no warnings", palette::quiet()),
        (false, true) => Span::styled(format!("; {}", told.join("; ")), palette::bad()),
        (false, false) => Span::styled(told.join("; "), palette::bad()),
    };
    vec![commands, told].into()
}

/// The lamps of a car's shaft: those of promised orders, as on the panels. What a lost node's panel
/// shows is not known.
fn lamps(scene: &Scene, shaft: &Shaft<'_>, live: bool) -> LampSet {
    if !live || matches!(shaft, Shaft::Lost(_)) {
        return LampSet::new();
    }
    let promised = scene.state.orders.iter().filter(|order| order.what.promised);
    let lit = promised.filter_map(|order| match &order.what.call {
        Call::Hall(hall) if hall.to.is_none() => Some(Button::Hall(hall.floor, hall.direction)),
        Call::Car { car, floor } if car == shaft.name() => Some(Button::Car(*floor)),
        Call::Hall(_) | Call::Car { .. } => None,
    });
    lit.collect()
}

fn cabin<'a>(scene: &Scene, shaft: &Shaft<'a>, live: bool) -> Cabin<'a> {
    let car = match shaft {
        Shaft::Heard { car, .. } => *car,
        Shaft::Lost(_) => None,
    };
    let door = car.map_or(DoorState::Closed, |car| car.door);
    let floor = car.and_then(|car| car.floor);
    Cabin {
        name: shaft.name().as_str(),
        height: floor.map(|floor| f64::from(floor.index())),
        door,
        door_fraction: match door {
            DoorState::Closed => 0.0,
            DoorState::Opening | DoorState::Closing => 0.5,
            DoorState::Open => 1.0,
        },
        indicator: floor,
        lantern: car.and_then(|car| car.direction),
        lamps: Cow::Owned(lamps(scene, shaft, live)),
        riding: 0,
        obstructed: false,
        sound: live && car.is_some_and(|car| car.in_service),
        role: match shaft {
            _ if !live => unknown(),
            Shaft::Heard { state, .. } => screen::node_state(state),
            Shaft::Lost(_) => Label::new("lost", palette::bad()),
        },
        condition: match (shaft, car) {
            _ if !live => unknown(),
            (Shaft::Lost(lost), _) => Label::new(cause(lost.cause), palette::bad()),
            (Shaft::Heard { .. }, Some(car)) => condition(car),
            (Shaft::Heard { .. }, None) => unknown(),
        },
    }
}

fn condition(car: &Car) -> Label {
    match (car.unavailable, car.phase) {
        (Some(Reason::Other(Unavailable::Hung)), _) => Label::new("hung", palette::bad()),
        _ if is_said_by_mode(car) => mode(car.mode),
        (Some(why), _) => Label::new(why.to_string(), palette::notable()),
        (None, _) if car.mode != Mode::InService => mode(car.mode),
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

fn unknown() -> Label {
    Label::new("unknown", palette::quiet()).or_short("?")
}

/// All that are heard, and those that were lost, by name.
fn nodes(scene: &Scene, live: bool) -> Vec<Node<'_>> {
    let fleet = &scene.state.fleet;
    let heard = fleet.nodes.iter().map(|heard| {
        let (state, (link, silent)) = match live {
            false => (unknown(), (Span::styled("unknown", palette::quiet()), String::new())),
            true if heard.is_self => (screen::node_state(&heard.node_state), own(scene)),
            true => (screen::node_state(&heard.node_state), link(heard)),
        };
        Node {
            name: heard.node.as_str(),
            address: heard.address,
            state,
            more: [link, Span::raw(silent)],
        }
    });
    let lost = fleet.lost.iter().map(|lost| Node {
        name: lost.node.as_str(),
        address: lost.address,
        state: Label::new(cause(lost.cause), palette::bad()),
        more: [
            Span::styled("lost", palette::bad()),
            Span::raw(format!("{} s", lost.silent.as_secs())),
        ],
    });
    let mut nodes: Vec<_> = heard.chain(lost).collect();
    nodes.sort_by_key(|node| node.name);
    nodes
}

/// The store of the node that was asked, and no silence.
fn own(scene: &Scene) -> (Span<'static>, String) {
    let store = if scene.state.fleet.durable {
        Span::styled("on disk", palette::good())
    } else {
        Span::styled("writing", palette::notable())
    };
    (store, "–".to_owned())
}

/// The link to a peer and its store, and how long it has been silent.
fn link(peer: &liftmesh_api::Node) -> (Span<'static>, String) {
    let link = match (peer.synced, peer.in_step) {
        (true, true) => Span::styled("in step", palette::good()),
        (true, false) => Span::styled("differs", palette::notable()),
        (false, _) => Span::styled("no link", palette::notable()),
    };
    (link, format!("{:.0} ms", peer.silent * 1_000.0))
}

fn cause(cause: LossCause) -> &'static str {
    match cause {
        LossCause::Silent => "silent",
        LossCause::Hung => "hung",
    }
}

fn news(notice: &Notice) -> Entry<'_> {
    match notice {
        Notice::Event(Event { at, report }) => Entry {
            head: vec![Span::styled(
                format!(" {} ", at.get(11..19).unwrap_or(at)),
                palette::quiet(),
            )],
            text: report.to_string().into(),
            style: weight(report),
        },
        Notice::Missed(events) => Entry {
            head: vec![Span::raw(" ")],
            text: format!("{events} events were missed").into(),
            style: palette::notable(),
        },
    }
}

fn weight(report: &Report) -> Style {
    match report {
        Report::Served { .. } => palette::good(),
        Report::Hung(_)
        | Report::DiskFailed
        | Report::Conflict { .. }
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
