use std::collections::BTreeMap;
use std::thread;

use clap::Args;
use elevator_fleet::node::Status;
use elevator_fleet::settings::Words;

use super::{AnyNodeArgs, CommandError, PageArgs, output};
use crate::clearance;
use crate::client::{Client, ClientError, NodeUrl};
use crate::journal::{Account, AuditEvent, AuditRecord};
use crate::latch::Latch;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh audit --data-dir /var/lib/liftmesh --json --limit 10 | jq .operator
  liftmesh audit --fleet --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token

The last 10000 records of a node are kept. Over HTTP the token needs the scope `operate`. --fleet
also asks each node that the first one knows, over HTTP with the token: at its `address`, at the
port of --url or of `http.address` here. Those that could not be asked are named last, with --json
on standard error. A command that several nodes have recorded is shown once.";

#[derive(Debug, Clone, Args)]
pub(crate) struct AuditArgs {
    /// Merge the logs of all nodes of the fleet
    #[arg(long)]
    pub(crate) fleet: bool,
    #[command(flatten)]
    pub(crate) node: AnyNodeArgs,
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

impl AuditArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let url = match self.node.url() {
            // The token is for the other nodes.
            Err(CommandError::NoUrl) if self.fleet => None,
            url => url?,
        };
        let first = match &url {
            Some(url) => Some(self.node.remote.client(url.clone())?),
            None => match Client::connect(&self.node.here.place()?.0) {
                Err(ClientError::NoNode(_)) => None,
                client => Some(client?),
            },
        };
        let mut logs = vec![match &first {
            Some(first) => first.audit()?,
            None => clearance::audit(&self.node.here.place()?.0)?,
        }];
        let unasked = match first {
            _ if !self.fleet => String::new(),
            Some(first) => self.ask_others(&first.status()?, url.as_ref(), &mut logs)?,
            None => "not asked: the other nodes, because this one is not running\n".to_owned(),
        };
        let records = merge(logs);
        let latest = self.page.latest(&records);
        if self.page.json {
            output::print(&latest.iter().map(output::json_line).collect::<String>())?;
            output::remark(&unasked);
            return Ok(());
        }
        let shown = if latest.is_empty() { "no records\n".to_owned() } else { page(latest) };
        Ok(output::print(&[shown, unasked].concat())?)
    }

    /// Adds the logs of the other nodes that the first one knows. Says which were not asked.
    fn ask_others(
        &self,
        first: &Status,
        url: Option<&NodeUrl>,
        logs: &mut Vec<Vec<AuditRecord>>,
    ) -> Result<String, CommandError> {
        let (port, is_encrypted) = self.node.here.http_of_peers(url)?;
        let peers = first.peers.iter().map(|peer| (&peer.node, peer.address));
        let lost = first.lost.iter().map(|lost| (&lost.node, lost.address));
        // All at once: a lost node takes its time not to answer.
        let answers = thread::scope(|scope| {
            let asked = peers.chain(lost).map(|(node, address)| {
                let url = NodeUrl::of_peer(address, port, is_encrypted);
                let ask = move || self.node.remote.client(url).map(|client| client.audit());
                (node, scope.spawn(ask))
            });
            let asked: Vec<_> = asked.collect();
            asked.into_iter().map(|(node, answer)| (node, answer.join())).collect::<Vec<_>>()
        });
        let mut unasked = Vec::new();
        for (node, answer) in answers {
            match answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic))? {
                Ok(log) => logs.push(log),
                Err(error) => unasked.push(format!("not asked: {node}: {error}\n")),
            }
        }
        Ok(unasked.concat())
    }
}

/// The records of these logs by time. Each node records every command that reaches it: it is shown
/// as recorded where it was entered, or else where it is most often.
pub(super) fn merge(mut logs: Vec<Vec<AuditRecord>>) -> Vec<AuditRecord> {
    if logs.len() == 1 {
        return logs.swap_remove(0);
    }
    let mut records = Vec::new();
    let mut commands: BTreeMap<_, Vec<AuditRecord>> = BTreeMap::new();
    for log in logs {
        let mut given: BTreeMap<_, Vec<AuditRecord>> = BTreeMap::new();
        for record in log {
            match &record.event {
                AuditEvent::Setting { operator, entered_at, key, value, .. } => {
                    // The mesh has only so much of a name.
                    let by = Words::entered(operator, entered_at).to_string();
                    given.entry((by, key.clone(), value.clone())).or_default().push(record);
                }
                _ => records.push(record),
            }
        }
        let is_first = |record: &AuditRecord| match &record.event {
            AuditEvent::Setting { entered_at, .. } => *entered_at == record.node,
            _ => false,
        };
        let rank = |given: &[AuditRecord]| (given.iter().any(is_first), given.len());
        for (command, given) in given {
            let known = commands.entry(command).or_default();
            if rank(&given) > rank(known) {
                *known = given;
            }
        }
    }
    records.extend(commands.into_values().flatten());
    records.sort_by(|one, other| one.at.cmp(&other.at));
    records
}

