//! One simulated elevator.
