//! Which words of an answer cite a page, where a vendor gives places in its text. Not here: vendors
//! that give the words themselves.

/// Most characters of one passage.
const PASSAGE_CHARS_MAX: usize = 600;

/// The words around the citation that stands at these characters (the end is not part of it): its line,
/// without the citation itself and the signs of lists.
pub(crate) fn passage_around(text: &str, start: usize, end: usize) -> String {
    let chars: Vec<char> = text.chars().collect();
    let (start, end) = (start.min(chars.len()), end.min(chars.len()));
    if start > end {
        return String::new();
    }
    let before = chars[..start].iter().rposition(|c| *c == '\n').map_or(0, |at| at + 1);
    let after = chars[end..].iter().position(|c| *c == '\n').map_or(chars.len(), |at| end + at);
    let line: String = chars[before..after].iter().collect();
    let plain = without_links(&line);
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain = plain.trim_start_matches(['-', '*', '#', '•']).trim();
    plain.chars().take(PASSAGE_CHARS_MAX).collect()
}

/// The line without its links: `([title](address))` goes, since the page is named beside the passage.
fn without_links(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(open) = rest.find('[') {
        let link = rest[open..].find("](").and_then(|middle| {
            let close = rest[open + middle..].find(')')?;
            Some(open + middle + close + 1)
        });
        let Some(end) = link else { break };
        let (before, after) = (&rest[..open], &rest[end..]);
        // A link in parentheses of its own goes with them.
        match (before.strip_suffix('('), after.strip_prefix(')')) {
            (Some(before), Some(after)) => {
                out.push_str(before);
                rest = after;
            }
            _ => {
                out.push_str(before);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::passage_around;

    #[test]
    fn k10_a_passage_is_the_line_that_cites() {
        let text = "Intro.\n- High at noon. ([tides](https://t.example/a)) And low at six.\nEnd.";
        let start = text.find("([").expect("a link");
        let end = text.find("))").expect("its end") + 2;
        let said = "High at noon. And low at six.";
        assert_eq!(passage_around(text, start, end), said);
        // Places that no text has are none.
        assert_eq!(passage_around(text, 900, 2), "");
        assert_eq!(passage_around("über [x", 2, 400), "über [x");
    }
}
