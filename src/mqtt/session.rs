//! What one node publishes for the whole fleet: state, events and answers, over a session that the
//! fleet has in common.
//!
//! The session has one name for the fleet, so the broker lets one node have it at a time, and ends the
//! connection of the one before. It outlives its connection for a while: what was sent to it meanwhile,
//! and what was not acknowledged, the broker delivers to the node that connects next.
//!
//! In the other direction, events and answers that were on their way when a connection ended are
//! sent over the next one, once: the broker may end connections because of one of them. What is
//! dropped is counted.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::model::Term;
use liftmesh_api::State;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Publish, RetainForwardRule};
use tokio::time::{Instant, timeout};

use super::asked::Inbox;
use super::board::Board;
use super::connection::Connection;
use super::line::{Ack, Heard, Kind, Message};
use super::{MqttSettings, options};
use crate::mqtt_metrics::Counted;

/// How many events wait for the broker; when there are more, the oldest is dropped.
const EVENTS: usize = 1024;

/// How many answers wait for the broker; when there are more, the oldest is dropped.
const ANSWERS: usize = 256;

/// How long the broker may take for what waits when the session is left.
const FLUSH_LIMIT: Duration = Duration::from_millis(200);

pub(super) const JSON: &str = "application/json";

pub(super) struct Session {
    settings: MqttSettings,
    connection: Connection,
    board: Board,
    events: VecDeque<Message>,
    answers: VecDeque<Message>,
    term: Term,
    counted: Counted,
}

