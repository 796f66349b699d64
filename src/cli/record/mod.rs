mod calls;
mod table;

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime};

use clap::Args;
use liftmesh_api::State;

use self::calls::Calls;
use self::table::Table;
use super::node::RemoteArgs;
use super::{CommandError, NodeArgs, ReadArgs, output};
use crate::client::{NodeUrl, Notice, Streamed};

pub(super) use self::table::RecordError;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh record --out orders.csv --config /etc/liftmesh/node.toml
  liftmesh record --out orders.jsonl --url https://192.168.1.11:7080 --token-file ~/.config/token
  liftmesh record --out today.csv --since 8h --once

Writes a row for each call when it has ended, until you interrupt it. It begins with what the node
still knows, and continues an existing file. When its node ends, it continues with another one: at
the `address` of another node of the fleet, at the port of the first.";

/// Between two attempts when no node answers.
const RETRY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Args)]
pub(crate) struct RecordArgs {
    /// The file to write or continue: .csv, or .jsonl for a JSON object a line
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Leave out calls placed longer ago than this [default: all that the node still knows]
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    since: Option<Duration>,
    /// Write the calls that the node still knows, and end
    #[arg(long)]
    once: bool,
    #[command(flatten)]
    node: ReadArgs,
}

impl RecordArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let (table, known) = Table::open(&self.out)?;
        let since = self.since.and_then(|time| SystemTime::now().checked_sub(time));
        let mut recording = Recording { calls: Calls::new(known, since), table, state: None };
        let peers = self.node.here.http_of_peers(self.node.remote.url.as_ref())?;
        let mut places = vec![self.node.clone()];
        // The place that is asked, how many have failed one after the other, and whether any has
        // ever answered.
        let (mut place, mut failed, mut is_known) = (0, 0, false);
        loop {
            let error = match self.follow(&places[place], &mut recording) {
                Ok(()) => return Ok(()),
                Err(error @ CommandError::Record(_)) => return Err(error),
                Err(error) => error,
            };
            if let Some(state) = recording.state.take() {
                (failed, is_known) = (0, true);
                let urls = Self::others(&state, peers);
                places.truncate(1);
                places.extend(urls.into_iter().map(|url| self.at(url)));
            }
            failed += 1;
            if !is_known {
                return Err(error);
            }
            if failed <= places.len() {
                output::complain(&error);
            }
            if failed >= places.len() {
                thread::sleep(RETRY);
            }
            place = (place + 1) % places.len();
        }
    }

    /// Where the other nodes of the fleet probably serve HTTP.
    fn others(state: &State, (port, is_encrypted): (u16, bool)) -> Vec<NodeUrl> {
        let nodes = state.fleet.nodes.iter();
        nodes.map(|node| NodeUrl::of_peer(node.address, port, is_encrypted)).collect()
    }

    fn at(&self, url: NodeUrl) -> ReadArgs {
        let here = NodeArgs { data_dir: None, config: None };
        ReadArgs {
            here,
            socket: None,
            remote: RemoteArgs { url: Some(url), ..self.node.remote.clone() },
        }
    }

    /// Follows a node until it ends, or with `--once` until all that it has kept is written.
    fn follow(&self, place: &ReadArgs, recording: &mut Recording) -> Result<(), CommandError> {
        let node = place.connect()?;
        // The stream of a node that a latch keeps from running has no states: this says why.
        node.status()?;
        let mut watch = node.watch_recent()?;
        recording.calls.begin();
        loop {
            match watch.next_streamed()? {
                Streamed::State(state) => recording.on_state(*state)?,
                Streamed::Notice(Notice::Event(event)) => {
                    if let Some(row) = recording.calls.on_event(&event) {
                        recording.table.append(&row)?;
                    }
                }
                Streamed::Notice(Notice::Missed(events)) => output::remark(&format!(
                    "{events} events were missed: calls may lack times, or be missing\n"
                )),
            }
            if self.once && recording.calls.is_live() {
                return Ok(());
            }
        }
    }
}

struct Recording {
    calls: Calls,
    table: Table,
    /// The latest state of the node that is followed.
    state: Option<State>,
}

impl Recording {
    fn on_state(&mut self, state: State) -> Result<(), CommandError> {
        if self.state.is_none() {
            output::remark(&format!("following node {}\n", state.fleet.node));
        }
        if let Some(since) = self.calls.gap(&state) {
            output::remark(&format!("calls between {since} and now may be missing\n"));
        }
        for row in self.calls.on_state(&state) {
            self.table.append(&row)?;
        }
        self.state = Some(state);
        Ok(())
    }
}
