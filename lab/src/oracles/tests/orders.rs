//! Presses that are confused, lost, or made in spite of a lock, and stores that differ.

use super::*;

#[test]
fn a_dot_of_two_presses_is_noticed() {
    let mut world = strangers();
    world.inspect();
    let node = world.node(1).expect("it runs");
    let mut order = node.orders().orders().next().expect("an order").clone();
    order.call = call(0);
    assert!(!world.oracles.presses.is_the_press(&order));
    order.dot = DOT;
    assert!(world.oracles.presses.is_the_press(&order));
}

/// O4: a store is looked at again once it has changed.
#[test]
fn a_later_press_under_a_dot_that_has_named_another_is_noticed() {
    let mut world = strangers();
    let node = world.node(1).expect("it runs");
    let mut order = node.orders().orders().next().expect("an order").clone();
    order.dot.sequence += 1;
    order.call = call(0);
    assert!(world.oracles.presses.is_the_press(&order));
    world.press(1, up(1));
    world.run_for(Duration::from_millis(200));
    complains(&world, "O4");
}

#[test]
fn stores_that_stay_different_are_noticed() {
    let mut world = strangers();
    look(&mut world);
    complains(&world, "O7");
}

/// Whether F4 is found when the button of this floor is pressed in the first car and an order of it is
/// there, and all that is found. The order comes from elsewhere.
fn becomes_an_order(world: &mut World, floor: Floor) -> (bool, Vec<Violation>) {
    let button = Button::Car(floor);
    world.judge(|oracles, snapshot| oracles.locks.pressed(snapshot, 0, button));
    let call = Call::of_button(button, &world.machines[0].name);
    world.with(0, |node, now| {
        let taken = node.handle_order_with(call.clone(), Access::Granted, now);
        assert_eq!(taken, Ok(Taken::Placed));
    });
    world.inspect();
    let found = world.violations();
    (is_among("F4", &found), found)
}

/// F4: the car takes along who was told it before the floor was locked.
#[test]
fn a_locked_floor_is_the_floor_of_those_who_were_told_a_car_before() {
    let floor = Floor::try_from(2).expect("a floor");
    for is_told in [false, true] {
        let mut world = calm();
        for node in 0..3 {
            world.inflict(Fault::StopSwitch(node, true));
        }
        if is_told {
            let trip = HallCall::to(Floor::BOTTOM, floor).expect("a trip");
            world.with(0, |node, now| {
                assert_eq!(node.handle_order(Call::Hall(trip), now), Ok(Taken::Placed));
            });
        }
        world.inflict(Fault::FloorLock { at: 0, floor, locked: true });
        world.run_for(Duration::from_secs(1));
        let (is_noticed, found) = becomes_an_order(&mut world, floor);
        assert_eq!(is_noticed, !is_told, "{found:?}");
    }
}

/// F4: a firefighter's car is commanded by its buttons; any other one's makes an order.
#[test]
fn a_button_in_the_car_of_a_firefighter_need_not_make_an_order() {
    for is_firefighters in [false, true] {
        let mut world = calm();
        if is_firefighters {
            world.inflict(Fault::FireRecall { at: 0, start: true });
            world.run_for(Duration::from_mins(1));
            for key in [KeySwitch::Normal, KeySwitch::FireRecall] {
                world.inflict(Fault::Key(0, key));
                world.run_for(Duration::from_secs(1));
            }
            world.inflict(Fault::FireRecall { at: 0, start: false });
            world.run_for(Duration::from_secs(2));
            let node = world.node(0).expect("it runs");
            assert!(node.directives().has_firefighter(&world.machines[0].name));
        }
        // The press gets lost on its way to the node.
        let button = Button::Car(Floor::try_from(3).expect("a floor"));
        world.judge(|oracles, snapshot| oracles.taken.pressed(snapshot, 0, button));
        world.inspect();
        world.now += Duration::from_secs(3);
        world.inspect();
        let found = world.violations();
        assert_eq!(is_among("F4", &found), !is_firefighters, "{found:?}");
    }
}

/// F4: who has shown a right of access may ride there, a button in the car may not.
#[test]
fn a_press_for_a_locked_floor_that_becomes_an_order_is_noticed() {
    let floor = Floor::try_from(2).expect("a floor");
    for is_locked in [false, true] {
        let mut world = calm();
        world.inflict(Fault::FloorLock { at: 0, floor, locked: is_locked });
        world.run_for(Duration::from_secs(1));
        let (is_noticed, found) = becomes_an_order(&mut world, floor);
        assert_eq!(is_noticed, is_locked, "{found:?}");
    }
}

/// F4: a recall may be over before the next inspection, which is one in 50 ms.
#[test]
fn a_press_during_a_short_recall_may_be_no_order() {
    for offset in [1, 21, 41] {
        let mut world = calm();
        world.run_for(Duration::from_millis(offset));
        world.press(1, up(2));
        world.inflict(Fault::FireRecall { at: 1, start: true });
        world.run_for(Duration::from_millis(15));
        world.inflict(Fault::FireRecall { at: 1, start: false });
        world.run_for(Duration::from_secs(3));
        assert!(!world.node(1).expect("it runs").orders().is_open(&call(2)));
        excuses(&world, "F4");
    }
}
