//! The input of `liftmesh assign`.

use std::collections::BTreeSet;

use elevator_driver::Direction;
use elevator_fleet::dispatch::one_shot::Rules;

use super::input::Snapshot;

type HallCall = (u8, Direction);

#[derive(Debug)]
pub struct Assigned {
    /// The calls of the input, and how many cars it has.
    pub asked: BTreeSet<HallCall>,
    pub cars: usize,
    pub answered: Vec<(HallCall, usize)>,
}

/// The answer to an input. One whose cars have more than `most` floors in total is not solved.
///
/// # Errors
/// What `liftmesh assign` says of it.
pub fn assign(text: &str, most: usize) -> Result<Option<Assigned>, String> {
    let from_pipe = Snapshot::read(text.as_bytes());
    let snapshot = match Snapshot::parse(text) {
        Ok(snapshot) => snapshot,
        Err(error) => return Err(error.to_string()),
    };
    match from_pipe {
        Ok(same) if format!("{same:?}") == format!("{snapshot:?}") => {}
        Ok(_) => return Err("as an argument, and another one from a pipe".to_owned()),
        Err(error) => return Err(format!("as an argument, and not from a pipe: {error}")),
    }
    let bank = snapshot.bank().map_err(|error| error.to_string())?;
    let asked = snapshot.asked();
    let floors: usize = snapshot.cars().map(|(_, cab)| cab.len()).sum();
    let cars = snapshot.cars().count();
    if floors > most {
        return Ok(None);
    }
    let plan = bank.assign(&Rules::default());
    let answer = plan.iter().map(|(call, car)| ((call.floor.index(), call.direction), *car));
    Ok(Some(Assigned { asked, cars, answered: answer.collect() }))
}
