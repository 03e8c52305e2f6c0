//! `get_linked_notes`: what a note links to, what links to it, and where it is named without a link.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, PathAccess, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::Workspace;
use weir_notes::index::{IndexedLink, NoteIndex};
use weir_notes::resolve::{FileNumber, is_note, note_title};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::search_by_tag::vault_notes;
use crate::vault::{self, LinkPassage, NoteVault};
use crate::{run_blocking, text};

const NOTES_DEFAULT: usize = 50;
const NOTES_MAX: usize = 500;
const DEPTH_MAX: usize = 3;
/// Shortest name that is looked for without a link.
const MENTION_CHARS_MIN: usize = 3;
const PASSAGES_A_NOTE: usize = 3;

pub(crate) struct GetLinkedNotes;

/// Which way links are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub(crate) enum LinkDirection {
    /// Notes that it links to.
    Links,
    /// Notes that link to it.
    Backlinks,
    /// Both.
    #[default]
    Both,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Path, title or alias of a note, or path of an attachment.
    note: String,
    /// `links`, `backlinks` or `both` (default).
    #[serde(default)]
    direction: LinkDirection,
    /// How many links away, 1 (default) to 3.
    #[serde(default)]
    depth: Option<usize>,
    /// Also notes that name it without a link: reads every note.
    #[serde(default)]
    mentions: bool,
    /// Most notes; default 50, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for GetLinkedNotes {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "get_linked_notes",
                ToolGroup::Vault,
                "Shows the notes that a note links to and those that link to it, with the line \
                 around each link and its number; links that lead nowhere are marked.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let note = text::one_line(&input.note, 80);
            vault::asking_plan(&workspace, format!("Find the notes linked with {note}"))
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let workspace = cx.workspace.clone();
        let asked = run_blocking(move || {
            vault::ask_vault(&workspace, |vault| find_linked(&workspace, vault, &input))
        });
        match asked.await {
            Ok(Ok(Ok(found))) => {
                let summary = found.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(found).with_summary(summary)
            }
            Ok(Ok(Err(why)) | Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// Texts of notes that passages are taken from, each read once.
struct NoteTexts<'a> {
    workspace: &'a Workspace,
    index: &'a NoteIndex,
    read: BTreeMap<FileNumber, String>,
}

impl NoteTexts<'_> {
    fn note_text(&mut self, number: FileNumber) -> &str {
        let (workspace, index) = (self.workspace, self.index);
        self.read.entry(number).or_insert_with(|| {
            let at = workspace.resolve(index.name_table().path_of(number), PathAccess::Read);
            // A note that went away meanwhile has no passages.
            vault::read_text(workspace, &at).unwrap_or_default()
        })
    }
    fn passage_of(&mut self, link: IndexedLink<'_>) -> String {
        let LinkPassage { line, passage } =
            vault::link_passage(self.note_text(link.source), link.link);
        match line {
            Some(line) => format!("{line}: {passage}"),
            None => passage,
        }
    }
}

fn find_linked(workspace: &Workspace, vault: &NoteVault, input: &Input) -> Result<String, String> {
    let index = vault.index();
    let start = vault.require_note(&input.note)?;
    let limit = input.limit.unwrap_or(NOTES_DEFAULT).clamp(1, NOTES_MAX);
    let depth = input.depth.unwrap_or(1).clamp(1, DEPTH_MAX);
    let mut texts = NoteTexts { workspace, index, read: BTreeMap::new() };
    let path = index.name_table().path_of(start);
    let mut body = String::new();
    let mut heads = Vec::new();
    if input.direction != LinkDirection::Backlinks {
        heads.push(write_links(&mut texts, start, limit, &mut body));
    }
    if input.direction != LinkDirection::Links {
        heads.push(write_backlinks(&mut texts, start, limit, &mut body));
    }
    if depth > 1 {
        write_further(
            index,
            start,
            &FurtherRequest { direction: input.direction, depth, limit },
            &mut body,
        );
    }
    if input.mentions {
        heads.push(write_mentions(&mut texts, start, limit, &mut body));
    }
    let mut shown = format!("{path}: {}\n{body}", heads.join(", "));
    for note in vault_notes(vault) {
        let _ = writeln!(shown, "{note}");
    }
    Ok(shown.trim_end().to_owned())
}

fn write_links(
    texts: &mut NoteTexts<'_>,
    start: FileNumber,
    limit: usize,
    body: &mut String,
) -> String {
    let index = texts.index;
    let facts = index.facts_at(start);
    let links = facts.iter().flat_map(|facts| IndexedLink::all_of(start, facts));
    let links: Vec<IndexedLink<'_>> = links.filter(|link| !link.link.path.is_empty()).collect();
    if !links.is_empty() {
        body.push_str("\nLinks to\n");
    }
    for link in links.iter().take(limit) {
        let broken = vault::broken_reason(index, *link);
        let target = index
            .link_target(*link)
            .map_or(link.link.path.as_str(), |to| index.name_table().path_of(to));
        let kind = if link.link.embed { " (embedded)" } else { "" };
        let broken = broken.map(|why| format!(" — BROKEN, {why}: {}", link.link.target_text()));
        let _ = writeln!(body, "- {target}{kind}{}", broken.unwrap_or_default());
        let _ = writeln!(body, "  {}", texts.passage_of(*link));
    }
    cut_note(links.len(), limit, body);
    text::count_noun(links.len(), "link")
}

