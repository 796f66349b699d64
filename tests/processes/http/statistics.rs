//! The statistics: what real nodes count, what they keep over a SIGKILL, and what programs get.

use std::path::Path;

use elevator_driver::{Direction, Trip};
use liftmesh_harness::building::{Building, Line};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::client::{get, serving};

const DAY: &str = "/api/v1/statistics?window=day";

/// How many calls of this kind were served.
fn calls(statistics: &Value, kind: &str) -> u64 {
    statistics["waiting"][kind]["calls"].as_u64().expect("a number")
}

/// The times of one kind, as the journal has them: counts by bin, sum and longest.
type Times = (Vec<(u8, u32)>, u64, u32);

/// How many times of each kind the journal on the disk of a running node has: hall, destination, car,
/// journeys.
fn kept(directory: &Path) -> Option<[u32; 4]> {
    let copy = TempDir::new().expect("a directory");
    let file = copy.path().join("journal.redb");
    std::fs::copy(directory.join("journal.redb"), &file).expect("a copy");
    // A copy that was made in the middle of a commit may not open; a later one does.
    let database = Database::open(&file).ok()?;
    let table = TableDefinition::<u32, &[u8]>::new("statistics");
    let quarters = database.begin_read().ok()?.open_table(table).ok()?;
    let mut sums = [0; 4];
    for entry in quarters.iter().expect("a table") {
        let (_, record) = entry.expect("a quarter");
        let kinds: ([Times; 4], &[u8]) =
            postcard::take_from_bytes(record.value()).expect("a record");
        for (sum, (bins, _, _)) in sums.iter_mut().zip(kinds.0) {
            *sum += bins.iter().map(|(_, count)| count).sum::<u32>();
        }
    }
    Some(sums)
}

/// The rows of a CSV, by the names of their columns.
fn rows(csv: &str) -> Vec<Vec<(&str, &str)>> {
    let mut lines = csv.split_terminator("\r\n").map(|line| line.split(',').collect::<Vec<_>>());
    let head = lines.next().expect("a head");
    let row = |cells: Vec<_>| {
        assert_eq!(cells.len(), head.len(), "{cells:?}");
        head.iter().copied().zip(cells).collect()
    };
    lines.map(row).collect()
}

#[test]
fn a_served_call_is_counted_by_every_node_and_kept_over_a_kill() {
    let mut building = Building::with_cars(5, Line::Serial, &["A", "B"]);
    let [a, b] = [1, 2].map(|number| serving(&building, number));
    building.press("A", building.hall(3, Direction::Down));
    let [from, to] = [4, 0].map(|floor| building.floor(floor));
    building.panel("B").request(Trip::new(from, to).expect("a trip")).expect("a request");
    for node in [a, b] {
        building.wait("both calls and the journey are counted", |_| {
            let seen = get(node, DAY).json();
            let waits = (calls(&seen, "hall"), calls(&seen, "destination"));
            (waits, seen["journeys"]["calls"].as_u64()) == ((1, 1), Some(1))
        });
        let seen = get(node, DAY).json();
        assert_eq!(calls(&seen, "landing"), 2, "{seen}");
        assert_eq!(calls(&seen, "car"), 0, "nobody has pressed in a car: {seen}");
        let waited = seen["waiting"]["destination"]["longest"].as_f64().expect("a time");
        let journey = seen["journeys"]["longest"].as_f64().expect("a time");
        assert!(waited < journey, "{seen}");
        assert_eq!(
            (&seen["by_floor"][3]["down"], &seen["by_floor"][4]["destination"]),
            (&json!(1), &json!(1))
        );
        let hours = seen["by_hour"].as_array().expect("a list");
        let counted: u64 = hours.iter().filter_map(|hour| hour["hall"].as_u64()).sum();
        assert_eq!((hours.len(), counted), (24, 1), "{seen}");
        building.wait("both cars are watched", |_| {
            let seen = get(node, DAY).json();
            let cars = seen["cars"].as_array().expect("a list");
            cars.len() == 2 && cars.iter().all(|car| car["in_service"].as_f64() > Some(0.0))
        });
    }

    building
        .wait("the disk has it", |building| kept(&building.data_dir("A")) == Some([1, 1, 0, 1]));
    let before = get(a, DAY).json();
    building.kill("A");
    building.start("A");
    let a = serving(&building, 1);
    building.wait("node A counts on from there", |_| {
        let after = get(a, DAY).json();
        after["waiting"] == before["waiting"] && after["journeys"] == before["journeys"]
    });
    assert_eq!(get(a, DAY).json()["since"], before["since"]);
    let csv = get(a, "/api/v1/statistics.csv?window=week");
    assert!(csv.head.contains("content-type: text/csv"), "{csv:?}");
    assert!(csv.head.contains("filename=\"liftmesh-A-week.csv\""), "{csv:?}");
    let rows = rows(&csv.body);
    let sum = |column: &str| {
        let cells = rows.iter().flatten().filter(|(name, _)| *name == column);
        cells.map(|(_, cell)| cell.parse::<u64>().expect("a number")).sum::<u64>()
    };
    assert_eq!((sum("hall_calls"), sum("destination_calls"), sum("journey_calls")), (1, 1, 1));
    assert_eq!((sum("floor_3_calls"), sum("floor_4_calls"), sum("floor_0_calls")), (1, 1, 0));
    building.assert_safe();
}

#[test]
fn a_window_that_there_is_not_is_a_problem() {
    let building = Building::with_cars(4, Line::Serial, &["A"]);
    let a = serving(&building, 1);
    for wrong in [
        "statistics?window=month",
        "statistics.csv?window=",
        "statistics?utc_offset=east",
        "statistics?window=day&utc_offset=900",
        "statistics?window=day&window=week",
    ] {
        let answer = get(a, &format!("/api/v1/{wrong}"));
        assert_eq!((answer.status, answer.problem()), (400, "malformed".to_owned()), "{wrong}");
        assert!(answer.head.contains("application/problem+json"), "{answer:?}");
    }
    let day = get(a, "/api/v1/statistics").json();
    assert_eq!((&day["window"], &day["floors"]), (&json!("day"), &json!(4)), "{day}");
    let api = get(a, "/api/v1/openapi.json").json();
    assert!(api["paths"]["/statistics"]["get"].is_object(), "{api}");
}
