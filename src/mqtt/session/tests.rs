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

/// How many events, answers and states were dropped.
fn dropped(counted: &Counted) -> [u64; 3] {
    let Counted { events_dropped, answers_dropped, states_dropped, .. } = counted;
    [events_dropped, answers_dropped, states_dropped].map(prometheus::IntCounter::get)
}

/// Waits until the broker has, or has refused, everything.
async fn deliver(session: &mut Session) {
    let sent = async {
        while session.unsent() > 0 || session.connection.line().is_none() {
            session.next(false).await;
        }
    };
    timeout(PATIENCE * 2, sent).await.expect("the broker has everything");
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
    deliver(&mut session).await;
    let payloads: Vec<_> =
        std::iter::from_fn(|| heard.try_recv().ok()).map(|message| message.payload).collect();
    let has = |payload: &Bytes| payloads.contains(payload);
    assert!((0..events).all(|number| has(&event(number))), "{payloads:?}");
    assert!((0..answers).all(|number| has(&answer(number).payload)), "{payloads:?}");
    // The last connection carried each of them once, but for those that were acknowledged before.
    let last = &payloads[21..];
    assert!(last.len() <= events + answers && payloads.len() > events + answers, "{payloads:?}");
    assert_eq!((dropped(&counted), counted.queued()), ([0; 3], 0));
}

#[tokio::test]
async fn of_too_many_messages_the_oldest_are_dropped_and_counted() {
    let mut tasks = JoinSet::new();
    let (mut session, counted, mut heard) = at_broker(&[Mood::Takes], &mut tasks).await;
    (0..EVENTS + 10).for_each(|number| session.push_event(event(number)));
    (0..ANSWERS + 3).for_each(|number| session.answer(answer(number)));
    assert_eq!((dropped(&counted), counted.queued()), ([10, 3, 0], EVENTS + ANSWERS));
    deliver(&mut session).await;
    // Answers come first, and the oldest of those left.
    assert_eq!(heard.recv().await.expect("a message").payload, answer(3).payload);
    assert_eq!(counted.queued(), 0);
}

/// Whatever topic a broker ends connections at, a caller's or one of the fleet's: everything else gets
/// there, and the state over each connection.
#[tokio::test]
async fn a_topic_at_which_the_broker_ends_connections_is_left_out() {
    let flights = Flights::new(Kinematics::default());
    let state = State::new(&full_status(), &flights, SystemTime::UNIX_EPOCH);
    for (kind, forbidden) in
        ["liftmesh/north/events", "robot", "liftmesh/north/orders"].into_iter().enumerate()
    {
        let mut tasks = JoinSet::new();
        let moods = [Mood::Ends(forbidden); 5];
        let (mut session, counted, mut heard) = at_broker(&moods, &mut tasks).await;
        session.show(&state, Term(3));
        session.push_event(event(0));
        session.answer(answer(0));
        session.answer(Message { topic: "kiosk".to_owned(), ..answer(1) });
        deliver(&mut session).await;
        // It costs no further connection.
        session.answer(answer(2));
        session.push_event(event(1));
        deliver(&mut session).await;
        assert!(dropped(&counted)[kind] >= 1, "{forbidden}");
        assert_eq!(counted.refused_topics(), [forbidden]);
        let topics: Vec<_> =
            std::iter::from_fn(|| heard.try_recv().ok()).map(|message| message.topic).collect();
        let times = |wanted: &str| topics.iter().filter(|topic| **topic == wanted).count();
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
    deliver(&mut session).await;
    assert_eq!((counted.published.get(), dropped(&counted)), (1, [0, 1, 0]));
    assert_eq!(counted.refused_topics(), ["robot"]);
}

/// At a handover: a broker that answers gets what waits before the end, and what another one does not
/// take in time is counted.
#[tokio::test]
async fn what_is_left_when_the_session_is_left_is_counted() {
    for (mood, lost) in [(Mood::Breaks(usize::MAX), [100, 1, 0]), (Mood::Takes, [0; 3])] {
        let mut tasks = JoinSet::new();
        let (mut session, counted, mut heard) = at_broker(&[mood], &mut tasks).await;
        deliver(&mut session).await;
        (0..100).for_each(|number| session.push_event(event(number)));
        session.answer(answer(0));
        session.finish().await;
        let taken = std::iter::from_fn(|| heard.try_recv().ok()).count();
        assert!(taken == 101 || (taken > 0 && mood != Mood::Takes), "{taken}");
        assert_eq!(dropped(&counted), lost);
    }
}
