//! What a slave does about a master that assigns nothing.

use super::forged::{exchange, sound, with_journal};
use super::*;
use crate::model::JournalId;
use crate::orders::{Record, RecordState, Service};
use crate::wire::PlanEntry;

/// A cabin that follows a master which never gets a plan, and that moment.
fn pair() -> (Node, Node, Timestamp) {
    pair_of(2)
}

/// The same of a cabin with this number.
fn pair_of(number: u8) -> (Node, Node, Timestamp) {
    let (mut slave, now) = cabin(number);
    let restored = Restored { journal: JournalId(1), ..Restored::default() };
    let mut master = Node::new(NodeSettings {
        restored,
        ..settings(1, 1, ElectionSettings::of(Protocol::LowestIp))
    });
    master.start(Timestamp::START);
    let later = now + PERIOD * 8;
    talk(&mut slave, &mut master, now, later);
    join(&mut slave, &mut master, LinkId(1), later);
    assert_eq!(*slave.node_state(), NodeState::Slave { master: name(1) });
    drain(&mut slave);
    (slave, master, later)
}

fn call() -> Call {
    let floor = FloorCount::new(4).and_then(|floors| floors.floor(2));
    Call::Hall(HallCall::new(floor.expect("a floor"), Direction::Up))
}

/// The master's car could serve. (The panel of this node's car never moves it, so that it is
/// overdue before the master's time is over.)
fn with_a_car(slave: &mut Node, now: Timestamp) {
    let view = slave.cabin.view(now).expect("a car");
    assert!(slave.peers.members().get(&name(1)).is_some(), "a peer");
    slave.peers.note_car(&name(1), view, now);
}

/// When each such report came, in seconds after the order.
fn reports(
    slave: &mut Node,
    master: &mut Node,
    from: Timestamp,
    secs: u64,
    of: impl Fn(&Report) -> bool,
) -> Vec<u64> {
    let mut at = Vec::new();
    for passed in 0..secs {
        let now = from + Duration::from_secs(passed);
        let actions = talk(slave, master, now, now + Duration::from_secs(1));
        let reports =
            actions.iter().filter(|action| matches!(action, Action::Report(report) if of(report)));
        at.extend(reports.map(|_| passed));
    }
    at
}

fn is_of_oversight(report: &Report) -> bool {
    matches!(
        report,
        Report::TakenOver { .. } | Report::Distrusted { .. } | Report::NodeState { .. }
    )
}

/// Adds this moment for each report of the oversight.
fn note_signs(at: &mut Vec<u64>, actions: &[Action], passed: u64) {
    let reports = actions
        .iter()
        .filter(|action| matches!(action, Action::Report(report) if is_of_oversight(report)));
    at.extend(reports.map(|_| passed));
}

/// E8
#[test]
fn a_call_without_a_car_is_served_and_then_the_master_is_left() {
    let (mut slave, mut master, now) = pair();
    with_a_car(&mut slave, now);
    slave.handle_order(call(), now).expect("a button");
    let at = reports(&mut slave, &mut master, now, 20, is_of_oversight);
    assert_eq!(at, [5, 12, 12], "taken over, not believed, alone");
    assert_eq!(*slave.node_state(), NodeState::Master);
    let later = now + Duration::from_secs(20);
    assert!(slave.peers.members().distrusts(master.hello().address, later));
    // It is heard all the time, and followed again once its time is over.
    let found = |report: &Report| matches!(report, Report::PeerDiscovered { .. });
    let at = reports(&mut slave, &mut master, later, 30, found);
    assert_eq!(at, [22]);
}

/// Nobody can expect a master to assign what no car can serve.
#[test]
fn a_master_is_believed_while_no_car_can_serve() {
    let (mut slave, mut master, now) = pair();
    let stopped = PanelInputs { stop: true, ..at_rest() };
    slave.handle_panel(PanelEvent::Inputs(stopped), now);
    slave.handle_order(call(), now).expect("a button");
    let at = reports(&mut slave, &mut master, now, 60, is_of_oversight);
    assert!(at.is_empty(), "{at:?}");
    // From here on it can.
    let later = now + Duration::from_mins(1);
    slave.handle_panel(PanelEvent::Inputs(at_rest()), later);
    let at = reports(&mut slave, &mut master, later, 10, is_of_oversight);
    assert_eq!(at.len(), 1, "taken over");
}

