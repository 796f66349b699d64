//! Calls, and sessions of robots, that come over MQTT: taken one after the other, answered, and
//! acknowledged once the order is promised, or what was commanded of a session outlives this node.
//!
//! Until a call is acknowledged the broker keeps it, and delivers it again to the node that has the
//! session next: one that was acknowledged survives the loss of any one node, and one that was not
//! is placed by the next master. The fleet remembers requests with an id, as all of robots have, so
//! that none is served twice; without, there is no second order while the first is open.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Requested, Status};
use liftmesh_api::SessionView;
use rumqttc::v5::mqttbytes::v5::Publish;
use serde::Serialize;
use tokio::time::Instant;

use super::asked::{Asked, Inbox, no_topic, too_large};
use super::broker::Prefix;
use super::line::{Ack, Kind, Message};
use super::session::JSON;
use crate::mqtt_metrics::CallOutcome;
use crate::operator::{NodeLoop, NodeRequest, called};
use crate::programs::{
    PlacedCall, PlacedState, Problem, Way, chosen_or_random, id_reused, other_owner,
};

/// Between two calls: the node's loop has more to do.
const PAUSE: Duration = Duration::from_millis(20);

/// How many calls may wait, unacknowledged ones included, for one to be taken that the broker does
/// not keep (`QoS` 0), and one that it does. It is to hold back more than 64; some do not.
const MOST: [usize; 2] = [256, 1024];

/// The longest topic for an answer, in bytes.
const LONGEST_TOPIC: usize = 256;

/// The longest correlation data, in bytes.
const LONGEST_CORRELATION: usize = 1024;

/// The topic of answers to calls that name none, below the prefix.
const ANSWERS: &str = "answers";

/// Who makes a request, for people: the broker does not say.
const BEARER: &str = "MQTT";

#[derive(Serialize)]
struct Answered {
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<String>,
    /// The session that a refused `go` or `end` names. A session in an answer has its own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    said: Said,
}

/// A call that waits to be placed, with no more of its message than is needed.
#[derive(Debug)]
struct Waiting {
    ack: Ack,
    asked: Result<Asked, Problem>,
    answer_to: Option<String>,
    correlation: Option<Bytes>,
}

#[derive(Debug)]
struct Done {
    said: Said,
    outcome: CallOutcome,
    awaits: Option<Awaited>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Said {
    Call(PlacedCall),
    Session(SessionView),
    Refused(Problem),
}

#[derive(Debug)]
enum Awaited {
    /// The promise or the end of the order for this call.
    Order(Call),
    Settings,
}

#[derive(Debug)]
pub(super) struct Handled {
    /// Whether the call is acknowledged now; otherwise it is held.
    pub(super) acknowledge: Option<Ack>,
    pub(super) answer: Option<Message>,
    pub(super) outcome: CallOutcome,
}

/// The node's loop does not answer, so it is not known whether a call was placed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoAnswer;

pub(super) struct Desk {
    node_loop: NodeLoop,
    prefix: Prefix,
    waiting: VecDeque<Waiting>,
    held: Vec<(Ack, Awaited)>,
    next_at: Instant,
}

impl Desk {
    pub(super) fn new(node_loop: NodeLoop, prefix: Prefix) -> Self {
        let (waiting, held) = Default::default();
        Self { node_loop, prefix, waiting, held, next_at: Instant::now() }
    }

    /// Takes a call to be placed; returns whether there was room. Without, it is not acknowledged.
    pub(super) fn push(&mut self, inbox: Inbox, message: &Publish) -> bool {
        let ack = Ack::of(message);
        if self.waiting.len() + self.held.len() >= MOST[usize::from(ack.is_awaited())] {
            return false;
        }
        let said = message.properties.as_ref();
        let answer_to = match said.and_then(|said| said.response_topic.as_ref()) {
            Some(topic) => self.is_for_answers(topic).then(|| topic.clone()),
            None => Some(self.prefix.topic(ANSWERS)),
        };
        // Copied: the rest of the message need not be kept for it.
        let correlation = said.and_then(|said| said.correlation_data.as_ref());
        let is_short = |data: &&Bytes| data.len() <= LONGEST_CORRELATION;
        let asked = if correlation.is_none_or(|data| is_short(&data)) {
            inbox.read(&message.payload)
        } else {
            Err(too_large(format!("correlation data has at most {LONGEST_CORRELATION} bytes")))
        };
        let asked = match asked {
            // Nobody would be told of the session, nor could end it.
            Ok(asked) if asked.is_of_robot() && answer_to.is_none() => Err(no_topic()),
            asked => asked,
        };
        let correlation = correlation.filter(is_short).map(|data| Bytes::copy_from_slice(data));
        self.waiting.push_back(Waiting { ack, asked, answer_to, correlation });
        true
    }

    /// The connection has ended: the broker will deliver again what was not acknowledged.
    pub(super) fn forget(&mut self) {
        self.waiting.clear();
        self.held.clear();
    }

    pub(super) fn next_at(&self) -> Option<Instant> {
        (!self.waiting.is_empty()).then_some(self.next_at)
    }

