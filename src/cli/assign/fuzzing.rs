//! The input of `liftmesh assign`.

use elevator_fleet::dispatch::one_shot::Rules;

use super::input::Snapshot;

/// How many calls of an input have a car. An input whose cars have more floors than `most` together
/// is not solved.
///
/// # Errors
/// What `liftmesh assign` says of it.
pub fn assign(text: &str, most: usize) -> Result<Option<usize>, String> {
    let read = Snapshot::read(text.as_bytes());
    let snapshot = match Snapshot::parse(text) {
        Ok(snapshot) => snapshot,
        Err(error) => return Err(error.to_string()),
    };
    if let Err(error) = read {
        return Err(format!("as an argument, and not from a pipe: {error}"));
    }
    let bank = snapshot.bank().map_err(|error| error.to_string())?;
    let cabs: usize = snapshot.cars().map(|(_, cab)| cab.len()).sum();
    if cabs > most {
        return Ok(None);
    }
    Ok(Some(bank.assign(&Rules::default()).cars.len()))
}
