//! The published comparison: what is run, and its tables. Each version of the results is a data set.

use std::collections::BTreeSet;
use std::hash::Hasher;
use std::io::Write;
use std::time::Duration;

use siphasher::sip::SipHasher13;

use super::{Cell, Comparison, Conditions, Contestant, Level, Quantile, Run, Situation};
use super::{UnknownContestant, plot, summary};
use crate::WorldError;
use crate::output::{WriteError, write_csv};
use crate::plot::PlotError;

/// A published version of the results. Whoever changes what a run gives publishes the next one, and
/// `docs/ELECTIONS.md` with it.
#[derive(Debug, Clone, Copy)]
pub struct DataSet {
    pub version: u32,
    date: &'static str,
    program: &'static str,
    commit: &'static str,
    /// Of the runs as CSV.
    fingerprint: u64,
}

pub const PUBLISHED: DataSet = DataSet {
    version: 3,
    date: "2026-11-30",
    program: "0.1.0",
    commit: "c21ae991aedc",
    fingerprint: 0xF2F6_60FA_70B3_3302,
};

/// The fleets of the tables, and how often each is run: an interval of a 95th percentile needs 72
/// runs, one of a median 6.
const NODES: usize = 8;
const ROUNDS: u64 = 100;

/// The same where nothing happens, and for other sizes.
const FEWER_ROUNDS: u64 = 20;

/// Beside the protocols as they are.
const OTHERS: [&str; 4] = ["all:own-detection", "controls", "raft:pre-vote", "controls:reliable"];

const SETTLING: [Situation; 5] = [
    Situation::Start,
    Situation::MasterDead,
    Situation::PowerLoss,
    Situation::MasterHung,
    Situation::Merge,
];

/// All runs of the published comparison.
#[derive(Debug)]
pub struct Paper(Vec<Run>);

impl Paper {
    /// What is run: the protocols, the others with less loss, both while nothing happens, and the
    /// protocols as they grow.
    ///
    /// # Errors
    /// There is no contestant of a name.
    pub fn comparisons() -> Result<[Comparison; 5], UnknownContestant> {
        let others = OTHERS.map(Contestant::list).into_iter().collect::<Result<Vec<_>, _>>()?;
        let protocols = Comparison {
            contestants: Contestant::list("all")?,
            sizes: vec![NODES],
            losses: vec![0, 5, 25],
            conditions: vec![Conditions::Steady],
            situations: SETTLING.to_vec(),
            watch: Duration::from_secs(10),
            seed: 1,
            rounds: ROUNDS,
        };
        let others = Comparison {
            contestants: others.concat(),
            losses: vec![0, 5],
            situations: vec![Situation::Start, Situation::PowerLoss, Situation::Merge],
            ..protocols.clone()
        };
        let quiet = |comparison: &Comparison| Comparison {
            situations: vec![Situation::Quiet],
            rounds: FEWER_ROUNDS,
            ..comparison.clone()
        };
        let (quiet, others_quiet) = (quiet(&protocols), quiet(&others));
        let growth = Comparison {
            sizes: vec![2, 4, 16, 32],
            losses: vec![0],
            situations: vec![Situation::PowerLoss, Situation::Merge],
            rounds: FEWER_ROUNDS,
            ..protocols.clone()
        };
        Ok([protocols, others, quiet, others_quiet, growth])
    }

    /// Runs them on every core; `done` is called after each run.
    ///
    /// # Errors
    /// There is no fleet of one of the sizes.
    pub fn run(comparisons: &[Comparison], done: impl Fn() + Sync) -> Result<Self, WorldError> {
        let mut runs = Vec::new();
        for comparison in comparisons {
            runs.extend(comparison.run(|_| done())?);
        }
        Ok(Self(runs))
    }

