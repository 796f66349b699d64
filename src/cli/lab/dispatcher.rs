//! Dispatchers of one's own: as a strategy, and `liftmesh lab dispatcher-check`.

use std::time::Duration;

use clap::Args;
use elevator_fleet::dispatch::{Dispatcher, ProgramHealth};
use liftmesh_lab::traffic::{BankOf, Cell, Own, Run, Strategy, Trial};

use super::LabError;
use super::traffic::stopwatch;
use crate::cli::{CommandError, output};
use crate::dispatcher::{Choice, Place, Program};

pub(super) const EXAMPLES: &str = "\
The program reads one JSON object a line and writes one a line, as docs/DISPATCHERS.md says. It
dispatches an hour of lunch traffic in a plain building and in one with a car park, twice each.

Examples:
  liftmesh lab dispatcher-check ./mine.py
  liftmesh lab dispatcher-check 'node mine.js --fast'
  liftmesh lab dispatcher-check ./mine.py --cells A12_up_5";

/// How long a call may be left without a car before it is told, and before a fleet serves it anyway.
const OVERDUE: Duration = Duration::from_secs(5);

/// How long a fleet waits for a plan, unless it is configured otherwise.
const LIMIT: Duration = Duration::from_millis(20);

#[derive(Debug, Clone, Args)]
pub(crate) struct CheckArgs {
    /// The program, with its arguments in one word: 'node mine.js'
    #[arg(value_name = "COMMAND")]
    command: String,
    /// Cells, as for `liftmesh lab traffic`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = Cell::named,
          default_value = "A12_lunch_5,car-park_lunch_5")]
    cells: Vec<Cells>,
    /// The seed of the passengers
    #[arg(long, value_name = "NUMBER", default_value = "1")]
    seed: u64,
}

/// What one name means. An alias, because clap takes a literal `Vec` for a repeated argument.
type Cells = Vec<Cell>;

/// A strategy by its name, or by `exec:` and a command.
pub(super) fn strategy(text: &str) -> Result<Strategy, String> {
    match text.parse() {
        // A program has few strategies, and they last as long as it does.
        Ok(Choice::Program(_)) => Ok(own(text.to_owned().leak())),
        Ok(Choice::BuiltIn(_)) | Err(()) => {
            text.parse().map_err(|error| format!("{error}, exec:COMMAND"))
        }
    }
}

fn own(name: &'static str) -> Strategy {
    Strategy::Own(Own { name, make })
}

fn make(name: &'static str, bank: &BankOf<'_>) -> Box<dyn Dispatcher> {
    let BankOf { layout, kinematics, capacity, bypass_load } = *bank;
    let Ok(Choice::Program(command)) = name.parse() else { unreachable!("it was parsed before") };
    Box::new(Program::start(command, Place::Lab, layout, kinematics, (capacity, bypass_load)))
}

/// Whether all plans are its own.
pub(super) fn flawless(health: &ProgramHealth) -> Result<(), LabError> {
    let ProgramHealth { command, plans, fallbacks, fault, .. } = health.clone();
    if fallbacks == 0 {
        return Ok(());
    }
    let (plans, fault) = (plans + fallbacks, fault.unwrap_or_default());
    Err(LabError::Dispatcher { command, fallbacks, plans, fault })
}

impl CheckArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        let strategy = strategy(&format!("exec:{}", self.command))
            .map_err(|_| LabError::NoCommand(self.command.clone()))?;
        let mut failed = false;
        for cell in &self.cells.concat() {
            let trial = Trial { cell, strategy, seed: self.seed };
            let run = || trial.run(stopwatch).map_err(LabError::from);
            let (once, again) = (run()?, run()?);
            output::print(&format!("{cell}\n"))?;
            for finding in findings(&once, &again) {
                failed |= finding.is_err();
                let (mark, text) = match &finding {
                    Ok(text) => ("ok    ", text),
                    Err(text) => ("FAILED", text),
                };
                output::print(&format!("  {mark} {text}\n"))?;
            }
        }
        if failed { Err(LabError::Unchecked.into()) } else { Ok(()) }
    }
}

/// What two runs with the same passengers show.
fn findings(once: &Run, again: &Run) -> Vec<Result<String, String>> {
    let health = once.program.clone().unwrap_or_default();
    let ProgramHealth { plans, fallbacks, fault, left_open, .. } = health;
    let mut findings = vec![if fallbacks == 0 {
        Ok(format!("answers: all {plans} are right"))
    } else {
        let all = plans + fallbacks;
        Err(format!("answers: {fallbacks} of {all} can't be used: {}", fault.unwrap_or_default()))
    }];
    findings.push(if once.is_same_as(again) {
        Ok("determinism: the same passengers get the same cars".to_owned())
    } else {
        Err("determinism: the same passengers get other cars in a second run".to_owned())
    });
    findings.push(if left_open < OVERDUE {
        Ok("assignment: no call is left without a car for long".to_owned())
    } else {
        Err(format!(
            "assignment: a call that had waited for {:.1} s was left without a car although one \
             could serve it; in a fleet, a call without a car for 5 s is served anyway",
            left_open.as_secs_f64()
        ))
    });
    findings.push(if once.served >= 100.0 {
        Ok("service: everybody arrives".to_owned())
    } else {
        Err(format!("service: {:.1} % of the passengers arrive", once.served))
    });
    let (mean, longest) = (once.plan_mean / 1e3, once.plan_longest / 1e3);
    let times = format!("time: {mean:.2} ms a plan, {longest:.2} ms at most");
    findings.push(if mean < LIMIT.as_secs_f64() * 1e3 {
        Ok(times)
    } else {
        Err(format!("{times}; a fleet waits for 20 ms unless `dispatch.program_limit` says more"))
    });
    findings
}
