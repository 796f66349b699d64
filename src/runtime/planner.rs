//! Makes plans on a thread of its own: a large plan takes longer than the stop of a motor may be
//! delayed.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use elevator_fleet::dispatch::{Dispatcher, Plan, ProgramHealth};
use elevator_fleet::node::{PlanRequest, PlanVersion};
use tokio::sync::mpsc;
use tracing::{debug, warn};

/// The planner gets one request at a time; the latest of the others waits in the loop.
const PLAN_QUEUE: usize = 1;

/// A plan that takes longer than this is reported when the next one is wanted. Meanwhile the
/// previous plan stays in force.
const SLOW: Duration = Duration::from_secs(5);

/// How long a shutdown waits for a plan that is being made.
const END_LIMIT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct PlanAnswer {
    pub(super) version: PlanVersion,
    pub(super) plan: Plan,
    /// How the program that dispatches does, if there is one.
    pub(super) program: Option<ProgramHealth>,
}

#[derive(Debug)]
pub(super) struct Planner {
    requests: SyncSender<PlanRequest>,
    plans: mpsc::Receiver<PlanAnswer>,
    busy: Option<Busy>,
    thread: JoinHandle<()>,
}

#[derive(Debug)]
struct Busy {
    since: Instant,
    told: bool,
    next: Option<PlanRequest>,
}

impl Planner {
    pub(super) fn start(mut dispatcher: Box<dyn Dispatcher + Send>) -> io::Result<Self> {
        let (requests, asked) = sync_channel(PLAN_QUEUE);
        let (answer, plans) = mpsc::channel(PLAN_QUEUE);
        let thread = thread::Builder::new()
            .name("planner".to_owned())
            .spawn(move || plan_all(dispatcher.as_mut(), &asked, &answer))?;
        Ok(Self { requests, plans, busy: None, thread })
    }

    /// Requests a plan. Never waits; of several requests meanwhile the latest counts.
    pub(super) fn ask(&mut self, request: PlanRequest) {
        let Some(busy) = &mut self.busy else {
            return self.hand_over(request);
        };
        if busy.since.elapsed() >= SLOW && !busy.told {
            busy.told = true;
            warn!("the planner is slow: hall calls stay with their cars");
        }
        busy.next = Some(request);
    }

    /// The next plan; `None` if the thread has ended by a fault. Cancel-safe.
    pub(super) async fn plan(&mut self) -> Option<PlanAnswer> {
        let plan = self.plans.recv().await?;
        if let Some(next) = self.busy.take().and_then(|busy| busy.next) {
            self.hand_over(next);
        }
        Some(plan)
    }

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
        self.busy = Some(Busy { since: Instant::now(), told: false, next: None });
    }
}

fn plan_all(
    dispatcher: &mut dyn Dispatcher,
    requests: &Receiver<PlanRequest>,
    plans: &mpsc::Sender<PlanAnswer>,
) {
    while let Ok(request) = requests.recv() {
        let plan = request.plan(dispatcher);
        let program = dispatcher.health().cloned();
        if plans.blocking_send(PlanAnswer { version: request.version, plan, program }).is_err() {
            return;
        }
    }
}
