//! Hands out the values for [`Settings`](super::Settings), and collects what is wrong with them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::Duration;

use super::error::ConfigErrors;
use super::key::Key;
use super::layer::Findings;
use super::value::KeyType;
use super::{ConfigError, Effective, known};

/// Collects every error instead of stopping at the first: in place of a value that is wrong or
/// missing it hands out the key's default or example, and a relation to such a value is not checked.
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

    /// Hands back what was made of the values, if nothing is wrong.
    pub(super) fn finish<T>(self, made: T) -> Result<T, ConfigErrors> {
        ConfigErrors::check(self.errors.into_inner(), made)
    }

    pub(super) fn is_given(&self, path: &str) -> bool {
        self.values.get(path).is_some()
    }

    pub(super) fn is_usable(&self, path: &str) -> bool {
        !self.unusable.borrow().contains(path)
    }

    /// A value as it was written, and where.
    pub(super) fn written(&self, path: &str) -> (String, String) {
        self.values.written(path)
    }

    /// The value of a key. It was checked where it was read.
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

    /// This key has to be given.
    pub(super) fn require(&self, path: &str) {
        let key = known(path);
        if !self.is_given(path) && self.unusable.borrow_mut().insert(key.path) && !self.unread {
            self.errors.borrow_mut().push(ConfigError::Missing(key));
        }
    }

    /// What takes the place of a value that could not be had; the check fails anyway.
    pub(super) fn stand_in<T: KeyType>(&self, path: &str) -> T::Value {
        debug_assert!(self.unread || !self.errors.borrow().is_empty());
        let text = known(path).default.text();
        T::parse(text).unwrap_or_else(|| unreachable!("{path} = {text} is right"))
    }

    /// The value of the first key has to be as `relation` says, which names those of the others.
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

    /// The time at this key is at most another one, or a part of it.
    pub(super) fn at_most(
        &self,
        (key, time): (&'static str, Duration),
        (other, words, most): (&'static str, &str, Duration),
    ) {
        self.relate(time <= most, &[key, other], format_args!("at most {words} = {}", human(most)));
    }

    /// The time at this key is longer than another one, or than what some others make.
    pub(super) fn longer(
        &self,
        (key, time): (&'static str, Duration),
        (others, words, than): (&[&'static str], &str, Duration),
    ) {
        let keys = [&[key], others].concat();
        self.relate(time > than, &keys, format_args!("longer than {words} = {}", human(than)));
    }

    pub(super) fn refuse(&self, path: &'static str, error: ConfigError) {
        self.unusable.borrow_mut().insert(path);
        self.errors.borrow_mut().push(error);
    }
}

pub(super) fn human(time: Duration) -> humantime::FormattedDuration {
    humantime::format_duration(time)
}
