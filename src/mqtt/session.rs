//! What one node publishes for the whole fleet: state, events and answers, over a session that the
//! fleet has in common.
//!
//! The session has one name for the fleet, so the broker lets one node have it at a time, and ends the
//! connection of the one before. It outlives its connection for a while: what was sent to it meanwhile,
//! and what was not acknowledged, the broker delivers to the node that connects next.
//!
//! In the other direction, events and answers are kept until the broker has acknowledged them, and are
//! sent again over the next connection. What is dropped is counted.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::model::{NodeId, Term};
use liftmesh_api::State;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::{Publish, PublishProperties, RetainForwardRule};
use tokio::time::{Instant, timeout};

use super::asked::Inbox;
use super::board::Board;
use super::connection::{Connection, News};
use super::line::{Ack, Message, WINDOW};
use super::{MqttSettings, options};
use crate::mqtt_metrics::Counted;

/// How many events wait for the broker; when there are more, the oldest is dropped.
const EVENTS: usize = 1024;

/// How many answers wait for the broker; when there are more, the oldest is dropped.
const ANSWERS: usize = 256;

/// How long the broker may take for what waits when the session is left.
const FLUSH_LIMIT: Duration = Duration::from_millis(200);

const EVENTS_TOPIC: &str = "events";

/// The media type of what is not a problem.
pub(super) const JSON: &str = "application/json";

#[derive(Debug)]
pub(super) struct Session {
    settings: MqttSettings,
    connection: Connection,
    board: Board,
    events: VecDeque<Bytes>,
    answers: VecDeque<Message>,
    /// What was sent over an earlier connection, and not acknowledged. It fits into one window.
    again: VecDeque<Message>,
    /// The topics of what was on its way when a connection ended: the broker may have ended it because of
    /// one of them. Until it has taken or refused a message on each, they are sent one at a time.
    suspects: BTreeSet<String>,
    /// How many states still come first over this connection: nobody is without the state because of
    /// what a caller asks for, and no caller without an answer because cars move.
    states_first: usize,
    is_turn_of_events: bool,
    term: Term,
    counted: Counted,
}

impl Session {
    /// The session, for the node that publishes in this term.
    pub(super) fn new(settings: &MqttSettings, term: Term, counted: Counted) -> Self {
        let mut options = options(settings, "master");
        let expiry = u32::try_from(settings.session_expiry.as_secs()).unwrap_or(u32::MAX);
        options.set_clean_start(false).set_session_expiry_interval(Some(expiry));
        Self {
            connection: Connection::new(
                "fleet",
                options,
                settings.access.clone(),
                counted.refused.clone(),
            ),
            settings: settings.clone(),
            board: Board::default(),
            events: VecDeque::new(),
            answers: VecDeque::new(),
            again: VecDeque::new(),
            suspects: BTreeSet::new(),
            states_first: 0,
            is_turn_of_events: false,
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

    /// Publishes an event, as JSON.
    pub(super) fn push_event(&mut self, event: Bytes) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
            self.counted.events_dropped.inc();
        }
        self.events.push_back(event);
        self.send_all();
    }

    /// Publishes an answer.
    pub(super) fn answer(&mut self, mut answer: Message) {
        if self.answers.len() == ANSWERS {
            self.answers.pop_front();
            self.counted.answers_dropped.inc();
        }
        answer.properties.user_properties = author(&self.settings.node, self.term);
        self.answers.push_back(answer);
        self.send_all();
    }

    /// Acknowledges a call, which the broker then forgets.
    pub(super) fn acknowledge(&mut self, call: &Ack) {
        if let Some(line) = self.connection.line() {
            line.acknowledge(call);
        }
    }

    /// What comes next: a call, or the end of a connection; `is_broker_there` says whether another
    /// connection with the broker stands. Nothing is lost if this is dropped while it waits.
    pub(super) async fn next(&mut self, is_broker_there: bool) -> SessionNews {
        let news = self.connection.next(is_broker_there).await;
        let news = self.on_news(news);
        self.send_all();
        news
    }

    fn on_news(&mut self, news: News) -> SessionNews {
        match news {
            News::Connected => {
                self.counted.connected.set(1);
                self.on_connected();
            }
            News::Message(message) => return self.on_message(message),
            News::Taken(message) => {
                self.counted.published.inc();
                self.suspects.remove(&message.topic);
            }
            News::Refused(message) => self.drop_message(&message),
            News::Disconnected => {
                self.on_disconnected();
                return SessionNews::Disconnected;
            }
        }
        SessionNews::Nothing
    }

    /// Ends the connection: the broker delivers again what was not acknowledged.
    pub(super) fn give_up(&mut self, reason: &str) {
        self.connection.give_up(reason);
        self.on_disconnected();
    }

