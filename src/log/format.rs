//! How a line of the log looks.

use std::error::Error;
use std::fmt::{self, Debug, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::format::{Format, Full, Json, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use super::journal;

/// The message, then `name=value` for each field. A value with special characters is quoted, so
/// that programs can find its end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields;

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut line = Line { writer, is_empty: true, result: Ok(()) };
        fields.record(&mut line);
        line.result
    }
}

struct Line<'writer> {
    writer: Writer<'writer>,
    is_empty: bool,
    result: fmt::Result,
}

impl Line<'_> {
    fn put(&mut self, field: &Field, value: &str) {
        let space = if self.is_empty { "" } else { " " };
        self.is_empty = false;
        let put = if field.name() == "message" {
            write!(self.writer, "{space}{value}")
        } else if is_plain(value) {
            write!(self.writer, "{space}{}={value}", field.name())
        } else {
            write!(self.writer, "{space}{}={value:?}", field.name())
        };
        self.result = self.result.and(put);
    }
}

/// Numbers and booleans arrive through `record_debug`, and so does everything that is logged with
/// `%`.
impl Visit for Line<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, &value.to_string());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.put(field, &format!("{value:?}"));
    }
}

fn is_plain(value: &str) -> bool {
    let needs_quotes = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '=');
    !value.is_empty() && !value.contains(needs_quotes)
}

/// Each line starts with its priority, which the system's journal removes: `<3>` for an error,
/// `<4>` for a warning (see `sd-daemon(3)`).
#[derive(Debug)]
pub(super) struct Prefixed<F> {
    format: F,
    has_fields: bool,
}

impl Prefixed<Format<Full, ()>> {
    /// Without a time, because the journal adds its own.
    pub(super) fn text() -> Self {
        Self { format: Format::default().without_time().with_ansi(false), has_fields: false }
    }
}

impl Prefixed<Format<Json>> {
    pub(super) fn json() -> Self {
        Self { format: json(), has_fields: false }
    }
}

impl<F> Prefixed<F> {
    /// With the fields for the journal behind each line, or without.
    pub(super) fn with_fields(self, has_fields: bool) -> Self {
        Self { has_fields, ..self }
    }
}

/// An object a line.
pub(super) fn json() -> Format<Json> {
    Format::default().json().flatten_event(true).with_current_span(false).with_span_list(false)
}

impl<F, S, N> FormatEvent<S, N> for Prefixed<F>
where
    F: FormatEvent<S, N>,
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut text = String::new();
        self.format.format_event(context, Writer::new(&mut text), event)?;
        let level = *event.metadata().level();
        let mut line = prefix(level, &text);
        if self.has_fields {
            line = journal::with_fields(line, level, &text, Some(event));
        }
        writer.write_str(&line)
    }
}

/// Puts the priority before each line.
pub(super) fn prefix(level: Level, text: &str) -> String {
    let priority = priority(level);
    let lines = text.trim_end().lines();
    lines.fold(String::new(), |mut prefixed, line| {
        // Writing to a string does not fail.
        writeln!(prefixed, "<{priority}>{line}").unwrap_or_default();
        prefixed
    })
}

/// The priority of `syslog(3)`.
pub(super) fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        Level::DEBUG | Level::TRACE => 7,
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use tracing::{error, info, warn};
    use tracing_subscriber::fmt::SubscriberBuilder;
    use tracing_subscriber::fmt::format::JsonFields;

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().expect("a lock").extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Page {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("a lock").clone()).expect("text")
        }
    }

    fn journal(log: impl FnOnce()) -> String {
        let page = Page::default();
        let pen = page.clone();
        let subscriber = SubscriberBuilder::default()
            .fmt_fields(Fields)
            .event_format(Prefixed::text())
            .with_writer(move || pen.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, log);
        page.text()
    }

    #[test]
    fn an_object_for_the_journal_has_its_priority_before_it() {
        let page = Page::default();
        let pen = page.clone();
        let subscriber = SubscriberBuilder::default()
            .fmt_fields(JsonFields::new())
            .event_format(Prefixed::json())
            .with_writer(move || pen.clone())
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            warn!(node = "A", waited_ms = 12, "two\nlines");
        });
        let text = page.text();
        let object =
            text.strip_prefix("<4>").and_then(|rest| rest.strip_suffix('\n')).expect("one line");
        let object: serde_json::Value = serde_json::from_str(object).expect("JSON");
        assert_eq!(object["message"], "two\nlines");
        assert_eq!((&object["node"], &object["waited_ms"]), (&"A".into(), &12.into()));
        assert_eq!(object["level"], "WARN");
    }

    #[test]
    fn each_line_for_the_journal_has_its_priority() {
        let text = journal(|| {
            info!("one");
            warn!("two");
            error!("three\nand four");
        });
        let target = module_path!();
        assert_eq!(
            text,
            format!(
                "<6> INFO {target}: one\n<4> WARN {target}: two\n<3>ERROR {target}: three\n<3>and four\n"
            )
        );
    }

    #[test]
    fn a_value_is_quoted_where_it_is_more_than_a_word() {
        let text = journal(|| {
            let (call, node) = ("hall 3 up", "A");
            let nothing: Option<u8> = None;
            info!(%call, %node, waited_ms = 12, is_here = true, path = "/a b", nothing, quote = "\"", empty = "", "served");
        });
        let expected = r#"served call="hall 3 up" node=A waited_ms=12 is_here=true path="/a b" quote="\"" empty="""#;
        assert!(text.trim_end().ends_with(expected), "{text}");
    }
}
