//! Fire recalls: which numbers and acknowledgements count (O1).

use super::*;
use crate::model::bounds::JUMP;
use crate::settings::{Recall, Setting, Words};
use crate::store::RecordState;
use crate::wire::{Ack, Delta};

const NOW: Timestamp = Timestamp::START;

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

/// O1, F14: a peer that ignores a press under its old number acknowledges it as over.
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
