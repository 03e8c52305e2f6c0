//! Markdown as it is written for readers: cells of tables, links, bounded growth. Not here: reading
//! Markdown (see `make/text/blocks`).

use weir_core::document::ligature_letters;

/// A row of a table. What would end a cell is escaped.
pub(crate) fn table_row(cells: &[String]) -> String {
    let mut row = String::from("|");
    for cell in cells {
        row.push(' ');
        row.push_str(&table_cell(cell));
        row.push_str(" |");
    }
    row.push('\n');
    row
}

/// The line below the head of a table.
pub(crate) fn table_rule(columns: usize) -> String {
    format!("|{}\n", " --- |".repeat(columns.max(1)))
}

/// A whole table; the first row is its head.
pub(crate) fn write_table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for (number, row) in rows.iter().enumerate() {
        let mut row = row.clone();
        row.resize(columns, String::new());
        out.push_str(&table_row(&row));
        if number == 0 {
            out.push_str(&table_rule(columns));
        }
    }
    out
}

/// What stands in a cell, on one line.
pub(crate) fn table_cell(text: &str) -> String {
    let text = text.trim().replace('|', "\\|");
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("<br>")
}

/// Whether an address opens a page or a letter and nothing else.
pub(crate) fn is_plain_link(address: &str) -> bool {
    let lower = address.get(..8).unwrap_or(address).to_ascii_lowercase();
    ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme))
        && !address.chars().any(|c| c.is_control() || c == ' ')
}

/// Whether an address stays within its document or its folder: it names no scheme and no host.
fn is_inner_link(address: &str) -> bool {
    let path = address.split(['?', '#']).next().unwrap_or(address);
    !path.contains([':', '\\']) && !path.starts_with("//")
}

/// A link, when the address is one that a reader may follow; else its text.
pub(crate) fn write_link(text: &str, address: &str) -> String {
    let address: String = address.chars().filter(|c| !c.is_control() && *c != ' ').collect();
    let is_open = is_plain_link(&address) || is_inner_link(&address);
    if text.trim().is_empty() || address.is_empty() || !is_open {
        return text.to_owned();
    }
    format!("[{}]({})", text.trim(), address.replace(')', "%29"))
}

/// Text without characters that steer a terminal, without runs of empty lines and blanks at ends. What is
/// drawn as one letter is the letters that a reader knows and searches for.
pub(crate) fn tidy_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut empty = 0;
    for line in text.lines() {
        let line = line.trim_end();
        empty = if line.is_empty() { empty + 1 } else { 0 };
        if empty > 1 || (line.is_empty() && out.is_empty()) {
            continue;
        }
        for c in line.chars().filter(|c| !c.is_control() || *c == '\t') {
            match ligature_letters(c) {
                "" => out.push(c),
                letters => out.push_str(letters),
            }
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k7_letters_that_are_drawn_as_one_are_letters() {
        let told = "signi\u{fb01}cant o\u{fb00}set \u{fb02}y e\u{fb03}cient ba\u{fb04}e";
        assert_eq!(tidy_text(told), "significant offset fly efficient baffle");
        assert_eq!(tidy_text("Größe"), "Größe");
    }

    #[test]
    fn k7_a_link_of_a_document_starts_nothing() {
        for (address, written) in [
            ("https://e.org/a b)", "[x](https://e.org/ab%29)"),
            ("MAILTO:a@e.org", "[x](MAILTO:a@e.org)"),
            ("#part", "[x](#part)"),
            ("ch2.xhtml#a:b", "[x](ch2.xhtml#a:b)"),
            ("javascript:alert(1)", "x"),
            ("java\nscript:alert(1)", "x"),
            (" JavaScript:alert(1)", "x"),
            ("file:///etc/passwd", "x"),
            ("vbscript:x", "x"),
            ("data:text/html,x", "x"),
            ("//host/x", "x"),
            ("\\\\host\\x", "x"),
            ("C:\\x", "x"),
            ("", "x"),
        ] {
            assert_eq!(write_link("x", address), written, "{address}");
        }
    }

    #[test]
    fn x5_text_is_tidied() {
        assert_eq!(tidy_text("\n\n a \n\n\n\nb\u{1b}[31m\tc  \n\n"), " a\n\nb[31m\tc");
    }
}
