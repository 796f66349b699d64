//! The node's answers to operators' requests, whether they came by HTTP or MQTT.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_driver::Floor;
use elevator_fleet::model::{Call, Timestamp};
use elevator_fleet::node::{ReleaseRefused, Status};
use elevator_fleet::settings::SessionEnd;
use tracing::{debug, warn};

use super::Running;
use crate::journal::{Account, AuditEvent, Journal, Work};
use crate::log;
use crate::mqtt::Mqtt;
use crate::operator::{Author, FaultInjection, Query, Reply, Request, SessionChange, TokenError};
use crate::programs::owner;
use crate::tokens::{Change as TokenChange, Tokens};

impl Running {
    pub(super) fn answer(&mut self, request: Request, now: Timestamp) {
        let Request { query, reply } = request;
        let answer = match query {
            Query::Status => Reply::Status(Box::new(self.status(now))),
            Query::Follow(id) => Reply::Followed(self.node.followed_call(id)),
            Query::Order(call, access) => Reply::Order(self.node.handle_order(&call, access, now)),
            Query::Network(cable) => {
                if self.faults == FaultInjection::Allowed {
                    warn!(?cable, "faults are injected into the network");
                    self.mesh.set_cable(cable);
                }
                Reply::Network(self.faults)
            }
            Query::Command(command, author) => {
                let Author { operator, reason, .. } = author.clone();
                self.commands.author = Some(author);
                let done = self.node.handle_command(command, &operator, reason.as_deref(), now);
                Reply::Command(done)
            }
            Query::Place(request) => Reply::Requested(self.node.handle_request(&request, now)),
            Query::Earlier(request) => Reply::Earlier(self.node.earlier(&request)),
            Query::OpenSession(request) => Reply::Session(self.node.handle_session(&request, now)),
            Query::ChangeSession { id, change, bearer } => {
                let changed = match change {
                    SessionChange::Stop(account) => {
                        let operator = bearer.clone();
                        self.commands.author = Some(Author { operator, reason: None, account });
                        let end = Some(SessionEnd::Operator);
                        self.node.handle_session_end(id, end, &bearer, now)
                    }
                    SessionChange::Floor { floor, seconds, access } => {
                        let by = (access, bearer.as_str());
                        self.node.handle_session_floor(id, floor, seconds, by, now)
                    }
                    SessionChange::End => self.node.handle_session_end(id, None, &bearer, now),
                    SessionChange::Withdraw => {
                        let end = Some(SessionEnd::Withdrawn);
                        self.node.handle_session_end(id, end, &bearer, now)
                    }
                };
                Reply::Session(changed.map(|session| (session, false)))
            }
            Query::Release { floor, time, account } => {
                Reply::Released(self.release(floor, time, account, now))
            }
            Query::Token { change, operator, account } => {
                self.commands.author =
                    Some(Author { operator: operator.clone(), reason: None, account });
                Reply::Token(self.change_token(&change, &operator, now))
            }
            Query::Audit => Reply::Audit(self.disk.ask(Journal::audit)),
            Query::Presses => {
                // The press that takes its place takes over its promise.
                let is_promised = |press, call: &Call| {
                    let present = self.node.orders().present(press, call);
                    present.into_iter().any(|press| self.node.has_promised(press))
                };
                let presses = self.presses.latest(is_promised, now, SystemTime::now());
                Reply::Presses(presses, self.presses.forgotten())
            }
            Query::Statistics => Reply::Statistics(self.disk.ask(Journal::statistics)),
            Query::KeepStatistics(changes) => {
                Reply::StatisticsKept(self.disk.queue(Work::KeepStatistics(changes)))
            }
        };
        if reply.send(answer).is_err() {
            debug!("an operator did not wait for the answer");
        }
    }

    /// Releases a floor, on record if it is locked: otherwise the release lets nobody in.
    fn release(
        &mut self,
        floor: Floor,
        time: Duration,
        account: Account,
        now: Timestamp,
    ) -> Result<(), ReleaseRefused> {
        self.node.handle_release(floor, time, now)?;
        if self.node.settings().is_locked(floor) {
            let event = AuditEvent::Release { account, floor, seconds: time.as_secs() };
            if let Err(reason) = self.record(event) {
                warn!(reason, "a release is not in the audit log");
            }
        }
        Ok(())
    }

    fn change_token(
        &mut self,
        change: &TokenChange,
        operator: &str,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        let setting = change.register(self.node.settings(), SystemTime::now())?;
        // First, so that other nodes have nothing left to end once they learn that it is revoked.
        if let TokenChange::Revoke { name } = change {
            let after = self.tokens.borrow().without(name);
            self.end_sessions_of_revoked(&after, now);
        }
        self.node.handle_setting(setting, operator, now)?;
        Ok(())
    }

    /// Ends the sessions of those whose tokens are no longer among these.
    pub(super) fn end_sessions_of_revoked(&mut self, after: &Tokens, now: Timestamp) {
        let before = Arc::clone(&self.tokens.borrow());
        for token in
            before.iter().filter(|token| !after.iter().any(|other| other.hash == token.hash))
        {
            self.node.handle_owner_revoked(owner(&token.hash), now);
        }
    }

    fn status(&self, now: Timestamp) -> Status {
        let mut status = self.node.status(now);
        status.log_lines_lost = log::lost();
        status.mqtt_refused = self.mqtt.as_ref().map(Mqtt::refused_topics).unwrap_or_default();
        status.mesh = self.mesh.counters().by_name();
        status.queues = self.queues();
        status.fleet_keys = self.mesh.keys().status();
        if let (Some(car), Some(panel)) = (&mut status.car, &self.panel) {
            car.line = panel.line.counters();
            car.panel = panel.url.to_string();
        }
        status
    }

    fn queues(&self) -> BTreeMap<String, usize> {
        let disk = usize::try_from(self.disk.queued()).unwrap_or(usize::MAX);
        let [events, datagrams, frames] = self.mesh.queued();
        let queues = [
            ("disk", disk),
            ("mesh_events", events),
            ("datagrams", datagrams),
            ("link_frames", frames),
        ];
        queues.map(|(name, length)| (name.to_owned(), length)).into()
    }
}
