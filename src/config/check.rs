//! Passes the values to [`Settings`](super::Settings), and collects errors.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

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
    /// A missing key is an error only if every source could be read.
    unread: bool,
    errors: RefCell<Vec<ConfigError>>,
    unusable: RefCell<BTreeSet<&'static str>>,
}

impl<'a> Checker<'a> {
    pub(super) fn new(values: &'a Effective, findings: Findings) -> Self {
        let Findings { errors, wrong, unread } = findings;
        Self { values, unread, errors: RefCell::new(errors), unusable: RefCell::new(wrong) }
    }

    /// Returns `made` if there are no errors.
    pub(super) fn finish<T>(self, made: T) -> Result<T, ConfigErrors> {
        ConfigErrors::check(self.errors.into_inner(), made)
    }

    pub(super) fn is_given(&self, path: &str) -> bool {
        self.values.get(path).is_some()
    }

    pub(super) fn is_usable(&self, path: &str) -> bool {
        !self.unusable.borrow().contains(path)
    }

    /// A value as written, and its origin.
    pub(super) fn written(&self, path: &str) -> (String, String) {
        self.values.written(path)
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
        let key = known(path);
        if !self.is_given(path) && self.unusable.borrow_mut().insert(key.path) && !self.unread {
            self.errors.borrow_mut().push(ConfigError::Missing(key));
        }
    }

    /// The substitute for a value that is wrong or missing; the check fails anyway.
    pub(super) fn stand_in<T: KeyType>(&self, path: &str) -> T::Value {
        debug_assert!(self.unread || !self.errors.borrow().is_empty());
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
            let relation = relation.to_string();
            self.errors.borrow_mut().push(ConfigError::Relation { origin, key, value, relation });
        }
    }

    /// Requires that the time of this key is at most another one, or a part of it.
    pub(super) fn at_most(
        &self,
        (key, time): (&'static str, Duration),
        (other, words, most): (&'static str, &str, Duration),
    ) {
        self.relate(time <= most, &[key, other], format_args!("at most {words} = {}", human(most)));
    }

    /// Requires that the time of this key is longer than another one, or than a combination of
    /// others.
    pub(super) fn longer(
        &self,
        (key, time): (&'static str, Duration),
        (others, words, than): (&[&'static str], &str, Duration),
    ) {
        let keys = [&[key], others].concat();
        self.relate(time > than, &keys, format_args!("longer than {words} = {}", human(than)));
    }
}

pub(super) fn human(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(time)
}
