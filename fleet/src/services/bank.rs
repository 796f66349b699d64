//! The bank of cars, as this node sees it.

use std::collections::{BTreeMap, BTreeSet};

use elevator_driver::{Building, Button, Floor};

use crate::cabin::Cabin;
use crate::dispatch::{CarSituation, Kinematics, Predictor};
use crate::leadership::Leadership;
use crate::model::{Call, CarView, Hello, NodeId, Role, Timestamp};
use crate::peers::Membership;
use crate::settings::{Key, Settings};
use crate::store::Store;

/// What the services read. It changes nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bank<'a> {
    pub(crate) own: &'a Hello,
    pub(crate) store: &'a Store,
    pub(crate) members: &'a Membership,
    pub(crate) cabin: &'a Cabin,
    pub(crate) leadership: &'a Leadership,
    pub(crate) now: Timestamp,
}

impl<'a> Bank<'a> {
    pub(crate) fn settings(&self) -> &'a Settings {
        self.store.settings()
    }

    pub(crate) fn building(&self) -> &'a Building {
        self.members.building()
    }

    /// Whether this car opens at the front entrance, or only one, of these floors.
    pub(crate) fn serves(&self, car: &NodeId, floors: &[Floor]) -> bool {
        let opens = |at: &Floor| self.building().door(car.as_str(), (*at).into()).is_some();
        floors.iter().all(opens)
    }

    /// Whether some car that is heard `fits`, and is in a mode in which it answers hall calls. Any
    /// other reason not to use it is expected to pass.
    pub(crate) fn has_car(&self, fits: impl Fn(&NodeId) -> bool) -> bool {
        let others = self.members.peers().filter_map(|(name, _)| self.car_of_peer(name));
        let comes = |view: &CarView| {
            let why = view.availability.unavailable();
            !view.availability.is_hung() && !why.is_some_and(|why| why.is_said_by(view.mode))
        };
        let mut all = self.own_car().into_iter().chain(others);
        all.any(|(car, view)| comes(&view) && fits(&car))
    }

    pub(crate) fn is_heard(&self, car: &NodeId) -> bool {
        *car == self.own.node || self.members.get(car).is_some()
    }

    /// Whether there is such a car: it is heard, was heard before it was lost, or has a mode.
    pub(crate) fn has_heard_of(&self, car: &NodeId) -> bool {
        let is_heard = self.members.get(car).is_some_and(|peer| peer.hello.role == Role::Cabin);
        let is_lost = self.members.lost().get(car).is_some_and(|peer| peer.role == Role::Cabin);
        let is_here = *car == self.own.node && self.cabin.car().is_some();
        let mode = Key::Mode(car.clone());
        is_here || is_heard || is_lost || self.settings().get(&mode).is_some()
    }

    /// The cars of this node and of all peers that it hears.
    pub(crate) fn cars(&self) -> Vec<NodeId> {
        let own = self.cabin.car().map(|_| &self.own.node);
        let peers = self.members.peers().filter(|(_, peer)| peer.hello.role == Role::Cabin);
        own.into_iter().chain(peers.map(|(name, _)| name)).cloned().collect()
    }

    pub(crate) fn own_car(&self) -> Option<(NodeId, CarView)> {
        let shut = self.cabin.car()?.settings().shut;
        Some((self.own.node.clone(), CarView { shut, ..self.cabin.view(self.now)? }))
    }

    pub(crate) fn car_of_peer(&self, name: &NodeId) -> Option<(NodeId, CarView)> {
        let (view, at) = self.members.get(name)?.car?;
        let elapsed = view.elapsed.saturating_add(self.now.since(at));
        Some((name.clone(), CarView { elapsed, ..view }))
    }

    /// The cars of this node and of those that follow it, as it last heard of them.
    pub(crate) fn views_of_followers(&self) -> BTreeMap<NodeId, CarView> {
        let own = &self.own.node;
        let followers = self.members.peers().filter(|(_, peer)| peer.node_state.follows(own));
        let views = followers.filter_map(|(name, peer)| Some((name.clone(), peer.car?.0)));
        self.own_car().into_iter().chain(views).collect()
    }

    pub(crate) fn situations(&self, cars: Vec<(NodeId, CarView)>) -> Vec<CarSituation> {
        let mut car_calls: BTreeMap<&NodeId, BTreeSet<Floor>> = BTreeMap::new();
        for call in self.store.orders().calls() {
            match call {
                Call::Car { car, floor, .. } => {
                    car_calls.entry(car).or_default().insert(*floor);
                }
                Call::Hall(_) => {}
            }
        }
        let situation = |(car, view)| CarSituation {
            car_calls: car_calls.remove(&car).unwrap_or_default(),
            car,
            view,
        };
        cars.into_iter().map(situation).collect()
    }

    /// The cars that have a priority call or a session.
    pub(crate) fn cars_with_errands(&self) -> BTreeSet<NodeId> {
        let settings = self.settings();
        let called = settings.priorities().map(|(car, _)| car.clone());
        let sessions = settings.open_sessions().into_iter().filter_map(|it| it.car().cloned());
        called.chain(sessions).collect()
    }

    /// The car in service that is predicted to open first at a floor, of those that `may` be sent.
    pub(crate) fn first_car_to(
        &self,
        floor: Floor,
        may: impl Fn(&NodeId) -> bool,
    ) -> Option<NodeId> {
        let others = self.members.peers().filter_map(|(name, _)| self.car_of_peer(name));
        let mut cars: Vec<_> = self.own_car().into_iter().chain(others).collect();
        cars.retain(|(car, view)| {
            let is_free = may(car) && Predictor::can_serve(view);
            is_free && self.serves(car, &[floor]) && !view.locked_out.contains(floor)
        });
        // A session in the queue asks for one at each input, as a rule in vain.
        if cars.is_empty() {
            return None;
        }
        let predictor = Predictor::new(Kinematics::default(), self.building());
        let times = self.situations(cars).into_iter().filter_map(|mut situation| {
            situation.car_calls.insert(floor);
            let times = predictor.times(&situation, &BTreeSet::new())?;
            Some((*times.get(&Button::Car(floor))?, situation.car))
        });
        times.min().map(|(_, car)| car)
    }
}
