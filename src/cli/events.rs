use clap::Args;
use clap::builder::PossibleValuesParser;
use elevator_fleet::node::Report;

use super::{CommandError, ReadArgs, output};
use crate::client::Notice;
use crate::operator::Event;

pub(super) const EXAMPLES: &str = "\
Examples:
  liftmesh events --kind placed,assigned,served --config /etc/liftmesh/node.toml
  liftmesh events --json --socket /run/liftmesh/status.sock | jq 'select(.event == \"hung\")'

Prints events from now on, until you interrupt it. If the node stops, it exits with 5.";

#[derive(Debug, Clone, Args)]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    pub(crate) node: ReadArgs,
    /// Print JSON, one event per line: times in seconds, floors from 0
    #[arg(long)]
    pub(crate) json: bool,
    /// Only these kinds [default: all]
    #[arg(long, value_name = "KINDS", value_delimiter = ',',
          value_parser = PossibleValuesParser::new(Report::NAMES))]
    pub(crate) kind: Vec<String>,
    /// Exit after this many events
    #[arg(long, value_name = "NUMBER")]
    pub(crate) limit: Option<u64>,
}

impl EventsArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let mut left = self.limit.unwrap_or(u64::MAX);
        let mut watch = self.node.connect()?.watch()?;
        while left > 0 {
            match watch.next()? {
                Notice::Event(event) if !self.wants(&event) => {}
                Notice::Event(event) => {
                    left -= 1;
                    output::print(&self.line(&event))?;
                }
                Notice::Missed(events) => output::print(&self.missed(events))?,
            }
        }
        Ok(())
    }

    fn wants(&self, event: &Event) -> bool {
        self.kind.is_empty() || self.kind.iter().any(|kind| kind == event.report.name())
    }

    fn line(&self, event: &Event) -> String {
        if self.json {
            return output::json_line(event);
        }
        let Event { at, report, .. } = event;
        format!("{at}  {:<17}  {report}\n", report.name())
    }

    fn missed(&self, events: u64) -> String {
        if self.json {
            format!("{{\"event\":\"missed\",\"events\":{events}}}\n")
        } else {
            format!("({events} events were missed: this reader was too slow)\n")
        }
    }
}
