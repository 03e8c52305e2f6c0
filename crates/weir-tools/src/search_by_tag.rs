//! `search_by_tag`: notes by their tags, those of the text and those of the properties.

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::index::{FileSet, NoteIndex};
use weir_notes::note::{NOTE_PARTS_MAX, is_tag};
use weir_notes::resolve::{FileNumber, is_note};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::tag_counts::count_tags;
use crate::vault::{self, NoteVault};
use crate::{run_blocking, text};

const NOTES_DEFAULT: usize = 100;
const NOTES_MAX: usize = 1_000;

pub(crate) struct SearchByTag;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Tags that a note must have, all of them. `book` also means `book/novel`.
    #[serde(default)]
    all: Vec<String>,
    /// Tags of which a note must have one.
    #[serde(default)]
    any: Vec<String>,
    /// Tags that a note must not have.
    #[serde(default)]
    none: Vec<String>,
    /// Most notes; default 100, at most 1000.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for SearchByTag {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "search_by_tag",
                ToolGroup::Vault,
                "Finds notes by tags, inline and in properties, nested ones included, whatever \
                 the case. all, any and none are joined by and. Without any: all tags with their \
                 counts.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let asked = describe_query(&input);
            let mut plan = vault::asking_plan(&workspace, format!("Find notes by tags: {asked}"));
            let bad = input
                .all
                .iter()
                .chain(&input.any)
                .chain(&input.none)
                .find(|tag| !is_tag(tag.trim_start_matches('#').trim_end_matches('/')));
            if let Some(tag) = bad {
                plan = plan.with_failure(format!(
                    "{tag:?} is no tag: letters, digits, - _ /, not digits alone"
                ));
            }
            plan.effects.searches.push(asked);
            plan
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let workspace = cx.workspace.clone();
        let asked =
            run_blocking(move || vault::ask_vault(&workspace, |vault| find_notes(vault, &input)));
        match asked.await {
            Ok(Ok(found)) => {
                let summary = found.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(found).with_summary(summary)
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

fn describe_query(input: &Input) -> String {
    let list = |word: &str, tags: &[String]| {
        (!tags.is_empty()).then(|| format!("{word} {}", tags.join(" ")))
    };
    let parts = [list("all", &input.all), list("any", &input.any), list("none", &input.none)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    if parts.is_empty() { "every tag".into() } else { text::one_line(&parts.join(", "), 200) }
}

/// The files that have what is asked for, whether notes or not; and those that must not be among them.
struct TagQuery {
    wanted: Option<FileSet>,
    unwanted: FileSet,
}

impl TagQuery {
    fn of_input(index: &NoteIndex, input: &Input) -> TagQuery {
        let having = |tags: &[String]| {
            let mut files = FileSet::default();
            tags.iter().for_each(|tag| files.insert_all(&index.tagged_files(tag)));
            files
        };
        let mut wanted = (!input.any.is_empty()).then(|| having(&input.any));
        for tag in &input.all {
            let files = index.tagged_files(tag);
            match &mut wanted {
                Some(wanted) => wanted.keep_common(&files),
                None => wanted = Some(files),
            }
        }
        TagQuery { wanted, unwanted: having(&input.none) }
    }
    fn fits(&self, number: FileNumber) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| wanted.contains(number))
            && !self.unwanted.contains(number)
    }
}

fn find_notes(vault: &NoteVault, input: &Input) -> String {
    if input.all.is_empty() && input.any.is_empty() && input.none.is_empty() {
        return list_tags(vault);
    }
    let limit = input.limit.unwrap_or(NOTES_DEFAULT).clamp(1, NOTES_MAX);
    let mut lines = Vec::new();
    let mut count = 0;
    let index = vault.index();
    let query = TagQuery::of_input(index, input);
    for number in index.path_order().iter().copied().filter(|number| query.fits(*number)) {
        let Some(file) = index.file_at(number).filter(|file| file.known && is_note(file.path))
        else {
            continue;
        };
        count += 1;
        // What is not shown is not read.
        if lines.len() < limit {
            let names = index.tag_names_of(number).into_iter();
            let mut named: Vec<String> = names.map(|name| format!("#{name}")).collect();
            named.sort();
            named.dedup();
            lines.push(format!("{}  {}", file.path, named.join(" ")).trim_end().to_owned());
        }
    }
    let mut head = text::count_noun(count, "note");
    if count > lines.len() {
        head.push_str(&format!(", the first {} shown; narrow it or raise limit", lines.len()));
    }
    lines.insert(0, head);
    if count == 0 {
        lines.push("search_by_tag without tags lists those that there are".into());
    }
    lines.extend(vault_notes(vault));
    lines.join("\n")
}

/// What an answer about the whole vault must say beside it.
pub(crate) fn vault_notes(vault: &NoteVault) -> Vec<String> {
    let mut notes = Vec::new();
    if vault.truncated {
        notes.push("[the vault has more files than the index takes; this is about a part]".into());
    }
    if let Some(first) = vault.cut.first() {
        notes.push(format!(
            "[{} {} more than {NOTE_PARTS_MAX} headings, links, tags and tasks; the rest is not \
             known: {first}{}]",
            text::count_noun(vault.cut.len(), "note"),
            if vault.cut.len() == 1 { "has" } else { "have" },
            if vault.cut.len() > 1 { ", …" } else { "" }
        ));
    }
    if !vault.unread.is_empty() {
        let named: Vec<&str> = vault.unread.keys().take(3).map(String::as_str).collect();
        notes.push(format!(
            "[{} could not be read: {}{}]",
            text::count_noun(vault.unread.len(), "note"),
            named.join(", "),
            if vault.unread.len() > 3 { ", …" } else { "" }
        ));
    }
    notes
}

fn list_tags(vault: &NoteVault) -> String {
    let mut counts = count_tags(vault.index());
    let all = counts.len();
    counts.truncate(NOTES_MAX);
    let mut lines = vec![text::count_noun(all, "tag")];
    lines.extend(counts.into_iter().map(|(name, count)| format!("#{name}  {count}")));
    lines.extend(vault_notes(vault));
    lines.join("\n")
}
