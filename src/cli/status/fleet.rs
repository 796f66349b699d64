//! The page of `liftmesh status --fleet`.

use elevator_fleet::model::{NodeId, Reason, Role};
use liftmesh_api::{Car, Fleet, State};

use super::{choose, conflicts, hangs, known, list, lost, orders, section};

pub(crate) fn page(state: &State) -> String {
    let fleet = &state.fleet;
    let nodes = match fleet.nodes.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    };
    let master = match &fleet.master {
        Some(master) => format!("master {master}"),
        None => "no master".to_owned(),
    };
    let Fleet { node, fleet: name, term, election, .. } = fleet;
    let floors = fleet.floors().get();
    let mut head = vec![format!(
        "Fleet {name}: {nodes}, {master}, term {term}, {election}, {floors} floors; as node {node} \
         sees it"
    )];
    let said = commands(fleet).into_iter().chain(faults(fleet));
    head.extend(said.map(|said| format!("  {said}")));
    head.join("\n") + "\n" + &tables(state)
}

/// All that a node knows of nodes, cars and orders.
pub(super) fn tables(state: &State) -> String {
    let fleet = &state.fleet;
    [
        node_table(fleet),
        car_table(state),
        orders(state.orders.iter().map(|order| &order.what)),
        lost(&fleet.lost),
        hangs(&fleet.hangs),
        conflicts(&fleet.conflicts),
    ]
    .concat()
}

/// What is commanded for all cars, in words.
pub(crate) fn commands(fleet: &Fleet) -> Vec<String> {
    let alarms = fleet.alarms.iter();
    let mut commands: Vec<_> =
        alarms.map(|car| format!("alarm from car {car}, not acknowledged")).collect();
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
pub(crate) fn faults(fleet: &Fleet) -> Vec<String> {
    let disk = fleet.disk_failed.then(|| format!("the disk of {} has failed", fleet.node));
    let key = fleet.fleet_keys_missing.as_ref();
    let key = key.map(|reason| format!("a fleet key is missing: {reason}"));
    disk.into_iter().chain(key).collect()
}

fn node_table(fleet: &Fleet) -> String {
    let rows = sorted(fleet).into_iter().map(|node| {
        let milliseconds = |time: f64| format!("{:.1} ms", time * 1_000.0);
        let per_cent = |share: f64| format!("{:.1} %", share * 100.0);
        let dash = || "-".to_owned();
        let [silent, round_trip, loss, link, store] = if node.is_self {
            [(); 5].map(|()| dash())
        } else {
            [
                format!("{:.0} ms", node.silent * 1_000.0),
                node.round_trip.map_or_else(dash, milliseconds),
                node.loss.map_or_else(dash, per_cent),
                choose(node.synced, "synced", "none"),
                choose(node.in_step, "in step", "differs"),
            ]
        };
        let [name, role, state] =
            [node.node.to_string(), node.role.to_string(), node.node_state.to_string()];
        [name, role, state, node.address.to_string(), silent, round_trip, loss, link, store]
    });
    let heading = ["NODE", "ROLE", "STATE", "ADDRESS", "SILENT", "DELAY", "LOSS", "LINK", "STORE"];
    section("Nodes", heading, rows)
}

/// The nodes by name.
fn sorted(fleet: &Fleet) -> Vec<&liftmesh_api::Node> {
    let mut nodes: Vec<_> = fleet.nodes.iter().collect();
    nodes.sort_by_key(|node| &node.node);
    nodes
}

fn car_table(state: &State) -> String {
    let cabins = sorted(&state.fleet).into_iter().filter(|node| node.role == Role::Cabin);
    let rows =
        cabins.map(|node| car_row(&node.node, state.cars.iter().find(|car| car.node == node.node)));
    let heading =
        ["CAR", "FLOOR", "PHASE", "FOR", "COLLECTS", "LOAD", "MODE", "SERVICE", "LOCKED OUT"];
    let text = section("Cars", heading, rows);
    if text.is_empty() { "\nNo car is heard\n".to_owned() } else { text }
}

fn car_row(name: &NodeId, car: Option<&Car>) -> [String; 9] {
    let Some(car) = car else {
        let mut row = [(); 9].map(|()| "-".to_owned());
        (row[0], row[2]) = (name.to_string(), "not described yet".to_owned());
        return row;
    };
    [
        name.to_string(),
        known(car.floor),
        car.phase.to_string(),
        format!("{:.1} s", car.elapsed),
        car.direction.map_or_else(|| "either way".to_owned(), |direction| direction.to_string()),
        car.load.map_or_else(|| "-".to_owned(), |load| format!("{load} %")),
        car.mode.to_string(),
        match car.unavailable {
            None => "in service".to_owned(),
            Some(_) if is_said_by_mode(car) => "not in service".to_owned(),
            Some(why) => why.to_string(),
        },
        choose(car.locked_out.is_empty(), "-", &list(&car.locked_out)),
    ]
}

/// Whether the mode of a car says why it is not in service.
pub(crate) fn is_said_by_mode(car: &Car) -> bool {
    match car.unavailable {
        Some(Reason::Mode(_)) => true,
        Some(Reason::Other(why)) => why.is_said_by(car.mode),
        None => false,
    }
}
