//! `vault_health_check`: what is out of order in a vault.

use std::fmt::Write as _;

use async_trait::async_trait;
use serde::Deserialize;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_notes::health;
use weir_notes::index::IndexedLink;

use crate::built::{ActionTool, tool_spec};
use crate::draft::plan_blocking;
use crate::search_by_tag::vault_notes;
use crate::vault::{self, NoteVault};
use crate::{run_blocking, text};

const SHOWN_DEFAULT: usize = 20;
const SHOWN_MAX: usize = 500;
/// Broken links whose likeliest target is looked for: each looks at every name.
const LOOKED_UP_MAX: usize = 100;

pub(crate) struct VaultHealthCheck;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Most findings of each kind; default 20, at most 500.
    #[serde(default)]
    limit: Option<usize>,
}

#[async_trait]
impl ActionTool for VaultHealthCheck {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            deferred: true,
            ..tool_spec(
                "vault_health_check",
                ToolGroup::Vault,
                "Finds what is out of order: broken links with the likeliest target, notes \
                 without links, tags that differ by case or plural, titles that are there twice, \
                 notes without properties that their siblings have, attachments that nothing uses.",
            )
        }
    }

    async fn plan_call(_: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || vault::asking_plan(&workspace, "Check the vault".into())).await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        if let Err(why) = vault::require_vault(effects) {
            return RawResult::error(why);
        }
        let workspace = cx.workspace.clone();
        let limit = input.limit.unwrap_or(SHOWN_DEFAULT).clamp(1, SHOWN_MAX);
        match run_blocking(move || {
            vault::ask_vault(&workspace, |vault| list_findings(vault, limit))
        })
        .await
        {
            Ok(Ok(shown)) => {
                let summary = shown.lines().next().unwrap_or_default().to_owned();
                RawResult::ok(shown).with_summary(summary)
            }
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// A kind of findings, each a line.
struct FindingList {
    title: &'static str,
    lines: Vec<String>,
}

fn list_findings(vault: &NoteVault, limit: usize) -> String {
    let index = vault.index();
    let drift = health::tag_drift(index).into_iter().map(|group| {
        let names = group.into_iter().map(|(name, count)| format!("#{name} ({count})"));
        names.collect::<Vec<_>>().join(", ")
    });
    let bare = health::bare_notes(index).into_iter();
    let lists = [
        FindingList { title: "broken links", lines: broken_links(vault) },
        FindingList { title: "notes without links", lines: health::find_orphans(index) },
        FindingList { title: "tags that differ by little", lines: drift.collect() },
        FindingList {
            title: "titles that are there twice",
            lines: health::duplicate_titles(index)
                .into_iter()
                .map(|paths| paths.join(", "))
                .collect(),
        },
        FindingList {
            title: "notes without properties that their siblings have",
            lines: bare.map(|note| format!("{}: {}", note.path, note.lacks.join(", "))).collect(),
        },
        FindingList {
            title: "attachments that nothing uses",
            lines: health::unused_attachments(index),
        },
    ];
    let counts = lists.iter().filter(|list| !list.lines.is_empty());
    let counts: Vec<String> =
        counts.map(|list| format!("{}: {}", list.title, list.lines.len())).collect();
    let mut text = match counts.is_empty() {
        true => "Nothing is out of order".to_owned(),
        false => counts.join("; "),
    };
    text.push('\n');
    for list in lists.iter().filter(|list| !list.lines.is_empty()) {
        let title = text::first_chars(list.title, 1).to_uppercase() + &list.title[1..];
        let _ = writeln!(text, "\n{title}");
        for line in list.lines.iter().take(limit) {
            let _ = writeln!(text, "- {line}");
        }
        if list.lines.len() > limit {
            let _ = writeln!(text, "… and {} more; raise limit", list.lines.len() - limit);
        }
    }
    for note in vault_notes(vault) {
        let _ = writeln!(text, "{note}");
    }
    text.trim_end().to_owned()
}

fn broken_links(vault: &NoteVault) -> Vec<String> {
    let index = vault.index();
    let mut lines = Vec::new();
    // Names are gathered once, and only where a link leads nowhere.
    let mut names = None;
    for (number, file) in index.list_notes() {
        let facts = index.read_facts(number);
        for found in facts.iter().flat_map(|facts| IndexedLink::all_of(number, facts)) {
            let (link, Some(why)) = (found.link, vault::broken_reason(index, found)) else {
                continue;
            };
            let missing = why == "no such file" && lines.len() < LOOKED_UP_MAX;
            let near = match missing {
                true => {
                    names.get_or_insert_with(|| vault.name_candidates()).likely_targets(&link.path)
                }
                false => Vec::new(),
            };
            let near = near.first().map(|near| format!("; likely {near}")).unwrap_or_default();
            lines.push(format!("{}: {} ({why}{near})", file.path, link.target_text()));
        }
    }
    lines
}
