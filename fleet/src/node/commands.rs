//! The commands of operators, and what follows from what is set.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Floor};

use super::own_car::OwnCar;
use super::{Node, Report};
use crate::car::Power;
use crate::directives::{
    Directive, DirectiveError, Directives, EmergencyPower, Key, PriorityCall, Request, Setting,
    Words,
};
use crate::dispatch::{Kinematics, Predictor};
use crate::model::{Mode, NodeId, Timestamp};

/// How often requests that can't be remembered are reported at most.
const REFUSED_PERIOD: Duration = Duration::from_mins(1);

/// What a node knows of commands besides what is set.
#[derive(Debug)]
pub(super) struct Commands {
    /// What every node knows of this node's car.
    pub(super) own: OwnCar,
    /// When a request that can't be remembered was last reported.
    refused_reported: Option<Timestamp>,
}

impl Commands {
    pub(super) fn new(own: NodeId, settings: &Directives) -> Self {
        let mut own = OwnCar::new(own);
        own.refresh(settings);
        Self { own, refused_reported: None }
    }

    /// A request can't be remembered: what to report, once per [`REFUSED_PERIOD`].
    fn request_refused(&mut self, error: &DirectiveError, now: Timestamp) -> Option<String> {
        let is_due = self.refused_reported.is_none_or(|at| now.since(at) >= REFUSED_PERIOD);
        is_due.then(|| {
            self.refused_reported = Some(now);
            format!("a request that is repeated is fulfilled again: {error}")
        })
    }
}

impl Node {
    /// An operator sets the service mode of a car, of this node or another one. It holds until
    /// another one is commanded, whatever is restarted meanwhile. The car's key switch, or a fire
    /// recall of the fleet, may be more restrictive.
    ///
    /// `operator` is cut to what [`Words::entered`] has room for.
    ///
    /// # Errors
    /// [`DirectiveError`]: nothing has changed.
    pub fn handle_mode(
        &mut self,
        car: &NodeId,
        mode: Mode,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        self.handle_setting(Setting::Mode(car.clone(), mode), operator, now)
    }

    /// An operator starts a fire recall of all cars, or ends all that this node knows of. Nothing but
    /// this command ends them.
    ///
    /// # Errors
    /// [`DirectiveError`]: nothing has changed.
    pub fn handle_fire_recall(
        &mut self,
        recall: FireRecall,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        let directives = self.directives();
        let set = match recall {
            FireRecall::Start => vec![directives.next_recall(self.hello.nonce)],
            FireRecall::End => directives.ends_of_recalls(),
        };
        if set.is_empty() {
            return Err(DirectiveError::NoRecall);
        }
        let by = Words::entered(operator, &self.hello.node);
        for setting in set {
            self.set_directive(setting, by.clone(), now)?;
        }
        self.settle(now);
        Ok(())
    }

    /// An operator sends a car to a floor with priority, or, where no car is named, the one that gets
    /// there first. Returns the car.
    ///
    /// The car takes no more hall calls, and those that it has go to others. It serves the car calls
    /// on its way, opens at the floor and stays there for
    /// [`priority_stay`](crate::car::CarSettings::priority_stay), or until somebody presses a button in
    /// it. Then it is back in service. A car in a more restrictive mode goes once that is over; a fire
    /// recall and emergency power end the call.
    ///
    /// # Errors
    /// [`PriorityRefused`]: nothing has changed.
    pub fn handle_priority(
        &mut self,
        car: Option<&NodeId>,
        floor: Floor,
        operator: &str,
        now: Timestamp,
    ) -> Result<NodeId, PriorityRefused> {
        if !self.hello.floors.contains(floor) {
            let top = self.hello.floors.top().index();
            return Err(PriorityRefused::NoSuchFloor { floor, top });
        }
        if self.directives().is_fire_recalled() {
            return Err(PriorityRefused::FireRecall);
        }
        if self.directives().emergency_power().is_some() {
            return Err(PriorityRefused::EmergencyPower);
        }
        let chosen = car.cloned().or_else(|| self.first_car_to(floor, now));
        let chosen = chosen.ok_or(PriorityRefused::NoCar { floor })?;
        let call = Some(PriorityCall { floor, any: car.is_none() });
        self.handle_setting(Setting::Priority(chosen.clone(), call), operator, now)?;
        Ok(chosen)
    }

    /// An operator ends the priority call of a car, and its session.
    ///
    /// # Errors
    /// [`DirectiveError`]: the priority call has not changed.
    pub fn handle_priority_end(
        &mut self,
        car: &NodeId,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        self.end_session_of(car, operator, now)?;
        self.handle_setting(Setting::Priority(car.clone(), None), operator, now)
    }

    /// An operator says that the building runs on emergency power, or no longer does. `serving` is the
    /// car that is to serve once all are down; if it can't, another one does. To command it again gives
    /// each car another turn.
    ///
    /// # Errors
    /// [`DirectiveError`]: nothing has changed.
    pub fn handle_emergency_power(
        &mut self,
        on: bool,
        serving: Option<&NodeId>,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        let cars = self.known_cars(now);
        let emergency = EmergencyPower { cars, serving: serving.cloned() };
        self.handle_setting(Setting::EmergencyPower(on.then_some(emergency)), operator, now)?;
        // The count begins anew: cars may have been taken out of the fleet since the last time.
        if on && self.directives().get(&Key::Cars).is_some() {
            self.direct(Setting::Cars(cars), now);
        }
        Ok(())
    }

