//! What each input does.

use std::net::{Ipv4Addr, SocketAddrV4};

use elevator_driver::{Button, PanelEvent};

use super::links::{Handshake, accepts};
use super::membership::Heard;
use super::{Action, LinkId, LinkSide, Lsn, Node, Report};
use crate::car::Car;
use crate::coordination::{ElectionTimer, Input, Output};
use crate::model::{Call, Dot, JournalId, NodeId, Term, Timestamp};
use crate::orders::{Holding, Merged, Record, State};
use crate::wire::{Ack, Beacon, Frame, Hello, News, PlanEntry, Standing, StateTransfer};

/// An order that can't be placed. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OrderRefused {
    /// The building has no such button.
    #[error("there is no button for {call} in a building with floors 0 to {top}")]
    NoSuchButton {
        /// What was asked for.
        call: Call,
        /// The highest floor.
        top: u8,
    },
}

impl Node {
    /// Starts the node: a master, alone, with the lamps that its disk promises (F2, P3).
    pub fn start(&mut self, now: Timestamp) {
        self.started = true;
        self.standing = self.election.standing();
        self.term = self.term.next();
        self.stale.all();
        self.settle(now);
    }

    /// A beacon arrived from this address.
    pub fn handle_beacon(&mut self, from: Ipv4Addr, beacon: Beacon, now: Timestamp) {
        let verdict = self.membership.hear(&beacon, now);
        let node = &beacon.hello.node;
        match self.take_heard(&verdict, &beacon.hello, now) {
            Trust::None => {}
            Trust::Orders => self.take_news(
                node,
                News {
                    plan: Vec::new(),
                    ..beacon.news
                },
                now,
            ),
            Trust::Full => {
                self.term = self.term.max(beacon.term);
                self.compare(&beacon, now);
                let address = beacon.hello.address;
                let standing = &beacon.standing;
                self.elect(
                    Input::Heard {
                        peer: node,
                        address,
                        standing,
                    },
                    now,
                );
                self.take_news(node, beacon.news, now);
            }
        }
        if beacon.probe && verdict != Heard::Ignored {
            self.unicast(from, false, now);
        }
        self.settle(now);
    }

    /// A link stands: hellos have been exchanged over it.
    pub fn handle_link_up(&mut self, link: LinkId, peer: &Hello, side: LinkSide, now: Timestamp) {
        let verdict = self.membership.meet(peer, now);
        let refused = side == LinkSide::Accepted && !accepts(&self.standing);
        if refused || self.take_heard(&verdict, peer, now) != Trust::Full {
            self.actions.push_back(Action::Close(link));
            if side == LinkSide::Dialled {
                self.elect(Input::Parted { peer: &peer.node }, now);
            }
        } else {
            if let Some(before) = self.links.open(link, peer.node.clone(), side) {
                // The peer has not been parted from: the new link takes the place of the old.
                self.actions.push_back(Action::Close(before));
            }
            self.send_state(link, now);
        }
        self.settle(now);
    }

    /// A link that was asked for could not be made.
    pub fn handle_dial_failed(&mut self, peer: &NodeId, now: Timestamp) {
        self.elect(Input::Parted { peer }, now);
        self.settle(now);
    }

    /// A frame arrived. Frames of a link that is gone, and a second hello, are ignored.
    pub fn handle_frame(&mut self, link: LinkId, frame: Frame, now: Timestamp) {
        let Some(known) = self.links.get(link) else {
            return;
        };
        let peer = known.peer.clone();
        self.membership.alive(&peer, now);
        match frame {
            Frame::Hello(_) | Frame::Alive => {}
            Frame::Probe => self.actions.push_back(Action::Send {
                link,
                frame: Frame::Alive,
            }),
            Frame::State(state) => {
                self.take_state(&peer, state, now);
                self.actions.push_back(Action::Send {
                    link,
                    frame: Frame::Joined,
                });
                if self.links.state_taken(link) == Handshake::Done {
                    self.joined(link, now);
                }
            }
            Frame::Joined => {
                if self.links.state_given(link) == Handshake::Done {
                    self.joined(link, now);
                }
            }
            Frame::News(news) => self.take_news(&peer, news, now),
        }
        self.settle(now);
    }

    /// A link has broken or was closed by the peer. One that is gone already is ignored.
    pub fn handle_link_down(&mut self, link: LinkId, now: Timestamp) {
        if let Some(link) = self.links.close(link) {
            self.part(&link.peer, now);
        }
        self.settle(now);
    }

