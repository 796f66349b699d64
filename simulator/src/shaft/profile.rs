//! The jerk-limited run of a car: a few stretches of constant jerk, worked out once per target.
//!
//! Everything is measured along the direction of travel: distances grow from 0, speeds are not
//! negative. Between two targets a profile is followed exactly, so the size of a step changes
//! nothing of the result.

use crate::config::Kinematics;

/// Halvings when looking for the cruising speed: more than a double has bits.
const HALVINGS: u32 = 60;

/// The longest profile: a speed change of three stretches, a cruise, another speed change.
const STRETCHES: usize = 7;

/// Distance (m), speed (m/s) and acceleration (m/s²) along the direction of travel.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Motion {
    pub(super) distance: f64,
    pub(super) speed: f64,
    pub(super) acceleration: f64,
}

impl Motion {
    fn after(self, seconds: f64, jerk: f64) -> Self {
        let Self { distance, speed, acceleration } = self;
        let t = seconds;
        Self {
            distance: distance + t * (speed + t * (acceleration / 2.0 + t * jerk / 6.0)),
            speed: speed + t * (acceleration + t * jerk / 2.0),
            acceleration: acceleration + t * jerk,
        }
    }
}

/// A time of constant jerk.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Stretch {
    seconds: f64,
    jerk: f64,
}

/// A run from a motion to rest at an exact distance.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Profile {
    stretches: [Stretch; STRETCHES],
    current: usize,
    /// The motion at the start of the current stretch, and the time since then.
    from: Motion,
    elapsed: f64,
    length: f64,
}

impl Profile {
    /// A run of `length` metres that starts with `from` (whose distance is taken as 0), cruises at
    /// no more than `cruise` and ends at rest. `length` must be at least the
    /// [stopping distance](stopping_distance).
    pub(super) fn new(from: Motion, length: f64, cruise: f64, limits: &Kinematics) -> Self {
        let from = Motion { distance: 0.0, ..from };
        let (speed, hold) = cruising(from, length, cruise, limits);
        let mut stretches = [Stretch::default(); STRETCHES];
        stretches[..3].copy_from_slice(&speed_change(from, speed, limits));
        stretches[3].seconds = hold;
        let cruising = Motion { speed, ..Motion::default() };
        stretches[4..].copy_from_slice(&speed_change(cruising, 0.0, limits));
        Self { stretches, current: 0, from, elapsed: 0.0, length }
    }

    /// The motion at this moment; at rest, and exactly at the end, once it is over.
    pub(super) fn motion(&self) -> Motion {
        match self.stretches.get(self.current) {
            Some(stretch) => self.from.after(self.elapsed, stretch.jerk),
            None => Motion { distance: self.length, ..Motion::default() },
        }
    }

    /// Follows the profile for some seconds; true once the end is reached.
    pub(super) fn advance(&mut self, seconds: f64) -> bool {
        self.elapsed += seconds;
        while let Some(stretch) = self.stretches.get(self.current) {
            if self.elapsed < stretch.seconds {
                return false;
            }
            self.from = self.from.after(stretch.seconds, stretch.jerk);
            self.elapsed -= stretch.seconds;
            self.current += 1;
        }
        true
    }
}

/// The shortest distance in which a car in this motion comes to rest within the limits.
pub(super) fn stopping_distance(from: Motion, limits: &Kinematics) -> f64 {
    let from = Motion { distance: 0.0, ..from };
    end(from, &speed_change(from, 0.0, limits)).distance
}

/// The cruising speed, and for how long it is held, so that the run has exactly this length.
fn cruising(from: Motion, length: f64, cruise: f64, limits: &Kinematics) -> (f64, f64) {
    let without_hold = |speed: f64| {
        let change = end(from, &speed_change(from, speed, limits));
        let cruising = Motion { speed, acceleration: 0.0, ..change };
        end(cruising, &speed_change(cruising, 0.0, limits)).distance
    };
    let rest = length - without_hold(cruise);
    if rest >= 0.0 {
        return (cruise, rest / cruise);
    }
    // The distance grows with the cruising speed, so the speed can be closed in on.
    let (mut low, mut high) = (0.0, cruise);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if without_hold(middle) <= length {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low, 0.0)
}

/// The quickest change to `speed` with no acceleration left at the end.
fn speed_change(from: Motion, speed: f64, limits: &Kinematics) -> [Stretch; 3] {
    let (limit, jerk) = (limits.acceleration, limits.jerk);
    let levelled_out = from.speed + from.acceleration * from.acceleration.abs() / (2.0 * jerk);
    let sign = if speed < levelled_out { -1.0 } else { 1.0 };
    // Mirrored where the speed is to fall, so that only a rise has to be thought about.
    let rise = sign * (speed - from.speed);
    let start = sign * from.acceleration;
    let free_peak = (jerk * rise + start * start / 2.0).max(0.0).sqrt();
    let peak = free_peak.min(limit).max(start);
    let hold = if free_peak > peak {
        (rise - (2.0 * peak * peak - start * start) / (2.0 * jerk)) / peak
    } else {
        0.0
    };
    [
        Stretch { seconds: ((peak - start) / jerk).max(0.0), jerk: sign * jerk },
        Stretch { seconds: hold.max(0.0), jerk: 0.0 },
        Stretch { seconds: (peak / jerk).max(0.0), jerk: -sign * jerk },
    ]
}

fn end(from: Motion, stretches: &[Stretch]) -> Motion {
    stretches.iter().fold(from, |motion, stretch| motion.after(stretch.seconds, stretch.jerk))
}
