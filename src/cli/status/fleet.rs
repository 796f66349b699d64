//! The page of `liftmesh status --fleet`.

use std::fmt::{self, Write};
use std::time::Duration;

use elevator_fleet::model::{CarView, Role};
use elevator_fleet::node::{FleetStatus, PeerStatus};

use super::{choose, known, list, write_conflicts, write_hangs, write_lost, write_orders};
use crate::cli::table::table;

/// The whole fleet as a page of text.
pub(crate) fn page(fleet: &FleetStatus) -> String {
    let mut page = String::new();
    write_page(&mut page, fleet).unwrap_or_else(|error| unreachable!("{error}"));
    page
}

fn write_page(page: &mut String, fleet: &FleetStatus) -> fmt::Result {
    let nodes = match fleet.nodes.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let master = match &fleet.master {
        Some(master) => format!("master {master}"),
        None => "no master".to_owned(),
    };
    writeln!(
        page,
        "Fleet {}: {nodes}, {master}, term {}, {}, {} floors; as node {} sees it",
        fleet.fleet,
        fleet.term,
        fleet.election,
        fleet.floors.get(),
        fleet.seen_by
    )?;
    let (commands, faults) = (commands(fleet), faults(fleet));
    commands.iter().chain(&faults).try_for_each(|said| writeln!(page, "  {said}"))?;
    write_nodes(page, fleet)?;
    write_cars(page, fleet)?;
    write_orders(page, &fleet.orders)?;
    write_lost(page, &fleet.lost)?;
    write_hangs(page, &fleet.hangs)?;
    write_conflicts(page, &fleet.conflicts)
}

/// What is commanded for all cars, in words.
pub(crate) fn commands(fleet: &FleetStatus) -> Vec<String> {
    let mut commands = Vec::new();
    if fleet.fire_recall {
        commands.push("fire recall of all cars".to_owned());
    }
    if fleet.emergency_power {
        commands.push(match &fleet.turn {
            Some(car) => format!("emergency power, car {car}'s turn"),
            None => "emergency power, no car's turn".to_owned(),
        });
    }
    match fleet.locked_floors[..] {
        [] => {}
        [floor] => commands.push(format!("floor {floor} is locked")),
        [..] => commands.push(format!("floors {} are locked", list(&fleet.locked_floors))),
    }
    commands
}

/// What is wrong with the node that was asked.
pub(crate) fn faults(fleet: &FleetStatus) -> Vec<String> {
    let disk = fleet.disk_failed.then(|| format!("the disk of {} has failed", fleet.seen_by));
    let key = fleet.fleet_keys_missing.as_ref();
    let key = key.map(|reason| format!("a fleet key is missing: {reason}"));
    disk.into_iter().chain(key).collect()
}

fn write_nodes(page: &mut String, fleet: &FleetStatus) -> fmt::Result {
    let rows = fleet.nodes.iter().map(|node| {
        let [silent, round_trip, lost, link, store] = if node.node == fleet.seen_by {
            ["-"; 5].map(str::to_owned)
        } else {
            [
                format!("{} ms", node.silent.as_millis()),
                node.round_trip.map_or_else(|| "-".to_owned(), delay),
                node.loss.map_or_else(|| "-".to_owned(), loss),
                choose(node.synced, "synced", "none"),
                choose(node.in_step, "in step", "differs"),
            ]
        };
        let [name, role, state] =
            [node.node.to_string(), node.role.to_string(), node.node_state.to_string()];
        [name, role, state, node.address.to_string(), silent, round_trip, lost, link, store]
    });
    let heading = ["NODE", "ROLE", "STATE", "ADDRESS", "SILENT", "DELAY", "LOSS", "LINK", "STORE"];
    write!(page, "\nNodes\n{}", table(heading, rows))
}

/// A round trip.
fn delay(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1_000.0)
}

/// A share of beacons.
fn loss(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

fn write_cars(page: &mut String, fleet: &FleetStatus) -> fmt::Result {
    let cabins = fleet.nodes.iter().filter(|node| node.role == Role::Cabin);
    let rows: Vec<_> = cabins.map(car).collect();
    if rows.is_empty() {
        return writeln!(page, "\nNo car is heard");
    }
    let heading =
        ["CAR", "FLOOR", "PHASE", "FOR", "COLLECTS", "LOAD", "MODE", "SERVICE", "LOCKED OUT"];
    write!(page, "\nCars\n{}", table(heading, rows))
}

fn car(node: &PeerStatus) -> [String; 9] {
    let name = node.node.to_string();
    let Some(car) = &node.car else {
        let [dash, unknown] = ["-", "not described yet"].map(str::to_owned);
        let rest = || dash.clone();
        return [name, rest(), unknown, rest(), rest(), rest(), rest(), rest(), rest()];
    };
    [
        name,
        known(car.floor),
        car.phase.to_string(),
        format!("{:.1} s", car.elapsed.as_secs_f64()),
        car.direction.map_or_else(|| "either way".to_owned(), |direction| direction.to_string()),
        car.load.map_or_else(|| "-".to_owned(), |load| format!("{load} %")),
        car.mode.to_string(),
        service(car),
        choose(car.locked_out.iter().next().is_none(), "-", &list(car.locked_out.iter())),
    ]
}

/// Whether the group can count on a car, or why not, if its mode does not say it.
fn service(car: &CarView) -> String {
    match car.availability.unavailable() {
        None => "in service".to_owned(),
        Some(why) if why.is_said_by(car.mode) => "not in service".to_owned(),
        Some(why) => why.to_string(),
    }
}
