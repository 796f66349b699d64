//! Takes the values apart for [`Settings`](super::Settings), and collects what is wrong with them.

use std::cell::RefCell;
use std::collections::BTreeSet;

use super::error::ConfigErrors;
use super::key::{Key, KeyDefault};
use super::layer::Findings;
use super::{ConfigError, Effective, Setting, known};

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
        let Findings {
            errors,
            wrong,
            unread,
        } = findings;
        Self {
            values,
            unread,
            errors: RefCell::new(errors),
            unusable: RefCell::new(wrong),
        }
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

    pub(super) fn required<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        let key = known(path);
        if !self.is_given(path) {
            self.miss(key);
        }
        self.optional(path, &parse)
            .unwrap_or_else(|| self.stand_in(path, parse))
    }

    pub(super) fn optional<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let Setting { value, origin } = self.values.get(path)?;
        let key = known(path);
        let parsed = parse(value);
        if parsed.is_none() {
            let error = ConfigError::Value {
                origin: origin.clone(),
                key: key.path,
                value: key.kind.written(value),
                right: key.kind,
            };
            self.refuse(key.path, error);
        }
        parsed
    }

    /// The value of this key has to be as `relation` says, which names the values of `others`.
    pub(super) fn refuse_relation(
        &self,
        path: &'static str,
        others: &[&'static str],
        relation: String,
    ) {
        let involved = std::iter::once(&path).chain(others);
        if involved.copied().all(|path| self.is_usable(path)) {
            let (value, origin) = self.written(path);
            self.errors.borrow_mut().push(ConfigError::Relation {
                origin,
                key: path,
                value: known(path).kind.written(&value),
                relation,
            });
        }
    }

    pub(super) fn refuse(&self, path: &'static str, error: ConfigError) {
        self.unusable.borrow_mut().insert(path);
        self.errors.borrow_mut().push(error);
    }

    /// What takes the place of a value that could not be had; the check fails anyway.
    pub(super) fn stand_in<T>(&self, path: &str, parse: impl Fn(&str) -> Option<T>) -> T {
        debug_assert!(self.unread || !self.errors.borrow().is_empty());
        stand_in(known(path), parse)
    }

    fn miss(&self, key: &'static Key) {
        if self.unusable.borrow_mut().insert(key.path) && !self.unread {
            self.errors.borrow_mut().push(ConfigError::Missing(key));
        }
    }
}

fn stand_in<T>(key: &'static Key, parse: impl Fn(&str) -> Option<T>) -> T {
    let (KeyDefault::Required(value) | KeyDefault::Absent(_, value) | KeyDefault::Value(value)) =
        key.default;
    parse(value).unwrap_or_else(|| unreachable!("{} = {value} is right", key.path))
}
