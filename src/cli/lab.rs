//! `liftmesh lab`: the brain in virtual time.

mod elections;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use liftmesh_lab::WorldError;
use liftmesh_lab::elections::{PlotError, WriteError};

use self::elections::ElectionsArgs;
use super::CommandError;

/// The arguments of `liftmesh lab`.
#[derive(Debug, Clone, Args)]
pub(crate) struct LabArgs {
    /// What to run
    #[command(subcommand)]
    pub(crate) experiment: Experiment,
}

/// The experiments.
#[derive(Debug, Clone, Subcommand)]
pub(crate) enum Experiment {
    /// Compare the election protocols: time to one master, messages, and times without a master
    #[command(after_help = elections::EXAMPLES)]
    Elections(ElectionsArgs),
}

/// An experiment failed.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// Such a fleet can't exist.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A file can't be written.
    #[error("{} can't be written", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The figures can't be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// They can't be drawn.
    #[error(transparent)]
    Plot(#[from] PlotError),
    /// The figures show that something stated does not hold; they have been written.
    #[error("what is stated does not hold:\n{0}")]
    Broken(String),
}

impl LabArgs {
    pub(super) fn execute(&self) -> Result<(), CommandError> {
        match &self.experiment {
            Experiment::Elections(args) => args.execute(),
        }
    }
}
