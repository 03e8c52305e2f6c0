//! Help, searchable: the program's own documents, inside it (S10). Nothing is fetched.

use std::borrow::Cow;
use std::sync::LazyLock;

use axum::extract::Query;
use axum::extract::State;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::sorting::sort_stably_by_key;

use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render::{self, LinkResolver, MarkdownStyle};
use crate::route::Route;
use crate::web::controls::{ButtonLook, submit_button};
use crate::web::parts::{page_with, render_empty};

mod files;

const HERE: &str = "/help";
/// Characters of a question.
const QUESTION_CHARS_MAX: usize = 200;
/// Passages of one page that are shown.
const PASSAGES_MAX: usize = 3;
/// Characters around a word that was found.
const AROUND: usize = 110;

/// The document that helps on each page of the server.
const FIRST: &[&str] = &[
    "browser",
    "approvals",
    "checkpoints-and-undo",
    "memory",
    "brain",
    "scheduled-agents",
    "settings-in-the-browser",
    "security",
];

/// What keys do, on every page and in a chat.
const KEYS: &[(&str, &str)] = &[
    ("Tab, Shift + Tab", "next or previous control; the first one skips to the content"),
    ("Enter", "in a chat: send; on a touch screen it starts a new line"),
    ("Ctrl + Enter, ⌘ + Enter", "in a chat: send, always"),
    ("Shift + Enter", "in a chat: a new line"),
    ("/", "at the start of a message: commands and workflows"),
    ("@", "in a message: a file"),
    ("↑ ↓, Enter or Tab, Esc", "in suggestions: choose, accept, close"),
    ("Ctrl + K, ⌘ + K", "go to a chat or a page"),
    ("F2", "in the list of chats: rename the chat"),
    ("Esc", "closes a dialog or the menu"),
];

/// One document.
struct HelpDocument {
    name: &'static str,
    title: String,
    text: Cow<'static, str>,
}

static ALL: LazyLock<Vec<HelpDocument>> = LazyLock::new(|| {
    let mut all: Vec<HelpDocument> = files::all_files()
        .into_iter()
        .map(|(name, text)| {
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(name);
            HelpDocument { title: title.trim().to_owned(), name, text }
        })
        .collect();
    sort_stably_by_key(&mut all, |document| document.title.to_lowercase());
    all
});

/// The routes of this file.
pub(crate) fn help_page_routes() -> Vec<Route> {
    vec![Route::get(HERE, show_help)]
}

#[derive(Debug, Default, Deserialize)]
struct HelpQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    page: String,
}

async fn show_help(
    State(_): State<App>,
    caller: Caller,
    Query(look): Query<HelpQuery>,
) -> HandlerResult<Markup> {
    let question: String = look.q.chars().take(QUESTION_CHARS_MAX).collect();
    let (title, body) = if !look.page.is_empty() {
        let found = ALL.iter().find(|document| document.name == look.page);
        let found = found
            .ok_or_else(|| ProblemDetails::not_found(format!("a help page {:?}", look.page)))?;
        (found.title.clone(), render_document(found))
    } else if question.trim().is_empty() {
        ("Help".to_owned(), render_contents())
    } else {
        ("Help".to_owned(), render_answers(&question))
    };
    let body = html! {
        div.toolbar {
            @if look.page.is_empty() { h1 { "Help" } } @else { a.btn.quiet href=(HERE) { "All pages" } }
            form.help-search method="get" action=(HERE) role="search" {
                label.unseen for="help-q" { "Search the help" }
                input id="help-q" type="search" name="q" value=(question)
                    maxlength=(QUESTION_CHARS_MAX) placeholder="Search the help";
                (submit_button(ButtonLook::Primary, "Search"))
            }
        }
        (body)
    };
    Ok(page_with(&caller, &title, HERE, &["pages/code.css", "pages/help.css"], &body))
}

fn document_address(document: &HelpDocument) -> String {
    format!("{HERE}?page={}", document.name)
}

fn render_document_list(documents: &[&HelpDocument]) -> Markup {
    html! {
        ul.help-list {
            @for document in documents {
                li { a href=(document_address(document)) { (document.title) } }
            }
        }
    }
}

fn render_contents() -> Markup {
    let find = |name: &&&str| ALL.iter().find(|document| document.name == **name);
    let first: Vec<&HelpDocument> = FIRST.iter().filter_map(|name| find(&name)).collect();
    let rest: Vec<&HelpDocument> =
        ALL.iter().filter(|document| !FIRST.contains(&document.name)).collect();
    html! {
        section.card aria-labelledby="begin" {
            h2 id="begin" { "Getting started" }
            (render_document_list(&first))
        }
        section.card aria-labelledby="keys" {
            h2 id="keys" { "Keys" }
            dl.kv {
                @for (keys, what) in KEYS {
                    dt { kbd { (keys) } }
                    dd { (what) }
                }
            }
        }
        section.card aria-labelledby="all" {
            h2 id="all" { "More" }
            (render_document_list(&rest))
        }
    }
}

