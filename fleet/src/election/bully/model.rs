//! The machine itself under a model checker: every order of events, a network that loses and
//! repeats, a crash, a restart, a link that breaks, an estimate that falls.
//!
//! Time does not exist here: a timer may fire whenever it is armed, a message may arrive whenever
//! it is under way, and stays under way, until it is lost. A site hears what another one is at that
//! moment. What is checked in every state that can be reached:
//!
//! - a candidate has the timers that end its waiting, a follower that is clearly fitter than its
//!   coordinator the one that ends its hold-off, and nobody else has any;
//! - terms never fall, and nobody begins to follow by a message of an older term (E3, E7);
//! - a barred site does not lead (B6);
//! - from here on, once nothing more breaks and messages arrive before timers fire, the sites come
//!   to rest under one coordinator that nobody outranks (E1, E2, E7, C3).
//!
//! The last one is what `eventually` can't say, for here an election may run out time after time.
//!
//! The space is finite because terms and messages under way have bounds; each test says which.

use std::collections::BTreeSet;

use stateright::{Checker, Model, Property};

use super::*;
use crate::election::nodes;

/// More states than any of the models generates. A run that comes so far has failed: the checker
/// stops there, and calls itself done.
const MOST_STATES: usize = 20_000_000;

/// So many rounds of events it takes the sites to come to rest at most.
const ROUNDS: usize = 12;

