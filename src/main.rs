//! The Liftmesh binary.

use std::error::Error;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Duration;

use liftmesh::caretaker::{self, CaretakerError};
use liftmesh::cli::{self, Cli, Next, output};
use liftmesh::exit::Exit;
use liftmesh::log::{self, LogSettings};
use liftmesh::runtime::{self, Outcome, RunError};

/// How long what the node could not end in time may hold up the end of the process.
const LEFTOVERS: Duration = Duration::from_millis(200);

fn main() -> ExitCode {
    // A panic was told where it happened.
    let ended = panic::catch_unwind(|| match cli::execute(Cli::of_process()) {
        Ok(Next::Done) => Exit::Done,
        Ok(Next::Latched) => Exit::Refused,
        Ok(Next::Run(settings)) => {
            run(&settings.log, runtime::run(&settings), |ended| match ended {
                Ok(Outcome::Stopped) => Exit::Done,
                Ok(Outcome::Hung(_)) => Exit::Hung,
                Err(RunError::Latched(_)) => Exit::Refused,
                Err(error) if error.is_usage() => Exit::Usage,
                Err(_) => Exit::Failed,
            })
        }
        Ok(Next::TakeCare(settings)) => {
            run(&settings.log, caretaker::run(&settings), |ended| match ended {
                Ok(caretaker::Outcome::Cleared) => Exit::Done,
                // As a node that refuses to start: nothing but a clearing here ends with 0.
                Ok(caretaker::Outcome::Stopped) => Exit::Refused,
                Err(error) => CaretakerError::exit(error),
            })
        }
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

/// Runs to the end, and logs why it failed.
fn run<T, E: Error + 'static>(
    log: &LogSettings,
    running: impl Future<Output = Result<T, E>>,
    exit: impl FnOnce(&Result<T, E>) -> Exit,
) -> Exit {
    let log = match log::start(log) {
        Ok(log) => log,
        Err(error) => {
            output::complain(&error);
            return Exit::Failed;
        }
    };
    // A node that panics drops its panel, which stops the motor.
    let ended = panic::catch_unwind(AssertUnwindSafe(|| {
        let threads = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ended = threads.block_on(running);
        threads.shutdown_timeout(LEFTOVERS);
        Ok::<_, io::Error>(ended)
    }));
    let exit = match ended {
        Ok(Ok(ended)) => {
            if let Err(error) = &ended {
                log.complain(error);
            }
            exit(&ended)
        }
        Ok(Err(error)) => {
            log.complain(&error);
            Exit::Failed
        }
        Err(_panic) => Exit::Failed,
    };
    log.finish();
    exit
}
