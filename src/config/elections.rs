//! The tables of the election protocols.
//!
//! All of them are checked under every protocol, so that a mistake is found before the protocol is
//! chosen.

use std::net::SocketAddrV4;

use elevator_fleet::coordination::{ElectionSettings, ballot, bully, senior, token_ring};
use elevator_fleet::wire::Protocol;

use super::relation::{at_most, human, longer};
use super::{ConfigError, Effective, kind};
use crate::mesh::PacketSettings;

/// The protocol that was chosen, and its settings.
pub(super) fn election(values: &Effective) -> Result<ElectionSettings, ConfigError> {
    let (bully, senior) = (bully(values)?, senior(values)?);
    let (ballot, token_ring) = (ballot(values)?, token_ring(values)?);
    Ok(match values.required("election", kind::election)? {
        Protocol::LowestIp => ElectionSettings::LowestIp,
        Protocol::Bully => ElectionSettings::Bully(bully),
        Protocol::Senior => ElectionSettings::Senior(senior),
        Protocol::Ballot => ElectionSettings::Ballot(ballot),
        Protocol::TokenRing => ElectionSettings::TokenRing(token_ring),
    })
}

fn mesh_detection(values: &Effective) -> Result<bool, ConfigError> {
    values.required("mesh_detection", kind::switch)
}

fn bully(values: &Effective) -> Result<bully::Settings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = bully::Settings {
        estimate: values.required("bully.estimate", kind::estimate)?,
        hysteresis: values.required("bully.hysteresis", kind::whole)?,
        hold_off: time("bully.hold_off")?,
        answer_wait: time("bully.answer_wait")?,
        ask_again: time("bully.ask_again")?,
        coordinator_wait: time("bully.coordinator_wait")?,
        mesh_detection: mesh_detection(values)?,
        silence: time("bully.silence")?,
    };
    at_most(
        values,
        ("bully.ask_again", settings.ask_again),
        ("answer_wait", settings.answer_wait),
    )?;
    at_most(
        values,
        ("bully.answer_wait", settings.answer_wait),
        ("coordinator_wait", settings.coordinator_wait),
    )?;
    Ok(settings)
}

/// What the preset says holds for every key that is not given.
fn senior(values: &Effective) -> Result<senior::Settings, ConfigError> {
    let preset = match values.required("senior.preset", kind::preset)? {
        kind::Preset::Fleet => senior::Settings::fleet(),
        kind::Preset::Source => senior::Settings::source(),
        kind::Preset::Emulator => senior::Settings::emulator(),
    };
    let time = |path| values.optional(path, kind::time);
    let settings = senior::Settings {
        master_loss: time("senior.master_loss")?.unwrap_or(preset.master_loss),
        answer_wait: time("senior.answer_wait")?.unwrap_or(preset.answer_wait),
        attempts: values
            .optional("senior.attempts", kind::whole)?
            .unwrap_or(preset.attempts),
        request_period: time("senior.request_period")?.unwrap_or(preset.request_period),
        mesh_detection: mesh_detection(values)? && preset.mesh_detection,
    };
    if settings.master_loss < settings.request_period * 2 {
        let relation = format!(
            "below half of master_loss = {}",
            human(settings.master_loss)
        );
        let given = ["senior.request_period", "senior.master_loss"]
            .into_iter()
            .find(|path| values.get(path).is_some());
        return Err(values.relation(given.unwrap_or("senior.preset"), relation));
    }
    Ok(settings)
}

fn ballot(values: &Effective) -> Result<ballot::Settings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = ballot::Settings {
        control_period: time("ballot.control_period")?,
        lost_after: time("ballot.lost_after")?,
        round: time("ballot.round")?,
        patience: values.required("ballot.patience", kind::whole)?,
        mesh_detection: mesh_detection(values)?,
    };
    let least = settings.control_period * 2;
    if settings.lost_after < least {
        let relation = format!("at least two times control_period = {}", human(least));
        return Err(values.relation("ballot.lost_after", relation));
    }
    longer(
        values,
        ("ballot.lost_after", settings.lost_after),
        "round",
        settings.round,
    )?;
    Ok(settings)
}

fn token_ring(values: &Effective) -> Result<token_ring::Settings, ConfigError> {
    let time = |path| values.required(path, kind::time);
    let settings = token_ring::Settings {
        t: time("token_ring.t")?,
        grace: time("token_ring.grace")?,
        hold: time("token_ring.hold")?,
        k: values.required("token_ring.k", kind::whole)?,
        search_wait: time("token_ring.search_wait")?,
        search_tries: values.required("token_ring.search_tries", kind::whole)?,
        acknowledgement_wait: time("token_ring.acknowledgement_wait")?,
        claim_wait: time("token_ring.claim_wait")?,
        claim_wait_per_rank: time("token_ring.claim_wait_per_rank")?,
        mesh_detection: mesh_detection(values)?,
    };
    longer(
        values,
        ("token_ring.t", settings.t),
        "acknowledgement_wait",
        settings.acknowledgement_wait,
    )?;
    longer(
        values,
        ("token_ring.hold", settings.hold),
        "search_wait",
        settings.search_wait,
    )?;
    Ok(settings)
}

/// Where packets go, under a protocol that has a port of its own.
pub(super) fn packets(
    values: &Effective,
    broadcast: SocketAddrV4,
    election: &ElectionSettings,
) -> Result<Option<PacketSettings>, ConfigError> {
    let settings = PacketSettings {
        port: values.required("ballot.port", kind::port)?,
        group: values.optional("ballot.multicast", kind::multicast)?,
        interface: values.optional("ballot.interface", kind::interface)?,
    };
    match election.protocol() {
        Protocol::Ballot if settings.port == broadcast.port() => {
            let relation = format!("another port than that of broadcast = {broadcast}");
            Err(values.relation("ballot.port", relation))
        }
        Protocol::Ballot => Ok(Some(settings)),
        Protocol::LowestIp | Protocol::Bully | Protocol::Senior | Protocol::TokenRing => Ok(None),
    }
}
