//! A unified diff as a table that can be read aloud: added and removed lines say so in words too.

use maud::{Markup, html};
use weir_core::view::visible;

/// Lines of a diff that are shown.
const LINES_MAX: usize = 2000;

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Added,
    Removed,
    Same,
    /// Where a piece stands.
    Place,
    /// Names of files.
    Head,
}

/// A unified diff.
pub fn diff(unified: &str) -> Markup {
    let shown = visible::diff(unified, LINES_MAX);
    let kinds = kinds(&shown.lines);
    html! {
        figure.diff {
            figcaption { (shown.head) }
            pre tabindex="0" {
                @for (line, kind) in shown.lines.iter().zip(&kinds) {
                    @match kind {
                        Kind::Added => { ins { (line) "\n" } }
                        Kind::Removed => { del { (line) "\n" } }
                        Kind::Same => { span { (line) "\n" } }
                        Kind::Place => { span.place { (line) "\n" } }
                        Kind::Head => { strong { (line) "\n" } }
                    }
                }
            }
            @if let Some(cut) = shown.cut() { p.muted { (cut) } }
        }
    }
}

/// What each line is. Inside a piece every line is content: what is written there cannot pose as
/// the name of a file.
fn kinds(lines: &[String]) -> Vec<Kind> {
    let mut left = (0_usize, 0_usize);
    let mut kinds = Vec::with_capacity(lines.len());
    for line in lines {
        let kind = match line.as_bytes().first() {
            Some(b'+') if left.1 > 0 => Kind::Added,
            Some(b'-') if left.0 > 0 => Kind::Removed,
            Some(b'\\') if left != (0, 0) => Kind::Place,
            _ if left != (0, 0) => Kind::Same,
            _ => match visible::hunk_sizes(line.strip_prefix("@@ -").unwrap_or_default()) {
                Some(sizes) => {
                    left = sizes;
                    kinds.push(Kind::Place);
                    continue;
                }
                None => Kind::Head,
            },
        };
        match kind {
            Kind::Added => left.1 -= 1,
            Kind::Removed => left.0 -= 1,
            Kind::Same => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            Kind::Place | Kind::Head => (),
        }
        kinds.push(kind);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::diff;

    #[test]
    fn s12_lines_of_a_diff_cannot_pose_as_heads() {
        let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- a/y\n+<b>&\n";
        let html = diff(text).0;
        assert!(html.contains("<del>--- a/y"), "{html}");
        assert!(html.contains("<ins>+&lt;b&gt;&amp;"), "{html}");
        assert!(html.contains("<strong>--- a/x"), "{html}");
        assert!(html.contains("1 file, 6 lines: 1 added, 1 removed"), "{html}");
    }
}
