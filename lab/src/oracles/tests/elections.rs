//! Elections, terms, plans, and orders that are not handed over.

use super::*;
use crate::connection::Packet;

/// A car's fault is no excuse for nodes and network.
#[test]
fn a_broken_car_does_not_excuse_its_group() {
    let faults = [
        Fault::StopSwitch(0, false),
        Fault::Motor(1, Some(MotorFault::Trips)),
        Fault::AllSensorsDead(2, true),
        Fault::LineCut(0, true),
        Fault::Key(1, KeySwitch::FireRecall),
    ];
    for fault in faults {
        let mut world = strangers();
        world.inflict(fault);
        world.inspect();
        complains(&world, "E1");
    }
}

/// An election that takes its network for reliable, on one that loses packets.
fn ballot_of_the_source(nodes: usize, seed: u64) -> WorldSettings {
    let mut settings = WorldSettings::new(nodes, seed);
    settings.election = ElectionSettings::preset(Protocol::Ballot, Preset::Source);
    settings.weather.loss = QUIET_LOSS;
    settings
}

#[test]
fn an_election_that_does_not_end_under_loss_is_noticed() {
    let mut world = strangers_under(ballot_of_the_source(3, 1));
    world.inspect();
    assert_eq!(world.violations(), [], "it has some time");
    world.now += world.settings.bound();
    world.inspect();
    complains(&world, "E1");
}

/// C3: votes are opened again and again, and each one ends.
#[test]
fn under_loss_a_ballot_of_the_source_ends_each_vote() {
    for (nodes, seed) in [(2, 1), (5, 2), (16, 3)] {
        let mut world = World::new(ballot_of_the_source(nodes, seed)).expect("a world");
        world.start_all();
        world.run_for(Duration::from_mins(2));
        assert_eq!(world.violations(), [], "{nodes} nodes");
        assert!(world.state_changes > 50, "{nodes} nodes: {} changes", world.state_changes);
    }
}

/// E6: the requests that a master sends are followed where losses come in bursts, for the protocols
/// whose slaves know it by them.
#[test]
fn ten_requests_that_do_not_arrive_are_an_outage_of_two_nodes() {
    let has_outage = |protocol, bursts| {
        let mut settings = WorldSettings::new(2, 1);
        settings.election = ElectionSettings::preset(protocol, Preset::Fleet);
        let mut world = World::new(settings).expect("a world");
        world.start_all();
        world.run_for(Duration::from_secs(10));
        let master = world.master().expect("a master");
        world.network.bursts = bursts;
        // The account of beacons leaves out what a cut stops: it is that of requests which notices it.
        world.network.cut(master, 1 - master);
        world.run_for(Duration::from_millis(1_500));
        world.disturbances.outages.contains_key(&(0, 1))
    };
    for protocol in Protocol::ALL {
        let requests = matches!(protocol, Protocol::Senior | Protocol::Ballot);
        assert_eq!(has_outage(protocol, Some(Bursts::default())), requests, "{protocol}");
        assert!(!has_outage(protocol, None), "{protocol}");
    }
}

/// E6: so are the beacons that a burst stops, under each protocol; not those that are lost one by one.
#[test]
fn beacons_that_a_burst_stops_are_an_outage_of_two_nodes() {
    let long = Bursts { length: Duration::from_millis(500), loss: 100 };
    for protocol in Protocol::ALL {
        for bursts in [Some(long), None] {
            let mut settings = WorldSettings::new(2, 1);
            settings.election = ElectionSettings::preset(protocol, Preset::Fleet);
            let mut world = World::new(settings).expect("a world");
            world.start_all();
            world.run_for(Duration::from_secs(10));
            world.network.bursts = bursts;
            world.network.weather.loss = 50;
            world.run_for(Duration::from_secs(5));
            let has_outage = world.disturbances.outages.contains_key(&(0, 1));
            assert_eq!(has_outage, bursts.is_some(), "{protocol}");
        }
    }
}

