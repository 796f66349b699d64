//! Emergency power: one car at a time may move, and the master says which.
//!
//! ```text
//!   emergency-power: on ──▶ every car stops, wherever it is
//!   master: nobody moves, all know the last turn ──▶ turn: CAR by MASTER
//!   CAR: down, its door open ──▶ turn: CAR done        or the master: it does not move ──▶ turn: none
//!   all had their turn ──▶ turn: CAR by MASTER serves: first a car that a firefighter has
//! ```
//!
//! **At no time may two cars move.** A turn is one register for the whole fleet, and it counts only
//! while the car's node follows the master that gave it. So it ends when that master is lost, replaced
//! or cut off, without a message. Before a master gives a turn, all that follow it are at rest and know
//! of the turn before. Of a car whose node does not follow it, it can't know that. So it needs most of
//! the fleet, of which there is one at a time, and waits [`HOLD_OFF`] after it has lost sight of any:
//! by then the other side has noticed, too, and a master there has taken back its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};

use super::Node;
use crate::car::{Car, Power};
use crate::directives::{Directives, EmergencyPower, Setting, Turn};
use crate::model::{
    Availability, Call, CarPhase, CarView, Mode, NodeId, NodeState, Role, Timestamp, Unavailable,
};
use crate::seeded::{SeededBug, is_seeded};

/// How long a master gives no turn after a node has stopped following it: many times as long as it
/// takes until a node notices that it is cut off.
const HOLD_OFF: Duration = Duration::from_secs(10);

/// How long a car may stay where it is in its turn before it is the next one's.
const TURN_LIMIT: Duration = Duration::from_mins(1);

/// For how long a node that did not run neither moves its car nor gives a turn: what it hears at first
/// was sent long ago.
const WAKING: Duration = Duration::from_secs(2);

/// What a node knows of the turns besides the directives.
#[derive(Debug, Default)]
pub(super) struct Turns {
    /// The cars that have had their turn.
    had: BTreeSet<NodeId>,
    /// The node's own car may move.
    holds: bool,
    /// As master: the nodes with a car that follow it.
    followers: BTreeSet<NodeId>,
    /// As master: when it came to be that, or last lost one of them.
    unsure_since: Option<Timestamp>,
    /// As master: where the car was whose turn it is, and since when.
    place: Option<(NodeId, Option<Floor>, Timestamp)>,
    not_before: Timestamp,
    due: Option<Timestamp>,
}

/// The cars that follow this node, as it last heard of them.
type Views = BTreeMap<NodeId, CarView>;

fn moves(view: &CarView) -> bool {
    match view.phase {
        CarPhase::Moving { .. } | CarPhase::Homing => true,
        CarPhase::Idle | CarPhase::Opening | CarPhase::Open | CarPhase::Closing => false,
    }
}

impl Turns {
    /// The node did not run until now.
    pub(super) fn interrupt(&mut self, now: Timestamp) {
        self.holds = false;
        self.unsure_since = None;
        self.not_before = now + WAKING;
    }

