//! Who outranks whom, and by how much (B1, B10).

use super::*;

/// B1: the estimate ranks, then the name.
#[test]
fn nodes_are_ranked_by_estimate_and_then_by_name() {
    let mut second = amid(2, &[1, 3], Settings::default());
    for equal in [estimating(1, 20), estimating(3, 20)] {
        testing::hears(&mut second, &equal, &NodeState::Seeking);
        assert_eq!(second.higher().collect::<Vec<_>>(), [&name(3)]);
    }
    testing::hears(&mut second, &estimating(3, 19), &NodeState::Seeking);
    assert_eq!(second.higher().next(), None);
}

/// B1: the estimate is a fixed number, or the health of the node.
#[test]
fn the_estimate_is_configured_or_the_nodes_health() {
    let estimate = |estimate| Settings { estimate, ..as_in_the_source() }.estimate(80);
    assert_eq!(estimate(Estimate::Fixed(7)), 7);
    assert_eq!(estimate(Estimate::Health), 80);
}

/// B1: the variant of the source.
#[test]
fn the_lowest_estimate_wins_where_that_is_set() {
    let lowest = |estimate| Settings { wins: Wins::Lowest, estimate, ..Settings::default() };
    let mut second = amid(2, &[1, 3], lowest(Estimate::Fixed(20)));
    assert_eq!(second.higher().collect::<Vec<_>>(), [&name(1)]);
    testing::hears(&mut second, &estimating(0, 0), &NodeState::Seeking);
    testing::hears(&mut second, &estimating(4, 20), &NodeState::Seeking);
    let higher: BTreeSet<_> = second.higher().collect();
    assert_eq!(higher, BTreeSet::from([&name(1), &name(4)]), "0 bars, and the name decides");
    assert_eq!(receives(&mut second, 1, Message::Election), []);
    assert_eq!(sent(&receives(&mut second, 3, Message::Election)), [(3, Message::Answer)]);

    let settings = lowest(Estimate::Fixed(0));
    assert!(settings.outranks((10, &name(1)), (11, &name(2))));
    assert!(!settings.outranks((0, &name(1)), (11, &name(2))), "it is barred");
    assert!(settings.exceeds(10, 35) && !settings.exceeds(10, 34) && !settings.exceeds(35, 10));
}

/// B1, B10: what a node's health lacks is its estimate; a followed master's is less by the bonus.
#[test]
fn the_lowest_estimate_by_health_is_the_best_health() {
    let settings = Settings { wins: Wins::Lowest, ..Settings::default() };
    assert_eq!([100, 50, 0].map(|health| settings.estimate(health)), [900, 950, 1_000]);
    let mut second = Bully::new(estimating(2, 950), settings);
    feed(&mut second, Input::Start);
    testing::hears(&mut second, &estimating(1, 960), &NodeState::Seeking);
    fires(&mut second, Timer::Answer);
    testing::hears(&mut second, &estimating(1, 960), &slave_of(2));
    assert_eq!(second.estimate(), 926);
    testing::hears(&mut second, &estimating(3, 927), &NodeState::Seeking);
    assert_eq!(second.higher().next(), None);
    testing::hears(&mut second, &estimating(3, 925), &NodeState::Seeking);
    assert_eq!(second.higher().next(), Some(&name(3)));
    assert_eq!(Settings::default().as_master(0, true), 24);
}

/// B6: it does not answer; that it does not lead is in the model.
#[test]
fn a_barred_node_does_not_answer() {
    let mut barred = Bully::new(estimating(2, 0), Settings::default());
    feed(&mut barred, Input::Start);
    testing::hears(&mut barred, &estimating(1, 0), &NodeState::Seeking);
    assert_eq!(receives(&mut barred, 1, Message::Election), []);
    assert_eq!(feed(&mut barred, Input::Estimate(0)), []);
}

