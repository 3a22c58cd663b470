//! The table that people see at the end.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

use super::row::Row;
use crate::ui::escape;

/// Instances that the table shows; the rest is in `results.csv`.
const SHOWN: usize = 100;

/// Longest id shown whole.
const ID_WIDTH: usize = 60;

/// One line for each row, at most 100.
pub fn table(rows: &[Row]) -> String {
    let samples = rows.iter().any(|row| row.sample > 1);
    let mut table = Table::new();
    let rule = LineStyle::none().fill('─').junction('─');
    table.load_style(TableStyle::new().header_separator(rule));
    table.set_header([
        "instance", "outcome", "verdict", "files", "steps", "tokens", "cost", "seconds",
    ]);
    for column in 3..8 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows.iter().take(SHOWN) {
        table.add_row(cells(row, samples));
    }
    let mut text = table.trim_fmt();
    if let Some(more) = rows.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text = format!("{text}\n… and {more} more in results.csv");
    }
    text
}

fn cells(row: &Row, samples: bool) -> [Cell; 8] {
    let mut id = escape::short(row.instance_id.as_str(), ID_WIDTH);
    if samples {
        id = format!("{id} s{}", row.sample);
    }
    let outcome = match row.reason {
        "" => row.outcome.to_owned(),
        reason => format!("{}: {reason}", row.outcome),
    };
    let files = match (row.empty_reason, row.files) {
        (Some(_), _) => "empty".to_owned(),
        (None, files) => files.to_string(),
    };
    let cost = row.usage.cost.map(|cost| format!("${cost:.3}"));
    [
        Cell::new(id),
        Cell::new(outcome),
        Cell::new(row.verdict),
        Cell::new(files),
        Cell::new(row.steps),
        Cell::new(row.usage.input + row.usage.output),
        Cell::new(cost.unwrap_or_else(|| "–".to_owned())),
        Cell::new(format!("{:.1}", row.seconds_total)),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::{row::rows, tests};
    use super::*;

    #[test]
    fn the_table_shows_how_each_instance_ended() {
        let rows = rows(&tests::ledger(), &tests::repositories());
        insta::assert_snapshot!(table(&rows));
    }

    #[test]
    fn a_long_table_is_cut_and_says_so() {
        let rows = rows(&tests::ledger(), &tests::repositories());
        let many: Vec<Row> = rows.iter().cycle().take(SHOWN + 3).cloned().collect();
        let text = table(&many);
        assert!(text.ends_with("… and 3 more in results.csv"), "{text}");
    }
}
