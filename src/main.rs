//! The Liftmesh binary.

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use liftmesh::cli::{self, Cli, Exit, Next, output};
use liftmesh::config::Settings;
use liftmesh::runtime::{self, Outcome, RunError};

/// How long what the node could not end in time may hold up the end of the process.
const LEFTOVERS: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    match cli::execute(Cli::parse()) {
        Ok(Next::Done) => Exit::Done.into(),
        Ok(Next::Run(settings)) => run(&settings)
            .unwrap_or_else(|error| {
                output::complain(error.as_ref());
                match error.downcast_ref::<RunError>() {
                    Some(RunError::Latched(_)) => Exit::Refused,
                    Some(error) if error.is_usage() => Exit::Usage,
                    Some(_) | None => Exit::Failed,
                }
            })
            .into(),
        Err(error) => {
            let exit = error.exit();
            if exit != Exit::Done {
                output::complain(&error);
            }
            exit.into()
        }
    }
}

fn run(settings: &Settings) -> anyhow::Result<Exit> {
    cli::log::start(&settings.log)?;
    let threads = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let outcome = threads.block_on(runtime::run(settings));
    threads.shutdown_timeout(LEFTOVERS);
    Ok(match outcome? {
        Outcome::Stopped => Exit::Done,
        Outcome::Hung(_) => Exit::Hung,
    })
}
