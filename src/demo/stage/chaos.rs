//! What chaos does to the stage: it begins the faults that are due, and ends them.

use std::iter::Peekable;
use std::time::Duration;

use elevator_driver::{Button, Floor};
use liftmesh_lab::{FaultKind, Schedule, ScheduleSettings, ScheduledFault, Toll};

use super::Stage;
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Phase, Power, Switch, Weight};
use crate::mesh::Cable;

/// How long a car that should hang may take to start a flight, and then again to count as hung;
/// after that the fault is given up.
const HANG_LIMIT: Duration = Duration::from_secs(40);

/// A motor that sticks at this speed, in m/s, hangs.
const FAST: f64 = 1.0;

#[derive(Debug)]
pub(in crate::demo) struct Chaos {
    schedule: Peekable<Schedule>,
    lasting: Vec<(ScheduledFault, End)>,
    pub(in crate::demo) toll: Toll,
}

#[derive(Debug, Clone, Copy)]
enum End {
    At(Duration),
    /// Once the car has hung, which it was to do at this time.
    AfterHang(Duration),
}

impl Chaos {
    pub(super) fn new(seed: u64, cars: usize) -> Self {
        Self {
            schedule: Schedule::new(seed, cars, ScheduleSettings::default()).peekable(),
            lasting: Vec::new(),
            toll: Toll::default(),
        }
    }

    pub(super) fn lasts(&self) -> bool {
        !self.lasting.is_empty()
    }

    fn befalls(&self, car: usize) -> bool {
        let mut lasting = self.lasting.iter();
        lasting.any(|(fault, _)| fault.node == car && fault.kind != FaultKind::PowerCut)
    }
}

impl Stage {
    pub(super) fn let_chaos_act(&mut self, now: Duration) -> Result<(), DemoError> {
        let Some(mut chaos) = self.chaos.take() else {
            return Ok(());
        };
        self.end_faults(&mut chaos, now)?;
        match self.scene.phase {
            Phase::Traffic => self.begin_faults(&mut chaos, now),
            Phase::Draining if !chaos.lasts() => self.bring_all_back()?,
            Phase::Starting | Phase::Paused | Phase::Draining => {}
        }
        self.chaos = Some(chaos);
        Ok(())
    }

    fn begin_faults(&mut self, chaos: &mut Chaos, now: Duration) {
        let time = self.traffic;
        while self.scene.power == Power::On
            && let Some(due) = chaos.schedule.peek().copied().filter(|one| one.at <= time)
        {
            let cars = self.actors.len();
            let mut others = (0..cars).map(|step| (due.node + step) % cars);
            let sound = others.find(|car| {
                self.scene.cars[*car].node.life == Life::Running && !chaos.befalls(*car)
            });
            // With something wrong at every car, the next fault waits.
            let Some(car) = sound else { return };
            let fault = ScheduledFault { node: car, ..due };
            chaos.schedule.next();
            chaos.lasting.push((fault, self.begin(fault, now)));
            if fault.kind != FaultKind::Hang {
                chaos.toll.count(fault.kind);
            }
        }
    }

    fn begin(&mut self, fault: ScheduledFault, now: Duration) -> End {
        let ScheduledFault { node: car, kind, .. } = fault;
        match kind {
            FaultKind::Kill => self.kill(car),
            FaultKind::Suspension => self.suspend(car),
            FaultKind::LineCut => self.switch(car, Switch::Line, true),
            FaultKind::NetworkCut => self.wire(car, Cable::Cut),
            FaultKind::Hang => {
                self.log(Some(car), Weight::Notable, "will hang in its next flight");
                return End::AfterHang(now);
            }
            FaultKind::Obstruction => self.switch(car, Switch::Door, true),
            FaultKind::StopSwitch => self.switch(car, Switch::Stop, true),
            FaultKind::PowerCut => self.cut_power(),
        }
        End::At(now + fault.lasts)
    }

    fn end_faults(&mut self, chaos: &mut Chaos, now: Duration) -> Result<(), DemoError> {
        for (fault, mut end) in std::mem::take(&mut chaos.lasting) {
            if let End::AfterHang(since) = end {
                end = self.await_hang(chaos, fault, since, now);
            }
            // Without power nothing can be put right but the power.
            let waits = self.scene.power == Power::Off;
            match end {
                End::At(at) if at <= now && fault.kind == FaultKind::PowerCut => self.power_up()?,
                End::At(at) if at <= now && !waits => self.heal(fault.node)?,
                End::At(_) | End::AfterHang(_) => chaos.lasting.push((fault, end)),
            }
        }
        Ok(())
    }

    /// Sends a car far, and makes its motor stick in flight.
    fn await_hang(
        &mut self,
        chaos: &mut Chaos,
        fault: ScheduledFault,
        since: Duration,
        now: Duration,
    ) -> End {
        let car = fault.node;
        let (scene, far) = (&self.scene.cars[car], Button::Car(self.far_end(car)));
        let (seen, stuck) = (&scene.seen.car, scene.is(Switch::Motor));
        if self.scene.power == Power::Off {
            // No car hangs: one that is stuck is freed, and flies anew once the power is back.
            if stuck {
                self.switch(car, Switch::Motor, false);
            }
            return End::AfterHang(now);
        }
        if scene.node.life == Life::Hung {
            chaos.toll.count(FaultKind::Hang);
            return End::At(now + fault.lasts);
        }
        if now.saturating_sub(since) >= HANG_LIMIT {
            self.log(Some(car), Weight::Bad, "has not hung in time");
            return End::At(now);
        }
        if seen.driven.is_none() {
            if self.sights[car].living && !seen.lamps.contains(&far) {
                self.press(car, far);
            }
        } else if !stuck && seen.speed.abs() >= FAST {
            self.switch(car, Switch::Motor, true);
            return End::AfterHang(now);
        }
        End::AfterHang(since)
    }

    fn far_end(&self, car: usize) -> Floor {
        let top = self.scene.floors.top();
        if self.scene.cars[car].height() < f64::from(top.index()) / 2.0 {
            top
        } else {
            Floor::BOTTOM
        }
    }

    fn bring_all_back(&mut self) -> Result<(), DemoError> {
        if self.scene.power == Power::Off {
            self.power_up()?;
        }
        (0..self.actors.len()).try_for_each(|car| self.heal(car))
    }

    /// Puts everything right at a car. Its node runs again, no matter what stopped it.
    fn heal(&mut self, car: usize) -> Result<(), DemoError> {
        for switch in Switch::ALL {
            if self.scene.cars[car].is(switch) {
                self.switch(car, switch, false);
            }
        }
        self.wire(car, Cable::Whole);
        self.resume(car);
        if self.scene.cars[car].node.life == Life::Hung {
            self.clear_hang(car, "the motor moves the car again");
        }
        // One that could not be cleared would only refuse.
        if self.actors[car].node.is_none() && self.scene.cars[car].node.life != Life::Hung {
            self.start(car)?;
        }
        Ok(())
    }
}
