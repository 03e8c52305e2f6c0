//! A file as a terminal shows it, as Markdown: a text, a document, what stands on a canvas, an image in
//! letters; below it the notes that link to it. Pure. Not here: reading the file (`weir-install`).

use std::fmt::Write as _;

use weir_install::file_view::{FilePreview, FileView, MosaicSize, NoteParts, split_note};
use weir_install::wording::{code_fence, inline_code};

/// Letters in which an image is drawn: they fit into most terminals.
pub(crate) const MOSAIC: MosaicSize = MosaicSize { columns: 72, rows: 36 };

/// The text of a view.
pub(crate) fn file_text(view: &FileView) -> String {
    let mut out = preview_text(view);
    if !view.backlinks.is_empty() {
        out.push_str("\n\n## Linked from\n\n");
        for link in &view.backlinks {
            let line = link.line.map_or_else(String::new, |line| format!(", line {line}"));
            let _ = writeln!(out, "- {}{line}", inline_code(&link.path));
            let _ = writeln!(out, "  {}", inline_code(&link.passage));
        }
        if view.backlinks_left_out > 0 {
            let _ = writeln!(out, "\nAnd {} more.", view.backlinks_left_out);
        }
    }
    if view.backlinks_pending {
        out.push_str("\n\n*The vault is being looked over: ask again for what links here.*");
    }
    out
}

fn preview_text(view: &FileView) -> String {
    match &view.preview {
        FilePreview::Text { text, cut } => {
            let cut = if *cut { "\n\n*The file is longer than is shown.*" } else { "" };
            match split_note(&view.path, text) {
                Some(NoteParts { properties: None, body }) => format!("{body}{cut}"),
                Some(NoteParts { properties: Some(yaml), body }) => {
                    format!("{}\n\n{body}{cut}", code_fence("yaml", yaml))
                }
                None => format!("{}{cut}", code_fence(language(&view.path), text)),
            }
        }
        FilePreview::Document { format, pages, remarks } => {
            let mut out = format!("*{format}, as text.*\n");
            for remark in remarks {
                let _ = writeln!(out, "\n*{}*", remark.replace('*', "\\*"));
            }
            if pages.is_empty() {
                out.push_str("\nThere is no text in it.\n");
            }
            for page in pages {
                let _ = write!(out, "\n## {}\n\n{}\n", page.name, page.text);
            }
            out
        }
        FilePreview::Canvas { outline, .. } if outline.is_empty() => "*An empty canvas.*".into(),
        FilePreview::Canvas { outline, .. } => format!("*Canvas.*\n\n{outline}"),
        FilePreview::Image { media_type, width, height, mosaic } => {
            let head = format!("*{media_type}, {width} × {height} pixels.*");
            match mosaic.is_empty() {
                true => head,
                false => format!("{head}\n\n{}", code_fence("", &mosaic.join("\n"))),
            }
        }
        FilePreview::Nothing { why } => why.clone(),
    }
}

/// The ending of a path, by which code is coloured.
fn language(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    if ending.chars().all(|letter| letter.is_ascii_alphanumeric()) { ending } else { "" }
}

#[cfg(test)]
mod tests {
    use weir_install::file_view::Backlink;

    use super::*;

    fn view(path: &str, preview: FilePreview) -> FileView {
        FileView {
            path: path.into(),
            bytes: 1,
            preview,
            backlinks: Vec::new(),
            backlinks_left_out: 0,
            backlinks_pending: false,
        }
    }

    #[test]
    fn k3_a_note_is_shown_with_what_links_to_it() {
        let text = FilePreview::Text { text: "# Note\n".into(), cut: false };
        let link =
            Backlink { path: "a.md".into(), line: Some(7), passage: "see [[Note]] `x`".into() };
        let note =
            FileView { backlinks: vec![link], backlinks_left_out: 2, ..view("Note.md", text) };
        let shown =
            "# Note\n\n\n## Linked from\n\n- `a.md`, line 7\n  `see [[Note]] 'x'`\n\nAnd 2 more.\n";
        assert_eq!(file_text(&note), shown);
    }

    #[test]
    fn k3_properties_are_shown_as_they_are_written() {
        let text = "---\ntags: [garden]\nstatus: open\n---\n# Note\n";
        let text = FilePreview::Text { text: text.into(), cut: false };
        let shown = "```yaml\ntags: [garden]\nstatus: open\n```\n\n# Note\n";
        assert_eq!(file_text(&view("Note.md", text)), shown);
    }

    #[test]
    fn k7_code_stands_in_a_fence_that_it_cannot_end() {
        let text = |text: &str| FilePreview::Text { text: text.into(), cut: true };
        let shown = file_text(&view("a.rs", text("// ````\nfn x() {}\n")));
        assert!(shown.starts_with("`````rs\n// ````\nfn x() {}\n`````\n"), "{shown}");
        assert!(shown.ends_with("longer than is shown.*"), "{shown}");
        let image = FilePreview::Image {
            media_type: "image/png".into(),
            width: 4,
            height: 2,
            mosaic: vec!["⣿⣿".into()],
        };
        let shown = file_text(&view("a.png", image));
        assert_eq!(shown, "*image/png, 4 × 2 pixels.*\n\n```\n⣿⣿\n```");
    }
}
