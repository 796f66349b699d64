//! Who learns what is wrong: `[alerts]`.

use std::path::PathBuf;

use super::{Checker, Tables};
use crate::alerts::WebhookUrl;
use crate::command_line::CommandLine;
use crate::config::key::KeyDefault::{Absent, Value};
use crate::config::value::Time;

table! {
    /// Alerts about hangs, lost nodes, alarms and the like. The same on every node except for the
    /// files; see docs/ALERTS.md.
    [alerts] struct Alerts {
        /// The program that gets each alert as JSON on its standard input, with its arguments. No
        /// shell reads it, so nothing can be quoted. It is killed after 10 s.
        command: Option<CommandLine> = Absent("none", "/usr/local/bin/page-somebody --lifts"),
        /// The web server that gets each alert as JSON, by POST; without TLS others on the network
        /// can read it.
        webhook: Option<WebhookUrl> = Absent("none", "https://alerts.example/lifts"),
        /// The file with the bearer token for `webhook`, one line of text. A file that everybody
        /// can read is refused.
        token_file: Option<PathBuf> = Absent("none", "/etc/liftmesh/alerts-token"),
        /// The CA certificates, in PEM, one of which must have signed the web server's.
        ca_file: Option<PathBuf> = Absent("those of the system", "/etc/liftmesh/alerts-ca.pem"),
        /// How often an alert is repeated while it lasts. Maintenance takes 24 times as long.
        repeat: Time<60_000, 604_800_000> = Value("1 h"),
        /// How long a node has to be lost, or masters to be several, until it is an alert: longer
        /// than a node takes to restart.
        lost_after: Time<1_000, 3_600_000> = Value("1 min"),
    }
}

pub(super) fn relate(Tables { alerts, .. }: &Tables, check: &Checker<'_>) {
    for (key, is_given) in [
        ("alerts.token_file", alerts.token_file.is_some()),
        ("alerts.ca_file", alerts.ca_file.is_some()),
    ] {
        check.relate(
            alerts.webhook.is_some() || !is_given,
            &[key, "alerts.webhook"],
            "left out without alerts.webhook",
        );
    }
}
