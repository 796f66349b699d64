//! What the tests of several modules build.

use crate::vocabulary::{Direction, Floor, FloorCount, MotorCommand, PanelOutputs};

pub(crate) fn floors(count: u8) -> FloorCount {
    FloorCount::new(count).unwrap()
}

pub(crate) fn floor(index: u8) -> Floor {
    Floor::try_from(index).unwrap()
}

#[cfg(feature = "protocol")]
pub(crate) fn boot(id: u32) -> crate::protocol::BootId {
    crate::protocol::BootId::new(id).unwrap()
}

pub(crate) fn run(direction: Direction, stop_at: u8) -> PanelOutputs {
    let motor = MotorCommand::Run { direction, stop_at: floor(stop_at) };
    PanelOutputs { motor, ..PanelOutputs::default() }
}