/// The master may hear a car that this node does not.
#[test]
fn a_car_that_the_master_may_hear_is_left_alone() {
    for strange in [false, true] {
        let (mut slave, mut master, now) = pair();
        with_a_car(&mut slave, now);
        slave.handle_order(call(), now).expect("a button");
        let Call::Hall(hall) = call() else { panic!("a hall call") };
        let entry = PlanEntry { version: 1, call: hall, car: name(9) };
        slave.dispatching.learn(entry);
        let mut seen = Vec::new();
        for passed in 0..80 {
            let now = now + Duration::from_millis(passed * 200);
            let actions = talk(&mut slave, &mut master, now, now + Duration::from_millis(200));
            note_signs(&mut seen, &actions, passed);
            let mut beacon = master.plain_beacon(now);
            if strange {
                beacon.echoes.push(Echo { nonce: Nonce(901), sequence: 1 });
            }
            let from = master.hello().address;
            slave.handle_beacon(from, &beacon, now + Duration::from_millis(200));
        }
        assert_eq!(seen.len(), if strange { 0 } else { 3 }, "{strange}: {seen:?}");
    }
}

/// E8: a call that its car does not serve is served by another. The master loses the trust unless
/// any of its assignments was kept.
#[test]
fn a_call_that_waits_for_its_car_in_vain_is_served_by_another() {
    for is_kept in [false, true] {
        let (mut slave, mut master, now) = pair();
        with_a_car(&mut slave, now);
        slave.handle_order(call(), now).expect("a button");
        let Call::Hall(hall) = call() else { panic!("a hall call") };
        slave.dispatching.learn(PlanEntry { version: 1, call: hall, car: name(1) });
        let at = reports(&mut slave, &mut master, now, 165, is_of_oversight);
        assert!(at.is_empty(), "{is_kept}: {at:?}");
        if is_kept {
            slave.leadership.note_kept_assignment(now + Duration::from_secs(100));
        }
        let later = now + Duration::from_secs(165);
        let at = reports(&mut slave, &mut master, later, 10, is_of_oversight);
        // 90 s, and 20 s for each of the four floors.
        let expected = if is_kept { vec![5] } else { vec![5, 5, 5] };
        assert_eq!(at, expected, "{is_kept}");
    }
}

/// A master that tells of services which did not happen knows of the orders, so it loses the trust
/// as soon as one that tells nothing. That it names a car whose node is heard does not help it.
#[test]
fn a_master_that_invents_services_is_left_all_the_same() {
    for names_a_car in [false, true] {
        let (mut slave, mut master, start) = pair();
        let mut third = with_journal(3, sound(3));
        with_a_car(&mut slave, start);
        slave.handle_order(call(), start).expect("a button");
        let service = Service { waited: PERIOD, car: name(3) };
        let state = RecordState::Served(names_a_car.then_some(service));
        let mut at = Vec::new();
        for passed in 0..200 {
            let now = start + Duration::from_millis(passed * 100);
            let mut beacon = third.plain_beacon(now);
            beacon.echoes = vec![slave.echo(now)];
            slave.handle_beacon(third.hello().address, &beacon, now);
            let open = slave.orders().records(now).filter(|record| !record.state.is_served());
            let lies: Vec<_> = open.map(|open| Record { state: state.clone(), ..open }).collect();
            let later = now + Duration::from_millis(100);
            let mut actions = talk(&mut slave, &mut master, now, later);
            if passed % 5 == 4 {
                let mut beacon = master.plain_beacon(later);
                beacon.delta.records = lies;
                slave.handle_beacon(master.hello().address, &beacon, later);
                actions.extend(drain(&mut slave));
            }
            note_signs(&mut at, &actions, passed / 10);
        }
        assert!(slave.peers.members().get(&name(3)).is_some(), "it is heard");
        assert_eq!(at, [5, 12, 12], "taken over, not believed, alone: {names_a_car}");
    }
}

/// What a member invents about a call: presses, every so many ms, of its own journal or each of a fresh
/// one that nobody announces. It tells the master that they were served, by a car that is heard or by
/// nobody.
struct Lies {
    of_member: bool,
    every: u64,
    names_car: bool,
}

