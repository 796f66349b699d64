//! Inputs of operators and programs.

use std::time::Duration;

use elevator_driver::Floor;

use crate::model::Timestamp;
use crate::node::Node;
use crate::services::access::{Access, ReleaseRefused};
use crate::services::command::{Command, CommandRefused};
use crate::services::sessions::{self, SessionRefused, SessionRequest};
use crate::settings::{
    By, Request, RequestId, Session, SessionEnd, SessionState, Setting, SettingError, Why, Words,
};

impl Node {
    /// An operator commands something. Returns the command with the car that it has chosen.
    ///
    /// `operator` and `reason` are cut to what [`Words::entered`] and [`Why`] have room for.
    ///
    /// # Errors
    /// [`CommandRefused`].
    pub fn handle_command(
        &mut self,
        command: Command,
        operator: &str,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<Command, CommandRefused> {
        let (command, settings) = command.settings(&self.bank(now))?;
        let operator = Words::entered(operator, &self.hello.node);
        let by = By { operator, reason: reason.and_then(Why::of) };
        let outcome = settings.into_iter().try_for_each(|it| self.set(it, by.clone(), now));
        self.settle(now);
        outcome.map(|()| command).map_err(CommandRefused::from)
    }

    /// An access-control system lets somebody in this node's car press the button of a locked
    /// floor, for `time`; of two releases of a floor the longer counts. A restart ends it.
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

    /// A robot asks for a car, to have it to itself for a while: see `services/sessions.rs`.
    /// Repeated with the same name at any node it opens nothing again, and returns what has become
    /// of it.
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

    /// Somebody says that a session ends; `None`: its robot. To repeat it changes nothing.
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
        let by = Words::entered(operator, &self.hello.node);
        let outcome = self.set(setting, by, now);
        self.settle(now);
        outcome
    }
}
