//! The pure brain of an elevator fleet.
