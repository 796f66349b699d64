//! How well the fleet serves: counted from the node's events and its state, kept in the journal.
//!
//! One task owns the [`Tally`]: it counts served calls as the node reports them, and looks at the
//! cars every [`WATCH`]. The counts go to the journal by way of the node's loop, so that nothing
//! waits for the disk; those since the last write are lost if the process ends.

use std::time::{Duration, SystemTime};

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use elevator_fleet::model::{NodeId, Role};
use elevator_fleet::node::{Report, Status};
use liftmesh_api::{Statistics, views};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tracing::{debug, warn};

use super::desk::{Desk, Wish};
use super::extract::Query;
use super::metrics::Counted;
use super::routes::{App, json};
use super::snapshot::Looks;
use crate::operator::{Event, NodeLoop, Request};
use crate::programs::Problem;
use crate::statistics::{Asked, CarState, Quarter, Slot, Tally, Window};

const WATCH: Duration = Duration::from_secs(5);

/// Served calls are written this often, at most.
const SAVE: Duration = Duration::from_secs(10);

/// How often the states of the cars are written while no call is served.
const SAVE_IDLE: Duration = Duration::from_mins(5);

pub(super) const WISHES: usize = 16;

/// The farthest that clocks are from UTC, in minutes.
const MOST_OFFSET: i16 = 14 * 60;

pub(super) type Figures = Desk<Tally>;

type Kept = Vec<(Slot, Quarter)>;

pub(super) struct Collector {
    tally: Tally,
    /// Nothing is written before this has come: it would count twice.
    kept: Option<oneshot::Receiver<Kept>>,
    began: Instant,
    /// When something was last written, and whether calls were served since.
    saved: Instant,
    has_calls: bool,
    events: broadcast::Receiver<Event>,
    looks: Looks,
    node_loop: NodeLoop,
    counted: Counted,
}

impl Collector {
    pub(super) fn new(
        events: broadcast::Receiver<Event>,
        looks: Looks,
        node_loop: NodeLoop,
        counted: Counted,
    ) -> Self {
        let (tally, now) = (Tally::default(), Instant::now());
        let (kept, has_calls) = (None, false);
        Self { tally, kept, began: now, saved: now, has_calls, events, looks, node_loop, counted }
    }

    pub(super) async fn run(mut self, mut wishes: mpsc::Receiver<Wish<Tally>>) {
        let [mut watch, mut save] = [WATCH, SAVE].map(interval);
        for interval in [&mut watch, &mut save] {
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        }
        self.kept = self.node_loop.ask(Request::Statistics).await.ok();
        loop {
            tokio::select! {
                event = self.events.recv() => match event {
                    Ok(event) => self.count(&event.report),
                    Err(RecvError::Lagged(events)) => self.miss(events),
                    Err(RecvError::Closed) => return,
                },
                Some(wish) = wishes.recv() => wish(&mut self.tally),
                kept = next(&mut self.kept) => self.restore(kept),
                _ = watch.tick() => self.look().await,
                _ = save.tick() => self.save().await,
            }
        }
    }

    fn restore(&mut self, kept: Option<Kept>) {
        self.kept = None;
        self.tally.week.restore(kept.unwrap_or_default(), Slot::of(SystemTime::now()));
    }

    fn count(&mut self, report: &Report) {
        if let Report::Served { call, waited, car, .. } = report {
            let slot = Slot::of(SystemTime::now());
            self.tally.record_served(call, *waited, car.as_ref(), self.began.elapsed(), slot);
            self.has_calls = true;
        }
    }

    /// Calls that were served meanwhile may be missing.
    fn miss(&self, events: u64) {
        self.counted.missed_by_statistics.inc_by(events);
        warn!(events, "events came too fast: the statistics may lack calls");
    }

    async fn look(&mut self) {
        if let Ok(look) = self.looks.take().await {
            let slot = Slot::of(SystemTime::now());
            self.tally.record_cars(cars(&look.status), self.began.elapsed(), slot);
        }
    }

