//! Fire recalls in a partition: which calls they end, and which they don't (O1).

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;
use crate::model::Order;
use crate::model::bounds::JUMP;
use crate::node::Fate;
use crate::settings::{Recall, Setting, SettingError, Words};
use crate::store::RecordState;
use crate::wire::{Ack, Delta};

const NODES: usize = 4;
const NOW: Timestamp = Timestamp::START;

/// A node, and what it knew at the last look. Whom it meets decides the test.
struct Member {
    node: Node,
    incarnation: u64,
    is_dead: bool,
    open: Vec<Order>,
}

impl Member {
    fn new(index: u8) -> Self {
        Self { node: node(index, 1), incarnation: 1, is_dead: false, open: Vec::new() }
    }

    /// After each step: while a recall is in force it has ended what is older, and nothing else has
    /// ended anything. A later press may have taken the place of an earlier one.
    fn look(&mut self) {
        drain(&mut self.node);
        let (orders, settings) = (self.node.orders(), self.node.settings());
        for Order { dot, call, recall, .. } in &self.open {
            let present = orders.present(*dot, call);
            let is_open = present.iter().any(|present| orders.get(*present).is_some());
            let is_spared = !settings.is_fire_recalled() || *recall >= settings.recall_count();
            assert_eq!(is_open, is_spared, "{dot}");
        }
        self.open = orders.orders().cloned().collect();
    }

    fn restart(&mut self) {
        let index = self.node.hello().address.octets()[3];
        self.incarnation += 1;
        self.node = restarted(index, self.incarnation, self.node.written(NOW));
    }

    /// Another node tells of its settings.
    fn obey(&mut self, other: &Self) {
        let settings = other.node.settings().iter().cloned().collect();
        self.node.hear_settings(&other.node.hello().node, settings, NOW);
        self.look();
    }

    /// Another node tells of some of its orders.
    fn merge(&mut self, other: &Self, keep: u8) {
        let records = other.node.orders().records(NOW);
        for record in records.filter(|it| keep >> (it.dot.sequence % 8) & 1 == 1) {
            self.node.store.merge_record(&record, None, NOW);
        }
        self.look();
    }
}

proptest! {
    /// Every node is in a partition of its own, and meets another one now and then.
    #[test]
    fn a_recall_ends_what_was_placed_before_it_and_nothing_else(
        steps in prop::collection::vec((0..24_u8, 0..NODES, 0..NODES, any::<u8>()), 0..60),
        orders_first: bool,
    ) {
        let mut members: Vec<Member> = (1..).take(NODES).map(Member::new).collect();
        // All recalls, and those that somebody has ended.
        let (mut started, mut ended) = (BTreeSet::new(), BTreeSet::new());
        for (step, at, other, any) in steps {
            let Ok([one, other]) = members.get_disjoint_mut([at, other]) else { continue };
            if one.is_dead || other.is_dead {
                continue;
            }
            let node = &mut one.node;
            match step {
                // In a recall it is refused.
                0..6 => drop(node.handle_order(&forged::call(any % 3), NOW)),
                6 | 7 => {
                    let next = node.settings().next_recall(node.hello().nonce);
                    node.command(Command::FireRecall { on: true }, NOW);
                    prop_assert!(node.settings().is_fire_recalled() && started.insert(next));
                }
                8 | 9 => {
                    let recalls = node.settings().recalls();
                    ended.extend(recalls.map(|(origin, it)| (origin, it.number)));
                    let in_force = node.settings().is_fire_recalled();
                    let end = Command::FireRecall { on: false };
                    let result = node.handle_command(end.clone(), "kovac", None, NOW);
                    let refused = CommandRefused::Setting(SettingError::NoRecall);
                    let expected = if in_force { Ok(end) } else { Err(refused) };
                    prop_assert_eq!(result, expected);
                }
                10 => one.restart(),
                11 => one.is_dead = at > 0,
                12..18 => other.obey(one),
                _ => other.merge(one, any),
            }
            one.look();
        }
        members.retain(|member| !member.is_dead);
        for (from, to) in (0..3 * NODES).flat_map(|from| (0..NODES).map(move |to| (from, to))) {
            if let Ok([one, other]) = members.get_disjoint_mut([from % NODES, to]) {
                other.merge(one, if orders_first { u8::MAX } else { 0 });
                other.obey(one);
                other.merge(one, u8::MAX);
            }
        }
        let node = &members[0].node;
        let (store, count) = (node.orders(), node.settings().recall_count());
        prop_assert!(store.orders().all(|order| order.recall >= count), "older than a recall");
        for member in &members {
            prop_assert_eq!(member.node.settings(), node.settings());
            prop_assert_eq!(member.node.orders().digest(), store.digest());
        }
        for (origin, recall) in node.settings().recalls() {
            let is_ended = ended.contains(&(origin, recall.number));
            prop_assert!(!recall.is_over || is_ended, "{origin} {} was not ended", recall.number);
        }
    }
}

