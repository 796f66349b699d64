//! Entries of the system's journal with the fields of each event: `journalctl LIFTMESH_CAR=A`.
//!
//! `tracing-journald` sends on a socket that blocks while the journal does not read. So a thread does
//! that for a copy of each event, behind a bounded queue. What the socket refuses is not counted.

use std::fmt::Debug;
use std::io;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use tracing::field::{Field, Value, Visit};
use tracing::{Event, Metadata, Subscriber};
use tracing_journald::{Priority, PriorityMappings};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

use super::format::Fields;
use super::{FLUSH_LIMIT, LOST, QUEUE};

#[derive(Debug, Clone)]
pub(super) struct Journal(SyncSender<Note>);

#[derive(Debug)]
enum Note {
    Entry(Entry),
    /// Dropped once everything before it is written.
    Flush(SyncSender<()>),
}

pub(super) fn of_system() -> io::Result<tracing_journald::Layer> {
    let priorities = PriorityMappings {
        info: Priority::Informational,
        debug: Priority::Debug,
        ..PriorityMappings::default()
    };
    Ok(tracing_journald::layer()?
        .with_priority_mappings(priorities)
        .with_field_prefix(Some("LIFTMESH".to_owned()))
        .with_syslog_identifier("liftmesh".to_owned()))
}

impl Journal {
    /// `None` where `open` fails, or the journal does not read.
    pub(super) fn start<L: Layer<Registry>>(
        open: impl FnOnce() -> io::Result<L> + Send + 'static,
    ) -> Option<Self> {
        let (notes, waiting) = sync_channel(QUEUE);
        let (ready, opened) = sync_channel(1);
        let write = move || {
            let Ok(layer) = open() else { return };
            if ready.send(()).is_err() {
                return;
            }
            let journal = tracing_subscriber::registry().with(layer);
            for note in waiting {
                match note {
                    Note::Entry(entry) => entry.write(&journal),
                    Note::Flush(done) => drop(done),
                }
            }
        };
        thread::Builder::new().name("log".to_owned()).spawn(write).ok()?;
        opened.recv_timeout(FLUSH_LIMIT).ok().map(|()| Self(notes))
    }

    /// Waits until the queue is written, for [`FLUSH_LIMIT`] at most.
    pub(super) fn flush(&self) {
        let (done, written) = sync_channel(0);
        // Where the queue is full, the journal does not read.
        if self.0.try_send(Note::Flush(done)).is_ok() {
            written.recv_timeout(FLUSH_LIMIT).unwrap_or_default();
        }
    }
}

impl<S: Subscriber> Layer<S> for Journal {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if self.0.try_send(Note::Entry(Entry::new(event))).is_err() {
            LOST.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A copy of an event. The fields are behind its message, as in a line, and by themselves.
#[derive(Debug)]
struct Entry {
    metadata: &'static Metadata<'static>,
    /// By the index of each field.
    values: Vec<Option<String>>,
}

impl Entry {
    fn new(event: &Event<'_>) -> Self {
        let metadata = event.metadata();
        let mut entry = Self { metadata, values: vec![None; metadata.fields().len()] };
        event.record(&mut entry);
        let mut text = String::new();
        // Writing to a string does not fail.
        Fields.format_fields(Writer::new(&mut text), event).unwrap_or_default();
        if let Some(message) = metadata.fields().field("message") {
            entry.values[message.index()] = Some(text);
        }
        entry
    }

    fn write(&self, journal: &impl Subscriber) {
        let values = self.values.iter().map(|value| value.as_ref().map(|text| text as &dyn Value));
        let values: Vec<_> = values.collect();
        let values = self.metadata.fields().value_set_all(&values);
        journal.event(&Event::new(self.metadata, &values));
    }
}

impl Visit for Entry {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.values[field.index()] = Some(value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.values[field.index()] = Some(format!("{value:?}"));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::mpsc::Receiver;
    use std::time::Duration;

    use tracing::{info, warn};

    use super::*;

    type Taken = BTreeMap<&'static str, String>;

    /// Hands each entry over, and waits until it is taken.
    struct Slow(SyncSender<Taken>);

    impl Layer<Registry> for Slow {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, Registry>) {
            let mut taken = Taken::new();
            event.record(&mut |field: &Field, value: &dyn Debug| {
                taken.insert(field.name(), format!("{value:?}"));
            });
            // The test may have ended.
            self.0.send(taken).unwrap_or_default();
        }
    }

    fn logged(log: impl FnOnce()) -> (Journal, Receiver<Taken>) {
        let (entries, taken) = sync_channel(0);
        let journal = Journal::start(|| Ok(Slow(entries))).expect("a journal");
        let log_to = tracing_subscriber::registry().with(journal.clone());
        tracing::subscriber::with_default(log_to, log);
        (journal, taken)
    }

    #[test]
    fn an_entry_has_its_fields() {
        let (_journal, taken) = logged(|| {
            let (call, nothing) = ("hall 3 up", None::<u8>);
            info!(%call, car = "A", nothing, waited_ms = 12, empty = "", "order served");
        });
        let expected = [
            ("message", "order served call=\"hall 3 up\" car=A waited_ms=12 empty=\"\""),
            ("empty", ""),
            ("call", "hall 3 up"),
            ("car", "A"),
            ("waited_ms", "12"),
        ];
        let expected = expected.map(|(name, value)| (name, format!("{value:?}")));
        assert_eq!(taken.recv().expect("an entry"), expected.into());
    }

    #[test]
    fn nobody_waits_for_a_journal_that_does_not_read() {
        let before = super::super::lost();
        let (journal, taken) = logged(|| (0..QUEUE * 2).for_each(|number| warn!(number, "again")));
        assert!(super::super::lost() >= before + QUEUE as u64 - 1);
        journal.flush();
        drop(taken.recv_timeout(Duration::from_secs(20)).expect("it goes on"));
    }
}
