//! Every state that a few units can get into, whatever is lost, late or repeated.
//!
//! Time does not pass here: a timer fires whenever it is armed. The network is one of two:
//!
//! - [`Network::Remembers`]: a message arrives whenever it has been sent, as often as it likes or
//!   never, and is never forgotten: lost, repeated, delayed and reordered without bound.
//! - [`Network::Forges`]: any message arrives from anybody who is heard, whether it has been sent
//!   or not. What can happen on the first network can happen on this one too, and its states are
//!   fewer by far.
//!
//! What holds in all states: a unit takes office only after all its attempts; the control unit
//! leads; a master that hears of one above it yields. And from each of them, as soon as the
//! network is calm, the units come to one master in bounded time and stay with it (M8, M9): that
//! is tried out, in virtual time, from every state that is reached.
//!
//! The states are finite but for the count of units seen, which the machine only compares with
//! zero: here it ends at 1. There is no other boundary. A run that comes to [`MOST_STEPS`] has
//! failed; the checker's own time limit is not used, for it looks like success.
//!
//! The largest models that the tests exhaust: on the network that remembers, two units, three
//! attempts, one crash, one start anew and one broken link; on the one that forges, with any
//! number of each of these, two units with four attempts, three indicator units
//! with one, and a control unit and two indicator units with two.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, PoisonError};

use stateright::{Checker, Model, Property};

use super::lan::Lan;
use super::tests::control;
use super::{Attempt, Kind, Message, Senior, Settings, State, Timer, Unit};
use crate::election::nodes::candidate;
use crate::election::{Candidate, Election, ElectionTimer, Input, Message as Any, Output};
use crate::model::Term;
use crate::wire::Standing;

/// More than any of the models needs.
const MOST_STEPS: usize = 3_000_000;

/// What messages arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Network {
    Remembers,
    Forges,
}

/// What else may happen, and how often; `u8::MAX` is without end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Misfortunes {
    crashes: u8,
    restarts: u8,
    /// Links that break although both ends live.
    breaks: u8,
}

