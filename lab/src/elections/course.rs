//! One trial: a fleet, and what happens to it.

use std::time::Duration;

use elevator_fleet::wire::NodeState;
use fastrand::Rng;

use super::agreement::{Agreement, WINDOW};
use super::observer::{Observer, Tally};
use super::{Conditions, Contestant, Situation};
use crate::statistics::whole;
use crate::trace::{Trace, Window};
use crate::{Fault, Traffic, Wire, World, WorldError};

/// How long a fleet that has settled is left alone at least before something happens to it.
const STILL: Duration = Duration::from_millis(500);

/// How long the messages of a quiet fleet are counted, after a situation that settles.
const QUIET: Duration = Duration::from_secs(1);

/// The event comes so much later at random, at least, that it meets every phase of the protocol's
/// timers; an eighth of the stated bound if that is longer.
const PHASE: Duration = Duration::from_secs(1);

/// In [`Situation::Churn`] a node dies so often.
const CHURN_PERIOD: Duration = Duration::from_secs(1);

const CHURN_DEAD: Duration = Duration::from_millis(500);

/// One fleet and one situation. Equal trials give equal runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trial {
    pub contestant: Contestant,
    /// How many nodes, 2 to 200.
    pub size: usize,
    /// So many of a hundred packets get lost.
    pub loss: u8,
    pub conditions: Conditions,
    pub situation: Situation,
    /// How long a fleet is watched in a situation that does not [settle](Situation::settles).
    pub watch: Duration,
    pub seed: u64,
}

/// What was seen in a trial, from the event to the end. If nothing happened to the fleet, all is 0 or
/// `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Run {
    pub(crate) trial: Trial,
    /// Whether the fleet settled before the event.
    pub(crate) prepared: bool,
    /// For how long a process had been suspended that went on with the event: what was sent to it
    /// waited.
    pub(super) suspended: Duration,
    /// When the event was, from the beginning of the world.
    pub(crate) began: Duration,
    /// How long after the event every group settled; `None` if not within the limit, or if it is
    /// not expected to.
    pub(crate) took: Option<Duration>,
    /// How long the fleet was watched from the event on.
    pub(crate) watched: Duration,
    /// The protocol's messages in this time, with their bytes without what carries them.
    pub(super) messages: Traffic,
    /// The messages that the fleet sent directly afterwards, while it was quiet.
    pub(super) quiet_messages: u64,
    /// In how much time; 0 if it was not quiet.
    pub(super) quiet_time: Duration,
    /// The packets from the event on.
    pub(super) wire: Wire,
    /// For how long some node that runs had no master.
    pub(super) without_master: Tally,
    /// For how long two masters were connected with each other.
    pub(super) two_masters: Tally,
    /// How often a node became master, planned rotations aside.
    pub(crate) changes: u64,
}

impl Trial {
    /// Runs it.
    ///
    /// # Errors
    /// There is no fleet of this size.
    pub fn run(self) -> Result<Run, WorldError> {
        let mut course = Course::new(self)?;
        let settled = course.prepare_and_run();
        Ok(course.finish(settled))
    }

    /// Runs it, and records this part of it.
    ///
    /// # Errors
    /// There is no fleet of this size.
    pub fn record(self, window: Window) -> Result<Trace, WorldError> {
        let mut course = Course::new(self)?;
        course.world.record(window);
        // The recording ends with the window, whatever becomes of the run, and however soon it ends.
        let _: Option<Settled> = course.prepare_and_run();
        course.world.run_for(window.to.saturating_sub(course.world.now()));
        Ok(course.world.recorded())
    }

    /// The seed of its world: independent of the contestant, so that all meet the same fleets.
    fn world_seed(&self) -> u64 {
        let parts =
            [self.size as u64, u64::from(self.loss), self.conditions as u64, self.situation as u64];
        parts.into_iter().fold(mix(self.seed), |hash, part| mix(hash ^ mix(part)))
    }
}

impl Run {
    /// The messages that exceed those of the quiet fleet in as much time with a master; negative if
    /// that sends more.
    pub(super) fn excess(&self) -> f64 {
        let with_master = self.watched.saturating_sub(self.without_master.total);
        whole(self.messages.messages) - self.quiet_rate() * with_master.as_secs_f64()
    }

    /// The messages of the quiet fleet in a second.
    pub(super) fn quiet_rate(&self) -> f64 {
        let seconds = self.quiet_time.as_secs_f64();
        if seconds > 0.0 { whole(self.quiet_messages) / seconds } else { 0.0 }
    }

