//! Requests that are repeated: nothing is placed twice, and no order is lost by it.

use super::*;
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
        one.order(&forged::call(0), now).expect("placed");
        deliver(&mut one, &mut two, now);
    }
}

/// How far the call of a request is, as a node sees it.
pub(super) fn fate(node: &Node, id: u8) -> Fate {
    match node.followed_call(name_of(id)) {
        Some(FollowedCall::Call { fate, .. }) => fate,
        other => panic!("{other:?}"),
    }
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
    one.order(&asked.call, now).expect("placed");
    assert_eq!(fate(&one, 1), Fate::Open);
    let later = now + Duration::from_secs(9);
    deliver(&mut one, &mut two, later);
    two.store.serve(asked.call.clone(), later);
    two.route_store(later);
    two.settle(later);
    deliver(&mut two, &mut one, later);
    let served = Fate::Served(Service { waited: Duration::from_secs(9), car: name(2) });
    assert_eq!(fate(&restarted(1, 2, one.written(later)), 1), served, "after a restart");
    one.handle_request(&request(2, forged::call(2)), later).expect("placed");
    deliver(&mut one, &mut two, later);
    for node in [&one, &two] {
        assert_eq!((fate(node, 1), fate(node, 2)), (served.clone(), Fate::Open));
    }
}
