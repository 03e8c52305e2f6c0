//! `get_vault_stats`: how much of what a vault holds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::sorting::sort_stably_by_key;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::index::IndexedLink;
use weir_notes::properties::PropertyKind;
use weir_notes::resolve::{FileNumber, file_name, is_note, parent_folder};

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::search_by_tag::vault_notes;
use crate::tag_counts::count_tags;
use crate::vault::{self, NoteVault};
use crate::{run_blocking, text};

/// So many of each list.
const SHOWN_MAX: usize = 20;

pub(crate) struct GetVaultStats;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {}

#[async_trait]
impl ActionTool for GetVaultStats {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            deferred: true,
            ..tool_spec(
                "get_vault_stats",
                ToolGroup::Vault,
                "Counts what the vault holds: notes, words, attachments, links, tags, properties \
                 with their types, tasks, folders, and the notes most linked to.",
            )
        }
    }

    async fn plan_call(_: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || vault::asking_plan(&workspace, "Count what the vault holds".into()))
            .await
    }

    async fn run_call(_: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let workspace = cx.workspace.clone();
        match run_blocking(move || vault::ask_vault(&workspace, count_all)).await {
            Ok(Ok(shown)) => {
                let summary = shown.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(shown).with_summary(summary)
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// Counts by name, the largest first.
fn rank_counts<K: Ord>(counts: BTreeMap<K, usize>) -> Vec<(K, usize)> {
    let mut counts: Vec<(K, usize)> = counts.into_iter().collect();
    sort_stably_by_key(&mut counts, |(_, count)| std::cmp::Reverse(*count));
    counts.truncate(SHOWN_MAX);
    counts
}

fn write_counts<K: std::fmt::Display>(title: &str, counts: &[(K, usize)], text: &mut String) {
    if !counts.is_empty() {
        let items: Vec<String> =
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let _ = writeln!(text, "{title}: {}", items.join(", "));
    }
}

fn count_all(vault: &NoteVault) -> String {
    let index = vault.index();
    let notes = index.list_notes();
    let mut endings: BTreeMap<String, usize> = BTreeMap::new();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for (_, file) in index.list_files() {
        let folder = parent_folder(file.path);
        *folders
            .entry(if folder.is_empty() { "/".into() } else { folder.to_owned() })
            .or_default() += 1;
        if !is_note(file.path) {
            let ending = file_name(file.path).rsplit_once('.').map_or("none", |(_, ending)| ending);
            *endings.entry(ending.to_lowercase()).or_default() += 1;
        }
    }
    let mut linked: BTreeMap<FileNumber, usize> = BTreeMap::new();
    let (mut links, mut broken, mut words, mut open, mut done) = (0, 0, 0, 0, 0);
    let mut kinds: BTreeMap<(String, &'static str), usize> = BTreeMap::new();
    for (number, _) in &notes {
        let Some(facts) = index.read_facts(*number) else { continue };
        words += facts.words;
        open += facts.tasks.iter().filter(|task| task.is_open()).count();
        done += facts.tasks.iter().filter(|task| !task.is_open()).count();
        for (name, value) in &facts.properties {
            *kinds.entry((name.clone(), PropertyKind::of_value(value).as_str())).or_default() += 1;
        }
        for found in IndexedLink::all_of(*number, &facts) {
            links += 1;
            broken += usize::from(vault::broken_reason(index, found).is_some());
            if let Some(target) = index.link_target(found).filter(|target| target != number) {
                *linked.entry(target).or_default() += 1;
            }
        }
    }
    let mut text = format!(
        "{}, {} words; {}, {broken} broken; {open} open tasks, {done} others\n",
        text::count_noun(notes.len(), "note"),
        words,
        text::count_noun(links, "link"),
    );
    write_counts("Other files", &rank_counts(endings), &mut text);
    write_counts("Folders", &rank_counts(folders), &mut text);
    let tags = count_tags(vault.index());
    let tagged = format!("Tags ({})", tags.len());
    let shown: Vec<(String, usize)> =
        tags.into_iter().take(SHOWN_MAX).map(|(name, count)| (format!("#{name}"), count)).collect();
    write_counts(&tagged, &shown, &mut text);
    let kinds: Vec<(String, usize)> = rank_counts(kinds)
        .into_iter()
        .map(|((name, kind), count)| (format!("{name} ({kind})"), count))
        .collect();
    write_counts("Properties", &kinds, &mut text);
    let linked: Vec<(&str, usize)> = rank_counts(linked)
        .into_iter()
        .map(|(number, count)| (index.name_table().path_of(number), count))
        .collect();
    write_counts("Most linked to", &linked, &mut text);
    for note in vault_notes(vault) {
        let _ = writeln!(text, "{note}");
    }
    text.trim_end().to_owned()
}
