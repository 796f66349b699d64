//! What each robot wants, and its session. No I/O: requests, cars and answers come in, actions go
//! out.
//!
//! ```text
//!   LiftRequest ──▶ waiting ──▶ opening ──▶ held ──▶ leaving ──▶ gone
//!                      ▲  first at its lift   │ │  END_SESSION, or silent for too long
//!                      └──────────────────────┘ └─ Go: another floor, or more time
//!                        the fleet ended it
//! ```
//!
//! A robot repeats its request with each state of its lift, at least once a second. So the adapter
//! stores nothing, and retries whatever fails.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use crate::fleet::{Action, Car, FleetError, Session};
use crate::messages::{DOOR_OPEN, LiftRequest, LiftState};
use crate::names::Names;

/// How soon the same thing is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// For how long after the start a request may be an old one: writers send a new reader what they
/// remember. It then only identifies a session.
const OLD_REQUESTS: Duration = Duration::from_secs(3);

/// How often the same thing is logged, and how many are told apart.
const LOG_PERIOD: Duration = Duration::from_mins(1);
const MOST_LOGGED: usize = 256;

/// The robots at the lifts of a fleet.
pub(crate) struct Robots {
    names: Names,
    started: Instant,
    /// For how long a robot may be silent before its session ends.
    silence: Duration,
    /// In the order in which they are served.
    queue: Vec<Robot>,
    lifts: BTreeMap<String, LiftState>,
    /// Sessions of robots that have another one, to be ended.
    strays: Vec<String>,
    logged: BTreeMap<String, Instant>,
}

#[derive(Debug)]
struct Robot {
    /// The `session_id` of its requests.
    name: String,
    lift: String,
    floor: String,
    /// Of its last request.
    heard: Instant,
    stage: Stage,
    is_leaving: bool,
    /// When its next action is due.
    due: Instant,
    /// A session of its lift that is not its own, so that it is compared only once.
    not_its: String,
}

#[derive(Debug, PartialEq, Eq)]
enum Stage {
    Waiting,
    /// The fleet has not answered yet, but may have opened the session.
    Opening {
        floor: String,
        request_id: String,
    },
    /// `renewed`: when the fleet last got the floor and counted the door's time from zero.
    Held {
        id: String,
        floor: String,
        renewed: Option<Instant>,
    },
}

impl Stage {
    fn id(&self) -> Option<&str> {
        match self {
            Self::Held { id, .. } => Some(id),
            Self::Waiting | Self::Opening { .. } => None,
        }
    }
}

impl Robots {
    pub(crate) fn new(names: Names, silence: Duration, started: Instant) -> Self {
        let (queue, strays) = (Vec::new(), Vec::new());
        let (lifts, logged) = (BTreeMap::new(), BTreeMap::new());
        Self { names, started, silence, queue, lifts, strays, logged }
    }

    /// What a node knows of the cars; without any, no node answers.
    pub(crate) fn handle_cars(&mut self, cars: Vec<Car>, now: Instant, clock: SystemTime) {
        let heard = cars.into_iter().filter(|car| car.heard);
        self.lifts = heard.map(|car| (car.name, car.lift_state)).collect();
        for at in 0..self.queue.len() {
            let robot = &self.queue[at];
            let Some(lift) = self.lifts.get(&robot.lift) else {
                // A robot only speaks when it gets a state of its lift.
                self.queue[at].heard = now;
                continue;
            };
            if self.is_known(&lift.session_id) || robot.not_its == lift.session_id {
                continue;
            }
            if let Some(found) = self.recognise(&robot.lift, &robot.name, clock) {
                let robot = &mut self.queue[at];
                log::info!("{} has session {} already", robot.name, robot.lift);
                self.strays.extend(robot.stage.id().map(str::to_owned));
                robot.stage = found;
            } else {
                self.queue[at].not_its.clone_from(&lift.session_id);
            }
        }
    }

    /// After the requests: those that waited while a node was slow count.
    pub(crate) fn handle_silence(&mut self, now: Instant) {
        for robot in &mut self.queue {
            if !robot.is_leaving && now.duration_since(robot.heard) >= self.silence {
                log::warn!(
                    "{} has requested nothing for {} s: its session with lift {} ends",
                    robot.name,
                    self.silence.as_secs(),
                    robot.lift
                );
                robot.is_leaving = true;
            }
        }
        self.queue.retain(|robot| !robot.is_done());
    }

