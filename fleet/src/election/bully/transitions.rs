use super::{Bully, Comparison, Ended, Event, Interim, Mastership, Message, Stage, State, Timer};
use crate::election::reaction::Reaction;
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
    pub(super) fn step(&mut self, event: Event, out: &mut Reaction<'_>) {
        match (self.state.clone(), event) {
            (State::Sleep, Event::Started) => self.ask(Interim::Alone, out),
            (State::Sleep, _) => {}
            (State::Candidate(stage, interim), event) => {
                self.candidate(stage, interim, event, out);
            }
            (State::Lost { of, comparison, ended }, event) => {
                self.follower(of, (comparison, ended), event, out);
            }
            (State::Master, event) => self.master(event, out),
        }
    }

    fn candidate(&mut self, stage: Stage, interim: Interim, event: Event, out: &mut Reaction<'_>) {
        match (stage, event) {
            (Stage::Asking, Event::HigherFound(peer)) => {
                out.send(&peer, Message::Election);
                if self.settings.mesh_detection {
                    self.arm(Timer::Answer, out);
                }
            }
            (Stage::Listening, Event::TimedOut(Timer::HeadStart)) => self.ask(interim, out),
            (Stage::Asking, Event::TimedOut(Timer::Ask)) => {
                self.put_questions(out);
                self.arm(Timer::Ask, out);
            }
            (Stage::Asking, Event::Answered) => self.await_announcement(interim, out),
            (Stage::Asking, Event::TimedOut(Timer::Answer)) if self.is_barred() => {
                self.ask(interim, out);
            }
            (Stage::Asking, Event::TimedOut(Timer::Answer)) => {
                self.become_master(&interim, out);
            }
            (_, Event::NobodyHigher) | (Stage::Answered, Event::TimedOut(Timer::Announcement)) => {
                self.elect_at_once(interim, out);
            }
            // Its own election is running.
            (_, Event::Asked(by)) => out.send(&by, Message::Answer),
            (_, Event::Announced(by)) if self.yields(&interim, &by) => self.follow(by, out),
            (_, Event::MasterAlive) => self.watch(out),
            (_, Event::MasterLost | Event::TimedOut(Timer::Silence)) => {
                self.state = State::Candidate(stage, interim.without_master());
            }
            // It was meant for a stage that is over.
            _ => {}
        }
    }

    fn follower(
        &mut self,
        of: Mastership,
        (comparison, ended): (Comparison, Ended),
        event: Event,
        out: &mut Reaction<'_>,
    ) {
        match event {
            Event::MasterLost | Event::TimedOut(Timer::Silence) => {
                self.elect(Interim::Alone, out);
            }
            Event::Compared(result) if result != comparison => {
                match result {
                    Comparison::Exceeds => self.arm(Timer::HoldOff, out),
                    Comparison::Trails => out.disarm(Timer::HoldOff),
                }
                self.state = State::Lost { of, comparison: result, ended };
            }
            Event::TimedOut(Timer::HoldOff) => self.elect(Interim::Follows(of), out),
            Event::Asked(by) => {
                out.send(&by, Message::Answer);
                if self.is_called(&of.master, ended) {
                    self.elect(Interim::Follows(of), out);
                }
            }
            Event::TimedOut(Timer::Pause) => {
                self.state = State::Lost { of, comparison, ended: Ended::LongAgo };
            }
            Event::Announced(by) => {
                if self.yields(&Interim::Follows(of), &by) {
                    self.follow(by, out);
                }
            }
            Event::MasterAlive => self.watch(out),
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

    fn master(&mut self, event: Event, out: &mut Reaction<'_>) {
        match event {
            Event::Asked(by) => {
                out.send(&by, Message::Answer);
                if self.higher().next().is_some() {
                    self.elect(Interim::Leads, out);
                } else {
                    self.announce(&by, out);
                }
            }
            Event::Announced(by) if self.yields(&Interim::Leads, &by) => self.follow(by, out),
            Event::AnotherMaster(other) if self.higher().next().is_none() => {
                self.announce(&other, out);
            }
            Event::AnotherMaster(_) | Event::Announced(_) => {
                self.elect(Interim::Leads, out);
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
    fn elect(&mut self, interim: Interim, out: &mut Reaction<'_>) {
        if self.settings.head_start.is_zero() || self.higher().next().is_none() {
            return self.elect_at_once(interim, out);
        }
        self.state = State::Candidate(Stage::Listening, interim);
        out.disarm(Timer::HoldOff);
        out.disarm(Timer::Pause);
        self.arm(Timer::HeadStart, out);
    }

    /// Holds an election (B2). It is over at once if there is nobody to ask.
    fn elect_at_once(&mut self, interim: Interim, out: &mut Reaction<'_>) {
        if self.is_barred() || self.higher().next().is_some() {
            self.ask(interim, out);
        } else {
            self.become_master(&interim, out);
        }
    }

    fn ask(&mut self, interim: Interim, out: &mut Reaction<'_>) {
        self.state = State::Candidate(Stage::Asking, interim);
        self.put_questions(out);
        for timer in [Timer::Announcement, Timer::HoldOff, Timer::HeadStart, Timer::Pause] {
            out.disarm(timer);
        }
        self.arm(Timer::Answer, out);
        self.arm(Timer::Ask, out);
    }

    /// B4
    fn await_announcement(&mut self, interim: Interim, out: &mut Reaction<'_>) {
        self.state = State::Candidate(Stage::Answered, interim);
        out.disarm(Timer::Answer);
        out.disarm(Timer::Ask);
        self.arm(Timer::Announcement, out);
    }

    /// B3. A node that was master all along keeps its term.
    fn become_master(&mut self, interim: &Interim, out: &mut Reaction<'_>) {
        if *interim != Interim::Leads {
            self.term = self.term.next();
        }
        self.state = State::Master;
        out.disarm_but(&ALL_TIMERS, &[]);
        for lower in self.peers.keys().filter(|node| !self.is_higher(node)) {
            self.announce(lower, out);
        }
    }

    /// B5
    fn follow(&mut self, of: Mastership, out: &mut Reaction<'_>) {
        let trusted = self.settings.mesh_detection;
        let ended = if trusted { Ended::LongAgo } else { Ended::JustNow };
        self.state = State::Lost { of, comparison: Comparison::Trails, ended };
        out.disarm_but(&ALL_TIMERS, &[]);
        self.watch(out);
        if ended == Ended::JustNow {
            self.arm(Timer::Pause, out);
        }
    }

    /// Whether a node gives up what it does for one that has announced itself: it follows nobody
    /// below itself while it leads, and nobody below its master except in a later term.
    fn yields(&self, interim: &Interim, by: &Mastership) -> bool {
        match interim {
            Interim::Alone => true,
            Interim::Follows(of) => {
                by.term > of.term || self.rank(&of.master) <= self.rank(&by.master)
            }
            Interim::Leads => self.is_higher(&by.master),
        }
    }

    fn put_questions(&self, out: &mut Reaction<'_>) {
        for node in self.higher() {
            out.send(node, Message::Election);
        }
    }

    fn announce(&self, to: &NodeId, out: &mut Reaction<'_>) {
        out.send(to, Message::Master { term: self.term });
    }

    fn watch(&self, out: &mut Reaction<'_>) {
        if !self.settings.mesh_detection {
            self.arm(Timer::Silence, out);
        }
    }

    fn arm(&self, timer: Timer, out: &mut Reaction<'_>) {
        let wait = match timer {
            Timer::Answer | Timer::Pause => self.settings.answer_wait,
            Timer::Ask => self.settings.ask_again,
            Timer::Announcement => self.settings.coordinator_wait,
            Timer::Silence => self.settings.silence,
            Timer::HoldOff => self.settings.hold_off,
            Timer::HeadStart => self.settings.head_start,
        };
        out.arm(timer, wait);
    }
}