/// N1: one message can't make an order outlive every recall, nor use up the numbers of recalls.
#[test]
fn a_recall_number_out_of_reach_is_refused() {
    let mut one = node(1, 1);
    let mut two = node(2, 1);
    for (recall, is_taken) in [(JUMP, true), (JUMP + 1, false)] {
        let dot = forged::dot(9, recall);
        let state = RecordState::Open { waited: Duration::ZERO, recall };
        let call = forged::call(1);
        let record = Record { dot, origin: name(9), call, state, absorbed: Vec::new() };
        forged::send_beacon(&mut two, &mut one, vec![record], NOW);
        assert_eq!(one.orders().get(dot).is_some(), is_taken, "{recall}");
        let mut settings = two.settings().clone();
        let on = Recall { number: recall, is_over: false };
        let on = Setting::FireRecall(two.hello().nonce, on);
        let register = settings.set(on, Words::unnamed(), Nonce(2)).expect("room");
        assert_eq!(one.settings().is_in_reach(&register), is_taken, "{recall}");
    }
}

/// ASME A17.1, phase I: in a fire recall nothing is placed, and what was open is over.
#[test]
fn a_fire_recall_ends_every_call_and_takes_none() {
    let mut one = node(1, 1);
    let call = forged::call(2);
    one.handle_order(&call, NOW).expect("placed");
    let before = one.orders().records(NOW).next().expect("a record");
    drain(&mut one);
    one.command(Command::FireRecall { on: true }, NOW);
    let told: Vec<Report> = reports(drain(&mut one)).collect();
    let [Report::Setting { .. }, Report::Dropped { call: dropped }] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(*dropped, call);
    assert_eq!((one.orders().calls().count(), one.orders().registers()), (0, 0));
    let refused = one.handle_order(&call, NOW);
    assert_eq!(refused, Err(OrderRefused::FireRecall { call: call.clone() }));

    one.command(Command::FireRecall { on: false }, NOW);
    one.store.merge_record(&before, None, NOW);
    assert_eq!(one.orders().calls().count(), 0);
    assert!(one.handle_order(&call, NOW).is_ok());
}

/// O1, F14: a peer that ignores a press under its old number acknowledges it as over, after which the
/// press has the new one.
#[test]
fn an_acknowledgement_under_an_earlier_recall_number_counts_for_nothing() {
    let (mut one, two, now) = forged::pair();
    let placed: Vec<Dot> = one.orders().orders().map(|order| order.dot).collect();
    let mut settings = two.settings().clone();
    let over = Setting::FireRecall(two.hello().nonce, Recall { number: 1, is_over: true });
    let over = settings.set(over, Words::unnamed(), Nonce(2)).expect("room");
    one.hear_settings(&name(2), vec![over], now);
    for (recall, holding) in [(0, true), (1, false)] {
        let acks =
            placed.iter().map(|dot| Ack::Press { dot: *dot, served: true, durable: false, recall });
        let delta = Delta { acks: acks.collect(), ..Delta::default() };
        one.store.handle_delta(&name(2), &delta, now);
        assert_eq!(placed.iter().any(|dot| one.store.owes(*dot)), holding, "{recall}");
    }
}

/// A program that follows its call learns of the recall, though its node was restarted, and its button
/// pressed again, in between.
#[test]
fn an_absorbed_press_ends_with_the_recall_as_well() {
    let (mut first, now) = (node(1, 1), NOW);
    let asked = receipts::request(1, forged::call(2));
    first.handle_request(&asked, now).expect("placed");
    let mut again = restarted(1, 2, first.written(now));
    again.handle_order(&asked.call, now).expect("placed");
    assert_eq!(receipts::fate(&again, 1), Fate::Open);
    again.command(Command::FireRecall { on: true }, now);
    assert_eq!(receipts::fate(&again, 1), Fate::Dropped);
}
