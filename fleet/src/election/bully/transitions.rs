use super::{
    Bully, Comparison, Ended, Event, Interim, Mastership, Message, Output, Stage, State, Timer,
};
use crate::model::NodeId;

const ALL_TIMERS: [Timer; 7] = [
    Timer::Answer,
    Timer::Ask,
    Timer::Announcement,
    Timer::Silence,
    Timer::HoldOff,
    Timer::HeadStart,
    Timer::Pause,
];

impl Bully {
    /// A disarmed timer has no effect.
    pub(super) fn step(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match self.state.clone() {
            State::Sleep => self.asleep(&event, outputs),
            State::Candidate(stage, interim) => {
                self.candidate(stage, interim, event, outputs);
            }
            State::Lost { of, comparison, ended } => {
                self.follower(of, (comparison, ended), event, outputs);
            }
            State::Master => self.master(event, outputs),
        }
    }

    fn asleep(&mut self, event: &Event, outputs: &mut Vec<Output>) {
        match event {
            Event::Started => self.ask(Interim::Alone, outputs),
            Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::MasterAlive
            | Event::MasterLost
            | Event::AnotherMaster(_)
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
        interim: Interim,
        event: Event,
        outputs: &mut Vec<Output>,
    ) {
        match (stage, event) {
            (Stage::Asking, Event::HigherFound(peer)) => {
                outputs.push(Output::Send(peer, Message::Election.into()));
                if self.settings.mesh_detection {
                    outputs.push(self.arm(Timer::Answer));
                }
            }
            (Stage::Listening, Event::TimedOut(Timer::HeadStart)) => self.ask(interim, outputs),
            (Stage::Asking, Event::TimedOut(Timer::Ask)) => {
                outputs.extend(self.questions());
                outputs.push(self.arm(Timer::Ask));
            }
            (Stage::Asking, Event::Answered) => self.await_announcement(interim, outputs),
            (Stage::Asking, Event::TimedOut(Timer::Answer)) if self.is_barred() => {
                self.ask(interim, outputs);
            }
            (Stage::Asking, Event::TimedOut(Timer::Answer)) => {
                self.become_master(&interim, outputs);
            }
            (Stage::Listening | Stage::Asking | Stage::Answered, Event::NobodyHigher)
            | (Stage::Answered, Event::TimedOut(Timer::Announcement)) => {
                self.elect_at_once(interim, outputs);
            }
            // Its own election is running.
            (Stage::Listening | Stage::Asking | Stage::Answered, Event::Asked(by)) => {
                outputs.push(answer(by));
            }
            (Stage::Listening | Stage::Asking | Stage::Answered, Event::Announced(by)) => {
                if self.yields(&interim, &by) {
                    self.follow(by, outputs);
                }
            }
            (Stage::Listening | Stage::Asking | Stage::Answered, Event::MasterAlive) => {
                outputs.extend(self.watch());
            }
            (
                Stage::Listening | Stage::Asking | Stage::Answered,
                Event::MasterLost | Event::TimedOut(Timer::Silence),
            ) => self.state = State::Candidate(stage, interim.without_master()),
            (
                Stage::Listening,
                Event::TimedOut(Timer::Answer | Timer::Ask | Timer::Announcement),
            )
            | (Stage::Asking, Event::TimedOut(Timer::Announcement | Timer::HeadStart))
            | (Stage::Answered, Event::TimedOut(Timer::Answer | Timer::Ask | Timer::HeadStart))
            | (Stage::Listening | Stage::Answered, Event::HigherFound(_) | Event::Answered)
            | (
                Stage::Listening | Stage::Asking | Stage::Answered,
                Event::Started
                | Event::AnotherMaster(_)
                | Event::Compared(_)
                | Event::TimedOut(Timer::HoldOff | Timer::Pause),
            ) => {}
        }
    }

    fn follower(
        &mut self,
        of: Mastership,
        (comparison, ended): (Comparison, Ended),
        event: Event,
        outputs: &mut Vec<Output>,
    ) {
        match event {
            Event::MasterLost | Event::TimedOut(Timer::Silence) => {
                self.elect(Interim::Alone, outputs);
            }
            Event::Compared(result) if result != comparison => {
                outputs.push(match result {
                    Comparison::Exceeds => self.arm(Timer::HoldOff),
                    Comparison::Trails => Output::Disarm(Timer::HoldOff.into()),
                });
                self.state = State::Lost { of, comparison: result, ended };
            }
            Event::TimedOut(Timer::HoldOff) => self.elect(Interim::Follows(of), outputs),
            Event::Asked(by) => {
                outputs.push(answer(by));
                if self.is_called(&of.master, ended) {
                    self.elect(Interim::Follows(of), outputs);
                }
            }
            Event::TimedOut(Timer::Pause) => {
                self.state = State::Lost { of, comparison, ended: Ended::LongAgo };
            }
            Event::Announced(by) => {
                if self.yields(&Interim::Follows(of), &by) {
                    self.follow(by, outputs);
                }
            }
            Event::MasterAlive => outputs.extend(self.watch()),
            Event::Started
            | Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::AnotherMaster(_)
            | Event::Compared(_)
            | Event::Answered
            | Event::TimedOut(
                Timer::Answer | Timer::Ask | Timer::Announcement | Timer::HeadStart,
            ) => {}
        }
    }

    fn master(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match event {
            Event::Asked(by) => {
                outputs.push(answer(by.clone()));
                if self.higher().next().is_some() {
                    self.elect(Interim::Leads, outputs);
                } else {
                    outputs.push(self.announcement(by));
                }
            }
            Event::Announced(by) if self.yields(&Interim::Leads, &by) => self.follow(by, outputs),
            Event::AnotherMaster(other) if self.higher().next().is_none() => {
                outputs.push(self.announcement(other));
            }
            Event::AnotherMaster(_) | Event::Announced(_) => {
                self.elect(Interim::Leads, outputs);
            }
            Event::Started
            | Event::HigherFound(_)
            | Event::NobodyHigher
            | Event::MasterAlive
            | Event::MasterLost
            | Event::Compared(_)
            | Event::Answered
            | Event::TimedOut(_) => {}
        }
    }

    /// Whether a follower that is asked holds an election too (B6). As in the source it
    /// does, unless the last one has just ended; otherwise only if its master is lower.
    fn is_called(&self, master: &NodeId, ended: Ended) -> bool {
        if self.settings.mesh_detection { !self.is_higher(master) } else { ended == Ended::LongAgo }
    }

    /// Holds an election (B2), once the higher nodes have had their head start.
    fn elect(&mut self, interim: Interim, outputs: &mut Vec<Output>) {
        if self.settings.head_start.is_zero() || self.higher().next().is_none() {
            return self.elect_at_once(interim, outputs);
        }
        self.state = State::Candidate(Stage::Listening, interim);
        outputs.push(Output::Disarm(Timer::HoldOff.into()));
        outputs.push(Output::Disarm(Timer::Pause.into()));
        outputs.push(self.arm(Timer::HeadStart));
    }

    /// Holds an election (B2). It is over at once if there is nobody to ask.
    fn elect_at_once(&mut self, interim: Interim, outputs: &mut Vec<Output>) {
        if self.is_barred() || self.higher().next().is_some() {
            self.ask(interim, outputs);
        } else {
            self.become_master(&interim, outputs);
        }
    }

    fn ask(&mut self, interim: Interim, outputs: &mut Vec<Output>) {
        self.state = State::Candidate(Stage::Asking, interim);
        outputs.extend(self.questions());
        for timer in [Timer::Announcement, Timer::HoldOff, Timer::HeadStart, Timer::Pause] {
            outputs.push(Output::Disarm(timer.into()));
        }
        outputs.push(self.arm(Timer::Answer));
        outputs.push(self.arm(Timer::Ask));
    }

    /// B4
    fn await_announcement(&mut self, interim: Interim, outputs: &mut Vec<Output>) {
        self.state = State::Candidate(Stage::Answered, interim);
        outputs.push(Output::Disarm(Timer::Answer.into()));
        outputs.push(Output::Disarm(Timer::Ask.into()));
        outputs.push(self.arm(Timer::Announcement));
    }

    /// B3. A node that was master all along keeps its term.
    fn become_master(&mut self, interim: &Interim, outputs: &mut Vec<Output>) {
        if *interim != Interim::Leads {
            self.term = self.term.next();
        }
        self.state = State::Master;
        outputs.extend(ALL_TIMERS.map(|timer| Output::Disarm(timer.into())));
        let lower = self.peers.keys().filter(|node| !self.is_higher(node));
        outputs.extend(lower.map(|node| self.announcement(node.clone())));
    }

    /// B5
    fn follow(&mut self, of: Mastership, outputs: &mut Vec<Output>) {
        let trusted = self.settings.mesh_detection;
        let ended = if trusted { Ended::LongAgo } else { Ended::JustNow };
        self.state = State::Lost { of, comparison: Comparison::Trails, ended };
        outputs.extend(ALL_TIMERS.map(|timer| Output::Disarm(timer.into())));
        outputs.extend(self.watch());
        if ended == Ended::JustNow {
            outputs.push(self.arm(Timer::Pause));
        }
    }

    /// Whether a node gives up what it does for a node that has announced itself: it follows nobody
    /// below itself while it leads, and nobody below its master except in a later term: that node
    /// has missed the master.
    fn yields(&self, interim: &Interim, by: &Mastership) -> bool {
        match interim {
            Interim::Alone => true,
            Interim::Follows(of) => {
                by.term > of.term || self.rank(&of.master) <= self.rank(&by.master)
            }
            Interim::Leads => self.is_higher(&by.master),
        }
    }

    fn questions(&self) -> impl Iterator<Item = Output> {
        self.higher().map(|node| Output::Send(node.clone(), Message::Election.into()))
    }

    fn announcement(&self, to: NodeId) -> Output {
        Output::Send(to, Message::Master { term: self.term }.into())
    }

    fn watch(&self) -> Option<Output> {
        (!self.settings.mesh_detection).then(|| self.arm(Timer::Silence))
    }

    fn arm(&self, timer: Timer) -> Output {
        let wait = match timer {
            Timer::Answer | Timer::Pause => self.settings.answer_wait,
            Timer::Ask => self.settings.ask_again,
            Timer::Announcement => self.settings.coordinator_wait,
            Timer::Silence => self.settings.silence,
            Timer::HoldOff => self.settings.hold_off,
            Timer::HeadStart => self.settings.head_start,
        };
        Output::Arm(timer.into(), wait)
    }
}

fn answer(to: NodeId) -> Output {
    Output::Send(to, Message::Answer.into())
}
