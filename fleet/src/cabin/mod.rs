//! The node's own car with its panel, and the climate.
//!
//! ```text
//!   PanelEvent ──▶ Car ──▶ CarEvent        stops ──▶ Car
//!        │          └──▶ view for the peers          │
//!        ▼                                           ▼
//!   inputs ──▶ own reading ──▶ Climate ──▶ PanelOutputs ◀── lamps
//! ```
//!
//! It knows no peer, order or master. What to show and where to stop comes in as arguments; what
//! happened goes out as [`Occurrence`], [`CarEvent`] and [`Message`].

mod climate;
mod status;

use std::time::Duration;

use elevator_driver::{
    Alarm, Button, Entrance, KeySwitch, Kiosks, LampSet, Lamps, MotorCommand, PanelEvent,
    PanelInputs, PanelOutputs, Trip,
};

use self::climate::Climate;
use crate::car::{
    Car, CarEvent, CarSettings, CarTimer, FireKey, FlightRecord, Power, Press, Stops,
};
use crate::climate::{ClimateSettings, DisplayData, Reading, Source};
use crate::dispatch::CarPlan;
use crate::election::Message;
use crate::model::{Availability, Call, CarView, Counters, NodeId, Timestamp};
use crate::report::Report;
use crate::seeded::{SeededBug, is_seeded};

pub use climate::ClimateTimer;
pub use status::{CarStatus, ClimateStatus, UnitStatus};

const REFUSED_PERIOD: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CabinTimer {
    Car(CarTimer),
    Climate(ClimateTimer),
}

/// A car and its panel. A node without a car may still have a panel, as in a lobby.
#[derive(Debug)]
pub(crate) struct Cabin {
    /// The name of the node, and of its car.
    own: NodeId,
    pub(crate) car: Option<Car>,
    pub(crate) climate: Climate,
    /// Whether the panel answers, and if not, why; `None` before its first event.
    panel: Option<Result<(), String>>,
    /// What the panel has reported since it was connected.
    inputs: Option<PanelInputs>,
    outputs: Option<PanelOutputs>,
    panel_update: Option<PanelOutputs>,
    /// The car has changed, so panel and peers need an update.
    is_dirty: bool,
    /// The stops have changed, so the car needs an update.
    are_stops_dirty: bool,
    /// The car as last sent to the linked peers.
    sent: Option<CarView>,
    refused_reported: Option<Timestamp>,
    target_changes: u64,
}

/// An event of the panel that concerns other components.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Occurrence {
    Report(Report),
    Pressed(Button),
    Requested(Trip),
    Alarm,
}

impl Cabin {
    pub(crate) fn new(
        own: NodeId,
        car: Option<CarSettings>,
        flight_times: &[FlightRecord],
        climate: ClimateSettings,
    ) -> Self {
        Self {
            own,
            car: car.map(|car| Car::new(car).with_flight_times(flight_times)),
            climate: Climate::new(climate),
            panel: None,
            inputs: None,
            outputs: None,
            panel_update: None,
            is_dirty: false,
            are_stops_dirty: false,
            sent: None,
            refused_reported: None,
            target_changes: 0,
        }
    }

    pub(crate) fn car(&self) -> Option<&Car> {
        self.car.as_ref()
    }

    pub(crate) fn change_car(&mut self, change: impl FnOnce(&mut Car)) {
        if let Some(car) = self.car.as_mut() {
            change(car);
            self.is_dirty = true;
        }
    }

    /// The car as sent to peers, whose beacons name fewer modes than there are.
    pub(crate) fn view(&self, now: Timestamp) -> Option<CarView> {
        let view = self.car.as_ref()?.view(now);
        Some(CarView { mode: view.mode.on_the_wire(), ..view })
    }

    /// The car, unless the linked peers know it already, apart from the elapsed time.
    pub(crate) fn delta(&mut self, now: Timestamp) -> Option<CarView> {
        let view = self.view(now)?;
        let is_known =
            self.sent.is_some_and(|sent| CarView { elapsed: view.elapsed, ..sent } == view);
        if is_known {
            return None;
        }
        self.sent = Some(view);
        Some(view)
    }

