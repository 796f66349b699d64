//! The directives of operators, and their way to every node.
//!
//! ```text
//!   operator ──▶ handle_mode, handle_fire_recall ──┐
//!   beacons of peers ──────────────────────────────┴▶ Directives ──▶ own car, disk
//!                                                        │
//!                     beacons, while a peer's digest differs ▼
//! ```
//!
//! Each beacon has the digest of its sender's directives. While that of any peer is another one, the
//! node's own beacons carry directives, in turn. So directives need no link, no master and no
//! acknowledgement, reach every node that hears another one, and cost nothing once all have them.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, Floor};

use super::own_car::{self, OwnCar};
use super::{Action, LinkId, Node, Report};
use crate::car::{FireKey, Power};
use crate::directives::{
    Directive, DirectiveError, Directives, EmergencyPower, Key, PriorityCall, Request, Setting,
    Words,
};
use crate::dispatch::{Kinematics, Predictor};
use crate::model::{Mode, NodeId, Timestamp};
use crate::seeded::{SeededBug, is_seeded};
use crate::wire::codec::{CHUNK, size};
use crate::wire::{Beacon, Frame, Room};

/// How many bytes of a beacon directives take at most: the largest one, and most often several.
/// The rest is for orders.
const MOST_BYTES: usize = 300;

/// How many directives a frame has at most.
const MOST_IN_A_FRAME: usize = CHUNK / 300;

/// How often requests that can't be remembered are reported at most.
const REFUSED_PERIOD: Duration = Duration::from_mins(1);

/// The directives, and which of them peers get next.
#[derive(Debug)]
pub(super) struct Commands {
    directives: Directives,
    /// With which the next beacon begins.
    next: Option<Key>,
    /// The digest of those that the car obeys.
    obeyed: u64,
    fire_recalled: bool,
    emergency: Option<EmergencyPower>,
    /// A car has a priority call that another one may take.
    may_pass_on: bool,
    has_sessions: bool,
    /// What every node knows of this node's car.
    pub(super) own: OwnCar,
    /// When a request that can't be remembered was last reported.
    refused_reported: Option<Timestamp>,
}

impl Commands {
    pub(super) fn new(own: NodeId, restored: &[Directive]) -> Self {
        let mut directives = Directives::default();
        for directive in restored {
            directives.merge(directive.clone());
        }
        let mut commands = Self {
            directives,
            next: None,
            obeyed: 0,
            fire_recalled: false,
            emergency: None,
            may_pass_on: false,
            has_sessions: false,
            own: OwnCar::new(own),
            refused_reported: None,
        };
        commands.refresh();
        commands
    }

    /// The directives have changed. What each input asks for is looked up here.
    fn refresh(&mut self) {
        self.obeyed = self.directives.digest();
        self.fire_recalled = self.directives.is_fire_recalled();
        self.emergency = self.directives.emergency_power();
        self.may_pass_on = self.directives.priorities().any(|(_, call)| call.any);
        self.has_sessions = !self.directives.open_sessions().is_empty();
        self.own.refresh(&self.directives);
    }

    /// Whether the building runs on emergency power.
    pub(super) fn emergency(&self) -> Option<&EmergencyPower> {
        self.emergency.as_ref()
    }

    /// Whether a car has a priority call that another one may take.
    pub(super) fn may_pass_on(&self) -> bool {
        self.may_pass_on
    }

    pub(super) fn has_sessions(&self) -> bool {
        self.has_sessions
    }

    pub(super) fn directives(&self) -> &Directives {
        &self.directives
    }

    pub(super) fn is_fire_recalled(&self) -> bool {
        self.fire_recalled
    }

    /// What the key switch of this car at *fire recall* means, as its node has last seen it.
    pub(super) fn fire_key(&self, car: &NodeId) -> FireKey {
        own_car::fire_key(&self.directives, car)
    }

    /// The mode of a car, if by command or in the hands of a firefighter it takes no car calls.
    pub(super) fn refusing_mode(&self, car: &NodeId) -> Option<Mode> {
        let mode = match self.fire_key(car) {
            FireKey::Drives => Mode::FireService,
            FireKey::Recalls => self.directives.mode(car),
        };
        [Mode::OutOfService, Mode::FireService].contains(&mode).then_some(mode)
    }

