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
//! while the car's node follows the master that gave it. So it ends when that master is lost,
//! replaced or cut off, without a message. Before a master gives a turn, all that follow it are at
//! rest and know of the turn before. Of a car whose node does not follow it, it can't know that. So
//! it needs most of the fleet, which has one at a time, and waits [`HOLD_OFF`] after it has
//! lost sight of any: by then the other side has noticed, too, and a master there has taken back
//! its turn.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use elevator_driver::{Floor, KeySwitch};

use super::Bank;
use crate::car::{Car, Power};
use crate::model::{
    Availability, Call, CarPhase, CarView, Mode, NodeId, NodeState, Role, Timestamp, Unavailable,
};
use crate::seeded::{SeededBug, is_seeded};
use crate::settings::{EmergencyPower, Key, Setting, Settings, Turn};

/// How long a master gives no turn after a node has stopped following: that one knows it by then.
const HOLD_OFF: Duration = Duration::from_secs(10);

/// How long a car may stay where it is in its turn before it is the next one's.
const TURN_LIMIT: Duration = Duration::from_mins(1);

/// For how long a node that did not run neither moves its car nor gives a turn: it hears old news
/// first.
const WAKING: Duration = Duration::from_secs(2);

/// What a node knows of the turns besides what is set.
#[derive(Debug, Default)]
pub(crate) struct Turns {
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
    pub(crate) fn interrupt(&mut self, now: Timestamp) {
        self.holds = false;
        self.unsure_since = None;
        self.not_before = now + WAKING;
    }

