//! What is special about `lowest-ip`: every order of starts and merges, the standby link, and
//! one-way links.

use std::time::Duration;

use elevator_fleet::election::{ElectionSettings, Preset};
use elevator_fleet::model::Timestamp;
use elevator_fleet::node::Node;
use elevator_fleet::wire::Protocol;
use liftmesh_lab::{Campaign, Fault, World, WorldSettings};

use crate::building::{Building, bound_of, car_call, down, lines, millis, mins, secs, seed, up};

/// Every order of so many things.
fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else {
        return vec![Vec::new()];
    };
    permutations(last)
        .into_iter()
        .flat_map(|rest| {
            (0..count).map(move |at| {
                let mut order = rest.clone();
                order.insert(at, last);
                order
            })
        })
        .collect()
}

fn five() -> Building {
    let mut settings = WorldSettings::new(5, seed());
    settings.codec = false;
    Building::of(settings)
}

fn lowest_leads(building: &mut Building) -> Duration {
    let took = building.until(secs(3), "the lowest address leads all", |world| {
        world.running().count() == 5 && world.master() == Some(0)
    });
    building.run_for(secs(3));
    assert_eq!(building.master(), Some(0), "and stays");
    took
}

/// F2, F3, C3, E1, E6, E7
#[test]
fn every_start_order_ends_with_the_lowest_address_as_master_of_all() {
    let mut longest = Duration::ZERO;
    for (round, order) in permutations(5).into_iter().enumerate() {
        let mut building = five();
        for node in order {
            building.start(node);
            // Some meet before the next one starts, some don't.
            building.run_for(millis([0, 30, 400][round % 3]));
        }
        longest = longest.max(lowest_leads(&mut building));
    }
    println!("the lowest address led all after at most {longest:?}");
}

/// F3, C3, E1, E6, E7: sub-networks of several nodes meet, in every order.
#[test]
fn every_merge_order_ends_with_the_lowest_address_as_master_of_all() {
    let mut longest = Duration::ZERO;
    for (round, order) in permutations(5).into_iter().enumerate() {
        let mut building = five();
        let at = 1 + round % 4;
        let (left, right) = order.split_at(at);
        let middle = right.len() / 2;
        let mut groups = vec![left.to_vec(), right[..middle].to_vec(), right[middle..].to_vec()];
        groups.retain(|group| !group.is_empty());
        building.inflict(Fault::Partition(groups.clone()));
        building.start_all();
        building.run_for(secs(3));
        for group in &mut groups {
            group.sort_unstable();
            assert_eq!(building.master_of(group), Some(group[0]), "{group:?}");
        }
        while groups.len() > 1 {
            let more = groups.remove(0);
            groups[0].extend(more);
            building.inflict(Fault::Partition(groups.clone()));
            building.run_for(millis([0, 100, 3_000][round % 3]));
        }
        longest = longest.max(lowest_leads(&mut building));
    }
    println!("the lowest address led all after at most {longest:?}");
}

/// F2, F3, E6: nobody else notices, but for one more car.
#[test]
fn a_fourth_car_joins_with_no_change_to_the_others() {
    let mut building = Building::dark(4);
    for node in 0..3 {
        building.start(node);
    }
    building.run_for(secs(3));
    building.press(1, up(2));
    building.run_for(millis(300));
    let node_states = |world: &World| -> Vec<_> {
        (0..3)
            .map(|node| (world.node_state(node).cloned(), world.node(node).map(Node::term)))
            .collect()
    };
    let before = node_states(&building);
    building.start(3);
    let took = building
        .until(secs(1), "it shows the lamp", |w| w.is_lit(3, up(2)) && w.master() == Some(0));
    println!("a fourth car synced after {took:?}");
    assert_eq!(node_states(&building), before);
    building.until_at_rest();
}

/// F6, F13: the hall orders of a slave that dies go to the others; its car orders wait for it.
#[test]
fn a_slave_that_dies_in_service_loses_nothing() {
    dies_in_service(2);
}

/// F7, F13: so do those of a master.
#[test]
fn a_master_that_dies_in_service_loses_nothing() {
    dies_in_service(0);
}

