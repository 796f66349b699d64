//! How handlers reach the state of a task.

use tokio::sync::{mpsc, oneshot};

use crate::programs::Problem;

pub(super) type Wish<S> = Box<dyn FnOnce(&mut S) + Send>;

/// Where a task takes wishes, one after the other.
#[derive(Debug)]
pub(super) struct Desk<S>(mpsc::Sender<Wish<S>>);

impl<S> Clone for Desk<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S> Desk<S> {
    /// When this many wait, handlers wait until their own time limit.
    pub(super) fn new(bound: usize) -> (Self, mpsc::Receiver<Wish<S>>) {
        let (sender, wishes) = mpsc::channel(bound);
        (Self(sender), wishes)
    }

    pub(super) async fn ask<T: Send + 'static>(
        &self,
        wish: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = oneshot::channel();
        // A client that has gone does not need it.
        let wish: Wish<S> = Box::new(move |state| drop(answer.send(wish(state))));
        self.0.send(wish).await.map_err(|_closed| Problem::no_answer())?;
        answered.await.map_err(|_closed| Problem::no_answer())
    }
}

/// Does what handlers wish, until the last [`Desk`] is gone.
pub(super) async fn serve<S>(mut wishes: mpsc::Receiver<Wish<S>>, mut state: S) {
    while let Some(wish) = wishes.recv().await {
        wish(&mut state);
    }
}
