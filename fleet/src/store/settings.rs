//! What operators, nodes and programs have set: registers of the store under keys of their own.

use super::{Effect, Item, Store};
use crate::model::NodeId;
use crate::report::Report;
use crate::settings::{By, Key, Register, Request, Setting, SettingError, Settings, Words};

impl Store {
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Sets something, as the latest word on it.
    ///
    /// # Errors
    /// [`SettingError`]: nothing has changed.
    pub(crate) fn set(&mut self, setting: Setting, by: impl Into<By>) -> Result<(), SettingError> {
        let register = self.settings.set(setting, by, self.own.nonce)?;
        self.settings_have_changed(vec![register], None);
        Ok(())
    }

    /// Remembers, at every node, what a request came to.
    pub(crate) fn remember(&mut self, request: Request, bearer: &str) {
        let by = Words::of(bearer).unwrap_or_else(Words::unnamed);
        if let Err(error) = self.set(Setting::Request(request), by) {
            let text = format!("a request that is repeated is fulfilled again: {error}");
            self.report(Report::Conflict { text });
        }
    }

    /// Merges what a peer or the disk has, but for what counts too far ahead.
    pub(super) fn merge_settings(&mut self, told: &[Register], from: Option<&NodeId>) {
        let known = &mut self.settings;
        let mut changed = told.to_vec();
        changed.retain(|register| known.is_in_reach(register) && known.merge(register.clone()));
        if let Some(peer) = from {
            for register in told {
                self.compare_setting(peer, register);
            }
        }
        if changed.is_empty() {
            // What there was no room for changes nothing.
            self.settings.take_dropped();
            return;
        }
        self.settings_have_changed(changed, from);
    }

    /// Merges what a peer has sent, and acknowledges it.
    pub(super) fn take_in_settings(&mut self, peer: &NodeId, told: &[Register]) {
        self.merge_settings(told, Some(peer));
        for register in told {
            let item = Item::Setting(register.setting.key());
            if self.settings.holds(register) {
                self.replication.acknowledge_to(peer, &item);
            }
        }
    }

    /// The peer has this: it is owed what is later.
    fn compare_setting(&mut self, peer: &NodeId, told: &Register) {
        let key = told.setting.key();
        let Some(known) = self.settings.get(&key) else { return };
        if known == told {
            self.replication.acked(peer, &Item::Setting(key));
        } else {
            self.replication.enqueue(peer, &Item::Setting(key));
        }
    }

    /// The peer has this, of which a hash is told.
    pub(super) fn on_setting_ack(&mut self, peer: &NodeId, key: &Key, hash: u64) {
        if self.settings.get(key).is_some_and(|known| known.hash() == hash) {
            self.replication.acked(peer, &Item::Setting(key.clone()));
        }
    }

    /// Passes changes on to the disk, the peers and all that depends on them.
    fn settings_have_changed(&mut self, mut changed: Vec<Register>, from: Option<&NodeId>) {
        let dropped = self.settings.take_dropped();
        for register in &changed {
            let item = Item::Setting(register.setting.key());
            self.replication.changed(&item, from);
            self.ledger.note(item);
        }
        let has_lost = !dropped.is_empty();
        for key in dropped {
            let item = Item::Setting(key);
            self.replication.replaced(&item);
            self.ledger.note(item);
        }
        self.hurry();
        changed.retain(|register| !register.is_call());
        if !changed.is_empty() || has_lost {
            self.effects.push_back(Effect::Set(changed));
            // In the same batch for the disk: a restart must not end what has a new number.
            self.learn_recalls();
        }
    }

    /// Whether what is set outlives this node: a peer, or alone the disk, has all of it.
    pub(crate) fn are_settings_held<'a>(&self, heard: impl Iterator<Item = &'a NodeId>) -> bool {
        let mut heard = heard.peekable();
        match heard.peek() {
            Some(_) => heard.any(|peer| self.replication.has_all_settings(peer)),
            None => self.ledger.are_settings_durable(),
        }
    }
}
