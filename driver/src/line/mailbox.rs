//! Messages to a line's thread, and its results.
//!
//! The line's thread never waits for its owner: it only tries the locks that both of them take, and
//! sleeps by parking. An owner that was stopped at the worst moment, even with such a lock in its
//! hands, can't keep the line from stopping the motor.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use super::lease::{Change, Command, Lease};
use crate::counters::LineCounters;
use crate::vocabulary::{MotorCommand, PanelOutputs};

/// The most bytes that wait for the line's thread. More are dropped: the thread has not run for
/// seconds, and the protocol repairs the loss.
const BYTES_LIMIT: usize = 64 * 1024;

#[derive(Debug)]
pub(crate) struct Mailbox {
    origin: Instant,
    /// The owner's last keep-alive, in microseconds since the origin.
    renewed: AtomicU64,
    commands: Mutex<Commands>,
    closing: AtomicBool,
    lapses: AtomicU64,
    counters: Mutex<LineCounters>,
    read: Mutex<Read>,
    line: OnceLock<Thread>,
    finished: Mutex<bool>,
    has_finished: Condvar,
}

#[derive(Debug, Default)]
struct Commands {
    /// The latest outputs that the line has not taken.
    waiting: Option<PanelOutputs>,
    stops: u64,
}

#[derive(Debug, Default)]
struct Read {
    bytes: Vec<u8>,
    failure: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Mail {
    pub(crate) outputs: Option<PanelOutputs>,
    pub(crate) closing: bool,
    pub(crate) bytes: Vec<u8>,
    pub(crate) failure: Option<String>,
}

impl Mail {
    fn is_empty(&self) -> bool {
        let nothing_read = self.bytes.is_empty() && self.failure.is_none();
        self.outputs.is_none() && !self.closing && nothing_read
    }
}

/// The owner's end.
impl Mailbox {
    pub(super) fn new() -> Self {
        Self {
            origin: Instant::now(),
            renewed: AtomicU64::new(0),
            commands: Mutex::default(),
            closing: AtomicBool::new(false),
            lapses: AtomicU64::new(0),
            counters: Mutex::default(),
            read: Mutex::default(),
            line: OnceLock::new(),
            finished: Mutex::new(false),
            has_finished: Condvar::new(),
        }
    }

    /// Sets the thread to wake when something arrives.
    pub(super) fn serve(&self, line: Thread) {
        self.line.get_or_init(|| line);
    }

    pub(super) fn set_outputs(&self, outputs: PanelOutputs) {
        self.renew();
        let mut commands = lock(&self.commands);
        if outputs.motor == MotorCommand::Stop {
            commands.stops += 1;
        }
        commands.waiting = Some(outputs);
        drop(commands);
        self.wake();
    }

    /// A keep-alive. It need not wake the line, which checks when the lease would run out.
    pub(super) fn renew(&self) {
        let micros = u64::try_from(self.now().as_micros()).unwrap_or(u64::MAX);
        self.renewed.store(micros, Ordering::Release);
    }

    pub(super) fn lapses(&self) -> u64 {
        self.lapses.load(Ordering::Acquire)
    }

    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
        self.wake();
    }

    pub(super) fn counters(&self) -> LineCounters {
        *lock(&self.counters)
    }

    /// Whether the line's thread has ended within `limit`.
    pub(super) fn wait_finished(&self, limit: Duration) -> bool {
        let (finished, _) = self
            .has_finished
            .wait_timeout_while(lock(&self.finished), limit, |finished| !*finished)
            .unwrap_or_else(PoisonError::into_inner);
        *finished
    }

    fn now(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wake(&self) {
        if let Some(line) = self.line.get() {
            line.unpark();
        }
    }
}

/// The end of the line's thread. There is only one.
#[derive(Debug)]
pub(crate) struct Inbox {
    mailbox: Arc<Mailbox>,
    lease: Lease,
}

impl Inbox {
    pub(super) fn new(mailbox: Arc<Mailbox>, lease: Duration) -> Self {
        Self { mailbox, lease: Lease::new(lease) }
    }

    /// Waits for mail until `deadline` and takes it. A request to close stays in the box. If the
    /// owner has sent no keep-alive for too long, the mail contains outputs with the motor stopped.
    pub(crate) fn wait(&mut self, deadline: Instant) -> Mail {
        loop {
            let mail = self.take();
            let now = Instant::now();
            if !mail.is_empty() || now >= deadline {
                return mail;
            }
            let lapse = self.lease.deadline(self.renewed());
            let lapse = lapse.map_or(deadline, |at| self.mailbox.origin + at);
            thread::park_timeout(lapse.min(deadline).saturating_duration_since(now));
        }
    }

