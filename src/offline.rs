//! Tokens of a node that does not run: its journal gets the setting, and the node takes it to the
//! fleet when it runs.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use elevator_fleet::model::NodeId;
use elevator_fleet::node;
use elevator_fleet::settings::{SettingError, Settings, Words};
use elevator_fleet::wire::Nonce;

use crate::data_dir::other_owner;
use crate::journal::{Account, AuditEvent, AuditRecord, Journal, JournalError, Lost};
use crate::latch::{self, commission};
use crate::operator::{BindError, Claim};
use crate::tokens::{Change, TokenRefused};

/// Why a token of a node that does not run could not be made, listed or revoked. Nothing has changed.
#[derive(Debug, thiserror::Error)]
pub enum OfflineError {
    /// The change is refused.
    #[error(transparent)]
    Refused(#[from] TokenRefused),
    /// There are too many settings.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// The system gives no random numbers.
    #[error("no version can be generated for the change")]
    Random(#[from] getrandom::Error),
    /// The data directory is missing or can't be used.
    #[error(
        "the data directory {path} can't be used: the node creates it on its first run",
        path = path.display()
    )]
    Directory { path: PathBuf, source: io::Error },
    /// The node could not read what another user writes.
    #[error(
        "the data directory {path} belongs to user {owner}: run the command as that user, with \
        `sudo -u '#{owner}' liftmesh …`", path = path.display()
    )]
    AnotherUser {
        path: PathBuf,
        /// Its owner's number.
        owner: u32,
    },
    /// The node has just started, or is about to end.
    #[error("the node of {} is starting or stopping: try again", .0.display())]
    Running(PathBuf),
    /// Nothing says whose directory it is.
    #[error("can't tell which node {} belongs to; give --config FILE", .0.display())]
    Nameless(PathBuf),
    /// The journal can't be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal can't be written.
    #[error("the journal can't be written: the disk is full or failing")]
    Disk(#[from] Box<redb::Error>),
}

/// The settings of a node that does not run, which can't start meanwhile.
#[derive(Debug)]
pub(crate) struct Offline {
    node: NodeId,
    journal: Journal,
    settings: Settings,
    _claim: Claim,
}

impl Offline {
    /// `node` is the node's name, if configured.
    ///
    /// # Errors
    /// [`OfflineError`].
    pub(crate) fn open(data_dir: &Path, node: Option<NodeId>) -> Result<Self, OfflineError> {
        check_user(data_dir)?;
        let claim = Claim::new(data_dir).map_err(|error| refused(data_dir, error))?;
        let name = latch::owner(data_dir).or(node);
        let node = name.ok_or_else(|| OfflineError::Nameless(data_dir.to_owned()))?;
        let lost = if commission::is_marked(data_dir) { Lost::Refuse } else { Lost::MakeAnew };
        let (journal, restored) = Journal::open_claimed(data_dir, &node, lost)?;
        let mut settings = Settings::default();
        for register in restored.settings {
            settings.merge(register);
        }
        Ok(Self { node, journal, settings, _claim: claim })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Makes a change, and records it in the audit log.
    ///
    /// # Errors
    /// [`OfflineError`]; if only the record can't be written, the change is made.
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
        self.journal.write(&node::Change::Setting(set))?;
        for key in self.settings.take_dropped() {
            self.journal.write(&node::Change::ForgetSetting(key))?;
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

fn check_user(data_dir: &Path) -> Result<(), OfflineError> {
    let path = data_dir.to_owned();
    match other_owner(data_dir) {
        Ok(None) => Ok(()),
        Ok(Some(owner)) => Err(OfflineError::AnotherUser { path, owner }),
        Err(source) => Err(OfflineError::Directory { path, source }),
    }
}

fn refused(data_dir: &Path, error: BindError) -> OfflineError {
    let path = data_dir.to_owned();
    match error {
        BindError::AnotherNode(path) => OfflineError::Running(path),
        BindError::Directory { source, .. }
        | BindError::Lock { source, .. }
        | BindError::Socket { source, .. } => OfflineError::Directory { path, source },
    }
}