    /// The car in service that is predicted to open first at a floor.
    pub(super) fn first_car_to(&self, floor: Floor, now: Timestamp) -> Option<NodeId> {
        self.first_car_of(floor, &self.cars_with_errands(), None, now)
    }

    /// The cars that have a priority call or a session.
    pub(super) fn cars_with_errands(&self) -> BTreeSet<NodeId> {
        let directives = self.directives();
        let called = directives.priorities().map(|(car, _)| car.clone());
        let sessions = directives.open_sessions().into_iter().filter_map(|it| it.car().cloned());
        called.chain(sessions).collect()
    }

    /// The same among those that are not `busy`; if one is named, that one alone.
    pub(super) fn first_car_of(
        &self,
        floor: Floor,
        busy: &BTreeSet<NodeId>,
        named: Option<&NodeId>,
        now: Timestamp,
    ) -> Option<NodeId> {
        let is_asked_for = |car: &NodeId| named.is_none_or(|named| named == car);
        let mut cars = self.all_situations(now);
        cars.retain(|it| is_asked_for(&it.car) && !busy.contains(&it.car));
        cars.retain(|it| !it.view.locked_out.contains(floor));
        // A session in the queue asks for one at each input, as a rule in vain.
        if cars.is_empty() {
            return None;
        }
        let predictor = Predictor::new(Kinematics::default(), self.hello.floors);
        let times = cars.into_iter().filter_map(|mut situation| {
            situation.car_calls.insert(floor);
            let times = predictor.times(&situation, &BTreeSet::new())?;
            Some((*times.get(&Button::Car(floor))?, situation.car))
        });
        times.min().map(|(_, car)| car)
    }

    /// Somebody sets something. It reaches every node, and holds until it is set again.
    ///
    /// `operator` is cut to what [`Words::entered`] has room for.
    ///
    /// # Errors
    /// [`DirectiveError`]: nothing has changed.
    pub fn handle_setting(
        &mut self,
        setting: Setting,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        let by = Words::entered(operator, &self.hello.node);
        self.set_directive(setting, by, now)?;
        self.settle(now);
        Ok(())
    }

    /// Sets a directive, for the disk, this node's car and all other nodes.
    pub(super) fn set_directive(
        &mut self,
        setting: Setting,
        by: Words,
        now: Timestamp,
    ) -> Result<(), DirectiveError> {
        self.store.set(setting, by)?;
        self.route_store(now);
        Ok(())
    }

    /// This node sets a directive, not an operator. If the bound refuses it, that is reported.
    pub(super) fn direct(&mut self, setting: Setting, now: Timestamp) {
        let by = Words::from(&self.hello.node);
        if let Err(error) = self.set_directive(setting, by, now) {
            self.report(Report::Conflict(error.to_string()));
        }
    }

    /// What is set has changed.
    pub(super) fn on_set(&mut self, changed: Vec<Directive>, now: Timestamp) {
        let (own, settings) = (self.hello.node.clone(), self.store.settings());
        self.services.commands.own.refresh(settings);
        let is_new = changed.iter().any(|it| it.setting.key() == Key::EmergencyPower);
        self.services.turns.note(settings, is_new);
        // What takes the motor's power comes first.
        if settings.emergency_power().is_some()
            && settings.turn().holder().is_none_or(|it| *it.0 != own)
        {
            self.cabin.set_power(Power::Waiting, now);
        }
        let mode = settings.mode(&own);
        let errand = self.errand();
        self.cabin.change_car(|car| car.set_errand(errand, now));
        self.cabin.change_car(|car| car.set_command(mode, now));
        self.cabin.invalidate_stops();
        self.dispatching.invalidate();
        for Directive { setting, version: _, operator } in changed {
            self.report(Report::Directive { setting, operator });
        }
    }

    /// Remembers, at every node, what a request came to.
    pub(super) fn remember(&mut self, request: Request, bearer: &str, now: Timestamp) {
        let by = Words::of(bearer).unwrap_or_else(Words::unnamed);
        if let Err(error) = self.set_directive(Setting::Request(request), by, now)
            && let Some(text) = self.services.commands.request_refused(&error, now)
        {
            self.report(Report::Conflict(text));
        }
    }
}

/// A priority call that can't be given. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PriorityRefused {
    /// The building has no such floor.
    #[error("there is no floor {floor} in a building with floors 0 to {top}")]
    NoSuchFloor {
        /// The rejected floor.
        floor: Floor,
        /// The highest floor.
        top: u8,
    },
    /// All cars are recalled because of a fire.
    #[error("all cars are recalled because of a fire")]
    FireRecall,
    /// One car moves at a time.
    #[error("the building runs on emergency power")]
    EmergencyPower,
    /// No car is in service.
    #[error("no car can be sent to floor {floor}: none is in service, or all are sent already")]
    NoCar {
        /// Where it was to go.
        floor: Floor,
    },
    /// It can't become a directive.
    #[error(transparent)]
    Directive(#[from] DirectiveError),
}

/// What becomes of the fire recall of the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FireRecall {
    /// All cars go to their recall floor.
    Start,
    /// They return to what they did before.
    End,
}
