//! A note on the page of its file: its links lead to the pages of other files (K2). Not here: where they
//! lead (`weir_install::file_view`), what is made of Markdown (`render`).

use std::collections::HashMap;

use maud::Markup;
use weir_install::file_view::{
    FileLink, FileLinkKind, FileLinkTarget, FileView, NoteParts, escape_words, read_address,
    rewrite_links,
};

use super::{download_address, file_address};
use crate::render::{self, LinkResolver, MarkdownStyle};

/// Before the number of a wiki link, which Markdown has no form for. Whoever writes it themselves gets to
/// another link of their own note.
const WIKI_SCHEME: &str = "weir-link:";
/// Endings of files that are shown where a note embeds them; what they are their bytes say
/// (`api::files::download`).
const IMAGE_ENDINGS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// The text of a note with its links followed.
pub(super) fn render_note(view: &FileView, note: &NoteParts<'_>) -> Markup {
    let links = NoteLinks::from_links(&view.links);
    let followed =
        rewrite_links(note.body, note.start, &view.links, |number, link, _| match link.form {
            FileLinkKind::Wiki => Some(wiki_as_markdown(number, link)),
            FileLinkKind::Markdown => None,
        });
    // A text that became too long would be shown as it is written: then as the person wrote it.
    let text = if followed.len() > render::TEXT_MAX { note.body } else { followed.as_str() };
    render::markdown_as(text, &MarkdownStyle { heading: 2, addresses: &links })
}

fn wiki_as_markdown(number: usize, link: &FileLink) -> String {
    let words = escape_words(&link.text);
    match (&link.target, link.embed) {
        (FileLinkTarget::Unknown, _) => words,
        (_, true) => format!("![{words}]({WIKI_SCHEME}{number})"),
        (_, false) => format!("[{words}]({WIKI_SCHEME}{number})"),
    }
}

/// The links of a note by the addresses that they have in its Markdown.
struct NoteLinks<'a> {
    links: &'a [FileLink],
    /// By path and part.
    by_address: HashMap<(&'a str, &'a str), &'a FileLink>,
}

impl<'a> NoteLinks<'a> {
    fn from_links(links: &'a [FileLink]) -> NoteLinks<'a> {
        let markdown = links.iter().filter(|link| link.form == FileLinkKind::Markdown);
        let by_address = markdown.map(|link| ((link.named.as_str(), link.part.as_str()), link));
        NoteLinks { links, by_address: by_address.collect() }
    }

    fn find_link(&self, address: &str) -> Option<&'a FileLink> {
        if let Some(number) = address.strip_prefix(WIKI_SCHEME) {
            let link = self.links.get(number.parse::<usize>().ok()?)?;
            return (link.form == FileLinkKind::Wiki).then_some(link);
        }
        let address = read_address(address);
        self.by_address.get(&(address.path.as_str(), address.subpath.as_str())).copied()
    }
}

fn is_shown_image(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending);
    IMAGE_ENDINGS.iter().any(|known| known.eq_ignore_ascii_case(ending))
}

fn section_anchor(number: usize) -> String {
    format!("section-{number}")
}

impl LinkResolver for NoteLinks<'_> {
    fn resolve_link(&self, address: &str) -> Option<String> {
        match &self.find_link(address)?.target {
            FileLinkTarget::File { path, heading: None } => Some(file_address(path)),
            FileLinkTarget::File { path, heading: Some(number) } => {
                Some(format!("{}#{}", file_address(path), section_anchor(*number)))
            }
            FileLinkTarget::Unknown | FileLinkTarget::Nowhere => None,
        }
    }

    fn resolve_image(&self, address: &str) -> Option<String> {
        match &self.find_link(address)?.target {
            FileLinkTarget::File { path, .. } if is_shown_image(path) => {
                Some(format!("{}&inline=true", download_address(path)))
            }
            FileLinkTarget::File { .. } | FileLinkTarget::Unknown | FileLinkTarget::Nowhere => None,
        }
    }

    fn link_mark(&self, address: &str) -> Option<String> {
        let link = self.find_link(address)?;
        match (&link.target, link.form) {
            (FileLinkTarget::Unknown, _) => None,
            (FileLinkTarget::Nowhere, FileLinkKind::Wiki) => Some("leads nowhere".into()),
            (FileLinkTarget::Nowhere, FileLinkKind::Markdown) => {
                Some(format!("leads nowhere: {address}"))
            }
            (FileLinkTarget::File { .. }, _) => Some("embedded".into()),
        }
    }

    fn heading_anchor(&self, number: usize) -> Option<String> {
        Some(section_anchor(number))
    }
}