    /// Places the call that has waited longest; after [`NoAnswer`] it must not be acknowledged.
    pub(super) async fn place_next(&mut self) -> Result<Option<Handled>, NoAnswer> {
        self.next_at = Instant::now() + PAUSE;
        let Some(Waiting { ack, asked, answer_to, correlation }) = self.waiting.pop_front() else {
            return Ok(None);
        };
        let (request_id, session) = asked.as_ref().map_or((None, None), Asked::names);
        let done = match asked {
            Ok(asked) => self.fulfil(asked, answer_to.as_deref().unwrap_or_default()).await,
            Err(problem) => Err(problem),
        };
        let Done { said, outcome, awaits } = match done {
            Ok(done) => done,
            Err(problem) if problem.is_no_answer() => return Err(NoAnswer),
            Err(problem) => {
                Done { said: Said::Refused(problem), outcome: CallOutcome::Refused, awaits: None }
            }
        };
        let (content_type, id) = match &said {
            Said::Call(_) | Said::Session(_) => (JSON, None),
            Said::Refused(_) => ("application/problem+json", session.map(|id| id.to_string())),
        };
        let answered = Answered { request_id, id, said };
        let payload = Bytes::from(serde_json::to_vec(&answered).unwrap_or_default());
        let answer = answer_to.map(|topic| {
            let mut answer = Message::new(Kind::Answer, topic, payload, content_type);
            answer.properties.correlation_data = correlation;
            answer
        });
        let acknowledge = match awaits {
            Some(awaits) if ack.is_awaited() => {
                self.held.push((ack, awaits));
                None
            }
            Some(_) | None => Some(ack),
        };
        Ok(Some(Handled { acknowledge, answer, outcome }))
    }

    /// What is to be acknowledged, now that the node is in this state.
    pub(super) fn settle(&mut self, status: &Status) -> Vec<Ack> {
        let is_settled = |(_, awaits): &mut (Ack, Awaited)| match awaits {
            Awaited::Order(call) => {
                let order = status.orders.iter().find(|order| order.call == *call);
                order.is_none_or(|order| order.promised)
            }
            Awaited::Settings => status.settings_held,
        };
        self.held.extract_if(.., is_settled).map(|(ack, _)| ack).collect()
    }

    async fn fulfil(&self, asked: Asked, answer_to: &str) -> Result<Done, Problem> {
        let (session, trip, outcome) = match asked {
            Asked::Call { form, request_id } => {
                return self.place(form, request_id, answer_to).await;
            }
            Asked::Open { session, trip, request_id } => {
                let id = Way::Mqtt.request(answer_to.as_bytes(), &request_id);
                let request = session.request(id, BEARER.to_owned(), Access::Public)?;
                let ask = |reply| NodeRequest::OpenSession(request, reply);
                let (session, is_new) = self.node_loop.ask_node(ask).await??;
                (session, trip, if is_new { CallOutcome::Taken } else { CallOutcome::Repeated })
            }
            Asked::Change { id, change } => {
                if Way::Mqtt.owner(answer_to.as_bytes()) != id.owner {
                    let detail = "the session was opened with another topic for answers";
                    return Err(other_owner(detail));
                }
                let bearer = BEARER.to_owned();
                let ask = |reply| NodeRequest::ChangeSession { id, change, bearer, reply };
                (self.node_loop.ask_node(ask).await??, None, CallOutcome::Taken)
            }
        };
        let said = match trip {
            Some(trip) => Said::Call(PlacedCall::of_trip(session.id, trip)),
            None => Said::Session(SessionView::from(&session)),
        };
        Ok(Done { said, outcome, awaits: Some(Awaited::Settings) })
    }

    async fn place(
        &self,
        form: CallForm,
        request_id: Option<String>,
        answer_to: &str,
    ) -> Result<Done, Problem> {
        let call = called(&form)?;
        let request_id = chosen_or_random(request_id)?;
        let id = Way::Mqtt.request(answer_to.as_bytes(), &request_id);
        let access = Access::Public;
        let request = CallRequest { id, bearer: BEARER.to_owned(), call: call.clone(), access };
        let requested = self.node_loop.request(request).await?;
        let (taken, outcome) = match requested {
            Requested::Now(taken) => (taken, CallOutcome::Taken),
            Requested::Before(taken) => (taken, CallOutcome::Repeated),
            Requested::ForAnotherCall => return Err(id_reused()),
        };
        let said = PlacedCall::new(&call, form, taken, id);
        let awaits = match said.state {
            PlacedState::Absorbed => None,
            PlacedState::Placed => Some(Awaited::Order(call)),
        };
        Ok(Done { said: Said::Call(said), outcome, awaits })
    }

    /// Whether a caller may have its answer there: not where the node says something else.
    fn is_for_answers(&self, topic: &str) -> bool {
        let is_topic = (1..=LONGEST_TOPIC).contains(&topic.len())
            && !topic.starts_with('$')
            && !topic.chars().any(|letter| "+#".contains(letter) || letter.is_control());
        let own = self.prefix.strip(topic);
        is_topic && own.is_none_or(|own| own == ANSWERS || own.starts_with("answers/"))
    }
}

#[cfg(test)]
mod tests;
