//! The fields of a line.

use std::error::Error;
use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::RecordFields;
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::Writer;

/// The message, then `name=value` for each field, quoted where a program could not find its end.
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

/// Numbers, booleans and what is logged with `%` arrive through `record_debug`.
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
