//! `liftmesh doctor`.

use clap::Args;
use serde::Serialize;

use super::{CommandError, ConfigArgs, output};
use crate::probe::{self, Finding, Verdict};

pub(super) const EXAMPLES: &str = "\
Examples:
  sudo -u liftmesh liftmesh doctor --config /etc/liftmesh/node.toml
  liftmesh doctor --config node.toml --json | jq '.findings[] | select(.result == \"error\")'

Run it as the node's user, whether the node runs or not: nothing is changed. It ends with 0 if there
is no error, and with 2 otherwise.";

/// The arguments of `liftmesh doctor`.
#[derive(Debug, Clone, Args)]
pub(crate) struct DoctorArgs {
    /// Where the configuration is
    #[command(flatten)]
    pub(crate) config: ConfigArgs,
    /// Print JSON on one line
    #[arg(long)]
    pub(crate) json: bool,
}

/// All findings, as JSON.
#[derive(Debug, Serialize)]
struct Report<'a> {
    errors: usize,
    warnings: usize,
    findings: Vec<Line<'a>>,
}

/// A check and its result, as JSON and as text.
#[derive(Debug, Serialize)]
struct Line<'a> {
    check: &'a str,
    result: Outcome,
    what: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Ok,
    Unchecked,
    Warning,
    Error,
}

impl DoctorArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let findings = match self.config.sources().check() {
            Ok((_, settings)) => probe::examine(&settings),
            Err(errors) => errors.iter().map(probe::of_configuration).collect(),
        };
        let findings: Vec<Line<'_>> = findings.iter().map(Line::of).collect();
        let count = |result| findings.iter().filter(|line| line.result == result).count();
        let (errors, warnings) = (count(Outcome::Error), count(Outcome::Warning));
        let text = if self.json {
            let report = Report { errors, warnings, findings };
            // The texts have nothing that JSON could not hold.
            serde_json::to_string(&report).unwrap_or_else(|error| unreachable!("{error}")) + "\n"
        } else {
            findings.iter().map(Line::text).collect()
        };
        output::print(&text)?;
        if errors > 0 { Err(CommandError::Probe(errors)) } else { Ok(()) }
    }
}

impl<'a> Line<'a> {
    fn of(finding: &'a Finding) -> Self {
        let (result, what, remedy) = match &finding.verdict {
            Verdict::Good(what) => (Outcome::Ok, what, None),
            Verdict::Unchecked(why) => (Outcome::Unchecked, why, None),
            Verdict::Warning { what, remedy } => (Outcome::Warning, what, Some(remedy.as_str())),
            Verdict::Wrong { what, remedy } => (Outcome::Error, what, Some(remedy.as_str())),
        };
        Self { check: finding.key, result, what, remedy }
    }

    fn text(&self) -> String {
        let result = match self.result {
            Outcome::Ok => "ok",
            Outcome::Unchecked => "-",
            Outcome::Warning => "warning",
            Outcome::Error => "error",
        };
        let not_checked = if self.result == Outcome::Unchecked { "not checked, " } else { "" };
        let remedy = self.remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
        format!("{result:7}  {}: {not_checked}{}{remedy}\n", self.check, self.what)
    }
}
