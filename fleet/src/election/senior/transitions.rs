use super::{Attempt, Event, Kind, Message, Senior, Sign, State, Timer};
use crate::election::{Message as Any, Output};
use crate::model::NodeId;
use crate::seeded::{SeededBug, is_seeded};

impl Senior {
    pub(super) fn step(&mut self, event: Event, outputs: &mut Vec<Output>) {
        match (&mut self.state, event) {
            (State::WaitingForMaster(attempt), Event::NeedsMaster(peer)) => {
                attempt.seen = attempt.seen.saturating_add(1);
                attempt.senior &= peer < self.own;
            }
            (State::WaitingForExecutors | State::Master, Event::NeedsMaster(peer)) => {
                outputs.push(Output::Send(peer.node, Message::IAmMaster.into()));
            }

            (State::WaitingForMaster(_), Event::Leads(peer, sign)) => {
                self.follow(peer.node, sign, outputs);
            }
            (State::Executor { master }, Event::Leads(peer, sign)) => {
                let present = self.peers.get(master);
                if *master == peer.node || present.is_none_or(|present| *present < peer) {
                    self.follow(peer.node, sign, outputs);
                }
            }
            (State::WaitingForExecutors | State::Master, Event::Leads(peer, sign)) => {
                if self.own < peer {
                    if !is_seeded(SeededBug::SeniorNeverYields) {
                        self.follow(peer.node, sign, outputs);
                    }
                } else {
                    outputs.push(Output::Send(peer.node, Message::IAmMaster.into()));
                }
            }

            (State::WaitingForExecutors, Event::Executes) => {
                self.state = State::Master;
                self.request(Any::SensorRequest, outputs);
            }

            (State::Executor { master }, Event::LeadsNoLonger(peer)) => {
                if *master == peer {
                    self.on_master_lost(outputs);
                }
            }
            (State::Executor { .. }, Event::Fired(Timer::MasterLoss)) => {
                self.on_master_lost(outputs);
            }

            (State::WaitingForMaster(attempt), Event::Fired(Timer::Answer)) => {
                let attempt = *attempt;
                self.unanswered(attempt, outputs);
            }
            (State::WaitingForMaster(_), Event::Start) => self.attempt(1, outputs),
            (State::WaitingForExecutors, Event::Start | Event::Fired(Timer::Request)) => {
                self.request(Message::NeedExecutors.into(), outputs);
            }
            (State::Master, Event::Fired(Timer::Request)) => {
                self.request(Any::SensorRequest, outputs);
            }

            // Nobody is waited for, or it is late.
            (
                State::WaitingForMaster(_),
                Event::Executes
                | Event::LeadsNoLonger(_)
                | Event::Fired(Timer::MasterLoss | Timer::Request),
            )
            | (
                State::Executor { .. },
                Event::Start
                | Event::NeedsMaster(_)
                | Event::Executes
                | Event::Fired(Timer::Answer | Timer::Request),
            )
            | (
                State::WaitingForExecutors,
                Event::LeadsNoLonger(_) | Event::Fired(Timer::Answer | Timer::MasterLoss),
            )
            | (
                State::Master,
                Event::Start
                | Event::Executes
                | Event::LeadsNoLonger(_)
                | Event::Fired(Timer::Answer | Timer::MasterLoss),
            ) => {}
        }
    }

    /// M3: asks for a master. What the attempt before has seen counts no more.
    fn attempt(&mut self, number: u32, outputs: &mut Vec<Output>) {
        self.state = State::WaitingForMaster(Attempt::new(number));
        outputs.push(Output::Broadcast(Message::NeedMaster.into()));
        self.arm(Timer::Answer, outputs);
    }

    /// M6
    fn unanswered(&mut self, attempt: Attempt, outputs: &mut Vec<Output>) {
        if attempt.number < self.settings.attempts {
            self.attempt(attempt.number + 1, outputs);
        } else if attempt.seen == 0 || attempt.senior {
            self.lead(outputs);
        } else {
            self.attempt(1, outputs);
        }
    }

    /// Leads, and looks for executors.
    fn lead(&mut self, outputs: &mut Vec<Output>) {
        self.state = State::WaitingForExecutors;
        self.request(Message::NeedExecutors.into(), outputs);
    }

    /// M7: a request of a master, and the time of the next.
    fn request(&mut self, message: Any, outputs: &mut Vec<Output>) {
        outputs.push(Output::Broadcast(message));
        self.arm(Timer::Request, outputs);
    }

    /// M5: follows this master from here on, or still.
    fn follow(&mut self, master: NodeId, sign: Sign, outputs: &mut Vec<Output>) {
        let left = match &self.state {
            State::WaitingForMaster(_) => Some(Timer::Answer),
            State::WaitingForExecutors | State::Master => Some(Timer::Request),
            State::Executor { .. } => None,
        };
        outputs.extend(left.map(|timer| Output::Disarm(timer.into())));
        self.arm(Timer::MasterLoss, outputs);
        match sign {
            Sign::NeedExecutors => {
                outputs.push(Output::Send(master.clone(), Message::IAmExecutor.into()));
            }
            Sign::IAmMaster | Sign::SensorRequest => {}
        }
        self.state = State::Executor { master };
    }

    /// M3. A control unit that has followed another one does not look for a master: it has no such
    /// state (M2).
    fn on_master_lost(&mut self, outputs: &mut Vec<Output>) {
        outputs.push(Output::Disarm(Timer::MasterLoss.into()));
        match self.own.kind {
            Kind::Indicator => self.attempt(1, outputs),
            Kind::Control => self.lead(outputs),
        }
    }

    fn arm(&self, timer: Timer, outputs: &mut Vec<Output>) {
        outputs.push(Output::Arm(timer.into(), self.settings.wait(timer)));
    }
}