    /// Every run, below a line about their origin.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn write_csv(&self, to: impl Write) -> Result<(), WriteError> {
        write_csv(Some(&PUBLISHED.to_string()), &self.0, to)
    }

    /// Whether these are the runs that are published.
    ///
    /// # Errors
    /// [`WriteError`]
    pub fn is_published(&self) -> Result<bool, WriteError> {
        let mut text = Vec::new();
        write_csv(None, &self.0, &mut text)?;
        let mut hasher = SipHasher13::new();
        hasher.write(&text);
        Ok(hasher.finish() == PUBLISHED.fingerprint)
    }

    /// The protocols as they are by default.
    ///
    /// # Errors
    /// [`PlotError`]
    pub fn plot(&self) -> Result<String, PlotError> {
        let is_plain = |run: &&Run| !run.trial.contestant.to_string().contains(':');
        let plain = self.0.iter().filter(|run| !run.trial.contestant.is_control());
        plot(&plain.filter(is_plain).copied().collect::<Vec<_>>())
    }

    /// The tables of the page, as Markdown.
    #[must_use]
    pub fn tables(&self) -> String {
        let tables = Tables { cells: summary(&self.0) };
        let origin = PUBLISHED.to_string().replace("; ", ";\n");
        let mut text = format!("<!-- paper: begin -->\n\n{origin}.\n");
        for loss in tables.losses() {
            text.push_str(&tables.times(loss));
        }
        for part in [tables.unsettled(), tables.costs(), tables.quiet(), tables.growth()] {
            text.push_str(&part);
        }
        text + "\n<!-- paper: end -->\n"
    }
}

impl std::fmt::Display for DataSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { version, date, program, commit, .. } = self;
        write!(
            f,
            "Data set {version} of {date}: liftmesh {program} at commit {commit}, seeds 1 to \
             {ROUNDS}; 1 to {FEWER_ROUNDS} in a quiet fleet and with other sizes than {NODES}"
        )
    }
}

struct Tables {
    cells: Vec<Cell>,
}

impl Tables {
    fn losses(&self) -> BTreeSet<u8> {
        self.cells.iter().map(|cell| cell.loss).collect()
    }

    fn sizes(&self) -> BTreeSet<usize> {
        self.cells.iter().map(|cell| cell.size).collect()
    }

    fn cell(&self, contestant: Contestant, size: usize, loss: u8, of: Situation) -> Option<&Cell> {
        self.cells.iter().find(|cell| {
            (cell.contestant, cell.size, cell.loss, cell.situation) == (contestant, size, loss, of)
        })
    }

