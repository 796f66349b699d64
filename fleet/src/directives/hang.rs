//! Why cars hung: `hang/CAR`, with the evidence, or `off`.
//!
//! No operator commands it: the node of the car sets it before it ends, so that every other node can
//! show the evidence, also after a restart. Once it runs again it sets `off`.

use std::time::Duration;

use elevator_driver::{Direction, Floor};

use super::{Directives, Key, OFF, Value, of_kind};
use crate::model::{HangCause, HangEvidence, NodeId};

/// The beginning of these keys.
const HANG: &str = "hang/";

/// In place of a floor that is not known.
const NONE: &str = "-";
const NO_PROGRESS: &str = "no-progress";
const OFF_TARGET: &str = "off-target";
const NOT_STOPPED: &str = "not-stopped";

/// The key of the directive about this car.
pub(crate) fn hang_key(car: &NodeId) -> Key {
    let text = format!("{HANG}{car}");
    Key::new(&text).unwrap_or_else(|error| unreachable!("a name is short: {error}"))
}

/// Whether a directive of this key is one about a hang.
pub(super) fn is_hang_key(key: &Key) -> bool {
    key.as_str().starts_with(HANG)
}

/// The value of such a directive, such as `up 3 2 10012 9980 no-progress`: the direction, the floors of
/// the stop and of the last sensor, the driven and the allowed time in milliseconds, and the cause.
pub(crate) fn hang_value(evidence: &HangEvidence) -> String {
    let floor = |floor: Option<Floor>| {
        floor.map_or_else(|| NONE.to_owned(), |floor| floor.index().to_string())
    };
    let ms = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let cause = match evidence.cause {
        HangCause::NoProgress => NO_PROGRESS.to_owned(),
        HangCause::OffTarget(flights) => format!("{OFF_TARGET} {flights}"),
        HangCause::NotStopped => NOT_STOPPED.to_owned(),
    };
    format!(
        "{} {} {} {} {} {cause}",
        evidence.direction,
        floor(evidence.floor),
        floor(evidence.last_sensor),
        ms(evidence.actual),
        ms(evidence.expected)
    )
}

/// The evidence in such a value; `None` if it is not understood.
fn evidence_of(value: &Value) -> Option<HangEvidence> {
    let words: Vec<&str> = value.as_str().split(' ').collect();
    let [direction, floor, last_sensor, actual, expected, ref cause @ ..] = words[..] else {
        return None;
    };
    let floor_of = |text: &str| match text {
        NONE => Some(None),
        text => Floor::try_from(text.parse::<u8>().ok()?).ok().map(Some),
    };
    let time = |text: &str| text.parse::<u32>().ok().map(|ms| Duration::from_millis(ms.into()));
    Some(HangEvidence {
        cause: match *cause {
            [NO_PROGRESS] => HangCause::NoProgress,
            [OFF_TARGET, flights] => HangCause::OffTarget(flights.parse().ok()?),
            [NOT_STOPPED] => HangCause::NotStopped,
            _ => return None,
        },
        floor: floor_of(floor)?,
        direction: Direction::BOTH.into_iter().find(|it| it.to_string() == direction)?,
        expected: time(expected)?,
        actual: time(actual)?,
        last_sensor: floor_of(last_sensor)?,
    })
}

/// The car that hung, if that is what a directive says, and why, if that is understood.
#[must_use]
pub fn hang_of(key: &Key, value: &Value) -> Option<(NodeId, Option<HangEvidence>)> {
    let car = NodeId::new(key.as_str().strip_prefix(HANG)?).ok()?;
    (value.as_str() != OFF).then(|| (car, evidence_of(value)))
}

impl Directives {
    /// Whether this car hung, as its node has said. Only `off` ends that.
    pub(crate) fn is_hung(&self, car: &NodeId) -> bool {
        self.get(&hang_key(car)).is_some_and(|it| it.value.as_str() != OFF)
    }

    /// The cars that hung, as their nodes have said, with the evidence if it is understood.
    pub fn hangs(&self) -> impl Iterator<Item = (NodeId, Option<HangEvidence>)> {
        of_kind(&self.registers, HANG)
            .filter_map(|directive| hang_of(&directive.key, &directive.value))
    }
}
