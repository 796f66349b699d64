//! What the stage does of its own accord, once per picture.

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::Button;
use elevator_fleet::model::Call;
use elevator_simulator::car::load_of;

use super::{Course, Drain, Stage, drain_limit, fleet_limit};
use crate::demo::error::{DemoError, log_of};
use crate::demo::leadership::agree;
use crate::demo::scene::{Life, Phase, Weight};
use crate::demo::traffic::Deed;

/// The drain ends once no lamp has been lit for this long: an order may be on its way to a lamp.
const DARK: Duration = Duration::from_secs(1);

impl Stage {
    pub(super) fn perform(&mut self) -> Result<Course, DemoError> {
        let now = self.now();
        let passed = now.saturating_sub(self.ticked_at);
        self.ticked_at = now;
        self.let_chaos_act(now)?;
        let course = match self.scene.phase {
            Phase::Starting => {
                self.start_traffic_once_ready(now)?;
                Course::On
            }
            Phase::Traffic => {
                self.let_passengers_act(now, passed);
                Course::On
            }
            Phase::Paused => Course::On,
            Phase::Draining => self.drain(now)?,
        };
        if matches!(self.scene.phase, Phase::Traffic | Phase::Paused)
            && self
                .args
                .duration
                .is_some_and(|planned| now >= self.ready_at.unwrap_or(now) + planned)
        {
            self.begin_drain(now);
        }
        self.bring_scene_in_line(now);
        Ok(course)
    }

    fn begin_drain(&mut self, now: Duration) {
        let open = self.account.lit().count();
        let limit = drain_limit(self.args.floors, self.actors.len(), open, self.args.chaos);
        self.scene.phase = Phase::Draining;
        self.drain = Some(Drain { since: now, limit });
        let limit = limit.as_secs();
        let text = format!("no more passengers; serving the last orders, for up to {limit} s");
        self.log(None, Weight::Notable, text);
    }

    fn start_traffic_once_ready(&mut self, now: Duration) -> Result<(), DemoError> {
        let Some((car, missing)) = self.missing() else {
            self.ready_at = Some(now);
            self.scene.phase = Phase::Traffic;
            self.log(None, Weight::Notable, "the fleet is ready; passengers come");
            return Ok(());
        };
        let limit = fleet_limit(self.actors.len());
        if now < limit {
            return Ok(());
        }
        let log = self.actors[car].node.as_ref().map(log_of);
        Err(DemoError::NotReady {
            seconds: limit.as_secs(),
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
        let unled = self.leadership.last.is_none();
        unled.then_some((0, "and the others have not agreed on a master"))
    }

    fn let_passengers_act(&mut self, now: Duration, passed: Duration) {
        self.traffic += passed;
        let traffic = self.traffic;
        while let Some(arrival) = self.arrivals.next_if(|one| one.at <= traffic) {
            self.crowd.join(&arrival);
            let text = format!("passenger {} → {}", arrival.from, arrival.to);
            self.log(None, Weight::Plain, text);
        }
        for deed in self.crowd.step(now, &self.sights) {
            match deed {
                Deed::Press(car, button) => self.press(car, button),
                Deed::Arrived => self.scene.arrived += 1,
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

    fn drain(&mut self, now: Duration) -> Result<Course, DemoError> {
        let attended = self.attended();
        let is_lit = self.account.lit().any(|(_, panels)| !panels.is_disjoint(&attended));
        let unhealed = self.unhealed();
        if is_lit || unhealed.is_some() {
            self.dark_since = None;
        }
        let dark_since = *self.dark_since.get_or_insert(now);
        let drained = !is_lit && unhealed.is_none() && now.saturating_sub(dark_since) >= DARK;
        let drain = self.drain.filter(|drain| !drained && now < drain.since + drain.limit);
        if drain.is_some() {
            return Ok(Course::On);
        }
        self.close_account();
        let seconds = self.drain.map_or(0, |drain| drain.limit.as_secs());
        if !self.lost.is_empty() {
            return Ok(Course::Over);
        }
        if let Some(missing) = unhealed {
            return Err(DemoError::NotHealed { seconds, missing });
        }
        if !self.unserved.is_empty() {
            let orders = std::mem::take(&mut self.unserved);
            return Err(DemoError::Unserved { seconds, orders });
        }
        Ok(Course::Over)
    }

    /// No car comes any more: what is still lit stays unserved.
    pub(in crate::demo) fn close_account(&mut self) {
        for verdict in self.account.close(&self.attended()) {
            self.log_verdict(verdict);
        }
    }

    /// What is still wrong after chaos: a fault lasts, a car is not in service, or the nodes are
    /// not of one mind. Without chaos nothing needs to be healed.
    fn unhealed(&self) -> Option<String> {
        if self.chaos.as_ref()?.lasts() {
            return Some("a fault lasts".to_owned());
        }
        let missing = self.missing();
        let missing = missing.map(|(car, what)| format!("node {} {what}", self.site.name(car)));
        missing.or_else(|| self.disagreement())
    }

    /// Whether all nodes are of one mind about who leads, and have equal stores (E1, O7).
    fn disagreement(&self) -> Option<String> {
        let nodes = self.scene.cars.iter();
        let (nodes, stores): (Vec<_>, BTreeSet<_>) = nodes
            .filter_map(|car| car.node.view().map(|view| (&car.name, view)))
            .map(|(name, view)| ((name, &view.node_state), view.digest))
            .unzip();
        if let Err(discord) = agree(self.args.election, &nodes) {
            return Some(discord.to_string());
        }
        (stores.len() > 1).then(|| "the stores of the nodes are not equal".to_owned())
    }

    fn bring_scene_in_line(&mut self, now: Duration) {
        self.review_nodes();
        self.scene.elapsed = now;
        self.scene.tally = self.account.tally();
        self.scene.leader = self.leadership.leader.clone();
        self.scene.master_changes = self.leadership.changes();
        for floor in self.scene.floors.floors() {
            let waiting = self.crowd.waiting_at(floor);
            self.scene.waiting[usize::from(floor.index())] = waiting;
        }
        for index in 0..self.scene.cars.len() {
            let riding = self.crowd.riding_in(index);
            let car = &mut self.scene.cars[index];
            if car.node.life != Life::Running {
                car.node.said = None;
            }
            if car.riding != riding {
                car.riding = riding;
                self.command_car(index, format!("load {}", load_of(riding)));
            }
        }
    }
}