fn dies_in_service(victim: usize) {
    for wait in [5, 15, 60, 500, 2_500] {
        let mut building = Building::merged(3);
        let hall = [up(0), up(1), up(2), down(1), down(2), down(3)];
        for (node, button) in hall.into_iter().enumerate() {
            building.press(node % 3, button);
        }
        building.press(victim, car_call(3));
        building.press(victim, car_call(0));
        building.until(secs(1), "its car lamps are lit", |w| {
            [car_call(0), car_call(3)].iter().any(|button| w.is_lit(victim, *button))
        });
        building.run_for(millis(wait));
        let kept = building.lamps(victim);
        building.inflict(Fault::PowerCut(victim));
        building.until(mins(3), "the others serve every hall call", |w| {
            w.running().all(|node| w.lamps(node).is_empty())
        });
        let own = |world: &World| -> Vec<_> {
            world.services().iter().filter(|s| s.node == victim).map(|s| s.call.clone()).collect()
        };
        let before = own(&building).len();
        building.inflict(Fault::Restart(victim));
        building.until_at_rest();
        let after = &own(&building)[before..];
        for button in [car_call(0), car_call(3)] {
            if kept.contains(&button) {
                assert!(after.contains(&building.call(button, victim)), "{button} {after:?}");
            }
        }
        building.recovers();
    }
}

/// O5, F14, P1: it takes over only by merging.
#[test]
fn the_lowest_address_returns_with_an_empty_store_and_no_lamp_goes_out_unserved() {
    let mut building = Building::merged(4);
    building.inflict(Fault::PowerCut(0));
    building.run_for(secs(2));
    assert_eq!(building.master(), Some(1));
    for (node, button) in
        [(1, up(1)), (2, down(2)), (3, down(3)), (1, car_call(3)), (2, car_call(0))]
    {
        building.press(node, button);
    }
    building.run_for(millis(100));
    assert!(building.lamps(3).len() >= 3, "{:?}", building.lamps(3));
    building.inflict(Fault::Replace(0));
    building.until(secs(2), "it leads", |w| w.master() == Some(0));
    building.recovers();
}

/// F11: whatever the moment of the press relative to the master's death.
#[test]
fn a_button_pressed_at_the_very_moment_the_master_dies_is_served() {
    for microseconds in (0..60_000).step_by(1_500) {
        let mut building = Building::merged(3);
        let call = building.call(up(1), 2);
        building.press(2, up(1));
        building.press(1, down(2));
        building.run_for(Duration::from_micros(microseconds));
        building.inflict(Fault::PowerCut(0));
        building.until(secs(1), "the lamps are lit", |w| {
            w.all_show(up(1), true) || w.served(&call) > 0
        });
        building.until_at_rest();
        assert!(building.served(&call) > 0);
        building.recovers();
    }
}

/// E1, E6: who hears without being heard elects nobody and is elected by nobody.
#[test]
fn a_one_way_link_elects_nobody_and_does_not_flap() {
    for (from, to) in [(0, 1), (1, 0)] {
        let mut building = Building::dark(2);
        building.inflict(Fault::CutOneWay { from, to });
        building.start_all();
        building.run_for(secs(10));
        for node in 0..2 {
            assert_eq!(building.master_of(&[node]), Some(node));
            // It hears the other, and takes a later term than that one, once (E3).
            let is_later = (node, from) == (0, 0);
            let term = building.node(node).map(|n| n.term().0);
            assert_eq!(term, Some(1 + u64::from(is_later)), "it never changed");
        }
        building.recovers();
    }
}

/// F3, E1: a link that becomes one-way ends the membership on both sides, once.
#[test]
fn a_link_that_becomes_one_way_parts_the_two_without_flapping() {
    for (from, to) in [(0, 2), (2, 0)] {
        let mut building = Building::merged(3);
        building.inflict(Fault::CutOneWay { from, to });
        building.run_for(secs(2));
        let terms = |world: &World| -> Vec<_> {
            (0..3)
                .map(|node| (world.node_state(node).cloned(), world.node(node).map(Node::term)))
                .collect()
        };
        let before = terms(&building);
        building.run_for(secs(20));
        assert_eq!(terms(&building), before, "{}", building.story(60));
        building.recovers();
    }
}