/// E6: an answer over a link keeps a peer, where nothing before it is lost; other frames do not.
#[test]
fn an_answer_over_a_link_that_need_not_wait_is_as_good_as_a_beacon() {
    let ms = Duration::from_millis;
    let cases = [(Frame::Alive, ms(0), true), (Frame::Alive, ms(300), false)];
    for (frame, waits, is_heard) in cases.into_iter().chain([(Frame::Probe, ms(0), false)]) {
        let mut world = World::new(WorldSettings::new(2, 1)).expect("a world");
        world.start_all();
        world.run_for(Duration::from_secs(10));
        let links = world.connections.of(0, world.machines[0].incarnation);
        let (id, side) = *links.first().expect("a link");
        let now = world.now;
        world.network.bursts = Some(Bursts::default());
        world.network.misses_beacons(now, (0, 1), false);
        // A segment before it is sent again until then.
        world.connections.get_mut(id).expect("the link").end_mut(side).in_order = now + waits;
        world.send(0, id.link(), Packet::Frame(frame.clone()));
        world.network.misses_beacons(now + ms(30), (0, 1), false);
        let is_missed = world.network.misses_beacons(now + ms(60), (0, 1), false);
        assert_eq!(is_missed, !is_heard, "{frame:?}, {waits:?}");
    }
}

#[test]
fn a_term_that_decreases_is_noticed() {
    let mut world = calm();
    world.oracles.terms.latest[2] = Term(99);
    world.inspect();
    complains(&world, "E3");
}

#[test]
fn a_master_that_has_outlived_a_later_term_is_noticed() {
    let mut world = calm();
    world.oracles.terms.led[2] = Some(Term(99));
    look(&mut world);
    complains(&world, "E3");
}

/// E3: the second node says that it was told this.
fn is_told(world: &mut World, call: &Call, car: &NodeId) -> usize {
    let before = world.violations().len();
    let report = Report::Assigned { call: call.clone(), car: car.clone(), here: false };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 1, &report));
    world.violations().len() - before
}

#[test]
fn an_assignment_of_an_earlier_mastership_is_noticed() {
    let mut world = calm();
    let car = world.machines[2].name.clone();
    assert_eq!(world.master(), Some(0));
    assert_eq!(is_told(&mut world, &call(1), &car), 1, "nobody has said so");
    let report = Report::Assigned { call: call(1), car: car.clone(), here: true };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    assert_eq!(is_told(&mut world, &call(1), &car), 0);
    let leads_anew = |oracles: &mut Oracles, _: &crate::snapshot::Snapshot| {
        oracles.plans.became_master(0, Term(99));
    };
    world.judge(leads_anew);
    assert_eq!(is_told(&mut world, &call(1), &car), 1, "it led before");
    world.disturbed();
    assert_eq!(is_told(&mut world, &call(1), &car), 0, "it may be under way");
}

/// C3: the plan goes along with the token.
#[test]
fn an_assignment_that_no_holder_has_made_is_noticed() {
    let mut settings = WorldSettings::new(3, 1);
    settings.election = ElectionSettings::of(Protocol::TokenRing);
    let mut world = World::new(settings).expect("a world");
    world.start_all();
    world.run_for(Duration::from_secs(10));
    let car = world.machines[2].name.clone();
    let report = Report::Assigned { call: call(1), car: car.clone(), here: true };
    let holds = |world: &World| world.master() == Some(0);
    assert!(world.run_until(Duration::from_secs(30), holds).is_some());
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    let passed_on = |world: &World| world.master() == Some(2);
    assert!(world.run_until(Duration::from_secs(30), passed_on).is_some());
    assert_eq!(is_told(&mut world, &call(1), &car), 0, "it has gone round");
    assert_eq!(is_told(&mut world, &call(2), &car), 1);
}

#[test]
fn a_group_without_one_master_is_noticed() {
    let mut world = strangers();
    world.inspect();
    complains(&world, "E1");
}

/// E1, C3: where the mastership goes round, who has it crosses the network, and so does the answer.
#[test]
fn a_token_may_take_as_long_as_its_network_does_and_no_longer() {
    let mut settings = WorldSettings::new(3, 1);
    settings.election = ElectionSettings::preset(Protocol::TokenRing, Preset::Fleet);
    let usual = settings.weather.delay.clone();
    settings.weather.delay = *usual.start()..=usual.end() + 40_000;
    let limit = settings.election.settles_within() + Duration::from_millis(80);
    let mut world = strangers_under(settings);
    world.inspect();
    world.now += limit.saturating_sub(Duration::from_millis(1));
    world.inspect();
    assert_eq!(world.violations(), [], "it may be under way");
    world.now += Duration::from_millis(1);
    world.inspect();
    complains(&world, "E1");
}

fn yields(world: &mut World, node: usize, master: &NodeId) {
    world.judge(|oracles, snapshot| {
        let findings = oracles.handovers.yielded(snapshot, node, master);
        oracles.verdicts.record(snapshot, findings);
    });
}

