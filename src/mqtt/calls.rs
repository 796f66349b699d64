//! Calls that come over MQTT: placed one after the other, answered, and acknowledged once their order
//! is promised.
//!
//! Until a call is acknowledged the broker keeps it, and delivers it again to the node that has the
//! session next. So a call that was acknowledged survives the loss of any one node, and one that was
//! not is placed by the next master. The fleet remembers the requests with an id, so that such a one is
//! not served twice; without an id a second delivery makes no second order while the first is open.

use std::collections::VecDeque;
use std::time::Duration;

use axum::http::StatusCode;
use bytes::Bytes;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::Call;
use elevator_fleet::node::{Access, CallRequest, Report, Requested, Status};
use rumqttc::v5::mqttbytes::v5::{Publish, PublishProperties};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::broker::Prefix;
use super::count::CallOutcome;
use super::line::{Ack, Message};
use super::session::JSON;
use crate::http::Problem;
use crate::http::placed::{PlacedCall, PlacedState, Way, check_id, id_reused};
use crate::operator::{ErrorCode, NodeLoop, Refused};

/// Between two calls: the node's loop has more to do.
const PAUSE: Duration = Duration::from_millis(20);

/// How many calls wait to be placed that the broker does not keep (`QoS` 0); after that the newest is
/// dropped.
const NOT_KEPT: usize = 256;

/// How many calls that the broker keeps may be unacknowledged. It has to stop at
/// [`RECEIVE_WINDOW`](super::line::RECEIVE_WINDOW), but some send more. None is dropped: the connection
/// ends instead, so that the broker delivers them again.
const KEPT: usize = 1024;

/// The longest payload, in bytes.
const LONGEST_CALL: usize = 4 * 1024;

/// The longest topic for an answer, in bytes.
const LONGEST_TOPIC: usize = 256;

/// The longest correlation data, in bytes.
const LONGEST_CORRELATION: usize = 1024;

/// The topic of answers to calls that name none, below the prefix.
const ANSWERS: &str = "answers";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct PlaceCall {
    call: CallForm,
    request_id: Option<String>,
}

/// An answer, with the request that it belongs to.
#[derive(Serialize)]
struct Answered<'a, T> {
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(flatten)]
    answer: &'a T,
}

/// A call that waits to be placed, with no more of its message than is needed.
#[derive(Debug)]
struct Waiting {
    ack: Ack,
    request: Result<PlaceCall, Problem>,
    /// The topic of the answer, if there is to be one.
    answer_to: Option<String>,
    correlation: Option<Bytes>,
}

/// What became of a call.
#[derive(Debug)]
struct Placed {
    call: Call,
    said: PlacedCall,
    outcome: CallOutcome,
}

/// A call that was placed and is not acknowledged yet.
#[derive(Debug)]
struct Held {
    ack: Ack,
    call: Call,
    /// There is, or was, an order.
    is_placed: bool,
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
    held: Vec<Held>,
    next_at: Instant,
}

impl Desk {
    pub(super) fn new(node_loop: NodeLoop, prefix: Prefix) -> Self {
        Self {
            node_loop,
            prefix,
            kept: VecDeque::new(),
            not_kept: VecDeque::new(),
            held: Vec::new(),
            next_at: Instant::now(),
        }
    }

    /// Takes a call that is to be placed.
    ///
    /// # Errors
    /// [`Overflow`].
    pub(super) fn push(&mut self, message: &Publish) -> Result<(), Overflow> {
        let ack = Ack::of(message);
        if ack.is_awaited() && self.kept.len() + self.held.len() >= KEPT {
            return Err(Overflow::Kept);
        }
        if !ack.is_awaited() && self.not_kept.len() >= NOT_KEPT {
            return Err(Overflow::NotKept);
        }
        let asked = message.properties.as_ref();
        let answer_to = match asked.and_then(|properties| properties.response_topic.as_deref()) {
            Some(topic) => self.is_for_answers(topic).then(|| topic.to_owned()),
            None => Some(self.prefix.topic(ANSWERS)),
        };
        let correlation = asked.and_then(|properties| properties.correlation_data.as_ref());
        let is_long = correlation.is_some_and(|data| data.len() > LONGEST_CORRELATION);
        let request = if is_long {
            Err(too_large(format!("correlation data has at most {LONGEST_CORRELATION} bytes")))
        } else {
            read(&message.payload)
        };
        // Copied: the rest of the message need not be kept for it.
        let correlation = correlation.filter(|_| !is_long).map(|data| Bytes::copy_from_slice(data));
        let queue = if ack.is_awaited() { &mut self.kept } else { &mut self.not_kept };
        queue.push_back(Waiting { ack, request, answer_to, correlation });
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
        let Some(Waiting { ack, request, answer_to, correlation }) = next else {
            return Ok(None);
        };
        let id = request.as_ref().ok().and_then(|request| request.request_id.clone());
        let placed = match request {
            Ok(request) => self.place(request, answer_to.as_ref()).await?,
            Err(problem) => Err(problem),
        };
        let answer = answer_to.map(|topic| answer(topic, correlation, id.as_deref(), &placed));
        let (acknowledge, outcome) = match placed {
            Ok(placed) => {
                let outcome = placed.outcome;
                (self.hold(ack, placed), outcome)
            }
            Err(_problem) => (Some(ack), CallOutcome::Refused),
        };
        Ok(Some(Handled { acknowledge, answer, outcome }))
    }