/// How long it took until these have one master, and have had it for a while.
fn agreed(building: &mut Building, group: &[usize]) -> Duration {
    let (start, lasting) = (building.now(), millis(300));
    let mut since = None;
    building.until(secs(30), &format!("{group:?} agree"), |world| {
        let first = world.master_of(group).map(|_| since.unwrap_or(world.now()));
        since = first;
        first.is_some_and(|at| world.now() >= at + lasting)
    });
    since.map(|at| at.saturating_sub(start)).expect("they agree")
}

/// How long eight nodes on a line that loses every fourth packet take to agree after their master
/// is killed, and after it starts again. `served`: orders are placed and served while it is away.
fn failover_in_loss(seed: u64, served: bool) -> [Duration; 2] {
    let mut settings = WorldSettings::new(8, seed);
    settings.weather.loss = 25;
    settings.codec = false;
    settings.inspect = false;
    let mut building = Building::of(settings);
    let all: Vec<usize> = (0..8).collect();
    building.start_all();
    agreed(&mut building, &all);
    building.run_for(secs(5));
    assert_eq!(building.master(), Some(0));
    building.inflict(Fault::Kill(0));
    let killed = agreed(&mut building, &all[1..]);
    building.run_for(secs(1));
    if served {
        for (node, button) in [(2, up(1)), (3, down(2)), (5, car_call(3))] {
            building.press(node, button);
        }
        building.run_for(secs(8));
        building.press(4, up(2));
        building.run_for(secs(1));
    }
    building.inflict(Fault::Restart(0));
    [killed, agreed(&mut building, &all)]
}

/// F7, C3: no new link is needed, so the loss of packets delays nothing but beacons.
#[test]
fn a_failover_is_quick_though_every_fourth_packet_is_lost() {
    let times: Vec<_> = (1..=30).map(|seed| failover_in_loss(seed, false)).collect();
    for (which, what) in ["its end", "its return"].into_iter().enumerate() {
        let (median, worst) = summary(times.iter().map(|times| times[which]).collect());
        println!("after {what}: median {median:?}, worst {worst:?}");
        assert!(median <= millis(500) && worst <= secs(1), "after {what}: {median:?}, {worst:?}");
    }
}

/// E4: the fleet's orders reach the master by datagram and over the first link, whichever is faster.
#[test]
fn a_master_that_missed_orders_returns_once_it_has_them() {
    let times = (1..=30).map(|seed| failover_in_loss(seed, true)[1]).collect();
    let (median, worst) = summary(times);
    println!("after its return, orders missed: median {median:?}, worst {worst:?}");
    assert!(median <= millis(500) && worst <= secs(1), "{median:?}, {worst:?}");
}

fn summary(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort_unstable();
    (times[times.len() / 2], times[times.len() - 1])
}

/// C3: the bound holds at every size where packets are lost, whatever happens to the master.
#[test]
fn a_fleet_of_any_size_agrees_within_the_bound() {
    for nodes in [2, 16, 64] {
        let mut settings = WorldSettings::new(nodes, seed());
        settings.weather.loss = 5;
        settings.codec = false;
        settings.inspect = false;
        let bound = bound_of(&settings.election, nodes);
        let mut building = Building::of(settings);
        let all: Vec<usize> = (0..nodes).collect();
        building.start_all();
        let started = agreed(&mut building, &all);
        building.run_for(secs(2));
        building.inflict(Fault::Kill(0));
        let killed = agreed(&mut building, &all[1..]);
        building.press(1, up(2));
        building.run_for(secs(1));
        building.inflict(Fault::Restart(0));
        let returned = agreed(&mut building, &all);
        println!("{nodes} nodes: {started:?}, {killed:?}, {returned:?}, of {bound:?}");
        assert!([started, killed, returned].into_iter().all(|took| took <= bound));
    }
}

