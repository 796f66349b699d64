//! The account that gives a command.

use std::fs;
use std::io::{IsTerminal, stderr, stdin, stdout};

use elevator_fleet::settings::is_hidden;

use crate::journal::Account;
use crate::tokens::TokenName;

/// What the kernel shows for a process that no login has led to.
const NO_LOGIN: u32 = u32::MAX;

/// The longest name, in characters, that is believed.
const LONGEST_NAME: usize = 64;

impl Account {
    /// The account of this process. What the system does not tell is left out.
    pub(crate) fn of_process() -> Self {
        let login = fs::read_to_string("/proc/self/loginuid").ok();
        Self {
            uid: rustix::process::getuid().as_raw(),
            login_uid: login.as_deref().and_then(login_uid),
            sudo_user: std::env::var("SUDO_USER").ok().and_then(printable),
            terminal: terminal(),
            token: None,
        }
    }

    /// The account of a command that came over HTTP with this token.
    pub(crate) fn of_token(name: &TokenName) -> Self {
        let uid = rustix::process::getuid().as_raw();
        Self { uid, token: Some(name.to_string()), ..Self::default() }
    }

    /// The token or, without one, the user.
    pub(crate) fn name(&self) -> String {
        self.token
            .as_ref()
            .map_or_else(|| format!("uid {}", self.uid), |name| format!("token {name}"))
    }
}

fn login_uid(text: &str) -> Option<u32> {
    text.trim().parse().ok().filter(|uid| *uid != NO_LOGIN)
}

/// The first of the standard streams that is a terminal.
fn terminal() -> Option<String> {
    let streams =
        [(0, stdin().is_terminal()), (2, stderr().is_terminal()), (1, stdout().is_terminal())];
    let (number, _) = streams.into_iter().find(|(_, is_terminal)| *is_terminal)?;
    let path = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
    printable(path.to_string_lossy().into_owned())
}

/// A name that fits a line of the audit log.
fn printable(name: String) -> Option<String> {
    let fits =
        !name.is_empty() && name.chars().count() <= LONGEST_NAME && !name.chars().any(is_hidden);
    fits.then_some(name)
}
