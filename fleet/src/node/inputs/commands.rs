//! Inputs of operators and programs.

use std::time::Duration;

use elevator_driver::Floor;

use crate::model::{Mode, NodeId, Timestamp};
use crate::node::Node;
use crate::services::access::{Access, FloorLock, ReleaseRefused};
use crate::services::power;
use crate::services::priority::{self, PriorityRefused};
use crate::services::recall::{self, FireRecall};
use crate::services::sessions::{self, SessionRefused, SessionRequest};
use crate::settings::{
    Request, RequestId, Session, SessionEnd, SessionState, Setting, SettingError, Words,
};

impl Node {
    /// An operator sets the service mode of a car, of this node or another one. It holds until
    /// another one is commanded, whatever is restarted meanwhile. The car's key switch, or a fire
    /// recall of the fleet, may be more restrictive.
    ///
    /// `operator` is cut to what [`Words::entered`] has room for.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub fn handle_mode(
        &mut self,
        car: &NodeId,
        mode: Mode,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        self.handle_setting(Setting::Mode(car.clone(), mode), operator, now)
    }

    /// An operator starts a fire recall of all cars, or ends all that this node knows of. Nothing but
    /// this command ends them.
    ///
    /// # Errors
    /// [`SettingError`]: of several recalls, those before it have ended.
    pub fn handle_fire_recall(
        &mut self,
        recall: FireRecall,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        let settings = recall::command(&self.bank(now), recall)?;
        self.command(settings, operator, now)
    }

    /// An operator locks a floor for the whole fleet, or unlocks it. It holds until it is commanded
    /// otherwise, whatever is restarted meanwhile.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub fn handle_floor_lock(
        &mut self,
        floor: Floor,
        lock: FloorLock,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        let is_locked = lock == FloorLock::Lock;
        self.handle_setting(Setting::FloorLock(floor, is_locked), operator, now)
    }

    /// An access-control system lets somebody in this node's car press the button of a locked floor,
    /// for `time`. A floor that is released already is released for the longer of both times.
    ///
    /// It is of this node alone, and a restart ends it.
    ///
    /// # Errors
    /// [`ReleaseRefused`]: nothing has changed.
    pub fn handle_release(
        &mut self,
        floor: Floor,
        time: Duration,
        now: Timestamp,
    ) -> Result<(), ReleaseRefused> {
        self.consult(now, |services, bank| services.access.release(bank, floor, time))
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
        let (chosen, call) = priority::command(&self.bank(now), car, floor)?;
        self.handle_setting(Setting::Priority(chosen.clone(), Some(call)), operator, now)?;
        Ok(chosen)
    }

    /// An operator ends the priority call of a car, and its session.
    ///
    /// # Errors
    /// [`SettingError`]: the priority call has not changed.
    pub fn handle_priority_end(
        &mut self,
        car: &NodeId,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        let session = self.settings().session_of(car).cloned();
        let session = session.map(|it| it.with(SessionState::Ended(SessionEnd::Operator)));
        let session = session.map(|it| Setting::Request(Request::Session(it)));
        let settings = session.into_iter().chain([Setting::Priority(car.clone(), None)]);
        self.command(settings.collect(), operator, now)
    }

    /// An operator says that the building runs on emergency power, or no longer does. `serving` is the
    /// car that is to serve once all are down; if it can't, another one does. To command it again gives
    /// each car another turn.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub fn handle_emergency_power(
        &mut self,
        on: bool,
        serving: Option<&NodeId>,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        let settings = power::command(&self.bank(now), on, serving);
        self.command(settings, operator, now)
    }

    /// A robot asks for a car, to have it to itself for a while: see `services/sessions.rs`. Repeated
    /// with the same name at any node it opens nothing again, and returns what has become of it.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session(
        &mut self,
        request: &SessionRequest,
        now: Timestamp,
    ) -> Result<(Session, bool), SessionRefused> {
        let (mut session, is_new) = sessions::open(&self.bank(now), request)?;
        if is_new {
            // The master may find a car at once.
            session = self.change_session(session, &request.bearer, now)?;
        }
        Ok((session, is_new))
    }

    /// The robot asks for the next floor, or for more time at this one.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_floor(
        &mut self,
        id: RequestId,
        floor: Floor,
        seconds: Option<u16>,
        (access, bearer): (Access, &str),
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let session = sessions::go_on(&self.bank(now), id, floor, seconds, access)?;
        Ok(self.change_session(session, bearer, now)?)
    }

    /// Somebody says that a session ends; `None`: its robot needs the car no more. Ending a session
    /// again changes nothing.
    ///
    /// # Errors
    /// [`SessionRefused`]: nothing has changed.
    pub fn handle_session_end(
        &mut self,
        id: RequestId,
        end: Option<SessionEnd>,
        by: &str,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let session = self.settings().session(id).ok_or(SessionRefused::NotOpen)?.clone();
        if !session.is_open() {
            return Ok(session);
        }
        let end = end.unwrap_or_else(|| sessions::end_of(&session));
        Ok(self.change_session(session.with(SessionState::Ended(end)), by, now)?)
    }

    /// A program may do nothing any more: ends all its sessions.
    pub fn handle_owner_revoked(&mut self, owner: u32, now: Timestamp) {
        let open = self.settings().open_sessions().into_iter();
        let its: Vec<Session> = open.filter(|it| it.id.owner == owner).cloned().collect();
        for session in its {
            let session = session.with(SessionState::Ended(SessionEnd::Operator));
            self.direct(Setting::Request(Request::Session(session)), now);
        }
        self.settle(now);
    }

    /// Somebody says what becomes of a session. Returns what then becomes of it.
    fn change_session(
        &mut self,
        session: Session,
        by: &str,
        now: Timestamp,
    ) -> Result<Session, SettingError> {
        self.handle_setting(Setting::Request(Request::Session(session.clone())), by, now)?;
        Ok(self.settings().session(session.id).cloned().unwrap_or(session))
    }

    /// Somebody sets something. It reaches every node, and holds until it is set again.
    ///
    /// `operator` is cut to what [`Words::entered`] has room for.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub fn handle_setting(
        &mut self,
        setting: Setting,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        self.command(vec![setting], operator, now)
    }

    /// The same of several things, up to the first that is refused.
    fn command(
        &mut self,
        settings: Vec<Setting>,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        let by = Words::entered(operator, &self.hello.node);
        let outcome = settings.into_iter().try_for_each(|it| self.set(it, by.clone(), now));
        self.settle(now);
        outcome
    }
}
