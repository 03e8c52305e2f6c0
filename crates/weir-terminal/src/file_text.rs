//! A file as a terminal shows it, as Markdown: a text, a document, what stands on a canvas, an image in
//! letters; a note's links as words, below it the files that it links to and the notes that link to it.
//! Pure. Not here: reading the file and where links lead (`weir-install`).

use std::collections::BTreeSet;
use std::fmt::Write as _;

use weir_install::file_view::{
    FileLink, FileLinkKind, FileLinkTarget, FilePreview, FileView, MosaicSize, NoteParts,
    escape_words, rewrite_links, split_note,
};
use weir_install::wording::{code_fence, inline_code};

/// Letters in which an image is drawn: they fit into most terminals.
pub(crate) const MOSAIC: MosaicSize = MosaicSize { columns: 72, rows: 36 };
/// Most files that are named as those that a note links to.
const TARGETS_SHOWN_MAX: usize = 100;

/// The text of a view.
pub(crate) fn file_text(view: &FileView) -> String {
    let mut out = preview_text(view);
    write_targets(&mut out, view);
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
        out.push_str(
            "\n\n*The vault is being looked over: ask again for what links here and where its \
             links lead.*",
        );
    }
    out
}

/// The files that a note links to, each once: a link says what it means, `/file` wants a path.
fn write_targets(out: &mut String, view: &FileView) {
    let paths = view.links.iter().filter_map(|link| match &link.target {
        FileLinkTarget::File { path, .. } => Some(path.as_str()),
        FileLinkTarget::Unknown | FileLinkTarget::Nowhere => None,
    });
    let paths: BTreeSet<&str> = paths.filter(|path| *path != view.path).collect();
    if paths.is_empty() {
        return;
    }
    out.push_str("\n\n## Links to\n\n");
    for path in paths.iter().take(TARGETS_SHOWN_MAX) {
        let _ = writeln!(out, "- {}", inline_code(path));
    }
    if let Some(more @ 1..) = paths.len().checked_sub(TARGETS_SHOWN_MAX) {
        let _ = writeln!(out, "\nAnd {more} more.");
    }
}

/// The body of a note with words in place of the brackets of its links.
fn note_body(view: &FileView, note: &NoteParts<'_>) -> String {
    rewrite_links(note.body, note.start, &view.links, |_, link, own| match link.form {
        FileLinkKind::Wiki => Some(wiki_as_markdown(link)),
        FileLinkKind::Markdown => {
            (link.target == FileLinkTarget::Nowhere).then(|| format!("{own} (leads nowhere)"))
        }
    })
}

/// The words as an address are what a terminal shows as a link alone: it names no other address.
fn wiki_as_markdown(link: &FileLink) -> String {
    let words = escape_words(&link.text);
    match (&link.target, link.embed) {
        (FileLinkTarget::Nowhere, _) => format!("{words} (leads nowhere)"),
        (FileLinkTarget::File { .. } | FileLinkTarget::Unknown, true) => {
            format!("[{words}](<{words}>) (embedded)")
        }
        (FileLinkTarget::File { .. } | FileLinkTarget::Unknown, false) => {
            format!("[{words}](<{words}>)")
        }
    }
}

fn preview_text(view: &FileView) -> String {
    match &view.preview {
        FilePreview::Text { text, cut } => {
            let cut = if *cut { "\n\n*The file is longer than is shown.*" } else { "" };
            match split_note(&view.path, text) {
                Some(note) => {
                    let yaml = note.properties.map(|yaml| code_fence("yaml", yaml) + "\n\n");
                    format!("{}{}{cut}", yaml.unwrap_or_default(), note_body(view, &note))
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
            links: Vec::new(),
        }
    }

    fn link(text: &str, written: &str, words: &str, target: FileLinkTarget) -> FileLink {
        let start = text.find(written).expect("it stands there");
        let wiki = written.ends_with("]]");
        FileLink {
            start,
            end: start + written.len(),
            form: if wiki { FileLinkKind::Wiki } else { FileLinkKind::Markdown },
            embed: written.starts_with('!'),
            text: words.into(),
            named: String::new(),
            part: String::new(),
            target,
        }
    }

    fn leads_to(path: &str) -> FileLinkTarget {
        FileLinkTarget::File { path: path.into(), heading: None }
    }

    #[test]
    fn k2_links_read_as_words_and_where_they_lead_stands_below() {
        let text =
            "---\na: 1\n---\n[[a#B]] [[gone]] ![[c.png]] [x](no.md) [[#top]] [y](a.md) `[[a]]`\n";
        let links = vec![
            link(text, "[[a#B]]", "a > B", leads_to("deep/a.md")),
            link(text, "[[gone]]", "go*ne", FileLinkTarget::Nowhere),
            link(text, "![[c.png]]", "c.png", leads_to("c.png")),
            link(text, "[x](no.md)", "x", FileLinkTarget::Nowhere),
            link(text, "[[#top]]", "top", leads_to("Note.md")),
            link(text, "[y](a.md)", "y", leads_to("deep/a.md")),
        ];
        let preview = FilePreview::Text { text: text.into(), cut: false };
        let shown = file_text(&FileView { links, ..view("Note.md", preview) });
        let expected = "```yaml\na: 1\n```\n\n\
            [a \\> B](<a \\> B>) go\\*ne (leads nowhere) [c\\.png](<c\\.png>) (embedded) \
            [x](no.md) (leads nowhere) [top](<top>) [y](a.md) `[[a]]`\n\
            \n\n## Links to\n\n- `c.png`\n- `deep/a.md`\n";
        assert_eq!(shown, expected);
    }

    #[test]
    fn k2_a_link_whose_end_is_not_known_yet_reads_as_words() {
        let text = "[[a|b]]";
        let links = vec![link(text, "[[a|b]]", "b", FileLinkTarget::Unknown)];
        let preview = FilePreview::Text { text: text.into(), cut: false };
        let shown = FileView { links, backlinks_pending: true, ..view("Note.md", preview) };
        let shown = file_text(&shown);
        assert!(shown.starts_with("[b](<b>)\n\n*The vault is being looked over"), "{shown}");
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