    /// The panel has something to say.
    pub fn handle_panel(&mut self, event: PanelEvent, now: Timestamp) {
        let Some(car) = self.car.as_mut() else {
            return;
        };
        car.handle_panel(&event, now);
        self.stale.car = true;
        match event {
            PanelEvent::Connected => self.panel_is(Ok(())),
            PanelEvent::Disconnected(reason) => self.panel_is(Err(reason)),
            PanelEvent::Inputs(inputs) => {
                if let Some(floor) = inputs.floor.filter(|_| inputs.floor != self.inputs.floor) {
                    self.report(Report::Floor(floor));
                }
                self.inputs = inputs;
            }
            PanelEvent::Pressed(button) => self.press(button, now),
        }
        self.settle(now);
    }

    /// An operator places an order; it is one like any other.
    ///
    /// # Errors
    /// The building has no such button.
    pub fn handle_order(&mut self, call: Call, now: Timestamp) -> Result<(), OrderRefused> {
        if !self.settings.floors.has_button(call.button()) {
            let top = self.settings.floors.top().index();
            return Err(OrderRefused::NoSuchButton { call, top });
        }
        self.place(call, now);
        self.settle(now);
        Ok(())
    }

    /// Everything up to and with this batch is on disk.
    pub fn handle_durable(&mut self, lsn: Lsn, now: Timestamp) {
        for dot in self.ledger.written(lsn) {
            if self.orders.get(dot).is_some() {
                self.promise.record(dot, &self.hello.node, Holding::Durable);
                self.replication.acknowledge(dot);
                self.clock.hurry();
            }
            self.stale.promise = true;
        }
        for call in std::mem::take(&mut self.unplaced) {
            self.place(call, now);
        }
        self.settle(now);
    }

    /// The disk can't be relied on; orders go on under a fresh journal that never reaches it (P5).
    pub fn handle_disk_failed(&mut self, fresh: JournalId, now: Timestamp) {
        if !self.ledger.failed() {
            self.ledger.fail(fresh);
            self.report(Report::DiskFailed);
            for call in std::mem::take(&mut self.unplaced) {
                self.place(call, now);
            }
        }
        self.settle(now);
    }

    /// The process was held up until this moment: what others did meanwhile could not be heard, and
    /// what the car did not be watched (H1).
    pub fn handle_interrupted(&mut self, now: Timestamp) {
        self.membership.forgive(now);
        if let Some(car) = self.car.as_mut() {
            car.handle_interrupted(now);
        }
        self.stale.car = true;
        self.settle(now);
    }

