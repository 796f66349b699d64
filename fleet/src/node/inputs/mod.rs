//! The inputs of a node: here those of mesh, panel, disk and time, and orders.

mod commands;
mod presses;

use core::net::Ipv4Addr;
use std::collections::VecDeque;
use std::time::Duration;

use elevator_driver::PanelEvent;

pub use self::presses::{Press, Pressed};
use crate::cabin::{Cabin, Occurrence};
use crate::car::Power;
use crate::dispatch::{Schedule, WeekTime};
use crate::election::{Input, LinkRule};
use crate::leadership::Leadership;
use crate::model::{Call, Dot, Hello, NodeId, NodeState, Term, Timestamp};
use crate::node::routes::Acceptance;
use crate::node::{Action, LinkId, LinkSide, Lsn, Node, NodeSettings, Report, Restored};
use crate::peers::{BeaconFate, Peers};
use crate::plan::Dispatching;
use crate::seeded::{SeededBug, is_seeded};
use crate::services::access::{Access, OrderRefused};
use crate::services::{Services, errand, fire_key};
use crate::settings::{Request, RequestId};
use crate::store::{Fate, Store, Taken};
use crate::wire::codec::WireError;
use crate::wire::{Beacon, Frame, Piggybacked};

/// A program's request to place a call, which it may repeat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallRequest {
    pub id: RequestId,
    /// Who makes it, for people; cut to 64 bytes.
    pub bearer: String,
    pub call: Call,
    /// Whether its passenger has shown a right of access.
    pub access: Access,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requested {
    /// It is the first one with its id, as far as the fleet remembers.
    Now(Taken),
    /// An earlier one with its id has come to this. Nothing was placed again.
    Before(Taken),
    /// An earlier one with its id was for another call. Nothing was placed.
    ForAnotherCall,
}

impl Node {
    /// Creates a node with the contents of its disk. Call [`start`](Self::start) next.
    #[must_use]
    pub fn new(settings: NodeSettings) -> Self {
        let hello = settings.hello();
        let NodeSettings { identity, election, building, mesh, car, climate, restored, seed } =
            settings;
        let flight_times = &restored.flight_times;
        let climate = climate.requested_every(election.request_period());
        let mut cabin = Cabin::new(hello.node.clone(), car, flight_times, climate);
        cabin.restore_counters(restored.counters.as_ref());
        // A car is out of service until its panel is heard.
        let (health, mut term) = (cabin.health(true), restored.term.restored());
        if is_seeded(SeededBug::TermForgotten) {
            term = Term::default();
        }
        let leadership = Leadership::new(election, &hello, health, term, mesh);
        let rule = leadership.profile().link_rule;
        let peers = Peers::new(hello.clone(), building.clone(), identity.link_port, mesh, rule);
        let rotates = leadership.profile().rotates;
        let store = Store::new(hello.clone(), building, &restored, rotates);
        let (settings, own) = (store.settings(), &hello.node);
        cabin.change_car(|car| car.restore_fire_key(fire_key(settings, own)));
        if settings.emergency_power().is_some() {
            cabin.set_power(Power::Waiting, Timestamp::START);
        }
        cabin.change_car(|car| car.set_command(settings.mode(own), Timestamp::START));
        let mut node = Self {
            leadership,
            peers,
            store,
            dispatching: Dispatching::default(),
            services: Services::default(),
            cabin,
            random: fastrand::Rng::with_seed(seed),
            actions: VecDeque::new(),
            hello,
        };
        let errand = errand(node.settings(), &node.hello.node);
        node.cabin.change_car(|car| car.set_errand(errand, Timestamp::START));
        node
    }

    /// With a schedule for idle cars: see [`handle_local_time`](Self::handle_local_time).
    #[must_use]
    pub fn with_schedule(mut self, schedule: Schedule) -> Self {
        self.dispatching.set_schedule(schedule);
        self
    }

    /// Starts the node: alone, with the lamps of its disk (P3), or as master (F2).
    pub fn start(&mut self, now: Timestamp) {
        self.leadership.start(now);
        self.route_store(now);
        self.orders_have_changed();
        self.step_election(Input::Start, now);
        self.settle(now);
    }