    /// Neither settled nor only watched: its time is longer than the limit.
    pub(crate) fn is_unsettled(&self) -> bool {
        !self.prepared || (self.trial.situation.settles() && self.took.is_none())
    }
}

/// The finalizer of `SplitMix64`.
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

/// The end of a course: when the groups settled after the event, if they did.
type Settled = Option<Duration>;

struct Course {
    trial: Trial,
    world: World,
    random: Rng,
    limit: Duration,
    allowance: Duration,
    observer: Observer,
    /// When a process was suspended before the event.
    suspended_at: Option<Duration>,
    /// The event, and what had been sent before it.
    began: Duration,
    messages: Traffic,
    wire: Wire,
}

impl Course {
    fn new(trial: Trial) -> Result<Self, WorldError> {
        let seed = trial.world_seed();
        let mut random = Rng::with_seed(mix(seed));
        let mut settings = trial.contestant.settings(trial.size, seed);
        settings.weather.loss = trial.loss;
        settings.codec = false;
        settings.inspect = false;
        trial.conditions.apply(&mut settings, &mut random);
        let world = World::new(settings)?;
        Ok(Self {
            observer: Observer::new(&world, trial.contestant.rotates()),
            world,
            random,
            limit: trial.contestant.limit(trial.size),
            allowance: trial.contestant.allowance(),
            suspended_at: None,
            began: Duration::ZERO,
            messages: Traffic::default(),
            wire: Wire::default(),
            trial,
        })
    }

    /// Runs all of it; `None` if the fleet did not settle before the event.
    fn prepare_and_run(&mut self) -> Option<Settled> {
        let all: Vec<usize> = (0..self.trial.size).collect();
        if self.trial.situation == Situation::Start {
            self.begin();
            self.world.start_all();
            self.look();
            return Some(self.settle(&[&all]));
        }
        self.world.start_all();
        self.quiet_groups(&[&all])?;
        let master = self.world.master_of(&all)?;
        let others = without(&all, master);
        let (even, odd): (Vec<usize>, Vec<usize>) = all.iter().partition(|node| **node % 2 == 0);
        let split = Fault::Partition(vec![even.clone(), odd.clone()]);
        Some(match self.trial.situation {
            // Above.
            Situation::Start => None,
            Situation::MasterDead => self.strike(Fault::Kill(master)).settle(&[&others]),
            Situation::PowerLoss => self.strike(Fault::PowerCut(master)).settle(&[&others]),
            Situation::MasterHung => self.strike(Fault::Suspend(master)).settle(&[&others]),
            Situation::Cascade => {
                self.strike(Fault::Kill(master)).next_master(&others).and_then(|next| {
                    self.inflict(Fault::Kill(next));
                    self.settle(&[&without(&others, next)])
                })
            }
            Situation::MasterReturns => {
                self.prepare(Fault::Kill(master), &[&others])?;
                self.strike(Fault::Restart(master)).settle(&[&all])
            }
            Situation::HungReturns => {
                self.suspended_at = Some(self.world.now());
                self.prepare(Fault::Suspend(master), &[&others])?;
                self.strike(Fault::Resume(master)).settle(&[&all])
            }
            Situation::Partition => self.strike(split).settle(&[&even, &odd]),
            Situation::Merge => {
                self.prepare(split, &[&even, &odd])?;
                self.strike(Fault::Heal).settle(&[&all])
            }
            Situation::Quiet => {
                self.begin();
                self.watch()
            }
            Situation::OneWay => {
                let to = self.one_of(&others);
                self.strike(Fault::CutOneWay { from: master, to }).watch()
            }
            Situation::NonTransitive => {
                let slave = self.one_of(&others);
                self.strike(Fault::Cut(master, slave)).watch()
            }
            Situation::Churn => self.churn(),
        })
    }

    /// Some events undo a fault: the fleet settles with the fault first, except for groups that
    /// can't have a master.
    fn prepare(&mut self, fault: Fault, groups: &[&[usize]]) -> Option<()> {
        self.inflict(fault);
        let Trial { contestant, size, .. } = self.trial;
        let groups = groups.iter().filter(|group| contestant.can_elect(group.len(), size));
        self.quiet_groups(&groups.copied().collect::<Vec<_>>())
    }

    fn strike(&mut self, fault: Fault) -> &mut Self {
        self.begin();
        self.inflict(fault);
        self
    }

    /// From here on things count.
    fn begin(&mut self) {
        self.began = self.world.now();
        self.messages = self.world.election_traffic();
        self.wire = self.world.wire();
        self.observer = Observer::new(&self.world, self.trial.contestant.rotates());
    }

