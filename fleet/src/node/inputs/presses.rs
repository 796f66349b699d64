//! Presses of the node's own panel: which of them become orders, and which are refused.

use elevator_driver::{Alarm, Button, Trip};

use crate::car;
use crate::model::{Call, Dot, HallCall, Timestamp};
use crate::node::{Node, OrderRefused, Report};
use crate::services::access::{Access, refusing_mode, unserved};
use crate::settings::{Setting, Words};
use crate::store::Ride;

/// A press of a button of the panel, or a destination given at its kiosk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Press {
    pub call: Call,
    pub outcome: Result<Pressed, OrderRefused>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// An order, which has this press.
    Order(Dot),
    /// No order: it keeps the door open, which is open for it.
    Absorbed,
    /// No order: it drives a car in a special mode.
    Command,
    /// No order: the second press has cancelled the call, which counts as served.
    Cancelled,
}

impl Node {
    /// In a fire recall the buttons place no orders (ASME A17.1, phase I).
    pub(in crate::node) fn press(&mut self, button: Button, now: Timestamp) -> Press {
        let call = Call::of_button(button, &self.hello.node);
        if let (entrance, None) = (button.entrance(), button.direction())
            && unserved(&self.bank(now), &call).is_none()
        {
            // A lock holds against calls: a command in a fire or in a car out of service passes it.
            let bank = self.bank(now);
            let is_locked = refusing_mode(&bank, &call).is_none()
                && self.services.access.lock_against(&bank, &call).is_some();
            if !is_locked && self.cabin.press(entrance, now) == car::Press::Command {
                return Press { call, outcome: Ok(Pressed::Command) };
            }
            if self.cabin.cancels_car_calls() && self.store.ride_to(entrance) == Ride::Promised {
                self.store.serve(call.clone(), now);
                self.route_store(now);
                return Press { call, outcome: Ok(Pressed::Cancelled) };
            }
        }
        // Where the door is open, the button keeps it open, also at a locked floor.
        if !self.settings().is_fire_recalled() && self.absorbs(&call, now) {
            return Press { call, outcome: Ok(Pressed::Absorbed) };
        }
        self.place_of_panel(call, now)
    }

    /// Whether the open door of the own car makes an order for this call unnecessary: it goes where
    /// the call wants to.
    pub(in crate::node) fn absorbs(&mut self, call: &Call, now: Timestamp) -> bool {
        let goes_on = match call {
            Call::Hall(hall) => {
                let own = self.hello.node.as_str();
                self.building().goes_on(own, hall.entrance(), hall.direction)
            }
            Call::Car { .. } => true,
        };
        goes_on && self.cabin.absorbs(call, now)
    }

    /// A passenger has given a destination at a kiosk.
    pub(in crate::node) fn request(&mut self, trip: Trip, now: Timestamp) -> Option<Press> {
        let call = HallCall::to(trip.from(), trip.to()).map(Call::Hall)?;
        Some(self.place_of_panel(call, now))
    }

    /// The alarm button in the car was pressed. Until an operator has answered, a further press is
    /// the same alarm.
    pub(in crate::node) fn raise_alarm(&mut self, now: Timestamp) {
        let own = self.hello.node.clone();
        if self.settings().alarm(&own) == Alarm::Sent {
            return;
        }
        let by = Words::entered("alarm button", &own);
        if let Err(error) = self.set(Setting::Alarm(own, Alarm::Sent), by, now) {
            let text = format!("the alarm from the car is not kept, so its lamp is off: {error}");
            self.report(Report::Conflict { text });
        }
    }

    /// Places a call of the panel, or reports why not: its lamp stays dark.
    fn place_of_panel(&mut self, call: Call, now: Timestamp) -> Press {
        let refused = self.consult(now, |it, bank| it.access.refuse(bank, &call, Access::Public));
        let outcome = match refused {
            None => Ok(Pressed::Order(self.place(&call, now))),
            Some(refused) => {
                if let Some(report) = self.cabin.refused(refused.to_string(), now) {
                    self.report(report);
                }
                Err(refused)
            }
        };
        Press { call, outcome }
    }
}
