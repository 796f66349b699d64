//! Which nodes a fault names.

use super::Fault;

impl Fault {
    /// The groups of nodes that it names: it makes sense without one of their nodes too.
    pub(crate) fn groups_mut(&mut self) -> Vec<&mut Vec<usize>> {
        match self {
            Self::Partition(groups) => groups.iter_mut().collect(),
            Self::OneWayPartition { from, to } => vec![from, to],
            Self::Ring(nodes) => vec![nodes],
            Self::Bridge { left, right, .. } => vec![left, right],
            _ => Vec::new(),
        }
    }

    /// The nodes that it names. A network or a fleet as a whole is no node.
    pub(crate) fn nodes_mut(&mut self) -> Vec<&mut usize> {
        match self {
            Self::Kill(node)
            | Self::PowerCut(node)
            | Self::Crash { node, .. }
            | Self::NoCrash(node)
            | Self::Restart(node)
            | Self::Replace(node)
            | Self::Suspend(node)
            | Self::Resume(node)
            | Self::Pause { node, .. }
            | Self::ClockRate { node, .. }
            | Self::WallClock { node, .. }
            | Self::NetworkCut(node, _)
            | Self::RecreateInterface { node, .. }
            | Self::NewAddress { node, .. }
            | Self::DiskFail(node)
            | Self::DiskFull(node, _)
            | Self::SlowDisk { node, .. }
            | Self::TearWrite(node)
            | Self::Leads(node, _)
            | Self::Motor(node, _)
            | Self::Levelling(node, _)
            | Self::Speed(node, _)
            | Self::DeadSensor(node, _)
            | Self::WrongSensor(node, _)
            | Self::AllSensorsDead(node, _)
            | Self::DoorJammed(node, _)
            | Self::Obstruct(node, _)
            | Self::StopSwitch(node, _)
            | Self::Load(node, _)
            | Self::Key(node, _)
            | Self::LineCut(node, _)
            | Self::LineNoise { node, .. }
            | Self::SilentClimate(node, _)
            | Self::Crowd(node)
            | Self::Replay { to: node, .. }
            | Self::FireRecall { at: node, .. }
            | Self::FloorLock { at: node, .. }
            | Self::ClearHang(node) => vec![node],
            Self::Mode { at, car, .. } => vec![at, car],
            Self::Priority { at, car, .. }
            | Self::Session { at, car, .. }
            | Self::EmergencyPower { at, serving: car, .. } => car.iter_mut().chain([at]).collect(),
            Self::CutOneWay { from, to }
            | Self::UncutOneWay { from, to }
            | Self::DamageFrame { from, to }
            | Self::OtherVersion { from, to }
            | Self::Forge { of: from, to, .. } => vec![from, to],
            Self::Cut(one, other)
            | Self::Uncut(one, other)
            | Self::RefuseLinks(one, other)
            | Self::Clog { one, other, .. } => vec![one, other],
            Self::SharedAddress { node, with } => with.iter_mut().chain([node]).collect(),
            Self::Partition(groups) => groups.iter_mut().flatten().collect(),
            Self::Ring(nodes) => nodes.iter_mut().collect(),
            Self::OneWayPartition { from, to } => from.iter_mut().chain(to).collect(),
            Self::Bridge { left, right, through } => {
                left.iter_mut().chain(right).chain([through]).collect()
            }
            Self::MainsCut
            | Self::Heal
            | Self::Loss(_)
            | Self::LossBursts { .. }
            | Self::Duplication(_)
            | Self::Reordering(_)
            | Self::Corruption(_)
            | Self::Delay { .. }
            | Self::CalmNetwork => Vec::new(),
        }
    }
}
