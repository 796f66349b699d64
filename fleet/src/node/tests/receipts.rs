//! Requests that are repeated: nothing is placed twice, and no order is lost by it.

use super::*;
use crate::model::bounds::JUMP;
use crate::node::{CallRequest, Fate, FollowedCall, Requested};
use crate::settings::RequestId;
use crate::store::Service;

fn name_of(id: u8) -> RequestId {
    RequestId { owner: 7, request: id.into() }
}

pub(super) fn request(id: u8, call: Call) -> CallRequest {
    CallRequest { id: name_of(id), bearer: "robot".to_owned(), call, access: Access::Public }
}

/// What a node sends over its link, the settings apart from the rest.
fn parted(node: &mut Node) -> Vec<(Frame, Frame)> {
    let part = |frame| {
        let Frame::Delta(mut delta) = frame else { panic!("{frame:?}") };
        let settings = std::mem::take(&mut delta.settings);
        let ahead = Delta { settings, ..Delta::default() };
        (Frame::Delta(ahead), Frame::Delta(delta))
    };
    frames(node).into_iter().map(part).collect()
}

#[test]
fn a_request_is_fulfilled_once_by_all_nodes_together() {
    let (mut one, mut two, now) = linked();
    let (asked, other) = (request(1, forged::call(2)), request(1, forged::call(1)));
    assert_eq!(one.handle_request(&asked, now), Ok(Requested::Now(Taken::Placed)));
    let again = Requested::Before(Taken::Placed);
    assert_eq!(one.handle_request(&asked, now), Ok(again));
    assert_eq!(two.earlier(&asked), None);
    deliver(&mut one, &mut two, now);
    let registers = two.orders().registers();
    assert_eq!(two.handle_request(&asked, now), Ok(again));
    assert_eq!(two.handle_request(&other, now), Ok(Requested::ForAnotherCall));
    assert_eq!(two.orders().registers(), registers, "nothing was placed");
    let next = request(2, forged::call(2));
    assert_eq!(two.handle_request(&next, now), Ok(Requested::Now(Taken::Placed)));
}

/// O1: the receipt has come, and the node that placed the order is lost with it.
#[test]
fn an_order_that_never_came_is_placed_again() {
    let (mut one, mut two, now) = linked();
    for id in [1, 2] {
        // The second time there is an order of that incarnation.
        let asked = request(id, forged::call(id));
        one.handle_request(&asked, now).expect("placed");
        for (ahead, _) in parted(&mut one) {
            two.handle_frame(LINK, ahead, now);
        }
        assert_eq!(two.handle_request(&asked, now), Ok(Requested::Now(Taken::Placed)));
        assert_eq!(two.orders().calls().filter(|call| **call == asked.call).count(), 1);
        one.handle_order(&forged::call(0), now).expect("placed");
        deliver(&mut one, &mut two, now);
    }
}

/// The receipt for a request, as another fleet has counted it.
fn counted(request: &CallRequest, counter: u64, now: Timestamp) -> Register {
    let mut other = node(9, 1);
    other.handle_request(request, now).expect("placed");
    let mut receipt = other.settings().all().next().expect("a receipt").clone();
    receipt.version.counter = counter;
    receipt
}

/// The other side of a partition may have taken many requests; but one faulty member does not use up
/// the versions of receipts.
#[test]
fn receipts_go_on_after_one_that_nobody_can_have_given() {
    for (counter, is_believed) in
        [(JUMP, true), (JUMP + 2, false), ((1 << 48) - 1, false), (1 << 48, false)]
    {
        let (mut one, _, now) = linked();
        let first = request(1, forged::call(1));
        one.handle_request(&first, now).expect("placed");
        let receipt = counted(&request(7, forged::call(2)), counter, now);
        one.hear_delta(Delta { settings: vec![receipt], ..Delta::default() }, now);
        assert_eq!(one.peers.links().get(LINK).is_some(), is_believed, "{counter}");
        assert_eq!(one.settings().all().count(), 1 + usize::from(is_believed));
        let next = request(2, forged::call(2));
        assert_eq!(one.handle_request(&next, now), Ok(Requested::Now(Taken::Placed)));
        assert_eq!(one.earlier(&next), Some(Requested::Before(Taken::Placed)), "{counter}");
    }
}

