//! The line between a node and its car.

use std::time::Duration;

use elevator_driver::{Button, Climate, PanelEvent, PanelOutputs};
use elevator_fleet::model::{Call, Dot};

use super::World;
use super::agenda::Event;
use super::history::Note;
use super::machine::Line;

/// How long the line takes.
const LINE: Duration = Duration::from_millis(4);

/// How far the car moves at a time.
const CAR_STEP: Duration = Duration::from_millis(10);

/// After so long without a sign of its controller the panel stops the motor (S2).
const WATCHDOG: Duration = Duration::from_millis(300);

impl World {
    pub(super) fn panel(&mut self, node: usize, outputs: &PanelOutputs) {
        self.watch_riders(node, outputs);
        if self.machines[node].line == Line::Cut {
            return;
        }
        self.catch_up(node);
        self.machines[node].car.set_outputs(outputs);
        self.tell_inputs(node);
        self.watch_car(node);
        self.move_car(node);
    }

    /// The controller is there again: the panel tells it what it sees.
    pub(super) fn panel_connects(&mut self, node: usize) {
        if self.machines[node].line == Line::Cut {
            return self.tell_panel_gone(node);
        }
        self.speaks_again(node);
        self.catch_up(node);
        self.tell(node, PanelEvent::Connected);
        let inputs = self.machines[node].car.inputs();
        self.machines[node].told = inputs.clone();
        self.tell(node, PanelEvent::Inputs(inputs));
    }

    /// Sets what the climate sensors of a node's panel read from here on.
    pub fn set_climate(&mut self, node: usize, climate: Climate) {
        self.disturbed();
        self.climate_at = self.now;
        self.machines[node].car.set_climate(climate);
        self.tell_inputs(node);
    }

    /// A suspended controller goes on: the panel does again what it was told last.
    pub(super) fn panel_resumes(&mut self, node: usize) {
        if self.machines[node].line == Line::Cut {
            return;
        }
        self.speaks_again(node);
        let outputs = self.machines[node]
            .node()
            .and_then(|node| node.outputs().cloned());
        if let Some(outputs) = outputs {
            self.panel(node, &outputs);
            self.compare_lamps(node, &outputs);
        }
    }

    /// Cuts the line, or plugs it: the node finds its panel, which shows what it is told.
    pub(super) fn cut_panel(&mut self, node: usize, cut: bool) {
        let line = if cut { Line::Cut } else { Line::Plugged };
        let before = std::mem::replace(&mut self.machines[node].line, line);
        if before == line || self.machines[node].process.is_none() {
            return;
        }
        self.climate_at = self.now;
        self.machines[node].watch.interrupt();
        if cut {
            self.falls_silent(node);
            self.tell_panel_gone(node);
        } else {
            self.panel_connects(node);
            self.panel_resumes(node);
        }
    }

    fn tell_panel_gone(&mut self, node: usize) {
        self.report_to(node, PanelEvent::Disconnected("the line is cut".to_owned()));
    }

    /// The controller says nothing from here on.
    pub(super) fn falls_silent(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        machine.silence += 1;
        machine.silent_since = Some(self.now);
        let silence = machine.silence;
        self.agenda
            .enter(self.now + WATCHDOG, Event::Watchdog { node, silence });
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
            self.tell_inputs(node);
            self.move_car(node);
        }
    }

    pub(super) fn car_moves(&mut self, node: usize) {
        self.machines[node].car_moves = false;
        self.catch_up(node);
        self.tell_inputs(node);
        self.move_car(node);
    }

    /// Something outside the controller's doing has changed at the car.
    pub(super) fn touch_car(&mut self, node: usize) {
        self.tell_inputs(node);
        self.move_car(node);
    }

    pub(super) fn tell_presses(&mut self, node: usize) {
        let presses: Vec<Button> = self.machines[node].car.take_presses().collect();
        for button in presses {
            self.tell(node, PanelEvent::Pressed(button));
        }
    }

    /// The car has done what it does by itself until this moment.
    pub(super) fn catch_up(&mut self, node: usize) {
        let now = self.now;
        let car = &mut self.machines[node].car;
        let passed = now.saturating_sub(car.clock());
        car.advance(passed);
    }

    fn move_car(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        if !machine.car_moves && !machine.car.is_at_rest() {
            machine.car_moves = true;
            self.agenda
                .enter(self.now + CAR_STEP, Event::CarMoves { node });
        }
    }

    fn tell_inputs(&mut self, node: usize) {
        let machine = &mut self.machines[node];
        let inputs = machine.car.inputs();
        if inputs != machine.told {
            if inputs.stop != machine.told.stop {
                machine.watch.interrupt();
            }
            if inputs.key != machine.told.key {
                machine.watch.riders = None;
            }
            machine.told = inputs.clone();
            self.watch_car(node);
            self.tell(node, PanelEvent::Inputs(inputs));
        }
    }

    /// What the panel says gets through if the line does.
    fn tell(&mut self, node: usize, event: PanelEvent) {
        if self.machines[node].line == Line::Plugged {
            self.report_to(node, event);
        }
    }

    fn report_to(&mut self, node: usize, event: PanelEvent) {
        let machine = &self.machines[node];
        if machine.process.is_some() {
            let life = machine.life;
            self.agenda
                .enter(self.now + LINE, Event::Panel { node, life, event });
        }
    }

    /// Takes note of the lamps that go on and off.
    pub(super) fn compare_lamps(&mut self, node: usize, outputs: &PanelOutputs) {
        let before: Vec<Button> = self.machines[node].lit.keys().copied().collect();
        for button in &outputs.lamps.orders {
            if !self.machines[node].lit.contains_key(button) {
                self.machines[node].lit.insert(*button, Vec::new());
                self.note(node, Note::Lit(*button));
            }
            self.remember_promise(node, *button);
        }
        for button in before {
            if !outputs.lamps.orders.contains(&button) {
                let dots = self.machines[node].lit.remove(&button).unwrap_or_default();
                self.note(node, Note::Dark(button));
                self.went_dark(node, button, &dots);
            }
        }
    }

    /// A lit lamp promises every press of its call that is promised. A press that is repeated
    /// inherits the promise of the earlier one: of one that this lamp has shown, or, where the
    /// panel has not answered since the start, of one that the node's disk promises.
    pub(super) fn remember_promise(&mut self, node: usize, button: Button) {
        let machine = &mut self.machines[node];
        let Some(dots) = machine.lit.get_mut(&button) else {
            return;
        };
        let Some(process) = &machine.process else {
            return;
        };
        let call = Call::of_button(button, &machine.name);
        let mut fresh = Vec::new();
        for order in process.node.orders().of_call(&call) {
            let dot = order.dot;
            if process.node.has_promised(dot) && !dots.contains(&dot) {
                let repeats = |earlier: &&Dot| earlier.journal == dot.journal;
                let shown = dots.iter().rev().find(repeats).copied();
                let repeated = shown.or_else(|| machine.disk.earlier_press(dot, &call));
                self.history.promised(dot, &call, repeated, self.now);
                dots.push(dot);
                if repeated.is_none() {
                    fresh.push(dot);
                }
            }
        }
        for dot in fresh {
            self.some_disk_knows(node, dot, &call);
        }
    }
}
