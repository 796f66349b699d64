//! Makes plans on a thread of its own: a large plan takes longer than the stop of a motor may be
//! delayed.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use elevator_fleet::dispatch::{Dispatcher, Plan};
use elevator_fleet::node::{PlanRequest, PlanVersion};
use tokio::sync::mpsc;
use tracing::{debug, warn};

/// The planner gets one request at a time. Another request meanwhile waits in the loop, and a later
/// one replaces it.
const PLAN_QUEUE: usize = 1;

/// A plan that takes longer than this is reported. Meanwhile the previous plan stays in force.
const SLOW: Duration = Duration::from_secs(5);

/// A plan that takes longer than this never arrives: the thread counts as stuck. A thousand times
/// what the largest bank takes on a slow computer.
const STUCK: Duration = Duration::from_mins(1);

/// How long a shutdown waits for a plan that is being made.
const END_LIMIT: Duration = Duration::from_secs(2);

pub(super) type PlanAnswer = (PlanVersion, Plan);

/// The thread that makes plans, as the loop sees it.
#[derive(Debug)]
pub(super) struct Planner {
    requests: SyncSender<PlanRequest>,
    plans: mpsc::Receiver<PlanAnswer>,
    state: PlannerState,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
enum PlannerState {
    Idle,
    Busy { since: Instant, told: bool, next: Option<PlanRequest> },
}

impl Planner {
    /// Starts the thread.
    pub(super) fn start(mut dispatcher: Box<dyn Dispatcher + Send>) -> io::Result<Self> {
        let (requests, asked) = sync_channel(PLAN_QUEUE);
        let (answer, plans) = mpsc::channel(PLAN_QUEUE);
        let thread = thread::Builder::new()
            .name("planner".to_owned())
            .spawn(move || plan_all(dispatcher.as_mut(), &asked, &answer))?;
        Ok(Self { requests, plans, state: PlannerState::Idle, thread })
    }

    /// Requests a plan. Never waits; of several requests made while a plan is in progress, the
    /// latest counts.
    pub(super) fn ask(&mut self, request: PlanRequest) {
        match &mut self.state {
            PlannerState::Busy { since, told, next } => {
                if since.elapsed() >= SLOW && !*told {
                    *told = true;
                    warn!("the planner is slow: hall calls stay with their cars");
                }
                *next = Some(request);
            }
            PlannerState::Idle => self.hand_over(request),
        }
    }

    /// Waits for the next plan; `None` if the thread has ended, which only a fault can cause.
    /// Cancel-safe: no plan is lost.
    pub(super) async fn plan(&mut self) -> Option<PlanAnswer> {
        let plan = self.plans.recv().await?;
        let busy = std::mem::replace(&mut self.state, PlannerState::Idle);
        if let PlannerState::Busy { next: Some(next), .. } = busy {
            self.hand_over(next);
        }
        Some(plan)
    }

    /// Whether the thread is stuck in a plan.
    pub(super) fn is_stuck(&self, now: Instant) -> bool {
        match self.state {
            PlannerState::Idle => false,
            PlannerState::Busy { since, .. } => now.saturating_duration_since(since) >= STUCK,
        }
    }

    /// The process, including the thread, did not run for `late`.
    pub(super) fn excuse(&mut self, late: Duration) {
        if let PlannerState::Busy { since, .. } = &mut self.state {
            *since += late;
        }
    }

    /// Ends the thread once it has finished its current plan, within a limit.
    pub(super) async fn finish(self) {
        let Self { requests, plans, thread, .. } = self;
        drop((requests, plans));
        let ending = tokio::task::spawn_blocking(move || thread.join());
        match tokio::time::timeout(END_LIMIT, ending).await {
            Ok(Ok(Ok(()))) => {}
            // Its panic was reported where it happened.
            Ok(Ok(Err(_)) | Err(_)) => debug!("the planner had failed"),
            Err(_elapsed) => warn!("the planner does not stop: the process exits without it"),
        }
    }

    fn hand_over(&mut self, request: PlanRequest) {
        // Refused only by a thread that has ended, which `plan` reports.
        if self.requests.try_send(request).is_err() {
            debug!("the planner takes no request");
        }
        self.state = PlannerState::Busy { since: Instant::now(), told: false, next: None };
    }
}

/// Makes plans until the planner is dropped.
fn plan_all(
    dispatcher: &mut dyn Dispatcher,
    requests: &Receiver<PlanRequest>,
    plans: &mpsc::Sender<PlanAnswer>,
) {
    while let Ok(request) = requests.recv() {
        let plan = request.plan(dispatcher);
        if plans.blocking_send((request.version, plan)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use elevator_fleet::dispatch::Assignments;
    use elevator_fleet::model::Timestamp;

    use super::*;

    /// A dispatcher that never finishes.
    #[derive(Debug)]
    struct Stuck(Receiver<()>);

    impl Dispatcher for Stuck {
        fn assign(
            &mut self,
            _cars: &[elevator_fleet::dispatch::CarSituation],
            _demand: &[elevator_fleet::dispatch::HallDemand],
        ) -> Assignments {
            assert!(self.0.recv().is_err(), "nobody sends anything");
            Assignments::new()
        }
    }

    #[test]
    fn a_thread_that_is_at_one_plan_for_a_minute_is_stuck() {
        let (release, let_go) = sync_channel(1);
        let mut planner = Planner::start(Box::new(Stuck(let_go))).expect("a thread");
        let begun = Instant::now();
        assert!(!planner.is_stuck(begun + 2 * STUCK), "it is idle");
        planner.ask(PlanRequest {
            version: PlanVersion::default(),
            now: Timestamp::START,
            cars: Vec::new(),
            demand: Vec::new(),
            parked: BTreeMap::new(),
            parking: None,
        });
        assert!(!planner.is_stuck(begun + STUCK / 2));
        let late = begun + 2 * STUCK;
        assert!(planner.is_stuck(late));
        // The process was suspended all the while.
        planner.excuse(2 * STUCK);
        assert!(!planner.is_stuck(late + STUCK / 2));
        assert!(planner.is_stuck(late + 2 * STUCK));
        drop(release);
    }
}
