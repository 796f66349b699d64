use clap::Args;
use serde::Serialize;

use super::{CommandError, ConfigArgs, output};
use crate::probe::{self, Finding, Outcome};

pub(super) const EXAMPLES: &str = "\
Examples:
  sudo -u liftmesh liftmesh doctor
  liftmesh doctor --config node.toml --json | jq '.findings[] | select(.result == \"error\")'

Listens for two seconds to the nodes on the network; a running node is asked what it hears. Run it
as the node's user, before the node starts or while it runs: it changes nothing. It exits with 0 if
the node can run, and with 1 otherwise.";

#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON on one line
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Serialize)]
struct Report {
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

impl DoctorArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let findings = match self.config.sources().check() {
            Ok((_, settings)) => probe::examine(&settings),
            Err(errors) => errors.iter().map(probe::of_configuration).collect(),
        };
        let count = |result| findings.iter().filter(|found| found.result() == result).count();
        let (errors, warnings) = (count(Outcome::Error), count(Outcome::Warning));
        let text = if self.json {
            let report = Report { errors, warnings, findings };
            output::json_line(&report)
        } else {
            findings.iter().flat_map(|found| [found.to_string(), "\n".to_owned()]).collect()
        };
        output::print(&text)?;
        if errors > 0 { Err(CommandError::Doctor(errors)) } else { Ok(()) }
    }
}
