//! What has become of the calls that programs have placed.

use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{Fate, FollowedCall, OrderStatus, Status};
use elevator_fleet::settings::{Session, SessionEnd, SessionState};
use elevator_fleet::store::Service;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::{Order, OrderState, id_of, is_about_to_serve, seconds};

/// What a program can call for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(untagged)]
pub enum CallWish {
    /// What passengers call for.
    Order(CallForm),
    Robot(RobotTrip),
}

/// By its `kind`, so that an error says what is wrong with a call of that kind.
impl<'de> Deserialize<'de> for CallWish {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let read = match value["kind"].as_str() {
            Some("robot") => serde_json::from_value(value).map(Self::Robot),
            Some("hall" | "destination" | "car") => serde_json::from_value(value).map(Self::Order),
            _ => {
                let kind = &value["kind"];
                let kinds = "the kinds of calls are `hall`, `destination`, `car` and `robot`";
                return Err(D::Error::custom(format!("unknown kind {kind}: {kinds}")));
            }
        };
        read.map_err(D::Error::custom)
    }
}

/// A car for one robot: it holds its door open at a floor, and then at another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RobotTrip {
    kind: RobotKind,
    /// Where the robot gets in.
    #[schema(value_type = String, example = "G")]
    pub from: Floor,
    /// Where it gets out.
    #[schema(value_type = String, example = "3")]
    pub to: Floor,
    /// The car; null means the one that gets there first.
    #[schema(example = "B")]
    pub car: Option<String>,
    /// How long the door stays open at each floor: 1 to 120 seconds; default 30.
    #[schema(minimum = 1, maximum = 120, example = 30)]
    pub seconds: Option<u16>,
}

/// The `kind` of a call for a robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RobotKind {
    Robot,
}

/// The progress of a call.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct CallReport {
    /// The receipt of the call, or the name of the order.
    #[schema(example = "5bd1e99500c0ffee00c0ffee")]
    id: String,
    /// The id of the order in `/orders`, while it is open. Null for a robot.
    #[schema(example = "hall-3-up")]
    order: Option<String>,
    pub call: CallWish,
    pub state: CallState,
    /// `order_unknown` while being allocated: the node that answers does not have the order; it is on its
    /// way, or lost: repeat the request. `door_open` if served: a car stood there with its door open. If
    /// cancelled, `recalled` or, for a robot, why its session ended. Null where the state says it all.
    #[schema(example = "recalled")]
    reason: Option<String>,
    /// The car that serves or served it. Null for a robot whose trip is over.
    #[schema(value_type = Option<String>, example = "B")]
    car: Option<NodeId>,
    /// How long it has waited for the car, in seconds. Null if unknown, and for a robot.
    waited: Option<f64>,
}

/// The progress of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// No car is assigned.
    BeingAllocated,
    /// A car is assigned; for a robot, also while the car is there or is taking it.
    BeingServed,
    /// The car's next stop is the call's floor (for a robot, its exit), or its door opens there.
    ServedSoon,
    /// A car has been there; for a robot, the trip is over.
    Served,
    /// It will not be served.
    Cancelled,
}

impl From<OrderState> for CallState {
    fn from(state: OrderState) -> Self {
        match state {
            OrderState::BeingAllocated => Self::BeingAllocated,
            OrderState::BeingServed => Self::BeingServed,
            OrderState::ServedSoon => Self::ServedSoon,
        }
    }
}

impl CallReport {
    /// A call that the fleet remembers, or else the open order of this name, if there is one.
    #[must_use]
    pub fn new(id: &str, status: &Status, followed: Option<&FollowedCall>) -> Option<Self> {
        match followed {
            Some(FollowedCall::Call { call, fate }) => Some(Self::of_call(id, call, fate, status)),
            Some(FollowedCall::Trip { from, to, car, session }) => {
                let trip = RobotTrip {
                    kind: RobotKind::Robot,
                    from: *from,
                    to: *to,
                    car: car.as_ref().map(ToString::to_string),
                    seconds: Some(session.seconds),
                };
                Some(Self::of_trip(id, trip, *to, session, status))
            }
            None => {
                let order = status.orders.iter().find(|order| id_of(&order.call) == id)?;
                Some(Self::of_order(id, order, status))
            }
        }
    }

    /// Whether nothing will change it any more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        match self.state {
            CallState::BeingAllocated | CallState::BeingServed | CallState::ServedSoon => false,
            CallState::Served | CallState::Cancelled => true,
        }
    }

    /// Without an order, a car and a time.
    fn bare(id: &str, call: CallWish, state: CallState, reason: Option<&str>) -> Self {
        let (id, reason) = (id.to_owned(), reason.map(str::to_owned));
        Self { id, order: None, call, state, reason, car: None, waited: None }
    }

    fn of_order(id: &str, order: &OrderStatus, status: &Status) -> Self {
        let Order { id: name, what: order, state } = Order::new(order, status);
        let call = CallWish::Order((&order.call).into());
        Self {
            order: Some(name),
            car: order.car,
            waited: Some(seconds(order.waited)),
            ..Self::bare(id, call, state.into(), None)
        }
    }

    fn of_call(id: &str, call: &Call, fate: &Fate, status: &Status) -> Self {
        let open = status.orders.iter().find(|order| order.call == *call);
        let report = |state, reason| Self::bare(id, CallWish::Order(call.into()), state, reason);
        match (fate, open) {
            (Fate::Open, Some(order)) => Self::of_order(id, order, status),
            (Fate::Open, None) => report(CallState::BeingAllocated, None),
            (Fate::Unknown, _) => report(CallState::BeingAllocated, Some("order_unknown")),
            (Fate::Absorbed, _) => report(CallState::Served, Some("door_open")),
            (Fate::Dropped, _) => report(CallState::Cancelled, Some("recalled")),
            (Fate::Served(Service { waited, car }), _) => Self {
                car: Some(car.clone()),
                waited: Some(seconds(*waited)),
                ..report(CallState::Served, None)
            },
        }
    }

    fn of_trip(id: &str, trip: RobotTrip, to: Floor, session: &Session, status: &Status) -> Self {
        let (state, reason) = match &session.state {
            SessionState::Queued => (CallState::BeingAllocated, None),
            SessionState::Coming(car) | SessionState::Open(car) => {
                let there = Call::ride(car, to);
                let is_soon = session.floor == to && is_about_to_serve(status, car, &there);
                (if is_soon { CallState::ServedSoon } else { CallState::BeingServed }, None)
            }
            SessionState::Ended(SessionEnd::Done) => (CallState::Served, None),
            SessionState::Ended(end) => (CallState::Cancelled, Some(end.name())),
        };
        Self { car: session.car().cloned(), ..Self::bare(id, CallWish::Robot(trip), state, reason) }
    }
}
