//! What a building looks like: its floors, and which of them each car serves.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::{Direction, Entrance, Floor, FloorCount, Side};

/// The most characters of a label.
const LONGEST_LABEL: usize = 8;

/// What a label may have beside letters and digits.
const MARKS: &str = "-+._*";

/// The highest that a floor may be above the one below it, in millimetres.
const HIGHEST_STOREY: u32 = 200_000;

/// The floors of a building, and its cars. It is the same on every node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Building {
    count: FloorCount,
    landings: Vec<Landing>,
    cars: Vec<Served>,
}

/// A floor as people know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Landing {
    /// What passengers and operators call it, such as `B1`: 1 to 8 letters, digits or `-+._*`.
    pub label: String,
    /// Its height above the lowest floor, in millimetres.
    pub height: u32,
    /// On which sides one gets in and out: one or both.
    pub doors: BTreeSet<Side>,
}

impl Landing {
    /// A landing at the front of the cars.
    #[must_use]
    pub fn new(label: &str, height: u32) -> Self {
        Self { label: label.to_owned(), height, doors: [Side::Front].into() }
    }

    /// On which side this entrance of the floor is.
    fn door(&self, entrance: Side) -> Option<Side> {
        match (entrance, self.doors.len()) {
            (_, 2) => Some(entrance),
            (Side::Front, _) => self.doors.first().copied(),
            (Side::Rear, _) => None,
        }
    }
}

/// A car, and the floors at which it can stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub car: String,
    /// The indices of these floors.
    pub floors: BTreeSet<Floor>,
    pub doors: BTreeSet<Side>,
}

impl Served {
    fn stops_at(&self, floor: Floor, landing: &Landing) -> bool {
        self.floors.contains(&floor) && !self.doors.is_disjoint(&landing.doors)
    }
}

/// Why there is no such building.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildingError {
    #[error("a building has 2 to 254 floors, not {0}")]
    Count(usize),
    #[error("the label {label:?} is wrong; expected 1 to 8 letters, digits or any of {MARKS}")]
    Label { floor: usize, label: String },
    #[error("another floor is labelled {label:?} too")]
    DuplicateLabel { floor: usize, label: String },
    #[error("the lowest floor has height 0, because heights count from there")]
    Lowest,
    #[error("floor {label:?} must be above the one before it, by at most 200 m")]
    Height { floor: usize, label: String },
    #[error("another car is named {name:?} too")]
    DuplicateCar { car: usize, name: String },
    #[error("car {name:?} serves fewer than two floors")]
    FewFloors { car: usize, name: String },
    #[error("there is no floor {label:?} for this car to serve")]
    NoFloor { car: usize, label: String },
    #[error("floor {label:?} needs a door: front, rear or both")]
    NoDoors { floor: usize, label: String },
    #[error("car {name:?} has no door on a side of floor {label:?}")]
    NoDoor { car: usize, name: String, label: String },
    #[error("no car serves floor {label:?}")]
    Unreached { floor: usize, label: String },
    #[error("no car serves the {side} entrance of floor {label:?}")]
    UnreachedEntrance { floor: usize, label: String, side: Side },
}

/// What a [`BuildingError`] is about: the position in its list, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Whole,
    Floor(usize),
    Car(usize),
}

impl BuildingError {
    #[must_use]
    pub fn place(&self) -> Place {
        match self {
            Self::Count(_) => Place::Whole,
            Self::Lowest => Place::Floor(0),
            Self::Label { floor, .. }
            | Self::DuplicateLabel { floor, .. }
            | Self::Height { floor, .. }
            | Self::NoDoors { floor, .. }
            | Self::UnreachedEntrance { floor, .. }
            | Self::Unreached { floor, .. } => Place::Floor(*floor),
            Self::DuplicateCar { car, .. }
            | Self::FewFloors { car, .. }
            | Self::NoDoor { car, .. }
            | Self::NoFloor { car, .. } => Place::Car(*car),
        }
    }
}