#[cfg(test)]
mod tests {
    use weir_install::file_view::{FilePreview, split_note};

    use super::*;

    fn link(text: &str, part: &str, form: FileLinkKind, target: FileLinkTarget) -> FileLink {
        let start = text.find(part).expect("it stands there");
        let embed = part.starts_with('!');
        let bare = part.trim_matches(['!', '[', ']']);
        let named = match form {
            FileLinkKind::Wiki => bare,
            FileLinkKind::Markdown => {
                part.rsplit_once("](").map_or("", |(_, end)| end.trim_end_matches(')'))
            }
        };
        FileLink {
            start,
            end: start + part.len(),
            form,
            embed,
            text: bare.into(),
            named: named.into(),
            part: String::new(),
            target,
        }
    }

    fn leads_to(path: &str, heading: Option<usize>) -> FileLinkTarget {
        FileLinkTarget::File { path: path.into(), heading }
    }

    fn shown(text: &str, links: Vec<FileLink>) -> String {
        let preview = FilePreview::Text { text: text.into(), cut: false };
        let view = FileView {
            path: "Note.md".into(),
            bytes: 1,
            preview,
            backlinks: Vec::new(),
            backlinks_left_out: 0,
            backlinks_pending: false,
            links,
        };
        let note = split_note("Note.md", text).expect("a note");
        render_note(&view, &note).0
    }

    #[test]
    fn k2_links_of_a_note_are_links_of_its_page() {
        use FileLinkKind::{Markdown, Wiki};
        let text = "---\na: 1\n---\n# A\n\n[[x <b>]] [[gone]] ![[a.png]] ![[b]] [[later]].";
        let page = shown(
            text,
            vec![
                link(text, "[[x <b>]]", Wiki, leads_to("x & y.md", Some(2))),
                link(text, "[[gone]]", Wiki, FileLinkTarget::Nowhere),
                link(text, "![[a.png]]", Wiki, leads_to("in/a.png", None)),
                link(text, "![[b]]", Wiki, leads_to("b.md", None)),
                link(text, "[[later]]", Wiki, FileLinkTarget::Unknown),
            ],
        );
        for within in [
            "<h2 class=\"heading-1\" id=\"section-1\">A</h2>",
            "<a href=\"/files?path=x+%26+y.md#section-2\" rel=\"noopener noreferrer nofollow\">x &lt;b&gt;</a>",
            "<span class=\"nowhere\">gone <span class=\"host\">(leads nowhere)</span></span>",
            "src=\"/api/v1/files/content?path=in%2Fa.png&amp;inline=true\" alt=\"a.png\"",
            ">b</a> <span class=\"host\">(embedded)</span>",
            " later.</p>",
        ] {
            assert!(page.contains(within), "{within} is not in {page}");
        }
        assert!(!page.contains("[[") && !page.contains(WIKI_SCHEME), "{page}");
        let text = "[m](c%20d.md) [n](e.md)";
        let page = shown(
            text,
            vec![
                FileLink {
                    named: "c d.md".into(),
                    ..link(text, "[m](c%20d.md)", Markdown, leads_to("c d.md", None))
                },
                link(text, "[n](e.md)", Markdown, FileLinkTarget::Nowhere),
            ],
        );
        assert!(page.contains("href=\"/files?path=c+d.md\""), "{page}");
        assert!(page.contains("n <span class=\"host\">(leads nowhere: e.md)</span>"), "{page}");
    }

    #[test]
    fn s12_a_link_of_a_note_is_nothing_but_a_link() {
        for words in ["](javascript:x)", "<img src=x onerror=x>", "\" onclick=x", "`a` $b$ \\"] {
            let text = "[[x]]";
            let hostile = FileLink {
                text: words.into(),
                ..link(text, "[[x]]", FileLinkKind::Wiki, leads_to("\"><script>.md", None))
            };
            let page = shown(text, vec![hostile]);
            assert!(page.contains("<a href=\"/files?path=%22%3E%3Cscript%3E.md\""), "{page}");
            assert_eq!(page.matches('<').count(), 4, "a paragraph and a link: {page}");
        }
        // A number of one's own leads where the note leads anyway.
        let page = shown("[a](weir-link:7) [b](weir-link:-1)", Vec::new());
        assert!(!page.contains("<a "), "{page}");
    }
}
