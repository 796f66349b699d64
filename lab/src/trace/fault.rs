//! What a fault looks like in a drawing: a band from where it begins to where it ends.

use std::mem::discriminant;

use super::Trace;
use crate::Fault;

/// Why the process of a node ends, if it does so at this fault.
pub(super) fn ends_process(fault: &Fault) -> Option<(usize, &'static str)> {
    match fault {
        Fault::Kill(node) => Some((*node, "killed")),
        Fault::PowerCut(node) => Some((*node, "power cut")),
        Fault::TearWrite(node) => Some((*node, "torn write")),
        _ => None,
    }
}

/// The band that begins: its node, or `None` if it is the network, and its text.
pub(super) fn band(fault: &Fault, trace: &Trace) -> Option<(Option<usize>, String)> {
    let name = |node: &usize| trace.name(*node);
    let names = |group: &Vec<usize>| group.iter().map(name).collect::<Vec<_>>().join(" ");
    let text = match fault {
        repair if repair.kind() == Fault::REPAIR => return None,
        Fault::CutOneWay { from, to } => {
            return Some((Some(*from), format!("{} → {} cut", name(from), name(to))));
        }
        Fault::Suspend(node) => return Some((Some(*node), "suspended".to_owned())),
        Fault::Cut(one, other) => format!("{} – {} cut", name(one), name(other)),
        Fault::RefuseLinks(one, other) => format!("no link {} – {}", name(one), name(other)),
        Fault::Partition(groups) => {
            let groups: Vec<String> = groups.iter().map(names).collect();
            format!("partition {}", groups.join(" | "))
        }
        Fault::OneWayPartition { from, to } => {
            format!("nothing from {} to {}", names(from), names(to))
        }
        Fault::Ring(nodes) => format!("ring {}", names(nodes)),
        Fault::Bridge { left, right, through } => {
            format!("{} – {} – {}", names(left), name(through), names(right))
        }
        Fault::Loss(percent) => format!("loss {percent} %"),
        Fault::LossBursts { percent, .. } => format!("loss {percent} % in bursts"),
        _ if is_everywhere(fault) => fault.kind().to_owned(),
        _ => return Some((Some(lasts_at(fault)?), fault.kind().to_owned())),
    };
    Some((None, text))
}

/// Whether a fault ends what an earlier one began, or takes its place.
pub(super) fn ends(fault: &Fault, earlier: &Fault) -> bool {
    match fault {
        Fault::Heal => parts(earlier) || cuts(earlier),
        parting if parts(parting) => parts(earlier) || cuts(earlier),
        Fault::CalmNetwork => is_weather(earlier) || loses(earlier),
        loss if loses(loss) => loses(earlier),
        Fault::Resume(node) => *earlier == Fault::Suspend(*node),
        Fault::Replace(node) => *earlier == Fault::DiskFail(*node),
        Fault::UncutOneWay { from, to } => *earlier == Fault::CutOneWay { from: *from, to: *to },
        Fault::Uncut(one, other) => {
            [Fault::Cut(*one, *other), Fault::Cut(*other, *one)].contains(earlier)
        }
        _ => {
            let (node, of_earlier) = (lasts_at(fault), lasts_at(earlier));
            let is_same = is_everywhere(fault) || node.is_some() && node == of_earlier;
            fault == earlier || is_same && discriminant(fault) == discriminant(earlier)
        }
    }
}

fn parts(fault: &Fault) -> bool {
    use Fault::{Bridge, OneWayPartition, Partition, Ring};
    matches!(fault, Partition(_) | OneWayPartition { .. } | Ring(_) | Bridge { .. })
}

fn cuts(fault: &Fault) -> bool {
    use Fault::{Cut, CutOneWay, NetworkCut, RefuseLinks};
    matches!(fault, Cut(..) | CutOneWay { .. } | RefuseLinks(..) | NetworkCut(..))
}

fn loses(fault: &Fault) -> bool {
    matches!(fault, Fault::Loss(_) | Fault::LossBursts { .. })
}

fn is_weather(fault: &Fault) -> bool {
    matches!(fault, Fault::Duplication(_) | Fault::Reordering(_) | Fault::Corruption(_))
}

fn is_everywhere(fault: &Fault) -> bool {
    is_weather(fault) || matches!(fault, Fault::EmergencyPower { .. } | Fault::FireRecall { .. })
}

/// The node that has this fault until its repair. A moment, or a time that ends by itself, shows in
/// what follows.
fn lasts_at(fault: &Fault) -> Option<usize> {
    match fault {
        Fault::NetworkCut(node, _)
        | Fault::DiskFail(node)
        | Fault::DiskFull(node, _)
        | Fault::SlowDisk { node, .. }
        | Fault::ClockRate { node, .. }
        | Fault::WallClock { node, .. }
        | Fault::SharedAddress { node, .. }
        | Fault::SilentClimate(node, _)
        | Fault::Leads(node, _)
        | Fault::Motor(node, _)
        | Fault::Levelling(node, _)
        | Fault::Speed(node, _)
        | Fault::DeadSensor(node, _)
        | Fault::WrongSensor(node, _)
        | Fault::AllSensorsDead(node, _)
        | Fault::DoorJammed(node, _)
        | Fault::Obstruct(node, _)
        | Fault::StopSwitch(node, _)
        | Fault::Load(node, _)
        | Fault::Key(node, _)
        | Fault::LineCut(node, _)
        | Fault::Mode { car: node, .. }
        | Fault::FloorLock { at: node, .. } => Some(*node),
        _ => None,
    }
}
