//! Tables for people.

/// Formats rows under a heading. Each column is as wide as its widest cell, indented by two spaces.
pub(super) fn table<const COLUMNS: usize>(
    heading: [&str; COLUMNS],
    rows: impl IntoIterator<Item = [String; COLUMNS]>,
) -> String {
    let mut lines = vec![heading.map(str::to_owned)];
    lines.extend(rows);
    let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
        let width = |line: &[String; COLUMNS]| line[column].chars().count();
        lines.iter().map(width).max().unwrap_or(0)
    });
    let mut text = String::new();
    for line in &lines {
        let cells: Vec<_> =
            line.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        text.push_str("  ");
        text.push_str(cells.join("  ").trim_end());
        text.push('\n');
    }
    text
}
