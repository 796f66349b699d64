//! What the stage does of its own accord, once per picture.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::Call;
use elevator_simulator::building::Passenger;

use super::Stage;
use crate::demo::error::{DemoError, log_of};
use crate::demo::scene::{Life, Phase, Weight};
use crate::demo::traffic::Deed;

/// The drain ends once no lamp has been lit for this long: an order may be on its way to a lamp.
const DARK: Duration = Duration::from_secs(1);

/// How long the fleet may take to form.
const FLEET_LIMIT: Duration = Duration::from_secs(45);

/// How long the last orders may take, and the healing of the last faults.
const DRAIN_LIMIT: Duration = Duration::from_mins(10);

impl Stage {
    pub(super) fn perform(&mut self) -> Result<ControlFlow<()>, DemoError> {
        let now = self.now();
        let passed = now.saturating_sub(self.ticked_at);
        self.ticked_at = now;
        self.let_chaos_act(now)?;
        let mut course = ControlFlow::Continue(());
        match self.scene.phase {
            Phase::Starting => self.start_traffic_once_ready(now)?,
            Phase::Traffic => self.let_passengers_act(passed),
            Phase::Paused => {}
            Phase::Draining => course = self.drain(now)?,
        }
        let is_due = |planned| now >= self.ready_at.unwrap_or(now) + planned;
        if matches!(self.scene.phase, Phase::Traffic | Phase::Paused)
            && self.args.duration.is_some_and(is_due)
        {
            self.scene.phase = Phase::Draining;
            self.draining_since = Some(now);
            let limit = DRAIN_LIMIT.as_secs();
            let text = format!("no more passengers; serving the last orders, for up to {limit} s");
            self.log(None, Weight::Notable, text);
        }
        self.bring_scene_in_line(now);
        Ok(course)
    }

    fn start_traffic_once_ready(&mut self, now: Duration) -> Result<(), DemoError> {
        let Some((car, missing)) = self.missing() else {
            self.ready_at = Some(now);
            self.scene.phase = Phase::Traffic;
            self.log(None, Weight::Notable, "the fleet is ready; passengers come");
            return Ok(());
        };
        if now < FLEET_LIMIT {
            return Ok(());
        }
        let log = self.actors[car].node.as_ref().map(log_of);
        Err(DemoError::NotReady {
            seconds: FLEET_LIMIT.as_secs(),
            missing: format!("node {} {missing}", self.site.name(car)),
            log: log.unwrap_or_default(),
        })
    }

    /// What the fleet still lacks, and at which car.
    fn missing(&self) -> Option<(usize, &'static str)> {
        let all = self.scene.cars.len();
        for (car, scene) in self.scene.cars.iter().enumerate() {
            let missing = match scene.node.view() {
                None => Some("does not answer"),
                Some(view) if view.peers.len() + 1 < all => Some("does not hear all others"),
                Some(_) if scene.node.unavailable().is_some() => Some("has no car in service"),
                Some(_) if !self.sights[car].living => Some("has had no time to settle"),
                Some(_) => None,
            };
            if let Some(missing) = missing {
                return Some((car, missing));
            }
        }
        self.scene.leader.is_none().then_some((0, "and the others do not follow one master"))
    }

    fn let_passengers_act(&mut self, passed: Duration) {
        self.traffic += passed;
        let cars: Vec<_> = (self.scene.cars.iter().zip(&self.sights))
            .map(|(car, sight)| (&car.seen.car, sight.living))
            .collect();
        for deed in self.passengers.step(self.traffic, &cars) {
            match deed {
                Deed::Come(Passenger { from, to, .. }) => {
                    self.log(None, Weight::Plain, format!("passenger {from} → {to}"));
                }
                Deed::Press(car, button) => self.press(car, button),
                Deed::Load(car, percent) => self.command_car(car, format!("load {percent}")),
            }
        }
    }

    pub(super) fn press(&mut self, car: usize, button: Button) {
        let call = Call::of_button(button, &self.scene.cars[car].name);
        let now = self.now();
        self.account.press(call, now);
        if !self.actors[car].to_car.say(format!("press {button}")) {
            self.log(Some(car), Weight::Bad, "the simulator is too busy for a press");
        }
    }

    fn drain(&mut self, now: Duration) -> Result<ControlFlow<()>, DemoError> {
        let attended = self.attended();
        let is_lit = self.account.lit().any(|(_, panels)| !panels.is_disjoint(&attended));
        let unhealed = self.unhealed();
        if is_lit || unhealed.is_some() {
            self.dark_since = None;
        }
        let lasts = |since: Duration, limit| now.saturating_sub(since) >= limit;
        let is_drained =
            !is_lit && unhealed.is_none() && lasts(*self.dark_since.get_or_insert(now), DARK);
        if !is_drained && !self.draining_since.is_some_and(|since| lasts(since, DRAIN_LIMIT)) {
            return Ok(ControlFlow::Continue(()));
        }
        self.close_account();
        let seconds = DRAIN_LIMIT.as_secs();
        match unhealed {
            // It is told instead.
            _ if !self.lost.is_empty() => Ok(ControlFlow::Break(())),
            Some(missing) => Err(DemoError::NotHealed { seconds, missing }),
            None if self.unserved.is_empty() => Ok(ControlFlow::Break(())),
            None => {
                let orders = std::mem::take(&mut self.unserved);
                Err(DemoError::Unserved { seconds, orders })
            }
        }
    }

    /// No car comes any more: what is still lit stays unserved.
    pub(in crate::demo) fn close_account(&mut self) {
        for verdict in self.account.close(&self.attended()) {
            self.log_verdict(verdict);
        }
    }

    /// What is still wrong after chaos, such as several masters or different stores (E1, O7).
    fn unhealed(&self) -> Option<String> {
        if self.chaos.as_ref()?.lasts() {
            return Some("a fault lasts".to_owned());
        }
        if let Some((car, missing)) = self.missing() {
            return Some(format!("node {} {missing}", self.site.name(car)));
        }
        let views = self.scene.cars.iter().filter_map(|car| car.node.view());
        let stores: BTreeSet<_> = views.map(|view| view.digest).collect();
        (stores.len() > 1).then(|| "the stores of the nodes are not equal".to_owned())
    }

    fn bring_scene_in_line(&mut self, now: Duration) {
        self.review_nodes();
        self.scene.elapsed = now;
        self.scene.tally = self.account.tally();
        self.scene.arrived = self.passengers.arrived();
        let floors = self.scene.floors.floors();
        self.scene.waiting = floors.map(|floor| self.passengers.waiting_at(floor)).collect();
        for (index, car) in self.scene.cars.iter_mut().enumerate() {
            car.riding = self.passengers.riding_in(index);
            if car.node.life != Life::Running {
                car.node.said = None;
            }
        }
    }
}