    pub(crate) fn handle_request(&mut self, request: LiftRequest, now: Instant, clock: SystemTime) {
        let LiftRequest { lift_name: lift, session_id: name, destination_floor: floor, .. } =
            request;
        let Some(served) = self.lifts.get(&lift) else {
            return self.log(format!("ignored: lift {lift} is not one of this fleet"), now);
        };
        let known = self.queue.iter().position(|it| it.name == name && it.lift == lift);
        match request.request_type {
            LiftRequest::END_SESSION => {
                if let Some(at) = known {
                    self.queue[at].is_leaving = true;
                    self.queue[at].due = now;
                    self.queue.retain(|robot| !robot.is_done());
                } else if let Some(stage) = self.recognise(&lift, &name, clock) {
                    self.queue.push(Robot {
                        is_leaving: true,
                        ..Robot::new(name, lift, floor, stage, now)
                    });
                }
            }
            LiftRequest::AGV_MODE if name.is_empty() => {
                self.log(format!("ignored: a request for lift {lift} has no session_id"), now);
            }
            LiftRequest::AGV_MODE if !served.available_floors.contains(&floor) => {
                let what = format!("which lift {lift} does not serve now");
                self.log(format!("ignored: {name} requests floor {floor}, {what}"), now);
            }
            LiftRequest::AGV_MODE => {
                if request.door_state != DOOR_OPEN {
                    let what = "in AGV mode the door of a stopped lift stays open";
                    self.log(format!("{name} requests a closed door: {what}"), now);
                }
                if let Some(at) = known {
                    let robot = &mut self.queue[at];
                    robot.heard = now;
                    if robot.floor != floor {
                        log::info!("{name} requests lift {lift} at floor {floor}");
                        robot.floor = floor;
                        robot.due = now;
                    }
                    return;
                }
                let stage = self.recognise(&lift, &name, clock);
                if stage.is_none() && now.duration_since(self.started) < OLD_REQUESTS {
                    return;
                }
                let found = if stage.is_some() { ", in its session" } else { "" };
                log::info!("{name} requests lift {lift} at floor {floor}{found}");
                let stage = stage.unwrap_or(Stage::Waiting);
                self.queue.push(Robot::new(name, lift, floor, stage, now));
            }
            other => {
                let what = "only AGV mode (1) and END_SESSION (0) are served";
                self.log(format!("ignored: {name} requests mode {other}, but {what}"), now);
            }
        }
    }

    /// Robots repeat what is refused.
    pub(crate) fn log(&mut self, what: String, now: Instant) {
        self.logged.retain(|_, at| now.duration_since(*at) < LOG_PERIOD);
        if self.logged.len() < MOST_LOGGED && !self.logged.contains_key(&what) {
            log::warn!("{what}");
            self.logged.insert(what, now);
        }
    }

    fn is_known(&self, session: &str) -> bool {
        session.is_empty() || self.queue.iter().any(|robot| robot.stage.id() == Some(session))
    }

    /// The session that a lift has for this robot, if an earlier adapter opened it.
    fn recognise(&self, lift: &str, robot: &str, clock: SystemTime) -> Option<Stage> {
        let session = &self.lifts.get(lift)?.session_id;
        if self.is_known(session) || !self.names.is_of(session, lift, robot, clock) {
            return None;
        }
        // Without a known floor, the robot's is sent to the fleet.
        Some(Stage::Held { id: session.clone(), floor: String::new(), renewed: None })
    }

    /// The next thing to ask of the fleet, and the robot for which it is.
    pub(crate) fn poll_action(
        &mut self,
        now: Instant,
        clock: SystemTime,
    ) -> Option<(Option<usize>, Action)> {
        if let Some(id) = self.strays.pop() {
            return Some((None, Action::End { id }));
        }
        for at in 0..self.queue.len() {
            if now < self.queue[at].due {
                continue;
            }
            if let Some(action) = self.next(at, now, clock) {
                self.queue[at].due = now + RETRY;
                return Some((Some(at), action));
            }
        }
        None
    }

