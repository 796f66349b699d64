//! Tables for people.

/// Formats rows under a heading. Each column is as wide as its widest cell, indented by two spaces.
pub(super) fn table<'a>(
    heading: impl AsRef<[&'a str]>,
    rows: impl IntoIterator<Item = impl AsRef<[String]>>,
) -> String {
    let heading = heading.as_ref().iter().copied().map(str::to_owned).collect();
    let mut lines: Vec<Vec<String>> = vec![heading];
    lines.extend(rows.into_iter().map(|row| row.as_ref().to_vec()));
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<_> = (0..lines[0].len()).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str("  ");
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
