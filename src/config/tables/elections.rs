//! The election protocols, a table each.
//!
//! All of them are checked under every protocol, so that a mistake is found before the protocol is
//! chosen.

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{ElectionSettings, ballot, bully, senior, token_ring};
use elevator_fleet::wire::Protocol;

use super::{Checker, Tables};
use crate::config::check::human;
use crate::config::key::KeyDefault::{Absent, Value};
use crate::config::value::{Interface, Multicast, Port, Preset, Time, Whole};
use crate::mesh::PacketSettings;

table! {
    /// Ranks and times of the protocol `bully`.
    [bully] bully::Settings {
        /// How fit this node is to lead: the highest leads, of two equal ones the higher name.
        /// `health` is computed from its disk, its panel and its car, 1 to 100; then a master that
        /// is followed counts as ahead by `hysteresis` less 1. 0 bars the node. Numbers on every
        /// node, or `health` on every node.
        estimate: Estimate = Value("health"),
        /// By how much an estimate must exceed the master's before its node stands for
        /// election.
        hysteresis: Whole<u32, 1, 10_000> = Value("25"),
        /// For how long an estimate must exceed the master's by that before its node stands; 0
        /// s: it stands at once.
        hold_off: Time<0, 600_000> = Value("500 ms"),
        /// How long a candidate waits for an answer. At most `coordinator_wait`.
        answer_wait: Time<20, 60_000> = Value("200 ms"),
        /// How often a candidate asks while nobody answers. At most `answer_wait`.
        ask_again: Time<5, 60_000> = Value("50 ms"),
        /// How long a candidate that was answered waits for a master before it begins again.
        coordinator_wait: Time<20, 120_000> = Value("400 ms"),
        /// Without `mesh_detection`: how long no beacon of a master may come before it is silent.
        silence: Time<50, 600_000> = Value("400 ms"),
        ..Self::default()
    }
}

table! {
    /// Times of the protocol `senior`, alike on every node.
    [senior] struct Senior {
        /// What holds for the other keys of this table where they are not given: `fleet`, hundreds
        /// of milliseconds; `source`, 5 min; `emulator`, 30 s. The last two leave `mesh_detection`
        /// out.
        preset: Preset = Value("fleet"),
        /// How long an executor waits for a sign of its master before it looks for another one. At
        /// least twice `request_period`.
        master_loss: Option<Time<50, 3_600_000>> = Absent(
            "the preset's: 500 ms, 5 min or 30 s",
            "500 ms",
        ),
        /// How long an attempt waits for a master's answer.
        answer_wait: Option<Time<10, 600_000>> = Absent(
            "the preset's: 100 ms, 5 s or 1 s",
            "100 ms",
        ),
        /// How many attempts have to go unanswered before a unit may lead.
        attempts: Option<Whole<u32, 1, 100>> = Absent("the preset's: 4, 3 or 3", "4"),
        /// Between two requests of a master.
        request_period: Option<Time<5, 600_000>> = Absent(
            "the preset's: 50 ms, 30 s or 3 s",
            "50 ms",
        ),
    }
}

table! {
    /// Rules and times of the protocol `ballot`, alike on every node, and its packets.
    [ballot] ballot::Settings {
        /// Between two control packets of the leader.
        control_period: Time<10, 10_000> = Value("100 ms"),
        /// How long no control packet of a leader may come before it is lost. At least two times
        /// `control_period`, and longer than `round`.
        lost_after: Time<20, 60_000> = Value("200 ms"),
        /// How long a round of votes lasts; at least twice the longest delay of the network.
        round: Time<10, 10_000> = Value("100 ms"),
        /// While a leader's beacons say that it leads, so many times `lost_after` may pass without
        /// a control packet of it. Counts with `mesh_detection` alone.
        patience: Whole<u32, 1, 1_000> = Value("5"),
        ..Self::default()
    }
}

table! {
    [ballot] PacketSettings {
        /// The UDP port of the packets, the same on every node and device. Another one than that of
        /// `broadcast`.
        port: Port = Value("46101"),
        /// The multicast group of the packets, for a network that a broadcast does not cover.
        group as multicast: Option<Multicast> = Absent("broadcast's address", "239.192.46.101"),
        /// The network interface to which the sockets of the packets are bound. It needs the right
        /// CAP_NET_RAW where the system does not allow it to everybody.
        interface: Option<Interface> = Absent("that of address", "eth0"),
        ..Self::default()
    }
}

