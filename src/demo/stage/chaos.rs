//! What chaos does to the stage: it begins the faults that are due, and ends them.

use std::iter::Peekable;
use std::time::Duration;

use elevator_driver::{Button, Floor};
use liftmesh_lab::{FaultKind, Schedule, ScheduleSettings, ScheduledFault, Toll};

use super::Stage;
use super::keys::{line_fault, motor_fault, obstruct, stop};
use crate::demo::error::DemoError;
use crate::demo::scene::{Life, Phase, Power, Weight};
use crate::mesh::Cable;

/// A car that is to hang flies within this, and one whose motor is stuck counts as hung within this
/// again, or the fault is over: longer than a flight to the next floor, or the search for one, may
/// take.
const HANG_LIMIT: Duration = Duration::from_secs(40);

/// A motor that sticks at this speed, in m/s, hangs; one that sticks at rest is a drive that does
/// not start.
const FAST: f64 = 1.0;

/// A car that is to hang gets a passenger who wants to go far, again and again after this.
const PRESS_AGAIN: Duration = Duration::from_secs(3);

/// The faults that are to come, and those that last.
#[derive(Debug)]
pub(super) struct Chaos {
    schedule: Peekable<Schedule>,
    lasting: Vec<Lasting>,
    toll: Toll,
}

/// A fault that lasts.
#[derive(Debug)]
struct Lasting {
    fault: ScheduledFault,
    end: End,
}

/// When a fault ends.
#[derive(Debug, Clone, Copy)]
enum End {
    At(Duration),
    /// Once the car has hung and somebody has looked into it.
    AfterHang {
        /// When it was to hang, and then when its motor stuck.
        since: Duration,
        pressed_at: Option<Duration>,
    },
}

impl Chaos {
    pub(super) fn new(seed: u64, cars: usize) -> Self {
        Self {
            schedule: Schedule::new(seed, cars, ScheduleSettings::default()).peekable(),
            lasting: Vec::new(),
            toll: Toll::default(),
        }
    }

    pub(super) fn toll(&self) -> &Toll {
        &self.toll
    }

    pub(super) fn lasts(&self) -> bool {
        !self.lasting.is_empty()
    }

    fn befalls(&self, car: usize) -> bool {
        let mut lasting = self.lasting.iter();
        lasting.any(|one| one.fault.node == car && one.fault.kind != FaultKind::PowerCut)
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
            chaos.lasting.push(Lasting { end: self.begin(fault, now), fault });
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
            FaultKind::LineCut => self.command_car(car, line_fault(true)),
            FaultKind::NetworkCut => self.wire(car, Cable::Cut),
            FaultKind::Hang => {
                self.log(Some(car), Weight::Notable, "will hang in its next flight");
                return End::AfterHang { since: now, pressed_at: None };
            }
            FaultKind::Obstruction => self.command_car(car, obstruct(true)),
            FaultKind::StopSwitch => self.command_car(car, stop(true)),
            FaultKind::PowerCut => self.cut_power(),
        }
        End::At(now + fault.lasts)
    }

    fn end_faults(&mut self, chaos: &mut Chaos, now: Duration) -> Result<(), DemoError> {
        for mut one in std::mem::take(&mut chaos.lasting) {
            // Without power nothing can be put right but the power.
            let waits = self.scene.power == Power::Off && one.fault.kind != FaultKind::PowerCut;
            if let End::AfterHang { since, pressed_at } = one.end {
                one.end = if waits {
                    self.put_off_hang(one.fault.node, now)
                } else {
                    self.await_hang(chaos, one.fault, since, pressed_at, now)
                };
            }
            match one.end {
                End::At(at) if at <= now && !waits => self.put_right(one.fault)?,
                End::At(_) | End::AfterHang { .. } => chaos.lasting.push(one),
            }
        }
        Ok(())
    }

    fn await_hang(
        &mut self,
        chaos: &mut Chaos,
        fault: ScheduledFault,
        mut since: Duration,
        mut pressed_at: Option<Duration>,
        now: Duration,
    ) -> End {
        let car = fault.node;
        if self.scene.cars[car].node.life == Life::Hung {
            chaos.toll.count(FaultKind::Hang);
            return End::At(now + fault.lasts);
        }
        if now.saturating_sub(since) >= HANG_LIMIT {
            let (weight, what) = if self.scene.cars[car].faults().stuck {
                (Weight::Bad, "has not hung in time")
            } else {
                (Weight::Notable, "has not flown, so it could not hang")
            };
            self.log(Some(car), weight, what);
            return End::At(now);
        }
        let is_due = pressed_at.is_none_or(|at| now.saturating_sub(at) >= PRESS_AGAIN);
        let scene = &self.scene.cars[car];
        if scene.seen.car.driven.is_none() {
            if is_due && self.sights[car].living {
                pressed_at = Some(now);
                self.press(car, Button::Car(self.far_end(car)));
            }
        } else if !scene.faults().stuck && scene.seen.car.speed.abs() >= FAST {
            self.command_car(car, motor_fault(true));
            since = now;
        }
        End::AfterHang { since, pressed_at }
    }

    /// Without power no car hangs: one that is stuck is freed, and flies anew once the power is back.
    fn put_off_hang(&mut self, car: usize, now: Duration) -> End {
        if self.scene.cars[car].faults().stuck {
            self.command_car(car, motor_fault(false));
        }
        End::AfterHang { since: now, pressed_at: None }
    }

    fn far_end(&self, car: usize) -> Floor {
        let top = self.scene.floors.top();
        if self.scene.cars[car].height() < f64::from(top.index()) / 2.0 {
            top
        } else {
            Floor::BOTTOM
        }
    }

    fn put_right(&mut self, fault: ScheduledFault) -> Result<(), DemoError> {
        let car = fault.node;
        match fault.kind {
            FaultKind::Kill => self.start(car)?,
            FaultKind::Suspension => self.resume(car),
            FaultKind::LineCut => self.command_car(car, line_fault(false)),
            FaultKind::NetworkCut => self.wire(car, Cable::Whole),
            FaultKind::Hang => {
                self.command_car(car, motor_fault(false));
                self.bring_back(car)?;
            }
            FaultKind::Obstruction => self.command_car(car, obstruct(false)),
            FaultKind::StopSwitch => self.command_car(car, stop(false)),
            FaultKind::PowerCut => self.power_up()?,
        }
        Ok(())
    }

    /// Every node that has ended or is suspended runs again, no matter what stopped it.
    fn bring_all_back(&mut self) -> Result<(), DemoError> {
        if self.scene.power == Power::Off {
            self.power_up()?;
        }
        (0..self.actors.len()).try_for_each(|car| self.bring_back(car))
    }

    fn bring_back(&mut self, car: usize) -> Result<(), DemoError> {
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
