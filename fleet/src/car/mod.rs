//! One car.