table! {
    /// Times of the protocol `token-ring`, alike on every node.
    [token_ring] token_ring::Settings {
        /// T: a holder shows at least this often that it lives. Longer than `acknowledgement_wait`.
        t: Time<50, 600_000> = Value("200 ms"),
        /// How much longer than `t` no holder has to be heard before the token is recovered.
        grace: Time<10, 600_000> = Value("50 ms"),
        /// How long a holder keeps the token before it looks for the next node. Longer than
        /// `search_wait`.
        hold: Time<50, 3_600_000> = Value("1 s"),
        /// The part of `t`, in per cent, that an exchange between two holders may take at least;
        /// the rest is drawn by lot.
        k: Whole<u8, 0, 100> = Value("50"),
        /// How long a holder waits for answers to its search for the next node.
        search_wait: Time<5, 60_000> = Value("100 ms"),
        /// After so many searches without an answer a holder serves alone, and searches on each
        /// `t`.
        search_tries: Whole<u8, 1, 100> = Value("3"),
        /// How long a hand-over may take until it is acknowledged.
        acknowledgement_wait: Time<5, 60_000> = Value("150 ms"),
        /// How long a claim to a lost token is open to objections.
        claim_wait: Time<5, 60_000> = Value("100 ms"),
        /// How much later than the node before it in the ring a node claims a lost token.
        claim_wait_per_rank: Time<5, 60_000> = Value("25 ms"),
        ..Self::default()
    }
}

impl Senior {
    /// What the preset says holds for every key that is not given.
    fn settings(&self) -> senior::Settings {
        let preset = match self.preset {
            Preset::Fleet => senior::Settings::fleet(),
            Preset::Source => senior::Settings::source(),
            Preset::Emulator => senior::Settings::emulator(),
        };
        senior::Settings {
            master_loss: self.master_loss.unwrap_or(preset.master_loss),
            answer_wait: self.answer_wait.unwrap_or(preset.answer_wait),
            attempts: self.attempts.unwrap_or(preset.attempts),
            request_period: self.request_period.unwrap_or(preset.request_period),
            ..preset
        }
    }
}

/// The protocol that was chosen, and its settings.
pub(in crate::config) fn election(tables: &Tables) -> ElectionSettings {
    let mesh_detection = tables.node.mesh_detection;
    match tables.node.election {
        Protocol::LowestIp => ElectionSettings::of(Protocol::LowestIp),
        Protocol::Bully => {
            ElectionSettings::Bully(bully::Settings { mesh_detection, ..tables.bully.clone() })
        }
        Protocol::Senior => {
            let settings = tables.senior.settings();
            let mesh_detection = mesh_detection && settings.mesh_detection;
            ElectionSettings::Senior(senior::Settings { mesh_detection, ..settings })
        }
        Protocol::Ballot => {
            ElectionSettings::Ballot(ballot::Settings { mesh_detection, ..tables.ballot })
        }
        Protocol::TokenRing => ElectionSettings::TokenRing(token_ring::Settings {
            mesh_detection,
            ..tables.token_ring.clone()
        }),
    }
}

pub(super) fn relate(tables: &Tables, check: &Checker<'_>) {
    let Tables { node, bully, ballot, packets, token_ring, .. } = tables;
    check.at_most(
        ("bully.ask_again", bully.ask_again),
        ("bully.answer_wait", "answer_wait", bully.answer_wait),
    );
    check.at_most(
        ("bully.answer_wait", bully.answer_wait),
        ("bully.coordinator_wait", "coordinator_wait", bully.coordinator_wait),
    );
    let senior = tables.senior.settings();
    let keys = ["senior.request_period", "senior.master_loss"];
    let given = keys.into_iter().find(|path| check.is_given(path));
    check.relate(
        senior.request_period * 2 <= senior.master_loss,
        &[given.unwrap_or("senior.preset"), keys[0], keys[1]],
        format_args!("below half of master_loss = {}", human(senior.master_loss)),
    );
    check.relate(
        ballot.lost_after >= ballot.control_period * 2,
        &["ballot.lost_after", "ballot.control_period"],
        format_args!("at least two times control_period = {}", human(ballot.control_period * 2)),
    );
    check.longer(
        ("ballot.lost_after", ballot.lost_after),
        (&["ballot.round"], "round", ballot.round),
    );
    check.relate(
        node.election != Protocol::Ballot || packets.port != node.broadcast.port(),
        &["ballot.port", "broadcast"],
        format_args!("another port than that of broadcast = {}", node.broadcast),
    );
    check.longer(
        ("token_ring.t", token_ring.t),
        (
            &["token_ring.acknowledgement_wait"],
            "acknowledgement_wait",
            token_ring.acknowledgement_wait,
        ),
    );
    check.longer(
        ("token_ring.hold", token_ring.hold),
        (&["token_ring.search_wait"], "search_wait", token_ring.search_wait),
    );
}
