//! TRUST.md: verified claims with an expiry date (§2.5).

use super::{date::day, lines::lines};

/// The file's name.
pub(super) const TRUST: &str = "TRUST.md";

/// A table row that states a verification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Claim<'t> {
    pub(super) property: &'t str,
    /// As written in the file.
    pub(super) expires: &'t str,
    /// Days since 1970; `None` where it is no date.
    day: Option<i64>,
    /// The line number, from 1.
    pub(super) line: usize,
}

impl Claim<'_> {
    /// Whether it has expired on that day; `None` where its date is invalid. The expiry day itself still counts.
    pub(super) fn is_over(&self, today: i64) -> Option<bool> {
        self.day.map(|day| day < today)
    }
}

/// All verified claims, from tables with the columns Status and Expires.
pub(super) fn claims(text: &str) -> Vec<Claim<'_>> {
    let mut found = Vec::new();
    let mut columns: Option<Columns> = None;
    for line in lines(text) {
        if line.is_code || !line.text.contains('|') {
            columns = None;
            continue;
        }
        let cells = cells(line.text);
        let Some(Columns { property, status, expires }) = columns else {
            columns = Columns::of(&cells);
            continue;
        };
        let at = |column: usize| cells.get(column).copied().unwrap_or_default();
        if bare(at(status)).eq_ignore_ascii_case("verified") {
            let written = at(expires);
            let expires = bare(written).get(..10).filter(|date| day(date).is_some()).unwrap_or(written);
            found.push(Claim { property: bare(at(property)), expires, day: day(expires), line: line.number });
        }
    }
    found
}

/// The column indices of a table.
#[derive(Debug, Clone, Copy)]
struct Columns {
    property: usize,
    status: usize,
    expires: usize,
}

impl Columns {
    fn of(head: &[&str]) -> Option<Self> {
        let column = |name: &str| head.iter().position(|cell| bare(cell).eq_ignore_ascii_case(name));
        let (status, expires) = (column("status")?, column("expires")?);
        Some(Self { property: column("property").unwrap_or(0), status, expires })
    }
}

/// The cells of a row. An escaped bar belongs to its cell.
fn cells(row: &str) -> Vec<&str> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let (mut cells, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, byte) in row.bytes().enumerate() {
        if byte == b'|' && !escaped {
            cells.push(row[start..at].trim());
            start = at + 1;
        }
        escaped = byte == b'\\' && !escaped;
    }
    if start < row.len() {
        cells.push(row[start..].trim());
    }
    cells
}

/// A cell without Markdown emphasis.
fn bare(cell: &str) -> &str {
    cell.trim_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`' | '(' | ')'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# TRUST\n\n| Property | Status | Verified | TTL | Expires |\n|---|---|---|---|---|\n\
        | Build passes | verified | 2026-02-26 | 7d | 2026-03-05 |\n\
        | DB \\| cache | **(Verified)** | 2026-02-20 | 3d | 2026-02-23 ⚠️ EXPIRED |\n\
        | Auth | assumed | - | - | 2020-01-01 |\n| Odd | verified | x | y | soon |\n\n\
        | Status | Level |\n|---|---|\n| verified | 2020-01-01 |\n\n```\n| Status | Expires |\n| verified | 2020-01-01 |\n```\n";

    #[test]
    fn what_was_verified_is_over_after_its_day() {
        let found = claims(TEXT);
        let at = |today: &str| {
            let today = day(today).unwrap();
            found.iter().map(|claim| claim.is_over(today)).collect::<Vec<_>>()
        };
        assert_eq!(at("2026-02-23"), [Some(false), Some(false), None]);
        assert_eq!(at("2026-02-24"), [Some(false), Some(true), None]);
        assert_eq!(at("2026-03-06"), [Some(true), Some(true), None]);
        assert_eq!((found[1].property, found[1].expires, found[1].line), ("DB \\| cache", "2026-02-23", 6));
        assert_eq!(found[2].expires, "soon");
    }

    #[test]
    fn a_row_may_be_short_or_long() {
        let short = "Status | Expires\n--|--\n|verified\nverified | 2020-01-01 | more | more\n|||||\nend\n";
        let found: Vec<Option<bool>> = claims(short).iter().map(|claim| claim.is_over(20_000)).collect();
        assert_eq!(found, [None, Some(true)]);
        let ended = short.replace("|verified", "verified");
        assert!(claims(&ended).is_empty(), "a line without a bar ends the table");
        assert!(claims("| verified | 2020-01-01 |\n").is_empty(), "the columns are unknown without a header");
    }
}
