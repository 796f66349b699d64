//! One simulated elevator, on its own.
#![forbid(unsafe_code)]

use std::error::Error;
use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use elevator_simulator::cli::{self, Args};

/// Stands in for one elevator and its panel
///
/// It offers the panel over a pseudo-terminal, over TCP, or both, and a control interface through
/// which passengers and faults are made.
#[derive(Debug, Parser)]
#[command(
    name = "elevator-simulator",
    version,
    after_long_help = cli::examples("elevator-simulator")
)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    let Err(error) = cli::run(Program::parse().args) else {
        return ExitCode::SUCCESS;
    };
    let chain = std::iter::successors(Some(&error as &dyn Error), |&reason| reason.source());
    let reasons: Vec<_> = chain.map(ToString::to_string).collect();
    // If even this can't be written, the exit code remains.
    drop(writeln!(std::io::stderr(), "error: {}", reasons.join(": ")));
    ExitCode::FAILURE
}