impl Building {
    /// A building in which every car serves every floor if no cars are listed.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong with it.
    pub fn new(landings: Vec<Landing>, cars: Vec<Served>) -> Result<Self, BuildingError> {
        let count = u8::try_from(landings.len()).ok().and_then(FloorCount::new);
        let count = count.ok_or(BuildingError::Count(landings.len()))?;
        for (floor, landing) in landings.iter().enumerate() {
            let Landing { label, height, doors } = landing;
            // It is part of the ids of calls, and so of addresses and tables.
            let wrong =
                |character: char| !character.is_alphanumeric() && !MARKS.contains(character);
            if label.contains(wrong) || !(1..=LONGEST_LABEL).contains(&label.chars().count()) {
                return Err(BuildingError::Label { floor, label: label.clone() });
            }
            if doors.is_empty() {
                return Err(BuildingError::NoDoors { floor, label: label.clone() });
            }
            let (below, is_known) = (&landings[..floor], |other: &Landing| other.label == *label);
            if below.iter().any(is_known) {
                return Err(BuildingError::DuplicateLabel { floor, label: label.clone() });
            }
            match below.last().map(|below| height.checked_sub(below.height)) {
                None if *height != 0 => return Err(BuildingError::Lowest),
                None | Some(Some(1..=HIGHEST_STOREY)) => {}
                Some(_) => return Err(BuildingError::Height { floor, label: label.clone() }),
            }
        }
        for (car, served) in cars.iter().enumerate() {
            let name = served.car.clone();
            if cars[..car].iter().any(|other| other.car == name) {
                return Err(BuildingError::DuplicateCar { car, name });
            }
            if served.floors.iter().filter(|floor| count.contains(**floor)).count() < 2 {
                return Err(BuildingError::FewFloors { car, name });
            }
            let mut all = count.floors().zip(&landings);
            let is_shut = |(floor, it): &(Floor, &Landing)| {
                served.floors.contains(floor) && !served.stops_at(*floor, it)
            };
            if let Some((_, landing)) = all.find(is_shut) {
                return Err(BuildingError::NoDoor { car, name, label: landing.label.clone() });
            }
        }
        let building = Self { count, landings, cars };
        let missed = building.entrances().find(|entrance| !building.is_reached(*entrance));
        let Some(Entrance { floor, side }) = missed else { return Ok(building) };
        let floor = usize::from(floor.index());
        let Landing { label, doors, .. } = building.landings[floor].clone();
        Err(match doors.len() {
            1 => BuildingError::Unreached { floor, label },
            _ => BuildingError::UnreachedEntrance { floor, label, side },
        })
    }

    fn is_reached(&self, entrance: Entrance) -> bool {
        self.cars.is_empty() || self.cars.iter().any(|it| self.door(&it.car, entrance).is_some())
    }

    /// One whose floors are labelled 0, 1, 2 …, and of which every car serves every floor.
    #[must_use]
    pub fn uniform(count: FloorCount, storey_mm: u32) -> Self {
        let landing = |floor: Floor| {
            let index = floor.index();
            Landing::new(&index.to_string(), u32::from(index).saturating_mul(storey_mm))
        };
        Self { count, landings: count.floors().map(landing).collect(), cars: Vec::new() }
    }