#[derive(Debug)]
struct Fleet {
    candidates: Vec<Candidate>,
    settings: Settings,
    network: Network,
    misfortunes: Misfortunes,
    /// What the units make of calm has been tried out for these.
    tried: Mutex<BTreeSet<u64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Moment {
    units: Vec<Machine>,
    sent: BTreeSet<Sent>,
    left: Misfortunes,
    /// The last step was one that the protocol forbids.
    fault: Option<&'static str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Machine {
    /// `None` while it is down.
    election: Option<Senior>,
    armed: BTreeSet<Timer>,
    /// How often it has asked for a master since it last had one; counted up to the attempts.
    asked: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Sent {
    from: usize,
    to: usize,
    said: Said,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Said {
    Senior(Message),
    SensorRequest,
}

impl From<Said> for Any {
    fn from(said: Said) -> Self {
        match said {
            Said::Senior(message) => message.into(),
            Said::SensorRequest => Self::SensorRequest,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Deliver(Sent),
    Fire(usize, Timer),
    Hear { by: usize, of: usize },
    Lose { by: usize, of: usize },
    Crash(usize),
    Restart(usize),
}

impl Moment {
    fn alive(&self, at: usize) -> bool {
        self.units[at].election.is_some()
    }

    fn running(&self) -> impl Iterator<Item = (usize, &Senior)> {
        let units = self.units.iter().enumerate();
        units.filter_map(|(at, unit)| Some((at, unit.election.as_ref()?)))
    }

    fn leads(&self, at: usize) -> bool {
        let election = self.units[at].election.as_ref();
        election.is_some_and(|election| election.standing() == Standing::Master)
    }

    fn leaders(&self) -> usize {
        (0..self.units.len()).filter(|at| self.leads(*at)).count()
    }

    fn agrees(&self) -> bool {
        let mut masters = self.running().map(|(_, unit)| match unit.standing() {
            Standing::Master => Some(unit.own.node.clone()),
            Standing::Slave { master } => Some(master),
            Standing::Seeking => None,
        });
        let first = masters.next().flatten();
        self.leaders() == 1 && first.is_some() && masters.all(|master| master == first)
    }
}

impl Fleet {
    fn new(candidates: Vec<Candidate>, attempts: u32, network: Network) -> Self {
        Self {
            candidates,
            settings: Settings {
                attempts,
                ..Settings::fleet()
            },
            network,
            misfortunes: match network {
                Network::Remembers => ONCE,
                Network::Forges => WITHOUT_END,
            },
            tried: Mutex::default(),
        }
    }

    fn unit(&self, at: usize) -> Unit {
        Unit::of(&self.candidates[at])
    }

    /// The unit does something; what it sends is sent for ever.
    fn feed(&self, moment: &mut Moment, at: usize, input: Input<'_>) {
        let before = moment.units[at].election.as_ref().map(Election::standing);
        let mut outputs = Vec::new();
        if let Some(election) = moment.units[at].election.as_mut() {
            election.handle(input, 0, &mut outputs);
            if let State::WaitingForMaster(Attempt { seen, .. }) = &mut election.state {
                *seen = (*seen).min(1);
            }
        }
        for output in outputs {
            self.perform(moment, at, output);
        }
        let machine = &mut moment.units[at];
        let after = machine.election.as_ref().map(Election::standing);
        let (asked, needed) = (machine.asked, self.settings.attempts);
        let took_office = before == Some(Standing::Seeking) && after == Some(Standing::Master);
        if took_office && asked < needed {
            moment.fault = Some("took office before all attempts");
        }
        if after != Some(Standing::Seeking) {
            moment.units[at].asked = 0;
        }
    }

    fn perform(&self, moment: &mut Moment, from: usize, output: Output) {
        let machine = &mut moment.units[from];
        let said = |message: Any| {
            if let Any::Senior(message) = message {
                Said::Senior(message)
            } else {
                assert_eq!(message, Any::SensorRequest);
                Said::SensorRequest
            }
        };
        match output {
            Output::Arm(ElectionTimer::Senior(timer), _) => {
                machine.armed.insert(timer);
            }
            Output::Disarm(ElectionTimer::Senior(timer)) => {
                machine.armed.remove(&timer);
            }
            Output::Broadcast(message) => {
                let said = said(message);
                if said == Said::Senior(Message::NeedMaster) {
                    machine.asked = self.settings.attempts.min(machine.asked + 1);
                }
                let others = (0..self.candidates.len()).filter(|to| *to != from);
                let sent = others.map(|to| Sent { from, to, said });
                self.remember(moment, sent);
            }
            Output::Send(to, message) => {
                let said = said(message);
                let to = self.candidates.iter().position(|c| c.node == to);
                self.remember(moment, to.map(|to| Sent { from, to, said }).into_iter());
            }
            other @ (Output::Arm(..)
            | Output::Disarm(_)
            | Output::HandOver(..)
            | Output::Dial(_)
            | Output::HangUp(_)
            | Output::HangUpAllBut(_)) => panic!("{other:?} is none of the protocol's"),
        }
    }

    fn remember(&self, moment: &mut Moment, sent: impl Iterator<Item = Sent>) {
        match self.network {
            Network::Remembers => moment.sent.extend(sent),
            Network::Forges => {}
        }
    }

    /// Everything that can be told to this unit.
    fn forged(&self, to: usize) -> impl Iterator<Item = Sent> {
        let said = [
            Said::Senior(Message::NeedMaster),
            Said::Senior(Message::NeedExecutors),
            Said::Senior(Message::IAmMaster),
            Said::Senior(Message::IAmExecutor),
            Said::SensorRequest,
        ];
        let others = (0..self.candidates.len()).filter(move |from| *from != to);
        others.flat_map(move |from| said.map(|said| Sent { from, to, said }))
    }

    fn start(&self, moment: &mut Moment, at: usize) {
        moment.units[at] = Machine {
            election: Some(Senior::new(&self.candidates[at], self.settings)),
            armed: BTreeSet::new(),
            asked: 0,
        };
        self.feed(moment, at, Input::Start);
    }

    fn deliver(&self, moment: &mut Moment, sent: Sent) {
        let from = &self.candidates[sent.from].node;
        let knows = moment.units[sent.to]
            .election
            .as_ref()
            .is_some_and(|unit| unit.units.contains_key(from));
        let message = &sent.said.into();
        self.feed(moment, sent.to, Input::Message { from, message });
        let shows_master = match sent.said {
            Said::SensorRequest | Said::Senior(Message::NeedExecutors | Message::IAmMaster) => true,
            Said::Senior(Message::NeedMaster | Message::IAmExecutor) => false,
        };
        let above = self.unit(sent.to) < self.unit(sent.from);
        if knows && shows_master && above && moment.leads(sent.to) {
            moment.fault = Some("did not yield to a master above it");
        }
    }

    /// In calm there is one master within the time that the protocol takes; it is the control
    /// unit, if that is there; and it stays.
    fn calms_down(&self, moment: &Moment) -> bool {
        let mut hasher = DefaultHasher::new();
        moment.units.hash(&mut hasher);
        let print = hasher.finish();
        let tried = || self.tried.lock().unwrap_or_else(PoisonError::into_inner);
        if tried().contains(&print) {
            return true;
        }
        let mut lan = Lan::new(self.candidates.clone(), 0);
        for (at, unit) in moment.running() {
            let hears = |other: &usize| unit.units.contains_key(&self.candidates[*other].node);
            let hears: Vec<usize> = (0..self.candidates.len()).filter(hears).collect();
            let armed = moment.units[at].armed.iter().copied();
            lan.place(at, unit.clone(), armed, hears.into_iter());
        }
        let within = self.settings.decided_within();
        if lan.running().is_empty() {
            return true;
        }
        let best = lan.running().into_iter().max_by_key(|at| self.unit(*at));
        let by_right = best.filter(|at| self.unit(*at).kind == Kind::Control);
        let settled = lan.run_until(within, |lan| lan.master().is_some());
        let master = lan.master();
        lan.run_for(self.settings.master_loss);
        let calm = settled.is_some()
            && lan.master() == master
            && by_right.is_none_or(|at| master == Some(at));
        if calm {
            tried().insert(print);
        }
        calm
    }
}

impl Model for Fleet {
    type State = Moment;
    type Action = Step;

    fn init_states(&self) -> Vec<Moment> {
        let off = Machine {
            election: None,
            armed: BTreeSet::new(),
            asked: 0,
        };
        let mut moment = Moment {
            units: vec![off; self.candidates.len()],
            sent: BTreeSet::new(),
            left: self.misfortunes,
            fault: None,
        };
        for at in 0..self.candidates.len() {
            self.start(&mut moment, at);
        }
        vec![moment]
    }

    fn actions(&self, moment: &Moment, steps: &mut Vec<Step>) {
        steps.extend(moment.sent.iter().copied().map(Step::Deliver));
        for (at, unit) in moment.running() {
            let armed = moment.units[at].armed.iter();
            steps.extend(armed.map(|timer| Step::Fire(at, *timer)));
            match self.network {
                Network::Remembers => {}
                Network::Forges => steps.extend(self.forged(at).map(Step::Deliver)),
            }
            for of in (0..self.candidates.len()).filter(|of| *of != at) {
                let known = unit.units.contains_key(&self.candidates[of].node);
                if moment.alive(of) {
                    steps.push(Step::Hear { by: at, of });
                }
                if known && (!moment.alive(of) || moment.left.breaks > 0) {
                    steps.push(Step::Lose { by: at, of });
                }
            }
        }
        for at in 0..self.candidates.len() {
            match moment.alive(at) {
                true if moment.left.crashes > 0 => steps.push(Step::Crash(at)),
                false if moment.left.restarts > 0 => steps.push(Step::Restart(at)),
                true | false => {}
            }
        }
    }

    fn next_state(&self, before: &Moment, step: Step) -> Option<Moment> {
        let mut moment = before.clone();
        moment.fault = None;
        match step {
            Step::Deliver(sent) => self.deliver(&mut moment, sent),
            Step::Fire(at, timer) => {
                moment.units[at].armed.remove(&timer);
                self.feed(&mut moment, at, Input::Fired(&timer.into()));
            }
            Step::Hear { by, of } => {
                let standing = moment.units[of].election.as_ref()?.standing();
                let heard = Input::Heard {
                    peer: &self.candidates[of],
                    standing: &standing,
                    term: Term::default(),
                };
                self.feed(&mut moment, by, heard);
            }
            Step::Lose { by, of } => {
                if moment.alive(of) {
                    spend(&mut moment.left.breaks);
                }
                let peer = &self.candidates[of].node;
                self.feed(&mut moment, by, Input::Lost { peer });
            }
            Step::Crash(at) => {
                spend(&mut moment.left.crashes);
                moment.units[at] = Machine {
                    election: None,
                    armed: BTreeSet::new(),
                    asked: 0,
                };
            }
            Step::Restart(at) => {
                spend(&mut moment.left.restarts);
                self.start(&mut moment, at);
            }
        }
        (moment != *before).then_some(moment)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::<Self>::always("E7: no step that is forbidden", |_, moment| {
                moment.fault.is_none()
            }),
            Property::<Self>::always("nobody follows itself", |_, moment| {
                moment.running().all(|(_, unit)| match unit.standing() {
                    Standing::Slave { master } => master != unit.own.node,
                    Standing::Master | Standing::Seeking => true,
                })
            }),
            Property::<Self>::always("M2: one control unit leads", |fleet, moment| {
                let control = |at: &usize| fleet.unit(*at).kind == Kind::Control;
                let controls: Vec<usize> = (0..moment.units.len()).filter(control).collect();
                let leads = |at: &usize| !moment.alive(*at) || moment.leads(*at);
                controls.len() != 1 || controls.iter().all(leads)
            }),
            Property::<Self>::always("M8, M9: calm brings one master", Self::calms_down),
            Property::<Self>::sometimes("all follow one", |_, moment| {
                moment.agrees() && moment.running().count() == moment.units.len()
            }),
            Property::<Self>::sometimes("two masters", |_, moment| moment.leaders() > 1),
            Property::<Self>::sometimes("the survivors agree", |_, moment| {
                moment.agrees() && moment.running().count() < moment.units.len()
            }),
        ]
    }
}

fn spend(left: &mut u8) {
    if *left != u8::MAX {
        *left -= 1;
    }
}

fn exhaust(candidates: Vec<Candidate>, attempts: u32, network: Network) {
    let units = candidates.len();
    let checker = Fleet::new(candidates, attempts, network)
        .checker()
        .target_state_count(MOST_STEPS)
        .spawn_bfs()
        .join();
    let (states, steps) = (checker.unique_state_count(), checker.state_count());
    let calms = checker.model().tried.lock().map_or(0, |tried| tried.len());
    println!(
        "{units} units, {attempts} attempts, {network:?}: {states} states, {steps} steps, calm \
         tried from {calms}, depth {}",
        checker.max_depth()
    );
    checker.assert_properties();
    assert!(steps < MOST_STEPS, "not exhausted");
}

const ONCE: Misfortunes = Misfortunes {
    crashes: 1,
    restarts: 1,
    breaks: 1,
};

const WITHOUT_END: Misfortunes = Misfortunes {
    crashes: u8::MAX,
    restarts: u8::MAX,
    breaks: u8::MAX,
};

/// M8, M9, E7
#[test]
fn two_indicator_units_are_exhausted() {
    let units = || (1..=2).map(candidate).collect();
    exhaust(units(), 3, Network::Remembers);
    exhaust(units(), 4, Network::Forges);
}

/// M8, M9, E7
#[test]
fn a_control_unit_and_an_indicator_unit_are_exhausted() {
    let units = || vec![control(1), candidate(2)];
    exhaust(units(), 3, Network::Remembers);
    exhaust(units(), 4, Network::Forges);
}

/// M8, M9, E7
#[test]
fn three_indicator_units_are_exhausted() {
    exhaust((1..=3).map(candidate).collect(), 1, Network::Forges);
}

/// M8, M9, E7
#[test]
fn a_control_unit_and_two_indicator_units_are_exhausted() {
    let units = vec![control(1), candidate(2), candidate(3)];
    exhaust(units, 2, Network::Forges);
}
