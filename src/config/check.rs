//! Passes the values to [`Settings`](super::Settings), and collects errors.

use std::cell::RefCell;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use elevator_driver::Building;

use super::error::ConfigErrors;
use super::key::Key;
use super::layer::Findings;
use super::value::KeyType;
use super::{ConfigError, Effective, known};

/// Collects every error instead of stopping at the first. In place of a wrong or missing value it
/// returns the key's default or example, and skips relations to such a value.
#[derive(Debug)]
pub(super) struct Checker<'a> {
    values: &'a Effective,
    findings: RefCell<Findings>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(values: &'a Effective, findings: Findings) -> Self {
        Self { values, findings: RefCell::new(findings) }
    }

    /// Returns `made` if there are no errors.
    pub(super) fn finish<T>(self, made: T) -> Result<T, ConfigErrors> {
        ConfigErrors::check(self.findings.into_inner().errors, made)
    }

    /// The building that a file describes.
    pub(super) fn building(&self) -> Option<&Arc<Building>> {
        self.values.building.as_ref()
    }

    pub(super) fn is_given(&self, path: &str) -> bool {
        self.values.get(path).is_some()
    }

    pub(super) fn is_usable(&self, path: &str) -> bool {
        !self.findings.borrow().wrong.contains(path)
    }

    /// A value as written, and its origin.
    pub(super) fn written(&self, path: &str) -> (String, String) {
        let setting = self.values.get(path).cloned().unwrap_or_default();
        (setting.value, setting.origin)
    }

    /// The value of a key, which was checked when it was read.
    pub(super) fn value<T: KeyType>(&self, path: &str) -> T::Value {
        match self.values.get(path) {
            Some(setting) => T::parse(&setting.value),
            None => T::absent(),
        }
        .unwrap_or_else(|| {
            self.require(path);
            self.stand_in::<T>(path)
        })
    }

    /// Requires that this key is given.
    pub(super) fn require(&self, path: &str) {
        let (key, mut findings) = (known(path), self.findings.borrow_mut());
        // A missing key is an error only if every source could be read.
        if !self.is_given(path) && findings.wrong.insert(key.path) && !findings.unread {
            findings.errors.push(ConfigError::Missing(key));
        }
    }

    /// The substitute for a value that is wrong or missing; the check fails anyway.
    pub(super) fn stand_in<T: KeyType>(&self, path: &str) -> T::Value {
        let findings = self.findings.borrow();
        debug_assert!(findings.unread || !findings.errors.is_empty());
        let text = known(path).default.text();
        T::parse(text).unwrap_or_else(|| unreachable!("{path} = {text} is right"))
    }

    /// Requires that `relation` holds for the first key. It names the values of the other keys.
    pub(super) fn relate(&self, holds: bool, keys: &[&'static str], relation: impl Display) {
        debug_assert!(keys.iter().all(|key| Key::find(key).is_some()), "{keys:?}");
        if let [key, ..] = *keys
            && !holds
            && keys.iter().all(|key| self.is_usable(key))
        {
            let (value, origin) = self.written(key);
            let value = known(key).kind.written(&value);
            let right = format!("it must be {relation}");
            let error = ConfigError::Wrong { origin, key, value, right };
            self.findings.borrow_mut().errors.push(error);
        }
    }

    /// Requires that a time compares with another one like this; a time that is not given does not
    /// matter.
    pub(super) fn compare(&self, &(key, order, (factor, share), other): &TimeRule) {
        let time = |path| humantime::parse_duration(&self.values.get(path)?.value).ok();
        let (Some(one), Some(two)) = (time(key), time(other)) else { return };
        let bound = two.mul_f64(factor);
        let holds = match order {
            "at most" => one <= bound,
            "at least" => one >= bound,
            "below" => one < bound,
            "longer than" => one > bound,
            _ => unreachable!("{order} is no order"),
        };
        let name = known(other).split().1;
        let relation = format_args!("{order} {share}{name} = {}", human(bound));
        self.relate(holds, &[key, other], relation);
    }
}

/// How the time of a key has to compare with a part or a multiple of another key's.
pub(super) type TimeRule = (&'static str, &'static str, Share, &'static str);

/// A factor, and what it is called.
pub(super) type Share = (f64, &'static str);

pub(super) fn human(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(time)
}
