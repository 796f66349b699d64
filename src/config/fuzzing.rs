//! The text of a file, as `liftmesh check-config` takes it.

use super::layer::{Findings, Layer};
use super::{ConfigErrors, Effective, KEYS};

/// The effective values of a file with this text, as `liftmesh check-config` shows them.
///
/// # Errors
/// Each of its errors.
pub fn settings(file: &str, text: &str) -> Result<String, Vec<String>> {
    let mut findings = Findings::default();
    let layer = Layer::of_text(file, text, &mut findings);
    let texts = |errors: ConfigErrors| errors.iter().map(ToString::to_string).collect::<Vec<_>>();
    let values = Effective::layered(vec![layer]).map_err(|error| texts(error.into()))?;
    values.check(findings).map_err(texts)?;
    // Without the places where they are written.
    let written = |key: &super::Key| {
        let setting = values.get(key.path)?;
        Some(format!("{} = {}\n", key.path, key.kind.written(&setting.value)))
    };
    Ok(KEYS.iter().filter_map(written).collect())
}
