use super::{Attempt, Event, Kind, Message, Senior, Sign, State, Timer};
use crate::election::Message as Any;
use crate::election::reaction::Reaction;
use crate::model::NodeId;
use crate::seeded::{SeededBug, is_seeded};

impl Senior {
    pub(super) fn step(&mut self, event: Event, out: &mut Reaction<'_>) {
        match (&mut self.state, event) {
            (State::WaitingForMaster(attempt), Event::NeedsMaster(peer)) => {
                attempt.seen = attempt.seen.saturating_add(1);
                attempt.senior &= peer < self.own;
            }
            (State::WaitingForExecutors | State::Master, Event::NeedsMaster(peer)) => {
                out.send(&peer.node.0, Message::IAmMaster);
            }

            (State::WaitingForMaster(_), Event::Leads(peer, sign)) => {
                self.follow(peer.node.0, sign, out);
            }
            (State::Executor { master }, Event::Leads(peer, sign)) => {
                let present = self.peers.get(master);
                if *master == peer.node.0 || present.is_none_or(|present| *present < peer) {
                    self.follow(peer.node.0, sign, out);
                }
            }
            (State::WaitingForExecutors | State::Master, Event::Leads(peer, sign)) => {
                if self.own < peer {
                    if !is_seeded(SeededBug::SeniorNeverYields) {
                        self.follow(peer.node.0, sign, out);
                    }
                } else {
                    out.send(&peer.node.0, Message::IAmMaster);
                }
            }

            (State::WaitingForExecutors, Event::Executes) => {
                self.state = State::Master;
                self.request(Any::SensorRequest, out);
            }

            (State::Executor { master }, Event::LeadsNoLonger(peer)) if *master == peer => {
                self.on_master_lost(out);
            }
            (State::Executor { .. }, Event::Fired(Timer::MasterLoss)) => {
                self.on_master_lost(out);
            }

            (State::WaitingForMaster(attempt), Event::Fired(Timer::Answer)) => {
                let attempt = *attempt;
                self.unanswered(attempt, out);
            }
            (State::WaitingForMaster(_), Event::Start) => self.attempt(1, out),
            (State::WaitingForExecutors, Event::Start | Event::Fired(Timer::Request)) => {
                self.request(Message::NeedExecutors.into(), out);
            }
            (State::Master, Event::Fired(Timer::Request)) => {
                self.request(Any::SensorRequest, out);
            }

            // Nobody is waited for, or it is late.
            _ => {}
        }
    }

    /// M3: asks for a master. What the attempt before has seen counts no more.
    fn attempt(&mut self, number: u32, out: &mut Reaction<'_>) {
        self.state = State::WaitingForMaster(Attempt::new(number));
        out.broadcast(Message::NeedMaster);
        self.arm(Timer::Answer, out);
    }

    /// M6
    fn unanswered(&mut self, attempt: Attempt, out: &mut Reaction<'_>) {
        if attempt.number < self.settings.attempts {
            self.attempt(attempt.number + 1, out);
        } else if attempt.seen == 0 || attempt.senior {
            self.lead(out);
        } else {
            self.attempt(1, out);
        }
    }

    fn lead(&mut self, out: &mut Reaction<'_>) {
        self.state = State::WaitingForExecutors;
        self.request(Message::NeedExecutors.into(), out);
    }

    /// M7: a request of a master, and the time of the next.
    fn request(&mut self, message: Any, out: &mut Reaction<'_>) {
        out.broadcast(message);
        self.arm(Timer::Request, out);
    }

    /// M5: follows this master from here on, or still.
    fn follow(&mut self, master: NodeId, sign: Sign, out: &mut Reaction<'_>) {
        match &self.state {
            State::WaitingForMaster(_) => out.disarm(Timer::Answer),
            State::WaitingForExecutors | State::Master => out.disarm(Timer::Request),
            State::Executor { .. } => {}
        }
        self.arm(Timer::MasterLoss, out);
        if sign == Sign::NeedExecutors {
            out.send(&master, Message::IAmExecutor);
        }
        self.state = State::Executor { master };
    }

    /// M3. A control unit does not look for a master: it has no such state (M2).
    fn on_master_lost(&mut self, out: &mut Reaction<'_>) {
        out.disarm(Timer::MasterLoss);
        match self.own.kind {
            Kind::Indicator => self.attempt(1, out),
            Kind::Control => self.lead(out),
        }
    }

    fn arm(&self, timer: Timer, out: &mut Reaction<'_>) {
        out.arm(timer, self.settings.wait(timer));
    }
}
