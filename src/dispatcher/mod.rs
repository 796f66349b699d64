//! A program of the operator's own that dispatches, in a fleet and in the lab.
//!
//! ```text
//!   Bank ──▶ Program::plan ── one line of JSON ──▶ Conversation ──▶ the child's stdin   (a thread)
//!                  │ Plan  ◀── its answer, checked ─────┘ ◀──────── the child's stdout
//!                  └─ late, wrong or dead: the built-in planner makes this plan
//! ```
//!
//! It runs on the planner's thread, so it delays no car; what it is told and what it answers is in
//! `docs/DISPATCHERS.md`.

mod choice;
mod conversation;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use elevator_driver::Building;
use elevator_fleet::dispatch::{
    Assignments, Bank, CarSituation, Dispatcher, HallDemand, Kinematics, Plan, ProgramHealth,
    Strategy,
};
use elevator_fleet::model::Timestamp;
use liftmesh_api::dispatcher::{self as lines, Request};

pub(crate) use choice::Choice;
use conversation::Conversation;

use crate::command_line::CommandLine;

/// How long to wait before a program is started again, doubled with each failure in a row.
const RESTART: Duration = Duration::from_secs(1);
const RESTART_MOST: Duration = Duration::from_mins(1);

/// Why a plan of a program can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum Fault {
    #[error("it can't be started: {0}")]
    Start(String),
    #[error("it has not greeted yet")]
    Starting,
    #[error("it will be started again")]
    Waiting,
    #[error(transparent)]
    Line(#[from] lines::Fault),
    #[error("it did not answer within {}", humantime::format_duration(*.0))]
    Late(Duration),
    #[error("it has ended: {0}")]
    Ended(String),
    #[error("a line of it is longer than {} bytes", conversation::LONGEST_LINE)]
    TooLong,
}

impl Fault {
    /// Whether the program has to be started again.
    fn is_fatal(&self) -> bool {
        match self {
            Self::Line(lines::Fault::Version(_) | lines::Fault::OtherPlan(_))
            | Self::Start(_)
            | Self::Ended(_)
            | Self::TooLong => true,
            Self::Starting | Self::Waiting | Self::Line(_) | Self::Late(_) => false,
        }
    }
}

/// Where a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Beside a node: it may take this long for a plan, and has an empty environment.
    Fleet(Duration),
    /// Beside a lab, where time waits for it.
    Lab,
}

#[derive(Debug)]
pub(crate) struct Program {
    command: CommandLine,
    place: Place,
    building: Arc<Building>,
    hello: String,
    conversation: Option<Conversation>,
    /// When it is started again; `None`: at once.
    restart_at: Option<Instant>,
    failures: u32,
    latest: u64,
    fallback: Box<dyn Dispatcher + Send>,
    health: ProgramHealth,
}

impl Program {
    /// Starts it. Until it has greeted, and whenever it fails, the built-in planner plans.
    pub(crate) fn start(
        command: CommandLine,
        place: Place,
        building: &Building,
        kinematics: Kinematics,
        (capacity, bypass_load): (f64, u8),
    ) -> Self {
        let fallback = Strategy::default();
        let fallback = fallback.dispatcher(kinematics, building, capacity, bypass_load);
        let mut program = Self {
            health: ProgramHealth {
                command: Choice::Program(command.clone()).to_string(),
                ..ProgramHealth::default()
            },
            command,
            place,
            hello: lines::hello(building, &kinematics),
            building: Arc::new(building.clone()),
            conversation: None,
            restart_at: None,
            failures: 0,
            latest: 0,
            fallback,
        };
        if let Err(fault) = program.up() {
            program.note(&fault);
        }
        program
    }

    /// The conversation, after a start if one is due.
    fn up(&mut self) -> Result<&mut Conversation, Fault> {
        if self.conversation.is_none() {
            if self.restart_at.is_some_and(|at| at > Instant::now()) {
                return Err(Fault::Waiting);
            }
            self.conversation = Some(Conversation::start(&self.command, self.place, &self.hello)?);
        }
        self.conversation.as_mut().ok_or(Fault::Starting)
    }

    fn ask(&mut self, bank: &Bank<'_>) -> Result<Assignments, Fault> {
        self.latest += 1;
        let building = Arc::clone(&self.building);
        let request = Request::new(self.latest, bank, &building);
        let answer = self.up()?.exchange(request.line())?;
        let (assignments, left_open) = request.read(&answer, bank)?;
        self.health.left_open = self.health.left_open.max(left_open);
        Ok(assignments)
    }

    fn note(&mut self, fault: &Fault) {
        self.health.is_failing = true;
        if *fault == Fault::Waiting {
            return;
        }
        self.health.fault = Some(fault.to_string());
        if fault.is_fatal() {
            self.conversation = None;
            let pause = (RESTART * 2_u32.saturating_pow(self.failures)).min(RESTART_MOST);
            // In the lab the run is spoiled anyway.
            let pause = if self.place == Place::Lab { Duration::from_hours(24) } else { pause };
            self.failures += 1;
            self.restart_at = Some(Instant::now() + pause);
        }
    }
}

impl Dispatcher for Program {
    fn assign(&mut self, cars: &[CarSituation], demand: &[HallDemand]) -> Assignments {
        let (now, parked) = (Timestamp::START, &BTreeMap::new());
        self.plan(&Bank { now, cars, demand, parked }).assignments
    }

    fn plan(&mut self, bank: &Bank<'_>) -> Plan {
        match self.ask(bank) {
            Ok(assignments) => {
                self.health.plans += 1;
                self.health.is_failing = false;
                self.failures = 0;
                assignments.into()
            }
            Err(fault) => {
                self.health.fallbacks += 1;
                self.note(&fault);
                self.fallback.plan(bank)
            }
        }
    }

    fn health(&self) -> Option<&ProgramHealth> {
        Some(&self.health)
    }
}
