//! Deliberate defects, with which tests prove that the oracles of the lab catch such defects.
//!
//! Without the feature `seeded-bugs`, no defect can be seeded and no code of them remains. With it,
//! `with_bug` seeds one for as long as a function runs, on its thread only:
//! `cargo test -p liftmesh-lab --features seeded-bugs --test seeded_bugs`.

macro_rules! seeded_bugs {
    ($($(#[$doc:meta])+ $bug:ident,)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum SeededBug {
            $($(#[$doc])+ $bug,)+
        }

        impl SeededBug {
            pub const ALL: &[Self] = &[$(Self::$bug,)+];
        }
    };
}

seeded_bugs! {
    /// A lamp is lit when two nodes hold the order, on disk or not (F13, P1).
    LampBeforeDisk,
    /// A lamp is lit when one node holds the order, though others are heard (F12, P1).
    LampWithOneHolder,
    /// An order is acknowledged as on disk before it is (P1).
    AckBeforeDisk,
    /// The loss of the last other holder ends a promise (P1).
    PromiseEndsWithHolder,
    /// A repeated press does not inherit the promise of the earlier one (P1).
    PromiseLostWithRepeat,
    /// No order is ever promised (F12).
    NothingPromised,
    /// The orders on the disk are known after a restart, but not promised (P3).
    LampsNotRestored,
    /// A panel shows only the hall calls that were pressed at it (P4).
    HallLampsNotReplicated,
    /// A press for a locked floor becomes an order (F4).
    LockedFloorAccepted,
    /// A call that was served once is not placed again (F4).
    PressLostAfterService,
    /// A service closes a later press of its register, which it had not seen (O3).
    ServiceClosesLaterPress,
    /// Serving a call closes every call at that floor (F18).
    ServiceClosesWholeLanding,
    /// A state that a peer transfers takes the place of the store, and is not merged (P1, O1).
    StateReplacesStore,
    /// A state transfer leaves out the orders that were placed at other nodes (O5).
    TransferOmitsOthers,
    /// A link counts as synced without a state transfer (E4, F14).
    JoinWithoutTransfer,
    /// The digest does not tell whether orders were served (O7).
    DigestOmitsServices,
    /// All presses of a process have one sequence (O4).
    SequencesReused,
    /// The direction of a hall call is lost between writing and reading it (F5).
    DirectionLostOnWire,
    /// A new master keeps the term that it has (E3).
    TermNotRaised,
    /// A restarted node does not know the term on its disk (E3).
    TermForgotten,
    /// The plan of any node is accepted (E3).
    PlanOfAnybody,
    /// The plan of a former master is accepted beside that of the present one (E3).
    PlanOfFormerMaster,
    /// A slave takes every call for assigned to its own car (E3).
    AllAssignedHere,
    /// The assignments of an earlier term stay, and pass for newer ones (E3).
    OldPlanKept,
    /// A slave whose master is lost stays its slave (E1, E2).
    SlaveKeepsLostMaster,
    /// A node yields to a master before orders have been exchanged (E4).
    YieldsBeforeHandOver,
    /// `lowest-ip`: a master follows no other (E1).
    MasterNeverYields,
    /// `lowest-ip`: addresses are compared as text (E7).
    AddressesComparedAsText,
    /// `bully`: the least fit wins (E1, E7).
    LeastFitWins,
    /// `senior`: of two masters that hear each other none follows the other (E1).
    SeniorNeverYields,
    /// `ballot`: every vote wins (E1, E7).
    EveryVoteWins,
    /// `ballot`: two stand-ins that lead go on, without a vote between them (E1).
    StandInsNeverVote,
    /// `token-ring`: a holder that hears another one goes on (E1).
    HoldersNeverMeet,
    /// A peer counts as lost after a quarter of its limit (E6).
    PeersLostEarly,
    /// A peer that restarts counts as a second node of its name (C7).
    RestartIsConflict,
    /// An order at the top floor counts as impossible, and what brings it as garbage (C7).
    TopFloorImpossible,
    /// A datagram is believed whose tag nobody has made or checked (F5).
    TagNotChecked,
    /// A beacon that is sent again proves as much as at the first time (E1, E6).
    ReplayAccepted,
    /// What a disk that has failed should have written counts as written (P5).
    FailedDiskTrusted,
    /// A lamp stays lit when its call was served (P2).
    LampsStayLit,
    /// A hall call stays assigned to a car that is lost (H4).
    LostCarKeepsCalls,
    /// The master assigns no hall call downwards (E8).
    DownCallsUnassigned,
    /// The door is opened at the sensor of the stop, before the car has stopped (S1).
    DoorOpensBeforeStop,
    /// The motor is started while the door is open (S1).
    RunsWithOpenDoor,
    /// The stop switch does not stop the motor (S1).
    StopSwitchIgnored,
    /// A car turns to the nearest stop, wherever its riders want to go (S3).
    TurnsToNearestStop,
    /// A car that passes a floor serves the calls there (F18).
    ServesInPassing,
    /// An open door serves hall calls in both directions (F18).
    ServesBothDirections,
    /// A trip is served when its passenger enters the car, before the ride is promised (F12).
    TripEndsBeforeRide,
    /// A passenger with a destination counts as on board once a car is on its way (F18).
    TripBoardsUnseen,
    /// A car on a priority call serves hall calls (F18).
    PriorityServesHalls,
    /// A fire recall goes on dropping orders when it is over (O1).
    RecallNeverEnds,
    /// A setting goes over the links that stand when it is given, and to nobody who comes later
    /// (O7).
    SettingsSentOnce,
    /// On emergency power every car has its turn at once (S1).
    EveryCarHasItsTurn,
    /// The time is over for which a robot may hold a door, and its session goes on (F19).
    SessionNeverEnds,
    /// A stuck motor is driven for ten times its limit (H5).
    HangDetectedLate,
    /// A sound motor counts as stuck after a tenth of its limit (H1).
    HangDetectedEarly,
    /// A hang is reported before the motor is stopped (H6).
    HangReportedBeforeStop,
    /// A car that hung starts again with the next start of its node, as if it had no latch (H3).
    /// The latch is the process's, so the lab's machines have this defect.
    LatchNotPersisted,
    /// An average is over readings of any age (K2).
    StaleReadingsCount,
}

/// Whether this thread runs with this defect.
#[cfg(not(feature = "seeded-bugs"))]
#[inline]
#[must_use]
pub const fn is_seeded(_: SeededBug) -> bool {
    false
}

#[cfg(feature = "seeded-bugs")]
pub use self::seeding::{is_seeded, with_bug};

#[cfg(feature = "seeded-bugs")]
mod seeding {
    use std::cell::Cell;

    use super::SeededBug;

    thread_local! {
        static SEEDED: Cell<Option<SeededBug>> = const { Cell::new(None) };
    }

    /// Ends the defect, also when a panic unwinds.
    struct Ends;

    impl Drop for Ends {
        fn drop(&mut self) {
            SEEDED.set(None);
        }
    }

    /// Whether this thread runs with this defect.
    #[must_use]
    pub fn is_seeded(bug: SeededBug) -> bool {
        SEEDED.get() == Some(bug)
    }

    /// Runs a function with this defect, and none with [`None`]. Other threads are unaffected.
    pub fn with_bug<T>(bug: Option<SeededBug>, run: impl FnOnce() -> T) -> T {
        SEEDED.set(bug);
        let _ends = Ends;
        run()
    }
}