    /// The calls of which a state of the node says that their orders are promised, or gone: they are
    /// to be acknowledged.
    pub(super) fn settle(&mut self, status: &Status) -> Vec<Ack> {
        for held in &mut self.held {
            held.is_placed |= status.orders.iter().any(|order| order.call == held.call);
        }
        let is_open = |held: &Held| {
            let order = status.orders.iter().find(|order| order.call == held.call);
            !held.is_placed || order.is_some_and(|order| !order.promised)
        };
        let settled = self.held.extract_if(.., |held| !is_open(held));
        settled.map(|held| held.ack).collect()
    }

    /// Takes note of an event: an order that is there, or has been there.
    pub(super) fn note(&mut self, report: &Report) {
        if let Report::Placed { call, .. }
        | Report::Promised { call }
        | Report::Served { call, .. }
        | Report::Dropped { call } = report
        {
            for held in self.held.iter_mut().filter(|held| held.call == *call) {
                held.is_placed = true;
            }
        }
    }

    async fn place(
        &mut self,
        PlaceCall { call: form, request_id }: PlaceCall,
        answer_to: Option<&String>,
    ) -> Result<Result<Placed, Problem>, NoAnswer> {
        let call = match Call::try_from(&form) {
            Ok(call) => call,
            Err(cause) => return Ok(Err(Refused::new(ErrorCode::NoSuchButton, &cause).into())),
        };
        let topic = answer_to.map_or("", String::as_str);
        let id = request_id.map(|id| Way::Mqtt.request(topic.as_bytes(), &id));
        let requested = match id {
            None => self.node_loop.order(&form, Access::Public).await.map(Requested::Now),
            Some(id) => {
                let (bearer, call) = (format!("MQTT {topic}"), call.clone());
                let access = Access::Public;
                self.node_loop.request(CallRequest { id, bearer, call, access }).await
            }
        };
        let (taken, outcome) = match requested {
            Ok(Requested::Now(taken)) => (taken, CallOutcome::Taken),
            Ok(Requested::Before(taken)) => (taken, CallOutcome::Repeated),
            Ok(Requested::ForAnotherCall) => return Ok(Err(id_reused())),
            Err(refused) if refused.code == ErrorCode::NoAnswer => return Err(NoAnswer),
            Err(refused) => return Ok(Err(refused.into())),
        };
        let said = PlacedCall::new(&call, form, taken, id);
        Ok(Ok(Placed { call, said, outcome }))
    }

    /// Returns the acknowledgement if nothing has to be waited for.
    fn hold(&mut self, ack: Ack, Placed { call, said, .. }: Placed) -> Option<Ack> {
        let is_placed = match said.state {
            PlacedState::Absorbed => return Some(ack),
            PlacedState::Placed => true,
            PlacedState::Waiting => false,
        };
        if !ack.is_awaited() {
            return Some(ack);
        }
        self.held.push(Held { ack, call, is_placed });
        None
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

fn answer(
    topic: String,
    correlation_data: Option<Bytes>,
    request_id: Option<&str>,
    placed: &Result<Placed, Problem>,
) -> Message {
    let (payload, content_type) = match placed {
        Ok(Placed { said, .. }) => (json(&Answered { request_id, answer: said }), JSON),
        Err(problem) => {
            (json(&Answered { request_id, answer: problem }), "application/problem+json")
        }
    };
    let properties = PublishProperties {
        payload_format_indicator: Some(1),
        content_type: Some(content_type.to_owned()),
        correlation_data,
        ..PublishProperties::default()
    };
    Message { topic, payload, retain: false, properties }
}

fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn read(payload: &[u8]) -> Result<PlaceCall, Problem> {
    if payload.len() > LONGEST_CALL {
        return Err(too_large(format!("a call has at most {LONGEST_CALL} bytes")));
    }
    let request: PlaceCall = serde_json::from_slice(payload).map_err(|error| malformed(&error))?;
    if let Some(id) = &request.request_id {
        check_id(id)?;
    }
    Ok(request)
}

/// The parts of a call that a client publishes, for a fuzzer.
#[cfg(feature = "fuzzing")]
pub(super) fn read_parts(payload: &[u8]) -> Result<(Option<String>, String), String> {
    let told = |problem: Problem| String::from_utf8_lossy(&json(&problem)).into_owned();
    let PlaceCall { call, request_id } = read(payload).map_err(told)?;
    Ok((request_id, String::from_utf8_lossy(&json(&call)).into_owned()))
}

fn too_large(detail: String) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail)
}

fn malformed(error: &serde_json::Error) -> Problem {
    let example = r#"{"call":{"kind":"hall","floor":3,"direction":"up"},"request_id":"1"}"#;
    Problem::malformed(format!("{error}: a call is such as {example}"))
}

#[cfg(test)]
mod tests;
