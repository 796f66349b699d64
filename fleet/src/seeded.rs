//! Deliberate defects, with which tests prove that the oracles of the lab catch such defects.
//!
//! Without the feature `seeded-bugs`, no defect can be seeded and no code of them remains. With it,
//! [`with_bug`] seeds one for as long as a function runs, on its thread only:
//! `cargo test -p liftmesh-lab --features seeded-bugs --test seeded_bugs`.

macro_rules! seeded_bugs {
    ($($(#[$doc:meta])+ $bug:ident,)+) => {
        /// A deliberate defect.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum SeededBug {
            $($(#[$doc])+ $bug,)+
        }

        impl SeededBug {
            /// Every defect.
            pub const ALL: &[Self] = &[$(Self::$bug,)+];
        }
    };
}

seeded_bugs! {
    /// A lamp is lit when two nodes hold the order, on disk or not (F13).
    LampBeforeDisk,
    /// A service closes a later press of its register, which it had not seen (O3).
    ServiceClosesLaterPress,
    /// Serving a call closes every call at that floor (F18).
    ServiceClosesWholeLanding,
    /// The orders on the disk are known after a restart, but not promised (P3).
    LampsNotRestored,
    /// A panel shows only the hall calls that were pressed at it (P4).
    HallLampsNotReplicated,
    /// A new master keeps the term that it has (E3).
    TermNotRaised,
}

/// Whether this thread runs with this defect.
#[cfg(not(feature = "seeded-bugs"))]
#[inline]
pub(crate) const fn is_seeded(_: SeededBug) -> bool {
    false
}

#[cfg(feature = "seeded-bugs")]
pub use self::seeding::with_bug;

#[cfg(feature = "seeded-bugs")]
pub(crate) use self::seeding::is_seeded;

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
    pub(crate) fn is_seeded(bug: SeededBug) -> bool {
        SEEDED.get() == Some(bug)
    }

    /// Runs a function with this defect, and none with [`None`]. Other threads are unaffected.
    pub fn with_bug<T>(bug: Option<SeededBug>, run: impl FnOnce() -> T) -> T {
        SEEDED.set(bug);
        let _ends = Ends;
        run()
    }
}
