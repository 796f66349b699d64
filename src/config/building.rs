//! The building file: floors from the bottom up, and the floors that each car serves.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use elevator_driver::vocabulary::Place;
use elevator_driver::{Building, Side};
use elevator_fleet::json::{BuildingForm, LandingForm, ServedForm, front};
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::layer::origin;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    floors: Vec<Spanned<FloorForm>>,
    #[serde(default)]
    cars: Vec<Spanned<CarForm>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FloorForm {
    label: String,
    /// Metres above the lowest floor.
    height: f64,
    #[serde(default = "front")]
    doors: BTreeSet<Side>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CarForm {
    name: String,
    /// Labels; without it the car serves every floor that has a door on one of its sides.
    serves: Option<Vec<String>>,
    #[serde(default = "front")]
    doors: BTreeSet<Side>,
}

/// Reads a building. An error names the file, the line and the column.
pub(crate) fn read(path: &Path) -> Result<Arc<Building>, ConfigError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| ConfigError::Building { path: path.to_owned(), source })?;
    parse(&path.display().to_string(), &text).map(Arc::new)
}

fn parse(file: &str, text: &str) -> Result<Building, ConfigError> {
    let wrong = |place: usize, message: String| ConfigError::Floors {
        origin: origin(file, text, place),
        message,
    };
    let Form { floors, cars } = toml::from_str(text).map_err(|error| {
        let place = error.span().map_or(0, |span| span.start);
        wrong(place, error.message().trim().replace('\n', ", "))
    })?;
    let landing = |floor: &Spanned<FloorForm>| LandingForm {
        label: floor.get_ref().label.clone(),
        height: floor.get_ref().height,
        doors: floor.get_ref().doors.clone(),
    };
    let served = |car: &Spanned<CarForm>| {
        let CarForm { name, serves, doors } = car.get_ref();
        let opens = floors.iter().map(Spanned::get_ref).filter(|it| !it.doors.is_disjoint(doors));
        let all = || opens.map(|floor| floor.label.clone()).collect();
        let serves = serves.clone().unwrap_or_else(all);
        ServedForm { name: name.clone(), serves, doors: doors.clone() }
    };
    let form = BuildingForm {
        floors: floors.iter().map(landing).collect(),
        cars: cars.iter().map(served).collect(),
    };
    Building::try_from(form).map_err(|error| {
        let place = match error.place() {
            Place::Whole => 0,
            Place::Floor(floor) => floors[floor].span().start,
            Place::Car(car) => cars[car].span().start,
        };
        wrong(place, error.to_string())
    })
}

/// Where a file says its building is: relative to that file.
pub(super) fn beside(file: &Path, building: &str) -> PathBuf {
    file.parent().unwrap_or(Path::new("")).join(building)
}

#[cfg(test)]
mod tests {
    use elevator_driver::Floor;
    use elevator_driver::vocabulary::Landing;

    use super::*;
    use crate::config::Sources;

