//! Calls, and sessions of robots, that come over MQTT: taken one after the other, answered, and
//! acknowledged once the order is promised, or what was commanded of a session outlives this node.
//!
//! Until a call is acknowledged the broker keeps it, and delivers it again to the node that has the
//! session next. So a call that was acknowledged survives the loss of any one node, and one that was
//! not is placed by the next master. The fleet remembers the requests with an id, so that such a one is
//! not served twice; without an id a second delivery makes no second order while the first is open. What
//! robots ask for has one always.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Requested, Status};
use elevator_fleet::settings::Session;
use liftmesh_api::SessionView;
use rumqttc::v5::mqttbytes::v5::{Publish, PublishProperties};
use serde::Serialize;
use tokio::time::Instant;

use super::asked::{Asked, Inbox, no_topic, too_large};
use super::broker::Prefix;
use super::line::{Ack, Message};
use super::session::JSON;
use crate::mqtt_metrics::CallOutcome;
use crate::operator::{NodeLoop, NodeRequest, called};
use crate::programs::{OpenSession, PlacedCall, PlacedState, Problem, Way, id_reused, other_owner};

/// Between two calls: the node's loop has more to do.
const PAUSE: Duration = Duration::from_millis(20);

/// How many calls wait to be placed that the broker does not keep (`QoS` 0); after that the newest is
/// dropped.
const NOT_KEPT: usize = 256;

/// How many calls that the broker keeps may be unacknowledged. It has to stop at
/// [`RECEIVE_WINDOW`](super::line::RECEIVE_WINDOW), but some send more. None is dropped: the connection
/// ends instead, so that the broker delivers them again.
const KEPT: usize = 1024;

/// The longest topic for an answer, in bytes.
const LONGEST_TOPIC: usize = 256;

/// The longest correlation data, in bytes.
const LONGEST_CORRELATION: usize = 1024;

/// The topic of answers to calls that name none, below the prefix.
const ANSWERS: &str = "answers";

/// An answer, with the request that it belongs to.
#[derive(Serialize)]
struct Answered<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    /// The session that a refused `go` or `end` names. A session in an answer has its own id.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(flatten)]
    answer: &'a T,
}

/// A call that waits to be placed, with no more of its message than is needed.
#[derive(Debug)]
struct Waiting {
    ack: Ack,
    asked: Result<Asked, Problem>,
    /// The topic of the answer, if there is to be one.
    answer_to: Option<String>,
    correlation: Option<Bytes>,
}

/// What became of a request that was fulfilled.
#[derive(Debug)]
struct Done {
    said: Said,
    outcome: CallOutcome,
    awaits: Option<Awaited>,
}

/// Why a request was not fulfilled.
#[derive(Debug)]
enum Unmet {
    Refused(Problem),
    NoAnswer,
}

impl From<Problem> for Unmet {
    fn from(problem: Problem) -> Self {
        if problem.is_no_answer() { Self::NoAnswer } else { Self::Refused(problem) }
    }
}

/// What a client is told.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Said {
    Call(PlacedCall),
    Session(SessionView),
}

/// What the acknowledgement of a request waits for.
#[derive(Debug)]
enum Awaited {
    /// The promise or the end of the order for this call.
    Order(Call),
    /// That the settings outlive this node.
    Settings,
}

/// What to do about a call.
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

/// There is no room for one more call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Overflow {
    /// The broker does not keep it: it is dropped.
    NotKept,
    /// The broker keeps it, and delivers it again over another connection: this one has to end.
    Kept,
}

#[derive(Debug)]
pub(super) struct Desk {
    node_loop: NodeLoop,
    prefix: Prefix,
    /// The calls that the broker keeps until they are acknowledged. They come first.
    kept: VecDeque<Waiting>,
    /// The others.
    not_kept: VecDeque<Waiting>,
    /// What was fulfilled and is not acknowledged yet.
    held: Vec<(Ack, Awaited)>,
    next_at: Instant,
}

impl Desk {
    pub(super) fn new(node_loop: NodeLoop, prefix: Prefix) -> Self {
        let (kept, not_kept, held) = Default::default();
        Self { node_loop, prefix, kept, not_kept, held, next_at: Instant::now() }
    }

    /// Takes a call that is to be placed.
    ///
    /// # Errors
    /// [`Overflow`].
    pub(super) fn push(&mut self, inbox: Inbox, message: &Publish) -> Result<(), Overflow> {
        let ack = Ack::of(message);
        if ack.is_awaited() && self.kept.len() + self.held.len() >= KEPT {
            return Err(Overflow::Kept);
        }
        if !ack.is_awaited() && self.not_kept.len() >= NOT_KEPT {
            return Err(Overflow::NotKept);
        }
        let said = message.properties.as_ref();
        let answer_to = match said.and_then(|said| said.response_topic.as_ref()) {
            Some(topic) => self.is_for_answers(topic).then(|| topic.clone()),
            None => Some(self.prefix.topic(ANSWERS)),
        };
        // Copied: the rest of the message need not be kept for it.
        let correlation = said.and_then(|said| said.correlation_data.as_ref());
        let correlation = correlation.map(|data| Bytes::copy_from_slice(data));
        let is_short = |data: &Bytes| data.len() <= LONGEST_CORRELATION;
        let asked = if correlation.as_ref().is_none_or(is_short) {
            inbox.read(&message.payload)
        } else {
            Err(too_large(format!("correlation data has at most {LONGEST_CORRELATION} bytes")))
        };
        let asked = match asked {
            // Nobody would be told of the session, nor could end it.
            Ok(asked) if asked.is_of_robot() && answer_to.is_none() => Err(no_topic()),
            asked => asked,
        };
        let queue = if ack.is_awaited() { &mut self.kept } else { &mut self.not_kept };
        queue.push_back(Waiting {
            ack,
            asked,
            answer_to,
            correlation: correlation.filter(is_short),
        });
        Ok(())
    }

