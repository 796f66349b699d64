//! Settings: what is to be set, and what follows once it is.

use crate::car::Power;
use crate::model::Timestamp;
use crate::node::{Node, Report};
use crate::services::{Bank, Services, errand};
use crate::settings::{By, Key, Register, Setting, SettingError, Words};

impl Node {
    pub(in crate::node) fn bank(&self, now: Timestamp) -> Bank<'_> {
        let Self { hello, store, peers, leadership, cabin, .. } = self;
        Bank { own: hello, store, members: &peers.membership, leadership, cabin, now }
    }

    pub(in crate::node) fn consult<T>(
        &mut self,
        now: Timestamp,
        ask: impl FnOnce(&mut Services, &Bank<'_>) -> T,
    ) -> T {
        let Self { hello, store, peers, leadership, cabin, services, .. } = self;
        let members = &peers.membership;
        ask(services, &Bank { own: hello, store, members, leadership, cabin, now })
    }

    /// Sets something, for the disk, this node's car and all other nodes.
    pub(in crate::node) fn set(
        &mut self,
        setting: Setting,
        by: impl Into<By>,
        now: Timestamp,
    ) -> Result<(), SettingError> {
        self.store.set(setting, by)?;
        self.route_store(now);
        Ok(())
    }

    /// This node sets something, not an operator; whether it could. If not, that is reported.
    pub(in crate::node) fn direct(&mut self, setting: Setting, now: Timestamp) -> bool {
        let by = Words::from(&self.hello.node);
        let outcome = self.set(setting, by, now);
        if let Err(error) = &outcome {
            self.report(Report::Conflict { text: error.to_string() });
        }
        outcome.is_ok()
    }

    /// The same for what this node says about its own car, which obeys its key in any case.
    pub(in crate::node) fn set_own(&mut self, setting: Setting, by: Words, now: Timestamp) {
        match self.set(setting, by, now) {
            Ok(()) | Err(SettingError::NoRecall | SettingError::Full | SettingError::Spent) => {}
        }
    }

    pub(in crate::node) fn on_set(&mut self, changed: Vec<Register>, now: Timestamp) {
        let (own, settings) = (self.hello.node.clone(), self.store.settings());
        let is_new = changed.iter().any(|it| it.setting.key() == Key::EmergencyPower);
        self.services.turns.note(settings, is_new);
        // What takes the motor's power comes first.
        if settings.emergency_power().is_some()
            && settings.turn().holder().is_none_or(|it| *it.0 != own)
        {
            self.cabin.set_power(Power::Waiting, now);
        }
        let mode = settings.mode(&own);
        let errand = errand(settings, &own);
        self.cabin.change_car(|car| car.set_errand(errand, now));
        self.cabin.change_car(|car| car.set_command(mode, now));
        self.cabin.invalidate_stops();
        self.dispatching.invalidate();
        for Register { setting, version: _, operator, reason } in changed {
            if let Setting::Alarm(car, alarm) = &setting {
                self.report(Report::Alarm { car: car.clone(), alarm: *alarm });
            }
            self.report(Report::Setting { setting, operator, reason });
        }
    }
}
