//! The commands in this node's audit log: each that is new here, at whichever node it was entered.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use elevator_fleet::model::Timestamp;
use elevator_fleet::settings::{Setting, Why, Words};
use tracing::warn;

use super::Running;
use crate::journal::{Account, AuditEvent, AuditRecord, Work};
use crate::operator::Author;

/// How many commands of one account are recorded in an [`HOUR`]: alone it takes a week to fill the
/// log.
const MOST_COMMANDS: u64 = 60;

const HOUR: Duration = Duration::from_hours(1);

/// How many accounts are counted one by one, beside those that this node knows. An operator at
/// another node is known only by name, and can give many: further names share what one may have.
const MOST_ACCOUNTS: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Who gives the command that the node handles now, if it is entered here.
    pub(super) author: Option<Author>,
    hour: Hour,
}

#[derive(Debug, Default)]
struct Hour {
    since: Timestamp,
    /// By whether this node knows the account, and its name.
    given: BTreeMap<(bool, String), u64>,
}

impl Hour {
    /// Counts a command; `false` if it is one too many for the log. An account that this node knows
    /// is counted by itself, and each `kind` of commands too.
    fn admits(&mut self, account: &str, is_known: bool, kind: &str) -> bool {
        let named = (is_known, format!("{account}{kind}"));
        let strangers = self.given.keys().filter(|(is_known, _)| !is_known).count();
        let is_counted = is_known || strangers < MOST_ACCOUNTS || self.given.contains_key(&named);
        let counted = if is_counted { named } else { (false, format!("other accounts{kind}")) };
        let given = self.given.entry(counted).or_default();
        *given += 1;
        *given <= MOST_COMMANDS
    }

    /// Begins the next hour; returns what the last one had too many.
    fn end(&mut self, now: Timestamp) -> Vec<AuditEvent> {
        let ended = std::mem::replace(self, Self { since: now, given: BTreeMap::new() });
        let over = ended.given.into_iter().filter(|(_, given)| *given > MOST_COMMANDS);
        let unrecorded = |((_, account), given)| {
            let commands = given - MOST_COMMANDS;
            AuditEvent::Unrecorded { account, commands }
        };
        over.map(unrecorded).collect()
    }
}

impl Running {
    /// Records a command, given here or elsewhere, but not what a node has set by itself.
    pub(super) fn record_command(&mut self, setting: &Setting, by: &Words, reason: Option<&Why>) {
        let Some((operator, entered_at)) = by.command() else {
            return;
        };
        let node = &self.node.hello().node;
        let is_by = |author: &&Author| Words::entered(&author.operator, node) == *by;
        let (operator, reason, account) = match self.commands.author.as_ref().filter(is_by) {
            Some(Author { operator, reason, account }) => {
                (operator.clone(), reason.clone(), Some(account.clone()))
            }
            None => (operator.to_owned(), reason.map(ToString::to_string), None),
        };
        let counted = account.as_ref().map_or_else(|| by.to_string(), Account::name);
        // A recall is audited however much its account commands.
        let kind = if setting.recall().is_some() { " (fire recall)" } else { "" };
        if self.commands.hour.admits(&counted, account.is_some(), kind) {
            let (key, value) = (setting.subject(), setting.to_string());
            self.record_or_warn(AuditEvent::Setting {
                operator,
                reason,
                account,
                entered_at,
                key,
                value,
            });
        }
    }

    pub(super) fn record_excess(&mut self, now: Timestamp) {
        if now.since(self.commands.hour.since) >= HOUR {
            self.record_last_excess(now);
        }
    }

    /// The node ends, and with it the hour.
    pub(super) fn record_last_excess(&mut self, now: Timestamp) {
        for event in self.commands.hour.end(now) {
            self.record_or_warn(event);
        }
    }

    fn record_or_warn(&self, event: AuditEvent) {
        if let Err(reason) = self.record(event) {
            warn!(reason, "a setting is not in the audit log");
        }
    }

    pub(super) fn record(&self, event: AuditEvent) -> Result<(), String> {
        let node = self.node.hello().node.clone();
        let record = AuditRecord::now(node, event, SystemTime::now());
        self.disk.queue(Work::Record(Box::new(record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_so_many_records_in_an_hour() {
        let mut hour = Hour::default();
        let mut admitted = |account: &str, commands: u64| {
            (0..commands).filter(|_| hour.admits(account, false, "")).count()
        };
        assert_eq!([admitted("robot", 50), admitted("robot", 50)], [50, 10]);
        assert_eq!([admitted("kovac at A", 1), admitted("robot", 7)], [1, 0]);
        let unrecorded = AuditEvent::Unrecorded { account: "robot".to_owned(), commands: 47 };
        assert_eq!(hour.end(Timestamp::START + HOUR), [unrecorded]);
        assert!(hour.admits("robot", false, ""), "in the next hour");
        assert_eq!(hour.end(Timestamp::START + 2 * HOUR), []);

        // Names made up elsewhere keep out neither accounts of this node nor recalls.
        for uid in 0..MOST_ACCOUNTS {
            assert!(hour.admits(&format!("uid {uid}"), true, ""));
        }
        let names = (0..100).flat_map(|name| std::iter::repeat_n(format!("{name} at B"), 60));
        let recorded = names.filter(|name| hour.admits(name, false, "")).count();
        assert_eq!(recorded, 60 * (MOST_ACCOUNTS + 1));
        assert!(hour.admits("uid 1000", true, ""));
        assert!(hour.admits("x at B", false, " (fire recall)"));
    }
}
