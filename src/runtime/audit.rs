//! The commands in this node's audit log: each that is new here, at whichever node it was entered.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use elevator_fleet::model::Timestamp;
use elevator_fleet::settings::{Setting, Why, Words};
use tracing::warn;

use super::Running;
use crate::journal::{Account, AuditEvent, AuditRecord, Work};
use crate::operator::Author;

/// How many commands of one account are recorded in an [`HOUR`]. One that gives commands all the time
/// takes a week to push the others out of the log.
const MOST_COMMANDS: u64 = 60;

const HOUR: Duration = Duration::from_hours(1);

/// How many accounts are counted one by one. More than these share what one may have: an operator at
/// another node is known by a name only, and may give many.
const MOST_ACCOUNTS: usize = 16;

/// What decides how a command is recorded.
#[derive(Debug, Default)]
pub(super) struct Commands {
    /// Who gives the command that the node handles now, if it is entered here.
    pub(super) author: Option<Author>,
    hours: Hours,
}

/// The commands of each account in its present hour.
#[derive(Debug, Default)]
struct Hours(BTreeMap<String, Hour>);

#[derive(Debug)]
struct Hour {
    since: Timestamp,
    commands: u64,
}

impl Hours {
    /// Counts a command; `false` if it is one too many for the log.
    fn admits(&mut self, account: String, now: Timestamp) -> bool {
        let is_counted = self.0.len() < MOST_ACCOUNTS || self.0.contains_key(&account);
        let account = if is_counted { account } else { "other accounts".to_owned() };
        let hour = self.0.entry(account).or_insert(Hour { since: now, commands: 0 });
        hour.commands += 1;
        hour.commands <= MOST_COMMANDS
    }

    /// Ends the hours that are over; returns what they had too many.
    fn end(&mut self, now: Timestamp) -> Vec<AuditEvent> {
        let over = self.0.extract_if(.., |_, hour| now.since(hour.since) >= HOUR);
        let unrecorded = over.filter_map(|(account, hour)| {
            let commands = hour.commands.saturating_sub(MOST_COMMANDS);
            (commands > 0).then_some(AuditEvent::Unrecorded { account, commands })
        });
        unrecorded.collect()
    }
}

impl Running {
    /// Records what somebody has commanded, here or elsewhere. What a node has set by itself is no
    /// command.
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
        let mut counted = account.as_ref().map_or_else(|| by.to_string(), Account::name);
        // A recall is audited however much its account commands.
        if setting.recall().is_some() {
            counted.push_str(" (fire recall)");
        }
        if self.commands.hours.admits(counted, self.turned) {
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

    /// Records how many commands were too many in the hours that are over.
    pub(super) fn record_excess(&mut self, now: Timestamp) {
        for event in self.commands.hours.end(now) {
            self.record_or_warn(event);
        }
    }

    /// The node ends, and with it each hour.
    pub(super) fn record_last_excess(&mut self) {
        self.record_excess(self.turned + HOUR);
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

    fn at(minutes: u64) -> Timestamp {
        Timestamp::START + Duration::from_mins(minutes)
    }

    fn unrecorded(account: &str, commands: u64) -> AuditEvent {
        AuditEvent::Unrecorded { account: account.to_owned(), commands }
    }

    /// How many of these commands of an account are recorded.
    fn admitted(hours: &mut Hours, account: &str, commands: u64, now: Timestamp) -> usize {
        (0..commands).filter(|_| hours.admits(account.to_owned(), now)).count()
    }

    #[test]
    fn an_account_has_so_many_records_in_an_hour() {
        let mut hours = Hours::default();
        for (account, commands, minute, expected) in [
            ("robot", 50, 0, 50),
            ("robot", 50, 59, 10),
            ("kovac at A", 1, 59, 1),
            ("robot", 7, 59, 0),
        ] {
            let admitted = admitted(&mut hours, account, commands, at(minute));
            assert_eq!(admitted, expected, "{account} after {minute} min");
            assert_eq!(hours.end(at(minute)), []);
        }
        assert_eq!(hours.end(at(60)), [unrecorded("robot", 47)]);
        assert_eq!(admitted(&mut hours, "robot", 61, at(61)), 60, "in the next hour");
        assert_eq!(hours.end(at(120)), [], "one command of kovac is none too many");
        assert_eq!(hours.end(at(121)), [unrecorded("robot", 1)]);
        assert_eq!(hours.end(at(999)), []);
    }

    /// A typed name is no account.
    #[test]
    fn many_names_share_the_records_of_one() {
        let mut hours = Hours::default();
        let names = 0..10_000;
        let recorded = names.filter(|name| hours.admits(format!("{name} at A"), at(1))).count();
        assert_eq!(recorded as u64, MOST_ACCOUNTS as u64 + MOST_COMMANDS);
        let rest = 10_000 - recorded as u64;
        assert_eq!(hours.end(at(61)), [unrecorded("other accounts", rest)]);
    }
}
