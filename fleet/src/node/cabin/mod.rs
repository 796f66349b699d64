//! The node's own car with its panel, and the climate that the panel's indicator shows.
//!
//! ```text
//!   PanelEvent ──▶ Car ──▶ CarEvent        stops ──▶ Car
//!        │          └──▶ view for the peers          │
//!        ▼                                           ▼
//!   inputs ──▶ own reading ──▶ Climate ──▶ PanelOutputs ◀── lamps
//! ```
//!
//! It knows no peer, order or master: what it is to show and where to stop comes in as arguments,
//! what happened goes out as [`Occurrence`], [`CarEvent`] and [`Message`].

mod climate;
mod health;
mod status;

use std::collections::BTreeSet;
use std::time::Duration;

use elevator_driver::{Button, LampSet, Lamps, PanelEvent, PanelInputs, PanelOutputs};

use self::climate::Climate;
use super::{Report, Timer};
use crate::car::{Car, CarEvent, CarSettings, FlightRecord, Stops};
use crate::climate::{ClimateSettings, DisplayData, Reading, Source};
use crate::election::Message;
use crate::model::{Availability, Call, CarView, NodeId, Timestamp};

pub use climate::ClimateTimer;
pub use health::health;

/// A car and its panel. Without a car there may be a panel all the same, as in a lobby.
#[derive(Debug)]
pub(super) struct Cabin {
    /// The name of the node, and of its car.
    own: NodeId,
    car: Option<Car>,
    climate: Climate,
    /// Whether the panel answers, and if not, why; unknown before its first word.
    panel: Option<Result<(), String>>,
    inputs: PanelInputs,
    /// What the panel was last told.
    outputs: Option<PanelOutputs>,
    /// The same, until it has gone out.
    panel_update: Option<PanelOutputs>,
    /// What panel and peers know of the car has to be brought in line.
    is_dirty: bool,
    /// Where the car is to stop has to be brought in line.
    are_stops_dirty: bool,
    /// The car as the linked peers were last told.
    told: Option<CarView>,
}

/// What the panel has said, as far as others are concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Occurrence {
    /// People may want to know of it.
    Report(Report),
    Pressed(Button),
}

