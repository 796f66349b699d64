//! The tables of the election protocols.
//!
//! All of them are checked under every protocol, so that a mistake is found before the protocol is
//! chosen.

use std::net::SocketAddrV4;

use elevator_fleet::coordination::{ElectionSettings, ballot, bully, senior, token_ring};
use elevator_fleet::wire::Protocol;

use super::check::Checker;
use super::kind;
use super::relation::{at_most, human, longer};
use crate::mesh::PacketSettings;

/// The protocol that was chosen, and its settings.
pub(super) fn election(check: &Checker<'_>) -> ElectionSettings {
    let (bully, senior) = (bully(check), senior(check));
    let (ballot, token_ring) = (ballot(check), token_ring(check));
    match check.required("election", kind::election) {
        Protocol::LowestIp => ElectionSettings::LowestIp,
        Protocol::Bully => ElectionSettings::Bully(bully),
        Protocol::Senior => ElectionSettings::Senior(senior),
        Protocol::Ballot => ElectionSettings::Ballot(ballot),
        Protocol::TokenRing => ElectionSettings::TokenRing(token_ring),
    }
}

fn mesh_detection(check: &Checker<'_>) -> bool {
    check.required("mesh_detection", kind::switch)
}

fn bully(check: &Checker<'_>) -> bully::Settings {
    let time = |path| check.required(path, kind::time);
    let settings = bully::Settings {
        estimate: check.required("bully.estimate", kind::estimate),
        hysteresis: check.required("bully.hysteresis", kind::whole),
        hold_off: time("bully.hold_off"),
        answer_wait: time("bully.answer_wait"),
        ask_again: time("bully.ask_again"),
        coordinator_wait: time("bully.coordinator_wait"),
        mesh_detection: mesh_detection(check),
        silence: time("bully.silence"),
    };
    at_most(
        check,
        ("bully.ask_again", settings.ask_again),
        ("bully.answer_wait", "answer_wait", settings.answer_wait),
    );
    at_most(
        check,
        ("bully.answer_wait", settings.answer_wait),
        (
            "bully.coordinator_wait",
            "coordinator_wait",
            settings.coordinator_wait,
        ),
    );
    settings
}

/// What the preset says holds for every key that is not given.
fn senior(check: &Checker<'_>) -> senior::Settings {
    let preset = match check.required("senior.preset", kind::preset) {
        kind::Preset::Fleet => senior::Settings::fleet(),
        kind::Preset::Source => senior::Settings::source(),
        kind::Preset::Emulator => senior::Settings::emulator(),
    };
    let time = |path| check.optional(path, kind::time);
    let settings = senior::Settings {
        master_loss: time("senior.master_loss").unwrap_or(preset.master_loss),
        answer_wait: time("senior.answer_wait").unwrap_or(preset.answer_wait),
        attempts: check
            .optional("senior.attempts", kind::whole)
            .unwrap_or(preset.attempts),
        request_period: time("senior.request_period").unwrap_or(preset.request_period),
        mesh_detection: mesh_detection(check) && preset.mesh_detection,
    };
    if settings.master_loss < settings.request_period * 2 {
        let relation = format!(
            "below half of master_loss = {}",
            human(settings.master_loss)
        );
        let keys = ["senior.request_period", "senior.master_loss"];
        let given = keys.into_iter().find(|path| check.is_given(path));
        check.refuse_relation(given.unwrap_or("senior.preset"), &keys, relation);
    }
    settings
}

fn ballot(check: &Checker<'_>) -> ballot::Settings {
    let time = |path| check.required(path, kind::time);
    let settings = ballot::Settings {
        control_period: time("ballot.control_period"),
        lost_after: time("ballot.lost_after"),
        round: time("ballot.round"),
        patience: check.required("ballot.patience", kind::whole),
        mesh_detection: mesh_detection(check),
    };
    let least = settings.control_period * 2;
    if settings.lost_after < least {
        let relation = format!("at least two times control_period = {}", human(least));
        check.refuse_relation("ballot.lost_after", &["ballot.control_period"], relation);
    }
    longer(
        check,
        ("ballot.lost_after", settings.lost_after),
        (&["ballot.round"], "round", settings.round),
    );
    settings
}

fn token_ring(check: &Checker<'_>) -> token_ring::Settings {
    let time = |path| check.required(path, kind::time);
    let settings = token_ring::Settings {
        t: time("token_ring.t"),
        grace: time("token_ring.grace"),
        hold: time("token_ring.hold"),
        k: check.required("token_ring.k", kind::whole),
        search_wait: time("token_ring.search_wait"),
        search_tries: check.required("token_ring.search_tries", kind::whole),
        acknowledgement_wait: time("token_ring.acknowledgement_wait"),
        claim_wait: time("token_ring.claim_wait"),
        claim_wait_per_rank: time("token_ring.claim_wait_per_rank"),
        mesh_detection: mesh_detection(check),
    };
    longer(
        check,
        ("token_ring.t", settings.t),
        (
            &["token_ring.acknowledgement_wait"],
            "acknowledgement_wait",
            settings.acknowledgement_wait,
        ),
    );
    longer(
        check,
        ("token_ring.hold", settings.hold),
        (
            &["token_ring.search_wait"],
            "search_wait",
            settings.search_wait,
        ),
    );
    settings
}

/// Where packets go, under a protocol that has a port of its own.
pub(super) fn packets(
    check: &Checker<'_>,
    broadcast: SocketAddrV4,
    election: &ElectionSettings,
) -> Option<PacketSettings> {
    let settings = PacketSettings {
        port: check.required("ballot.port", kind::port),
        group: check.optional("ballot.multicast", kind::multicast),
        interface: check.optional("ballot.interface", kind::interface),
    };
    match election.protocol() {
        Protocol::Ballot if settings.port == broadcast.port() => {
            let relation = format!("another port than that of broadcast = {broadcast}");
            check.refuse_relation("ballot.port", &["broadcast"], relation);
            Some(settings)
        }
        Protocol::Ballot => Some(settings),
        Protocol::LowestIp | Protocol::Bully | Protocol::Senior | Protocol::TokenRing => None,
    }
}
