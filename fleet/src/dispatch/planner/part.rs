//! The parts of the planner that it can do without, to measure what each of them buys.

use std::fmt;
use std::str::FromStr;

/// A part of the [`Planner`](super::Planner) that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Idle cars wait where the next call is answered soonest. Without it, they stay.
    Parking,
    /// An empty car at rest begins in the better direction. Without it, towards its nearest call.
    Turns,
    /// Squared waits count beside plain ones. Without it, only as far as passengers are expected
    /// behind the button.
    SquaredWait,
    /// Seconds in the car count.
    Riding,
    /// Seconds until a car is free count.
    TimeToFree,
    /// Passengers who find no room count.
    Room,
    /// Passengers arrive behind a button after the first. Without it, a call is one passenger.
    Crowds,
    /// Passengers get off at any floor ahead. Without it, all ride to the last one.
    Destinations,
    /// Rates and destinations are those of the traffic seen. Without it, any are equally likely.
    Learning,
    /// Calls move to other cars, from the second plan on too. Without it, a call stays where it is
    /// inserted.
    Improvement,
    /// A few calls are distributed at the least cost of all. Without it, they are improved as many
    /// are.
    Exact,
    /// Two calls are exchanged where no move gains anything.
    Exchanges,
    /// Another car has to gain what a second of waiting costs.
    Inertia,
    /// A call that has moved stays for a while.
    Hold,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Parking,
        Self::Turns,
        Self::SquaredWait,
        Self::Riding,
        Self::TimeToFree,
        Self::Room,
        Self::Crowds,
        Self::Destinations,
        Self::Learning,
        Self::Improvement,
        Self::Exact,
        Self::Exchanges,
        Self::Inertia,
        Self::Hold,
    ];
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Parking => "parking",
            Self::Turns => "turns",
            Self::SquaredWait => "squared-wait",
            Self::Riding => "riding",
            Self::TimeToFree => "time-to-free",
            Self::Room => "room",
            Self::Crowds => "crowds",
            Self::Destinations => "destinations",
            Self::Learning => "learning",
            Self::Improvement => "improvement",
            Self::Exact => "exact",
            Self::Exchanges => "exchanges",
            Self::Inertia => "inertia",
            Self::Hold => "hold",
        })
    }
}

/// Text that does not name a part of the planner.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a part of the planner; there are {names}", names = Part::ALL.map(|known| known.to_string()).join(", "))]
pub struct UnknownPart(String);

impl FromStr for Part {
    type Err = UnknownPart;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|known| known.to_string() == text)
            .ok_or_else(|| UnknownPart(text.to_owned()))
    }
}

/// Which parts a planner lacks: none, unless it is an experiment.
#[derive(Debug, Clone, Default)]
pub(super) struct Parts {
    missing: Vec<Part>,
}

impl Parts {
    pub(super) fn remove(&mut self, part: Part) {
        self.missing.push(part);
    }

    pub(super) fn has(&self, part: Part) -> bool {
        !self.missing.contains(&part)
    }
}