impl Cabin {
    pub(super) fn new(
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
            inputs: PanelInputs::default(),
            outputs: None,
            panel_update: None,
            is_dirty: false,
            are_stops_dirty: false,
            told: None,
        }
    }

    pub(super) fn has_car(&self) -> bool {
        self.car.is_some()
    }

    /// The car as the peers are to know it.
    pub(super) fn view(&self, now: Timestamp) -> Option<CarView> {
        self.car.as_ref().map(|car| car.view(now))
    }

    /// The car, unless the linked peers know it as it is, but for the time that passes. They count
    /// as told from here on.
    pub(super) fn delta(&mut self, now: Timestamp) -> Option<CarView> {
        let view = self.view(now)?;
        let is_known =
            self.told.is_some_and(|told| CarView { elapsed: view.elapsed, ..told } == view);
        if is_known {
            return None;
        }
        self.told = Some(view);
        Some(view)
    }

    /// Another peer is linked, which has not been told of the car.
    pub(super) fn forget_told(&mut self) {
        self.told = None;
        self.is_dirty = true;
    }

    /// What the panel was last told, or `None` before the start or without a car.
    pub(super) fn outputs(&self) -> Option<&PanelOutputs> {
        self.outputs.as_ref()
    }

    /// How fit the node is to lead: see [`health`].
    pub(super) fn health(&self, disk_works: bool) -> u32 {
        let in_service = |car: &Car| car.availability() == Availability::InService;
        let car_in_service = self.car.as_ref().is_some_and(in_service);
        health(disk_works, self.panel_answers(), car_in_service)
    }

    /// Until the panel of its car has been heard of, it counts as one that answers: all nodes that
    /// start rank alike, however soon each finds its panel.
    fn panel_answers(&self) -> bool {
        self.panel.as_ref().map_or(self.car.is_some(), Result::is_ok)
    }

    /// The panel has something to say. One that belongs to no car has hall buttons at most.
    pub(super) fn handle_panel(&mut self, event: PanelEvent, now: Timestamp) -> Option<Occurrence> {
        if let Some(car) = self.car.as_mut() {
            car.handle_panel(&event, now);
        }
        self.is_dirty = true;
        match event {
            PanelEvent::Connected => self.panel_is(Ok(())),
            PanelEvent::Disconnected(reason) => {
                self.inputs = PanelInputs::default();
                self.panel_is(Err(reason))
            }
            PanelEvent::Inputs(inputs) => {
                let floor = inputs.floor.filter(|_| inputs.floor != self.inputs.floor);
                self.inputs = inputs;
                floor.map(|floor| Occurrence::Report(Report::Floor { floor }))
            }
            PanelEvent::Pressed(button) => Some(Occurrence::Pressed(button)),
        }
    }

    fn panel_is(&mut self, line: Result<(), String>) -> Option<Occurrence> {
        let before = self.panel.replace(line.clone());
        let has_changed = before.map(|before| before.is_ok()) != Some(line.is_ok());
        has_changed.then_some(Occurrence::Report(Report::Panel(line)))
    }

    /// Whether the open door of the car makes an order for this call needless.
    pub(super) fn absorbs(&mut self, call: &Call, now: Timestamp) -> bool {
        let is_here = match call {
            Call::Hall(_) => true,
            Call::Car { car, .. } => *car == self.own,
        };
        let car = self.car.as_mut().filter(|_| is_here);
        let absorbs = car.is_some_and(|car| car.absorbs(call.button(), now));
        self.is_dirty |= absorbs;
        absorbs
    }

    /// The process was held up for `late`, until this moment.
    pub(super) fn handle_interrupted(&mut self, late: Duration, now: Timestamp) {
        self.climate.forget_request();
        if let Some(car) = self.car.as_mut() {
            car.handle_interrupted(late, now);
        }
        self.is_dirty = true;
    }

    /// The motor stops and stays stopped.
    pub(super) fn shut_down(&mut self, now: Timestamp) {
        if let Some(car) = self.car.as_mut() {
            car.shut_down(now);
        }
        self.is_dirty = true;
    }

    /// When, and why, the cabin has something to do. `asks`: this node asks for sensor data.
    pub(super) fn poll_timeout(&self, asks: bool) -> Option<(Timestamp, Timer)> {
        let car = self.car.as_ref().and_then(Car::poll_timeout);
        let car = car.map(|(at, timer)| (at, Timer::Car(timer)));
        let climate = self.climate.due(asks);
        let climate = climate.map(|(at, timer)| (at, Timer::Climate(timer)));
        car.into_iter().chain(climate).min_by_key(|(at, _)| *at)
    }

    /// Lets the car do what is due. The climate is refreshed by
    /// [`display_data_due`](Self::display_data_due) and
    /// [`expire_display_data`](Self::expire_display_data).
    pub(super) fn handle_timeout(&mut self, now: Timestamp) {
        if let Some(car) = self.car.as_mut()
            && car.poll_timeout().is_some_and(|(at, _)| at <= now)
        {
            car.handle_timeout(now);
            self.is_dirty = true;
        }
    }

    /// Which calls there are, or who serves them, has changed.
    pub(super) fn invalidate_stops(&mut self) {
        self.are_stops_dirty = true;
    }

    pub(super) fn are_stops_dirty(&self) -> bool {
        self.are_stops_dirty
    }

    /// Tells the car where to stop.
    pub(super) fn set_stops(&mut self, stops: Stops<'_>, now: Timestamp) {
        self.are_stops_dirty = false;
        if let Some(car) = self.car.as_mut() {
            car.set_stops(stops, now);
            self.is_dirty = true;
        }
    }

    /// What the car has done.
    pub(super) fn poll_event(&mut self) -> Option<CarEvent> {
        self.car.as_mut().and_then(Car::poll_event)
    }

    /// What the panel shows has changed.
    pub(super) fn invalidate(&mut self) {
        self.is_dirty = true;
    }

    /// Whether panel and peers have to be told of the car; says so once.
    pub(super) fn take_dirty(&mut self) -> bool {
        std::mem::take(&mut self.is_dirty)
    }

    /// Brings the panel in line with the car, the climate and these order lamps.
    pub(super) fn update_panel(&mut self, orders: LampSet, now: Timestamp) {
        let display = self.climate.display(now);
        let outputs = match &self.car {
            Some(car) => PanelOutputs {
                motor: car.motor(),
                door: car.door(),
                lamps: Lamps { orders, stop: car.stop_lamp() },
                indicator: car.indicator(),
                lantern: car.lantern(),
                display,
            },
            // Nobody may be behind a node without a car.
            None if self.panel.is_none() => return,
            None => PanelOutputs {
                lamps: Lamps { orders, stop: false },
                display,
                ..PanelOutputs::default()
            },
        };
        if self.outputs.as_ref() != Some(&outputs) {
            self.outputs = Some(outputs.clone());
            self.panel_update = Some(outputs);
        }
    }

    /// What the panel has yet to be told.
    pub(super) fn poll_panel_update(&mut self) -> Option<PanelOutputs> {
        self.panel_update.take()
    }

    /// The wall clock shows so many seconds since 1970-01-01.
    pub(super) fn set_wall_clock(&mut self, unix_seconds: u32, now: Timestamp) {
        self.climate.set_wall_clock(unix_seconds, now);
        self.is_dirty = true;
    }

    /// Whether it is time to ask every unit for sensor data, where this node `asks`.
    pub(super) fn is_request_due(&self, asks: bool, now: Timestamp) -> bool {
        self.climate.request_due(asks).is_some_and(|at| at <= now)
    }

    /// This node has asked these for sensor data.
    pub(super) fn start_gathering(&mut self, waits_for: BTreeSet<NodeId>, now: Timestamp) {
        self.climate.start_gathering(waits_for, now);
    }

    /// Takes in what a peer says of the climate; hands back the answer to it alone. `shows`:
    /// whether the indicator shows what this peer tells.
    pub(super) fn handle_message(
        &mut self,
        from: &NodeId,
        message: &Message,
        shows: bool,
        now: Timestamp,
    ) -> Option<Message> {
        if let Message::SensorData(reading) = message {
            self.handle_reading(Source::Node(from.clone()), *reading, now);
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

    /// Takes a reading in, whatever carried it.
    pub(super) fn handle_reading(&mut self, source: Source, reading: Reading, now: Timestamp) {
        self.climate.handle_reading(source, reading, now);
    }

    /// What every indicator is to show, once the answers are in that this node has asked for (V11).
    /// Its own indicator shows it from here on.
    pub(super) fn display_data_due(&mut self, now: Timestamp) -> Option<DisplayData> {
        let own = (Source::Node(self.own.clone()), self.own_reading());
        let data = self.climate.gathered(own, now)?;
        self.is_dirty = true;
        Some(data)
    }

    /// Drops what the indicator shows once it is too old.
    pub(super) fn expire_display_data(&mut self, now: Timestamp) {
        self.is_dirty |= self.climate.expire(now);
    }

    /// What the node's own sensors read. The panel's line sees to it that an old value is
    /// unknown (K1).
    fn own_reading(&self) -> Reading {
        let climate = self.inputs.climate;
        Reading { temperature: climate.temperature, illuminance: climate.illuminance }
    }
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
    fn a_panel_is_told_what_is_new_to_it() {
        let (mut cabin, now) = (cabin(Some(car())), Timestamp::START);
        cabin.update_panel(LampSet::default(), now);
        assert!(cabin.poll_panel_update().is_some());
        cabin.update_panel(LampSet::default(), now);
        assert_eq!(cabin.poll_panel_update(), None);
    }

    #[test]
    fn linked_peers_are_told_of_the_car_when_it_changes() {
        let (mut cabin, now) = (cabin(Some(car())), Timestamp::START);
        assert_eq!(cabin.delta(now), cabin.view(now));
        assert_eq!(cabin.delta(now + Duration::from_secs(1)), None);
        cabin.forget_told();
        assert!(cabin.delta(now).is_some());
    }
}