    fn finish(mut self, settled: Option<Settled>) -> Run {
        let prepared = settled.is_some();
        if !prepared {
            self.begin();
        }
        // A cascade has two waits.
        let took = settled.flatten().filter(|took| *took <= self.limit);
        self.look();
        let (now, messages) = (self.world.now(), self.world.election_traffic());
        let wire = self.world.wire() - self.wire;
        let quiet_time = if took.is_some() { QUIET } else { Duration::ZERO };
        self.world.run_for(quiet_time);
        let afterwards = self.world.election_traffic().messages;
        let Observer { without_master, two_masters, changes, .. } = self.observer;
        Run {
            trial: self.trial,
            prepared,
            suspended: self.began.saturating_sub(self.suspended_at.unwrap_or(self.began)),
            began: if prepared { self.began } else { Duration::ZERO },
            took,
            watched: now.saturating_sub(self.began),
            messages: Traffic {
                messages: messages.messages - self.messages.messages,
                bytes: messages.bytes - self.messages.bytes,
            },
            quiet_messages: afterwards - messages.messages,
            quiet_time,
            wire,
            without_master,
            two_masters,
            changes,
        }
    }

    /// Waits until these groups have settled and have been quiet for a time at random. They agree
    /// then.
    fn quiet_groups(&mut self, groups: &[&[usize]]) -> Option<()> {
        let until = self.world.now() + self.limit;
        let phase = PHASE.max(self.trial.contestant.bound(self.trial.size) / 8);
        while self.world.now() < until {
            self.settle(groups)?;
            let later = phase.mul_f64(self.random.f64());
            self.world.run_for(STILL + later);
            // Not in the middle of a rotation.
            let latest = self.world.now() + self.allowance;
            while !self.agree(groups) && self.world.now() < latest {
                self.advance(latest);
            }
            if self.agree(groups) {
                return Some(());
            }
        }
        None
    }

    fn inflict(&mut self, fault: Fault) {
        self.world.inflict(fault);
        self.look();
    }

    fn look(&mut self) {
        self.observer.look(&self.world);
    }

    /// Runs until the next change of a node's state, or this moment.
    fn advance(&mut self, until: Duration) {
        let seen = self.world.state_changes();
        let left = until.saturating_sub(self.world.now());
        // It does not matter which of the two it was.
        let _: Option<Duration> = self.world.run_until(left, |world| world.state_changes() != seen);
        self.look();
    }

    /// Waits until all of these groups have settled, and returns when, after the event. Both the
    /// wait and the result end with the window.
    fn settle(&mut self, groups: &[&[usize]]) -> Settled {
        let last = self.world.now() + self.limit;
        let mut agreement = Agreement::new(self.allowance);
        loop {
            let now = self.world.now();
            agreement.look(now, self.agree(groups));
            let since = agreement.since;
            if let Some(at) = since.filter(|since| now >= *since + WINDOW) {
                return (at <= last).then(|| at.saturating_sub(self.began));
            }
            if now >= last && since.is_none_or(|since| since > last) {
                return None;
            }
            self.advance(since.map_or(last, |since| since + WINDOW));
        }
    }

    fn agree(&self, groups: &[&[usize]]) -> bool {
        groups.iter().all(|group| group.is_empty() || self.world.master_of(group).is_some())
    }

    /// The next of these that becomes master.
    fn next_master(&mut self, nodes: &[usize]) -> Option<usize> {
        let last = self.world.now() + self.limit;
        loop {
            let is_master = |node: &usize| self.world.node_state(*node) == Some(&NodeState::Master);
            let master = nodes.iter().copied().find(is_master);
            if master.is_some() || self.world.now() >= last {
                return master;
            }
            self.advance(last);
        }
    }

    fn one_of(&mut self, nodes: &[usize]) -> usize {
        nodes[self.random.usize(0..nodes.len())]
    }

    fn watch(&mut self) -> Settled {
        self.watch_until(self.began + self.trial.watch);
        None
    }

    fn watch_until(&mut self, until: Duration) {
        while self.world.now() < until {
            self.advance(until);
        }
    }

    fn churn(&mut self) -> Settled {
        self.begin();
        let end = self.began + self.trial.watch;
        let mut at = self.began;
        while at < end {
            let node = self.random.usize(0..self.trial.size);
            self.inflict(Fault::Kill(node));
            self.watch_until(end.min(at + CHURN_DEAD));
            self.inflict(Fault::Restart(node));
            at += CHURN_PERIOD;
            self.watch_until(end.min(at));
        }
        None
    }
}

fn without(nodes: &[usize], one: usize) -> Vec<usize> {
    nodes.iter().copied().filter(|node| *node != one).collect()
}
