//! F9: peers learn why a node ends whose car hung.

use super::planning::idle_at;
use super::*;
use crate::model::{Availability, Unavailable};
use crate::node::HangStatus;

const HUNG: Availability = Availability::Unavailable(Unavailable::Hung);

/// The car leaves the lowest floor for the top, and gets nowhere.
fn sets_out(node: &mut Node, now: Timestamp) {
    node.push(Button::Car(floor(3)), now);
    for floor in [Some(Floor::BOTTOM), None] {
        let drive = DriveFeedback::Driven(Direction::Up);
        node.see(PanelInputs { floor, drive, ..at_rest() }, now);
    }
}

/// H6: the motor is stopped first. The process ends after that turn, so no later beacon is sent.
#[test]
fn a_hang_is_told_in_a_beacon_of_the_same_turn() {
    for shift in 0..25 {
        // So much later in the beacon's period.
        let (mut node, begun) = cabin(1);
        sets_out(&mut node, begun);
        drain(&mut node);
        let mut now = begun + PERIOD + Duration::from_millis(shift);
        let actions = loop {
            assert!(now.since(begun) < Duration::from_mins(2), "it never hangs");
            node.handle_timeout(now);
            let actions = drain(&mut node);
            if actions.iter().any(|action| matches!(action, Action::Report(Report::Hung(_)))) {
                break actions;
            }
            now = now + Duration::from_millis(1);
        };
        let first = actions.first();
        let Some(Action::Panel(outputs)) = first else { panic!("{shift} ms: {first:?}") };
        assert_eq!(outputs.motor, MotorCommand::Stop);
        let tells = |beacon: &Beacon| beacon.delta.car.is_some_and(|car| car.availability == HUNG);
        assert!(broadcasts(&actions).any(tells), "{shift} ms: {actions:?}");
    }
}

/// Every node can show why a car hung, until its node runs again.
#[test]
fn the_evidence_of_a_hang_comes_to_other_nodes_and_goes() {
    let (mut one, mut two, mut now) = two_cars();
    sets_out(&mut one, now);
    let begun = now;
    let evidence = loop {
        assert!(now.since(begun) < Duration::from_mins(2), "it never hangs");
        let later = now + Duration::from_millis(1);
        let mut reports = reports(talk(&mut one, &mut two, now, later));
        now = later;
        if let Some(Report::Hung(evidence)) =
            reports.find(|report| matches!(report, Report::Hung(_)))
        {
            break evidence;
        }
    };
    assert_eq!((evidence.floor, evidence.direction), (Some(floor(3)), Direction::Up));
    let hangs = [HangStatus { car: name(1), evidence }];
    assert_eq!(two.status(now).hangs, hangs, "while it is heard");
    two.handle_timeout(now + Duration::from_secs(1));
    now = now + Duration::from_secs(2);
    two.handle_timeout(now);
    assert_eq!(two.status(now).hangs, hangs, "and lost");
    // Also after a restart, from the disk.
    let mut two = restarted(2, 2, two.written(now));
    assert_eq!(two.status(now).hangs, hangs, "and nobody knows it any more");

    let mut again = with_car(1, 2, Restored::default(), now);
    let later = now + PERIOD * 100;
    talk(&mut again, &mut two, now, later);
    assert_eq!(two.status(later).hangs, []);
    assert!(!two.settings().is_hung(&name(1)));
    assert_eq!(again.settings(), two.settings());
}

/// A beacon from before the hang, which was held back, comes after what the link had to say.
#[test]
fn an_older_beacon_does_not_undo_a_hang() {
    let (mut one, mut two) = (node(1, 1), node(2, 1));
    let now = Timestamp::START + PERIOD * 8;
    talk(&mut one, &mut two, Timestamp::START, now);
    let telling = |car| Delta { car: Some(car), ..Delta::default() };
    let older = Beacon { delta: telling(idle_at(2)), ..two.plain_beacon(now) };
    let hung = CarView { availability: HUNG, ..idle_at(2) };
    one.on_delta(&name(2), &telling(hung), now);
    one.handle_beacon(address(2), &older, now);
    let known = one.peers.membership.get(&name(2)).and_then(|peer| peer.car);
    assert!(known.is_some_and(|(view, _)| view.availability.is_hung()), "{known:?}");
}
