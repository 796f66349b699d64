//! Presses of the node's own panel: which of them become orders, and which are refused.

use elevator_driver::{Button, Trip};

use crate::car;
use crate::model::{Call, Dot, HallCall, Timestamp};
use crate::node::{Node, OrderRefused, Taken};
use crate::services::calls::refusing_mode;
use crate::store::MOST_OPEN_TRIPS;

/// A press of a button of the panel, or a destination given at its kiosk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    /// What was pressed.
    pub call: Call,
    /// What the node made of it.
    pub outcome: Result<Pressed, OrderRefused>,
}

/// What a node makes of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// An order, which has this press.
    Order(Option<Dot>),
    /// No order: it keeps the door open, which is open for it.
    Absorbed,
    /// No order: it drives a car in a special mode.
    Command,
}

impl Node {
    /// A button was pressed.
    pub(in crate::node) fn press(&mut self, button: Button, now: Timestamp) -> Press {
        let call = Call::of_button(button, &self.hello.node);
        let outcome = self.take_press(button, &call, now);
        Press { call, outcome }
    }

    /// In a fire recall the buttons place no orders (ASME A17.1, phase I). Those in a car may be
    /// commands to it.
    fn take_press(
        &mut self,
        button: Button,
        call: &Call,
        now: Timestamp,
    ) -> Result<Pressed, OrderRefused> {
        let refused = self.services.access.lock_against(&self.bank(now), call);
        if let Button::Car(floor) = button {
            // A lock holds against calls: a command in a fire or in a car out of service passes it.
            let is_call = refusing_mode(&self.bank(now), call).is_none();
            if is_call && let Some(refused) = refused {
                // Where the door is open, the button keeps it open.
                if self.cabin.absorbs(call, now) {
                    return Ok(Pressed::Absorbed);
                }
                self.refuse_press(&refused, now);
                return Err(refused);
            }
            if self.cabin.press(floor, now) == car::Press::Command {
                return Ok(Pressed::Command);
            }
        }
        if self.settings().is_fire_recalled() {
            return Err(OrderRefused::FireRecall { call: call.clone() });
        }
        if self.cabin.absorbs(call, now) {
            return Ok(Pressed::Absorbed);
        }
        let served = match call {
            Call::Hall(_) => true,
            Call::Car { .. } => self.cabin.car().is_some(),
        };
        if !served {
            let (call, node) = (call.clone(), self.hello.node.clone());
            return Err(OrderRefused::NoCar { call, node });
        }
        if !self.hello.floors.has_button(button) {
            let (call, top) = (call.clone(), self.hello.floors.top().index());
            return Err(OrderRefused::NoSuchButton { call, top });
        }
        Ok(self.place_pressed(call, now))
    }

    /// A call from the panel was refused because of a lock: its lamp stays dark.
    fn refuse_press(&mut self, refused: &OrderRefused, now: Timestamp) {
        self.services.access.count_refused();
        if let Some(report) = self.cabin.refused(refused.to_string(), now) {
            self.report(report);
        }
    }

    /// A passenger has given a destination at a kiosk.
    pub(in crate::node) fn request(&mut self, trip: Trip, now: Timestamp) -> Option<Press> {
        let call = HallCall::to(trip.from(), trip.to()).map(Call::Hall);
        let call = call.filter(|call| call.is_within(self.hello.floors))?;
        let outcome = self.take_request(&call, now);
        Some(Press { call, outcome })
    }

    fn take_request(&mut self, call: &Call, now: Timestamp) -> Result<Pressed, OrderRefused> {
        let refused = if self.settings().is_fire_recalled() {
            OrderRefused::FireRecall { call: call.clone() }
        } else if let Some(refused) = self.services.access.lock_against(&self.bank(now), call) {
            self.refuse_press(&refused, now);
            return Err(refused);
        } else if self.store.may_place(call) {
            return Ok(self.place_pressed(call, now));
        } else {
            OrderRefused::TooManyTrips { call: call.clone(), most: MOST_OPEN_TRIPS }
        };
        if let Some(report) = self.cabin.refused(refused.to_string(), now) {
            self.report(report);
        }
        Err(refused)
    }

    fn place_pressed(&mut self, call: &Call, now: Timestamp) -> Pressed {
        match self.place(call, now) {
            Taken::Placed => Pressed::Order(self.store.latest_press(call)),
            Taken::Absorbed => Pressed::Absorbed,
        }
    }
}
