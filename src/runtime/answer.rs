//! The node's answers to operators' requests, whether they came by HTTP or MQTT.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use elevator_driver::Floor;
use elevator_fleet::model::{Call, Timestamp};
use elevator_fleet::node::{ReleaseRefused, Status};
use tracing::warn;

use super::Running;
use crate::journal::{Account, AuditEvent, Journal, Work};
use crate::log;
use crate::mqtt::Mqtt;
use crate::operator::{FaultInjection, Request, TokenError};
use crate::programs::Way;
use crate::tokens::{Change as TokenChange, Tokens};

impl Running {
    pub(super) fn answer(&mut self, request: Request, now: Timestamp) {
        if let Some(author) = request.author() {
            self.commands.author = Some(author);
        }
        match request {
            Request::Status(reply) => reply.send(Box::new(self.status(now))),
            Request::Network(cable, reply) => {
                if self.faults == FaultInjection::Allowed {
                    warn!(?cable, "faults are injected into the network");
                    self.mesh.set_cable(cable);
                }
                reply.send(self.faults);
            }
            Request::Release { floor, time, account, reply } => {
                reply.send(self.release(floor, time, account, now));
            }
            Request::Token { change, by, reply } => {
                reply.send(self.change_token(&change, &by.operator, now));
            }
            Request::Audit(reply) => reply.send(self.disk.ask(Journal::audit)),
            Request::Presses(reply) => {
                // The press that takes its place takes over its promise.
                let is_promised = |press, call: &Call| {
                    let present = self.node.orders().present(press, call);
                    present.into_iter().any(|press| self.node.has_promised(press))
                };
                reply.send(self.presses.latest(is_promised, now, SystemTime::now()));
            }
            Request::Statistics(reply) => reply.send(self.disk.ask(Journal::statistics)),
            Request::KeepStatistics(changes, reply) => {
                reply.send(self.disk.queue(Work::KeepStatistics(changes)));
            }
            Request::OfNode(request) => request.answer(&mut self.node, now),
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
            let event =
                AuditEvent::Release { account, floor: floor.into(), seconds: time.as_secs() };
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
            self.node.handle_owner_revoked(Way::Http.owner(token.hash.as_bytes()), now);
        }
    }

    fn status(&self, now: Timestamp) -> Status {
        let mut status = self.node.status(now);
        status.log_lines_lost = log::lost();
        status.mqtt_refused = self.mqtt.as_ref().map(Mqtt::refused_topics).unwrap_or_default();
        status.mesh = self.mesh.counters().by_name();
        status.queues = self.queues();
        status.dispatcher.clone_from(&self.program.health);
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
