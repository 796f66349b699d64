//! The node's surroundings: `[operator]`, `[panel_line]`, `[log]`.

use super::Key;
use super::KeyDefault::{Absent, Value};
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "operator.read_only_socket",
        Kind::Path,
        Absent("none", "/run/liftmesh/status.sock"),
        "A second socket for operators, on which status and events can be read, and nothing else \
         can be asked. In a directory that its users can enter.",
    ),
    Key::new(
        "operator.read_only_group",
        Kind::Group,
        Absent("the group of the node's user", "liftmesh-read"),
        "The group whose members may use `read_only_socket`, by name or number. The node's user has \
         to be a member.",
    ),
    Key::new(
        "panel_line.poll_period",
        Kind::time(1, 1_000),
        Value("10 ms"),
        "TCP: how often the elevator server is polled. A press shorter than this may go unseen, and \
         the car stops up to this long past its floor. Keep it below the server's own watchdog.",
    ),
    Key::new(
        "panel_line.rest_poll_period",
        Kind::time(1, 1_000),
        Value("20 ms"),
        "TCP: how often the elevator server is polled while the car rests: once it has stood still \
         with its door closed, and been told nothing new, for a second. A press is seen up to this \
         much later. Less than `poll_period` counts as `poll_period`.",
    ),
    Key::new(
        "panel_line.reply_limit",
        Kind::time(10, 10_000),
        Value("250 ms"),
        "TCP: a server that leaves a poll unanswered for so long is disconnected.",
    ),
    Key::new(
        "panel_line.reload_configuration",
        Kind::Switch,
        Value("false"),
        "TCP: ask the server to read its configuration again on each connection. Some rebuild their \
         world at it.",
    ),
    Key::new(
        "panel_line.heartbeat",
        Kind::time(5, 5_000),
        Value("50 ms"),
        "Serial: how often unchanged outputs are told; well below the panel's watchdog.",
    ),
    Key::new(
        "panel_line.silence_limit",
        Kind::time(15, 30_000),
        Value("250 ms"),
        "Serial: a panel that is silent for so long is disconnected. At least three times \
         `heartbeat`.",
    ),
    Key::new(
        "panel_line.retry_limit",
        Kind::time(50, 60_000),
        Value("1 s"),
        "The longest delay between two attempts to open a lost line.",
    ),
    Key::new(
        "log.filter",
        Kind::Filter,
        Value("info"),
        "What is logged: a level (error, warn, info, debug, trace), or levels by module, such as \
         info,liftmesh::mesh=debug.",
    ),
    Key::new(
        "log.format",
        Kind::Format,
        Value("auto"),
        "`human` has times and, on a terminal, colours; `journal` has neither, as the journal of \
         the system adds its own times, and starts each line with the priority that the journal \
         reads; `json` is one object a line; `auto` is `journal` where standard error leads there, \
         and `human` otherwise.",
    ),
];