    /// Waits, and passes new outputs on; `true` if the line is to end.
    pub(crate) fn pause(&mut self, delay: Duration, mut set: impl FnMut(PanelOutputs)) -> bool {
        let end = Instant::now() + delay;
        loop {
            let mail = self.wait(end);
            mail.outputs.into_iter().for_each(&mut set);
            if mail.closing || Instant::now() >= end {
                return mail.closing;
            }
        }
    }

    pub(crate) fn publish(&self, counters: LineCounters) {
        // A concurrent reader gets the older counters; the next ones follow soon.
        if let Some(mut published) = try_lock(&self.mailbox.counters) {
            *published = counters;
        }
    }

    /// The reading thread's end.
    pub(crate) fn mailbox(&self) -> Arc<Mailbox> {
        Arc::clone(&self.mailbox)
    }

    pub(crate) fn discard_read(&self) {
        *lock(&self.mailbox.read) = Read::default();
    }

    fn take(&mut self) -> Mail {
        let closing = self.mailbox.closing.load(Ordering::Acquire);
        let Read { bytes, failure } = std::mem::take(&mut *lock(&self.mailbox.read));
        Mail { outputs: self.take_outputs(), closing, bytes, failure }
    }

    fn take_outputs(&mut self) -> Option<PanelOutputs> {
        // An owner that holds the lock wakes the line after releasing it.
        let command = try_lock(&self.mailbox.commands).and_then(|mut commands| {
            let outputs = commands.waiting.take()?;
            let stops = commands.stops;
            Some(Command { outputs, stops })
        });
        // In this order, so that a concurrent keep-alive makes the owner younger, never older.
        let now = self.mailbox.now();
        match self.lease.check(command, self.renewed(), now)? {
            Change::Commanded(outputs) => Some(outputs),
            Change::Lapsed(outputs) => {
                self.mailbox.lapses.fetch_add(1, Ordering::AcqRel);
                Some(outputs)
            }
        }
    }

    fn renewed(&self) -> Duration {
        Duration::from_micros(self.mailbox.renewed.load(Ordering::Acquire))
    }
}

/// The reading thread's end. It shares its lock with the line's thread only.
impl Mailbox {
    pub(crate) fn deliver(&self, bytes: &[u8]) {
        let mut read = lock(&self.read);
        let room = BYTES_LIMIT.saturating_sub(read.bytes.len());
        read.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        drop(read);
        self.wake();
    }

    pub(crate) fn fail(&self, reason: String) {
        lock(&self.read).failure = Some(reason);
        self.wake();
    }
}

/// Signals that the line's thread has ended, even if its sink panicked.
pub(super) struct Finished(pub(super) Arc<Mailbox>);

impl Drop for Finished {
    fn drop(&mut self) {
        *lock(&self.0.finished) = true;
        self.0.has_finished.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::Direction;

    const LIMIT: Duration = Duration::from_millis(20);
    const PATIENCE: Duration = Duration::from_secs(20);

    fn home() -> PanelOutputs {
        PanelOutputs {
            motor: MotorCommand::Home { direction: Direction::Up },
            ..PanelOutputs::default()
        }
    }

    fn soon() -> Instant {
        Instant::now() + PATIENCE
    }

    fn line() -> (Arc<Mailbox>, Inbox) {
        let mailbox = Arc::new(Mailbox::new());
        mailbox.serve(thread::current());
        (Arc::clone(&mailbox), Inbox::new(mailbox, LIMIT))
    }

    /// S2: the owner stops while it holds every lock that it shares with the line.
    #[test]
    fn an_owner_that_stops_with_the_locks_in_its_hands_does_not_keep_the_motor_running() {
        let (mailbox, mut inbox) = line();
        mailbox.set_outputs(home());
        assert!(inbox.wait(soon()).outputs.is_some());
        let _stopped = (lock(&mailbox.commands), lock(&mailbox.counters));
        inbox.publish(LineCounters::default());
        let outputs = inbox.wait(soon()).outputs;
        let motor = outputs.map(|outputs| outputs.motor);
        assert_eq!(motor, Some(MotorCommand::Stop));
        assert_eq!(mailbox.lapses(), 1);
    }

    #[test]
    fn a_line_that_waits_is_woken() {
        let mailbox = Arc::new(Mailbox::new());
        let mut inbox = Inbox::new(Arc::clone(&mailbox), LIMIT);
        let started = Instant::now();
        let line = thread::spawn(move || inbox.wait(started + PATIENCE).closing);
        mailbox.serve(line.thread().clone());
        mailbox.close();
        assert!(line.join().unwrap());
        assert!(started.elapsed() < PATIENCE);
    }
}