    /// A beacon arrived from this address. Returns what became of it, to be counted.
    pub fn handle_beacon(&mut self, from: Ipv4Addr, beacon: &Beacon, now: Timestamp) -> BeaconFate {
        let node = &beacon.hello.node;
        let state_of = |peers: &Peers| peers.membership.get(node).map(|it| it.node_state.clone());
        let state_before = state_of(&self.peers);
        let verdict = self.peers.membership.hear(beacon, now);
        let state = state_of(&self.peers);
        if state != state_before {
            // Where the mastership rotates, cars keep what they were told.
            if !self.leadership.profile().rotates {
                self.dispatching.on_peer_changed(node);
            }
            let relation = |state: &Option<NodeState>| self.peers.relation(state.as_ref()?);
            if relation(&state) != relation(&state_before) {
                self.peers.pairing.invalidate();
                self.dispatching.invalidate();
            }
        }
        if verdict.is_up_to_date() {
            let follows = |state: &NodeState| state.follows(&self.hello.node);
            self.leadership.hear_beacon(beacon);
            if follows(&beacon.node_state) {
                let has_joined = !state_before.as_ref().is_some_and(follows);
                self.leadership.hear_follower(beacon.led, has_joined);
            }
        }
        match self.on_heard(&verdict, &beacon.hello, now) {
            Acceptance::None => {}
            Acceptance::Orders => {
                self.on_records(node, &beacon.delta, now);
            }
            Acceptance::Full => {
                self.compare(beacon, now);
                self.reconcile(node, &beacon.node_state, now);
                self.choose_links();
                let equal =
                    beacon.node_state == NodeState::Master && beacon.digest == self.store.digest();
                self.peers.pairing.heard(node, equal, now);
                self.step_heard(node, now);
                self.on_delta(node, &beacon.delta, now);
            }
        }
        if let Some(Piggybacked { to, message }) = &beacon.piggybacked
            && verdict.is_first()
            && to.as_ref().is_none_or(|to| *to == self.hello.node)
        {
            self.on_message(node, message, now);
        }
        // What was sent long ago and is sent again draws no answer.
        if beacon.probe && verdict.is_first() {
            self.unicast(from, false, now);
        }
        self.settle(now);
        verdict.fate()
    }

    /// A datagram arrived from this address that can't be read as a beacon.
    pub fn handle_unreadable(&mut self, from: Ipv4Addr, error: &WireError, now: Timestamp) {
        if let Some(what) = self.peers.membership.hear_unreadable(from, error, now) {
            self.report(Report::Conflict { text: what });
        }
    }

    /// A link is up: hellos have been exchanged over it.
    pub fn handle_link_up(&mut self, link: LinkId, peer: &Hello, side: LinkSide, now: Timestamp) {
        let verdict = self.peers.membership.meet(peer, side, now);
        // A handshake proves that the peer is alive, even if the link is refused.
        let acceptance = self.on_heard(&verdict, peer, now);
        self.choose_links();
        let refused = match side {
            LinkSide::Accepted => {
                // A slave has only the one to its master (F1).
                self.leadership.profile().link_rule == LinkRule::FollowState
                    && matches!(self.leadership.node_state(), NodeState::Slave { .. })
            }
            LinkSide::Dialled => !self.peers.wants_link(&peer.node),
        };
        if refused || acceptance != Acceptance::Full {
            self.actions.push_back(Action::Close(link));
            if side == LinkSide::Dialled {
                self.dial_failed(&peer.node, now);
            }
        } else {
            let digest = self.store.digest();
            let node = &peer.node;
            if let Some(before) = self.peers.open_link(link, node, side, digest, now) {
                // The old link is still open: the new one replaces it.
                self.actions.push_back(Action::Close(before));
            }
            let digest = self.store.store_digest(self.leadership.terms.known());
            self.actions.push_back(Action::Send { link, frame: Frame::Digest(digest) });
        }
        self.settle(now);
    }

    /// A requested link could not be opened.
    pub fn handle_dial_failed(&mut self, peer: &NodeId, now: Timestamp) {
        self.dial_failed(peer, now);
        self.settle(now);
    }

