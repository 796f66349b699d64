//! Plans that follow from nothing that happens.

use elevator_fleet::dispatch::WeekTime;

use super::*;

/// N4: with each entry of the schedule the master plans once; that they alternate is no event.
#[test]
fn plans_without_an_event_are_noticed() {
    let schedule = "daily 00:00-12:00 park 0; daily 12:00-24:00 park 1";
    let schedule = schedule.parse().expect("a schedule");
    let settings = WorldSettings { schedule, ..WorldSettings::new(3, 1) };
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    let alternate = |world: &mut World| {
        for round in 0..20 {
            world.set_local_time(0..3, WeekTime::new(0, 6 + 12 * (round % 2), 0));
        }
        world.inspect();
    };
    alternate(&mut world);
    assert_eq!(world.violations(), []);
    alternate(&mut world);
    complains(&world, "N4");
}
