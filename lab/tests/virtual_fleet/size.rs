//! What a large fleet costs.

use std::time::Duration;

use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Fault, MeshTraffic, World, WorldSettings};

use crate::building::{Building, car_call, millis, secs, seed};

/// A fleet of this many nodes that has come to rest.
fn large(nodes: usize) -> Building {
    let mut settings = WorldSettings::new(nodes, seed());
    settings.codec = false;
    let mut building = Building::of(settings);
    building.start_all();
    building.until(secs(10), "one leads all", |world| world.master() == Some(0));
    building.run_for(secs(1));
    building
}

/// What a fleet does in this many seconds.
fn during(building: &mut Building, seconds: u64) -> MeshTraffic {
    let before = building.mesh_traffic();
    building.run_for(secs(seconds));
    let after = building.mesh_traffic();
    MeshTraffic {
        broadcasts: after.broadcasts - before.broadcasts,
        unicasts: after.unicasts - before.unicasts,
        dials: after.dials - before.dials,
        states: after.states - before.states,
        records: after.records - before.records,
        losses: after.losses - before.losses,
        changes: after.changes - before.changes,
    }
}

/// N3: what arrives at a node stays near 400 datagrams a second, however many send. A beacon has
/// room for 32 echoes: where peers have to take turns they are not taken for silent, or each would
/// ask each other for a sign of life.
#[test]
fn what_a_node_receives_in_a_quiet_fleet_is_bounded() {
    for nodes in [9, 16, 32, 33, 64] {
        let mut building = large(nodes);
        let seconds = 3;
        let traffic = during(&mut building, seconds);
        let others = nodes as u64 - 1;
        // A broadcast arrives at all nodes but its sender, a unicast at one.
        let received = traffic.broadcasts * others + traffic.unicasts;
        let each = received / (nodes as u64 * seconds);
        println!("{nodes} nodes: a node receives {each} datagrams a second, {traffic:?}");
        assert_eq!((traffic.losses, traffic.changes), (0, 0), "{nodes} nodes");
        assert!(each <= 400, "{nodes} nodes: {each} datagrams a second");
        let asks = traffic.unicasts / (nodes as u64 * seconds);
        assert!(nodes < 33 || asks <= 1, "{nodes} nodes: {asks} unicasts a node a second");
    }
}

/// F7: each survivor follows the lowest of them at once, and nobody before. Stores are equal, which
/// they nearly always are, so none is sent.
#[test]
fn a_takeover_costs_each_survivor_one_link_and_one_change() {
    for nodes in [8_u64, 64] {
        let mut building = large(usize::try_from(nodes).expect("few"));
        for node in 0..usize::try_from(nodes).expect("few") {
            building.press(node, car_call(u8::try_from(node % 4).expect("few")));
        }
        building.run_for(millis(500));
        building.inflict(Fault::Kill(0));
        let traffic = during(&mut building, 1);
        println!("{nodes} nodes, the master killed: {traffic:?}");
        assert_eq!(building.master(), Some(1));
        let store = building.node(1).expect("it runs").orders();
        assert!(store.registers() as u64 >= nodes / 2);
        let slaves = nodes - 2;
        assert_eq!((traffic.states, traffic.records), (0, 0));
        // Some dial twice.
        assert!(traffic.dials <= 2 * slaves, "{nodes} nodes: {traffic:?}");
        // Briefly a master, then a slave.
        assert!(traffic.changes <= 2 * slaves + 1, "{nodes} nodes: {traffic:?}");
        assert_eq!(traffic.losses, nodes - 1, "nobody but the dead is lost");
    }
}

/// F7: also where the master's end shows by its silence alone, as a power cut's does, and although the
/// others have stretched their periods.
#[test]
fn a_large_fleet_agrees_on_the_next_master_at_once() {
    let master_alone = |world: &World| world.node_state(1) == Some(&NodeState::Master);
    for (fault, limit) in [
        (Fault::Kill(0), Duration::from_millis(100)),
        (Fault::PowerCut(0), Duration::from_millis(300)),
    ] {
        let mut building = large(64);
        let what = format!("{fault:?}");
        building.inflict(fault);
        let first = building.until(limit, "the next leads", master_alone);
        let limit = Duration::from_millis(100);
        let last = building.until(limit, "it leads all", |world| world.master() == Some(1));
        println!("{what}: the next leads after {first:?}, all follow {last:?} later");
    }
}
