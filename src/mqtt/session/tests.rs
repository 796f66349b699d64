//! Against a broker that acknowledges what a test lets it.

use std::time::SystemTime;

use bytes::BytesMut;
use elevator_fleet::dispatch::Kinematics;
use liftmesh_api::Flights;
use rumqttc::v5::mqttbytes::v5::{
    ConnAck, ConnectReturnCode, Packet, PubAck, PubAckReason, SubAck, SubscribeReasonCode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::operator::tests::full_status;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a broker does with the messages of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    /// It takes so many without a word, and ends the connection.
    Breaks(usize),
    /// It acknowledges each of them.
    Takes,
    /// The same, but ends the connection at a message on this topic.
    Ends(&'static str),
    /// The same, but refuses messages on this topic.
    Refuses(&'static str),
}

/// A broker that has a mood for each connection, and passes on what it was sent.
async fn serve(listener: TcpListener, moods: Vec<Mood>, heard: mpsc::Sender<Publish>) {
    for mood in moods {
        let (stream, _) = listener.accept().await.expect("a connection");
        attend(stream, mood, &heard).await;
    }
    std::future::pending::<()>().await;
}

async fn attend(mut stream: TcpStream, mood: Mood, heard: &mpsc::Sender<Publish>) {
    let (mut bytes, mut taken) = (BytesMut::new(), 0);
    loop {
        let packet = match Packet::read(&mut bytes, None) {
            Ok(packet) => packet,
            Err(_incomplete) => match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => continue,
            },
        };
        let answer = match packet {
            Packet::Connect(..) => Packet::ConnAck(ConnAck {
                session_present: true,
                code: ConnectReturnCode::Success,
                properties: None,
            }),
            Packet::Subscribe(subscribe) => Packet::SubAck(SubAck {
                pkid: subscribe.pkid,
                return_codes: vec![SubscribeReasonCode::Success(QoS::AtLeastOnce)],
                properties: None,
            }),
            Packet::Publish(message) => {
                let (number, topic) = (message.pkid, message.topic.clone());
                heard.send(message).await.expect("the test hears");
                taken += 1;
                match mood {
                    Mood::Ends(forbidden) if topic == forbidden => return,
                    Mood::Refuses(forbidden) if topic == forbidden => Packet::PubAck(PubAck {
                        reason: PubAckReason::NotAuthorized,
                        ..PubAck::new(number, None)
                    }),
                    Mood::Breaks(most) if taken == most => return,
                    Mood::Breaks(_) => continue,
                    Mood::Takes | Mood::Ends(_) | Mood::Refuses(_) => {
                        Packet::PubAck(PubAck::new(number, None))
                    }
                }
            }
            Packet::PingReq(_) => Packet::PingResp(rumqttc::v5::mqttbytes::v5::PingResp),
            _ => continue,
        };
        let mut reply = BytesMut::new();
        answer.write(&mut reply, None).expect("a packet");
        if stream.write_all(&reply).await.is_err() {
            return;
        }
    }
}

fn event(number: usize) -> Bytes {
    format!("event {number}").into()
}

fn answer(number: usize) -> Message {
    Message {
        topic: "robot".to_owned(),
        payload: format!("answer {number}").into(),
        retain: false,
        properties: PublishProperties::default(),
    }
}

/// A session at a broker with these moods, and what that hears.
async fn at_broker(
    moods: &[Mood],
    tasks: &mut JoinSet<()>,
) -> (Session, Counted, mpsc::Receiver<Publish>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let broker = listener.local_addr().expect("an address");
    let settings = MqttSettings::plain(&format!("mqtt://{broker}"), "A");
    let (sender, heard) = mpsc::channel(4 * EVENTS);
    tasks.spawn(serve(listener, moods.to_vec(), sender));
    let counted = Counted::new().unwrap();
    (Session::new(&settings, Term(3), counted.clone()), counted, heard)
}

/// Whether a counter has this value.
fn counts(counted: &Counted, name: &str) -> u64 {
    let collected = counted.collectors().into_iter().flat_map(|it| it.collect());
    let family = collected.into_iter().find(|family| family.name() == name).expect("a counter");
    let value = family.get_metric()[0].get_counter().get_value();
    format!("{value}").parse().expect("a whole number")
}

#[tokio::test]
async fn what_a_connection_took_along_is_sent_again_over_the_next() {
    let mut tasks = JoinSet::new();
    // After an end, messages go one at a time.
    let moods = [Mood::Breaks(20), Mood::Breaks(1), Mood::Takes];
    let (mut session, counted, mut heard) = at_broker(&moods, &mut tasks).await;
    let (events, answers) = (80, 5);
    (0..events).for_each(|number| session.push_event(event(number)));
    (0..answers).for_each(|number| session.answer(answer(number)));
    let sent = async {
        while session.unsent() > 0 || !session.is_connected() {
            session.next(true).await;
        }
    };
    timeout(PATIENCE * 2, sent).await.expect("the broker has everything");
    let mut payloads = Vec::new();
    while let Ok(message) = heard.try_recv() {
        payloads.push(message.payload);
    }
    let has = |payload: &Bytes| payloads.contains(payload);
    assert!((0..events).all(|number| has(&event(number))), "{payloads:?}");
    assert!((0..answers).all(|number| has(&answer(number).payload)), "{payloads:?}");
    // The last connection carried each of them once, but for those that were acknowledged before.
    let last = &payloads[21..];
    assert!(last.len() <= events + answers && payloads.len() > events + answers, "{payloads:?}");
    for name in ["liftmesh_mqtt_events_dropped_total", "liftmesh_mqtt_answers_dropped_total"] {
        assert_eq!(counts(&counted, name), 0, "{name}");
    }
    assert_eq!(counted.queued(), 0);
}

#[tokio::test]
async fn of_too_many_messages_the_oldest_are_dropped_and_counted() {
    let mut tasks = JoinSet::new();
    let (mut session, counted, mut heard) = at_broker(&[Mood::Takes], &mut tasks).await;
    (0..EVENTS + 10).for_each(|number| session.push_event(event(number)));
    (0..ANSWERS + 3).for_each(|number| session.answer(answer(number)));
    assert_eq!(counts(&counted, "liftmesh_mqtt_events_dropped_total"), 10);
    assert_eq!(counts(&counted, "liftmesh_mqtt_answers_dropped_total"), 3);
    assert_eq!(counted.queued(), EVENTS + ANSWERS);
    let sent = async {
        while session.unsent() > 0 {
            session.next(false).await;
        }
    };
    timeout(PATIENCE, sent).await.expect("the broker has everything");
    let first = heard.recv().await.expect("a message");
    assert_eq!(
        first.payload,
        answer(3).payload,
        "answers come first, and the oldest of those left"
    );
    assert_eq!(counted.queued(), 0);
}

/// A state of the fleet `north`, whose node is `A`.
fn state() -> State {
    let at = SystemTime::UNIX_EPOCH;
    State::new(&full_status(), &Flights::new(Kinematics::default()), at)
}

/// Whatever topic a broker ends connections at, a caller's or one of the fleet's: everything else gets
/// there, and the state over each connection.
#[tokio::test]
async fn a_topic_at_which_the_broker_ends_connections_is_left_out() {
    for (forbidden, name) in [
        ("robot", "liftmesh_mqtt_answers_dropped_total"),
        ("liftmesh/north/events", "liftmesh_mqtt_events_dropped_total"),
        ("liftmesh/north/orders", "liftmesh_mqtt_states_dropped_total"),
    ] {
        let mut tasks = JoinSet::new();
        let moods = [Mood::Ends(forbidden); 5];
        let (mut session, counted, mut heard) = at_broker(&moods, &mut tasks).await;
        session.show(&state(), Term(3));
        session.push_event(event(0));
        session.answer(answer(0));
        session.answer(Message { topic: "kiosk".to_owned(), ..answer(1) });
        let sent = async {
            while session.unsent() > 0 || !session.is_connected() {
                session.next(false).await;
            }
        };
        timeout(PATIENCE, sent).await.expect("the broker has everything else");
        // It costs no further connection.
        session.answer(answer(2));
        session.push_event(event(1));
        while session.unsent() > 0 {
            session.next(false).await;
        }
        assert!(counts(&counted, name) >= 1, "{forbidden}");
        assert_eq!(counted.refused_topics(), [forbidden]);
        let mut topics = Vec::new();
        while let Ok(message) = heard.try_recv() {
            topics.push(String::from_utf8(message.topic.to_vec()).unwrap());
        }
        let times = |wanted: &str| topics.iter().filter(|topic| *topic == wanted).count();
        assert!((2..=3).contains(&times(forbidden)), "{topics:?}");
        assert!(times("liftmesh/north/fleet") >= times(forbidden), "{topics:?}");
        for topic in ["robot", "kiosk", "liftmesh/north/events", "liftmesh/north/orders"] {
            assert!(times(topic) >= 1, "{topic} in {topics:?}");
        }
    }
}

#[tokio::test]
async fn what_the_broker_refuses_is_dropped_and_not_published() {
    let mut tasks = JoinSet::new();
    let (mut session, counted, _heard) = at_broker(&[Mood::Refuses("robot")], &mut tasks).await;
    session.answer(answer(0));
    session.push_event(event(0));
    while session.unsent() > 0 {
        session.next(false).await;
    }
    let figures = ["published", "answers_dropped", "events_dropped", "states_dropped"];
    let figures = figures.map(|name| counts(&counted, &format!("liftmesh_mqtt_{name}_total")));
    assert_eq!((figures, counted.refused_topics()), ([1, 1, 0, 0], vec!["robot".to_owned()]));
}

/// At a handover: what the broker does not take in time is counted, and states are not said any more.
#[tokio::test]
async fn what_is_left_when_the_session_is_left_is_counted() {
    let mut tasks = JoinSet::new();
    let (mut session, counted, mut heard) =
        at_broker(&[Mood::Breaks(usize::MAX)], &mut tasks).await;
    let connected = async {
        while !session.is_connected() {
            session.next(false).await;
        }
    };
    timeout(PATIENCE, connected).await.expect("a connection");
    (0..40).for_each(|number| session.push_event(event(number)));
    session.answer(answer(0));
    session.finish().await;
    assert_eq!(counts(&counted, "liftmesh_mqtt_events_dropped_total"), 40);
    assert_eq!(counts(&counted, "liftmesh_mqtt_answers_dropped_total"), 1);
    assert!(heard.try_recv().is_ok(), "the broker was sent some of them");

    let (mut session, counted, mut heard) = at_broker(&[Mood::Takes], &mut tasks).await;
    let connected = async {
        while !session.is_connected() {
            session.next(false).await;
        }
    };
    timeout(PATIENCE, connected).await.expect("a connection");
    (0..100).for_each(|number| session.push_event(event(number)));
    session.finish().await;
    let mut taken = 0;
    while heard.try_recv().is_ok() {
        taken += 1;
    }
    let dropped = counts(&counted, "liftmesh_mqtt_events_dropped_total");
    assert_eq!((taken, dropped), (100, 0), "a broker that answers gets them before the end");
}
