//! What the demo shows on a screen.

use std::borrow::Cow;
use std::time::Duration;

use elevator_driver::DoorState;
use elevator_fleet::node::Status;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::scene::{CarScene, Event, Life, Phase, Power, Scene, Switch, Weight};
use crate::mesh::Cable;
use crate::screen::shafts::{Bank, Cabin, Label};
use crate::screen::{self, Entry, Key, Node, Picture, palette, seconds};

/// The keys of this screen alone; `stage::faults` handles them.
const KEYS: &[&[Key]] = &[
    &[
        screen::CAR,
        screen::FLOOR,
        ("u/d", "hall", "press the hall button up or down at that floor"),
        ("c", "car call", "press the car button for that floor"),
        ("space", "pause", "hold passengers back, or let them come"),
        ("p", "power", "cut the power of the whole building, or bring it back"),
        screen::HELP,
        screen::QUIT,
    ],
    &[
        ("k", "kill", "kill -9 the node"),
        ("r", "start", "start the node again"),
        ("z", "suspend", "suspend the node, or resume it"),
        ("n", "net", "cut the node's network, or reconnect it"),
        ("l", "line", "cut the line to its panel, or plug it in"),
        ("h", "hang", "jam the motor, or free it: jammed in flight, the car hangs"),
        ("x", "clear", "clear the hang; then start the node"),
        ("o", "door", "obstruct the door, or clear it"),
        ("s", "stop", "pull the stop switch, or push it"),
    ],
];

/// The width of a list of peers; where their names have no room, they are counted.
const PEERS: usize = 7;

pub(super) fn picture(scene: &Scene) -> Picture<'_> {
    Picture {
        title: title(scene),
        told: (election(scene), scene.election.profile().detail_lines),
        bank: Bank {
            floors: scene.floors,
            cars: scene.cars.iter().map(cabin).collect(),
            waiting: &scene.waiting,
            choice: scene.choice,
        },
        nodes: scene.cars.iter().map(node).collect(),
        columns: ["term", "peers"],
        orders: scene.orders.iter().collect(),
        events: scene.events.iter().map(event).collect(),
        // The address as a whole, so that a terminal offers to open it.
        foot: vec![account(scene), Line::styled(format!(" {}", scene.panel), palette::QUIET)],
        keys: KEYS,
        instead: "liftmesh demo --headless",
    }
}

fn title(scene: &Scene) -> Line<'_> {
    let (word, style) = match scene.phase {
        _ if scene.power == Power::Off => ("no power", palette::BAD),
        Phase::Starting => ("starting", palette::NOTABLE),
        Phase::Traffic => ("passengers come and go", palette::GOOD),
        Phase::Paused => ("traffic paused", palette::NOTABLE),
        Phase::Draining => ("serving the last orders", palette::NOTABLE),
    };
    let (cars, floors) = (scene.cars.len(), scene.floors.get());
    Line::from(vec![
        Span::styled(" liftmesh ", palette::BADGE),
        Span::raw(format!(
            "  {cars} cars, {floors} floors, {}, seed {}   ",
            scene.election, scene.seed
        )),
        Span::styled(clock(scene.elapsed), Style::new().add_modifier(Modifier::BOLD)),
        Span::raw("   "),
        Span::styled(word, style),
    ])
}

/// The master, and the chosen node's election state.
fn election(scene: &Scene) -> Line<'_> {
    let mut spans = screen::leader(scene.leader.as_ref(), "no master known to all").to_vec();
    if let Some(car) = scene.cars.get(scene.choice.car) {
        let Label { long, style, .. } = state(car);
        spans.push(Span::raw("   node "));
        spans.push(Span::styled(car.name.as_str(), palette::HEADING));
        spans.push(Span::raw(" "));
        spans.push(Span::styled(long, style));
        let details = car.node.view().map_or(&[][..], |view| &view.election_state);
        for detail in details {
            spans.push(Span::styled(format!(", {} ", detail.name), palette::QUIET));
            spans.push(Span::raw(detail.value.as_str()));
        }
    }
    spans.into()
}

fn cabin(car: &CarScene) -> Cabin<'_> {
    let shown = &car.seen.car;
    Cabin {
        name: car.name.as_str(),
        height: Some(car.height()),
        door: shown.door,
        door_fraction: shown.door_fraction,
        indicator: shown.indicator,
        lantern: shown.lantern,
        lamps: Cow::Borrowed(&shown.lamps),
        riding: car.riding,
        obstructed: car.is(Switch::Door),
        sound: !car.is(Switch::Motor) && car.node.life == Life::Running,
        role: state(car),
        condition: condition(car),
    }
}