    /// Another peer was linked, which does not know the car.
    pub(crate) fn forget_sent(&mut self) {
        self.sent = None;
        self.is_dirty = true;
    }

    /// The panel's current outputs, or `None` before the start or without a car.
    pub(crate) fn outputs(&self) -> Option<&PanelOutputs> {
        self.outputs.as_ref()
    }

    pub(crate) fn health(&self, disk_works: bool) -> u32 {
        let in_service = |car: &Car| car.availability() == Availability::InService;
        let car_in_service = self.car.as_ref().is_some_and(in_service);
        health(disk_works, self.panel_answers(), car_in_service)
    }

    /// Until its first event a panel counts as one that answers, so that all nodes start alike.
    fn panel_answers(&self) -> bool {
        self.panel.as_ref().map_or(self.car.is_some(), Result::is_ok)
    }

    /// An event of the panel. A panel without a car has at most hall buttons.
    pub(crate) fn handle_panel(&mut self, event: PanelEvent, now: Timestamp) -> Option<Occurrence> {
        if let Some(car) = self.car.as_mut() {
            car.handle_panel(&event, now);
        }
        self.is_dirty = true;
        match event {
            PanelEvent::Connected => self.panel_is(Ok(())),
            PanelEvent::Disconnected(reason) => {
                self.inputs = None;
                self.panel_is(Err(reason))
            }
            PanelEvent::Inputs(inputs) => {
                let before = self.inputs.as_ref().and_then(|before| before.floor);
                let floor = inputs.floor.filter(|_| inputs.floor != before);
                self.inputs = Some(inputs);
                floor.map(|floor| Occurrence::Report(Report::Floor { floor }))
            }
            PanelEvent::Pressed(button) => Some(Occurrence::Pressed(button)),
            PanelEvent::Requested(trip) => Some(Occurrence::Requested(trip)),
            PanelEvent::Alarm => Some(Occurrence::Alarm),
            PanelEvent::Refused(what) => {
                let text = format!("impossible in this shaft: {what}");
                self.refused(text, now).map(Occurrence::Report)
            }
        }
    }

    /// A press was refused, for this reason. A faulty panel may send any number of those.
    pub(crate) fn refused(&mut self, text: String, now: Timestamp) -> Option<Report> {
        let is_due = self.refused_reported.is_none_or(|at| now.since(at) >= REFUSED_PERIOD);
        is_due.then(|| {
            self.refused_reported = Some(now);
            Report::PressRefused { text }
        })
    }

    fn panel_is(&mut self, line: Result<(), String>) -> Option<Occurrence> {
        let before = self.panel.replace(line.clone());
        let has_changed = before.map(|before| before.is_ok()) != Some(line.is_ok());
        has_changed.then_some(Occurrence::Report(Report::Panel(line)))
    }

    /// A button in the car was pressed: what that is in its present mode.
    pub(crate) fn press(&mut self, at: Entrance, now: Timestamp) -> Press {
        self.is_dirty = true;
        self.car.as_mut().map_or(Press::Order, |car| car.handle_press(at, now))
    }

    /// Whether a press of a lit car button cancels its call now.
    pub(crate) fn cancels_car_calls(&self) -> bool {
        self.car.as_ref().is_some_and(Car::cancels_car_calls)
    }