    fn next(&mut self, at: usize, now: Instant, clock: SystemTime) -> Option<Action> {
        let robot = &self.queue[at];
        let lift = self.lifts.get(&robot.lift);
        match &robot.stage {
            Stage::Waiting => {
                let mut others = self.queue.iter().filter(|other| other.lift == robot.lift);
                let is_first = others.next().is_some_and(|first| first.name == robot.name);
                if !is_first || others.any(|other| other.stage != Stage::Waiting) {
                    return None;
                }
                lift?;
                let floor = robot.floor.clone();
                let request_id = Names::request_id(&robot.lift, &robot.name, clock);
                let robot = &mut self.queue[at];
                robot.stage = Stage::Opening { floor, request_id };
                self.next(at, now, clock)
            }
            Stage::Opening { floor, request_id } => Some(Action::Open {
                car: robot.lift.clone(),
                floor: floor.clone(),
                request_id: request_id.clone(),
            }),
            Stage::Held { id, .. } if robot.is_leaving => Some(Action::End { id: id.clone() }),
            Stage::Held { id, floor, renewed } => {
                let lift = lift?;
                let id = id.clone();
                if lift.session_id != id {
                    return Some(Action::Look { id });
                }
                // Time only counts while the door is open.
                let is_old = renewed.is_none_or(|at| now.duration_since(at) >= self.silence);
                let is_there = lift.door_state == DOOR_OPEN;
                let needs_time = is_there && is_old && renewed.is_none_or(|at| robot.heard > at);
                let floor = (*floor != robot.floor || needs_time).then(|| robot.floor.clone())?;
                Some(Action::Go { id, floor })
            }
        }
    }

    /// What became of an action.
    pub(crate) fn handle_answer(
        &mut self,
        at: Option<usize>,
        action: Action,
        answer: Result<Session, FleetError>,
        now: Instant,
    ) {
        let Some(robot) = at.and_then(|at| self.queue.get_mut(at)) else { return };
        let (name, lift) = (&robot.name, &robot.lift);
        let ended = match answer {
            Ok(session) if session.state == "ended" => {
                Some(session.reason.unwrap_or_else(|| "without a reason".to_owned()))
            }
            Err(FleetError::Refused { status: 404, .. }) => Some("unknown".to_owned()),
            Ok(session) => {
                match action {
                    Action::Open { floor, .. } => {
                        log::info!("{name} has session {} with lift {lift}", session.id);
                        let renewed = Some(now);
                        robot.stage = Stage::Held { id: session.id, floor, renewed };
                    }
                    Action::Go { id, floor } => {
                        robot.stage = Stage::Held { id, floor, renewed: Some(now) };
                    }
                    Action::Look { .. } | Action::End { .. } => return,
                }
                robot.due = now;
                None
            }
            Err(error @ FleetError::Refused { .. }) => {
                if matches!(action, Action::Open { .. }) {
                    robot.stage = Stage::Waiting;
                }
                let what =
                    format!("{name} can't have lift {lift} at floor {}: {error}", robot.floor);
                self.log(what, now);
                None
            }
            // It is tried again when it is due.
            Err(_unanswered) => None,
        };
        if let Some(reason) = ended {
            let robot = self.queue.remove(at.unwrap_or_default());
            log::info!(
                "the session of {} with lift {} has ended: {reason}",
                robot.name,
                robot.lift
            );
            if !robot.is_leaving {
                self.queue.push(Robot { stage: Stage::Waiting, ..robot });
            }
        }
    }

    /// The lifts, with the names of sessions that Open-RMF knows.
    pub(crate) fn states(&self) -> impl Iterator<Item = LiftState> {
        self.lifts.values().map(|lift| {
            let holder = self.queue.iter().find(|it| it.stage.id() == Some(&lift.session_id));
            let session_id = holder.map_or(&lift.session_id, |robot| &robot.name).clone();
            LiftState { session_id, ..lift.clone() }
        })
    }
}

impl Robot {
    fn new(name: String, lift: String, floor: String, stage: Stage, now: Instant) -> Self {
        let (heard, due, not_its) = (now, now, String::new());
        Self { name, lift, floor, heard, stage, is_leaving: false, due, not_its }
    }

