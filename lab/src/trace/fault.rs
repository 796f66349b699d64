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

/// The band that begins: its node, or `None` if it is the network or the fleet, and its text.
pub(super) fn band(fault: &Fault, trace: &Trace) -> Option<(Option<usize>, String)> {
    if fault.kind() == Fault::REPAIR || passes(fault) {
        return None;
    }
    let names =
        |nodes: &[usize]| nodes.iter().map(|node| trace.name(*node)).collect::<Vec<_>>().join(" ");
    let nodes = nodes(fault);
    let (node, of) = match (fault, nodes.as_slice()) {
        (Fault::Loss(percent) | Fault::LossBursts { percent, .. }, _) => {
            (None, format!("{percent} %"))
        }
        (fault, _) if parts(fault) => {
            let mut fault = fault.clone();
            let groups = fault.groups_mut().into_iter().map(|group| names(group));
            (None, groups.collect::<Vec<_>>().join(" | "))
        }
        (_, [node]) => (Some(*node), String::new()),
        (_, nodes) => (None, names(nodes)),
    };
    Some((node, format!("{} {of}", fault.kind()).trim_end().to_owned()))
}

/// Whether a fault ends what an earlier one began, or takes its place.
pub(super) fn ends(fault: &Fault, earlier: &Fault) -> bool {
    match fault {
        Fault::Heal => parts(earlier) || cuts(earlier),
        Fault::CalmNetwork => is_weather(earlier) || loses(earlier),
        Fault::Resume(node) => *earlier == Fault::Suspend(*node),
        Fault::Replace(node) => *earlier == Fault::DiskFail(*node),
        Fault::UncutOneWay { from, to } => *earlier == Fault::CutOneWay { from: *from, to: *to },
        Fault::Uncut(one, other) => {
            [Fault::Cut(*one, *other), Fault::Cut(*other, *one)].contains(earlier)
        }
        parting if parts(parting) => parts(earlier),
        loss if loses(loss) => loses(earlier),
        _ => discriminant(fault) == discriminant(earlier) && nodes(fault) == nodes(earlier),
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
    use Fault::{Corruption, Delay, Duplication, Reordering};
    matches!(fault, Duplication(_) | Reordering(_) | Corruption(_) | Delay { .. })
}

/// A moment, or a time that ends by itself, shows in what follows.
fn passes(fault: &Fault) -> bool {
    use Fault::{
        Clog, Crash, Crowd, DamageFrame, Forge, Kill, LineNoise, MainsCut, NewAddress,
        OtherVersion, Pause, PowerCut, Priority, RecreateInterface, Replace, Replay, Session,
        TearWrite,
    };
    matches!(fault, Kill(_) | PowerCut(_) | MainsCut | Crash { .. } | Replace(_) | Pause { .. })
        || matches!(fault, RecreateInterface { .. } | NewAddress { .. } | Clog { .. })
        || matches!(fault, DamageFrame { .. } | Replay { .. } | Forge { .. } | OtherVersion { .. })
        || matches!(fault, TearWrite(_) | LineNoise { .. } | Crowd(_))
        || matches!(fault, Priority { .. } | Session { .. })
}

/// The nodes that have it; none if it is everywhere.
fn nodes(fault: &Fault) -> Vec<usize> {
    match fault {
        Fault::Mode { car: node, .. } | Fault::SharedAddress { node, .. } => vec![*node],
        Fault::EmergencyPower { .. } | Fault::FireRecall { .. } => Vec::new(),
        _ => fault.clone().nodes_mut().into_iter().map(|node| *node).collect(),
    }
}