    /// Whether the open door of the car makes an order for this call unnecessary.
    pub(crate) fn absorbs(&mut self, call: &Call, now: Timestamp) -> bool {
        let is_here = match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == self.own,
        };
        let car = self.car.as_mut().filter(|_| is_here);
        // A destination call always makes an order: its passenger is told the car.
        let absorbs = call.button().zip(car).is_some_and(|(button, car)| car.absorbs(button, now));
        self.is_dirty |= absorbs;
        absorbs
    }

    pub(crate) fn handle_interrupted(&mut self, late: Duration, now: Timestamp) {
        self.climate.handle_interrupted(late, now);
        self.change_car(|car| car.handle_interrupted(late, now));
        self.is_dirty = true;
    }

    /// The next deadline. `asks`: whether this node requests sensor data.
    pub(crate) fn poll_timeout(&self, asks: bool) -> Option<(Timestamp, CabinTimer)> {
        let car = self.car.as_ref().and_then(Car::poll_timeout);
        let car = car.map(|(at, timer)| (at, CabinTimer::Car(timer)));
        let climate = self.climate.due(asks);
        let climate = climate.map(|(at, timer)| (at, CabinTimer::Climate(timer)));
        car.into_iter().chain(climate).min_by_key(|(at, _)| *at)
    }

    /// Handles the car's deadlines, not those of the climate.
    pub(crate) fn handle_timeout(&mut self, now: Timestamp) {
        let due = self.car.as_ref().and_then(Car::poll_timeout);
        if due.is_some_and(|(at, _)| at <= now) {
            self.change_car(|car| car.handle_timeout(now));
        }
    }

    pub(crate) fn invalidate_stops(&mut self) {
        self.are_stops_dirty = true;
    }

    pub(crate) fn are_stops_dirty(&self) -> bool {
        self.are_stops_dirty
    }

    pub(crate) fn set_stops(&mut self, stops: Stops<'_>, now: Timestamp) {
        self.are_stops_dirty = false;
        self.change_car(|car| car.set_stops(stops, now));
    }

    pub(crate) fn set_plan(&mut self, plan: CarPlan) {
        if let Some(car) = self.car.as_mut() {
            car.set_plan(plan);
            self.are_stops_dirty = true;
        }
    }

    pub(crate) fn set_power(&mut self, power: Power, now: Timestamp) {
        if self.car.as_ref().is_some_and(|car| car.power() != power) {
            self.change_car(|car| car.set_power(power, now));
        }
    }

    /// What the car's key switch at *fire recall* means.
    pub(crate) fn fire_key(&self) -> FireKey {
        self.car.as_ref().map_or(FireKey::Recalls, Car::fire_key)
    }

    pub(crate) fn key_switch(&self) -> Option<KeySwitch> {
        match &self.car {
            Some(car) => car.key_switch(),
            None => self.inputs.as_ref().map(|inputs| inputs.key),
        }
    }

    pub(crate) fn poll_event(&mut self) -> Option<CarEvent> {
        self.car.as_mut().and_then(Car::poll_event)
    }

    /// A disk works, and has these counters.
    pub(crate) fn restore_counters(&mut self, on_disk: Option<&Counters>) {
        self.change_car(|car| car.restore_counters(on_disk));
    }

    pub(crate) fn take_counted(&mut self) -> Option<Counters> {
        self.car.as_mut().and_then(Car::take_counted)
    }

    pub(crate) fn invalidate(&mut self) {
        self.is_dirty = true;
    }

    /// Whether panel and peers need an update; `true` once per change.
    pub(crate) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.is_dirty)
    }

    pub(crate) fn update_panel(
        &mut self,
        mut orders: LampSet,
        kiosks: Kiosks,
        alarm: Alarm,
        now: Timestamp,
    ) {
        if is_seeded(SeededBug::LampsStayLit) {
            orders.extend(self.outputs.iter().flat_map(|outputs| &outputs.lamps.orders));
        }
        let mut display = self.climate.display(now);
        if let Some(calls) = self.car.as_ref().and_then(Car::calls_for_attendant) {
            display.text = calls;
        }
        let shown = self.car.as_ref().and_then(Car::indicator);
        display.position = shown.map(|floor| floor.to_string()).unwrap_or_default();
        let outputs = match &self.car {
            Some(car) => PanelOutputs {
                motor: car.motor(),
                door: car.door(),
                lamps: Lamps { orders, stop: car.stop_lamp() },
                indicator: car.indicator(),
                lantern: car.lantern(),
                gong: car.gong(),
                alarm,
                light_off: car.is_dark() && alarm == Alarm::Off,
                display,
                kiosks,
            },
            // A node without a car may have no panel.
            None if self.panel.is_none() => return,
            None => PanelOutputs {
                lamps: Lamps { orders, stop: false },
                alarm,
                display,
                kiosks,
                ..PanelOutputs::default()
            },
        };
        if self.outputs.as_ref() != Some(&outputs) {
            let motor = self.outputs.as_ref().map(|before| before.motor);
            let is_target = matches!(outputs.motor, MotorCommand::Run { .. });
            self.target_changes += u64::from(is_target && motor != Some(outputs.motor));
            self.outputs = Some(outputs.clone());
            self.panel_update = Some(outputs);
        }
    }

    pub(crate) fn target_changes(&self) -> u64 {
        self.target_changes
    }

    pub(crate) fn poll_panel_update(&mut self) -> Option<PanelOutputs> {
        self.panel_update.take()
    }

    /// The wall clock, in seconds since 1970-01-01.
    pub(crate) fn set_wall_clock(&mut self, unix_seconds: u32, now: Timestamp) {
        self.climate.set_wall_clock(unix_seconds, now);
        self.change_car(|car| car.set_wall_clock(unix_seconds));
        self.is_dirty = true;
    }

    /// Handles a peer's message about the climate; the answer. `shows`: its display data counts.
    pub(crate) fn handle_message(
        &mut self,
        from: &NodeId,
        message: &Message,
        shows: bool,
        now: Timestamp,
    ) -> Option<Message> {
        if let Message::SensorData(reading) = message {
            self.climate.handle_reading(Source::Node(from.clone()), *reading, now);
        } else if let Message::DisplayData(data) = message {
            if shows {
                self.climate.follow(*data, now);
                self.is_dirty = true;
            }
        } else if *message == Message::SensorRequest {
            self.climate.note_request(now);
            return Some(Message::SensorData(self.own_reading()));
        }
        None
    }

    /// The data that every indicator shows from now on, once the answers are in (V11).
    pub(crate) fn display_data_due(&mut self, now: Timestamp) -> Option<DisplayData> {
        let own = (Source::Node(self.own.clone()), self.own_reading());
        let data = self.climate.gathered(own, now)?;
        self.is_dirty = true;
        Some(data)
    }

    pub(crate) fn expire_display_data(&mut self, now: Timestamp) {
        self.is_dirty |= self.climate.expire(now);
    }

    /// The readings of the node's own sensors. The panel's line clears those too old (K1).
    fn own_reading(&self) -> Reading {
        let climate = self.inputs.as_ref().map(|inputs| inputs.climate).unwrap_or_default();
        Reading { temperature: climate.temperature, illuminance: climate.illuminance }
    }
}

