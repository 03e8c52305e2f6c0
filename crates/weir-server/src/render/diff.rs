//! A unified diff as a table that can be read aloud: added and removed lines say so in words too.

use maud::{Markup, html};
use weir_core::view::diff::DiffLineKind;
use weir_core::view::visible;

/// Lines of a diff that are shown.
const LINES_MAX: usize = 2000;

/// A unified diff.
pub fn render_diff(unified: &str) -> Markup {
    let shown = visible::cut_diff(unified, LINES_MAX);
    html! {
        figure.diff {
            figcaption { (shown.head) }
            pre tabindex="0" {
                @for line in &shown.lines {
                    @match line.kind {
                        DiffLineKind::Added => { ins { (line.text) "\n" } }
                        DiffLineKind::Removed => { del { (line.text) "\n" } }
                        DiffLineKind::Same => { span { (line.text) "\n" } }
                        DiffLineKind::Hunk | DiffLineKind::Note => {
                            span.place { (line.text) "\n" }
                        }
                        DiffLineKind::File => { strong { (line.text) "\n" } }
                    }
                }
            }
            @if let Some(cut) = shown.cut_notice() { p.muted { (cut) } }
        }
    }
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
