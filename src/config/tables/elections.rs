//! The election protocols, a table each.

use elevator_fleet::election::bully::Estimate;
use elevator_fleet::election::{ElectionSettings, Preset, ballot, bully, senior, token_ring};
use elevator_fleet::wire::Protocol;

use super::{Checker, LONGER, ONCE, Tables};
use crate::config::key::KeyDefault::{Absent, Preset as ByPreset, Value};
use crate::config::value::{Interface, Multicast, Port, SeniorPreset, Time, Whole};
use crate::mesh::PacketSettings;

/// The table of a protocol begins with its preset.
macro_rules! preset {
    ($(#[doc = $about:literal])* [$table:tt] $Fields:ident) => {
        table! {
            $(#[doc = $about])*
            [$table] struct $Fields {
                /// The defaults of the other keys of this table. `fleet`: figures and rules for
                /// elevators on one LAN; `source`: those of the document that describes the
                /// protocol, without `mesh_detection`.
                preset: Preset = Value("fleet"),
            }
        }
    };
}

table! {
    /// Links of the protocol `lowest-ip`, the same on every node.
    [lowest_ip] struct LowestIp {
        /// Which links a slave keeps. `fleet`: it also keeps a link to the heir, the node with the
        /// next lowest address, and a failover needs no new link. `source`: as in the document that
        /// describes the protocol, it has a link to its master only, and leaves it when that link
        /// ends.
        preset: Preset = Value("fleet"),
    }
}

preset! {
    /// Ranks and times of the protocol `bully`.
    [bully] BullyPresets
}

table! {
    [bully] bully::Settings {
        /// How fit this node is to lead: the highest leads; if two are equal, the higher name.
        /// `health` is computed from its disk, its panel and its car, 1 to 100; a master with
        /// followers gets a bonus of `hysteresis` less 1. 0 bars the node. Numbers on every node,
        /// or `health` on every node.
        estimate: Estimate = Value("health"),
        /// Whether a node that is fitter than a working master by `hysteresis` for `hold_off`
        /// replaces it. Otherwise estimates count only once the master is lost.
        challenges: bool = ByPreset(&[("fleet", "true"), ("source", "false")]),
        /// By how much an estimate must exceed the master's before its node stands for
        /// election.
        hysteresis: Whole<u32, 1, 10_000> = Value("25"),
        /// How long an estimate must exceed the master's by `hysteresis` before its node stands;
        /// with 0 s it stands at once.
        hold_off: Time<0, 600_000> = Value("500 ms"),
        /// How long a node that misses the master waits for a higher node to announce itself before
        /// it asks. At most `answer_wait`.
        head_start: Time<0, 60_000> = ByPreset(&[("fleet", "50 ms"), ("source", "0 s")]),
        /// How long a candidate waits for an answer. At most `coordinator_wait`.
        answer_wait: Time<20, 60_000> = Value("200 ms"),
        /// How often a candidate asks while nobody answers. At most `answer_wait`.
        ask_again: Time<5, 60_000> = ByPreset(&[("fleet", "50 ms"), ("source", "200 ms")]),
        /// How long a candidate that was answered waits for a master before it begins again.
        coordinator_wait: Time<20, 120_000> = Value("400 ms"),
        /// Without `mesh_detection`: how long a master may send no beacon before it counts as
        /// silent.
        silence: Time<50, 600_000> = Value("400 ms"),
        ..Self::default()
    }
}

table! {
    /// Times of the protocol `senior`, the same on every node.
    [senior] struct SeniorPresets {
        /// The defaults of the other keys of this table. `fleet`: figures for elevators on one LAN;
        /// `source`: those of the document that describes the protocol; `emulator`: those of its
        /// author's emulator. The last two do not use `mesh_detection`.
        preset: SeniorPreset = Value("fleet"),
    }
}

table! {
    [senior] senior::Settings {
        /// How long a slave waits for a sign of its master before it looks for another one. At
        /// least twice `request_period`.
        master_loss: Time<50, 3_600_000> =
            ByPreset(&[("fleet", "500 ms"), ("source", "5 min"), ("emulator", "30 s")]),
        /// How long an attempt waits for a master's answer.
        answer_wait: Time<10, 600_000> =
            ByPreset(&[("fleet", "100 ms"), ("source", "5 s"), ("emulator", "1 s")]),
        /// How many attempts must go unanswered before a node may lead.
        attempts: Whole<u32, 1, 100> =
            ByPreset(&[("fleet", "4"), ("source", "3"), ("emulator", "3")]),
        /// The time between two requests of a master.
        request_period: Time<5, 600_000> =
            ByPreset(&[("fleet", "50 ms"), ("source", "30 s"), ("emulator", "3 s")]),
        ..Self::default()
    }
}

preset! {
    /// Rules and times of the protocol `ballot`, the same on every node, and its packets.
    [ballot] BallotPresets
}

table! {
    [ballot] ballot::Settings {
        /// The time between two control packets of the leader.
        control_period: Time<10, 10_000> = Value("100 ms"),
        /// How long a leader may send no control packet before it counts as lost. At least twice
        /// `control_period`, and longer than `round`.
        lost_after: Time<20, 60_000> = Value("200 ms"),
        /// How long a round of votes lasts; at least twice the longest delay of the network.
        round: Time<10, 10_000> = Value("100 ms"),
        /// How many times `lost_after` may pass without a control packet from a leader whose
        /// beacons say that it leads. Applies only with `mesh_detection`.
        patience: Whole<u32, 1, 1_000> = ByPreset(&[("fleet", "5"), ("source", "1")]),
        ..Self::default()
    }
}

table! {
    [ballot] PacketSettings {
        /// The UDP port of the packets, the same on every node and device. Must differ from the
        /// port of `broadcast`.
        port: Port = Value("46101"),
        /// The multicast group of the packets, for a network that a broadcast does not cover.
        group as multicast: Option<Multicast> = Absent("broadcast's address", "239.192.46.101"),
        /// How many networks a packet to `multicast` crosses, including its own: each router on the
        /// way counts one. Applies only with `multicast`.
        ttl as multicast_ttl: Whole<u8, 1, 255> = Value("1"),
        /// Whether packets are also sent and accepted without the fleet key, for devices that have
        /// none. Their readings count in the climate averages; their votes and resets never count.
        foreign_devices: bool = Value("false"),
        /// The network interface to which the sockets of the packets are bound. This needs the
        /// capability CAP_NET_RAW where the system does not allow it to everybody.
        interface: Option<Interface> = Absent("that of address", "eth0"),
    }
}

preset! {
    /// Times of the protocol `token-ring`, the same on every node.
    [token_ring] TokenRingPresets
}

table! {
    [token_ring] token_ring::Settings {
        /// T: a holder shows at least this often that it is alive. Longer than
        /// `acknowledgement_wait`.
        t: Time<50, 600_000> = ByPreset(&[("fleet", "200 ms"), ("source", "1 s")]),
        /// How much longer than `t` a node hears no holder before it recovers the token.
        grace: Time<10, 600_000> = Value("50 ms"),
        /// How long a holder keeps the token before it looks for the next node. Longer than
        /// `search_wait`; or, without `mesh_detection`, 0 s to look for it at once.
        hold: Time<0, 3_600_000> = ByPreset(&[("fleet", "1 s"), ("source", "0 s")]),
        /// The minimum limit of an exchange between two holders, in per cent of `t`; the rest, up
        /// to `t`, is random.
        k: Whole<u8, 0, 100> = Value("50"),
        /// How long a holder waits for answers to its search for the next node.
        search_wait: Time<5, 60_000> = Value("100 ms"),
        /// The number of unanswered searches after which a holder serves alone, and searches once
        /// every `t`.
        search_tries: Whole<u8, 1, 100> = ByPreset(&[("fleet", "3"), ("source", "1")]),
        /// How long a hand-over may take until it is acknowledged.
        acknowledgement_wait: Time<5, 60_000> = Value("150 ms"),
        /// How long a claim to a lost token is open to objections.
        claim_wait: Time<5, 60_000> = Value("100 ms"),
        /// How much later than the node before it in the ring a node claims a lost token.
        claim_wait_per_rank: Time<5, 60_000> = Value("25 ms"),
        ..Self::default()
    }
}

/// The protocol that was chosen, and its settings. The mesh's reports count where the preset uses
/// them, unless `mesh_detection` is false.
pub(in crate::config) fn election(tables: &Tables) -> ElectionSettings {
    let mesh_detection = preset(tables).1 && tables.node.mesh_detection != Some(false);
    match tables.node.election {
        Protocol::LowestIp => ElectionSettings::preset(Protocol::LowestIp, tables.lowest_ip.preset),
        Protocol::Bully => {
            ElectionSettings::Bully(bully::Settings { mesh_detection, ..tables.bully.clone() })
        }
        Protocol::Senior => {
            ElectionSettings::Senior(senior::Settings { mesh_detection, ..tables.senior })
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

/// The key of the chosen protocol's preset, and whether the preset uses the mesh's reports.
/// `lowest-ip`, which has no other sign of loss, uses them under each.
fn preset(tables: &Tables) -> (&'static str, bool) {
    let is_fleet = |preset: Preset| preset == Preset::Fleet;
    match tables.node.election {
        Protocol::LowestIp => ("lowest_ip.preset", true),
        Protocol::Bully => ("bully.preset", is_fleet(tables.bully_presets.preset)),
        Protocol::Senior => ("senior.preset", tables.senior_presets.preset == SeniorPreset::Fleet),
        Protocol::Ballot => ("ballot.preset", is_fleet(tables.ballot_presets.preset)),
        Protocol::TokenRing => ("token_ring.preset", is_fleet(tables.token_ring_presets.preset)),
    }
}

pub(super) fn relate(tables: &Tables, check: &Checker<'_>) {
    let Tables { node, packets, token_ring, token_ring_presets, .. } = tables;
    check.relate(
        node.election != Protocol::Ballot || packets.port != node.broadcast.port(),
        &["ballot.port", "broadcast"],
        format_args!("a port other than that of broadcast = {}", node.broadcast),
    );
    let uses_mesh =
        node.mesh_detection != Some(false) && token_ring_presets.preset == Preset::Fleet;
    // Without the mesh a search takes all of its time, which paces a holder that searches at once.
    if uses_mesh || !token_ring.hold.is_zero() {
        check.compare(&("token_ring.hold", LONGER, ONCE, "token_ring.search_wait"));
    }
    // The bounds of a preset hold for its rules without the mesh's reports.
    let (key, uses_mesh) = preset(tables);
    check.relate(
        uses_mesh || node.mesh_detection != Some(true),
        &["mesh_detection", key],
        format_args!("false or left out, because {key} = {}", check.written(key).0),
    );
}