    /// It may be time for something: see [`poll_timeout`](Self::poll_timeout).
    pub fn handle_timeout(&mut self, now: Timestamp) {
        for peer in self.membership.expire(now) {
            self.lose(&peer, now);
        }
        for (peer, address) in self.membership.probe(now) {
            self.unicast(address, true, now);
            if let Some(link) = self.links.to(&peer) {
                self.actions.push_back(Action::Send {
                    link,
                    frame: Frame::Probe,
                });
            }
        }
        let due: Vec<ElectionTimer> = self
            .election_timers
            .iter()
            .filter(|(_, at)| **at <= now)
            .map(|(timer, _)| timer.clone())
            .collect();
        for timer in due {
            self.election_timers.remove(&timer);
            self.elect(Input::Fired(&timer), now);
        }
        if self.replan_at.is_some_and(|at| at <= now) {
            self.replan_at = None;
            self.stale.plan = true;
        }
        if let Some(car) = self.car.as_mut()
            && car.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            car.handle_timeout(now);
            self.stale.car = true;
        }
        self.settle(now);
    }

    /// The process is about to end: the motor stops and stays stopped.
    pub fn shut_down(&mut self, now: Timestamp) {
        if let Some(car) = self.car.as_mut() {
            car.shut_down(now);
        }
        self.stale.car = true;
        self.settle(now);
    }

    pub(super) fn report(&mut self, report: Report) {
        self.actions.push_back(Action::Report(report));
    }

    fn panel_is(&mut self, line: Result<(), String>) {
        if self.panel_connected != Some(line.is_ok()) {
            self.panel_connected = Some(line.is_ok());
            self.report(Report::Panel(line));
        }
    }

    fn press(&mut self, button: Button, now: Timestamp) {
        let absorbed = self
            .car
            .as_mut()
            .is_some_and(|car: &mut Car| car.absorbs(button, now));
        if !absorbed && self.settings.floors.has_button(button) {
            self.place(Call::of_button(button, &self.hello.node), now);
        }
    }

    fn place(&mut self, call: Call, now: Timestamp) {
        let Some(dot) = self.ledger.dot() else {
            self.unplaced.insert(call);
            return;
        };
        let own = self.hello.node.clone();
        let merged = self.orders.place(dot, &own, call.clone(), now);
        self.take_merged(dot, &call, &own, merged, None, now);
    }

    /// Follows up on a change of the store; `from` is the peer that told of it.
    fn take_merged(
        &mut self,
        dot: Dot,
        call: &Call,
        origin: &NodeId,
        merged: Merged,
        from: Option<&NodeId>,
        now: Timestamp,
    ) {
        match merged {
            Merged::Nothing => return,
            Merged::Placed { replaced } => {
                let own = self.hello.node.clone();
                self.promise.record(dot, &own, Holding::Held);
                if let Some(replaced) = replaced {
                    self.promise.inherit(replaced.dot, dot);
                    self.replication.replaced(replaced.dot);
                }
                self.report(Report::Placed {
                    call: call.clone(),
                    origin: origin.clone(),
                });
            }
            Merged::Served { closed } => {
                self.promise.forget(dot);
                if let Some(closed) = closed {
                    self.promise.forget(closed.dot);
                    if closed.dot != dot {
                        self.replication.replaced(closed.dot);
                    }
                    self.served_elsewhere(call, now.since(closed.placed));
                }
            }
        }
        self.ledger.note(dot);
        self.replication.changed(dot, from);
        self.clock.hurry();
        self.stale.orders();
    }

    fn served_elsewhere(&mut self, call: &Call, waited: std::time::Duration) {
        if self.orders.of_call(call).next().is_none() {
            if let Call::Hall(hall) = call {
                self.plan.forget(*hall);
            }
            self.report(Report::Served {
                call: call.clone(),
                waited,
                here: false,
            });
        }
    }

    fn take_record(&mut self, peer: &NodeId, record: Record, now: Timestamp) {
        if !self.settings.floors.has_button(record.call.button()) {
            return;
        }
        let Record {
            dot,
            origin,
            call,
            state,
        } = record.clone();
        let merged = self.orders.merge(record, now);
        self.take_merged(dot, &call, &origin, merged, Some(peer), now);
        match (state, self.orders.get(dot).is_some()) {
            (State::Open { .. }, true) => {
                self.promise.record(dot, peer, Holding::Held);
                self.replication.settled(peer, dot);
                self.stale.promise = true;
            }
            (State::Served, false) => self.replication.settled(peer, dot),
            // The peer is behind.
            (State::Open { .. }, false) | (State::Served, true) => {
                self.replication.owe(peer, dot);
            }
        }
    }

    fn take_ack(&mut self, peer: &NodeId, ack: Ack) {
        let open = self.orders.get(ack.dot).is_some();
        if open && !ack.served {
            let holding = if ack.durable {
                Holding::Durable
            } else {
                Holding::Held
            };
            self.promise.record(ack.dot, peer, holding);
            self.stale.promise = true;
        }
        if open != ack.served {
            self.replication.settled(peer, ack.dot);
        }
    }

    fn take_news(&mut self, peer: &NodeId, news: News, now: Timestamp) {
        if let Some(view) = news.car
            && let Some(known) = self.membership.get_mut(peer)
        {
            let before = known.car.replace((view, now)).map(|(before, _)| before);
            self.stale.plan |= before.is_none_or(|before| {
                (
                    before.phase,
                    before.floor,
                    before.availability,
                    before.direction,
                ) != (view.phase, view.floor, view.availability, view.direction)
            });
        }
        for record in news.records {
            let dot = record.dot;
            self.take_record(peer, record, now);
            self.replication.acknowledge(dot);
            self.clock.hurry();
        }
        for ack in news.acks {
            self.take_ack(peer, ack);
        }
        let from_master = matches!(&self.standing, Standing::Slave { master } if master == peer);
        if from_master {
            for entry in news.plan {
                self.take_assignment(entry);
            }
        }
    }

    fn take_assignment(&mut self, entry: PlanEntry) {
        let (call, car) = (Call::Hall(entry.call), entry.car.clone());
        if self.plan.learn(entry) {
            // A line of the plan may be overtaken by the service of its call.
            if self.orders.of_call(&call).next().is_some() {
                self.report(Report::Assigned { call, car });
            }
            self.stale.stops = true;
        }
    }

    fn take_state(&mut self, peer: &NodeId, state: StateTransfer, now: Timestamp) {
        self.term = self.term.max(state.term);
        let holding = if state.durable {
            Holding::Durable
        } else {
            Holding::Held
        };
        for record in state.records {
            let dot = record.dot;
            let told_open = record.state != State::Served;
            self.take_record(peer, record, now);
            if told_open && self.orders.get(dot).is_some() {
                self.promise.record(dot, peer, holding);
            }
        }
    }

    /// Holds the peer's store against this node's: equal digests acknowledge everything at once, a
    /// difference that stands is repaired (O7).
    fn compare(&mut self, beacon: &Beacon, now: Timestamp) {
        let node = &beacon.hello.node;
        let equal = beacon.digest == self.orders.digest();
        let Some(peer) = self.membership.get_mut(node) else {
            return;
        };
        if equal {
            peer.differs_since = None;
            if self.replication.all_settled(node) || beacon.durable {
                let holding = if beacon.durable {
                    Holding::Durable
                } else {
                    Holding::Held
                };
                let dots: Vec<Dot> = self.orders.orders().map(|order| order.dot).collect();
                for dot in dots {
                    self.promise.record(dot, node, holding);
                    self.stale.promise = true;
                }
            }
            return;
        }
        let since = *peer.differs_since.get_or_insert(now);
        if now.since(since) >= self.settings.mesh.repair_after
            && let Some(link) = self.links.to(node)
        {
            peer.differs_since = Some(now);
            self.report(Report::Repair { node: node.clone() });
            self.send_state(link, now);
        }
    }

    fn send_state(&mut self, link: LinkId, now: Timestamp) {
        let records = self.orders.records(now).collect();
        let durable = self.ledger.all_durable();
        let state = StateTransfer {
            term: self.term,
            records,
            durable,
        };
        self.actions.push_back(Action::Send {
            link,
            frame: Frame::State(state),
        });
    }

    fn take_heard(&mut self, verdict: &Heard, hello: &Hello, now: Timestamp) -> Trust {
        match verdict {
            Heard::Ignored | Heard::Unproven => Trust::None,
            Heard::Overtaken => Trust::Orders,
            Heard::Conflict(what) => {
                self.report(Report::Conflict(what.clone()));
                Trust::None
            }
            Heard::Current { found, replaced } => {
                if *replaced {
                    self.lose(&hello.node, now);
                }
                if *found {
                    self.find(hello);
                }
                Trust::Full
            }
        }
    }

    fn find(&mut self, hello: &Hello) {
        let node = hello.node.clone();
        let open: Vec<Dot> = self.orders.orders().map(|order| order.dot).collect();
        self.replication.found(&node, open.into_iter());
        self.report(Report::PeerFound {
            node,
            address: hello.address,
        });
        self.clock.hurry();
        self.stale.promise = true;
    }

    fn lose(&mut self, peer: &NodeId, now: Timestamp) {
        if let Some(link) = self.links.to(peer) {
            self.links.close(link);
            self.actions.push_back(Action::Close(link));
        }
        self.replication.lost(peer);
        self.promise.forget_node(peer);
        self.report(Report::PeerLost { node: peer.clone() });
        self.elect(Input::Lost { peer }, now);
        self.stale.promise = true;
        self.stale.plan = true;
    }

    fn joined(&mut self, link: LinkId, now: Timestamp) {
        let Some((peer, side)) = self
            .links
            .get(link)
            .map(|link| (link.peer.clone(), link.side))
        else {
            return;
        };
        self.replication.linked(&peer);
        self.report(Report::Joined { node: peer.clone() });
        self.elect(Input::Joined { peer: &peer, side }, now);
        if self.standing == Standing::Master {
            let plan: Vec<PlanEntry> = self.plan.entries().collect();
            let news = News {
                plan,
                car: self.car_view(now),
                ..News::default()
            };
            self.actions.push_back(Action::Send {
                link,
                frame: Frame::News(news),
            });
        }
        self.stale.told_car = None;
        self.stale.plan = true;
    }

    fn part(&mut self, peer: &NodeId, now: Timestamp) {
        self.replication.parted(peer);
        self.elect(Input::Parted { peer }, now);
        self.stale.plan = true;
    }

    fn elect(&mut self, input: Input<'_>, now: Timestamp) {
        let mut outputs = Vec::new();
        let draw = self.random.u64(..);
        self.election.handle(input, draw, &mut outputs);
        let to = self.election.standing();
        if to != self.standing {
            self.stand(to, now);
        }
        for output in outputs {
            match output {
                Output::Arm(timer, wait) => {
                    self.election_timers.insert(timer, now + wait);
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

    fn hang_up(&mut self, link: LinkId, now: Timestamp) {
        self.actions.push_back(Action::Close(link));
        if let Some(link) = self.links.close(link) {
            self.part(&link.peer, now);
        }
    }

    fn dial(&mut self, peer: NodeId, now: Timestamp) {
        match self
            .membership
            .get(&peer)
            .map(|known| (known.hello.address, known.link_port))
        {
            Some((address, port)) => {
                let address = SocketAddrV4::new(address, port);
                self.actions.push_back(Action::Dial { peer, address });
            }
            None => self.elect(Input::Parted { peer: &peer }, now),
        }
    }

    /// Takes another standing; a master takes office under a term of its own (E3).
    fn stand(&mut self, to: Standing, _now: Timestamp) {
        if to == Standing::Master {
            self.term = Term::next(self.term);
        }
        let from = std::mem::replace(&mut self.standing, to.clone());
        self.plan.clear();
        self.clock.hurry();
        self.stale.plan = true;
        self.stale.stops = true;
        self.report(Report::Standing {
            from,
            to,
            term: self.term,
        });
    }
}

/// How much of a beacon is taken in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trust {
    None,
    Orders,
    Full,
}