    /// This is set from now on; `is_new`: emergency power was commanded anew.
    pub(crate) fn note(&mut self, settings: &Settings, is_new: bool) {
        if is_new {
            self.had.clear();
        }
        if let Turn::Done { car } = settings.turn() {
            self.had.insert(car);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Timestamp> {
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

    /// As master: gives and takes turns. Returns what is to be set.
    pub(crate) fn give(&mut self, bank: &Bank<'_>) -> Vec<Setting> {
        self.due = None;
        let Some(emergency) = bank.settings().emergency_power() else {
            *self = Self { not_before: self.not_before, ..Self::default() };
            return Vec::new();
        };
        if bank.now < self.not_before {
            self.holds = false;
            self.due = Some(self.not_before);
            // Others may have given turns meanwhile.
            let is_given = bank.leadership.leads() && has_given(bank, &bank.settings().turn());
            return is_given.then_some(Setting::Turn(Turn::None)).into_iter().collect();
        }
        if !bank.leadership.leads() {
            self.unsure_since = None;
            self.followers.clear();
            return Vec::new();
        }
        let known = known_cars(bank);
        let cars = known.max(emergency.cars);
        // Not all may have been known where emergency power was commanded. Who starts alone needs
        // them.
        let counted = (known > emergency.cars).then_some(Setting::Cars(known));
        let turn = self.next(bank, &emergency, cars).map(Setting::Turn);
        counted.into_iter().chain(turn).collect()
    }

    /// What emergency power leaves to this node's motor, and whether the car has had its turn.
    pub(crate) fn power(&mut self, bank: &Bank<'_>) -> (Power, Option<Setting>) {
        if bank.settings().emergency_power().is_none() {
            return (Power::Normal, None);
        }
        if bank.now < self.not_before {
            return (Power::Waiting, None);
        }
        self.holds = self.holds_turn(bank);
        let turn = bank.settings().turn();
        let is_own = matches!(&turn, Turn::Evacuates { car, .. } if *car == bank.own.node);
        if is_own && self.holds && bank.cabin.car().is_some_and(Car::is_recalled) {
            self.holds = false;
            return (
                Power::Waiting,
                Some(Setting::Turn(Turn::Done { car: bank.own.node.clone() })),
            );
        }
        let moves = self.holds || is_seeded(SeededBug::EveryCarHasItsTurn);
        (if moves { Power::Granted } else { Power::Waiting }, None)
    }

    /// Whether it is the turn of this node's car. It takes up a turn only if it knows what the
    /// master knows of emergency power: the turn may be an old one, from its disk.
    fn holds_turn(&self, bank: &Bank<'_>) -> bool {
        let turn = bank.settings().turn();
        let Some((car, giver)) = turn.holder() else {
            return false;
        };
        if *car != bank.own.node {
            return false;
        }
        let rotates = bank.leadership.profile().rotates;
        if *giver == bank.own.node && !rotates {
            return self.unsure_since.is_some();
        }
        let members = bank.members;
        // Where the mastership rotates, the next master lets it go on.
        let goes_on = rotates && has_given(bank, &turn);
        let master = match bank.leadership.node_state() {
            NodeState::Master => return goes_on,
            NodeState::Slave { master } => master,
            NodeState::Seeking => return false,
        };
        let stands = giver == master || goes_on;
        let knows_all = || {
            let digest = bank.settings().power_digest();
            members.get(master).is_some_and(|peer| peer.power == digest)
        };
        stands && members.get(master).is_some() && (self.holds || knows_all())
    }

    /// As master: the next turn, if the present one is over or there is none.
    fn next(&mut self, bank: &Bank<'_>, emergency: &EmergencyPower, cars: u16) -> Option<Turn> {
        let (turn, views) = (bank.settings().turn(), bank.views_of_followers());
        let is_given = has_given(bank, &turn);
        if !self.muster(views.keys().cloned().collect(), cars, bank.now) {
            return is_given.then_some(Turn::None);
        }
        let serving = emergency.serving.as_ref();
        if let Some((car, _)) = turn.holder().filter(|_| is_given) {
            return self.is_turn_over(bank, &turn, car, serving, &views).then_some(Turn::None);
        }
        let hold_off = self.unsure_since.map_or(bank.now, |since| since + HOLD_OFF);
        if self.followers.len() < usize::from(cars) && bank.now < hold_off {
            self.due = Some(hold_off);
            return None;
        }
        // All that move, of those that may go on moving.
        let goes_on = turn.holder().map(|(car, _)| car).filter(|car| views.contains_key(*car));
        let mut moving = views.iter().filter(|(_, view)| moves(view)).map(|(car, _)| car);
        let digest = bank.settings().power_digest();
        let followers = self.followers.iter().filter(|node| **node != bank.own.node);
        let mut peers = followers.filter_map(|node| bank.members.get(node));
        let all_know = cars == emergency.cars && peers.all(|peer| peer.power == digest);
        if !all_know || moving.any(|car| Some(car) != goes_on) {
            return None;
        }
        // A car that still moves, and does not go on, has to stand first.
        let stands = |car: &NodeId| views.get(car).is_none_or(|view| !moves(view));
        let may_begin = |next: &Turn| {
            let car = next.holder().map(|(car, _)| car);
            goes_on.is_none_or(|moving| car == Some(moving) || stands(moving))
        };
        let next = self.choose(bank, &turn, goes_on, serving, &views).filter(may_begin)?;
        self.place = None;
        Some(next)
    }

    /// Whether the car whose turn it is has to give it up.
    fn is_turn_over(
        &mut self,
        bank: &Bank<'_>,
        turn: &Turn,
        car: &NodeId,
        serving: Option<&NodeId>,
        views: &Views,
    ) -> bool {
        let now = bank.now;
        let Some(view) = views.get(car) else {
            return true;
        };
        let serves = matches!(turn, Turn::Serves { .. });
        let is_driven = serves && is_driven_by_firefighter(bank, car, views);
        // It may stand still for lack of calls, or while the firefighter is on a floor.
        let at = view.floor;
        if is_driven || serves && view.is_in_service() {
            self.place = None;
        } else {
            let since = self.stands_since(car, at, now);
            if now.since(since) >= TURN_LIMIT {
                self.had.insert(car.clone());
                self.place = Some((car.clone(), at, since));
                return true;
            }
            self.due = Some(since + TURN_LIMIT);
        }
        let stands = !moves(view);
        let firefighter_waits =
            |it: &NodeId| it != car && is_driven_by_firefighter(bank, it, views);
        if is_driven {
            // Between two of them the operator's choice counts.
            return stands && serving.is_some_and(firefighter_waits);
        }
        if serves && (is_switched_off(bank, car) || views.keys().any(firefighter_waits)) {
            return stands;
        }
        let has_riders = || {
            let mut calls = bank.store.orders().calls();
            calls.any(|call| matches!(call, Call::Car { car: of, .. } if of == car))
        };
        let others_wait = || {
            let selected =
                serving.filter(|it| views.contains_key(*it) && !is_switched_off(bank, it));
            let selected = selected.is_some_and(|it| it != car);
            selected || views.keys().any(|it| self.has_to_go_down(bank, it))
        };
        serves && view.phase == CarPhase::Idle && !has_riders() && others_wait()
    }

    /// The next turn: first those go down that have not had theirs, with riders before those
    /// without. Then a car serves: one that a firefighter has, or else the one that the operator
    /// has chosen.
    fn choose(
        &self,
        bank: &Bank<'_>,
        turn: &Turn,
        goes_on: Option<&NodeId>,
        serving: Option<&NodeId>,
        views: &Views,
    ) -> Option<Turn> {
        let master = bank.own.node.clone();
        let waiting = |car: &&NodeId| self.has_to_go_down(bank, car);
        let calls = bank.store.orders().calls().filter_map(|call| match call {
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
        let is_driven = |car: &&NodeId| is_driven_by_firefighter(bank, car, views);
        let driven = serving.filter(is_driven).or_else(|| views.keys().find(is_driven));
        if let Some(car) = driven {
            return Some(Turn::Serves { car: car.clone(), master });
        }
        let can_serve = |car: &&NodeId| match views.get(*car)?.availability.unavailable() {
            // Which is what it is for as long as it is not its turn.
            None | Some(Unavailable::OutOfService) => (!is_switched_off(bank, car)).then_some(()),
            Some(_) => None,
        };
        let gave_up = self.place.as_ref().map(|(car, ..)| car);
        let able = |car: &&NodeId| can_serve(car).is_some() && gave_up != Some(*car);
        let any = || views.keys().find(|car| can_serve(car).is_some());
        let car = serving.filter(able).or_else(|| views.keys().find(able)).or_else(any);
        car.map(|car| Turn::Serves { car: car.clone(), master })
    }

    /// Whether a car has to go down still, and is neither a mechanic's nor a firefighter's.
    fn has_to_go_down(&self, bank: &Bank<'_>, car: &NodeId) -> bool {
        let is_firefighters = bank.settings().mode_with_key(car) == Mode::FireService;
        !self.had.contains(car) && !is_switched_off(bank, car) && !is_firefighters
    }
}

/// Whether this node has given this turn, or, where the mastership rotates, a node has that is
/// heard.
fn has_given(bank: &Bank<'_>, turn: &Turn) -> bool {
    let rotates = bank.leadership.profile().rotates;
    turn.holder()
        .is_some_and(|(_, giver)| *giver == bank.own.node || rotates && bank.is_heard(giver))
}

/// Whether a firefighter has this car (ASME A17.1 *Phase II*), and nothing else holds it up.
fn is_driven_by_firefighter(bank: &Bank<'_>, car: &NodeId, views: &Views) -> bool {
    let availability = views.get(car).map(|view| view.availability);
    availability == Some(Availability::Unavailable(Unavailable::FireRecall))
        && bank.settings().mode_with_key(car) == Mode::FireService
}

fn is_switched_off(bank: &Bank<'_>, car: &NodeId) -> bool {
    bank.settings().key_switch(car) == KeySwitch::OutOfService
}

/// How many cars this node has heard of.
pub(crate) fn known_cars(bank: &Bank<'_>) -> u16 {
    let members = bank.members;
    let heard = members.peers().filter(|(_, peer)| peer.hello.role == Role::Cabin).count();
    let lost = members.lost().recent(bank.now);
    let lost = lost.filter(|(_, peer)| peer.role == Role::Cabin).count();
    let all = usize::from(bank.cabin.car().is_some()) + heard + lost;
    u16::try_from(all).unwrap_or(u16::MAX)
}

/// What says that the building runs on emergency power, or no longer does.
pub(crate) fn command(bank: &Bank<'_>, on: bool, serving: Option<&NodeId>) -> Vec<Setting> {
    let cars = known_cars(bank);
    let emergency = EmergencyPower { cars, serving: serving.cloned() };
    let command = Setting::EmergencyPower(on.then_some(emergency));
    // The count begins anew: cars may have been taken out of the fleet since the last time.
    let is_counted = on && bank.settings().get(&Key::Cars).is_some();
    [command].into_iter().chain(is_counted.then_some(Setting::Cars(cars))).collect()
}
