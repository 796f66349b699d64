//! The log of a running node.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::{LogFormat, LogSettings};

/// Why there is no log.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter is none.
    #[error("log.filter is wrong")]
    Filter(#[from] ParseError),
    /// There is one already.
    #[error("the log can't be started")]
    Start(#[from] TryInitError),
}

/// Starts the log, on standard error.
///
/// # Errors
/// [`LogError`], when called twice.
pub fn start(settings: &LogSettings) -> Result<(), LogError> {
    let filter = EnvFilter::builder().parse(&settings.filter)?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr);
    match settings.format {
        LogFormat::Human => log
            .with_ansi(io::stderr().is_terminal())
            .finish()
            .try_init()?,
        LogFormat::Journal => log.with_ansi(false).without_time().finish().try_init()?,
    }
    Ok(())
}
