//! The car model as a walk floor by floor over plain tables, written without the one under test.

use super::*;

/// By floor: the calls up and down, and the car call.
type Table = Vec<[bool; 3]>;

/// The sum of the waits in microseconds if the car has these calls.
pub(super) fn wait(rules: &Rules, car: &Car, calls: &[HallCall]) -> u64 {
    let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap();
    let (travel, door) = (micros(rules.travel), micros(rules.door_open));
    let mut table: Table = car.car_calls.iter().map(|&lit| [false, false, lit]).collect();
    for call in calls {
        table[usize::from(call.floor.index())][column(call.direction)] = true;
    }
    let mut at = usize::try_from(car.floor).unwrap();
    let mut heading = car.direction;
    let mut moves = false;
    let (mut clock, mut sum) = (0, 0);
    match car.behaviour {
        Moving => {
            clock = travel / 2;
            at = step(at, heading);
            moves = true;
        }
        DoorOpen => clock = door / 2,
        Idle => {}
    }
    while table.iter().any(|row| row[0] || row[1]) {
        if moves && !stops(&table, at, heading) {
            at = step(at, heading);
            clock += travel;
            continue;
        }
        if !moves {
            heading = choose(&table, at, heading);
        }
        if moves || heading.is_none() {
            sum += clock * clear(rules.clearing, &mut table, at, heading);
            clock += door;
            moves = false;
        } else {
            at = step(at, heading);
            clock += travel;
            moves = true;
        }
    }
    sum
}

fn column(direction: Direction) -> usize {
    match direction {
        Up => 0,
        Down => 1,
    }
}

fn step(at: usize, heading: Option<Direction>) -> usize {
    match heading {
        Some(Up) => at + 1,
        Some(Down) => at - 1,
        None => at,
    }
}

fn any(rows: &[[bool; 3]]) -> bool {
    rows.iter().flatten().any(|lit| *lit)
}

fn beyond(table: &Table, at: usize, direction: Direction) -> bool {
    match direction {
        Up => any(&table[at + 1..]),
        Down => any(&table[..at]),
    }
}

fn stops(table: &Table, at: usize, heading: Option<Direction>) -> bool {
    heading.is_none_or(|way| table[at][column(way)] || table[at][2] || !beyond(table, at, way))
}

fn choose(table: &Table, at: usize, heading: Option<Direction>) -> Option<Direction> {
    let order = if heading == Some(Up) { [Up, Down] } else { [Down, Up] };
    if beyond(table, at, order[0]) {
        Some(order[0])
    } else if any(&table[at..=at]) || !beyond(table, at, order[1]) {
        None
    } else {
        Some(order[1])
    }
}

/// Clears what a stop clears; returns the number of hall calls.
fn clear(clearing: Clearing, table: &mut Table, at: usize, heading: Option<Direction>) -> u64 {
    table[at][2] = false;
    let cleared = match (clearing, heading) {
        (Clearing::All, _) | (Clearing::InDirection, None) => vec![0, 1],
        (Clearing::InDirection, Some(way)) if table[at][column(way)] => vec![column(way)],
        (Clearing::InDirection, Some(way)) if beyond(table, at, way) => vec![],
        (Clearing::InDirection, Some(way)) => vec![column(way.opposite())],
    };
    cleared.into_iter().map(|hall| u64::from(std::mem::take(&mut table[at][hall]))).sum()
}
