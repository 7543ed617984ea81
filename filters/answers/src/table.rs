//! CSV and TSV as columns and rows, typed where a whole column is.

use csv::{ReaderBuilder, Trim};
use frontdesk_base::{
    fault::{Fault, Refusal},
    media::essence,
};
use serde_json::{Value, json};

use crate::answered::too_large;

/// The most rows, columns and cells of a table.
const MOST_ROWS: usize = 20_000;
const MOST_COLUMNS: usize = 500;
const MOST_CELLS: usize = 200_000;
/// The most separators of a text; some stand in its cells. A row takes memory for each before its cells can be counted.
const MOST_SEPARATORS: usize = 3 * MOST_CELLS;
/// The separators of tables, the likelier first.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// The largest whole number that every reader of JSON takes exactly.
const LARGEST_WHOLE: u64 = 1 << 53;

/// Reads a table.
///
/// # Errors
///
/// It is no table, or a larger one than is read.
pub(crate) fn read(content_type: &str, text: &str) -> Result<Value, Refusal> {
    let separator = match essence(content_type).to_ascii_lowercase().as_str() {
        "text/tab-separated-values" => b'\t',
        _ => separator(text),
    };
    let too_long = || {
        too_large(format!(
            "The site's table is longer than is passed on: {MOST_ROWS} rows and {MOST_CELLS} cells at most. Ask for less."
        ))
    };
    if text.bytes().filter(|byte| *byte == separator).count() > MOST_SEPARATORS {
        return Err(too_long());
    }
    let mut reader = ReaderBuilder::new()
        .delimiter(separator)
        .has_headers(false)
        .flexible(true)
        .trim(Trim::None)
        .from_reader(text.as_bytes());
    let unreadable = || Refusal::from(Fault::Malformed).saying("The site's table cannot be read.");
    let mut records = reader.records();
    let first = match records.next() {
        Some(first) => first.map_err(|_| unreadable())?,
        None => return Ok(json!({ "columns": [], "rows": [] })),
    };
    if first.len() > MOST_COLUMNS {
        return Err(too_large(format!("The site's table has more than {MOST_COLUMNS} columns.")));
    }
    let mut columns = names(first.iter());
    let (mut rows, mut cells) = (Vec::new(), 0);
    for record in records {
        let record = record.map_err(|_| unreadable())?;
        cells += record.len();
        if rows.len() >= MOST_ROWS || cells > MOST_CELLS || record.len() > MOST_COLUMNS {
            return Err(too_long());
        }
        let row: Vec<String> = record.iter().map(str::to_owned).collect();
        while columns.len() < row.len() {
            columns.push(format!("column_{}", columns.len() + 1));
        }
        rows.push(row);
    }
    let types: Vec<Type> =
        (0..columns.len()).map(|at| Type::of(rows.iter().filter_map(|row| row.get(at)).map(String::as_str))).collect();
    let rows: Vec<Value> = rows
        .iter()
        .map(|row| types.iter().enumerate().map(|(at, kind)| kind.cell(row.get(at).map(String::as_str))).collect())
        .collect();
    Ok(json!({ "columns": columns, "rows": rows }))
}

/// The separator that the first line has most of, outside quotes.
fn separator(text: &str) -> u8 {
    let mut counts = [0usize; SEPARATORS.len()];
    let mut quoted = false;
    for byte in text.bytes() {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' | b'\r' if !quoted => break,
            _ if quoted => {}
            _ => {
                if let Some(at) = SEPARATORS.iter().position(|known| *known == byte) {
                    counts[at] += 1;
                }
            }
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0);
    counts.iter().position(|count| *count == most).map_or(b',', |at| SEPARATORS[at])
}

/// The names of the columns: each once, none empty.
fn names<'r>(first: impl Iterator<Item = &'r str>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, name) in first.enumerate() {
        let name = name.trim();
        let base = if name.is_empty() { format!("column_{}", at + 1) } else { name.to_owned() };
        let (mut name, mut again) = (base.clone(), 2);
        while names.contains(&name) {
            name = format!("{base}_{again}");
            again += 1;
        }
        names.push(name);
    }
    names
}

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Text,
    Number,
    Boolean,
}

impl Type {
    /// The type that every cell has that is not empty.
    fn of<'c>(cells: impl Iterator<Item = &'c str> + Clone) -> Self {
        let mut filled = cells.map(str::trim).filter(|cell| !cell.is_empty()).peekable();
        if filled.peek().is_none() {
            return Self::Text;
        }
        if filled.clone().all(|cell| number(cell).is_some()) {
            return Self::Number;
        }
        if filled.all(|cell| boolean(cell).is_some()) { Self::Boolean } else { Self::Text }
    }

    fn cell(self, cell: Option<&str>) -> Value {
        let Some(cell) = cell else { return Value::Null };
        match self {
            Self::Text => cell.into(),
            Self::Number => number(cell.trim()).unwrap_or_default(),
            Self::Boolean => boolean(cell.trim()).map_or(Value::Null, Value::from),
        }
    }
}

/// A number as JSON writes it. `007` and `+49` are names, and a whole number that not every reader takes exactly is one
/// too.
fn number(cell: &str) -> Option<Value> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let value: Value = serde_json::from_str(cell).ok()?;
    let is_exact = match (value.as_i64(), value.as_f64()) {
        (Some(whole), _) => whole.unsigned_abs() <= LARGEST_WHOLE,
        (None, Some(number)) => digits.contains(['.', 'e', 'E']) && number.is_finite(),
        (None, None) => false,
    };
    is_exact.then_some(value)
}

fn boolean(cell: &str) -> Option<bool> {
    match cell.to_ascii_lowercase().as_str() {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_typed_where_all_of_them_is() {
        let text = "id,price,code,ok,note\n1,9.50,007,true,\"a, \"\"b\"\"\"\n2,,008,FALSE,c\n";
        assert_eq!(
            read("text/csv", text).unwrap(),
            json!({ "columns": ["id", "price", "code", "ok", "note"],
                "rows": [[1, 9.5, "007", true, "a, \"b\""], [2, null, "008", false, "c"]] })
        );
    }

    #[test]
    fn other_separators_and_odd_rows_are_read() {
        assert_eq!(
            read("text/csv", "a;b;b\r\n1;x,y;2\r\n3;;4;5\r\n6\r\n").unwrap(),
            json!({ "columns": ["a", "b", "b_2", "column_4"],
                "rows": [[1, "x,y", 2, null], [3, "", 4, 5], [6, null, null, null]] })
        );
        let tsv = read("text/tab-separated-values", "a,1\tb\n2\t3\n").unwrap();
        assert_eq!(tsv, json!({ "columns": ["a,1", "b"], "rows": [[2, 3]] }));
        assert_eq!(read("text/csv", "").unwrap(), json!({ "columns": [], "rows": [] }));
        assert_eq!(read("text/csv", "n\n12345678901234567890\n").unwrap()["rows"][0][0], "12345678901234567890");
        assert_eq!(read("text/csv", "n\n1e5\n1\n").unwrap()["rows"], json!([[1e5], [1]]));
    }

    #[test]
    fn a_million_rows_or_cells_are_refused() {
        for text in ["1,2\n".repeat(1_000_000), ",".repeat(1_000_000), "\"\n\",".repeat(1_000_000)] {
            let refusal = read("text/csv", &text).unwrap_err();
            assert_eq!(refusal.reason, "response_too_large");
        }
    }
}
