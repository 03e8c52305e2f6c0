//! A unified diff as a table that can be read aloud: added and removed lines say so in words too.

use maud::{Markup, html};
use weir_core::view::visible;

/// Lines of a diff that are shown.
const LINES_MAX: usize = 2000;

/// What a line of a diff is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffLineKind {
    Added,
    Removed,
    Same,
    /// Where a piece stands.
    Place,
    /// Names of files.
    Head,
}

/// A unified diff.
pub fn render_diff(unified: &str) -> Markup {
    let shown = visible::cut_diff(unified, LINES_MAX);
    let kinds = line_kinds(&shown.lines);
    html! {
        figure.diff {
            figcaption { (shown.head) }
            pre tabindex="0" {
                @for (line, kind) in shown.lines.iter().zip(&kinds) {
                    @match kind {
                        DiffLineKind::Added => { ins { (line) "\n" } }
                        DiffLineKind::Removed => { del { (line) "\n" } }
                        DiffLineKind::Same => { span { (line) "\n" } }
                        DiffLineKind::Place => { span.place { (line) "\n" } }
                        DiffLineKind::Head => { strong { (line) "\n" } }
                    }
                }
            }
            @if let Some(cut) = shown.cut_notice() { p.muted { (cut) } }
        }
    }
}

/// What each line is. Inside a piece every line is content: what is written there cannot pose as
/// the name of a file.
fn line_kinds(lines: &[String]) -> Vec<DiffLineKind> {
    let mut left = (0_usize, 0_usize);
    let mut kinds = Vec::with_capacity(lines.len());
    for line in lines {
        let kind = match line.as_bytes().first() {
            Some(b'+') if left.1 > 0 => DiffLineKind::Added,
            Some(b'-') if left.0 > 0 => DiffLineKind::Removed,
            Some(b'\\') if left != (0, 0) => DiffLineKind::Place,
            _ if left != (0, 0) => DiffLineKind::Same,
            _ => match visible::hunk_sizes(line.strip_prefix("@@ -").unwrap_or_default()) {
                Some(sizes) => {
                    left = sizes;
                    kinds.push(DiffLineKind::Place);
                    continue;
                }
                None => DiffLineKind::Head,
            },
        };
        match kind {
            DiffLineKind::Added => left.1 -= 1,
            DiffLineKind::Removed => left.0 -= 1,
            DiffLineKind::Same => left = (left.0.saturating_sub(1), left.1.saturating_sub(1)),
            DiffLineKind::Place | DiffLineKind::Head => (),
        }
        kinds.push(kind);
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::render_diff;

    #[test]
    fn s12_lines_of_a_diff_cannot_pose_as_heads() {
        let text = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n--- a/y\n+<b>&\n";
        let html = render_diff(text).0;
        assert!(html.contains("<del>--- a/y"), "{html}");
        assert!(html.contains("<ins>+&lt;b&gt;&amp;"), "{html}");
        assert!(html.contains("<strong>--- a/x"), "{html}");
        assert!(html.contains("1 file, 6 lines: 1 added, 1 removed"), "{html}");
    }
}
