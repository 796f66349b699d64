//! The line between a node and its car.

use std::time::Duration;

use elevator_driver::{Button, Climate, PanelEvent, PanelOutputs, Trip};
use elevator_simulator::SimulatedCar;
use elevator_simulator::car::load_of;

use super::World;
use crate::agenda::Event;
use crate::history::Note;
use crate::machine::Line;

/// How long the line takes.
const LINE: Duration = Duration::from_millis(4);

/// How far the car moves at a time.
const CAR_STEP: Duration = Duration::from_millis(10);

/// After so long without a sign of its controller the panel stops the motor (S2).
const WATCHDOG: Duration = Duration::from_millis(300);

impl World {
    pub(super) fn panel(&mut self, node: usize, outputs: &PanelOutputs) {
        self.judge(|oracles, snapshot| oracles.commanded(snapshot, node, outputs));
        if self.machines[node].line == Line::Cut {
            return;
        }
        self.catch_up(node);
        self.machines[node].car.set_outputs(outputs);
        self.report_inputs(node);
        self.watch_car(node);
        self.move_car(node);
    }

    /// The controller is there again: the panel reports its inputs.
    pub(super) fn panel_connects(&mut self, node: usize) {
        if self.machines[node].line == Line::Cut {
            return self.report_panel_lost(node);
        }
        self.speaks_again(node);
        self.catch_up(node);
        self.send_event(node, PanelEvent::Connected);
        let inputs = self.machines[node].car.inputs();
        self.machines[node].reported = inputs.clone();
        self.send_event(node, PanelEvent::Inputs(inputs));
    }

    /// Sets what the climate sensors of a node's panel read from here on.
    pub fn set_climate(&mut self, node: usize, climate: Climate) {
        self.disturbed();
        self.machines[node].car.set_climate(climate);
        self.report_inputs(node);
    }

    /// A suspended controller goes on: the panel repeats its last outputs.
    pub(super) fn panel_resumes(&mut self, node: usize) {
        if self.machines[node].line == Line::Cut {
            return;
        }
        self.speaks_again(node);
        let outputs = self.machines[node].node().and_then(|node| node.outputs().cloned());
        if let Some(outputs) = outputs {
            self.panel(node, &outputs);
            self.compare_lamps(node, &outputs);
        }
    }

    /// Cuts the line, or plugs it: the node reconnects to its panel.
    pub(super) fn cut_panel(&mut self, node: usize, cut: bool) {
        let line = if cut { Line::Cut } else { Line::Plugged };
        let before = std::mem::replace(&mut self.machines[node].line, line);
        if before == line || self.machines[node].process.is_none() {
            return;
        }
        self.oracles.cars[node].interrupt();
        if cut {
            self.falls_silent(node);
            self.report_panel_lost(node);
        } else {
            self.panel_connects(node);
            self.panel_resumes(node);
        }
    }

    fn report_panel_lost(&mut self, node: usize) {
        self.report_to(node, PanelEvent::Disconnected("the line is cut".to_owned()));
    }

    pub(super) fn falls_silent(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        machine.silence += 1;
        machine.silent_since = Some(self.now);
        let silence = machine.silence;
        self.agenda.enter(self.now + WATCHDOG, Event::Watchdog { node, silence });
    }

    fn speaks_again(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        machine.silence += 1;
        machine.silent_since = None;
    }

    pub(super) fn watchdog(&mut self, node: usize, silence: u64) {
        if self.machines[node].silence == silence {
            self.catch_up(node);
            self.machines[node].car.stop_for_silence();
            self.report_inputs(node);
            self.move_car(node);
        }
    }

    pub(super) fn car_moves(&mut self, node: usize) {
        self.machines[node].car_moves = false;
        self.catch_up(node);
        self.report_inputs(node);
        self.move_car(node);
    }

    /// So many people are in the car of a node. What its load cell weighs then is no fault.
    pub fn set_people(&mut self, node: usize, people: usize) {
        self.touch(node, |car| car.set_load(Some(load_of(people))));
    }

    /// Something outside the controller's doing changes at the car.
    pub(super) fn touch(&mut self, node: usize, act: impl FnOnce(&mut SimulatedCar)) {
        self.catch_up(node);
        act(&mut self.machines[node].car);
        self.report_inputs(node);
        self.move_car(node);
        self.watch_car(node);
    }

    pub(super) fn report_presses(&mut self, node: usize) {
        let presses: Vec<Button> = self.machines[node].car.take_presses().collect();
        for button in presses {
            self.send_event(node, PanelEvent::Pressed(button));
        }
        let requests: Vec<Trip> = self.machines[node].car.take_requests().collect();
        for trip in requests {
            self.send_event(node, PanelEvent::Requested(trip));
        }
    }

    /// The car has done what it does by itself until this moment.
    fn catch_up(&mut self, node: usize) {
        let now = self.now;
        let car = &mut self.machines[node].car;
        let passed = now.saturating_sub(car.clock());
        car.advance(passed);
    }

    fn move_car(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if !machine.car_moves && !machine.car.is_at_rest() {
            machine.car_moves = true;
            self.agenda.enter(self.now + CAR_STEP, Event::CarMoves { node });
        }
    }

    fn report_inputs(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        let inputs = machine.car.inputs();
        if inputs != machine.reported {
            if inputs.stop != machine.reported.stop {
                self.oracles.cars[node].interrupt();
            }
            machine.reported = inputs.clone();
            self.watch_car(node);
            self.send_event(node, PanelEvent::Inputs(inputs));
        }
    }

    /// An event of the panel reaches the node only if the line is plugged.
    fn send_event(&mut self, node: usize, event: PanelEvent) {
        if self.machines[node].line == Line::Plugged {
            self.report_to(node, event);
        }
    }

    fn report_to(&mut self, node: usize, event: PanelEvent) {
        let machine = &self.machines[node];
        if machine.process.is_some() {
            let incarnation = machine.incarnation;
            self.agenda.enter(self.now + LINE, Event::Panel { node, incarnation, event });
        }
    }

    /// Takes note of the lamps that go on and off.
    pub(super) fn compare_lamps(&mut self, node: usize, outputs: &PanelOutputs) {
        let before = self.machines[node].lit.clone();
        for button in &outputs.lamps.orders {
            if self.machines[node].lit.insert(*button) {
                self.note(node, Note::Lit(*button));
            }
            self.judge(|oracles, snapshot| oracles.lamp_is_lit(snapshot, node, *button));
        }
        for button in before {
            if !outputs.lamps.orders.contains(&button) {
                self.machines[node].lit.remove(&button);
                self.note(node, Note::Dark(button));
                self.judge(|oracles, snapshot| oracles.lamp_went_dark(snapshot, node, button));
            }
        }
    }

    /// The car, its faults or its commands have changed.
    fn watch_car(&mut self, node: usize) {
        self.judge(|oracles, snapshot| oracles.car_changed(snapshot, node));
    }
}