    fn is_done(&self) -> bool {
        self.is_leaving && self.stage == Stage::Waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::Time;

    const SECOND: Duration = Duration::from_secs(1);

    /// Robots at a free lift, some time after the start.
    fn robots(after: Duration) -> (Robots, Instant) {
        let start = Instant::now();
        let mut robots = Robots::new(Names::new("token"), 30 * SECOND, start);
        let now = start + after;
        robots.handle_cars(vec![car("")], now, SystemTime::now());
        (robots, now)
    }

    fn car(session_id: &str) -> Car {
        let lift_state = LiftState {
            lift_time: Time { sec: 0, nanosec: 0 },
            lift_name: "A".to_owned(),
            available_floors: vec!["0".to_owned(), "1".to_owned()],
            current_floor: "0".to_owned(),
            destination_floor: String::new(),
            door_state: DOOR_OPEN,
            motion_state: 0,
            available_modes: Vec::new(),
            current_mode: 1,
            session_id: session_id.to_owned(),
        };
        Car { name: "A".to_owned(), heard: true, lift_state }
    }

    fn request(robots: &mut Robots, name: &str, request_type: u8, now: Instant) {
        let request = LiftRequest {
            lift_name: "A".to_owned(),
            request_time: Time { sec: 0, nanosec: 0 },
            session_id: name.to_owned(),
            request_type,
            destination_floor: "1".to_owned(),
            door_state: DOOR_OPEN,
        };
        robots.handle_request(request, now, SystemTime::now());
    }

    /// The name of the robot that the next action is for.
    fn next(robots: &mut Robots, now: Instant) -> Option<(usize, String, Action)> {
        let (at, action) = robots.poll_action(now, SystemTime::now())?;
        Some((at?, robots.queue[at?].name.clone(), action))
    }

    fn session(state: &str) -> Session {
        Session { id: "5bd1".to_owned(), state: state.to_owned(), reason: None }
    }

    #[test]
    fn a_robot_that_gives_up_while_it_waits_gets_no_session() {
        let (mut robots, now) = robots(10 * SECOND);
        request(&mut robots, "one", LiftRequest::AGV_MODE, now);
        request(&mut robots, "one", LiftRequest::END_SESSION, now);
        assert_eq!(next(&mut robots, now), None);
    }

    #[test]
    fn requests_from_before_the_start_open_nothing() {
        let (mut robots, now) = robots(SECOND);
        request(&mut robots, "one", LiftRequest::AGV_MODE, now);
        assert_eq!(next(&mut robots, now), None);
    }

    #[test]
    fn the_next_robot_follows_one_whose_session_the_fleet_ended() {
        let (mut robots, now) = robots(10 * SECOND);
        request(&mut robots, "one", LiftRequest::AGV_MODE, now);
        request(&mut robots, "two", LiftRequest::AGV_MODE, now);
        let (at, name, action) = next(&mut robots, now).unwrap();
        assert!(name == "one" && matches!(action, Action::Open { .. }), "{name} {action:?}");
        robots.handle_answer(Some(at), action, Ok(session("coming")), now);
        robots.handle_cars(vec![car("")], now, SystemTime::now());
        let (at, name, action) = next(&mut robots, now).unwrap();
        assert_eq!((name.as_str(), &action), ("one", &Action::Look { id: "5bd1".to_owned() }));
        robots.handle_answer(Some(at), action, Ok(session("ended")), now);
        let (_, name, action) = next(&mut robots, now).unwrap();
        assert!(name == "two" && matches!(action, Action::Open { .. }), "{name} {action:?}");
    }

    #[test]
    fn a_robot_without_states_of_its_lift_is_not_silent() {
        let (mut robots, now) = robots(10 * SECOND);
        request(&mut robots, "one", LiftRequest::AGV_MODE, now);
        let later = now + 60 * SECOND;
        robots.handle_cars(Vec::new(), later, SystemTime::now());
        robots.handle_cars(vec![car("")], later + SECOND, SystemTime::now());
        robots.handle_silence(later + SECOND);
        assert!(!robots.queue[0].is_leaving);
        robots.handle_silence(later + 30 * SECOND);
        assert!(robots.queue.is_empty());
    }
}
