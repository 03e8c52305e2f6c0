//! Help, searchable: the program's own documents, inside it (S10). Nothing is fetched.

use std::sync::LazyLock;

use axum::extract::Query;
use axum::extract::State;
use maud::{Markup, html};
use rust_embed::RustEmbed;
use serde::Deserialize;

use crate::app::App;
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::render::{self, Addresses, Style};
use crate::route::Route;
use crate::web::parts::{empty, page_with};

const HERE: &str = "/help";
/// Characters of a question.
const QUESTION_CHARS_MAX: usize = 200;
/// Passages of one page that are shown.
const PASSAGES_MAX: usize = 3;
/// Characters around a word that was found.
const AROUND: usize = 110;

/// The documents for people who use the program.
#[derive(RustEmbed)]
#[folder = "../../docs"]
#[include = "*.md"]
#[exclude = "decisions/*"]
#[exclude = "generated/*"]
#[exclude = "requirements.*"]
struct Documents;

/// Which document helps on which page of the server.
const FIRST: &[&str] = &[
    "browser",
    "approvals",
    "checkpoints-and-undo",
    "memory",
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
struct Document {
    name: String,
    title: String,
    text: String,
}

static ALL: LazyLock<Vec<Document>> = LazyLock::new(|| {
    let mut all: Vec<Document> = Documents::iter()
        .filter_map(|path| {
            let name = path.strip_suffix(".md")?.to_owned();
            let file = Documents::get(&path)?;
            let text = String::from_utf8_lossy(&file.data).into_owned();
            let title = text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or(&name);
            Some(Document { title: title.trim().to_owned(), name, text })
        })
        .collect();
    all.sort_by_key(|document| document.title.to_lowercase());
    all
});

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![Route::get(HERE, show)]
}

#[derive(Debug, Default, Deserialize)]
struct Look {
    #[serde(default)]
    q: String,
    #[serde(default)]
    page: String,
}

async fn show(State(_): State<App>, caller: Caller, Query(look): Query<Look>) -> Answer<Markup> {
    let question: String = look.q.chars().take(QUESTION_CHARS_MAX).collect();
    let (title, body) = if !look.page.is_empty() {
        let found = ALL.iter().find(|document| document.name == look.page);
        let found =
            found.ok_or_else(|| Problem::missing(format!("a help page {:?}", look.page)))?;
        (found.title.clone(), document(found))
    } else if question.trim().is_empty() {
        ("Help".to_owned(), contents())
    } else {
        ("Help".to_owned(), answers(&question))
    };
    let body = html! {
        div.toolbar {
            @if look.page.is_empty() { h1 { "Help" } } @else { a.btn.quiet href=(HERE) { "All pages" } }
            form.help-search method="get" action=(HERE) role="search" {
                label.unseen for="help-q" { "Search the help" }
                input id="help-q" type="search" name="q" value=(question)
                    maxlength=(QUESTION_CHARS_MAX) placeholder="Search the help";
                button.btn.primary type="submit" { "Search" }
            }
        }
        (body)
    };
    Ok(page_with(&caller, &title, HERE, &["pages/code.css", "pages/help.css"], &body))
}

fn address(document: &Document) -> String {
    format!("{HERE}?page={}", document.name)
}

fn list(documents: &[&Document]) -> Markup {
    html! {
        ul.help-list {
            @for document in documents {
                li { a href=(address(document)) { (document.title) } }
            }
        }
    }
}

fn contents() -> Markup {
    let find = |name: &&&str| ALL.iter().find(|document| document.name == **name);
    let first: Vec<&Document> = FIRST.iter().filter_map(|name| find(&name)).collect();
    let rest: Vec<&Document> =
        ALL.iter().filter(|document| !FIRST.contains(&document.name.as_str())).collect();
    html! {
        section.card aria-labelledby="begin" {
            h2 id="begin" { "Getting started" }
            (list(&first))
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
            (list(&rest))
        }
    }
}

/// Documents link to each other by file name.
struct Own;

impl Addresses for Own {
    fn link(&self, address: &str) -> Option<String> {
        let name = address.split('#').next().unwrap_or(address).strip_suffix(".md")?;
        ALL.iter().any(|document| document.name == name).then(|| format!("{HERE}?page={name}"))
    }
}

fn document(document: &Document) -> Markup {
    let text = document.text.split_once('\n').map_or("", |(_, rest)| rest);
    html! {
        article.card.help-text {
            h1 { (document.title) }
            div { (render::markdown_as(text, &Style { heading: 2, addresses: &Own })) }
        }
    }
}

/// A document that answers, with the places where it does.
struct Hit<'a> {
    document: &'a Document,
    score: usize,
    passages: Vec<String>,
}

fn answers(question: &str) -> Markup {
    let hits = find(&ALL, question);
    html! {
        h2 { (hits.len()) " pages for “" (question) "”" }
        @if hits.is_empty() {
            (empty("No pages found.", "Try fewer or more common words."))
        }
        @for hit in &hits {
            section.card {
                h3 { a href=(address(hit.document)) { (hit.document.title) } }
                @for passage in &hit.passages { p.muted { "… " (passage) " …" } }
            }
        }
    }
}

/// Documents in which every word stands: where it stands in headings first.
fn find<'a>(all: &'a [Document], question: &str) -> Vec<Hit<'a>> {
    let words: Vec<String> = question.to_lowercase().split_whitespace().map(String::from).collect();
    let mut hits: Vec<Hit<'a>> = all
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
            Some(Hit { document, score, passages: passages(&document.text, &words) })
        })
        .collect();
    hits.sort_by_key(|hit| std::cmp::Reverse(hit.score));
    hits
}

/// Where the words stand, with some text around.
fn passages(text: &str, words: &[String]) -> Vec<String> {
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
        let hits = find(&ALL, "undo checkpoint");
        assert_eq!(hits[0].document.name, "checkpoints-and-undo");
        assert!(!hits[0].passages.is_empty());
        assert!(find(&ALL, "zzzzqqq").is_empty());
        assert!(find(&ALL, " ").is_empty());
    }

    #[test]
    fn s10_help_pages_link_to_each_other() {
        assert_eq!(Own.link("gate.md#the-flow-table").as_deref(), Some("/help?page=gate"));
        assert_eq!(Own.link("../README.md"), None);
        assert_eq!(Own.link("nothing.md"), None);
    }
}
