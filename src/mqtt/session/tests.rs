//! Without a broker: `tests/processes/mqtt/` has one.

use super::*;

fn session() -> Session {
    Session::new(&MqttSettings::plain("mqtt://127.0.0.1:1", "A"), Term(3), Counted::new().unwrap())
}

fn answer(number: usize) -> Message {
    let payload = format!("answer {number}").into();
    Message::new(Kind::Answer, "robot".to_owned(), payload, JSON)
}

/// How many events, answers and states were dropped.
fn dropped(session: &Session) -> [u64; 3] {
    let Counted { events_dropped, answers_dropped, states_dropped, .. } = &session.counted;
    [events_dropped, answers_dropped, states_dropped].map(prometheus::IntCounter::get)
}

#[tokio::test]
async fn of_too_many_messages_the_oldest_are_dropped_and_counted() {
    let mut session = session();
    (0..EVENTS + 10).for_each(|number| session.push_event(format!("event {number}").into()));
    (0..ANSWERS + 3).for_each(|number| session.answer(answer(number)));
    assert_eq!((dropped(&session), session.counted.queued()), ([10, 3, 0], EVENTS + ANSWERS));
    assert_eq!(session.events[0].payload, "event 10");
    let first = session.next_message().expect("an answer");
    assert_eq!(first.payload, answer(3).payload);
    let author = [("node", "A"), ("term", "3")].map(|(key, is)| (key.to_owned(), is.to_owned()));
    assert_eq!(first.properties.user_properties, author);
}

/// Once: one of them may be why the broker ends connections.
#[tokio::test]
async fn what_was_on_its_way_when_a_connection_broke_is_sent_again_once() {
    let mut session = session();
    session.answer(answer(2));
    let state = Message { kind: Kind::State, ..answer(9) };
    session.on_disconnected(vec![answer(0), state, answer(1)]);
    let again: Vec<_> = std::iter::from_fn(|| session.next_message()).collect();
    let expected = [0, 1, 2].map(|number| answer(number).payload);
    assert!(again.iter().map(|message| &message.payload).eq(&expected), "{again:?}");
    session.on_disconnected(again);
    assert_eq!((dropped(&session), session.answers.len()), ([0, 2, 0], 1));
}

#[tokio::test]
async fn what_the_broker_refuses_or_does_not_take_in_time_is_counted() {
    let mut session = session();
    session.on_heard(Ok(Heard::Refused(answer(0), String::new())));
    assert_eq!(dropped(&session), [0, 1, 0]);
    session.push_event(Bytes::new());
    let counted = session.counted.clone();
    session.finish().await;
    assert_eq!((counted.events_dropped.get(), counted.queued()), (1, 0));
}
