//! The term of this node's mastership, and what it knows of the terms of others (E3).
//!
//! Of two masters that meet either may have the higher term. The one that stays master takes a term
//! above the other's, once the other yields: two that can't yield do not outbid each other.

use crate::model::Term;

#[derive(Debug)]
pub(crate) struct Terms {
    known: Term,
    /// While this node leads: the term of its mastership.
    own: Option<Term>,
    /// The term of its latest mastership since it started.
    led: Term,
}

impl Terms {
    pub(super) fn new(known: Term) -> Self {
        Self { known, own: None, led: Term::default() }
    }

    pub(super) fn present(&self) -> Term {
        self.own.unwrap_or(self.known)
    }

    pub(crate) fn known(&self) -> Term {
        self.known
    }

    pub(crate) fn hear(&mut self, term: Term) {
        self.known = self.known.hear(term);
    }

    pub(super) fn begin(&mut self) {
        self.known = self.known.next();
        self.own = Some(self.known);
        self.led = self.known;
    }

    pub(super) fn end(&mut self) {
        self.own = None;
    }

    pub(crate) fn led(&self) -> Term {
        self.led
    }

    /// This node stays master, and another, which led under this term, yields to it or follows it.
    pub(super) fn outlive(&mut self, other: Term) {
        // A term beyond what is known has come by too great a jump: nobody led under it.
        if self.own.is_some_and(|own| own <= other) && other <= self.known {
            self.begin();
        }
    }

    /// A node follows this one now, or is lost: a mastership with a higher term may have ended.
    pub(super) fn catch_up(&mut self) {
        if self.own.is_some_and(|own| own < self.known) {
            self.begin();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(known: u64) -> Terms {
        let mut terms = Terms::new(Term(known));
        terms.begin();
        terms
    }

    #[test]
    fn the_master_that_stays_has_the_higher_term() {
        for (other, taken) in [(6, 8), (7, 8), (8, 9), (20, 21)] {
            let mut terms = master(7);
            terms.hear(Term(other));
            terms.outlive(Term(other));
            assert_eq!(terms.present(), Term(taken), "it outlives {other}");
        }
    }

    #[test]
    fn a_master_that_only_hears_a_higher_term_keeps_its_own() {
        let mut terms = master(7);
        terms.hear(Term(20));
        assert_eq!((terms.present(), terms.known()), (Term(8), Term(20)));
    }
}
