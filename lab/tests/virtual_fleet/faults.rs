//! Each fault does what it says.

use elevator_fleet::model::Timestamp;
use elevator_fleet::store::RecordState;
use elevator_fleet::wire::NodeState;
use liftmesh_lab::{Fault, World, WorldSettings};

use crate::building::{Building, car_call, millis, secs, seed, up};

/// So many machines that have found each other, with a key or without.
fn merged(nodes: usize, key: bool) -> Building {
    Building::merged_of(WorldSettings { key, ..WorldSettings::new(nodes, seed()) })
}

/// F5: a damaged datagram is dropped and counted, with a key and without.
#[test]
fn damaged_datagrams_are_dropped() {
    for key in [false, true] {
        let mut building = merged(3, key);
        building.inflict(Fault::Corruption(100));
        building.run_for(secs(1));
        let seen = building.interference();
        assert!(seen.damaged > 100, "{seen:?}");
        assert_eq!(seen.misread, 0, "{seen:?}");
        assert_eq!(seen.other_versions, 0, "{seen:?}");
        building.recovers();
    }
}

/// What waits in a clog arrives at once when it ends, neither earlier nor later.
#[test]
fn a_clog_delivers_at_its_end() {
    let mut building = Building::merged(2);
    building.inflict(Fault::Clog { one: 0, other: 1, millis: 3_000 });
    building.run_for(millis(500));
    building.press(1, car_call(2));
    building.press(0, up(2));
    building.run_for(millis(2_490));
    assert_eq!(building.node_state(1), Some(&NodeState::Master), "it hears nobody");
    assert!(!building.is_lit(1, up(2)), "nothing passes");
    assert!(!building.connects(0, 1));
    building.run_for(millis(11));
    assert!(building.connects(0, 1));
    building.until(millis(500), "the master is found", |world| world.master() == Some(0));
    building.recovers();
}

/// Ring, bridge, one way: who reaches whom.
#[test]
fn partitions_cut_what_they_say() {
    let mut world = World::new(WorldSettings::new(5, 1)).expect("a world");
    let connected = |world: &World| -> Vec<(usize, usize)> {
        let pairs = (0..5).flat_map(|one| (one + 1..5).map(move |other| (one, other)));
        pairs.filter(|(one, other)| world.connects(*one, *other)).collect()
    };
    world.inflict(Fault::Ring(vec![0, 2, 4, 1, 3]));
    assert_eq!(connected(&world), [(0, 2), (0, 3), (1, 3), (1, 4), (2, 4)]);
    world.inflict(Fault::Cut(0, 4));
    world.inflict(Fault::Ring(vec![0, 1, 2, 3, 4]));
    assert_eq!(connected(&world), [(0, 1), (1, 2), (2, 3), (3, 4)], "an earlier cut stays");
    world.inflict(Fault::Uncut(0, 4));
    world.inflict(Fault::Bridge { left: vec![0, 1], right: vec![3, 4], through: 2 });
    assert_eq!(connected(&world), [(0, 1), (0, 2), (1, 2), (2, 3), (2, 4), (3, 4)]);
    world.inflict(Fault::OneWayPartition { from: vec![0, 1], to: vec![3] });
    let open = connected(&world);
    assert_eq!(open.len(), 8, "{open:?}");
    assert!(!open.contains(&(0, 3)) && !open.contains(&(1, 3)), "{open:?}");
    world.inflict(Fault::Heal);
    assert_eq!(connected(&world).len(), 10);
}

/// A frame that can't be read ends its link, and only that. With a key nobody is blamed.
#[test]
fn a_damaged_frame_ends_its_link() {
    for key in [false, true] {
        let mut building = merged(2, key);
        let before = building.mesh_traffic().dials;
        building.inflict(Fault::DamageFrame { from: 0, to: 1 });
        building.press(0, up(2));
        building.press(0, car_call(3));
        building.run_for(secs(3));
        assert_eq!(building.inflicted()["damaged frame"], 1, "{}", building.story(40));
        assert!(building.mesh_traffic().dials > before, "the link is made again");
        assert_eq!(building.conflicts(1) > 0, !key);
        building.run_for(secs(5));
        building.recovers();
    }
}

/// N1: recorded datagrams, some of them of a process that is gone, change nothing.
#[test]
fn replayed_datagrams_change_nothing() {
    for key in [false, true] {
        let mut building = merged(3, key);
        building.press(1, up(1));
        building.inflict(Fault::Kill(2));
        building.inflict(Fault::Restart(2));
        building.run_for(secs(10));
        let before = (building.mesh_traffic().changes, building.mesh_traffic().losses);
        for recording in 0..128 {
            for to in 0..3 {
                building.inflict(Fault::Replay { recording, to });
            }
            building.run_for(millis(5));
        }
        building.run_for(secs(1));
        assert!(building.inflicted()["replay"] > 300);
        let after = (building.mesh_traffic().changes, building.mesh_traffic().losses);
        assert_eq!(after, before, "{}", building.story(40));
        building.recovers();
    }
}

/// E5: no wall clock matters, and no order is older than a day for one that jumped.
#[test]
fn a_wall_clock_that_jumps_by_years_matters_to_nobody() {
    for years in [-40, 40] {
        let mut building = Building::merged(2);
        building.press(0, car_call(3));
        building.run_for(millis(50));
        building.inflict(Fault::PowerCut(0));
        building.inflict(Fault::WallClock { node: 0, years });
        building.inflict(Fault::Restart(0));
        let records = building.node(0).expect("it runs").orders().records(Timestamp::START);
        let open = records.filter(|record| matches!(record.state, RecordState::Open { .. }));
        assert_eq!(open.count(), 1, "the press is on the disk");
        building.recovers();
    }
}