/// The health of a node, from 1 to 100, on which its fitness to lead depends (B1): 1 because it
/// runs, 49 for a disk that works, 30 for a panel that answers, 20 for a car in service.
///
/// A master without a disk can't promise orders on its own (P1), and one without a panel drives no
/// car; a car out of service says little about the node. A node without a car reaches 50.
#[must_use]
pub fn health(disk_works: bool, panel_answers: bool, car_in_service: bool) -> u32 {
    let worth = |is_so: bool, points: u32| if is_so { points } else { 0 };
    1 + worth(disk_works, 49) + worth(panel_answers, 30) + worth(car_in_service, 20)
}

#[cfg(test)]
mod tests {
    use elevator_driver::FloorCount;

    use super::*;
    use crate::election::testing::name;

    fn cabin(car: Option<CarSettings>) -> Cabin {
        Cabin::new(name(1), car, &[], ClimateSettings::default())
    }

    fn car() -> CarSettings {
        CarSettings::new(FloorCount::new(4).expect("floors"))
    }

    #[test]
    fn the_line_to_the_panel_is_reported_when_it_changes() {
        let (mut cabin, now) = (cabin(None), Timestamp::START);
        let cut = || PanelEvent::Disconnected("cut".to_owned());
        let told = [PanelEvent::Connected, PanelEvent::Connected, cut(), cut()]
            .map(|event| cabin.handle_panel(event, now));
        let report = |line| Some(Occurrence::Report(Report::Panel(line)));
        let expected = [report(Ok(())), None, report(Err("cut".to_owned())), None];
        assert_eq!(told, expected);
    }

    #[test]
    fn linked_peers_are_told_of_the_car_when_it_changes() {
        let (mut cabin, now) = (cabin(Some(car())), Timestamp::START);
        assert_eq!(cabin.delta(now), cabin.view(now));
        assert_eq!(cabin.delta(now + Duration::from_secs(1)), None);
        cabin.forget_sent();
        assert!(cabin.delta(now).is_some());
    }
}
