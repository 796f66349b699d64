//! The cars of the scene, as the shafts show them.

use std::borrow::Cow;

use elevator_driver::DoorState;

use super::super::scene::{CarScene, Life, Scene};
use crate::mesh::Cable;
use crate::screen::shafts::{Bank, Cabin, Label};
use crate::screen::{self, palette};

/// All shafts.
pub(super) fn bank(scene: &Scene) -> Bank<'_> {
    Bank {
        floors: scene.floors,
        cars: scene.cars.iter().map(cabin).collect(),
        waiting: &scene.waiting,
        car: scene.car,
        floor: scene.floor,
    }
}

fn cabin(car: &CarScene) -> Cabin<'_> {
    Cabin {
        name: car.name.as_str(),
        height: Some(car.height),
        door: car.door,
        door_fraction: car.door_fraction,
        indicator: car.indicator,
        lantern: car.lantern,
        lamps: Cow::Borrowed(&car.lamps),
        riding: car.riding,
        obstructed: car.faults.obstructed,
        sound: !car.faults.stuck && car.node.life == Life::Running,
        role: role(car),
        condition: condition(car),
    }
}

/// The state of its node, or what became of it.
fn role(car: &CarScene) -> Label {
    match &car.node.life {
        Life::Starting => Label::new("starting", palette::quiet()).or_short("starts"),
        Life::Suspended => Label::new("suspended", palette::bad()).or_short("susp."),
        Life::Killed => Label::new("killed", palette::bad()),
        Life::Hung => Label::new("hung", palette::bad()),
        Life::Cleared => Label::new("cleared", palette::notable()),
        Life::Ended(_) => Label::new("ended", palette::bad()),
        Life::Running => match car.node.view() {
            Some(view) => screen::role(&view.node_state),
            None => Label::new("", palette::quiet()),
        },
    }
}

fn condition(car: &CarScene) -> Label {
    let why = car.node.unavailable();
    let bad = |word| Label::new(word, palette::bad());
    match (car.faults, why) {
        (faults, _) if faults.stuck => bad("motor stuck").or_short("stuck"),
        (faults, _) if faults.stopped => bad("stop pulled").or_short("stopped"),
        (faults, _) if faults.obstructed => bad("obstructed"),
        (_, Some(why)) => Label::new(why.to_string(), palette::notable()),
        (..) if car.node.cable == Cable::Cut => bad("net cut"),
        (..) => match (car.door, car.moves) {
            (DoorState::Opening, _) => Label::new("opening", palette::good()),
            (DoorState::Open, _) => Label::new("open", palette::good()),
            (DoorState::Closing, _) => Label::new("closing", palette::good()),
            (DoorState::Closed, Some(direction)) => {
                Label::new(direction.to_string(), palette::quiet())
            }
            (DoorState::Closed, None) => Label::new("at rest", palette::quiet()),
        },
    }
}