    /// Ends it in an orderly way, once the broker has the events and answers that wait; the session
    /// stays for the next node. Those that the broker does not take in time are counted as dropped.
    pub(super) async fn finish(mut self) {
        // The next node says what is so now.
        self.board = Board::default();
        let sent = async {
            while self.unsent() > 0 && self.connection.line().is_some() {
                match self.connection.next(false).await {
                    // The broker delivers it again.
                    News::Message(_) => {}
                    news => drop(self.on_news(news)),
                }
                self.send_all();
            }
        };
        timeout(FLUSH_LIMIT, sent).await.ok();
        self.count_unsent();
        self.counted.set_queued(0);
        self.counted.connected.set(0);
        self.connection.finish().await;
    }

    /// How many messages wait for the broker, or for its acknowledgement.
    fn unsent(&mut self) -> usize {
        let waiting = self.waiting() + self.board.due();
        waiting + self.connection.line().map_or(0, |line| line.unacknowledged())
    }

    fn on_disconnected(&mut self) {
        self.counted.connected.set(0);
        let mut again: VecDeque<_> = self.connection.take_unacknowledged().into();
        self.suspects.extend(again.iter().map(|message| message.topic.clone()));
        // The board says everything anew.
        again.retain(|message| !message.retain);
        again.append(&mut self.again);
        debug_assert!(again.len() <= usize::from(WINDOW));
        self.again = again;
    }

    fn count_unsent(&mut self) {
        let on_their_way = self.connection.line().map(|line| line.messages().cloned());
        let sent: Vec<_> = on_their_way.into_iter().flatten().collect();
        let lost = sent.iter().chain(&self.again).filter(|message| !message.retain);
        lost.for_each(|message| self.count_dropped(message));
        self.counted.events_dropped.inc_by(self.events.len() as u64);
        self.counted.answers_dropped.inc_by(self.answers.len() as u64);
    }

    /// The broker does not take this message.
    fn drop_message(&mut self, message: &Message) {
        self.suspects.remove(&message.topic);
        self.count_dropped(message);
    }

    fn count_dropped(&self, message: &Message) {
        if message.retain {
            self.counted.states_dropped.inc();
        } else if message.topic == self.settings.prefix.topic(EVENTS_TOPIC) {
            self.counted.events_dropped.inc();
        } else {
            self.counted.answers_dropped.inc();
        }
    }

    fn on_connected(&mut self) {
        self.board.forget_sent();
        self.states_first = self.board.due();
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

    /// Sends what there is room for: the state over a new connection, then what was sent before, then
    /// answers, as somebody waits for them.
    fn send_all(&mut self) {
        while self.has_room() {
            let Some(message) = self.next_message() else { break };
            if self.connection.is_left_out(&message.topic) {
                self.drop_message(&message);
            } else if let Some(line) = self.connection.line() {
                line.send(message);
            }
        }
        self.counted.set_queued(self.waiting());
    }

    fn has_room(&mut self) -> bool {
        let is_careful = !self.suspects.is_empty();
        self.connection
            .line()
            .is_some_and(|line| line.has_room() && (!is_careful || line.unacknowledged() == 0))
    }

    /// How many events and answers wait to be sent.
    fn waiting(&self) -> usize {
        self.again.len() + self.events.len() + self.answers.len()
    }

    fn next_message(&mut self) -> Option<Message> {
        if let Some(left) = self.states_first.checked_sub(1) {
            self.states_first = left;
            if let Some(state) = self.next_state() {
                return Some(state);
            }
        }
        let urgent = self.again.pop_front().or_else(|| self.answers.pop_front());
        if urgent.is_some() {
            return urgent;
        }
        // Alternately, so that neither waits for the other while the broker is slow.
        self.is_turn_of_events = !self.is_turn_of_events;
        let next = if self.is_turn_of_events {
            self.next_event().or_else(|| self.next_state())
        } else {
            self.next_state().or_else(|| self.next_event())
        };
        if next.is_none() {
            // What the suspects were about is not said any more.
            self.suspects.clear();
        }
        next
    }

    fn next_state(&mut self) -> Option<Message> {
        let (name, payload) = self.board.take()?;
        Some(self.message(&name, payload, true))
    }

    fn next_event(&mut self) -> Option<Message> {
        let event = self.events.pop_front()?;
        Some(self.message(EVENTS_TOPIC, event, false))
    }

    fn message(&self, name: &str, payload: Bytes, retain: bool) -> Message {
        let properties = PublishProperties {
            payload_format_indicator: Some(1),
            content_type: Some(JSON.to_owned()),
            user_properties: author(&self.settings.node, self.term),
            ..PublishProperties::default()
        };
        Message { topic: self.settings.prefix.topic(name), payload, retain, properties }
    }
}

/// What comes over the session.
#[derive(Debug)]
pub(super) enum SessionNews {
    /// The broker will deliver again what was not acknowledged.
    Disconnected,
    /// A client asks for something.
    Asked(Inbox, Box<Publish>),
    Nothing,
}

/// Who sends a message, and in which term.
fn author(node: &NodeId, term: Term) -> Vec<(String, String)> {
    vec![("node".to_owned(), node.to_string()), ("term".to_owned(), term.0.to_string())]
}

#[cfg(test)]
mod tests;
