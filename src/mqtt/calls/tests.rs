use elevator_fleet::model::FleetName;
use elevator_fleet::node::{SessionRefused, SessionRequest, Taken};
use elevator_fleet::settings::{Asked, Session, SessionState};
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::PublishProperties;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::operator::tests::busy_status;
use crate::operator::{REQUESTS, Request};

/// A node's loop that answers the first request of an id and call with `taken`, as the fleet would.
async fn node(mut asked: mpsc::Receiver<Request>, taken: Taken) {
    let mut known: Vec<CallRequest> = Vec::new();
    while let Some(request) = asked.recv().await {
        match request {
            Request::OfNode(NodeRequest::Place(request, reply)) => {
                let earlier = known.iter().find(|earlier| earlier.id == request.id);
                let requested = match earlier {
                    None => Requested::Now(taken),
                    Some(earlier) if earlier.call == request.call => Requested::Before(taken),
                    Some(_) => Requested::ForAnotherCall,
                };
                known.push(request);
                reply.send(Ok(requested));
            }
            Request::OfNode(NodeRequest::OpenSession(SessionRequest { id, asked, .. }, reply)) => {
                let state = SessionState::Queued;
                let Asked { floor, to, seconds, .. } = asked;
                let session = Session { id, asked, floor, to, seconds, leg: 0, state };
                reply.send(Ok((session, true)));
            }
            Request::OfNode(NodeRequest::ChangeSession { reply, .. }) => {
                reply.send(Err(SessionRefused::NotOpen));
            }
            // What is dropped is not answered.
            _ => {}
        }
    }
}

fn desk(taken: Taken, tasks: &mut JoinSet<()>) -> Desk {
    let (requests, asked) = mpsc::channel(REQUESTS);
    tasks.spawn(node(asked, taken));
    Desk::new(NodeLoop::new(requests), Prefix::of(&FleetName::new("north").unwrap()))
}

/// A call for hall 1 up, as in the status of a busy node.
fn message(id: Option<&str>, floor: u8, number: u16, answer_to: &str) -> Publish {
    let mut call = json!({"call": {"kind": "hall", "floor": floor.to_string(), "direction": "up"}});
    if let Some(id) = id {
        call["request_id"] = id.into();
    }
    let properties = PublishProperties {
        response_topic: Some(answer_to.to_owned()),
        ..PublishProperties::default()
    };
    Publish {
        qos: if number == 0 { QoS::AtMostOnce } else { QoS::AtLeastOnce },
        pkid: number,
        payload: call.to_string().into(),
        properties: Some(properties),
        ..Publish::default()
    }
}

async fn place(desk: &mut Desk, message: &Publish) -> (Handled, Value) {
    ask(desk, Inbox::Calls, message).await
}

async fn ask(desk: &mut Desk, inbox: Inbox, message: &Publish) -> (Handled, Value) {
    assert!(desk.push(inbox, message));
    let handled = desk.place_next().await.expect("an answer").expect("a call");
    let answer = handled.answer.as_ref().expect("an answer");
    let said = serde_json::from_slice(&answer.payload).expect("JSON");
    (handled, said)
}

#[tokio::test]
async fn the_fleet_remembers_a_request_where_its_answers_go() {
    let mut tasks = JoinSet::new();
    let mut desk = desk(Taken::Placed, &mut tasks);
    for (number, (floor, answer_to, outcome)) in [
        (1, "robot/1", CallOutcome::Taken),
        (1, "robot/1", CallOutcome::Repeated),
        (1, "robot/2", CallOutcome::Taken),
        (2, "robot/1", CallOutcome::Refused),
    ]
    .into_iter()
    .enumerate()
    {
        let number = u16::try_from(number).expect("few") + 1;
        let (handled, said) = place(&mut desk, &message(Some("1"), floor, number, answer_to)).await;
        assert_eq!(handled.outcome, outcome, "{number}: {said}");
        let is_refused = outcome == CallOutcome::Refused;
        assert_eq!(said["code"] == "request_id_reused", is_refused, "{said}");
        // What is refused is done with; all others wait for their orders, repeated ones as well.
        assert_eq!(handled.acknowledge.is_some(), is_refused);
    }
    let mut status = busy_status();
    status.orders[0].promised = false;
    assert!(desk.settle(&status).is_empty(), "not promised");
    status.orders[0].promised = true;
    assert_eq!([desk.settle(&status).len(), desk.settle(&status).len()], [3, 0]);
}

