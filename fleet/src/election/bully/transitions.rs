//! What each event does in each state.

use super::{Bully, Comparison, Event, Message, Office, Output, Stage, State, Timer};
use crate::model::NodeId;

const ALL_TIMERS: [Timer; 5] =
    [Timer::Answer, Timer::Ask, Timer::Coordinator, Timer::Silence, Timer::HoldOff];

impl Bully {
    /// A timer that was disarmed says nothing.
    pub(super) fn step(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match self.state.clone() {
            State::Sleep => self.asleep(&event, outputs),
            State::Candidate(stage, until_then) => {
                self.candidate(stage, until_then, event, outputs);
            }
            State::Lost { master, comparison } => self.follower(master, comparison, event, outputs),
            State::Coordinator => self.master(event, outputs),
        }
    }

    fn asleep(&mut self, event: &Event, outputs: &mut Vec<Output>) {
        match event {
            Event::Started => self.ask(Office::Vacant, outputs),
            Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::CoordinatorWorks
            | Event::CoordinatorGone
            | Event::AnotherLeads
            | Event::Compared(_)
            | Event::Asked(_)
            | Event::Answered
            | Event::Announced(_)
            | Event::TimedOut(_) => {}
        }
    }

    fn candidate(
        &mut self,
        stage: Stage,
        until_then: Office,
        event: Event,
        outputs: &mut Vec<Output>,
    ) {
        match (stage, event) {
            (Stage::Asking, Event::HigherFound(peer)) => {
                outputs.push(Output::Send(peer, Message::Election.into()));
                outputs.push(self.arm(Timer::Answer));
            }
            (Stage::Asking, Event::TimedOut(Timer::Ask)) => {
                outputs.extend(self.questions());
                outputs.push(self.arm(Timer::Ask));
            }
            (Stage::Asking, Event::Answered) => self.await_coordinator(until_then, outputs),
            (Stage::Asking, Event::TimedOut(Timer::Answer)) if self.is_barred() => {
                self.ask(until_then, outputs);
            }
            (Stage::Asking, Event::TimedOut(Timer::Answer)) => {
                self.take_office(&until_then, outputs);
            }
            (Stage::Asking | Stage::Answered, Event::NobodyHigher)
            | (Stage::Answered, Event::TimedOut(Timer::Coordinator)) => {
                self.elect(until_then, outputs);
            }
            // Its own election is running.
            (Stage::Asking | Stage::Answered, Event::Asked(by)) => outputs.push(answer(by)),
            (Stage::Asking | Stage::Answered, Event::Announced(by)) => {
                if self.yields(&until_then, &by) {
                    self.follow(by, outputs);
                }
            }
            (Stage::Asking | Stage::Answered, Event::CoordinatorWorks) => {
                outputs.extend(self.watch());
            }
            (
                Stage::Asking | Stage::Answered,
                Event::CoordinatorGone | Event::TimedOut(Timer::Silence),
            ) => self.state = State::Candidate(stage, until_then.without_coordinator()),
            (Stage::Asking, Event::TimedOut(Timer::Coordinator | Timer::HoldOff))
            | (
                Stage::Answered,
                Event::HigherFound(_)
                | Event::Answered
                | Event::TimedOut(Timer::Answer | Timer::Ask | Timer::HoldOff),
            )
            | (
                Stage::Asking | Stage::Answered,
                Event::Started | Event::AnotherLeads | Event::Compared(_),
            ) => {}
        }
    }

    fn follower(
        &mut self,
        master: NodeId,
        comparison: Comparison,
        event: Event,
        outputs: &mut Vec<Output>,
    ) {
        match event {
            Event::CoordinatorGone | Event::TimedOut(Timer::Silence) => {
                self.elect(Office::Vacant, outputs);
            }
            Event::Compared(result) if result != comparison => {
                outputs.push(match result {
                    Comparison::Exceeds => self.arm(Timer::HoldOff),
                    Comparison::Trails => Output::Disarm(Timer::HoldOff.into()),
                });
                self.state = State::Lost { master, comparison: result };
            }
            Event::TimedOut(Timer::HoldOff) => self.elect(Office::Follows(master), outputs),
            Event::Asked(by) => {
                outputs.push(answer(by));
                self.elect(Office::Follows(master), outputs);
            }
            Event::Announced(by) => {
                if self.yields(&Office::Follows(master), &by) {
                    self.follow(by, outputs);
                }
            }
            Event::CoordinatorWorks => outputs.extend(self.watch()),
            Event::Started
            | Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::AnotherLeads
            | Event::Compared(_)
            | Event::Answered
            | Event::TimedOut(Timer::Answer | Timer::Ask | Timer::Coordinator) => {}
        }
    }