    /// The connection has ended: the broker will deliver again what was not acknowledged.
    pub(super) fn forget(&mut self) {
        self.kept.clear();
        self.not_kept.clear();
        self.held.clear();
    }

    /// When the next call may be placed, if one waits.
    pub(super) fn next_at(&self) -> Option<Instant> {
        (!self.kept.is_empty() || !self.not_kept.is_empty()).then_some(self.next_at)
    }

    /// Places the call that has waited longest, of those that the broker keeps if there are any.
    ///
    /// # Errors
    /// [`NoAnswer`]; the call must not be acknowledged.
    pub(super) async fn place_next(&mut self) -> Result<Option<Handled>, NoAnswer> {
        self.next_at = Instant::now() + PAUSE;
        let next = self.kept.pop_front().or_else(|| self.not_kept.pop_front());
        let Some(Waiting { ack, asked, answer_to, correlation }) = next else {
            return Ok(None);
        };
        let (request_id, session) = asked.as_ref().map_or((None, None), Asked::names);
        let done = match asked {
            Ok(asked) => self.fulfil(asked, answer_to.as_deref().unwrap_or_default()).await,
            Err(problem) => Err(problem.into()),
        };
        let request_id = request_id.as_deref();
        let (payload, content_type) = match &done {
            Ok(Done { said, .. }) => (json(&Answered { request_id, id: None, answer: said }), JSON),
            Err(Unmet::Refused(problem)) => {
                let id = session.map(|id| id.to_string());
                let answered = Answered { request_id, id, answer: problem };
                (json(&answered), "application/problem+json")
            }
            Err(Unmet::NoAnswer) => return Err(NoAnswer),
        };
        let properties = PublishProperties {
            payload_format_indicator: Some(1),
            content_type: Some(content_type.to_owned()),
            correlation_data: correlation,
            ..PublishProperties::default()
        };
        let answer = |topic| Message { topic, payload, retain: false, properties };
        let (outcome, awaits) =
            done.map_or((CallOutcome::Refused, None), |done| (done.outcome, done.awaits));
        let acknowledge = match awaits {
            Some(awaits) if ack.is_awaited() => {
                self.held.push((ack, awaits));
                None
            }
            Some(_) | None => Some(ack),
        };
        Ok(Some(Handled { acknowledge, answer: answer_to.map(answer), outcome }))
    }

    /// The requests of which a state of the node says that nothing has to be waited for any more: they
    /// are to be acknowledged.
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

    /// Does what a client asks for whose answers go to this topic.
    async fn fulfil(&self, asked: Asked, answer_to: &str) -> Result<Done, Unmet> {
        match asked {
            Asked::Call { form, request_id } => self.place(form, request_id, answer_to).await,
            Asked::Trip { trip, request_id } => {
                let session = OpenSession::of_trip(trip.clone(), None, false);
                let (session, outcome) = self.open(session, &request_id, answer_to).await?;
                let said = Said::Call(PlacedCall::of_trip(session.id, trip));
                Ok(Done { said, outcome, awaits: Some(Awaited::Settings) })
            }
            Asked::Open { session, request_id } => {
                let (session, outcome) = self.open(session, &request_id, answer_to).await?;
                Ok(Done::session(&session, outcome))
            }
            Asked::Change { id, change } => {
                if Way::Mqtt.owner(answer_to.as_bytes()) != id.owner {
                    let detail = "the session was opened with another topic for answers";
                    return Err(other_owner(detail).into());
                }
                let ask =
                    |reply| NodeRequest::ChangeSession { id, change, bearer: bearer(), reply };
                let changed = self.node_loop.ask_node(ask).await?.map_err(Problem::from)?;
                Ok(Done::session(&changed, CallOutcome::Taken))
            }
        }
    }

    async fn open(
        &self,
        session: OpenSession,
        request_id: &str,
        answer_to: &str,
    ) -> Result<(Session, CallOutcome), Unmet> {
        let id = Way::Mqtt.request(answer_to.as_bytes(), request_id);
        let request = session.request(id, bearer(), Access::Public)?;
        let opened =
            self.node_loop.ask_node(|reply| NodeRequest::OpenSession(request, reply)).await?;
        let (session, is_new) = opened.map_err(Problem::from)?;
        Ok((session, if is_new { CallOutcome::Taken } else { CallOutcome::Repeated }))
    }

    async fn place(
        &self,
        form: CallForm,
        request_id: Option<String>,
        answer_to: &str,
    ) -> Result<Done, Unmet> {
        let call = called(&form)?;
        let id = request_id.map(|id| Way::Mqtt.request(answer_to.as_bytes(), &id));
        let access = Access::Public;
        let requested = match id {
            None => Requested::Now(self.node_loop.order(&form, access).await?),
            Some(id) => {
                let request = CallRequest { id, bearer: bearer(), call: call.clone(), access };
                self.node_loop.request(request).await?
            }
        };
        let (taken, outcome) = match requested {
            Requested::Now(taken) => (taken, CallOutcome::Taken),
            Requested::Before(taken) => (taken, CallOutcome::Repeated),
            Requested::ForAnotherCall => return Err(id_reused().into()),
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

impl Done {
    fn session(session: &Session, outcome: CallOutcome) -> Self {
        let said = Said::Session(SessionView::from(session));
        Self { said, outcome, awaits: Some(Awaited::Settings) }
    }
}

/// Who makes a request, for people: the broker does not say.
fn bearer() -> String {
    "MQTT".to_owned()
}

fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

#[cfg(test)]
mod tests;
