//! The fields of a line.

use std::error::Error;
use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

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
        let put = match field.name() {
            "message" => write!(self.writer, "{space}{value}"),
            name if is_plain(value) => write!(self.writer, "{space}{name}={value}"),
            name => write!(self.writer, "{space}{name}={value:?}"),
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tracing::info;

    use super::*;

    #[test]
    fn a_value_is_quoted_where_it_is_more_than_a_word() {
        let page = tempfile::NamedTempFile::new().expect("a file");
        let pen = Arc::new(page.reopen().expect("a file"));
        let log = tracing_subscriber::fmt().fmt_fields(Fields).with_writer(pen);
        tracing::subscriber::with_default(log.finish(), || {
            let (call, node) = ("hall 3 up", "A");
            let nothing: Option<u8> = None;
            info!(%call, %node, waited_ms = 12, is_here = true, path = "/a b", nothing, quote = "\"", empty = "", "served");
        });
        let text = std::fs::read_to_string(page.path()).expect("text");
        let expected = r#"served call="hall 3 up" node=A waited_ms=12 is_here=true path="/a b" quote="\"" empty="""#;
        assert!(text.trim_end().ends_with(expected), "{text}");
    }
}
