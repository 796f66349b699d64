//! `liftmesh audit`.

mod merge;

use std::net::SocketAddr;
use std::thread;

use clap::Args;
use elevator_fleet::node::Status;

pub(super) use self::merge::{Entry, merge};
use super::table::table;
use super::{AnyNodeArgs, CommandError, PageArgs, output};
use crate::clearance;
use crate::client::{Client, ClientError, NodeUrl};
use crate::config::HTTP_PORT;
use crate::journal::{Account, AuditEvent, AuditRecord};
use crate::latch::Latch;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh audit --data-dir /var/lib/liftmesh --json --limit 10 | jq .operator
  liftmesh audit --fleet --url https://192.168.1.11:7080 --token-file ~/.config/liftmesh/token
  sudo -u liftmesh liftmesh audit --fleet --token-file token --config /etc/liftmesh/node.toml

The last 10000 records of a node are kept. Over HTTP the token needs the scope `operate`.

--fleet also asks each node that the first one knows, over HTTP with the token: at its `address`, at
the port of --url or of `http.address` here. Those that could not be asked are named last, with
--json on standard error. A command that several nodes have recorded is shown once.";

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
            Some(first) => self.ask_others(&first.status()?, url, &mut logs)?,
            None => "not asked: the other nodes, because this one is not running\n".to_owned(),
        };
        let entries = merge(logs);
        let latest = self.page.latest(&entries);
        if self.page.json {
            output::print(&latest.iter().map(output::json_line).collect::<String>())?;
            output::remark(&unasked);
            return Ok(());
        }
        let shown = if latest.is_empty() { "no records\n".to_owned() } else { page(latest) };
        Ok(output::print(&[shown, unasked].concat())?)
    }

    /// Adds the logs of the other nodes that the first one knows. Says which were not asked, and why.
    fn ask_others(
        &self,
        first: &Status,
        url: Option<NodeUrl>,
        logs: &mut Vec<Vec<AuditRecord>>,
    ) -> Result<String, CommandError> {
        let (port, is_encrypted) = if let Some(url) = url {
            (url.port(), url.is_encrypted())
        } else {
            let values = self.node.here.sources().read()?;
            let address = values.get("http.address").and_then(|it| it.value.parse().ok());
            let port = address.map_or(HTTP_PORT, |address: SocketAddr| address.port());
            (port, values.get("http.certificate").is_some())
        };
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

pub(super) fn page(entries: &[Entry]) -> String {
    table(
        ["time (UTC)", "node", "kind", "operator", "account", "reason", "evidence"],
        entries.iter().map(row),
    )
}

fn row(entry: &Entry) -> [String; 7] {
    let record = &entry.record;
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
    [record.at.clone(), entry.place(), kind, operator, used, reason, evidence]
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
