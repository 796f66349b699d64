//! The node's surroundings: `[operator]`, `[http]`, `[panel_line]`, `[log]`.

use std::net::SocketAddr;
use std::path::PathBuf;

use elevator_driver::LineSettings;

use super::{Checker, Tables};
use crate::config::key::KeyDefault::{Absent, Value};
use crate::config::value::{Group, Time};
use crate::log::{LogFilter, LogFormat, LogSettings};

table! {
    /// Read-only access for users other than the node's own.
    [operator] struct Operator {
        /// A second socket for operators, which only serves status and events. In a directory that
        /// its users can enter.
        read_only_socket: Option<PathBuf> = Absent("none", "/run/liftmesh/status.sock"),
        /// The group whose members may use `read_only_socket`, by name or number. The node's user
        /// must be a member.
        read_only_group: Option<Group> = Absent("the group of the node's user", "liftmesh-read"),
    }
}

table! {
    /// The web panel, the API, metrics and health checks, over HTTP.
    [http] struct Http {
        /// Whether the node serves HTTP. A node that does not keeps no statistics either.
        enabled: bool = Value("true"),
        /// The address and port to listen on. Beyond loopback it requires `certificate` and `key`,
        /// and reading needs a token.
        address: Option<SocketAddr> = Absent(
            "port 7080 at the node's `address` if that is on loopback, otherwise at 127.0.0.1",
            "127.0.0.1:7080",
        ),
        /// The certificate for TLS, as PEM: the node's own, followed by the intermediate
        /// certificates. With it, HTTP is served over TLS only.
        certificate: Option<PathBuf> = Absent("none", "/etc/liftmesh/node.crt"),
        /// The key of `certificate`, as PEM, in a file that only the node's user may read.
        key: Option<PathBuf> = Absent("none", "/etc/liftmesh/node.key"),
    }
}

table! {
    /// The line to the panel.
    [panel_line] LineSettings {
        /// TCP: how often the elevator server is polled. A press shorter than this may go unseen,
        /// and the car stops up to this long past its floor. Keep it below the server's own
        /// watchdog. Modbus: how often a PLC is asked while the car moves.
        poll as poll_period: Time<1, 1_000> = Value("10 ms"),
        /// TCP: how often the elevator server is polled while the car rests. A car rests once it
        /// has stood still with its door closed, and received no new command, for a second. A press
        /// is seen up to this much later. Less than `poll_period` counts as `poll_period`. Keep it
        /// below the server's own watchdog.
        poll_at_rest as rest_poll_period: Time<1, 1_000> = Value("20 ms"),
        /// TCP, Modbus: how long a server may take to answer before it is disconnected.
        reply as reply_limit: Time<10, 10_000> = Value("250 ms"),
        /// TCP: whether to ask the server to reload its configuration on each connection. Some then
        /// rebuild their world.
        reload_configuration: bool = Value("false"),
        /// Serial: how often unchanged outputs are sent; well below the panel's watchdog. Modbus: how
        /// often a PLC is asked while the car rests.
        heartbeat: Time<5, 5_000> = Value("50 ms"),
        /// Serial: how long a panel may be silent before it is disconnected. At least three times
        /// `heartbeat`. Above 300 ms, a passenger with a destination may count as aboard although
        /// the panel was gone by then. Modbus: how long a PLC may fail to echo the heartbeat.
        silence as silence_limit: Time<15, 30_000> = Value("250 ms"),
        /// The longest delay between two attempts to open a lost line.
        retry as retry_limit: Time<50, 60_000> = Value("1 s"),
        ..Self::default()
    }
}

table! {
    /// The log, on standard error.
    [log] LogSettings {
        /// What is logged: a level (error, warn, info, debug, trace), or levels by module, such as
        /// info,liftmesh::mesh=debug.
        filter: LogFilter = Value("info"),
        /// `human` has times and, on a terminal, colours; `journal` writes entries with separate
        /// fields to the system's journal, or `human` if there is none; `json` writes one object
        /// per line; `auto` is `journal` if standard error leads there, otherwise `human`.
        format: LogFormat = Value("auto"),
    }
}

pub(super) fn relate(tables: &Tables, check: &Checker<'_>) {
    let Tables { operator, http, .. } = tables;
    check.relate(
        operator.read_only_socket.is_some() || operator.read_only_group.is_none(),
        &["operator.read_only_group", "operator.read_only_socket"],
        "left out without read_only_socket",
    );
    let mut pair = ["http.certificate", "http.key"];
    pair.sort_by_key(|key| !check.is_given(key));
    let [set, missing] = pair;
    check.relate(
        http.certificate.is_some() == http.key.is_some(),
        &[set, missing],
        format_args!("set together with {missing}"),
    );
    check.relate(
        http.certificate.is_some() || http.address.is_none_or(|address| address.ip().is_loopback()),
        &["http.address", "http.certificate"],
        "on loopback, such as 127.0.0.1:7080, unless http.certificate and http.key are set for TLS: \
         without it everybody on the network could read tokens",
    );
}