/// Two that have heard each other and told each other nothing, and the first one's name.
fn met() -> (World, NodeId) {
    let mut world = strangers();
    let loser = world.machines[1].name.clone();
    let hears = |world: &World| {
        let process = world.machines[0].process.as_ref().expect("it runs");
        let peers = process.node.status(process.clock(world.now)).peers;
        peers.iter().any(|peer| peer.node == loser)
    };
    let met = world.run_until(Duration::from_secs(1), hears);
    assert!(met.is_some(), "and has been told nothing yet");
    let master = world.machines[0].name.clone();
    (world, master)
}

fn placed_at(world: &mut World, at: Duration) {
    for known in world.oracles.handovers.known[1].values_mut() {
        *known = at;
    }
}

#[test]
fn an_order_may_cross_a_slow_network_while_a_node_yields() {
    let (mut world, master) = met();
    world.network.weather.delay = 100..=51_000;
    let now = world.now;
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(99)));
    yields(&mut world, 1, &master);
    excuses(&world, "E4");
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(101)));
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

#[test]
fn a_node_that_yields_with_orders_not_handed_over_is_noticed() {
    let (mut world, master) = met();
    let now = world.now;
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(49)));
    yields(&mut world, 1, &master);
    excuses(&world, "E4");
    placed_at(&mut world, now.saturating_sub(Duration::from_millis(51)));
    world.network.cut(1, 0);
    yields(&mut world, 1, &master);
    // Nothing reaches the master.
    excuses(&world, "E4");
    world.network.heal();
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

/// E4: what is on its way over a link is handed over.
#[test]
fn an_order_that_a_link_brings_may_arrive_after_a_node_has_yielded() {
    let mut world = calm();
    let master = world.machines[0].name.clone();
    world.press(1, up(2));
    let is_on_its_way = |world: &World| {
        let lacks =
            |order: &Order| world.node(0).expect("it runs").orders().get(order.dot).is_none();
        let mut orders = world.node(1).expect("it runs").orders().orders();
        orders.any(|order| lacks(order) && world.connections.bring((1, 0), order))
    };
    assert!(world.run_until(Duration::from_secs(1), is_on_its_way).is_some());
    world.inspect();
    placed_at(&mut world, Duration::ZERO);
    yields(&mut world, 1, &master);
    assert_eq!(world.violations(), []);
    world.connections = Connections::default();
    yields(&mut world, 1, &master);
    complains(&world, "E4");
}

/// The first machine has lost its disk, and its next process hears the second, which has not noticed
/// and holds an order. `None` if the order has come with the beacon by which it hears it.
fn unnoticed_successor(after: Duration) -> Option<World> {
    let mut world = calm();
    let loser = world.machines[1].name.clone();
    for node in 0..3 {
        world.inflict(Fault::StopSwitch(node, true));
    }
    world.press(1, up(2));
    world.run_for(Duration::from_secs(1) + after);
    assert_eq!(world.violations(), []);
    world.inflict(Fault::PowerCut(0));
    world.inflict(Fault::Replace(0));
    let hears = |world: &World| world.machines[0].hears(&loser);
    assert!(world.run_until(Duration::from_secs(1), hears).is_some());
    let first = world.node(0).expect("it runs");
    let nonce = first.hello().nonce;
    let is_noticed = world.node(1).expect("it runs").proven().any(|(_, counted)| counted == nonce);
    (first.orders().orders().count() == 0 && !is_noticed).then_some(world)
}

/// E4: to a process that has ended a node yields before it knows.
#[test]
fn a_node_may_yield_to_a_process_whose_end_it_has_not_noticed() {
    let mut worlds = (0..20).filter_map(|after| unnoticed_successor(Duration::from_millis(after)));
    let mut world = worlds.next().expect("one of these moments");
    let master = world.machines[0].name.clone();
    placed_at(&mut world, Duration::ZERO);
    yields(&mut world, 1, &master);
    excuses(&world, "E4");
}

#[test]
fn a_change_of_master_in_calm_is_noticed() {
    let mut world = calm();
    let report =
        Report::NodeState { from: NodeState::Master, to: NodeState::Seeking, term: Term(1) };
    world.judge(|oracles, snapshot| oracles.reported(snapshot, 0, &report));
    complains(&world, "E6");
}

#[test]
fn a_call_that_is_left_with_a_car_that_is_gone_is_noticed() {
    let mut world = calm();
    world.press(0, up(2));
    world.run_for(Duration::from_millis(50));
    assert_eq!(world.violations(), []);
    for machine in &mut world.machines {
        machine.name = NodeId::new("another").expect("a name");
    }
    world.judge(|oracles, snapshot| {
        let findings = election::calls_are_assigned_to_the_living(snapshot);
        oracles.verdicts.record(snapshot, findings);
    });
    complains(&world, "H4");
}