    /// A frame arrived. Frames of a closed link and repeated hellos are ignored.
    pub fn handle_frame(&mut self, link: LinkId, frame: Frame, now: Timestamp) {
        let Some(known) = self.peers.links.get(link) else {
            return;
        };
        let peer = known.peer.clone();
        match frame {
            Frame::Hello(_) => {}
            Frame::Alive => self.peers.note_answer(link, now),
            Frame::Probe => self.actions.push_back(Action::Send { link, frame: Frame::Alive }),
            Frame::Digest(digest) => self.on_digest(link, digest, now),
            Frame::State(state) => {
                self.leadership.terms.hear(state.term);
                self.store.handle_state(&peer, &state, now);
                self.route_store(now);
                if state.more {
                    self.actions.push_back(Action::Send { link, frame: Frame::Next });
                } else {
                    self.on_state_received(link, now);
                }
            }
            Frame::Next => self.store.transfers.ask(link, now),
            Frame::Synced => {
                if self.peers.links.state_delivered(link) {
                    self.synced(link, now);
                }
            }
            Frame::Delta(delta) => self.on_delta(&peer, &delta, now),
            Frame::CarPlan(plan) => {
                // The master is obeyed (E3).
                let is_here = plan.park.is_none_or(|floor| self.hello.floors.contains(floor));
                if is_here && self.leadership.follows(&peer) {
                    self.cabin.set_plan(plan);
                }
            }
        }
        self.settle(now);
    }

    /// A link broke or was closed by the peer. A link that is already closed is ignored.
    pub fn handle_link_down(&mut self, link: LinkId, now: Timestamp) {
        self.close(link, now);
        self.settle(now);
    }

    /// A link ended because the peer sent something that is not a frame: it is dialled again later.
    pub fn handle_malformed(&mut self, link: LinkId, now: Timestamp) {
        if let Some(peer) = self.peers.links.get(link).map(|link| link.peer.clone()) {
            if let Some(conflict) = self.peers.membership.note_garbage(&peer, now) {
                self.report(Report::Conflict { text: conflict });
            }
            self.hang_up(link, now);
            self.dial_failed(&peer, now);
        }
        self.settle(now);
    }

    /// An event of the panel. A panel without a car, as in a lobby, has at most hall buttons.
    /// Returns what the node makes of a press; what becomes of its order is reported.
    pub fn handle_panel(&mut self, event: PanelEvent, now: Timestamp) -> Option<Press> {
        // A panel that restarts may send `Connected` alone.
        if matches!(event, PanelEvent::Connected | PanelEvent::Disconnected(_)) {
            self.services.boarding.lose_panel();
            self.orders_have_changed();
        }
        let press = self.cabin.handle_panel(event, now).and_then(|occurrence| match occurrence {
            Occurrence::Report(report) => {
                self.report(report);
                None
            }
            Occurrence::Pressed(button) => Some(self.press(button, now)),
            Occurrence::Requested(trip) => self.request(trip, now),
            Occurrence::Alarm => {
                self.raise_alarm(now);
                None
            }
        });
        self.settle(now);
        press
    }

    /// The wall clock, in seconds since 1970-01-01. Call it before the start and every few seconds.
    /// The time is only displayed; nothing else depends on it (E5).
    pub fn handle_wall_clock(&mut self, unix_seconds: u32, now: Timestamp) {
        self.cabin.set_wall_clock(unix_seconds, now);
        self.settle(now);
    }

    /// The local time of the week. Call it before the start and every few seconds. Only where idle
    /// cars wait depends on it, if there is a schedule.
    pub fn handle_local_time(&mut self, time: WeekTime, now: Timestamp) {
        self.dispatching.set_local_time(time);
        self.settle(now);
    }

    /// An operator or a program places an order, as if by a press of its button.
    ///
    /// # Errors
    /// [`OrderRefused`]: nothing has changed.
    pub fn handle_order(
        &mut self,
        call: &Call,
        access: Access,
        now: Timestamp,
    ) -> Result<Taken, OrderRefused> {
        let press = self.take_order(call, access, now)?;
        self.settle(now);
        Ok(taken(press))
    }

    /// A program places an order, and may ask again: the fleet places nothing again for a request
    /// that it has fulfilled, whichever node is asked, and after a restart, too. It remembers up to
    /// [`MOST_REQUESTS`](crate::settings::MOST_REQUESTS).
    ///
    /// # Errors
    /// As [`handle_order`](Self::handle_order).
    pub fn handle_request(
        &mut self,
        request: &CallRequest,
        now: Timestamp,
    ) -> Result<Requested, OrderRefused> {
        if let Some(earlier) = self.earlier(request) {
            return Ok(earlier);
        }
        let CallRequest { id, bearer, call, access } = request;
        let press = self.take_order(call, *access, now)?;
        // In the same batch for the disk as the order. Peers may get it before the order:
        // `earlier`.
        let request = Request::Call { id: *id, call: call.clone(), press };
        self.store.remember(request, bearer);
        self.route_store(now);
        self.settle(now);
        Ok(Requested::Now(taken(press)))
    }

