//! The parts of the planner that it can do without, to measure what each of them buys.

use crate::model::named;

named! {
    "a part of the planner"
    /// Text that does not name a part of the planner.
    pub struct UnknownPart;

    /// A part of the [`Planner`](super::Planner) that can be left out.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Part {
        /// Idle cars wait where the next call is answered soonest. Without it, they stay.
        Parking = "parking",
        /// An empty car at rest begins in the better direction. Without it, towards its nearest
        /// call.
        Turns = "turns",
        /// Squared waits count beside plain ones. Without it, only as far as passengers are
        /// expected behind the button.
        SquaredWait = "squared-wait",
        /// Seconds in the car count.
        Riding = "riding",
        /// Seconds until a car is free count.
        TimeToFree = "time-to-free",
        /// Passengers who find no room count.
        Room = "room",
        /// Passengers arrive behind a button after the first. Without it, a call is one passenger.
        Crowds = "crowds",
        /// Passengers get off at any floor ahead. Without it, all ride to the last one.
        Destinations = "destinations",
        /// Rates and destinations are those of the traffic seen. Without it, any are equally
        /// likely.
        Learning = "learning",
        /// Calls move to other cars, from the second plan on too. Without it, a call stays where it
        /// is inserted.
        Improvement = "improvement",
        /// A few calls are distributed at the least cost of all. Without it, they are improved as
        /// many are.
        Exact = "exact",
        /// Two calls are exchanged where no move gains anything.
        Exchanges = "exchanges",
        /// Another car has to gain what a second of waiting costs.
        Inertia = "inertia",
        /// A call that has moved stays for a while.
        Hold = "hold",
    }
}
