//! The node's answers to operators' requests, whether they came by the socket, HTTP or MQTT.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_driver::Floor;
use elevator_fleet::directives::{Key, RequestId, Session, Topic};
use elevator_fleet::model::{NodeId, Timestamp};
use elevator_fleet::node::{PriorityRefused, ReleaseRefused, Renewed, SessionRefused, Status};
use tracing::{debug, warn};

use super::Running;
use crate::config::FaultInjection;
use crate::http::sessions::owner;
use crate::journal::{Account, AuditEvent};
use crate::log;
use crate::mqtt::Mqtt;
use crate::operator::{Command, Query, Reply, Request, SessionChange, TokenError};
use crate::tokens::{self, Change as TokenChange, Tokens};

impl Running {
    pub(super) fn answer(&mut self, request: Request, now: Timestamp) {
        let Request { query, reply } = request;
        let answer = match query {
            Query::Status => Reply::Status(Box::new(self.status(now))),
            Query::Follow(id) => Reply::Followed(self.node.followed_call(id)),
            Query::Order(call, access) => {
                Reply::Order(self.node.handle_order_with(call, access, now))
            }
            Query::Network(cable) => {
                if self.faults == FaultInjection::Allowed {
                    warn!(?cable, "the network is rewired on demand");
                    self.mesh.set_cable(cable);
                }
                Reply::Network(self.faults)
            }
            // A node whose car hangs does not get here.
            Query::ClearHang => Reply::NothingToClear,
            Query::Repair { operator, reason, account } => {
                Reply::Repaired(self.repair(operator, reason, account, now))
            }
            Query::Directive { command, operator, reason, account } => {
                Reply::Directive(self.direct(&command, operator, reason, account, now))
            }
            Query::Place(request) => Reply::Requested(self.node.handle_request(&request, now)),
            Query::Earlier(request) => Reply::Earlier(self.node.earlier(&request)),
            Query::OpenSession(request) => Reply::Session(self.node.handle_session(&request, now)),
            Query::ChangeSession { id, change, bearer } => {
                let changed = match change {
                    SessionChange::Stop(account) => self.stop_session(id, bearer, account, now),
                    SessionChange::Floor { floor, seconds, access } => {
                        let by = (access, bearer.as_str());
                        self.node.handle_session_floor(id, floor, seconds, by, now)
                    }
                    SessionChange::End => self.node.handle_session_end(id, &bearer, now),
                    SessionChange::Withdraw => {
                        self.node.handle_session_withdrawal(id, &bearer, now)
                    }
                };
                Reply::Session(changed.map(|session| (session, false)))
            }
            Query::Release { floor, time, account } => {
                Reply::Released(self.release(floor, time, account, now))
            }
            Query::Token { change, operator, account } => {
                Reply::Token(self.change_token(&change, operator, account, now))
            }
            Query::Audit => Reply::Audit(self.disk.audit()),
            Query::Presses => {
                let presses = self.node.presses(now).collect();
                Reply::Presses(presses, self.node.forgotten_presses())
            }
            Query::Statistics => Reply::Statistics(self.disk.statistics()),
            Query::KeepStatistics(changes) => {
                Reply::StatisticsKept(self.disk.keep_statistics(changes))
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
        if self.node.directives().is_locked(floor) {
            let event = AuditEvent::Release { account, floor, seconds: time.as_secs() };
            if let Err(reason) = self.record(event) {
                warn!(reason, "a release is not in the audit log");
            }
        }
        Ok(())
    }

    /// Ends a session, on record if it was open.
    fn stop_session(
        &mut self,
        id: RequestId,
        operator: String,
        account: Account,
        now: Timestamp,
    ) -> Result<Session, SessionRefused> {
        let was_open = self.node.directives().session(id).is_some_and(Session::is_open);
        let session = self.node.handle_session_stop(id, &operator, now)?;
        if was_open && let Some(key) = self.node.directives().session_key(id) {
            self.record_directive(&key, operator, None, account);
        }
        Ok(session)
    }

    fn repair(
        &mut self,
        operator: String,
        reason: String,
        account: Account,
        now: Timestamp,
    ) -> Renewed {
        let renewed = self.node.handle_repair(now);
        let event = AuditEvent::Repair {
            operator,
            reason,
            account,
            old: renewed.old.to_string(),
            fresh: renewed.fresh.to_string(),
        };
        if let Err(reason) = self.record(event) {
            warn!(reason, "a repair is not in the audit log");
        }
        renewed
    }

    fn direct(
        &mut self,
        command: &Command,
        operator: String,
        reason: Option<String>,
        account: Account,
        now: Timestamp,
    ) -> Result<Option<NodeId>, PriorityRefused> {
        let mut sent = None;
        let topic = match command {
            Command::Mode { car, mode } => {
                self.node.handle_mode(car, *mode, &operator, now)?;
                Topic::Mode(car.clone())
            }
            Command::FireRecall(recall) => {
                for key in self.node.handle_fire_recall(*recall, &operator, now)? {
                    self.record_directive(&key, operator.clone(), reason.clone(), account.clone());
                }
                return Ok(None);
            }
            Command::FloorLock { floor, lock } => {
                self.node.handle_floor_lock(*floor, *lock, &operator, now)?;
                Topic::FloorLock(*floor)
            }
            Command::Priority { car, floor: Some(floor) } => {
                let car = self.node.handle_priority(car.as_ref(), *floor, &operator, now)?;
                sent = Some(car.clone());
                Topic::Priority(car)
            }
            Command::Priority { car, floor: None } => {
                let Some(car) = car else { return Ok(None) };
                let session = self.node.handle_priority_end(car, &operator, now)?;
                let key = session.and_then(|id| self.node.directives().session_key(id));
                if let Some(key) = key {
                    self.record_directive(&key, operator.clone(), reason.clone(), account.clone());
                }
                Topic::Priority(car.clone())
            }
            Command::EmergencyPower { on, serving } => {
                self.node.handle_emergency_power(*on, serving.as_ref(), &operator, now)?;
                Topic::EmergencyPower
            }
        };
        self.record_directive(&topic.key(), operator, reason, account);
        Ok(sent)
    }

    fn change_token(
        &mut self,
        change: &TokenChange,
        operator: String,
        account: Account,
        now: Timestamp,
    ) -> Result<(), TokenError> {
        let (key, value) = change.directive(self.node.directives(), SystemTime::now())?;
        // First, so that other nodes have nothing left to end once they learn that it is revoked.
        if let TokenChange::Revoke { name } = change {
            let after = self.tokens.borrow().without(name);
            self.end_sessions_of_revoked(&after, now);
        }
        self.node.handle_directive(key.clone(), value, &operator, now)?;
        self.record_directive(&key, operator, None, account);
        Ok(())
    }

    /// Ends the sessions of those whose tokens are no longer among these.
    pub(super) fn end_sessions_of_revoked(&mut self, after: &Tokens, now: Timestamp) {
        let before = Arc::clone(&self.tokens.borrow());
        for token in
            before.iter().filter(|token| !after.iter().any(|other| other.hash == token.hash))
        {
            self.node.handle_owner_revoked(owner(token), now);
        }
    }

    /// Records a directive that was just set.
    fn record_directive(
        &self,
        key: &Key,
        operator: String,
        reason: Option<String>,
        account: Account,
    ) {
        let value = self.node.directives().get(key);
        let value = value.map(|it| tokens::shown(key, it.value.clone()).to_string());
        let (key, value) = (key.to_string(), value.unwrap_or_default());
        let event = AuditEvent::Directive { operator, reason, account, key, value };
        if let Err(reason) = self.record(event) {
            warn!(reason, "a directive is not in the audit log");
        }
    }

    fn status(&self, now: Timestamp) -> Status {
        let mut status = self.node.status(now);
        status.log_lines_lost = log::lost();
        status.mqtt_refused = self.mqtt.as_ref().map(Mqtt::refused_topics).unwrap_or_default();
        status.mesh = self.mesh.counters().by_name();
        status.queues = self.queues();
        status.fleet_keys = self.mesh.fleet_keys();
        for directive in &mut status.directives {
            directive.value = tokens::shown(&directive.key, directive.value.clone());
        }
        if let (Some(car), Some(panel)) = (&mut status.car, &self.panel) {
            car.line = panel.counters();
            car.panel = panel.url().to_string();
        }
        status
    }

    /// What waits in each queue that the process has for the node.
    fn queues(&self) -> BTreeMap<String, usize> {
        let disk = usize::try_from(self.disk.queued()).unwrap_or(usize::MAX);
        let [events, datagrams, frames] = self.mesh.queued();
        let queues = [
            ("disk", disk),
            ("log", log::queued()),
            ("mesh_events", events),
            ("datagrams", datagrams),
            ("link_frames", frames),
        ];
        queues.map(|(name, length)| (name.to_owned(), length)).into()
    }
}