fn write_backlinks(
    texts: &mut NoteTexts<'_>,
    start: FileNumber,
    limit: usize,
    body: &mut String,
) -> String {
    let index = texts.index;
    let links = index.backlinks_of(start);
    let mut sources: Vec<FileNumber> = links.iter().map(|link| link.source).collect();
    sources.dedup();
    if !sources.is_empty() {
        body.push_str("\nLinked from\n");
    }
    for own in links.chunk_by(|a, b| a.source == b.source).take(limit) {
        let Some(source) = own.first().map(|link| link.source) else { continue };
        let _ = writeln!(body, "- {}", index.name_table().path_of(source));
        // A line is shown once, whatever links stand in it.
        let mut passages: Vec<String> = Vec::new();
        let mut left = 0;
        for place in own {
            match (passages.len() <= PASSAGES_A_NOTE).then(|| index.link_at(*place)).flatten() {
                Some(link) => passages.push(texts.passage_of(link.as_indexed())),
                None => left += 1,
            }
            passages.dedup();
        }
        left += passages.len().saturating_sub(PASSAGES_A_NOTE);
        for passage in passages.iter().take(PASSAGES_A_NOTE) {
            let _ = writeln!(body, "  {passage}");
        }
        if left > 0 {
            let _ = writeln!(body, "  … and {left} more");
        }
    }
    cut_note(sources.len(), limit, body);
    text::count_noun(sources.len(), "backlink")
}

fn cut_note(count: usize, limit: usize, body: &mut String) {
    if count > limit {
        let _ = writeln!(body, "[{limit} of {count}; raise limit]");
    }
}

struct FurtherRequest {
    direction: LinkDirection,
    depth: usize,
    limit: usize,
}

/// Notes that are more than one link away, by how far.
fn write_further(index: &NoteIndex, start: FileNumber, asked: &FurtherRequest, body: &mut String) {
    let mut seen = BTreeSet::from([start]);
    let mut edge = vec![start];
    let mut left = asked.limit;
    for step in 1..=asked.depth {
        let mut next: Vec<FileNumber> = Vec::new();
        for number in edge.drain(..) {
            let mut near: Vec<FileNumber> = Vec::new();
            if asked.direction != LinkDirection::Backlinks {
                let facts = index.read_facts(number);
                let links = facts.iter().flat_map(|facts| IndexedLink::all_of(number, facts));
                near.extend(links.filter_map(|link| index.link_target(link)));
            }
            if asked.direction != LinkDirection::Links {
                near.extend(index.backlinks_of(number).iter().map(|link| link.source));
            }
            near.retain(|number| {
                is_note(index.name_table().path_of(*number)) && seen.insert(*number)
            });
            next.extend(near);
        }
        next.sort_by_key(|number| index.name_table().path_of(*number));
        if step > 1 && !next.is_empty() {
            let _ = writeln!(body, "\n{step} links away");
            for number in next.iter().take(left) {
                let _ = writeln!(body, "- {}", index.name_table().path_of(*number));
            }
            cut_note(next.len(), left, body);
            left = left.saturating_sub(next.len());
        }
        edge = next;
    }
}

/// Notes in whose text its title or an alias stands as a word, outside of links.
fn write_mentions(
    texts: &mut NoteTexts<'_>,
    start: FileNumber,
    limit: usize,
    body: &mut String,
) -> String {
    let index = texts.index;
    let Some(file) = index.file_at(start) else { return String::new() };
    let aliases = index.aliases_of(start);
    let names: Vec<String> = std::iter::once(note_title(file.path))
        .chain(aliases.iter().map(String::as_str))
        .filter(|name| name.chars().count() >= MENTION_CHARS_MIN)
        .map(str::to_lowercase)
        .collect();
    let mut count = 0;
    let mut shown = String::new();
    for (number, other) in index.list_notes() {
        if number == start {
            continue;
        }
        let at = texts.workspace.resolve(other.path, PathAccess::Read);
        let Ok(content) = vault::read_text(texts.workspace, &at) else { continue };
        let facts = std::cell::LazyCell::new(|| index.read_facts(number).unwrap_or_default());
        let in_link = |at: usize| {
            let behind = facts.links.partition_point(|link| link.at.start <= at);
            behind.checked_sub(1).is_some_and(|last| at < facts.links[last].at.end)
        };
        let Some(found) = find_word(&content, &names, &in_link) else { continue };
        count += 1;
        if count <= limit {
            let place = weir_notes::span::ByteSpan::new(found, found);
            let line = vault::line_number(&content, found);
            let _ = writeln!(
                shown,
                "- {}\n  {line}: {}",
                other.path,
                vault::link_line(&content, place)
            );
        }
    }
    if count > 0 {
        body.push_str("\nNamed without a link\n");
        body.push_str(&shown);
        cut_note(count, limit, body);
    }
    text::count_noun(count, "unlinked mention")
}

/// Where one of the names stands first as words of their own.
fn find_word(content: &str, names: &[String], skip: &dyn Fn(usize) -> bool) -> Option<usize> {
    let lower = content.to_lowercase();
    // Places fit only where small letters take as many bytes.
    let content = if lower.len() == content.len() { lower.as_str() } else { content };
    let is_word = |c: char| c.is_alphanumeric();
    names.iter().find_map(|name| {
        content.match_indices(name.as_str()).map(|(at, _)| at).find(|at| {
            let before = content[..*at].chars().next_back();
            let after = content[at + name.len()..].chars().next();
            !before.is_some_and(is_word) && !after.is_some_and(is_word) && !skip(*at)
        })
    })
}
