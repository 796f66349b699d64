//! `liftmesh clear-hang` and `liftmesh audit`.

use clap::Args;

use super::table::table;
use super::{CommandError, NodeArgs, PageArgs, RemoteArgs, output};
use crate::clearance::{self, ClearError, Clearance, Cleared};
use crate::client::{Client, ClientError, HangCleared};
use crate::journal::{Account, AuditEvent, AuditRecord, OtherEvent};
use crate::latch::Latch;
use crate::operator::words::{operator, reason};

pub(super) const CLEAR_EXAMPLES: &str = "\
Examples:
  liftmesh clear-hang --operator 'J. Kovac' --reason 'brake replaced, ran the shaft by hand' \\
      --data-dir /var/lib/liftmesh
  sudo -u liftmesh liftmesh clear-hang --operator kovac --reason 'sensor at floor 3 cleaned' \\
      --config /etc/liftmesh/node.toml
  liftmesh clear-hang --operator kovac --reason 'brake replaced' \\
      --url https://192.168.1.12:7080 --token-file ~/.config/liftmesh/token

Give it as the user that the node runs as, once the car has been looked into. Afterwards the node
can be started. With --url it goes to `liftmesh caretaker`, which answers at the address of a node
that hung, and which then ends so that the node is started. Where there is nothing to clear it says so
and ends with 0.";

pub(super) const AUDIT_EXAMPLES: &str = "\
Examples:
  liftmesh audit --data-dir /var/lib/liftmesh
  liftmesh audit --data-dir /var/lib/liftmesh --json --limit 10 | jq .operator

The last 10000 records are kept.";

/// The arguments of `liftmesh clear-hang`.
#[derive(Debug, Clone, Args)]
pub(crate) struct ClearHangArgs {
    /// Who has looked into the car
    #[arg(long, value_name = "NAME", value_parser = operator)]
    pub(crate) operator: String,
    /// What was found and done
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: String,
    /// Which node
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Or one at another computer
    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// The arguments of `liftmesh audit`.
#[derive(Debug, Clone, Args)]
pub(crate) struct AuditArgs {
    /// Which node
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// How much of it, and how
    #[command(flatten)]
    pub(crate) page: PageArgs,
}

impl ClearHangArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let Some(remote) = self.remote.remote(self.node.is_given())? {
            return self.clear_at(&remote);
        }
        let (data_dir, name) = self.node.place()?;
        let by = Clearance {
            operator: &self.operator,
            reason: &self.reason,
            account: &Account::of_process(),
        };
        let text = match clearance::clear(&data_dir, name, by) {
            Ok(Some(Cleared { latch, record })) => {
                format!("cleared: {latch}\naudit log: record {record}\nThe node can be started.\n")
            }
            Ok(None) => "nothing to clear\n".to_owned(),
            Err(ClearError::Running(_)) => {
                Client::connect(&data_dir)?.clear_hang(&self.operator, &self.reason)?;
                "nothing to clear: the node runs\n".to_owned()
            }
            Err(error) => return Err(error.into()),
        };
        Ok(output::print(&text)?)
    }

    /// At the computer of the car, over HTTP.
    fn clear_at(&self, remote: &Client) -> Result<(), CommandError> {
        let text = match remote.clear_hang(&self.operator, &self.reason)? {
            Some(HangCleared { car, cleared, audit_records }) => format!(
                "cleared: {cleared}\naudit log: record {audit_records}\nThe node of {car} is started \
                 again.\n"
            ),
            None => "nothing to clear: the node runs\n".to_owned(),
        };
        Ok(output::print(&text)?)
    }
}

impl AuditArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let (data_dir, _) = self.node.place()?;
        let records = match Client::connect(&data_dir) {
            Ok(client) => client.audit()?,
            Err(ClientError::NoNode(_)) => clearance::audit(&data_dir)?,
            Err(error) => return Err(error.into()),
        };
        let latest = self.page.latest(&records);
        let text = if self.page.json {
            latest.iter().map(json).collect()
        } else if latest.is_empty() {
            "no records\n".to_owned()
        } else {
            page(latest)
        };
        Ok(output::print(&text)?)
    }
}

/// A record has nothing that JSON could not hold.
fn json(record: &AuditRecord) -> String {
    let text = serde_json::to_string(record).unwrap_or_else(|error| unreachable!("{error}"));
    format!("{text}\n")
}

pub(super) fn page(records: &[AuditRecord]) -> String {
    table(
        ["time (UTC)", "kind", "operator", "account", "reason", "evidence"],
        records.iter().map(|record| {
            let [kind, operator, used, reason, evidence] = match &record.event {
                AuditEvent::Hang { evidence } => {
                    ["hang", "", "", "", &*evidence.to_string()].map(str::to_owned)
                }
                AuditEvent::LatchFound { latch } => {
                    ["latch-found", "", "", "", &*latch.to_string()].map(str::to_owned)
                }
                AuditEvent::ClearHang { operator, reason, account: by, cleared } => {
                    let by = by.as_ref().map(account).unwrap_or_default();
                    ["clear-hang", operator, &by, reason, &*what(cleared)].map(str::to_owned)
                }
                AuditEvent::Setting { operator, reason, account: by, entered_at, key, value } => {
                    let elsewhere = || format!("at node {entered_at}");
                    let by = by.as_ref().map_or_else(elsewhere, account);
                    let reason = reason.as_deref().unwrap_or_default();
                    let what = format!("{key} is {value}");
                    ["setting", operator, &by, reason, &*what].map(str::to_owned)
                }
                AuditEvent::Unrecorded { account, commands } => {
                    let what = format!(
                        "{commands} further commands of {account} in this hour were not recorded"
                    );
                    ["unrecorded", "", "", "", &*what].map(str::to_owned)
                }
                AuditEvent::Release { account: by, floor, seconds } => {
                    let what = format!("floor {floor} released for {seconds} s");
                    ["release", "", &account(by), "", &*what].map(str::to_owned)
                }
                AuditEvent::FleetKeys { sent, accepted, accepts_anybody } => {
                    let sent = sent.map_or_else(|| "none".to_owned(), |id| format!("key {id}"));
                    let ids = accepted.iter().map(u8::to_string);
                    // A node for which no key is configured has nobody to refuse, either.
                    let anybody = *accepts_anybody || accepted.is_empty();
                    let anybody = anybody.then(|| "anybody".to_owned());
                    let accepted: Vec<String> = ids.chain(anybody).collect();
                    let what = format!("sends {sent}, accepts {}", accepted.join(", "));
                    ["fleet-keys", "", "", "", &*what].map(str::to_owned)
                }
                AuditEvent::Other(OtherEvent { kind, fields }) => {
                    let fields = serde_json::json!(fields).to_string();
                    [kind.as_str(), "", "", "", &fields].map(str::to_owned)
                }
            };
            [record.at.clone(), kind, operator, used, reason, evidence]
        }),
    )
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
