//! Lamps that wait for a disk.

use super::*;

/// The only disk that works takes its time with a press that all nodes know, and one lamp is lit.
fn one_lit() -> World {
    let mut world = calm();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    for node in [1, 2] {
        world.inflict(Fault::DiskFail(node));
    }
    world.inflict(Fault::SlowDisk { node: 0, millis: 2_000 });
    world.run_for(Duration::from_secs(5));
    world.press(1, up(2));
    world.run_for(Duration::from_millis(500));
    let knows = |node: usize| world.node(node).expect("it runs").orders().is_open(&call(2));
    assert!((0..3).all(knows));
    assert!(world.machines.iter().all(|machine| machine.lit.is_empty()));
    world.machines[0].lit.insert(up(2));
    world
}

/// P4: a lamp may have been promised for an earlier press, while the next one waits for the disk.
#[test]
fn lamps_may_differ_while_the_press_waits_for_the_only_disk() {
    let mut world = one_lit();
    look(&mut world);
    assert_eq!(world.violations(), []);
    // It has had its time, twice.
    look(&mut world);
    look(&mut world);
    complains(&world, "P4");
}

/// P4: what is on a disk, the others learn at once.
#[test]
fn lamps_that_differ_though_the_press_is_on_a_disk_are_noticed() {
    let mut world = one_lit();
    world.machines[0].disk.committed();
    look(&mut world);
    complains(&world, "P4");
}

/// P4: where it is dark, the press has to be known.
#[test]
fn a_lamp_that_is_lit_for_nothing_does_not_wait_for_a_disk() {
    let mut world = one_lit();
    world.machines[0].lit.insert(up(1));
    look(&mut world);
    complains(&world, "P4");
}