    async fn save(&mut self) {
        if self.kept.is_some() || !(self.has_calls || self.saved.elapsed() >= SAVE_IDLE) {
            return;
        }
        let keep = self.tally.week.changes();
        if keep.is_empty() {
            return;
        }
        let refused = match self.node_loop.ask(|reply| Request::KeepStatistics(keep, reply)).await {
            Ok(Ok(())) => {
                self.tally.week.on_written();
                (self.saved, self.has_calls) = (Instant::now(), false);
                return;
            }
            Ok(Err(reason)) => reason,
            Err(problem) => problem.detail,
        };
        debug!(reason = refused, "the statistics are not written yet");
    }
}

/// What was kept; `None` if it can't be read. Never completes if nothing is awaited. Cancel-safe.
async fn next(kept: &mut Option<oneshot::Receiver<Kept>>) -> Option<Kept> {
    match kept {
        Some(kept) => kept.await.ok(),
        None => std::future::pending().await,
    }
}

fn cars(status: &Status) -> impl Iterator<Item = (&NodeId, CarState)> {
    let living = views(status).map(|(node, view)| (node, CarState::of(view)));
    let lost = status.lost.iter().filter(|lost| lost.role == Role::Cabin);
    living.chain(lost.map(|lost| (&lost.node, CarState::Down)))
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Part {
    window: Option<String>,
    #[serde(default)]
    utc_offset: i16,
}

async fn asked(app: &App, Part { window, utc_offset }: Part) -> Result<Asked, Problem> {
    let name = window.as_deref().unwrap_or("day");
    let window = Window::ALL.into_iter().find(|window| window.name() == name);
    let window = window.ok_or_else(|| {
        Problem::malformed(format!("unknown window {name:?}: use `hour`, `day` or `week`"))
    })?;
    if !(-MOST_OFFSET..=MOST_OFFSET).contains(&utc_offset) {
        return Err(Problem::malformed(format!(
            "invalid UTC offset {utc_offset}: use minutes from -{MOST_OFFSET} to {MOST_OFFSET}"
        )));
    }
    let look = app.looks.take().await?;
    Ok(Asked {
        node: look.status.node.to_string(),
        floors: look.status.building.floors(),
        window,
        utc_offset,
        at: SystemTime::now(),
    })
}

/// How well the fleet served its passengers.
#[utoipa::path(
    get,
    path = "/statistics",
    params(
        ("window" = Option<String>, Query, description = "`hour`, `day` (the default) or `week`: the current quarter hour and those before it"),
        ("utc_offset" = Option<i16>, Query, description = "The clock for hours of the day, in minutes ahead of UTC; 0 by default"),
    ),
    responses(
        (status = 200, body = Statistics),
        (status = 400, body = Problem, description = "Invalid window or offset"),
    )
)]
pub(super) async fn get_statistics(
    State(app): State<App>,
    Query(part): Query<Part>,
) -> Result<Response, Problem> {
    let asked = asked(&app, part).await?;
    let statistics = app.figures.ask(move |tally| tally.week.statistics(&asked)).await?;
    Ok(json(StatusCode::OK, &statistics))
}

/// The same as a table, with a row for each quarter hour.
#[utoipa::path(
    get,
    path = "/statistics.csv",
    params(("window" = Option<String>, Query, description = "`hour`, `day` (the default) or `week`")),
    responses(
        (status = 200, body = String, content_type = "text/csv"),
        (status = 400, body = Problem, description = "Invalid window"),
    )
)]
pub(super) async fn get_statistics_csv(
    State(app): State<App>,
    Query(part): Query<Part>,
) -> Result<Response, Problem> {
    let asked = asked(&app, part).await?;
    let name = format!("liftmesh-{}-{}.csv", asked.node, asked.window.name());
    let text = app.figures.ask(move |tally| tally.week.csv(&asked)).await?;
    let about = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CACHE_CONTROL, "no-store".to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok((about, text).into_response())
}