pub(super) fn page(records: &[AuditRecord]) -> String {
    output::table(
        ["time (UTC)", "node", "kind", "operator", "account", "reason", "evidence"],
        records.iter().map(row),
    )
}

fn row(record: &AuditRecord) -> [String; 7] {
    let none = String::new;
    let only = |kind: &str, what: String| [kind.to_owned(), none(), none(), none(), what];
    let [kind, operator, used, reason, evidence] = match &record.event {
        AuditEvent::Hang { evidence } => only("hang", evidence.to_string()),
        AuditEvent::LatchFound { latch } => only("latch-found", latch.to_string()),
        AuditEvent::ClearHang { operator, reason, account: by, cleared } => {
            let by = by.as_ref().map(account).unwrap_or_default();
            ["clear-hang".to_owned(), operator.clone(), by, reason.clone(), what(cleared)]
        }
        AuditEvent::Setting { operator, reason, account: by, entered_at, key, value } => {
            let by = by.as_ref().map_or_else(|| format!("at node {entered_at}"), account);
            let reason = reason.clone().unwrap_or_default();
            ["setting".to_owned(), operator.clone(), by, reason, format!("{key} is {value}")]
        }
        AuditEvent::Unrecorded { account, commands } => {
            let what =
                format!("{commands} further commands of {account} in this hour were not recorded");
            only("unrecorded", what)
        }
        AuditEvent::Release { account: by, floor, seconds } => {
            let what = format!("floor {floor} released for {seconds} s");
            ["release".to_owned(), none(), account(by), none(), what]
        }
        AuditEvent::FleetKeys { sent, accepted, accepts_anybody } => {
            let sent = sent.map_or_else(|| "none".to_owned(), |id| format!("key {id}"));
            let ids = accepted.iter().map(u8::to_string);
            // A node for which no key is configured has nobody to refuse, either.
            let anybody = *accepts_anybody || accepted.is_empty();
            let accepted: Vec<_> = ids.chain(anybody.then(|| "anybody".to_owned())).collect();
            only("fleet-keys", format!("sends {sent}, accepts {}", accepted.join(", ")))
        }
        AuditEvent::Other(fields) => {
            let kind = fields.get("kind").and_then(serde_json::Value::as_str).unwrap_or("?");
            only(kind, serde_json::json!(fields).to_string())
        }
    };
    [record.at.clone(), record.node.to_string(), kind, operator, used, reason, evidence]
}

fn account(account: &Account) -> String {
    let uid = Some(format!("uid {}", account.uid));
    let login = account.login_uid.map(|uid| format!("login uid {uid}"));
    let sudo = account.sudo_user.as_ref();
    let sudo = sudo.map(|user| format!("sudo by {user}"));
    let token = account.token.as_ref().map(|name| format!("token {name} over HTTP"));
    let parts = [uid, login, sudo, account.terminal.clone(), token];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn what(cleared: &Latch) -> String {
    match cleared {
        Latch::Hang(hang) => format!("the hang of {}", hang.at),
        Latch::JournalLost => "the journal was lost".to_owned(),
        Latch::Unreadable { .. } => "a latch that could not be read".to_owned(),
        Latch::Removed { .. } => "a hang whose latch was gone".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The log of a node with commands that were entered at A: when, and what.
    fn log(node: &str, commands: &[(&str, &str)]) -> Vec<AuditRecord> {
        let name = "Josefina Kovacova of the maintenance company of the building";
        let operator = if node == "A" { name } else { &name[..59] };
        let record = |(at, value): &(&str, &str)| {
            serde_json::from_value(serde_json::json!({
                "at": at, "node": node, "program": "1", "kind": "setting", "operator": operator,
                "entered_at": "A", "key": "mode/B", "value": value,
            }))
        };
        commands.iter().map(record).collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_command_is_shown_once() {
        let merged = |logs: &[&Vec<AuditRecord>]| -> Vec<_> {
            let merged = merge(logs.iter().copied().cloned().collect());
            merged.into_iter().map(|record| format!("{} {}", record.at, record.node)).collect()
        };
        // B's clock is behind. C was away, and heard of the last command only.
        let a = log("A", &[("10", "out"), ("20", "in"), ("50", "out")]);
        let b = log("B", &[("07", "out"), ("17", "in"), ("47", "out")]);
        let c = log("C", &[("90", "out")]);
        assert_eq!(merged(&[&c, &b, &a]), ["10 A", "20 A", "50 A"]);
        // Without the log of the node where it was entered.
        assert_eq!(merged(&[&c, &b]), ["07 B", "17 B", "47 B"]);
    }
}
