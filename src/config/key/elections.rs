//! The election protocols, a table each.

use super::Key;
use super::KeyDefault::{Absent, Value};
use crate::config::kind::Kind;

pub(super) const KEYS: &[Key] = &[
    Key::new(
        "bully.estimate",
        Kind::Estimate,
        Value("health"),
        "How fit this node is to lead: the highest leads, of two equal ones the higher name. \
         `health` reckons with its disk, its panel and its car, from 1 to 100; then a leader that is \
         followed counts as ahead by `hysteresis` less 1. 0 bars the node. \
         Numbers on every node, or `health` on every node.",
    ),
    Key::new(
        "bully.hysteresis",
        Kind::Whole(1, 10_000),
        Value("25"),
        "By how much an estimate must exceed the coordinator's before its node stands for election.",
    ),
    Key::new(
        "bully.hold_off",
        Kind::time(0, 600_000),
        Value("500 ms"),
        "For how long an estimate must exceed the coordinator's by that before its node stands; 0 s: \
         it stands at once.",
    ),
    Key::new(
        "bully.answer_wait",
        Kind::time(20, 60_000),
        Value("200 ms"),
        "How long a candidate waits for an answer. At most `coordinator_wait`.",
    ),
    Key::new(
        "bully.ask_again",
        Kind::time(5, 60_000),
        Value("50 ms"),
        "How often a candidate asks while nobody answers. At most `answer_wait`.",
    ),
    Key::new(
        "bully.coordinator_wait",
        Kind::time(20, 120_000),
        Value("400 ms"),
        "How long a candidate that was answered waits for a coordinator before it begins again.",
    ),
    Key::new(
        "bully.silence",
        Kind::time(50, 600_000),
        Value("400 ms"),
        "Without `mesh_detection`: a coordinator of which no beacon came for so long is silent.",
    ),
    Key::new(
        "senior.preset",
        Kind::Preset,
        Value("fleet"),
        "What holds for the other keys of this table where they are not given: `fleet`, hundreds of \
         milliseconds; `source`, 5 min; `emulator`, 30 s. The last two leave `mesh_detection` out.",
    ),
    Key::new(
        "senior.master_loss",
        Kind::time(50, 3_600_000),
        Absent("the preset's: 500 ms, 5 min or 30 s", "500 ms"),
        "An executor that has had no sign of its master for so long looks for another one. At least \
         twice `request_period`.",
    ),
    Key::new(
        "senior.answer_wait",
        Kind::time(10, 600_000),
        Absent("the preset's: 100 ms, 5 s or 1 s", "100 ms"),
        "How long an attempt waits for a master's answer.",
    ),
    Key::new(
        "senior.attempts",
        Kind::Whole(1, 100),
        Absent("the preset's: 4, 3 or 3", "4"),
        "How many attempts have to go unanswered before a unit may lead.",
    ),
    Key::new(
        "senior.request_period",
        Kind::time(5, 600_000),
        Absent("the preset's: 50 ms, 30 s or 3 s", "50 ms"),
        "Between two requests of a master.",
    ),
    Key::new(
        "ballot.control_period",
        Kind::time(10, 10_000),
        Value("100 ms"),
        "Between two control packets of the leader.",
    ),
    Key::new(
        "ballot.lost_after",
        Kind::time(20, 60_000),
        Value("200 ms"),
        "A leader of which no control packet came for so long is lost. At least two times \
         `control_period`, and longer than `round`.",
    ),
    Key::new(
        "ballot.round",
        Kind::time(10, 10_000),
        Value("100 ms"),
        "How long a round of votes lasts; at least twice the longest delay of the network.",
    ),
    Key::new(
        "ballot.patience",
        Kind::Whole(1, 1_000),
        Value("5"),
        "While a leader's beacons say that it leads, so many times `lost_after` may pass without a \
         control packet of it. Counts with `mesh_detection` alone.",
    ),
    Key::new(
        "ballot.port",
        Kind::Port,
        Value("46101"),
        "The UDP port of the packets, the same on every node and device. Another one than that of \
         `broadcast`.",
    ),
    Key::new(
        "ballot.multicast",
        Kind::Multicast,
        Absent("broadcast's address", "239.192.46.101"),
        "The multicast group of the packets, for a network that a broadcast does not cover.",
    ),
    Key::new(
        "ballot.interface",
        Kind::Interface,
        Absent("that of address", "eth0"),
        "The network interface to which the sockets of the packets are bound. It needs the right \
         CAP_NET_RAW where the system does not allow it to everybody.",
    ),
    Key::new(
        "token_ring.t",
        Kind::time(50, 600_000),
        Value("200 ms"),
        "T: a holder shows at least this often that it lives. Longer than `acknowledgement_wait`.",
    ),
    Key::new(
        "token_ring.grace",
        Kind::time(10, 600_000),
        Value("50 ms"),
        "How much longer than `t` no holder has to be heard before the token is recovered.",
    ),
    Key::new(
        "token_ring.hold",
        Kind::time(50, 3_600_000),
        Value("1 s"),
        "How long a holder keeps the token before it looks for the next node. Longer than \
         `search_wait`.",
    ),
    Key::new(
        "token_ring.k",
        Kind::Whole(0, 100),
        Value("50"),
        "The part of `t`, in per cent, that an exchange between two holders may take at least; the \
         rest is drawn by lot.",
    ),
    Key::new(
        "token_ring.search_wait",
        Kind::time(5, 60_000),
        Value("100 ms"),
        "How long a holder waits for answers to its search for the next node.",
    ),
    Key::new(
        "token_ring.search_tries",
        Kind::Whole(1, 100),
        Value("3"),
        "After so many searches without an answer a holder serves alone, and searches on each `t`.",
    ),
    Key::new(
        "token_ring.acknowledgement_wait",
        Kind::time(5, 60_000),
        Value("150 ms"),
        "How long a hand-over may take until it is acknowledged.",
    ),
    Key::new(
        "token_ring.claim_wait",
        Kind::time(5, 60_000),
        Value("100 ms"),
        "How long a claim to a lost token is open to objections.",
    ),
    Key::new(
        "token_ring.claim_wait_per_rank",
        Kind::time(5, 60_000),
        Value("25 ms"),
        "How much later than the node before it in the ring a node claims a lost token.",
    ),
];