#[derive(Debug, Clone)]
struct Sites {
    estimates: Vec<u32>,
    /// Whether office adds to them.
    kind: Estimate,
    /// They know each other from the beginning.
    acquainted: bool,
    /// No term beyond this one.
    terms: u64,
    /// No more messages under way.
    messages: usize,
    crashes: u8,
    restarts: u8,
    /// How often a link may break.
    breaks: u8,
    /// How often an estimate may fall.
    falls: u8,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Moment {
    sites: Vec<Site>,
    network: BTreeSet<(usize, usize, Message)>,
    crashes: u8,
    restarts: u8,
    breaks: u8,
    falls: u8,
    /// A term fell, or an old announcement was believed.
    backwards: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Site {
    /// `None` once it has crashed.
    machine: Option<Bully>,
    timers: BTreeSet<Timer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Copy {
    Kept,
    Gone,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    /// The network keeps what it will repeat.
    Arrives(usize, usize, Message, Copy),
    IsLost(usize, usize, Message),
    Hears {
        who: usize,
        of: usize,
    },
    Loses {
        who: usize,
        of: usize,
    },
    Fires(usize, Timer),
    Crashes(usize),
    Restarts(usize),
    Weakens(usize),
}

fn candidate(index: usize, estimate: u32) -> Candidate {
    Candidate {
        estimate,
        ..nodes::candidate(number(index))
    }
}

fn name(index: usize) -> NodeId {
    nodes::name(number(index))
}

fn number(index: usize) -> u8 {
    u8::try_from(index).expect("few sites")
}

fn index(node: &NodeId) -> usize {
    node.as_str()[1..].parse().expect("a site")
}

impl Sites {
    fn site(&self, index: usize) -> Bully {
        let settings = Settings {
            estimate: self.kind,
            ..Settings::default()
        };
        Bully::new(candidate(index, self.estimates[index]), settings)
    }
}

impl Moment {
    fn tell(&mut self, who: usize, input: Input<'_>) {
        let Some(machine) = self.sites[who].machine.as_mut() else {
            return;
        };
        let mut outputs = Vec::new();
        let before = machine.term;
        machine.handle(input, 0, &mut outputs);
        self.backwards |= machine.term < before;
        for output in outputs {
            match output {
                Output::Arm(ElectionTimer::Bully(timer), _) => {
                    self.sites[who].timers.insert(timer);
                }
                Output::Disarm(ElectionTimer::Bully(timer)) => {
                    self.sites[who].timers.remove(&timer);
                }
                Output::Send(to, Letter::Bully(message)) => {
                    self.network.insert((who, index(&to), message));
                }
                other @ (Output::Arm(..)
                | Output::Disarm(_)
                | Output::Broadcast(_)
                | Output::Send(..)
                | Output::HandOver(..)
                | Output::Dial(_)
                | Output::HangUp(_)
                | Output::HangUpAllBut(_)) => panic!("{other:?}"),
            }
        }
    }

    fn hear(&mut self, who: usize, of: usize) {
        let Some(other) = self.sites[of].machine.as_ref() else {
            return;
        };
        let (peer, standing, term) = (
            candidate(of, other.estimate()),
            other.standing(),
            other.term,
        );
        self.tell(
            who,
            Input::Heard {
                peer: &peer,
                standing: &standing,
                term,
            },
        );
    }

    fn arrive(&mut self, from: usize, to: usize, message: Message) {
        let known = self.sites[to].machine.as_ref().map(|machine| machine.term);
        let followed = |moment: &Self| {
            let machine = moment.sites[to].machine.as_ref();
            machine.and_then(|machine| machine.follows().cloned())
        };
        let before = followed(self);
        let input = &message.into();
        self.tell(
            to,
            Input::Message {
                from: &name(from),
                message: input,
            },
        );
        if let (Message::Coordinator { term }, Some(known)) = (message, known) {
            self.backwards |= term < known && followed(self) != before;
        }
    }

    fn fire(&mut self, who: usize, timer: Timer) {
        self.sites[who].timers.remove(&timer);
        self.tell(who, Input::Fired(&timer.into()));
    }

    fn alive(&self) -> impl Iterator<Item = (usize, &Bully)> {
        let machine = |(index, site): (usize, &'_ Site)| site.machine.is_some().then_some(index);
        self.sites
            .iter()
            .enumerate()
            .filter_map(machine)
            .filter_map(|index| Some((index, self.sites[index].machine.as_ref()?)))
    }

    fn has_the_timers_it_needs(site: &Site) -> bool {
        let needed: &[Timer] = match site.machine.as_ref().map(|machine| &machine.state) {
            Some(State::Candidate(Stage::Asking, _)) => &[Timer::Answer, Timer::Ask],
            Some(State::Candidate(Stage::Answered, _)) => &[Timer::Coordinator],
            Some(State::Lost {
                comparison: Comparison::Exceeds,
                ..
            }) => &[Timer::HoldOff],
            Some(State::Sleep | State::Lost { .. } | State::Coordinator) | None => &[],
        };
        site.timers.iter().eq(needed)
    }

    /// One leads, all follow it, and nobody should lead instead. A fleet in which everybody is
    /// barred has none.
    fn is_right(&self) -> bool {
        let mut leaders = self
            .alive()
            .filter(|(_, machine)| machine.state == State::Coordinator);
        let Some((leader, coordinator)) = leaders.next() else {
            return self.alive().all(|(_, machine)| machine.is_barred());
        };
        let followed = self.alive().all(|(index, machine)| match &machine.state {
            State::Coordinator => index == leader,
            State::Lost { coordinator, .. } => *coordinator == name(leader),
            State::Sleep | State::Candidate(..) => false,
        });
        let outranked = self.alive().any(|(index, machine)| {
            if self.falls > 0 {
                machine
                    .settings
                    .exceeds(machine.fitness, coordinator.fitness)
            } else {
                (machine.estimate(), index) > (coordinator.estimate(), leader)
            }
        });
        followed && !outranked
    }

    /// Whether the sites come to rest, and stay, when nothing more breaks.
    fn settles(&self) -> bool {
        let mut moment = self.clone();
        for _ in 0..ROUNDS {
            let before = moment.clone();
            moment.hear_everybody();
            while let Some((from, to, message)) = moment.network.pop_first() {
                // It rides on a beacon, which tells what its sender is.
                moment.hear(to, from);
                moment.arrive(from, to, message);
            }
            if moment == before {
                if moment.is_right() {
                    return true;
                }
                for who in 0..moment.sites.len() {
                    for timer in moment.sites[who].timers.clone() {
                        if timer != Timer::Ask {
                            moment.fire(who, timer);
                        }
                    }
                }
            }
        }
        false
    }

    fn hear_everybody(&mut self) {
        for who in 0..self.sites.len() {
            for of in (0..self.sites.len()).filter(|of| *of != who) {
                if self.sites[of].machine.is_some() {
                    self.hear(who, of);
                } else {
                    self.tell(who, Input::Lost { peer: &name(of) });
                }
            }
        }
    }
}

impl Model for Sites {
    type State = Moment;
    type Action = Step;

    fn init_states(&self) -> Vec<Moment> {
        let count = self.estimates.len();
        let sites = (0..count).map(|index| Site {
            machine: Some(self.site(index)),
            timers: BTreeSet::new(),
        });
        let mut moment = Moment {
            sites: sites.collect(),
            network: BTreeSet::new(),
            crashes: 0,
            restarts: 0,
            breaks: 0,
            falls: 0,
            backwards: false,
        };
        for index in 0..count {
            moment.tell(index, Input::Start);
        }
        if self.acquainted {
            moment.hear_everybody();
            moment.network.clear();
        }
        vec![moment]
    }

    fn actions(&self, moment: &Moment, steps: &mut Vec<Step>) {
        for (from, to, message) in &moment.network {
            steps.push(Step::Arrives(*from, *to, *message, Copy::Kept));
            steps.push(Step::Arrives(*from, *to, *message, Copy::Gone));
            steps.push(Step::IsLost(*from, *to, *message));
        }
        for (who, site) in moment.sites.iter().enumerate() {
            let Some(machine) = &site.machine else {
                if moment.restarts < self.restarts {
                    steps.push(Step::Restarts(who));
                }
                continue;
            };
            steps.extend(site.timers.iter().map(|timer| Step::Fires(who, *timer)));
            for of in (0..moment.sites.len()).filter(|of| *of != who) {
                let lives = moment.sites[of].machine.is_some();
                if lives {
                    steps.push(Step::Hears { who, of });
                }
                if machine.sites.contains_key(&name(of)) && (!lives || moment.breaks < self.breaks)
                {
                    steps.push(Step::Loses { who, of });
                }
            }
            if moment.crashes < self.crashes {
                steps.push(Step::Crashes(who));
            }
            if moment.falls < self.falls {
                steps.push(Step::Weakens(who));
            }
        }
    }

    fn next_state(&self, last: &Moment, step: Step) -> Option<Moment> {
        let mut moment = last.clone();
        match step {
            Step::Arrives(from, to, message, copy) => {
                if copy == Copy::Gone {
                    moment.network.remove(&(from, to, message));
                }
                moment.arrive(from, to, message);
            }
            Step::IsLost(from, to, message) => {
                moment.network.remove(&(from, to, message));
            }
            Step::Hears { who, of } => moment.hear(who, of),
            Step::Loses { who, of } => {
                if moment.sites[of].machine.is_some() {
                    moment.breaks += 1;
                }
                moment.tell(who, Input::Lost { peer: &name(of) });
            }
            Step::Fires(who, timer) => moment.fire(who, timer),
            Step::Crashes(who) => {
                moment.crashes += 1;
                moment.sites[who].machine = None;
                moment.sites[who].timers.clear();
            }
            Step::Restarts(who) => {
                moment.restarts += 1;
                moment.sites[who].machine = Some(self.site(who));
                moment.tell(who, Input::Start);
            }
            Step::Weakens(who) => {
                moment.falls += 1;
                moment.tell(who, Input::Estimate(1));
            }
        }
        (moment != *last).then_some(moment)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("who waits has a timer", |_, moment: &Moment| {
                moment.sites.iter().all(Moment::has_the_timers_it_needs)
            }),
            Property::always("no term falls, no old one counts", |_, moment: &Moment| {
                !moment.backwards
            }),
            Property::always("the barred don't lead", |sites: &Self, moment: &Moment| {
                moment.alive().all(|(index, machine)| {
                    sites.estimates[index] > 0 || machine.standing() != Standing::Master
                })
            }),
            Property::always("it settles", |_, moment: &Moment| moment.settles()),
            Property::sometimes("the best leads all", |_, moment: &Moment| {
                moment.is_right() && moment.network.is_empty() && moment.crashes == 0
            }),
            Property::sometimes("two lead, for a while", |_, moment: &Moment| {
                let leads = |(_, machine): &(usize, &Bully)| machine.state == State::Coordinator;
                moment.alive().filter(leads).count() == 2
            }),
        ]
    }

    fn within_boundary(&self, moment: &Moment) -> bool {
        moment.network.len() <= self.messages
            && moment
                .alive()
                .all(|(_, machine)| machine.term.0 <= self.terms)
    }
}

/// Walks the whole space.
fn exhaust(sites: &Sites) {
    let checker = sites
        .clone()
        .checker()
        .threads(2)
        .target_state_count(MOST_STATES)
        .spawn_bfs()
        .join();
    println!("{sites:?}: {} states", checker.unique_state_count());
    let whole = checker.is_done() && checker.state_count() < MOST_STATES;
    assert!(whole, "not exhausted");
    checker.assert_properties();
}

/// E1, E3, E7, B6, C2, C3: two sites, one of which restarts.
#[test]
fn two_sites_agree_whatever_happens() {
    exhaust(&Sites {
        estimates: vec![20, 30],
        kind: Estimate::Health,
        acquainted: false,
        terms: 4,
        messages: 4,
        crashes: 1,
        restarts: 1,
        breaks: 1,
        falls: 0,
    });
}

/// E1, E3, E7, B1, B10, C2, C3: two sites, one of which becomes less fit.
#[test]
fn two_sites_agree_though_one_weakens() {
    exhaust(&Sites {
        estimates: vec![20, 30],
        kind: Estimate::Health,
        acquainted: false,
        terms: 4,
        messages: 4,
        crashes: 1,
        restarts: 0,
        breaks: 1,
        falls: 1,
    });
}

/// E1, E3, E7, C2, C3: three sites, one of which dies; every answer may be lost or repeated.
#[test]
fn three_sites_agree_though_one_dies() {
    exhaust(&Sites {
        estimates: vec![20, 30, 40],
        kind: Estimate::Fixed(0),
        acquainted: true,
        terms: 2,
        messages: 3,
        crashes: 1,
        restarts: 0,
        breaks: 0,
        falls: 0,
    });
}

/// B6, E2: one of three is barred, and may be all that is left.
#[test]
fn a_barred_site_never_leads() {
    exhaust(&Sites {
        estimates: vec![20, 30, 0],
        kind: Estimate::Fixed(0),
        acquainted: false,
        terms: 2,
        messages: 2,
        crashes: 1,
        restarts: 0,
        breaks: 0,
        falls: 0,
    });
}