/// Nobody is left to wonder why a repetition placed a call again. No order is lost by it.
#[test]
fn receipts_that_can_no_longer_be_given_are_reported() {
    let now = Timestamp::START + PERIOD;
    let last = counted(&request(7, forged::call(2)), 1 << 48, now);
    let mut one = restarted(1, 2, Restored { settings: vec![last], ..Restored::default() });
    let next = request(1, forged::call(1));
    for _ in 0..2 {
        drain(&mut one);
        assert_eq!(one.handle_request(&next, now), Ok(Requested::Now(Taken::Placed)));
        let actions = drain(&mut one);
        let told = forged::conflicts(&actions);
        assert_eq!(told.iter().filter(|it| it.contains("fulfilled again")).count(), 1);
    }
}

/// The receipt is on disk with the order, in one batch.
#[test]
fn a_receipt_is_written_with_its_order() {
    let mut one = node(1, 1);
    let now = Timestamp::START + PERIOD;
    drain(&mut one);
    let asked = request(1, forged::call(2));
    one.handle_request(&asked, now).expect("placed");
    let batches = persists(&drain(&mut one));
    let [(_, changes)] = &batches[..] else { panic!("{batches:?}") };
    let (mut records, mut settings) = (Vec::new(), Vec::new());
    for change in changes.clone() {
        match change {
            Change::Record(record) => records.push(record),
            Change::Setting(register) => settings.push(register),
            Change::Forget(_)
            | Change::ForgetSetting(_)
            | Change::Term(_)
            | Change::FlightTimes(_) => {}
        }
    }
    assert_eq!((records.len(), settings.len()), (1, 1), "{changes:?}");
    let restored = Restored { records, settings, ..Restored::default() };
    let again = restarted(1, 2, restored);
    assert_eq!(again.earlier(&asked), Some(Requested::Before(Taken::Placed)));
    assert_eq!(one.settings().iter().count(), 0, "no operator has commanded it");
}

/// How far the call of a request is, as a node sees it.
pub(super) fn fate(node: &Node, id: u8) -> Fate {
    match node.followed_call(name_of(id)) {
        Some(FollowedCall::Call { fate, .. }) => fate,
        other => panic!("{other:?}"),
    }
}

fn serve(node: &mut Node, call: &Call, now: Timestamp) {
    let Call::Hall(hall) = call else { panic!("{call}") };
    node.store.serve(Call::Hall(*hall), now);
    node.route_store(now);
    node.settle(now);
}

/// The button is pressed again later, which has nothing to do with the call that was served.
#[test]
fn a_call_is_followed_to_its_end_at_every_node() {
    let (mut one, mut two, now) = linked();
    let asked = request(1, forged::call(2));
    one.handle_request(&asked, now).expect("placed");
    assert_eq!(fate(&one, 1), Fate::Open);
    let (ahead, rest): (Vec<_>, Vec<_>) = parted(&mut one).into_iter().unzip();
    for frame in ahead {
        two.handle_frame(LINK, frame, now);
    }
    assert_eq!(fate(&two, 1), Fate::Unknown, "the order is on its way");
    for frame in rest {
        two.handle_frame(LINK, frame, now);
    }
    assert_eq!(fate(&two, 1), Fate::Open);
    // A passenger presses the button as well, before a car is there.
    one.handle_order(&asked.call, now).expect("placed");
    assert_eq!(fate(&one, 1), Fate::Open);
    let later = now + Duration::from_secs(9);
    deliver(&mut one, &mut two, later);
    serve(&mut two, &asked.call, later);
    deliver(&mut two, &mut one, later);
    let served = Fate::Served(Service { waited: Duration::from_secs(9), car: name(2) });
    assert_eq!(fate(&restarted(1, 2, one.written(later)), 1), served, "after a restart");
    one.handle_request(&request(2, forged::call(2)), later).expect("placed");
    deliver(&mut one, &mut two, later);
    for node in [&one, &two] {
        assert_eq!((fate(node, 1), fate(node, 2)), (served.clone(), Fate::Open));
    }
}