    /// A height in metres as a [`Landing`] has it.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a float that is too small or too large becomes the least or the greatest number"
    )]
    pub fn millimetres(metres: f64) -> u32 {
        (metres * 1_000.0).round() as u32
    }

    #[must_use]
    pub fn floors(&self) -> FloorCount {
        self.count
    }

    /// The floors from the lowest up.
    #[must_use]
    pub fn landings(&self) -> &[Landing] {
        &self.landings
    }

    /// The heights of the floors above the lowest, in millimetres.
    #[must_use]
    pub fn heights(&self) -> Vec<u32> {
        self.landings.iter().map(|landing| landing.height).collect()
    }

    /// The cars that are listed; none means that any car serves every floor.
    #[must_use]
    pub fn cars(&self) -> &[Served] {
        &self.cars
    }

    /// What people call this floor. One that the building does not have shows its index.
    #[must_use]
    pub fn label(&self, floor: Floor) -> Option<&str> {
        self.landings.get(usize::from(floor.index())).map(|landing| landing.label.as_str())
    }

    /// The floor with this label.
    #[must_use]
    pub fn floor(&self, label: &str) -> Option<Floor> {
        let mut all = self.count.floors().zip(&self.landings);
        all.find_map(|(floor, landing)| (landing.label == label).then_some(floor))
    }

    /// The entrances of all floors, from the lowest up.
    pub fn entrances(&self) -> impl Iterator<Item = Entrance> {
        let of_floor = |floor| Side::BOTH.map(|side| Entrance { floor, side });
        self.count.floors().flat_map(of_floor).filter(|entrance| self.has(*entrance))
    }

    #[must_use]
    pub fn has(&self, entrance: Entrance) -> bool {
        self.side(entrance).is_some()
    }

    /// On which side of the shaft an entrance is; `None` if there is none.
    fn side(&self, Entrance { floor, side }: Entrance) -> Option<Side> {
        self.landings.get(usize::from(floor.index()))?.door(side)
    }

    /// The door of this car that opens at an entrance; `None` if none does.
    #[must_use]
    pub fn door(&self, car: &str, entrance: Entrance) -> Option<Side> {
        let served = self.cars.iter().find(|served| served.car == car);
        self.side(entrance).filter(|door| {
            served.is_none_or(|it| it.floors.contains(&entrance.floor) && it.doors.contains(door))
        })
    }

    /// The floors at which this car can't stop.
    pub fn unserved(&self, car: &str) -> impl Iterator<Item = Floor> {
        let served = self.cars.iter().find(|served| served.car == car);
        let all = self.count.floors().zip(&self.landings);
        all.filter(move |(floor, it)| served.is_some_and(|served| !served.stops_at(*floor, it)))
            .map(|(floor, _)| floor)
    }

    /// Whether a label is something else than the index of its floor.
    fn has_names(&self) -> bool {
        let mut all = (0..).zip(&self.landings);
        !all.all(|(index, landing): (u8, _)| landing.label == index.to_string())
    }

    /// Whether this car opens at an entrance, and stops at another floor in this direction from
    /// there: a passenger who calls it there wants to go that way.
    #[must_use]
    pub fn goes_on(&self, car: &str, from: Entrance, direction: Direction) -> bool {
        let served = self.cars.iter().find(|served| served.car == car);
        self.door(car, from).is_some()
            && served
                .is_none_or(|it| it.floors.iter().any(|to| to.is_beyond(from.floor, direction)))
    }

    /// Whether some car does not stop at this floor.
    #[must_use]
    pub fn is_restricted(&self, floor: Floor) -> bool {
        self.cars.iter().any(|car| !car.floors.contains(&floor))
    }

    /// A line for each floor and each car. Buildings are equal where their lines are.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let floors = (1..).zip(&self.landings).map(|(number, Landing { label, height, doors })| {
            let metres = f64::from(*height) / 1000.0;
            format!("floor {number} from below: {label}, {metres} m{}", told(doors))
        });
        let cars = self.cars.iter().map(|Served { car, floors, doors }| {
            let labels: Vec<_> = floors.iter().filter_map(|floor| self.label(*floor)).collect();
            format!("car {car}: serves {}{}", labels.join(" "), told(doors))
        });
        floors.chain(cars)
    }
}

/// The sides of doors, unless there is only the front one.
fn told(doors: &BTreeSet<Side>) -> &'static str {
    match (doors.contains(&Side::Front), doors.contains(&Side::Rear)) {
        (_, false) => "",
        (true, true) => ", front and rear",
        (false, true) => ", rear",
    }
}

/// With storeys of 3 m.
impl From<FloorCount> for Building {
    fn from(count: FloorCount) -> Self {
        Self::uniform(count, 3_000)
    }
}