#[tokio::test]
async fn what_a_robot_asks_for_is_acknowledged_once_it_outlives_the_node() {
    let trip = json!({"call": {"kind": "robot", "from": "0", "to": "3"}, "request_id": "1"});
    let session = json!({"open": {"floor": "3", "request_id": "1"}});
    for (inbox, asked) in [(Inbox::Calls, trip), (Inbox::Sessions, session)] {
        let mut tasks = JoinSet::new();
        let mut desk = desk(Taken::Placed, &mut tasks);
        let mut message = message(None, 1, 7, "robot");
        message.payload = asked.to_string().into();
        let (handled, said) = ask(&mut desk, inbox, &message).await;
        assert_eq!((handled.outcome, &said["request_id"]), (CallOutcome::Taken, &json!("1")));
        assert!(handled.acknowledge.is_none(), "{said}");
        let mut status = busy_status();
        status.settings_held = false;
        assert!(desk.settle(&status).is_empty(), "nobody else has it");
        status.settings_held = true;
        assert_eq!(desk.settle(&status).len(), 1);
        // It has a name that those have with whom its answers go.
        let id = &said["id"];
        for (answer_to, code) in [("robot", "not_open"), ("other", "other_owner")] {
            for change in [json!({"go": {"id": id, "floor": "2"}}), json!({"end": {"id": id}})] {
                let mut message = self::message(None, 1, 8, answer_to);
                message.payload = change.to_string().into();
                let (handled, said) = ask(&mut desk, Inbox::Sessions, &message).await;
                assert_eq!(said["code"], code, "{said}");
                assert!(handled.acknowledge.is_some());
            }
        }
    }
}

#[tokio::test]
async fn what_can_not_be_read_or_be_had_is_refused() {
    let mut tasks = JoinSet::new();
    let mut desk = desk(Taken::Placed, &mut tasks);
    let good = r#"{"call":{"kind":"hall","floor":"1","direction":"up"}}"#;
    let long = good.replace("}}", &format!("}},\"request_id\":\"{}\"}}", "i".repeat(65)));
    let stranger = "0000000000000000000000aa";
    for (inbox, payload, code) in [
        (Inbox::Calls, "", "malformed"),
        (Inbox::Calls, &good.replace("}}", r#"},"more":1}"#), "malformed"),
        (Inbox::Calls, &"[".repeat(4000), "malformed"),
        (Inbox::Calls, &long, "malformed"),
        (Inbox::Calls, &format!("{good}{}", " ".repeat(5000)), "too_large"),
        (Inbox::Calls, &good.replace('1', "255"), "malformed"),
        (Inbox::Calls, r#"{"call":{"kind":"robot","from":"0","to":"3"}}"#, "malformed"),
        (Inbox::Sessions, r#"{"open":{"floor":"1","request_id":""}}"#, "malformed"),
        (Inbox::Sessions, r#"{"open":{"floor":"1","request_id":"1","access":true}}"#, "malformed"),
        (Inbox::Sessions, r#"{"open":{"floor":"1","request_id":"1","more":1}}"#, "malformed"),
        (Inbox::Sessions, r#"{"go":{"id":"x","floor":"1"}}"#, "not_open"),
        (Inbox::Sessions, &format!(r#"{{"end":{{"id":"{stranger}"}}}}"#), "other_owner"),
    ] {
        let mut message = message(None, 1, 7, "robot");
        message.payload = payload.to_owned().into();
        let (handled, said) = ask(&mut desk, inbox, &message).await;
        assert_eq!(
            (handled.outcome, &said["code"]),
            (CallOutcome::Refused, &json!(code)),
            "{payload}"
        );
        let properties = handled.answer.expect("an answer").properties;
        assert_eq!(properties.content_type.as_deref(), Some("application/problem+json"));
    }
    let mut message = message(None, 1, 7, "robot");
    let long = Some("c".repeat(LONGEST_CORRELATION + 1).into());
    message.properties.as_mut().expect("properties").correlation_data = long;
    let (handled, said) = place(&mut desk, &message).await;
    assert_eq!(said["code"], "too_large", "{said}");
    assert_eq!(handled.answer.expect("an answer").properties.correlation_data, None);
    // Nobody would be told the name of the session, which would hold a car.
    let mut message = self::message(None, 1, 7, "liftmesh/north/fleet");
    message.payload = r#"{"open":{"floor":"3","request_id":"1"}}"#.into();
    assert!(desk.push(Inbox::Sessions, &message));
    let handled = desk.place_next().await.expect("an answer").expect("a request");
    assert_eq!(handled.outcome, CallOutcome::Refused);
    assert!(handled.answer.is_none() && handled.acknowledge.is_some());
}

#[tokio::test]
async fn calls_that_find_no_room_are_not_taken() {
    let mut tasks = JoinSet::new();
    let mut desk = desk(Taken::Placed, &mut tasks);
    let mut push = |number| desk.push(Inbox::Calls, &message(None, 1, number, "robot"));
    let [not_kept, kept] = MOST;
    assert!((0..not_kept).all(|_| push(0)) && !push(0));
    assert!((not_kept..kept).all(|_| push(1)) && !push(1));
    desk.forget();
    assert_eq!(desk.next_at(), None);
    assert!(desk.push(Inbox::Calls, &message(None, 1, 1, "robot")));
}

#[tokio::test]
async fn a_loop_that_does_not_answer_leaves_the_call_to_the_broker() {
    let mut desk = desk(Taken::Placed, &mut JoinSet::new());
    assert!(desk.push(Inbox::Calls, &message(None, 1, 1, "robot")));
    assert_eq!(desk.place_next().await.err(), Some(NoAnswer));
}