/// B10, E6: clearly higher than the master's, and for as long as the hold-off: a panel's line that is
/// soon back changes no leader.
#[test]
fn only_an_estimate_that_stays_clearly_higher_than_the_masters_starts_an_election() {
    let settings = configured();
    let mut second = follower(2, &[1, 3], 3, settings.clone());
    assert_eq!(feed(&mut second, Input::Estimate(54)), []);
    let outputs = feed(&mut second, Input::Estimate(55));
    assert_eq!(armed(&outputs, Timer::HoldOff), Some(settings.hold_off));
    let outputs = hears_in(&mut second, 3, &NodeState::Master, 1);
    assert_eq!(outputs, [], "the hold-off is not begun anew");
    let outputs = feed(&mut second, Input::Estimate(54));
    assert_eq!(outputs, [Output::Disarm(Timer::HoldOff.into())]);
    let outputs = feed(&mut second, Input::Estimate(55));
    assert_eq!(armed(&outputs, Timer::HoldOff), Some(settings.hold_off));
    assert_eq!(receives(&mut second, 4, master(2)), [], "not known");
    let mut deposed = second.clone();
    let outputs = receives(&mut deposed, 3, master(2));
    assert!(outputs.contains(&Output::Disarm(Timer::HoldOff.into())));
    let outputs = fires(&mut second, Timer::HoldOff);
    assert_eq!(sent(&outputs), [(1, master(2)), (3, master(2))]);
    assert_eq!(second.node_state(), NodeState::Master);

    let mut second = follower(2, &[1, 3], 3, settings);
    feed(&mut second, Input::Estimate(50));
    testing::hears_in(&mut second, &estimating(3, 25), &NodeState::Master, 1);
    fires(&mut second, Timer::HoldOff);
    assert_eq!(second.node_state(), NodeState::Master, "or if the master's falls");
}

/// B1, B6, E6: an election that somebody starts for reasons of its own changes no leader.
#[test]
fn a_followed_master_stays_until_another_is_clearly_fitter() {
    let mut second = leader(2, &[1]);
    hears_in(&mut second, 1, &slave_of(2), 1);
    testing::hears(&mut second, &estimating(3, 44), &NodeState::Seeking);
    assert_eq!(second.estimate(), 44);
    testing::hears(&mut second, &estimating(1, 10), &slave_of(2));
    testing::hears(&mut second, &estimating(3, 43), &NodeState::Seeking);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer), (1, master(1))]);
    testing::hears(&mut second, &estimating(3, 45), &NodeState::Seeking);
    let outputs = receives(&mut second, 1, Message::Election);
    assert_eq!(sent(&outputs), [(1, Message::Answer)]);
    assert_eq!(sent(&fires(&mut second, Timer::HeadStart)), asked([3]), "25 more than 20");
}

/// B10, E6: so a node whose network was cut replaces no master when the network is whole again.
#[test]
fn a_master_whom_nobody_follows_yields_to_one_that_is_followed() {
    let mut second = leader(2, &[1]);
    hears_in(&mut second, 1, &slave_of(2), 1);
    let mut third = leader(3, &[]);
    assert_eq!((second.estimate(), third.estimate()), (44, 31));
    let mut seeing = third.clone();
    let fitter = estimating(2, second.estimate());
    testing::hears_in(&mut seeing, &fitter, &NodeState::Master, 1);
    assert_eq!(seeing.node_state(), slave_of(2), "a beacon is enough");
    testing::hears(&mut third, &fitter, &NodeState::Master);
    assert_eq!(sent(&fires(&mut third, Timer::HeadStart)), asked([2]), "a late one is not");
    testing::hears(&mut second, &estimating(3, third.estimate()), &NodeState::Master);
    let outputs = receives(&mut second, 3, Message::Election);
    assert_eq!(sent(&outputs), [(3, Message::Answer), (3, master(1))]);
    receives(&mut third, 2, Message::Answer);
    receives(&mut third, 2, master(1));
    assert_eq!((second.node_state(), third.node_state()), (NodeState::Master, slave_of(2)));
}

/// B1, E6: the bonus adds to the estimate that is a node's health, as long as it lasts; nobody follows
/// a master that is cut off from all its slaves.
#[test]
fn a_number_that_was_configured_ranks_as_it_is() {
    let source_like = Settings { mesh_detection: false, ..Settings::default() };
    for (settings, expected) in [
        (configured(), [20; 5]),
        (Settings::default(), [20, 21, 44, 21, 20]),
        (source_like, [20, 21, 44, 21, 20]),
    ] {
        let mut second = amid(2, &[1], settings);
        let sought = second.estimate();
        fires(&mut second, Timer::Answer);
        let alone = second.estimate();
        hears_in(&mut second, 1, &slave_of(2), 1);
        let followed = second.estimate();
        loses(&mut second, 1);
        let left = second.estimate();
        testing::hears(&mut second, &estimating(3, 90), &NodeState::Seeking);
        receives(&mut second, 3, master(9));
        assert_eq!([sought, alone, followed, left, second.estimate()], expected);
    }
}