/// F2 to F8: the source's form has its master too, loses no order, and keeps each invariant.
#[test]
fn whatever_happens_as_in_the_source() {
    let seeds = std::env::var("LIFTMESH_CAMPAIGN").map_or(3, |seeds| seeds.parse().expect("seeds"));
    for seed in 1..=seeds {
        let mut campaign = Campaign::by_seed(seed);
        campaign.world.election = ElectionSettings::preset(Protocol::LowestIp, Preset::Source);
        let outcome = campaign.run().expect("a world");
        let violations = lines(&outcome.violations);
        assert!(violations.is_empty(), "seed {seed}\n{}\n{violations}", outcome.world.story(120));
    }
}

/// F7: the heir leads over the links that are there, where no new one can be made.
#[test]
fn a_failover_needs_no_new_link() {
    let mut building = Building::merged(5);
    for one in 1..5 {
        for other in one + 1..5 {
            building.inflict(Fault::RefuseLinks(one, other));
        }
    }
    building.press(3, up(2));
    building.inflict(Fault::Kill(0));
    building.until(millis(300), "the heir leads", |world| world.master() == Some(1));
    building.until(secs(30), "it assigns the call", World::is_idle);
    assert_eq!(building.master(), Some(1));
    building.recovers();
}

/// E1: a node that can be heard and not reached leads no other node for long, and follows none.
#[test]
fn a_master_that_cannot_be_reached_is_not_followed_for_long() {
    let mut building = Building::dark(3);
    for other in 1..3 {
        building.inflict(Fault::RefuseLinks(0, other));
    }
    building.start_all();
    building.run_for(secs(4));
    let states = |world: &World| -> Vec<_> {
        (0..3)
            .map(|node| (world.node_state(node).cloned(), world.node(node).map(Node::term)))
            .collect()
    };
    let before = states(&building);
    assert_eq!(building.master_of(&[1, 2]), Some(1));
    building.run_for(secs(20));
    assert_eq!(states(&building), before, "{}", building.story(60));
    building.recovers();
}

/// F1: two masters that do not hear each other both have a link to a node that follows the lower of
/// them. The other one does not count on its car.
#[test]
fn a_master_assigns_nothing_to_a_car_that_follows_another() {
    let mut building = Building::dark(3);
    for (from, to) in [(0, 1), (1, 0)] {
        building.inflict(Fault::CutOneWay { from, to });
    }
    for node in [0, 2, 1] {
        building.start(node);
        building.run_for(secs(1));
    }
    assert_eq!(building.master_of(&[0, 2]), Some(0));
    assert_eq!(building.master_of(&[1]), Some(1));
    let third = building.node(2).expect("it runs").hello().node.clone();
    let second = building.node(1).expect("it runs");
    assert!(second.has_synced(&third), "the standby link");
    for button in [up(0), up(1), down(1), up(2), down(2), down(3)] {
        building.press(1, button);
    }
    building.run_for(millis(300));
    let now = Timestamp::START + building.now();
    let orders = building.node(1).expect("it runs").status(now).orders;
    assert!(orders.iter().any(|order| order.car.is_some()));
    assert!(orders.iter().all(|order| order.car.as_ref() != Some(&third)), "{orders:?}");
    building.recovers();
}

/// E3: the master's machine is replaced and is back at once, with an empty disk. The other node leads
/// for so short a time that the new master may not hear of it: it does not in 3 of 200 rounds.
#[test]
fn a_replaced_master_leads_under_a_later_term_than_all_before() {
    for round in 0..200 {
        let mut building = Building::of(WorldSettings::new(2, round));
        building.start_all();
        building.run_for(secs(2));
        for (index, button) in
            [up(0), up(1), up(2), down(2), up(0), up(1), up(2), down(2)].into_iter().enumerate()
        {
            building.press(index % 2, button);
            let wait = (round * 7_919 + index as u64 * 104_729) % 60_000;
            building.run_for(Duration::from_micros(wait));
        }
        building.inflict(Fault::PowerCut(0));
        building.inflict(Fault::Replace(0));
        building.run_for(secs(5));
    }
}
