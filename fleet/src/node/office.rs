//! What the election wants, and what a change of standing brings with it.

use core::net::SocketAddrV4;

use super::beacon::MOST_ECHOES;
use super::{Action, LinkId, Node, Report};
use crate::election::{Carrier, Input, LinkRule, Message, Output};
use crate::model::{NodeId, Term, Timestamp};
use crate::wire::{Letter, Standing};

impl Node {
    pub(super) fn elect(&mut self, input: Input<'_>, now: Timestamp) {
        let mut outputs = Vec::new();
        let draw = self.random.u64(..);
        let estimate = self.election.estimate();
        self.election.handle(input, draw, &mut outputs);
        if self.election.estimate() != estimate {
            self.clock.hurry();
        }
        let to = self.election.standing();
        if to != self.standing {
            self.stand(to, now);
        }
        for output in outputs {
            match output {
                Output::Arm(timer, wait) => {
                    self.election_timers.insert(timer, now + wait);
                }
                Output::Disarm(timer) => {
                    self.election_timers.remove(&timer);
                }
                Output::Broadcast(message) => self.tell(None, message, Enclosed::Nothing, now),
                Output::Send(to, message) => self.tell(Some(to), message, Enclosed::Nothing, now),
                Output::HandOver(to, message) => {
                    self.tell(Some(to), message, Enclosed::Orders, now);
                }
                Output::Dial(peer) => self.dial(peer, now),
                Output::HangUp(peer) => {
                    if let Some(link) = self.links.to(&peer) {
                        self.hang_up(link, now);
                    }
                }
                Output::HangUpAllBut(peer) => {
                    for link in self.links.all_but(&peer) {
                        self.hang_up(link, now);
                    }
                }
            }
        }
    }

    /// Sends a message to one node or to all. A node that is not heard is not told.
    pub(super) fn tell(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let asks_all = to.is_none() && message == Message::SensorRequest;
        match self.election.carrier() {
            Carrier::Beacon => self.tell_by_beacon(to, message, enclosed, now),
            Carrier::Packet => self.tell_by_packet(to.as_ref(), &message),
        }
        if asks_all {
            self.gather_readings(now);
        }
    }

    fn tell_by_beacon(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let mut beacon = self.plain_beacon(now);
        beacon.letter = Some(Letter { to, message });
        let to = beacon.letter.as_ref().and_then(|letter| letter.to.as_ref());
        let address = to.map(|to| self.membership.get(to).map(|peer| peer.hello.address));
        beacon.echoes = match address.flatten() {
            Some(to) => self.membership.echoes_for(to),
            None => self.membership.echoes(MOST_ECHOES),
        };
        match enclosed {
            Enclosed::Nothing => {}
            Enclosed::Orders => self.enclose_orders(&mut beacon, now),
        }
        match address {
            None => self.actions.push_back(Action::Broadcast(beacon)),
            Some(Some(to)) => self.actions.push_back(Action::Unicast { to, beacon }),
            Some(None) => {}
        }
    }

    /// Takes in the message that a beacon of a peer that counts carries.
    pub(super) fn take_letter(&mut self, from: &NodeId, letter: &Letter, now: Timestamp) {
        let meant = letter.to.as_ref().is_none_or(|to| *to == self.hello.node);
        if meant {
            self.take_message(from, &letter.message, now);
        }
    }

    /// Takes in a message of a peer that counts, whatever carried it. The election's concern nodes
    /// that could follow each other only.
    pub(super) fn take_message(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        if self.may_follow(from) {
            self.elect(Input::Message { from, message }, now);
        }
        self.take_climate(from, message, now);
    }

    /// This node has asked everybody for sensor data.
    pub(super) fn gather_readings(&mut self, now: Timestamp) {
        let joined = self.links.joined().map(|(_, peer)| peer.clone());
        self.cabin.start_gathering(joined.collect(), now);
    }

    /// Takes in what concerns the climate. Any peer that counts will do, whether the election
    /// hears of it or not.
    pub(super) fn take_climate(&mut self, from: &NodeId, message: &Message, now: Timestamp) {
        let shows = self.shows_for(from);
        if let Some(answer) = self.cabin.handle_message(from, message, shows, now) {
            self.tell(Some(from.clone()), answer, Enclosed::Nothing, now);
        }
    }

    /// Whether the indicator shows what this peer says. Who has a coordinator shows what that one
    /// says: between two groups that hear each other in part it would change with every word.
    fn shows_for(&self, peer: &NodeId) -> bool {
        match &self.standing {
            Standing::Slave { master } => master == peer || self.election.rotates(),
            Standing::Master => self.election.rotates(),
            Standing::Seeking => true,
        }
    }

    /// Whether this node asks for sensor data: as master, unless the protocol itself does.
    pub(super) fn asks_for_readings(&self) -> bool {
        self.standing == Standing::Master && !self.election.requests_sensor_data()
    }

    /// Asks for sensor data, and tells what they come to, when it is time.
    pub(super) fn refresh_climate(&mut self, now: Timestamp) {
        if self.cabin.is_request_due(self.asks_for_readings(), now) {
            self.tell(None, Message::SensorRequest, Enclosed::Nothing, now);
        }
        if let Some(data) = self.cabin.display_data_due(now) {
            self.tell(None, Message::DisplayData(data), Enclosed::Nothing, now);
        }
        self.cabin.expire_display_data(now);
    }

    /// Tells the election if the node has become more or less fit to lead.
    pub(super) fn refresh_estimate(&mut self, now: Timestamp) {
        let health = self.cabin.health(!self.ledger.failed());
        let estimate = self.settings.election.estimate(health);
        if estimate != self.estimate {
            self.estimate = estimate;
            self.elect(Input::Estimate(estimate), now);
        }
    }

    /// Whether the election is told of this peer.
    pub(super) fn may_follow(&self, peer: &NodeId) -> bool {
        match self.election.link_rule() {
            LinkRule::FollowStanding => true,
            LinkRule::EveryPair => self.links.is_joined(peer),
        }
    }

    pub(super) fn hang_up(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Close(link));
        if let Some(link) = self.links.close(link) {
            self.part(&link.peer, now);
        }
    }

    pub(super) fn dial(&mut self, peer: NodeId, now: Timestamp) {
        match self
            .membership
            .get(&peer)
            .map(|known| (known.hello.address, known.link_port))
        {
            Some((address, port)) => {
                let address = SocketAddrV4::new(address, port);
                self.actions.push_back(Action::Dial { peer, address });
            }
            None => self.dial_failed(&peer, now),
        }
    }

    /// Takes another standing; a master takes office under a term of its own (E3).
    pub(super) fn stand(&mut self, to: Standing, now: Timestamp) {
        if to == Standing::Master {
            self.term = Term::next(self.term);
        }
        let from = std::mem::replace(&mut self.standing, to.clone());
        self.standing_since = now;
        self.former_master = match &from {
            Standing::Slave { master } => Some(master.clone()),
            Standing::Master | Standing::Seeking => None,
        };
        if self.election.rotates() {
            self.plan.inherit(&self.standing);
        } else {
            self.plan.clear();
        }
        self.planning.abandon();
        self.oversight.start_over();
        self.clock.hurry();
        self.stale.plan = true;
        self.cabin.invalidate_stops();
        let term = self.term;
        let settled = from != Standing::Seeking && to != Standing::Seeking;
        self.report(if settled && self.election.rotates() {
            Report::Rotated { from, to, term }
        } else {
            Report::Standing { from, to, term }
        });
    }
}

/// What a message is sent together with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Enclosed {
    Nothing,
    /// The open orders and the plan, as far as they fit.
    Orders,
}
