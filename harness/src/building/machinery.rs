//! How fast the cars of a building and their doors are.

use elevator_simulator::building::Building as Model;

/// The shortest dwell that a node takes, s.
const SHORTEST_DWELL: f64 = 1.0;

/// The highest acceleration that a node takes, m/s².
const MOST_ACCELERATION: f64 = 3.0;

/// The highest jerk that a node takes, m/s³.
const MOST_JERK: f64 = 10.0;

/// The cars of a building, in metres and seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Machinery {
    floor_height: f64,
    speed: f64,
    acceleration: f64,
    jerk: f64,
    /// The time of a door to open, and to close.
    door: f64,
    dwell: f64,
}

impl Machinery {
    /// Quick cars make short tests; the shaft's laws stay the same.
    pub(super) const QUICK: Self = Self {
        floor_height: 3.0,
        speed: 6.0,
        acceleration: 3.0,
        jerk: 10.0,
        door: 0.2,
        dwell: SHORTEST_DWELL,
    };

    /// The cars of this building, so many times as fast. Where they would accelerate more than
    /// any car, everything is smaller by as much, which changes no time.
    pub(super) fn of(model: &Model, pace: u32) -> Self {
        let pace = f64::from(pace);
        let accelerated = model.acceleration * pace * pace;
        let scale = (MOST_ACCELERATION / accelerated).min(1.0);
        let jerk = model.jerk.map_or(MOST_JERK, |jerk| jerk * scale * pace * pace * pace);
        Self {
            floor_height: model.floor_height * scale,
            speed: model.rated_speed * scale * pace,
            acceleration: accelerated * scale,
            jerk: jerk.min(MOST_JERK),
            door: model.door_opening / pace,
            dwell: (model.dwell / pace).max(SHORTEST_DWELL),
        }
    }

    /// The flags of the simulator, with spaces between them.
    pub(super) fn of_the_car(&self) -> String {
        let (drive, door) = (self.of_the_drive("--speed"), self.door * 1_000.0);
        format!(
            "{drive} --door-opening {door:.0}ms --door-closing {door:.0}ms \
             --between-floors 300ms --passing-floor 100ms"
        )
    }

    /// The flags of the node, with spaces between them.
    pub(super) fn of_the_node(&self) -> String {
        format!("{} --dwell {:.0}ms", self.of_the_drive("--rated-speed"), self.dwell * 1_000.0)
    }

    fn of_the_drive(&self, flag: &str) -> String {
        let Self { floor_height, speed, acceleration, jerk, .. } = self;
        format!(
            "--floor-height {floor_height} {flag} {speed} --acceleration {acceleration} --jerk {jerk}"
        )
    }
}
