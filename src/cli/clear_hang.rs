use clap::Args;
use liftmesh_api::HangCleared;

use super::{AnyNodeArgs, CommandError, output};
use crate::clearance::{self, ClearError, Clearance, Cleared};
use crate::client::Client;
use crate::journal::Account;
use crate::operator::words::{operator, reason};

pub(super) const EXAMPLES: &str = "\
Examples:
  sudo -u liftmesh liftmesh clear-hang --operator kovac --reason 'sensor at floor 3 cleaned'
  liftmesh clear-hang --operator kovac --reason 'brake replaced' \\
      --url https://192.168.1.12:7080 --token-file ~/.config/liftmesh/token

Inspect the car first, then run this as the node's user; afterwards the node can be started. With
--url it goes to `liftmesh caretaker`, which listens at the hung node's address and then exits so
that the node restarts. If there is nothing to clear, it says so and exits with 0.";

#[derive(Debug, Clone, Args)]
pub(crate) struct ClearHangArgs {
    /// Who inspected the car
    #[arg(long, value_name = "NAME", value_parser = operator)]
    pub(crate) operator: String,
    /// What was found and done
    #[arg(long, value_name = "TEXT", value_parser = reason)]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) node: AnyNodeArgs,
}

impl ClearHangArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        if let Some(url) = self.node.url()? {
            return self.clear_at(&self.node.remote.client(url)?);
        }
        let (data_dir, name) = self.node.here.place()?;
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
                "nothing to clear: the node is running\n".to_owned()
            }
            Err(error) => return Err(error.into()),
        };
        Ok(output::print(&text)?)
    }

    fn clear_at(&self, remote: &Client) -> Result<(), CommandError> {
        let text = match remote.clear_hang(&self.operator, &self.reason)? {
            Some(HangCleared { car, cleared, audit_records }) => format!(
                "cleared: {cleared}\naudit log: record {audit_records}\nThe node of {car} \
                 restarts.\n"
            ),
            None => "nothing to clear: the node is running\n".to_owned(),
        };
        Ok(output::print(&text)?)
    }
}
