//! Tokens of a node that does not run: its journal gets the setting, and the node takes it to the
//! fleet when it runs.

use std::path::Path;
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node;
use elevator_fleet::settings::{SettingError, Settings, Words};
use elevator_fleet::wire::Nonce;

use crate::clearance::{ClearError, check_user, refused};
use crate::journal::{Account, AuditEvent, AuditRecord, Journal, JournalError, Lost};
use crate::latch::{self, commission};
use crate::operator::Claim;
use crate::tokens::{Change, TokenRefused};

/// Why a token of a node that does not run could not be made, listed or revoked. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    #[error(transparent)]
    Refused(#[from] TokenRefused),
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("no version can be generated for the change")]
    Random(#[from] getrandom::Error),
    #[error(transparent)]
    Place(#[from] ClearError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error("the journal can't be written: the disk is full or failing")]
    Disk(#[from] Box<redb::Error>),
}

#[derive(Debug)]
pub(crate) struct Offline {
    node: NodeId,
    journal: Journal,
    settings: Settings,
    _claim: Claim,
}

impl Offline {
    pub(crate) fn open(data_dir: &Path, node: Option<NodeId>) -> Result<Self, OfflineError> {
        check_user(data_dir)?;
        let claim = Claim::new(data_dir).map_err(|error| refused(data_dir, error))?;
        let node = latch::owner(data_dir).or(node).ok_or(ClearError::Nameless)?;
        let lost = if commission::is_marked(data_dir) { Lost::Refuse } else { Lost::MakeAnew };
        let (journal, restored) = Journal::open_or(data_dir, &node, lost)?;
        let mut settings = Settings::default();
        for register in restored.settings {
            settings.merge(register);
        }
        Ok(Self { node, journal, settings, _claim: claim })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes a change and records it; if only the record can't be written, the change is made.
    pub(crate) fn change(
        &mut self,
        change: &Change,
        operator: &str,
        account: Account,
    ) -> Result<(), OfflineError> {
        let now = SystemTime::now();
        let setting = change.register(&self.settings, now)?;
        let by = Words::entered(operator, &self.node);
        let incarnation = Nonce(getrandom::u64()?);
        let set = self.settings.set(setting.clone(), by, incarnation)?;
        self.journal.write(node::Change::Setting(set))?;
        for key in self.settings.take_dropped() {
            self.journal.write(node::Change::ForgetSetting(key))?;
        }
        let event = AuditEvent::Setting {
            operator: operator.to_owned(),
            reason: None,
            account: Some(account),
            entered_at: self.node.clone(),
            value: setting.to_string(),
            key: setting.subject(),
        };
        self.journal.record(&[AuditRecord::now(self.node.clone(), event, now)])?;
        Ok(())
    }
}