    /// What became of an earlier request with this id, if the fleet remembers it. Where its press
    /// is not known, its node may have been lost before the order got here: then the order is
    /// placed again.
    #[must_use]
    pub fn earlier(&self, CallRequest { id, call, .. }: &CallRequest) -> Option<Requested> {
        match self.settings().request(*id)? {
            Request::Call { call: asked, press, .. } if asked == call => {
                let is_known =
                    press.is_none_or(|press| self.store.fate(press, call) != Fate::Unknown);
                is_known.then_some(Requested::Before(taken(*press)))
            }
            Request::Call { .. } | Request::Session(_) => Some(Requested::ForAnotherCall),
        }
    }

    /// Places an order, whose press it returns; `None` if an open door absorbs it.
    fn take_order(
        &mut self,
        call: &Call,
        access: Access,
        now: Timestamp,
    ) -> Result<Option<Dot>, OrderRefused> {
        let refused =
            self.consult(now, |services, bank| services.access.refuse(bank, call, access));
        if let Some(refused) = refused {
            return Err(refused);
        }
        Ok((!self.absorbs(call, now)).then(|| self.place(call, now)))
    }

    /// Everything up to and including this batch is on disk.
    pub fn handle_durable(&mut self, lsn: Lsn, now: Timestamp) {
        self.store.handle_durable(lsn, now);
        self.route_store(now);
        self.settle(now);
    }

    /// The disk has failed. Nothing is written until
    /// [it works again](Self::handle_disk_recovered) (P5).
    pub fn handle_disk_failed(&mut self, now: Timestamp) {
        self.store.lose_disk();
        self.route_store(now);
        self.settle(now);
    }

    /// The disk works again, and this stands in the journal on it. The node takes in what it does
    /// not know of that, and writes all that it has; only then does its disk count for lamps again
    /// (P5).
    pub fn handle_disk_recovered(&mut self, restored: &Restored, now: Timestamp) {
        if !self.store.ledger.failed() {
            return;
        }
        self.leadership.terms.hear(restored.term);
        self.store.regain_disk(restored, now);
        self.cabin.restore_counters(restored.counters.as_ref());
        self.route_store(now);
        self.settle(now);
    }

    /// The process did not run for `late`, until this moment: it received no messages and did not
    /// watch its car (H1). A peer that stays silent is lost in bounded time, however often this
    /// happens.
    pub fn handle_interrupted(&mut self, late: Duration, now: Timestamp) {
        self.peers.membership.excuse_silence(late, now);
        self.store.ledger.excuse(late, now);
        self.leadership.overdue.excuse(late, now);
        self.cabin.handle_interrupted(late, now);
        self.services.turns.interrupt(now);
        self.services.boarding.interrupt(now);
        self.settle(now);
    }

    /// The loop woke up `late` after its deadline: peers may be as late, and get more time.
    pub fn handle_delay(&mut self, late: Duration, now: Timestamp) {
        self.peers.membership.note_delay(late, now);
    }

    /// A deadline of [`poll_timeout`](Self::poll_timeout) may have passed.
    pub fn handle_timeout(&mut self, now: Timestamp) {
        let (lost, probed) = self.peers.membership.check(now);
        for peer in lost {
            self.lose(&peer, now);
        }
        for (peer, address) in probed {
            self.unicast(address, true, now);
            if let Some(link) = self.peers.links.probe(&peer, now) {
                self.actions.push_back(Action::Send { link, frame: Frame::Probe });
            }
        }
        self.fire_election_timers(now);
        self.pair(now);
        self.dispatching.handle_timeout(now);
        self.cabin.handle_timeout(now);
        self.settle(now);
    }

    /// The process is about to end: stops the motor for good.
    pub fn shut_down(&mut self, now: Timestamp) {
        self.cabin.change_car(|car| car.shut_down(now));
        self.store.ledger.close();
        self.settle(now);
    }

    pub(in crate::node) fn report(&mut self, report: Report) {
        self.actions.push_back(Action::Report(report));
    }

    pub(in crate::node) fn place(&mut self, call: &Call, now: Timestamp) -> Dot {
        let press = self.store.place(call, now);
        self.route_store(now);
        press
    }
}

fn taken(press: Option<Dot>) -> Taken {
    if press.is_some() { Taken::Placed } else { Taken::Absorbed }
}