impl Session {
    pub(super) fn new(settings: &MqttSettings, term: Term, counted: Counted) -> Self {
        let mut options = options(settings, "master");
        let expiry = u32::try_from(settings.session_expiry.as_secs()).unwrap_or(u32::MAX);
        options.set_clean_start(false).set_session_expiry_interval(Some(expiry));
        let refused = counted.refused.clone();
        Self {
            connection: Connection::new("fleet", options, settings.access.clone(), refused),
            settings: settings.clone(),
            board: Board::default(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            term,
            counted,
        }
    }

    /// Publishes a state of the fleet, unless a newer one comes before there is room.
    pub(super) fn show(&mut self, state: &State, term: Term) {
        self.term = term;
        self.board.show(state, Instant::now());
        self.send_all();
    }

    pub(super) fn push_event(&mut self, event: Bytes) {
        self.events.push_back(self.message(Kind::Event, "events", event));
        self.send_all();
    }

    pub(super) fn answer(&mut self, mut answer: Message) {
        answer.properties.user_properties = self.author();
        self.answers.push_back(answer);
        self.send_all();
    }

    pub(super) fn acknowledge(&mut self, call: &Ack) {
        if let Some(line) = self.connection.line() {
            line.acknowledge(call);
        }
    }

    /// What comes next: a call, or the end of a connection. Cancel-safe.
    pub(super) async fn next(&mut self) -> SessionNews {
        let heard = self.connection.next().await;
        let news = self.on_heard(heard);
        self.send_all();
        news
    }

    fn on_heard(&mut self, heard: Result<Heard, Vec<Message>>) -> SessionNews {
        match heard {
            Ok(Heard::Connected) => self.on_connected(),
            Ok(Heard::Message(message)) => return self.on_message(message),
            Ok(Heard::Taken(_)) => self.counted.published.inc(),
            Ok(Heard::Refused(message, _)) => count_dropped(&self.counted, message.kind, 1),
            Ok(Heard::NotSubscribed(_) | Heard::Alive) => {}
            Err(messages) => {
                self.on_disconnected(messages);
                return SessionNews::Disconnected;
            }
        }
        SessionNews::Nothing
    }

    /// Ends the connection: the broker delivers again what was not acknowledged.
    pub(super) fn give_up(&mut self, reason: &str) {
        let messages = self.connection.give_up(reason);
        self.on_disconnected(messages);
    }

    /// Ends it in an orderly way, once the broker has the events and answers that wait; the session
    /// stays for the next node. Those that the broker does not take in time are counted as dropped.
    pub(super) async fn finish(mut self) {
        self.board = Board::default();
        let sent = async {
            while self.unsent() > 0 && self.connection.line().is_some() {
                match self.connection.next().await {
                    Ok(Heard::Message(_)) => {}
                    heard => drop(self.on_heard(heard)),
                }
                self.send_all();
            }
        };
        timeout(FLUSH_LIMIT, sent).await.ok();
        let on_their_way = self.connection.line().map(|line| line.messages().cloned().collect());
        let on_their_way: Vec<_> = on_their_way.unwrap_or_default();
        for message in on_their_way.iter().chain(&self.events).chain(&self.answers) {
            count_dropped(&self.counted, message.kind, 1);
        }
        self.counted.set_queued(0);
        self.counted.connected.set(0);
        self.connection.finish().await;
    }

    fn unsent(&mut self) -> usize {
        let waiting = self.events.len() + self.answers.len() + self.board.due();
        waiting + self.connection.line().map_or(0, |line| line.messages().count())
    }

    fn on_connected(&mut self) {
        self.counted.connected.set(1);
        self.board.forget_sent(Instant::now());
        let inboxes = Inbox::ALL.map(|inbox| self.settings.prefix.topic(inbox.topic()));
        let cars = self.settings.prefix.topic("cars/+");
        if let Some(line) = self.connection.line() {
            for inbox in inboxes {
                // A call that somebody had retained would be placed at each change of the master.
                line.subscribe(inbox, QoS::AtLeastOnce, RetainForwardRule::Never);
            }
            line.subscribe(cars, QoS::AtMostOnce, RetainForwardRule::OnEverySubscribe);
        }
    }

    fn on_disconnected(&mut self, messages: Vec<Message>) {
        self.counted.connected.set(0);
        for message in messages.into_iter().rev() {
            let queue = match message.kind {
                // The board says everything anew.
                Kind::State => continue,
                Kind::Event | Kind::Answer if message.is_repeated => {
                    count_dropped(&self.counted, message.kind, 1);
                    continue;
                }
                Kind::Event => &mut self.events,
                Kind::Answer => &mut self.answers,
            };
            queue.push_front(Message { is_repeated: true, ..message });
        }
        self.drop_oldest();
    }

    fn on_message(&mut self, message: Box<Publish>) -> SessionNews {
        let topic = String::from_utf8_lossy(&message.topic);
        let own = self.settings.prefix.strip(&topic);
        if let Some(inbox) = own.and_then(Inbox::at) {
            return SessionNews::Asked(inbox, message);
        }
        if let Some(car) = own.filter(|topic| topic.starts_with("cars/"))
            && !message.payload.is_empty()
        {
            self.board.found(car, Instant::now());
        }
        self.acknowledge(&Ack::of(&message));
        SessionNews::Nothing
    }

    fn send_all(&mut self) {
        while self.connection.line().is_some_and(|line| line.has_room()) {
            let Some(message) = self.next_message() else { break };
            if let Some(message) = self.connection.send(message) {
                count_dropped(&self.counted, message.kind, 1);
            }
        }
        self.drop_oldest();
        self.counted.set_queued(self.events.len() + self.answers.len());
    }

    /// Answers come first, as somebody waits for them; then the state, one message a topic.
    fn next_message(&mut self) -> Option<Message> {
        if let Some(answer) = self.answers.pop_front() {
            return Some(answer);
        }
        match self.board.take() {
            Some((name, payload)) => Some(self.message(Kind::State, &name, payload)),
            None => self.events.pop_front(),
        }
    }

    fn drop_oldest(&mut self) {
        for (queue, most, kind) in
            [(&mut self.events, EVENTS, Kind::Event), (&mut self.answers, ANSWERS, Kind::Answer)]
        {
            let dropped = queue.drain(..queue.len().saturating_sub(most)).count();
            count_dropped(&self.counted, kind, dropped as u64);
        }
    }

    fn message(&self, kind: Kind, name: &str, payload: Bytes) -> Message {
        let mut message = Message::new(kind, self.settings.prefix.topic(name), payload, JSON);
        message.properties.user_properties = self.author();
        message
    }

    fn author(&self) -> Vec<(String, String)> {
        let term = self.term.0.to_string();
        vec![("node".to_owned(), self.settings.node.to_string()), ("term".to_owned(), term)]
    }
}

fn count_dropped(counted: &Counted, kind: Kind, messages: u64) {
    let dropped = match kind {
        Kind::State => &counted.states_dropped,
        Kind::Event => &counted.events_dropped,
        Kind::Answer => &counted.answers_dropped,
    };
    dropped.inc_by(messages);
}

#[derive(Debug)]
pub(super) enum SessionNews {
    /// The broker will deliver again what was not acknowledged.
    Disconnected,
    Asked(Inbox, Box<Publish>),
    Nothing,
}

#[cfg(test)]
mod tests;