/// The building whose labels floors show in this process.
static SHOWN: RwLock<Option<Arc<Building>>> = RwLock::new(None);

thread_local! {
    /// The same for this thread.
    static SHOWN_HERE: RefCell<Option<Arc<Building>>> = const { RefCell::new(None) };
}

/// From now on the whole process shows and reads floors by the labels of this building, as it would
/// numbers by those of a country, this thread too. Before, floors show their index.
pub fn show_labels(building: &Arc<Building>) {
    show_labels_here(None);
    let building = Some(building).filter(|building| building.has_names()).cloned();
    *SHOWN.write().unwrap_or_else(PoisonError::into_inner) = building;
}

/// The same for this thread alone.
pub fn show_labels_here(building: Option<Arc<Building>>) {
    SHOWN_HERE.set(building);
}

fn shown() -> Option<Arc<Building>> {
    let everywhere = || SHOWN.read().unwrap_or_else(PoisonError::into_inner).clone();
    SHOWN_HERE.with_borrow(Clone::clone).or_else(everywhere)
}

/// The label of a floor where one is shown, else its index.
pub(super) fn fmt(floor: Floor, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match shown().as_ref().and_then(|building| building.label(floor)) {
        Some(label) => f.pad(label),
        None => fmt::Display::fmt(&floor.index(), f),
    }
}

/// A text that names no floor.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no floor {label:?}; the floors are {floors}")]
pub struct UnknownFloor {
    label: String,
    floors: String,
}