    fn master(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match event {
            Event::Asked(by) => {
                outputs.push(answer(by.clone()));
                if self.higher().next().is_some() {
                    self.elect(Office::Leads, outputs);
                } else {
                    outputs.push(self.announcement(by));
                }
            }
            Event::Announced(by) if self.yields(&Office::Leads, &by) => self.follow(by, outputs),
            Event::AnotherLeads | Event::Announced(_) => self.elect(Office::Leads, outputs),
            Event::Started
            | Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::CoordinatorWorks
            | Event::CoordinatorGone
            | Event::Compared(_)
            | Event::Answered
            | Event::TimedOut(_) => {}
        }
    }

    /// Holds an election (B2). It is over at once if there is nobody to ask.
    fn elect(&mut self, until_then: Office, outputs: &mut Vec<Output>) {
        if self.is_barred() || self.higher().next().is_some() {
            self.ask(until_then, outputs);
        } else {
            self.take_office(&until_then, outputs);
        }
    }

    fn ask(&mut self, until_then: Office, outputs: &mut Vec<Output>) {
        self.state = State::Candidate(Stage::Asking, until_then);
        outputs.extend(self.questions());
        outputs.push(Output::Disarm(Timer::Coordinator.into()));
        outputs.push(Output::Disarm(Timer::HoldOff.into()));
        outputs.push(self.arm(Timer::Answer));
        outputs.push(self.arm(Timer::Ask));
    }

    /// B4
    fn await_coordinator(&mut self, until_then: Office, outputs: &mut Vec<Output>) {
        self.state = State::Candidate(Stage::Answered, until_then);
        outputs.push(Output::Disarm(Timer::Answer.into()));
        outputs.push(Output::Disarm(Timer::Ask.into()));
        outputs.push(self.arm(Timer::Coordinator));
    }

    /// B3. Whoever has led all along goes on under its term.
    fn take_office(&mut self, until_then: &Office, outputs: &mut Vec<Output>) {
        if *until_then != Office::Leads {
            self.term = self.term.next();
        }
        self.state = State::Coordinator;
        outputs.extend(ALL_TIMERS.map(|timer| Output::Disarm(timer.into())));
        let lower = self.sites.keys().filter(|site| !self.is_higher(site));
        outputs.extend(lower.map(|site| self.announcement(site.clone())));
    }

    /// B5
    fn follow(&mut self, master: NodeId, outputs: &mut Vec<Output>) {
        self.state = State::Lost { master, comparison: Comparison::Trails };
        outputs.extend(ALL_TIMERS.map(|timer| Output::Disarm(timer.into())));
        outputs.extend(self.watch());
    }

    /// Whether a site gives up what it does for a site that has announced itself: it follows
    /// nobody below itself while it leads, and nobody below its master while that works.
    fn yields(&self, until_then: &Office, by: &NodeId) -> bool {
        match until_then {
            Office::Vacant => true,
            Office::Follows(master) => self.rank(master) <= self.rank(by),
            Office::Leads => self.is_higher(by),
        }
    }

    fn questions(&self) -> impl Iterator<Item = Output> {
        self.higher().map(|site| Output::Send(site.clone(), Message::Election.into()))
    }

    fn announcement(&self, to: NodeId) -> Output {
        Output::Send(to, Message::Coordinator { term: self.term }.into())
    }

    fn watch(&self) -> Option<Output> {
        (!self.settings.mesh_detection).then(|| self.arm(Timer::Silence))
    }

    fn arm(&self, timer: Timer) -> Output {
        let wait = match timer {
            Timer::Answer => self.settings.answer_wait,
            Timer::Ask => self.settings.ask_again,
            Timer::Coordinator => self.settings.coordinator_wait,
            Timer::Silence => self.settings.silence,
            Timer::HoldOff => self.settings.hold_off,
        };
        Output::Arm(timer.into(), wait)
    }
}

fn answer(to: NodeId) -> Output {
    Output::Send(to, Message::Answer.into())
}