    const STREET: &str = "\
[[floors]]
label = \"B1\"
height = 0.0

[[floors]]
label = \"G\"
height = 3.2

[[floors]]
label = \"1\"
height = 7.4

[[cars]]
name = \"A\"

[[cars]]
name = \"B\"
serves = [\"G\", \"1\"]
";

    #[test]
    fn a_file_describes_a_building() {
        let building = parse("building.toml", STREET).unwrap();
        assert_eq!(building.landings()[2], Landing::new("1", 7_400));
        assert_eq!(building.unserved("B").collect::<Vec<_>>(), [Floor::BOTTOM]);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (right, wrong, message) in [
            ("label = \"1\"", "label = \"G\"", "9:1: another floor is labelled \"G\" too"),
            ("label = \"1\"", "label = \"1 st\"", "9:1: the label \"1 st\" is wrong; expected"),
            ("height = 7.4", "height = 3.2", "9:1: floor \"1\" must be above the one before it"),
            ("height = 7.4", "height = 307", "9:1: floor \"1\" must be above the one before it"),
            ("height = 0.0", "height = -1.0", "1:1: floor \"B1\" must be above"),
            ("height = 0.0\n", "", "1:1: missing field `height`"),
            ("height = 7.4", "height = 7.4\nside = 1", "12:1: unknown field `side`"),
            ("height = 7.4", "height = 7.4\ndoors = []", "9:1: floor \"1\" needs a door"),
            ("height = 7.4", "height = 7.4\ndoors = [\"left\"]", "12:10: unknown variant `left`"),
            (
                "height = 3.2",
                "height = 3.2\ndoors = [\"front\", \"rear\"]",
                "5:1: no car serves the rear entrance of floor \"G\"",
            ),
            (
                "\"G\", \"1\"]",
                "\"G\", \"2\"]",
                "16:1: there is no floor \"2\" for this car to serve",
            ),
            ("\"G\", \"1\"]", "\"G\"]", "16:1: car \"B\" serves fewer than two floors"),
            (
                "name = \"A\"",
                "name = \"A\"\nserves = [\"G\", \"1\"]",
                "1:1: no car serves floor \"B1\"",
            ),
        ] {
            let text = STREET.replacen(right, wrong, 1);
            let error = parse("building.toml", &text).expect_err(wrong).to_string();
            let expected = format!("building.toml:{message}");
            assert!(error.starts_with(&expected), "{error:?} instead of {expected:?}");
        }
    }

    #[test]
    fn a_rear_door_needs_a_serial_panel() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        let doors = "doors = [\"front\", \"rear\"]\n";
        let text = STREET.replace("height = 3.2\n", &format!("height = 3.2\n{doors}"));
        std::fs::write(place("building.toml"), format!("{text}{doors}")).unwrap();
        let node = |car: &str, panel: &str| {
            let text = format!(
                "address = \"127.0.0.1\"\nbroadcast = \"127.255.255.255:46100\"\ncar = \"{car}\"\n\
                 data_dir = \"data\"\npanel = \"{panel}\"\nbuilding = \"building.toml\"\n"
            );
            std::fs::write(place("node.toml"), text).unwrap();
            Sources { file: Some(place("node.toml")), ..Sources::default() }.check()
        };
        assert!(node("B", "serial:///dev/ttyS0?baud=115200").is_ok());
        assert!(node("A", "tcp://127.0.0.1:1").is_ok(), "it has no rear door");
        let error = node("B", "tcp://127.0.0.1:1").unwrap_err().to_string();
        assert!(error.contains("a serial line, because the car has a rear door"), "{error}");
    }

    #[test]
    fn the_last_of_the_sources_names_the_building() {
        let directory = tempfile::tempdir().unwrap();
        let place = |name: &str| directory.path().join(name);
        let write = |name: &str, text: &str| std::fs::write(place(name), text).unwrap();
        write("building.toml", STREET);
        write("other.toml", &STREET.replace("\"B1\"", "\"01\""));
        let node = |more: &str| {
            let lines = "address = \"127.0.0.1\"\nbroadcast = \"127.255.255.255:46100\"\n\
                         data_dir = \"data\"\npanel = \"tcp://127.0.0.1:1\"\n";
            write("node.toml", &format!("{lines}{more}\n"));
        };
        let sources = |flag: Option<&str>, variable: Option<&str>| Sources {
            file: Some(place("node.toml")),
            variables: variable
                .map(|it| ("LIFTMESH__BUILDING".into(), place(it).into()))
                .into_iter()
                .collect(),
            flags: flag
                .map(|it| ("building", place(it).display().to_string()))
                .into_iter()
                .collect(),
        };
        let floor = "[service]\nrecall_floor";
        node(&format!("car = \"A\"\nbuilding = \"building.toml\"\n{floor} = \"B1\""));
        let (_, settings) = sources(None, None).check().unwrap();
        assert_eq!(settings.car.recall_floor, Floor::BOTTOM);
        for (flag, variable, message) in [
            (Some("other.toml"), Some("building.toml"), "recall_floor = \"B1\" is wrong"),
            (None, Some("other.toml"), "recall_floor = \"B1\" is wrong"),
            (None, Some("none.toml"), "can't be read; `building` names it"),
        ] {
            let errors = sources(flag, variable).check().unwrap_err();
            let [error] = errors.iter().collect::<Vec<_>>()[..] else { panic!("{errors}") };
            assert!(error.to_string().contains(message), "{error}");
        }
        node(&format!("car = \"A\"\nbuilding = \"other.toml\"\n{floor} = \"01\""));
        let (values, _) = sources(None, None).check().unwrap();
        assert!(values.to_string().contains("recall_floor = \"01\" "), "it is not a number");
        node("car = \"A\"\nbuilding = 5");
        let errors = sources(None, None).check().unwrap_err();
        assert_eq!(errors.iter().count(), 1, "{errors}");
        // A control unit is not one of the cars that the building lists.
        node("role = \"control-unit\"\nunit = \"attic\"\nbuilding = \"building.toml\"");
        assert!(sources(None, None).check().is_ok());
    }
}
