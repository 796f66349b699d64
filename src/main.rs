//! The Liftmesh binary.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Duration;

use liftmesh::caretaker::{self, CaretakerError};
use liftmesh::cli::{self, Cli, Next, output};
use liftmesh::config::Settings;
use liftmesh::exit::Exit;
use liftmesh::log;
use liftmesh::runtime::{self, Outcome, RunError};

/// How long what the node could not end in time may hold up the end of the process.
const LEFTOVERS: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    // A panic was told where it happened.
    let ended = panic::catch_unwind(|| match cli::execute(Cli::of_process()) {
        Ok(Next::Done) => Exit::Done,
        Ok(Next::Latched) => Exit::Refused,
        Ok(Next::Run(settings)) => run(&settings),
        Ok(Next::TakeCare(settings)) => take_care(&settings),
        Err(error) => {
            let exit = error.exit();
            if exit != Exit::Done {
                output::complain(&error);
            }
            exit
        }
    });
    ended.unwrap_or(Exit::Failed).into()
}

fn run(settings: &Settings) -> Exit {
    let log = match log::start(&settings.log) {
        Ok(log) => log,
        Err(error) => {
            output::complain(&error);
            return Exit::Failed;
        }
    };
    // A node that panics drops its panel, which stops the motor.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| run_node(settings)));
    let exit = match ended {
        Ok(Ok(Outcome::Stopped)) => Exit::Done,
        Ok(Ok(Outcome::Hung(_))) => Exit::Hung,
        Ok(Err(error)) => {
            log.complain(error.as_ref());
            match error.downcast_ref::<RunError>() {
                Some(RunError::Latched(_)) => Exit::Refused,
                Some(error) if error.is_usage() => Exit::Usage,
                Some(_) | None => Exit::Failed,
            }
        }
        Err(_panic) => Exit::Failed,
    };
    log.finish();
    exit
}

fn take_care(settings: &Settings) -> Exit {
    let log = match log::start(&settings.log) {
        Ok(log) => log,
        Err(error) => {
            output::complain(&error);
            return Exit::Failed;
        }
    };
    let ended = panic::catch_unwind(AssertUnwindSafe(|| {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let outcome = threads.block_on(caretaker::run(settings));
        threads.shutdown_timeout(LEFTOVERS);
        Ok::<_, anyhow::Error>(outcome?)
    }));
    let exit = match ended {
        Ok(Ok(caretaker::Outcome::Cleared)) => Exit::Done,
        // As a node that refuses to start: nothing but a clearing here ends with 0.
        Ok(Ok(caretaker::Outcome::Stopped)) => Exit::Refused,
        Ok(Err(error)) => {
            log.complain(error.as_ref());
            error.downcast_ref().map_or(Exit::Failed, CaretakerError::exit)
        }
        Err(_panic) => Exit::Failed,
    };
    log.finish();
    exit
}

fn run_node(settings: &Settings) -> anyhow::Result<Outcome> {
    let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let outcome = threads.block_on(runtime::run(settings));
    threads.shutdown_timeout(LEFTOVERS);
    Ok(outcome?)
}
