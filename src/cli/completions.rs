//! Completion scripts.

use clap::Command;
use clap_complete::{Shell, generate};

pub(super) fn script(shell: Shell, command: &mut Command) -> String {
    let mut script = Vec::new();
    generate(shell, command, "liftmesh", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