fn condition(car: &CarScene) -> Label {
    let bad = |word| Label::new(word, palette::BAD);
    match car.node.unavailable() {
        _ if car.is(Switch::Motor) => bad("motor stuck").or_short("stuck"),
        _ if car.is(Switch::Stop) => bad("stop pulled").or_short("stopped"),
        _ if car.is(Switch::Door) => bad("obstructed"),
        Some(why) => Label::new(why.to_string(), palette::NOTABLE),
        None if car.node.cable == Cable::Cut => bad("net cut"),
        None => match (car.seen.car.door, car.seen.car.driven) {
            (DoorState::Opening, _) => Label::new("opening", palette::GOOD),
            (DoorState::Open, _) => Label::new("open", palette::GOOD),
            (DoorState::Closing, _) => Label::new("closing", palette::GOOD),
            (DoorState::Closed, Some(direction)) => {
                Label::new(direction.to_string(), palette::QUIET)
            }
            (DoorState::Closed, None) => Label::new("at rest", palette::QUIET),
        },
    }
}

fn node(car: &CarScene) -> Node<'_> {
    let view = car.node.view();
    Node {
        name: car.name.as_str(),
        address: car.address,
        state: state(car),
        more: [
            Span::raw(view.map_or_else(String::new, |view| view.term.to_string())),
            Span::raw(view.map_or_else(String::new, peers)),
        ],
    }
}

/// The state of its node, or what became of it.
fn state(car: &CarScene) -> Label {
    match (&car.node.life, car.node.view()) {
        (Life::Starting, _) => Label::new("starting", palette::QUIET).or_short("starts"),
        (Life::Suspended, _) => Label::new("suspended", palette::BAD).or_short("susp."),
        (Life::Killed, _) => Label::new("killed", palette::BAD),
        (Life::Hung, _) => Label::new("hung", palette::BAD),
        (Life::Cleared, _) => Label::new("cleared", palette::NOTABLE),
        (Life::Ended(status), _) => Label::new(status.clone(), palette::BAD).or_short("ended"),
        (Life::Running, None) => Label::new("silent", palette::QUIET),
        (Life::Running, Some(view)) => screen::node_state(&view.node_state),
    }
}

fn peers(view: &Status) -> String {
    let names: Vec<&str> = view.peers.iter().map(|peer| peer.node.as_str()).collect();
    match names.join(" ") {
        _ if names.is_empty() => "alone".to_owned(),
        listed if listed.len() <= PEERS => listed,
        _ => names.len().to_string(),
    }
}

fn event(event: &Event) -> Entry<'_> {
    let car = event.car.as_ref().map_or(" ", |car| car.as_str());
    Entry {
        head: vec![
            Span::styled(format!(" {} ", clock(event.at)), palette::QUIET),
            Span::styled(format!("{car} "), palette::HEADING),
        ],
        text: event.text.as_str().into(),
        style: match event.weight {
            Weight::Plain => Style::new(),
            Weight::Good => palette::GOOD,
            Weight::Notable => palette::NOTABLE,
            Weight::Bad => palette::BAD,
        },
    }
}

fn account(scene: &Scene) -> Line<'_> {
    let tally = scene.tally;
    let lost = if tally.lost == 0 { palette::GOOD } else { palette::BAD };
    let waits = tally.mean().map_or_else(
        || "–".to_owned(),
        |mean| format!("{}, P90 {}", seconds(mean), seconds(tally.late)),
    );
    let plain = Style::new();
    let figures = [
        ("placed", tally.placed.to_string(), plain),
        ("served", tally.served.to_string(), palette::GOOD),
        ("lost", tally.lost.to_string(), lost),
        ("mean", waits, plain),
        ("arrived", scene.arrived.to_string(), plain),
    ];
    let spans = figures.into_iter().flat_map(|(label, value, style)| {
        [
            Span::styled(format!(" {label}"), palette::QUIET),
            Span::styled(format!(" {value} "), style.add_modifier(Modifier::BOLD)),
        ]
    });
    spans.collect()
}

fn clock(time: Duration) -> String {
    format!("{:02}:{:02}", time.as_secs() / 60, time.as_secs() % 60)
}

#[cfg(test)]
mod tests;