    /// What of these directives is too far ahead, in words.
    pub(super) fn too_far_ahead(&self, directives: &[Directive]) -> Option<&'static str> {
        let ahead = directives.iter().find(|it| !self.directives.is_in_reach(it));
        ahead.map(|_| "a directive that is too far ahead")
    }

    /// A request can't be remembered: what to report, once per [`REFUSED_PERIOD`].
    fn request_refused(&mut self, error: &DirectiveError, now: Timestamp) -> Option<String> {
        let is_due = self.refused_reported.is_none_or(|at| now.since(at) >= REFUSED_PERIOD);
        is_due.then(|| {
            self.refused_reported = Some(now);
            format!("a request that is repeated is fulfilled again: {error}")
        })
    }

    /// Adds directives to a beacon: first those that can't wait, and what no later beacon will say, then
    /// those that had to wait.
    fn enclose(&mut self, list: &mut Vec<Directive>, room: &mut Room) {
        let mut urgent = Key::URGENT.to_vec();
        urgent.extend(self.directives.latest_recall().map(|it| it.setting.key()));
        urgent.extend(self.own.hang());
        for directive in urgent.iter().filter_map(|key| self.directives.get(key)) {
            room.add(list, directive.clone());
        }
        let mut left = MOST_BYTES;
        let mut next = None;
        let others = self.directives.from(self.next.as_ref());
        for directive in others.into_iter().filter(|it| !urgent.contains(&it.setting.key())) {
            let bytes = size(directive);
            if bytes > left || !room.add(list, directive.clone()) {
                next = Some(directive.setting.key());
                break;
            }
            left -= bytes;
        }
        self.next = next;
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
        let directives = &self.services.commands.directives;
        let set = match recall {
            FireRecall::Start => vec![directives.next_recall(self.hello.nonce)],
            FireRecall::End => directives.ends_of_recalls(),
        };
        if set.is_empty() {
            return Err(DirectiveError::NoRecall);
        }
        let by = Words::entered(operator, &self.hello.node);
        let set = set.into_iter().map(|setting| self.write_directive(setting, by.clone()));
        let changed = set.collect::<Result<Vec<_>, _>>()?;
        self.directives_have_changed(changed, now);
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
        if self.services.commands.is_fire_recalled() {
            return Err(PriorityRefused::FireRecall);
        }
        if self.services.commands.emergency.is_some() {
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
        let directive = self.write_directive(setting, by)?;
        self.directives_have_changed(vec![directive], now);
        Ok(())
    }

    /// Sets a directive in memory only, for the caller to pass to [`Self::directives_have_changed`].
    fn write_directive(
        &mut self,
        setting: Setting,
        by: Words,
    ) -> Result<Directive, DirectiveError> {
        let directive = self.services.commands.directives.set(setting, by, self.hello.nonce)?;
        self.peers.hurry();
        Ok(directive)
    }

    /// This node sets a directive, not an operator. If the bound refuses it, that is reported.
    pub(super) fn direct(&mut self, setting: Setting, now: Timestamp) {
        let by = Words::from(&self.hello.node);
        if let Err(error) = self.set_directive(setting, by, now) {
            self.report(Report::Conflict(error.to_string()));
        }
    }

    /// Handles the directives of an accepted peer, but for those that count too far ahead.
    pub(super) fn on_directives(&mut self, directives: &[Directive], now: Timestamp) {
        let known = &mut self.services.commands.directives;
        let mut changed = directives.to_vec();
        changed.retain(|directive| known.is_in_reach(directive) && known.merge(directive.clone()));
        if !changed.is_empty() {
            self.directives_have_changed(changed, now);
        }
    }

    /// Passes the directives to the car, the disk and the linked peers, before anything that
    /// follows from them.
    pub(super) fn directives_have_changed(&mut self, mut changed: Vec<Directive>, now: Timestamp) {
        let dropped = self.services.commands.directives.take_dropped();
        self.store.note_directives(&changed, dropped);
        // The states that a fresh link exchanges may be a consequence, and it has had all others.
        let links: Vec<LinkId> = self.peers.links().all().collect();
        for link in links {
            self.send_directives(link, &changed);
        }
        changed.retain(|directive| !directive.is_call());
        // What a car does depends on what counts, whatever has taken the place of it.
        let digest = self.services.commands.directives.digest();
        if changed.is_empty() && digest == self.services.commands.obeyed {
            return;
        }
        self.services.commands.refresh();
        let directives = &self.services.commands.directives;
        // In the same batch for the disk: what goes on under a new number must not be ended by a restart.
        let is_recalled = self.services.commands.is_fire_recalled();
        self.store.learn_recalls(directives.recall_count(), is_recalled);
        let is_new = changed.iter().any(|it| it.setting.key() == Key::EmergencyPower);
        self.services.turns.note(directives, is_new);
        let own = &self.hello.node;
        // What takes the motor's power comes first.
        if self.services.commands.emergency.is_some()
            && directives.turn().holder().is_none_or(|it| it.0 != own)
        {
            self.cabin.set_power(Power::Waiting, now);
        }
        let mode = directives.mode(own);
        let errand = self.errand();
        self.cabin.change_car(|car| car.set_errand(errand, now));
        self.cabin.change_car(|car| car.set_command(mode, now));
        self.cabin.invalidate_stops();
        self.dispatching.invalidate();
        for Directive { setting, version: _, operator } in changed {
            self.report(Report::Directive { setting, operator });
        }
        self.route_orders();
    }

    /// Sends all directives over a fresh link, before the orders.
    pub(super) fn send_all_directives(&mut self, link: LinkId) {
        if is_seeded(SeededBug::DirectivesSentOnce) {
            return;
        }
        let all: Vec<Directive> = self.services.commands.directives.all().cloned().collect();
        self.send_directives(link, &all);
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

    /// Sends directives over a link, in parts that fit a frame.
    fn send_directives(&mut self, link: LinkId, directives: &[Directive]) {
        for part in directives.chunks(MOST_IN_A_FRAME) {
            let frame = Frame::Directives(part.to_vec());
            self.actions.push_back(Action::Send { link, frame });
        }
    }

    /// Whether the directives outlive this node: a peer has all of them as well or, where none is heard,
    /// they are on disk.
    pub(super) fn are_directives_held(&self) -> bool {
        let own = self.services.commands.directives.digest();
        let mut peers = self.peers.members().peers().peekable();
        match peers.peek() {
            Some(_) => peers.any(|(_, peer)| peer.directive_digest == own),
            None => self.store.are_directives_durable(),
        }
    }

    /// Adds directives to a beacon, while a peer has others.
    pub(super) fn enclose_directives(&mut self, beacon: &mut Beacon) {
        let own = self.services.commands.directives.digest();
        let mut peers = self.peers.members().peers();
        if peers.any(|(_, peer)| peer.directive_digest != own)
            && !is_seeded(SeededBug::DirectivesSentOnce)
        {
            let mut room = Room::left_by(beacon);
            self.services.commands.enclose(&mut beacon.directives, &mut room);
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
