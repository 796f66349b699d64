use std::time::Duration;

use super::{PROFILE, Senior, Timer};
use crate::election::{Candidate, Election, Profile, Rules};
use crate::model::{Nonce, Protocol};

/// The settings of `senior`. For operators, `src/config/tables/elections.rs` describes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Settings {
    /// After this time without a sign of its master an executor looks for another (M3). Several
    /// times `request_period`, and a LAN's delay: where one request in twenty is lost, ten in a
    /// row hardly ever are.
    pub master_loss: Duration,
    /// How long an attempt waits for a master's answer (M3, M6); more than there and back.
    pub answer_wait: Duration,
    /// How many attempts have to go unanswered before a node may lead (M6). Together they take
    /// longer than a node that starts needs to find the others: it is not to take the lead from a
    /// master that it has not met yet.
    pub attempts: u32,
    /// Between two requests of a master: for executors while it waits for them, for sensor data
    /// afterwards (M7).
    pub request_period: Duration,
    /// Whether the mesh's reports of losses count (C5); otherwise only the silence of
    /// `master_loss` does.
    pub mesh_detection: bool,
}

/// For a fleet of elevators on one LAN (M3).
impl Default for Settings {
    fn default() -> Self {
        Self {
            master_loss: Duration::from_millis(500),
            answer_wait: Duration::from_millis(100),
            attempts: 4,
            request_period: Duration::from_millis(50),
            mesh_detection: true,
        }
    }
}

impl Settings {
    /// As in the source: 5 minutes without a sensor request (M3), and no other sign of loss. The
    /// source gives no figure for N, the wait for an answer and the period of requests (M6, M7);
    /// here they are in proportion: ten requests in the interval, as in the fleet.
    #[must_use]
    pub const fn source() -> Self {
        Self {
            master_loss: Duration::from_mins(5),
            answer_wait: Duration::from_secs(5),
            attempts: 3,
            request_period: Duration::from_secs(30),
            mesh_detection: false,
        }
    }

    /// The emulator of the source's author: 30 s without a sensor request (M3).
    #[must_use]
    pub const fn emulator() -> Self {
        Self {
            master_loss: Duration::from_secs(30),
            answer_wait: Duration::from_secs(1),
            attempts: 3,
            request_period: Duration::from_secs(3),
            mesh_detection: false,
        }
    }

    pub(super) fn wait(&self, timer: Timer) -> Duration {
        match timer {
            Timer::Answer => self.answer_wait,
            Timer::MasterLoss => self.master_loss,
            Timer::Request => self.request_period,
        }
    }
}

impl Rules for Settings {
    fn protocol(&self) -> Protocol {
        Protocol::Senior
    }

    fn profile(&self) -> &'static Profile {
        &PROFILE
    }

    /// C3: after so long in a whole and quiet network there is one master, and all know it.
    ///
    /// The links are made, a master that is gone is missed, all attempts go unanswered, and one more
    /// wait and two periods leave room for what is lost on the way.
    fn bound(&self, linked_within: Duration, _nodes: usize) -> Duration {
        linked_within
            + self.master_loss
            + self.answer_wait * self.attempts.saturating_add(1)
            + self.request_period * 2
    }

    fn request_period(&self) -> Option<Duration> {
        Some(self.request_period)
    }

    fn elect(&self, own: Candidate, _: Nonce, _: Duration) -> Box<dyn Election> {
        Box::new(Senior::new(&own, *self))
    }
}