/// By its label, where labels are shown, else by its index.
pub(super) fn parse(label: &str) -> Result<Floor, UnknownFloor> {
    let building = shown();
    let floor = match &building {
        Some(building) => building.floor(label),
        None => label.parse().ok().and_then(|index: u8| Floor::try_from(index).ok()),
    };
    floor.ok_or_else(|| UnknownFloor {
        label: label.to_owned(),
        floors: building.map_or_else(
            || "0 to 253".to_owned(),
            |it| it.landings.iter().map(|it| it.label.as_str()).collect::<Vec<_>>().join(" "),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landings(of: &[(&str, u32)]) -> Vec<Landing> {
        of.iter().map(|&(label, height)| Landing::new(label, height)).collect()
    }

    fn floor(index: u8) -> Floor {
        Floor::try_from(index).unwrap()
    }

    fn served(car: &str, floors: &[u8]) -> Served {
        let floors = floors.iter().copied().map(floor).collect();
        Served { car: car.to_owned(), floors, doors: [Side::Front].into() }
    }

    const STREET: [(&str, u32); 3] = [("B1", 0), ("G", 3_200), ("1", 7_400)];

    #[test]
    fn a_building_that_can_not_be_is_refused() {
        let wrong = |of: &[(&str, u32)], cars: Vec<Served>| {
            Building::new(landings(of), cars).map_err(|error| (error.place(), error.to_string()))
        };
        let labels = |label| wrong(&[("B1", 0), (label, 3_000)], vec![]).unwrap_err();
        let expected = "expected 1 to 8 letters, digits or any of -+._*";
        for label in ["", "G 1", "G\t", "basement1", "\u{7}", "P/1", "1%", "a,b", "\u{202e}1"] {
            let (place, message) = labels(label);
            assert_eq!(place, Place::Floor(1));
            assert!(message.ends_with(expected), "{message}");
        }
        assert_eq!(labels("B1").1, "another floor is labelled \"B1\" too");
        for label in ["-1", "1*", "É", "地下一階"] {
            assert!(
                Building::new(landings(&[("B1", 0), (label, 3_000)]), vec![]).is_ok(),
                "{label}"
            );
        }
        assert_eq!(wrong(&[("B1", 0)], vec![]).unwrap_err().0, Place::Whole);
        assert_eq!(wrong(&[("B1", 1), ("G", 2)], vec![]).unwrap_err().0, Place::Floor(0));
        for height in [0, 200_001] {
            let (place, message) = wrong(&[("B1", 0), ("G", height)], vec![]).unwrap_err();
            assert_eq!(place, Place::Floor(1), "{message}");
        }
        let cars = |cars| wrong(&STREET, cars).unwrap_err();
        let (all, few) = (served("A", &[0, 1, 2]), served("B", &[1]));
        assert_eq!(cars(vec![all.clone(), few]).0, Place::Car(1));
        assert_eq!(cars(vec![all.clone(), all]).0, Place::Car(1));
        let (place, message) = cars(vec![served("A", &[1, 2])]);
        assert_eq!((place, message.as_str()), (Place::Floor(0), "no car serves floor \"B1\""));
    }

    /// The street is in front of the cars, the yard behind them, the garage behind them alone.
    #[test]
    fn a_car_opens_where_both_it_and_the_floor_have_a_door() {
        let rear = |car, floors: &[u8], doors: &[Side]| Served {
            doors: doors.iter().copied().collect(),
            ..served(car, floors)
        };
        let [front, both] = [vec![Side::Front], Side::BOTH.to_vec()];
        let with_doors = |cars| {
            let mut landings = landings(&STREET);
            landings[0].doors = [Side::Rear].into();
            landings[1].doors = Side::BOTH.into();
            Building::new(landings, cars)
        };
        let building =
            with_doors(vec![rear("A", &[1, 2], &front), rear("B", &[0, 1, 2], &both)]).unwrap();
        let entrance = |index, side| Entrance { floor: floor(index), side };
        let doors = |car| building.entrances().map(|it| building.door(car, it)).collect::<Vec<_>>();
        let (front_door, rear_door) = (Some(Side::Front), Some(Side::Rear));
        assert_eq!(doors("A"), [None, front_door, None, front_door]);
        assert_eq!(doors("B"), [rear_door, front_door, rear_door, front_door]);
        assert_eq!(building.door("B", entrance(0, Side::Rear)), None, "it has one entrance");
        assert_eq!(building.unserved("A").collect::<Vec<_>>(), [floor(0)]);
        assert!(building.goes_on("B", entrance(1, Side::Rear), Direction::Down));
        assert!(!building.goes_on("A", entrance(1, Side::Rear), Direction::Up));
        let lines: Vec<_> = building.lines().collect();
        assert_eq!(lines[1], "floor 2 from below: G, 3.2 m, front and rear");
        assert_eq!(lines[4], "car B: serves B1 G 1, front and rear");
        let wrong = |cars| with_doors(cars).unwrap_err().to_string();
        assert_eq!(
            wrong(vec![rear("A", &[0, 1, 2], &front)]),
            "car \"A\" has no door on a side of floor \"B1\""
        );
        let unreached = wrong(vec![rear("A", &[1, 2], &front), rear("B", &[0, 2], &both)]);
        assert_eq!(unreached, "no car serves the rear entrance of floor \"G\"");
    }

    #[test]
    fn floors_show_and_read_the_labels_of_their_building() {
        assert_eq!(floor(1).to_string(), "1");
        assert_eq!("2".parse(), Ok(floor(2)));
        let cars = vec![served("A", &[0, 1, 2]), served("B", &[1, 2])];
        let building = Building::new(landings(&STREET), cars).unwrap();
        assert_eq!(building.unserved("B").collect::<Vec<_>>(), [floor(0)]);
        assert_eq!(building.unserved("A").count(), 0);
        let lines: Vec<_> = building.lines().collect();
        assert_eq!(
            (lines[1].as_str(), lines[4].as_str()),
            ("floor 2 from below: G, 3.2 m", "car B: serves G 1")
        );
        show_labels_here(Some(Arc::new(building)));
        assert_eq!(format!("{:>3}", floor(1)), "  G");
        assert_eq!("1".parse(), Ok(floor(2)));
        assert_eq!(
            "2".parse::<Floor>().unwrap_err().to_string(),
            "there is no floor \"2\"; the floors are B1 G 1"
        );
        show_labels_here(None);
        assert_eq!(floor(1).to_string(), "1");
    }
}
