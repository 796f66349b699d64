//! What nodes say to each other of the election and the climate, by beacon or by packet.

use super::beacon::MOST_ECHOES;
use super::leadership::Enclosed;
use super::{Action, Node};
use crate::election::{Carrier, Input, Message};
use crate::model::{NodeId, Timestamp};
use crate::wire::Letter;

impl Node {
    /// Sends a message to one node or to all. A node that is not heard is not told.
    pub(super) fn tell(
        &mut self,
        to: Option<NodeId>,
        message: Message,
        enclosed: Enclosed,
        now: Timestamp,
    ) {
        let asks_all = to.is_none() && message == Message::SensorRequest;
        match self.leadership.carrier() {
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
        let shows = self.leadership.shows_for(from);
        if let Some(answer) = self.cabin.handle_message(from, message, shows, now) {
            self.tell(Some(from.clone()), answer, Enclosed::Nothing, now);
        }
    }

    /// Asks for sensor data, and tells what they come to, when it is time.
    pub(super) fn refresh_climate(&mut self, now: Timestamp) {
        if self
            .cabin
            .is_request_due(self.leadership.asks_for_readings(), now)
        {
            self.tell(None, Message::SensorRequest, Enclosed::Nothing, now);
        }
        if let Some(data) = self.cabin.display_data_due(now) {
            self.tell(None, Message::DisplayData(data), Enclosed::Nothing, now);
        }
        self.cabin.expire_display_data(now);
    }
}