/// When the slave complains of a sound master that believes these lies, and when the master has got a
/// press of the call, in 100 ms after the first press. `others` + 2 nodes have lower addresses than the
/// slave.
fn deceived(lies: &Lies, others: u8) -> (Vec<u64>, Option<u64>) {
    let (mut slave, mut master, start) = pair_of(60);
    let mut others: Vec<Node> = (3..=3 + others).map(|at| with_journal(at, sound(at))).collect();
    let heard = |others: &mut [Node], slave: &mut Node, now| {
        for node in others {
            let mut beacon = node.plain_beacon(now);
            beacon.echoes = vec![slave.echo(now)];
            slave.handle_beacon(node.hello().address, &beacon, now);
        }
    };
    let begun = start + PERIOD * 8;
    for period in 0..8 {
        let now = start + PERIOD * period;
        heard(&mut others, &mut slave, now);
        exchange(&mut slave, &mut master, now, now + PERIOD);
    }
    with_a_car(&mut slave, begun);
    slave.handle_order(call(), begun).expect("a button");
    let own = slave.orders().of_call(&call()).next().expect("an order").dot;
    let service = Service { waited: PERIOD, car: name(3) };
    let state = RecordState::Served(lies.names_car.then_some(service));
    let served = |dot| Record { dot, origin: name(3), call: call(), state: state.clone() };
    let first = Record { origin: name(60), ..served(own) };
    let (mut latest, mut at, mut assigned) = (None, Vec::new(), None);
    for passed in (0..20_000).step_by(10) {
        let now = begun + Duration::from_millis(passed);
        if passed.is_multiple_of(lies.every) {
            let journal = JournalId(if lies.of_member { 3 } else { 1_000 + passed });
            let dot = Dot { journal, sequence: passed + 1 };
            let state = RecordState::Open { waited: Duration::ZERO };
            slave.merge_record(&Record { state, ..served(dot) }, None, now);
            latest = Some(served(dot));
        }
        for record in latest.iter().chain([&first]) {
            master.merge_record(record, None, now);
        }
        if passed.is_multiple_of(100) {
            heard(&mut others, &mut slave, now);
        }
        let actions = exchange(&mut slave, &mut master, now, now + Duration::from_millis(10));
        note_signs(&mut at, &actions, passed / 100);
        let Call::Hall(hall) = call() else { panic!("a hall call") };
        if assigned.is_none() && master.orders().is_open(&call()) {
            assigned = Some(passed / 100);
            slave.dispatching.learn(PlanEntry { version: 1, call: hall, car: name(1) });
        }
    }
    let peers = slave.peers.members().peers().count();
    assert_eq!(peers, others.len() + 1, "all are heard");
    (at, assigned)
}

/// E8: a sound master believes that each press of a call was served, also those that a liar invents
/// all the time, in its own journal or in one of nobody. It gets a press of this node before its time
/// is over, and assigns it.
#[test]
fn a_master_that_is_deceived_about_ever_more_presses_is_believed() {
    for every in [500, 100, 20] {
        for (of_member, names_car, others, expected) in [
            (false, false, 0, (vec![], Some(22))),
            (true, false, 0, (vec![51], Some(82))),
            (false, true, 0, (vec![51], Some(82))),
            (true, true, 0, (vec![51], Some(82))),
            (true, false, 40, (vec![51], Some(90))),
        ] {
            // So many journals would fill the stores.
            if !of_member && every == 20 {
                continue;
            }
            let lies = Lies { of_member, every, names_car };
            let case = format!("of a member {of_member}, {every} ms, {names_car}, {others}");
            assert_eq!(deceived(&lies, others), expected, "{case}");
        }
    }
}

/// The time in which a node did not run is not the master's, but the rest is.
#[test]
fn a_slave_that_is_held_up_all_the_time_notices_too() {
    let (mut slave, mut master, now) = pair();
    with_a_car(&mut slave, now);
    slave.handle_order(call(), now).expect("a button");
    let (runs, stands) = (Duration::from_millis(800), Duration::from_millis(200));
    let mut at = Vec::new();
    for passed in 0..20 {
        let now = now + (runs + stands) * passed;
        let mut actions = talk(&mut slave, &mut master, now, now + runs);
        slave.handle_interrupted(stands, now + runs + stands);
        actions.extend(drain(&mut slave));
        note_signs(&mut at, &actions, passed.into());
    }
    // 5 s and 12 s in which it ran.
    assert_eq!(at, [6, 15, 15]);
}

/// A master is not to blame for a car that is not its own, however long the call waits.
#[test]
fn a_master_is_believed_whose_slave_does_not_serve() {
    let (mut slave, mut master, now) = pair();
    with_a_car(&mut slave, now);
    slave.handle_order(call(), now).expect("a button");
    let mut three = node(3, 1);
    let Call::Hall(hall) = call() else { panic!("a hall call") };
    slave.dispatching.learn(PlanEntry { version: 1, call: hall, car: name(3) });
    let mut at = Vec::new();
    for passed in 0..200 {
        let now = now + Duration::from_secs(passed);
        for part in 0..10 {
            let now = now + Duration::from_millis(part * 100);
            let mut beacon = three.plain_beacon(now);
            beacon.node_state = NodeState::Slave { master: name(1) };
            beacon.echoes = vec![slave.echo(now)];
            slave.handle_beacon(three.hello().address, &beacon, now);
            let later = now + Duration::from_millis(100);
            let actions = talk(&mut slave, &mut master, now, later);
            note_signs(&mut at, &actions, passed);
        }
    }
    assert!(slave.peers.members().get(&name(3)).is_some());
    assert_eq!(at, [170], "taken over, and no more");
}
