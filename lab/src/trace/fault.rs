//! What a fault looks like in a drawing: a band that begins or ends.

use elevator_driver::KeySwitch;
use elevator_fleet::model::Mode;

use super::TracedNode;
use crate::Fault;

/// What a fault does to the bands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// If the node's process ends now, this is why.
    EndsProcess(usize, &'static str),
    /// A band of this key begins, with this text.
    Begins((Option<usize>, &'static str), String),
    /// Likewise, and all other faults of the network end.
    Replaces((Option<usize>, &'static str), String),
    /// The band of this key ends.
    Ends((Option<usize>, &'static str)),
    /// All faults of the network end, except for the weather.
    EndsNetworkFaults,
    /// The network treats packets as at the beginning: what changed that ends.
    EndsWeather,
    /// It shows in something else.
    None,
}

/// The keys of network faults that healing ends.
const CUT: &str = "cut";
const ONE_WAY: &str = "one-way cut";
const REFUSED: &str = "links refused";
const PARTITION: &str = "partition";
const NETWORK: &str = "network cut";

/// Whether [`Fault::Heal`] ends this.
pub(super) fn is_healed((_, key): (Option<usize>, &'static str)) -> bool {
    [CUT, ONE_WAY, REFUSED, PARTITION, NETWORK].contains(&key)
}

/// Whether [`Fault::CalmNetwork`] ends this.
pub(super) fn is_weather((_, key): (Option<usize>, &'static str)) -> bool {
    ["loss", "duplication", "reordering", "corruption"].contains(&key)
}

/// What a fault does to the bands.
pub(super) fn effect(fault: &Fault, nodes: &[TracedNode]) -> Effect {
    let name = |node: usize| nodes.get(node).map_or("?", |node| node.name.as_str());
    let pair = |one: usize, by: &str, other: usize| format!("{}{by}{}", name(one), name(other));
    let names =
        |group: &Vec<usize>| group.iter().map(|node| name(*node)).collect::<Vec<_>>().join(" ");
    match fault {
        Fault::Kill(node) => Effect::EndsProcess(*node, "killed"),
        Fault::PowerCut(node) => Effect::EndsProcess(*node, "power cut"),
        Fault::Suspend(node) => begins(*node, "suspended"),
        Fault::Resume(node) => ends(*node, "suspended"),
        Fault::CutOneWay { from, to } => {
            Effect::Begins((Some(*from), ONE_WAY), format!("{} cut", pair(*from, " → ", *to)))
        }
        Fault::Cut(one, other) => {
            Effect::Begins((None, CUT), format!("{} cut", pair(*one, " – ", *other)))
        }
        Fault::UncutOneWay { from, .. } => ends(*from, ONE_WAY),
        Fault::Uncut(..) => Effect::Ends((None, CUT)),
        Fault::RefuseLinks(one, other) => {
            Effect::Begins((None, REFUSED), format!("no link {}", pair(*one, " – ", *other)))
        }
        Fault::Partition(groups) => {
            let groups: Vec<String> = groups.iter().map(names).collect();
            Effect::Replaces((None, PARTITION), format!("partition {}", groups.join(" | ")))
        }
        Fault::NetworkCut(node, true) => begins(*node, NETWORK),
        Fault::NetworkCut(node, false) => ends(*node, NETWORK),
        Fault::OneWayPartition { from, to } => {
            let text = format!("nothing from {} to {}", names(from), names(to));
            Effect::Replaces((None, PARTITION), text)
        }
        Fault::Ring(nodes) => Effect::Replaces((None, PARTITION), format!("ring {}", names(nodes))),
        Fault::Bridge { left, right, through } => {
            let text = format!("{} – {} – {}", names(left), name(*through), names(right));
            Effect::Replaces((None, PARTITION), text)
        }
        Fault::Heal => Effect::EndsNetworkFaults,
        Fault::LossBursts { percent, .. } => {
            Effect::Begins((None, "loss"), format!("loss {percent} % in bursts"))
        }
        Fault::Duplication(percent) => network(*percent > 0, "duplication"),
        Fault::Reordering(percent) => network(*percent > 0, "reordering"),
        Fault::Corruption(percent) => network(*percent > 0, "corruption"),
        Fault::CalmNetwork => Effect::EndsWeather,
        Fault::Loss(0) => Effect::Ends((None, "loss")),
        Fault::Loss(percent) => Effect::Begins((None, "loss"), format!("loss {percent} %")),
        Fault::DiskFail(node) => begins(*node, "disk failed"),
        Fault::Replace(node) => ends(*node, "disk failed"),
        Fault::ClockRate { node, rate } => lasts(*node, "wrong clock", *rate != 1_000),
        Fault::WallClock { node, years } => lasts(*node, "wrong wall clock", *years != 0),
        Fault::DiskFull(node, full) => lasts(*node, "disk full", *full),
        Fault::SlowDisk { node, millis } => lasts(*node, "slow disk", *millis > 0),
        Fault::SharedAddress { node, with } => lasts(*node, "shared address", with.is_some()),
        Fault::SilentClimate(node, silent) => lasts(*node, "no climate", *silent),
        Fault::TearWrite(node) => Effect::EndsProcess(*node, "torn write"),
        // A moment, or a time that ends by itself: it shows in what follows.
        Fault::Restart(_)
        | Fault::ClearHang(_)
        | Fault::MainsCut
        | Fault::Crash { .. }
        | Fault::NoCrash(_)
        | Fault::Pause { .. }
        | Fault::RecreateInterface { .. }
        | Fault::NewAddress { .. }
        | Fault::Clog { .. }
        | Fault::Delay { .. }
        | Fault::DamageFrame { .. }
        | Fault::Replay { .. }
        | Fault::Forge { .. }
        | Fault::OtherVersion { .. }
        | Fault::LineNoise { .. }
        | Fault::Crowd(_)
        | Fault::Priority { .. }
        | Fault::Session { .. } => Effect::None,
        Fault::Leads(node, bad) => lasts(*node, "bad master", bad.is_some()),
        Fault::Motor(node, broken) => lasts(*node, "motor broken", broken.is_some()),
        Fault::Levelling(node, broken) => lasts(*node, "levelling broken", broken.is_some()),
        Fault::Speed(node, percent) => lasts(*node, "wrong speed", *percent != 100),
        Fault::DeadSensor(node, dead) => lasts(*node, "dead sensor", dead.is_some()),
        Fault::WrongSensor(node, wrong) => lasts(*node, "wrong sensor", wrong.is_some()),
        Fault::AllSensorsDead(node, dead) => lasts(*node, "all sensors dead", *dead),
        Fault::DoorJammed(node, jammed) => lasts(*node, "door jammed", *jammed),
        Fault::Obstruct(node, active) => lasts(*node, "door obstructed", *active),
        Fault::StopSwitch(node, pulled) => lasts(*node, "stop switch", *pulled),
        Fault::Load(node, load) => lasts(*node, "load", *load != Some(0)),
        Fault::Key(node, key) => lasts(*node, "key switch", *key != KeySwitch::Normal),
        Fault::Mode { car, mode, .. } => lasts(*car, "service mode", *mode != Mode::InService),
        Fault::FloorLock { at, locked, .. } => lasts(*at, "locked floor", *locked),
        Fault::EmergencyPower { on: true, .. } => {
            Effect::Begins((None, "emergency power"), "emergency power".to_owned())
        }
        Fault::EmergencyPower { on: false, .. } => Effect::Ends((None, "emergency power")),
        Fault::FireRecall { start: true, .. } => {
            Effect::Begins((None, "fire recall"), "fire recall".to_owned())
        }
        Fault::FireRecall { start: false, .. } => Effect::Ends((None, "fire recall")),
        Fault::LineCut(node, cut) => lasts(*node, "panel line cut", *cut),
    }
}

fn network(is_so: bool, key: &'static str) -> Effect {
    let key = (None, key);
    if is_so { Effect::Begins(key, key.1.to_owned()) } else { Effect::Ends(key) }
}

fn begins(node: usize, key: &'static str) -> Effect {
    Effect::Begins((Some(node), key), key.to_owned())
}

fn ends(node: usize, key: &'static str) -> Effect {
    Effect::Ends((Some(node), key))
}

fn lasts(node: usize, key: &'static str, is_so: bool) -> Effect {
    if is_so { begins(node, key) } else { ends(node, key) }
}