    /// These directives are in force from now on; `is_new`: emergency power was commanded anew.
    pub(super) fn note(&mut self, directives: &Directives, is_new: bool) {
        if is_new {
            self.had.clear();
        }
        if let Turn::Done { car } = directives.turn() {
            self.had.insert(car);
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Timestamp> {
        self.due
    }

    /// As master: takes note of who follows. `false` while that is not most of the fleet.
    fn muster(&mut self, followers: BTreeSet<NodeId>, cars: u16, now: Timestamp) -> bool {
        let has_most = followers.len() > usize::from(cars / 2);
        if !has_most {
            self.unsure_since = None;
        } else if self.unsure_since.is_none() || !self.followers.is_subset(&followers) {
            self.unsure_since = Some(now);
        }
        self.followers = followers;
        has_most
    }

    /// Since when the car whose turn it is has been where it is.
    fn stands_since(&mut self, car: &NodeId, at: Option<Floor>, now: Timestamp) -> Timestamp {
        if let Some((known, place, since)) = &self.place
            && known == car
            && *place == at
        {
            return *since;
        }
        self.place = Some((car.clone(), at, now));
        now
    }
}

impl Node {
    /// What emergency power asks of this node's car, and of this node as master.
    pub(super) fn refresh_power(&mut self, now: Timestamp) {
        self.services.turns.due = None;
        let Some(emergency) = self.directives().emergency_power() else {
            self.services.turns =
                Turns { not_before: self.services.turns.not_before, ..Turns::default() };
            self.cabin.set_power(Power::Normal, now);
            return;
        };
        if now < self.services.turns.not_before {
            self.services.turns.holds = false;
            // Others may have given turns meanwhile.
            if self.leadership.leads() && self.has_given(&self.directives().turn()) {
                self.set_turn(&Turn::None, now);
            }
            self.services.turns.due = Some(self.services.turns.not_before);
            self.cabin.set_power(Power::Waiting, now);
            return;
        }
        if self.leadership.leads() {
            self.give_turns(&emergency, now);
        } else {
            self.services.turns.unsure_since = None;
            self.services.turns.followers.clear();
        }
        self.services.turns.holds = self.holds_turn();
        let moves = self.services.turns.holds || is_seeded(SeededBug::EveryCarHasItsTurn);
        let power = if moves { Power::Granted } else { Power::Waiting };
        self.cabin.set_power(power, now);
        let own = self.hello.node.clone();
        let is_own = matches!(self.directives().turn(), Turn::Evacuates { car, .. } if car == own);
        if is_own && self.services.turns.holds && self.cabin.car().is_some_and(Car::is_recalled) {
            self.set_turn(&Turn::Done { car: own }, now);
            self.services.turns.holds = false;
            self.cabin.set_power(Power::Waiting, now);
        }
    }

    /// Whether it is the turn of this node's car. It takes up a turn only if it knows all that the
    /// master knows: the turn may be an old one, from its disk.
    fn holds_turn(&self) -> bool {
        let turn = self.directives().turn();
        let Some((car, giver)) = turn.holder() else {
            return false;
        };
        if *car != self.hello.node {
            return false;
        }
        if *giver == self.hello.node && !self.leadership.election().profile().rotates {
            return self.services.turns.unsure_since.is_some();
        }
        let members = self.peers.members();
        // Where the mastership rotates, the next master lets it go on.
        let goes_on = self.leadership.election().profile().rotates && self.has_given(&turn);
        let master = match self.leadership.node_state() {
            NodeState::Master => return goes_on,
            NodeState::Slave { master } => master,
            NodeState::Seeking => return false,
        };
        let stands = giver == master || goes_on;
        let knows_all = || {
            let digest = self.directives().power_digest();
            members.get(master).is_some_and(|peer| peer.power == digest)
        };
        stands && members.get(master).is_some() && (self.services.turns.holds || knows_all())
    }

    /// As master: gives and takes turns.
    fn give_turns(&mut self, emergency: &EmergencyPower, now: Timestamp) {
        let own = self.hello.node.clone();
        let turn = self.directives().turn();
        let views = self.views_of_followers(now);
        let cars = self.count_cars(emergency, now);
        let is_given = self.has_given(&turn);
        if !self.services.turns.muster(views.keys().cloned().collect(), cars, now) {
            if is_given {
                self.set_turn(&Turn::None, now);
            }
            return;
        }
        if let Some((car, _)) = turn.holder().filter(|_| is_given) {
            if self.is_turn_over(&turn, car, emergency.serving.as_ref(), &views, now) {
                self.set_turn(&Turn::None, now);
            }
            return;
        }
        let hold_off = self.services.turns.unsure_since.map_or(now, |since| since + HOLD_OFF);
        if self.services.turns.followers.len() < usize::from(cars) && now < hold_off {
            self.services.turns.due = Some(hold_off);
            return;
        }
        // All that move, of those that may go on moving.
        let goes_on = turn.holder().map(|(car, _)| car).filter(|car| views.contains_key(*car));
        let mut moving = views.iter().filter(|(_, view)| moves(view)).map(|(car, _)| car);
        let digest = self.directives().power_digest();
        let followers = self.services.turns.followers.iter().filter(|node| **node != own);
        let mut peers = followers.filter_map(|node| self.peers.members().get(node));
        let all_know = peers.all(|peer| peer.power == digest);
        if !all_know || moving.any(|car| Some(car) != goes_on) {
            return;
        }
        let next = self.next_turn(&turn, goes_on, emergency.serving.as_ref(), &views);
        // A car that still moves, and does not go on, has to stand first.
        let stands = |car: &NodeId| views.get(car).is_none_or(|view| !moves(view));
        let may_begin = |next: &Turn| {
            let car = next.holder().map(|(car, _)| car);
            goes_on.is_none_or(|moving| car == Some(moving) || stands(moving))
        };
        if let Some(next) = next.filter(may_begin) {
            self.services.turns.place = None;
            self.set_turn(&next, now);
        }
    }

    /// Whether this node has given this turn, or, where the mastership rotates, a node has that is heard.
    fn has_given(&self, turn: &Turn) -> bool {
        turn.holder().is_some_and(|(_, giver)| {
            let is_heard = || self.peers.members().get(giver).is_some();
            *giver == self.hello.node || self.leadership.election().profile().rotates && is_heard()
        })
    }

    /// Whether the car whose turn it is has to give it up.
    fn is_turn_over(
        &mut self,
        turn: &Turn,
        car: &NodeId,
        serving: Option<&NodeId>,
        views: &Views,
        now: Timestamp,
    ) -> bool {
        let Some(view) = views.get(car) else {
            return true;
        };
        let serves = matches!(turn, Turn::Serves { .. });
        let is_driven = serves && self.is_driven_by_firefighter(car, views);
        // A car that serves may stand still for lack of calls, and one with a firefighter while they
        // are on a floor.
        let at = view.floor;
        if is_driven || serves && view.is_in_service() {
            self.services.turns.place = None;
        } else {
            let since = self.services.turns.stands_since(car, at, now);
            if now.since(since) >= TURN_LIMIT {
                self.services.turns.had.insert(car.clone());
                self.services.turns.place = Some((car.clone(), at, since));
                return true;
            }
            self.services.turns.due = Some(since + TURN_LIMIT);
        }
        let stands = !moves(view);
        let firefighter_waits = |it: &NodeId| it != car && self.is_driven_by_firefighter(it, views);
        if is_driven {
            // Between two of them the operator's choice counts.
            return stands && serving.is_some_and(firefighter_waits);
        }
        if serves && (self.is_switched_off(car) || views.keys().any(firefighter_waits)) {
            return stands;
        }
        let has_riders = || {
            let mut calls = self.store.orders().calls();
            calls.any(|call| matches!(call, Call::Car { car: of, .. } if of == car))
        };
        let others_wait = || {
            let selected =
                serving.filter(|it| views.contains_key(*it) && !self.is_switched_off(it));
            let selected = selected.is_some_and(|it| it != car);
            selected || views.keys().any(|it| self.has_to_go_down(it))
        };
        serves && view.phase == CarPhase::Idle && !has_riders() && others_wait()
    }

    /// The next turn: first those go down that have not had theirs, with riders before those without.
    /// Then a car serves: one that a firefighter has, or else the one that the operator has chosen.
    fn next_turn(
        &self,
        turn: &Turn,
        goes_on: Option<&NodeId>,
        serving: Option<&NodeId>,
        views: &Views,
    ) -> Option<Turn> {
        let master = self.hello.node.clone();
        let waiting = |car: &&NodeId| self.has_to_go_down(car);
        let calls = self.store.orders().calls().filter_map(|call| match call {
            Call::Car { car, .. } => Some(car),
            Call::Hall(_) => None,
        });
        let riders: BTreeSet<&NodeId> = calls.collect();
        let mut first: Vec<&NodeId> = views.keys().filter(waiting).collect();
        first.sort_by_key(|car| (goes_on != Some(car), !riders.contains(car)));
        if let Turn::Serves { car, .. } = turn
            && goes_on == Some(car)
        {
            return Some(Turn::Serves { car: car.clone(), master });
        }
        if let Some(car) = first.first() {
            return Some(Turn::Evacuates { car: (*car).clone(), master });
        }
        let is_driven = |car: &&NodeId| self.is_driven_by_firefighter(car, views);
        let driven = serving.filter(is_driven).or_else(|| views.keys().find(is_driven));
        if let Some(car) = driven {
            return Some(Turn::Serves { car: car.clone(), master });
        }
        let can_serve = |car: &&NodeId| match views.get(*car)?.availability.unavailable() {
            // Which is what it is for as long as it is not its turn.
            None | Some(Unavailable::OutOfService) => (!self.is_switched_off(car)).then_some(()),
            Some(_) => None,
        };
        let gave_up = self.services.turns.place.as_ref().map(|(car, ..)| car);
        let able = |car: &&NodeId| can_serve(car).is_some() && gave_up != Some(*car);
        let any = || views.keys().find(|car| can_serve(car).is_some());
        let car = serving.filter(able).or_else(|| views.keys().find(able)).or_else(any);
        car.map(|car| Turn::Serves { car: car.clone(), master })
    }

    /// Whether a car has not had its turn to go down. A mechanic or a firefighter has other plans for
    /// theirs.
    fn has_to_go_down(&self, car: &NodeId) -> bool {
        let is_firefighters = self.directives().mode_with_key(car) == Mode::FireService;
        !self.services.turns.had.contains(car) && !self.is_switched_off(car) && !is_firefighters
    }

    /// Whether a firefighter has this car (ASME A17.1 *Phase II*), and nothing else holds it up.
    fn is_driven_by_firefighter(&self, car: &NodeId, views: &Views) -> bool {
        let availability = views.get(car).map(|view| view.availability);
        availability == Some(Availability::Unavailable(Unavailable::FireRecall))
            && self.directives().mode_with_key(car) == Mode::FireService
    }

    fn is_switched_off(&self, car: &NodeId) -> bool {
        self.directives().key_switch(car) == KeySwitch::OutOfService
    }

    /// The cars of this node and of those that follow it.
    fn views_of_followers(&self, now: Timestamp) -> Views {
        let own = self.cabin.view(now).map(|view| (self.hello.node.clone(), view));
        let follows = |state: &NodeState| matches!(state, NodeState::Slave { master } if *master == self.hello.node);
        let peers = self.peers.members().peers();
        let followers = peers.filter(|(_, peer)| follows(&peer.node_state));
        own.into_iter()
            .chain(followers.filter_map(|(name, peer)| Some((name.clone(), peer.car?.0))))
            .collect()
    }

    /// How many cars this node has heard of.
    pub(super) fn known_cars(&self, now: Timestamp) -> u16 {
        let members = self.peers.members();
        let heard = members.peers().filter(|(_, peer)| peer.hello.role == Role::Cabin).count();
        let lost = members.lost().recent(now).filter(|(_, peer)| peer.role == Role::Cabin).count();
        let all = usize::from(self.cabin.car().is_some()) + heard + lost;
        u16::try_from(all).unwrap_or(u16::MAX)
    }

    /// As master: how many cars the fleet has. Where emergency power was commanded not all of them may
    /// have been known: after a power cut, say. Who starts again alone has to know of them, too.
    fn count_cars(&mut self, emergency: &EmergencyPower, now: Timestamp) -> u16 {
        let known = self.known_cars(now);
        if known > emergency.cars {
            self.direct(Setting::Cars(known), now);
        }
        known.max(emergency.cars)
    }

    fn set_turn(&mut self, turn: &Turn, now: Timestamp) {
        self.direct(Setting::Turn(turn.clone()), now);
    }
}