/// Documents link to each other by file name.
struct HelpLinks;

impl LinkResolver for HelpLinks {
    fn resolve_link(&self, address: &str) -> Option<String> {
        let name = address.split('#').next().unwrap_or(address).strip_suffix(".md")?;
        ALL.iter().any(|document| document.name == name).then(|| format!("{HERE}?page={name}"))
    }
}

fn render_document(document: &HelpDocument) -> Markup {
    let text = document.text.split_once('\n').map_or("", |(_, rest)| rest);
    html! {
        article.card.help-text {
            h1 { (document.title) }
            div { (render::markdown_as(text, &MarkdownStyle { heading: 2, addresses: &HelpLinks })) }
        }
    }
}

/// A document that answers, with the places where it does.
struct HelpHit<'a> {
    document: &'a HelpDocument,
    score: usize,
    passages: Vec<String>,
}

fn render_answers(question: &str) -> Markup {
    let hits = find_documents(&ALL, question);
    html! {
        h2 { (hits.len()) " pages for “" (question) "”" }
        @if hits.is_empty() {
            (render_empty("No pages found.", "Try fewer or more common words."))
        }
        @for hit in &hits {
            section.card {
                h3 { a href=(document_address(hit.document)) { (hit.document.title) } }
                @for passage in &hit.passages { p.muted { "… " (passage) " …" } }
            }
        }
    }
}

/// Documents in which every word stands: where it stands in headings first.
fn find_documents<'a>(all: &'a [HelpDocument], question: &str) -> Vec<HelpHit<'a>> {
    let words: Vec<String> = question.to_lowercase().split_whitespace().map(String::from).collect();
    let mut hits: Vec<HelpHit<'a>> = all
        .iter()
        .filter_map(|document| {
            let text = document.text.to_lowercase();
            if words.is_empty() || !words.iter().all(|word| text.contains(word.as_str())) {
                return None;
            }
            let count = |word: &String| text.matches(word.as_str()).count().min(20);
            let headings: Vec<&str> = text.lines().filter(|line| line.starts_with('#')).collect();
            let in_title = |word: &&String| document.title.to_lowercase().contains(word.as_str());
            let in_headings =
                |word: &&String| headings.iter().any(|line| line.contains(word.as_str()));
            let score = words.iter().map(count).sum::<usize>()
                + words.iter().filter(in_headings).count() * 50
                + words.iter().filter(in_title).count() * 200;
            Some(HelpHit { document, score, passages: find_passages(&document.text, &words) })
        })
        .collect();
    sort_stably_by_key(&mut hits, |hit| std::cmp::Reverse(hit.score));
    hits
}

/// Where the words stand, with some text around.
fn find_passages(text: &str, words: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for paragraph in text.split("\n\n") {
        // Letters that change their length in lower case would move the place.
        let lower = paragraph.to_ascii_lowercase();
        let Some(at) = words.iter().find_map(|word| lower.find(word.as_str())) else { continue };
        let start = paragraph.floor_char_boundary(at.saturating_sub(AROUND));
        let end = paragraph.ceil_char_boundary((at + AROUND).min(paragraph.len()));
        let passage = paragraph[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
        found.push(passage.replace(['#', '`', '|', '*'], ""));
        if found.len() == PASSAGES_MAX {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s10_help_has_the_documents_and_finds_words_in_them() {
        assert!(ALL.len() > 30, "{}", ALL.len());
        assert!(ALL.iter().all(|document| !document.name.contains('/')));
        let hits = find_documents(&ALL, "undo checkpoint");
        assert_eq!(hits[0].document.name, "checkpoints-and-undo");
        assert!(!hits[0].passages.is_empty());
        assert!(find_documents(&ALL, "zzzzqqq").is_empty());
        assert!(find_documents(&ALL, " ").is_empty());
    }

    #[test]
    fn s10_help_pages_link_to_each_other() {
        assert_eq!(
            HelpLinks.resolve_link("gate.md#the-flow-table").as_deref(),
            Some("/help?page=gate")
        );
        assert_eq!(HelpLinks.resolve_link("../README.md"), None);
        assert_eq!(HelpLinks.resolve_link("nothing.md"), None);
    }
}
