//! What people do at a panel that asks for the destination and says which car to take.

use std::time::Duration;

use elevator_driver::Floor;

use super::{Action, Crowd, PRESS_AGAIN};

/// What somebody who waits knows of the car to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing, and has not asked.
    None,
    /// Nothing yet; asked at this time.
    Awaited(Duration),
    Car(usize),
}

impl Crowd {
    /// Shows at the panel of a landing which car takes those to a destination who have given it:
    /// once it is known. Who has been told a car keeps to it until its door has closed here.
    pub fn handle_answer(&mut self, from: Floor, to: Floor, car: usize, now: Duration) {
        let Some(direction) = from.direction_to(to) else { return };
        let Some(landing) = self.landings.get(&(from, direction)) else { return };
        for &person in &landing.queue {
            let person = &mut self.people[person];
            if person.passenger.to == to && matches!(person.answer, Answer::Awaited(_)) {
                person.answer = Answer::Car(car);
            }
        }
        self.pass_door(car, now);
    }

    pub(super) fn is_told(&self, person: usize, car: usize) -> bool {
        self.people[person].answer == Answer::Car(car)
    }

    /// The door of this car is closed: who was told it and is still here asks anew.
    pub(super) fn leave_behind(&mut self, car: usize, floor: Floor) {
        let here = self.landings.iter().filter(|((landing, _), _)| *landing == floor);
        for &person in here.flat_map(|(_, landing)| &landing.queue) {
            let answer = &mut self.people[person].answer;
            if *answer == Answer::Car(car) {
                *answer = Answer::None;
            }
        }
    }

    /// Whoever knows of no car gives the destination.
    pub(super) fn give_destinations(&mut self, now: Duration) {
        for &person in self.landings.values().flat_map(|landing| &landing.queue) {
            let person = &mut self.people[person];
            let is_due = match person.answer {
                Answer::None => true,
                Answer::Awaited(since) => now >= since + PRESS_AGAIN,
                Answer::Car(_) => false,
            };
            if is_due {
                person.answer = Answer::Awaited(now);
                let passenger = &person.passenger;
                self.actions.push_back(Action::GiveDestination(passenger.from, passenger.to));
            }
        }
    }

    /// When somebody asks again.
    pub(super) fn next_question(&self) -> Option<Duration> {
        let waiting = self.landings.values().flat_map(|landing| &landing.queue);
        let asked = waiting.filter_map(|&person| match self.people[person].answer {
            Answer::Awaited(since) => Some(since + PRESS_AGAIN),
            Answer::None | Answer::Car(_) => None,
        });
        asked.min()
    }
}