    /// A row for each contestant that has cells like these.
    fn table<'a, C: Copy>(
        &'a self,
        heading: &str,
        columns: &[C],
        find: impl Fn(Contestant, C) -> Option<&'a Cell>,
        show: impl Fn(&Cell) -> String,
    ) -> String {
        let contestants: BTreeSet<_> = self.cells.iter().map(|cell| cell.contestant).collect();
        let mut text =
            format!("| contestant | {heading} |\n|{}\n", " --- |".repeat(columns.len() + 1));
        for contestant in contestants {
            let cells: Vec<_> = columns.iter().map(|column| find(contestant, *column)).collect();
            if cells.iter().any(Option::is_some) {
                let shown = cells.into_iter().map(|cell| cell.map_or("–".to_owned(), &show));
                let shown: Vec<String> = shown.collect();
                text.extend(["| `", &contestant.to_string(), "` | ", &shown.join(" | "), " |\n"]);
            }
        }
        text
    }

    fn times(&self, loss: u8) -> String {
        let table = self.table(
            &SETTLING.map(|situation| situation.to_string()).join(" | "),
            &SETTLING,
            |contestant, situation| self.cell(contestant, NODES, loss, situation),
            |cell| [cell.median, cell.p95].map(quantile).join("<br>"),
        );
        format!(
            "\n**Time to one master**, {NODES} nodes, {loss} % loss, in ms: the median and, below \
             it, the 95th\npercentile, each with its 95 % interval.\n\n{table}"
        )
    }

    fn unsettled(&self) -> String {
        if self.cells.iter().all(|cell| cell.unsettled == 0) {
            return "\n**Unsettled runs**: none.\n".to_owned();
        }
        let mut text = "\n**Unsettled runs**; those that never began had no master before the event.\n\n\
                        | contestant | nodes | loss | situation | runs | unsettled | never began |\n\
                        | --- | --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
        let unsettled = self.cells.iter().filter(|cell| cell.unsettled > 0);
        text.extend(unsettled.map(|cell| {
            let Cell { contestant, size, loss, situation, runs, unsettled, unprepared, .. } = cell;
            format!(
                "| `{contestant}` | {size} | {loss} % | {situation} | {runs} | {unsettled} | \
                 {unprepared} |\n"
            )
        }));
        text
    }

    fn costs(&self) -> String {
        let show = |cell: &Cell| {
            let is_quiet = cell.situation == Situation::Quiet;
            let seconds = if is_quiet { cell.watched_ms / 1_000.0 } else { 1.0 };
            let messages = cell.messages.0;
            let [mean, low, high] = [messages.estimate, messages.low, messages.high]
                .map(|messages| format!("{:.0}", messages / seconds));
            let others = [
                cell.packets(|wire| wire.election.received),
                cell.packets(|wire| wire.beacons.sent),
                cell.packets(|wire| wire.links.sent),
            ];
            let [received, beacons, links] =
                others.map(|packets| format!("{:.0}", packets / seconds));
            format!("{mean} ({low}–{high}) / {received} / {beacons} / {links}")
        };
        let situations = [Situation::Quiet, Situation::PowerLoss, Situation::Merge];
        let table = self.table(
            "quiet, in a second | power-loss | merge",
            &situations,
            |contestant, situation| self.cell(contestant, NODES, 0, situation),
            show,
        );
        format!(
            "\n**What it costs**, {NODES} nodes, no loss: messages sent (95 % interval of the mean) / \
             received / beacons\nwithout a message / packets of links, from the event to the end of \
             the second of agreement.\n\n{table}"
        )
    }

    fn quiet(&self) -> String {
        let show = |cell: &Cell| {
            let hourly = cell.changes_per_hour.unwrap_or_default();
            let [without, two] = [cell.without_master_ms.0, cell.two_masters_ms.0]
                .map(|time| format!("{:.3} %", time / cell.watched_ms * 100.0));
            let [mean, low, high] =
                [hourly.estimate, hourly.low, hourly.high].map(|hourly| format!("{hourly:.1}"));
            format!("{mean} ({low}–{high}) / {without} / {two}")
        };
        let losses: Vec<u8> = self.losses().into_iter().collect();
        let heading: Vec<String> = losses.iter().map(|loss| format!("{loss} % loss")).collect();
        let table = self.table(
            &heading.join(" | "),
            &losses,
            |contestant, loss| self.cell(contestant, NODES, loss, Situation::Quiet),
            show,
        );
        format!(
            "\n**While nothing happens**, {NODES} nodes: changes of master in an hour (95 % \
             interval) / time without a\nmaster / with two.\n\n{table}"
        )
    }

    fn growth(&self) -> String {
        let sizes: Vec<usize> = self.sizes().into_iter().collect();
        let heading: Vec<String> = sizes.iter().map(|size| format!("{size} nodes")).collect();
        let grows = |contestant, situation| {
            let has = |size: &&usize| self.cell(contestant, **size, 0, situation).is_some();
            sizes.iter().filter(has).count() > 1
        };
        let mut text = String::new();
        for situation in [Situation::PowerLoss, Situation::Merge] {
            let table = self.table(
                &heading.join(" | "),
                &sizes,
                |contestant, size| {
                    let cell = self.cell(contestant, size, 0, situation);
                    cell.filter(|_| grows(contestant, situation))
                },
                |cell| {
                    // Not -0.
                    let excess = cell.excess.0.estimate.round() + 0.0;
                    format!(
                        "{}; {excess:.0}",
                        cell.median.map_or("–".to_owned(), |it| ms(it.estimate))
                    )
                },
            );
            text += "\n**Growth**, `";
            text += &situation.to_string();
            text += "`, no loss: median in ms; mean messages beyond those of a quiet fleet.\n\n";
            text += &table;
        }
        text
    }
}

fn quantile(quantile: Option<Quantile>) -> String {
    let Some(Quantile { estimate, low: Some(low), high: Some(high) }) = quantile else {
        return "–".to_owned();
    };
    format!("{} ({}–{})", ms(estimate), ms(low), ms(high))
}

fn ms(level: Level) -> String {
    match level {
        Level::At(time) => format!("{time:.0}"),
        Level::Beyond(limit) => format!(">{limit:.0}"),
    }
}
