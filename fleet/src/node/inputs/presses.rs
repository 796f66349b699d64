//! Presses of the node's own panel: which of them become orders, and which are refused.

use elevator_driver::{Button, Trip};

use crate::car;
use crate::model::{Call, Dot, HallCall, Timestamp};
use crate::node::{Node, OrderRefused};
use crate::services::access::Access;
use crate::services::calls::refusing_mode;

/// A press of a button of the panel, or a destination given at its kiosk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    pub call: Call,
    pub outcome: Result<Pressed, OrderRefused>,
}

/// What a node makes of a press.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// An order, which has this press.
    Order(Dot),
    /// No order: it keeps the door open, which is open for it.
    Absorbed,
    /// No order: it drives a car in a special mode.
    Command,
}

impl Node {
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
        if let Button::Car(floor) = button {
            // A lock holds against calls: a command in a fire or in a car out of service passes it.
            let is_call = refusing_mode(&self.bank(now), call).is_none();
            let refused = self.services.access.lock_against(&self.bank(now), call);
            if is_call && let Some(refused) = refused {
                // Where the door is open, the button keeps it open.
                if self.cabin.absorbs(call, now) {
                    return Ok(Pressed::Absorbed);
                }
                self.services.access.count_refused();
                self.report_refused(&refused, now);
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
        if matches!(call, Call::Car { .. }) && self.cabin.car().is_none() {
            let (call, node) = (call.clone(), self.hello.node.clone());
            return Err(OrderRefused::NoCar { call, node });
        }
        if !self.hello.floors.has_button(button) {
            let (call, top) = (call.clone(), self.hello.floors.top().index());
            return Err(OrderRefused::NoSuchButton { call, top });
        }
        Ok(Pressed::Order(self.place(call, now)))
    }

    /// A call from the panel was refused: its lamp stays dark.
    fn report_refused(&mut self, refused: &OrderRefused, now: Timestamp) {
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
        let refused = self.consult(now, |it, bank| it.access.refuse(bank, call, Access::Public));
        let Some(refused) = refused else { return Ok(Pressed::Order(self.place(call, now))) };
        self.report_refused(&refused, now);
        Err(refused)
    }
}
