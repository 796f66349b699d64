//! What has become of the calls that programs have placed.

use elevator_driver::Floor;
use elevator_fleet::json::CallForm;
use elevator_fleet::model::{Call, NodeId};
use elevator_fleet::node::{Fate, FollowedCall, OrderStatus, Status};
use elevator_fleet::settings::{Session, SessionEnd, SessionState};
use elevator_fleet::store::Service;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{Order, OrderState, id_of, is_about_to_serve, seconds};

/// What a program may call for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum CallWish {
    /// What passengers call for.
    Order(CallForm),
    Robot(RobotTrip),
}

/// A car for a robot alone: it holds its door open at a floor, and then at another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RobotTrip {
    kind: RobotKind,
    /// Where the robot gets in.
    #[schema(example = 0)]
    pub from: u8,
    /// Where it gets out.
    #[schema(example = 3)]
    pub to: u8,
    /// The car; null: the one that gets there first.
    #[schema(example = "B")]
    pub car: Option<String>,
    /// For how long the door stays open at each floor: 1 to 120 seconds; 30 if left out.
    #[schema(minimum = 1, maximum = 120, example = 30)]
    pub seconds: Option<u16>,
}

/// The `kind` of a call for a robot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RobotKind {
    Robot,
}

/// What a program may call for.
#[derive(Serialize, ToSchema)]
#[schema(as = CallWish)]
#[serde(untagged)]
pub enum CallWishSchema {
    Order(CallForm),
    Robot(RobotTrip),
}

/// How far a call is.
#[derive(Debug, PartialEq, Serialize, ToSchema)]
pub struct CallReport {
    /// The receipt of the call, or for an order by its name that name.
    #[schema(example = "5bd1e99500c0ffee00c0ffee")]
    id: String,
    /// Names the order in `/orders`, as long as it is open. Null for a robot.
    #[schema(example = "hall-3-up")]
    order: Option<String>,
    #[schema(value_type = CallWishSchema)]
    pub call: CallWish,
    pub state: CallState,
    /// Why, where the state does not say it.
    reason: Option<CallReason>,
    /// The car that serves it, or has served it. Null for a robot whose trip is over.
    #[schema(value_type = Option<String>, example = "B")]
    car: Option<NodeId>,
    /// How long it has waited for the car, in seconds. Null where that is not known, and for a robot.
    waited: Option<f64>,
}

/// How far a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// No car is assigned.
    BeingAllocated,
    /// A car is assigned; it has come for a robot, or takes it along.
    BeingServed,
    /// The car's next stop is the call's floor, or its door opens there. Of a robot: where it gets out.
    ServedSoon,
    /// A car has been there. Of a robot: the trip is over.
    Served,
    /// Nobody serves it any more.
    Cancelled,
}

/// Why a call is in its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallReason {
    /// Being allocated: the node that answers has not got the order. It is on its way, or was lost
    /// together with the node that took it: repeat the request.
    OrderUnknown,
    /// Served: a car stood there with its door open.
    DoorOpen,
    /// Cancelled in a fire recall; of a robot, also by emergency power.
    Recalled,
    /// Cancelled: the client has withdrawn it.
    Withdrawn,
    /// Cancelled: the robot has had the car for 10 minutes, or has had it go to another floor.
    Time,
    /// Cancelled: the car's node has been away for 30 s.
    CarLost,
    /// Cancelled: no car has become free within 10 minutes.
    NoCar,
    /// Cancelled: an operator has ended the robot's session, has revoked its token, or has taken its car
    /// out of service.
    Operator,
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
                    from: from.index(),
                    to: to.index(),
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
    fn bare(id: &str, call: CallWish, state: CallState, reason: Option<CallReason>) -> Self {
        let id = id.to_owned();
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
            (Fate::Unknown, _) => report(CallState::BeingAllocated, Some(CallReason::OrderUnknown)),
            (Fate::Absorbed, _) => report(CallState::Served, Some(CallReason::DoorOpen)),
            (Fate::Dropped, _) => report(CallState::Cancelled, Some(CallReason::Recalled)),
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
                let there = Call::Car { car: car.clone(), floor: to };
                let is_soon = session.floor == to && is_about_to_serve(status, car, &there);
                (if is_soon { CallState::ServedSoon } else { CallState::BeingServed }, None)
            }
            SessionState::Ended(end) => match end {
                SessionEnd::Done => (CallState::Served, None),
                SessionEnd::Time => (CallState::Cancelled, Some(CallReason::Time)),
                SessionEnd::Recalled => (CallState::Cancelled, Some(CallReason::Recalled)),
                SessionEnd::CarLost => (CallState::Cancelled, Some(CallReason::CarLost)),
                SessionEnd::NoCar => (CallState::Cancelled, Some(CallReason::NoCar)),
                SessionEnd::Withdrawn => (CallState::Cancelled, Some(CallReason::Withdrawn)),
                SessionEnd::Operator => (CallState::Cancelled, Some(CallReason::Operator)),
            },
        };
        Self { car: session.car().cloned(), ..Self::bare(id, CallWish::Robot(trip), state, reason) }
    }
}
