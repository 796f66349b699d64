//! Random presses and faults: S1 holds throughout, and every order is served once faults cease.

use std::time::Duration;

use elevator_driver::{Button, Direction, KeySwitch};
use proptest::prelude::*;

use super::shaft::{Door, Drive, Faults, World, floor};
use crate::car::{Errand, Power, SessionLeg};
use crate::dispatch::CarPlan;
use crate::settings::RequestId;

/// How long a storm lasts, in ticks: five minutes.
const STORM: u32 = 3000;

fn press(world: &mut World, random: &mut fastrand::Rng) {
    let at = floor(random.u8(0..world.floors.get()));
    let button = match random.u8(0..3) {
        0 => Button::Car(at),
        1 => Button::Hall(at, Direction::Up),
        _ => Button::Hall(at, Direction::Down),
    };
    if world.floors.has_button(button) {
        world.press(button);
    }
}

fn disturb(world: &mut World, random: &mut fastrand::Rng) {
    match random.u8(0..20) {
        18 | 19 => {
            let [open, close] = [random.bool(), random.bool()];
            world.hold(open, close);
        }
        0 | 1 => world.obstruction = !world.obstruction,
        2 => world.stop = !world.stop,
        3 => world.disconnect(),
        4 | 5 => world.reconnect(),
        6 => {
            world.faults.dead = [floor(random.u8(0..world.floors.get()))].into();
        }
        7 => world.faults.dead.clear(),
        8 => world.faults.drive = [Drive::Sound, Drive::Lazy][random.usize(0..2)],
        9 => {
            world.faults.door = [Door::Sound, Door::Jammed, Door::Pried][random.usize(0..3)];
            // A door that was pulled open doesn't count until it has had the time to close.
            world.run(20);
        }
        10 => world.car.handle_interrupted(Duration::ZERO, world.now),
        11 => world.load = [None, Some(50), Some(90), Some(120)][random.usize(0..4)],
        12 => world.rest_drive(),
        13 => {
            if let Some(call) = random.choice(world.assigned.clone()) {
                world.assigned.remove(&call);
                world.update_stops();
            }
        }
        14 => {
            let power = [Power::Normal, Power::Waiting, Power::Granted][random.usize(0..3)];
            world.car.set_power(power, world.now);
        }
        15 => {
            let place = floor(random.u8(0..world.floors.get()));
            let park = random.bool().then_some(place);
            world.car.set_plan(CarPlan { direction: None, park });
            world.update_stops();
        }
        16 => {
            let at = floor(random.u8(0..world.floors.get()));
            let priority = Errand::Priority(at);
            let id = RequestId { owner: 1, request: random.u64(..) };
            let session = Errand::Session {
                leg: SessionLeg { id, leg: 0 },
                floor: at,
                time: Duration::from_secs(20),
            };
            world.send([None, Some(priority), Some(session)][random.usize(0..3)]);
        }
        _ => {
            world.key = KeySwitch::ALL[random.usize(0..KeySwitch::ALL.len())];
        }
    }
}

fn calm(world: &mut World) {
    world.obstruction = false;
    world.stop = false;
    world.key = KeySwitch::Normal;
    world.load = None;
    world.door_buttons = None;
    world.send(None);
    world.car.set_power(Power::Normal, world.now);
    world.car.set_plan(CarPlan::default());
    world.faults = Faults::default();
    world.assigned.clone_from(&world.hall);
    world.update_stops();
    world.reconnect();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    // S1, H1, O7
    #[test]
    fn doors_stay_closed_while_moving_and_every_order_is_served_after_any_storm(
        seed in any::<u64>(),
        latency in 0_usize..=2,
    ) {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut world = if random.bool() { World::at(2) } else { World::above(3) };
        world.latency = latency;
        let fury = random.u32(5..200);
        for _ in 0..STORM {
            if random.u32(0..40) == 0 {
                press(&mut world, &mut random);
            }
            if random.u32(0..fury) == 0 {
                disturb(&mut world, &mut random);
            }
            world.tick();
        }
        calm(&mut world);
        world.run_until("every order is served", World::is_quiet);
        prop_assert!(!world.is_hung());
    }
}
