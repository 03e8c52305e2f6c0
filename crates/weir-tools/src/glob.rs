//! `glob`: files whose path matches a pattern.

use async_trait::async_trait;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use weir_core::tool::{Effects, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::{EntryKind, WalkOptions, Workspace};

use crate::built::{ActionTool, tool_spec};
use crate::draft::{plan_blocking, reading_plan};
use crate::{list_files, run_blocking, text};

/// Most entries of the workspace that are looked at.
pub(crate) const WALK_ENTRIES_MAX: usize = 200_000;
const RESULTS_MAX: usize = 500;
const PATTERN_CHARACTERS_MAX: usize = 1_000;
/// Most braces of a glob: deep ones make a regular expression that does not compile.
const BRACES_MAX: usize = 64;

pub(crate) struct Glob;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// For example `*.rs` (at any depth), `src/**/*.ts`, `docs/{a,b}*.md`.
    pattern: String,
    /// Folder that the pattern starts from; default: the workspace.
    #[serde(default)]
    path: Option<String>,
}

#[async_trait]
impl ActionTool for Glob {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "glob",
                ToolGroup::Read,
                "Finds files by name: paths that match a glob, sorted, at most 500. Leaves out \
                 what .gitignore names.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let (at, fails) = list_files::folder_effect(&workspace, input.path.as_deref(), true);
            let summary = format!("Find {} in {}", text::one_line(&input.pattern, 80), at.path);
            reading_plan(at, summary, fails.or_else(|| PathPattern::new(&input.pattern).err()))
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let workspace = cx.workspace.clone();
        match run_blocking(move || find_files(&workspace, &at, &input.pattern)).await {
            Ok(Ok((text, summary))) => RawResult::ok(text).with_summary(summary),
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

fn find_files(
    workspace: &Workspace,
    at: &PathEffect,
    pattern: &str,
) -> Result<(String, String), String> {
    let wanted = PathPattern::new(pattern)?;
    let way = literal_folders(pattern);
    let walk = workspace.walk_towards(at, &way, whole_tree()).map_err(|why| why.to_string())?;
    let found: Vec<&str> = walk
        .entries
        .iter()
        .filter(|entry| entry.kind != EntryKind::Folder)
        .map(|entry| entry.path.as_str())
        .filter(|path| wanted.matches(path_below(&at.path, path)))
        .collect();
    let mut summary = text::count_noun(found.len(), "file");
    let mut text = match found.len() {
        0 => format!(
            "No file below {} matches {pattern}. Try a wider pattern such as **/*name*, or \
             list_files",
            at.path
        ),
        _ => found.iter().take(RESULTS_MAX).copied().collect::<Vec<_>>().join("\n"),
    };
    if found.len() > RESULTS_MAX {
        text.push_str(&format!("\n[{RESULTS_MAX} of {} files; narrow the pattern]", found.len()));
        summary.push_str(", cut");
    }
    if walk.truncated {
        text.push_str(&format!(
            "\n[only the first {WALK_ENTRIES_MAX} entries were looked at; give a path]"
        ));
    }
    Ok((text, summary))
}

/// Everything below a folder but what `.gitignore` names.
pub(crate) fn whole_tree() -> WalkOptions {
    WalkOptions {
        recursive: true,
        respect_gitignore: true,
        hidden: true,
        max_entries: WALK_ENTRIES_MAX,
    }
}

/// The folders that a pattern names before anything in it that stands for several: what it matches lies in
/// them. Only plain letters: how other ones are written, differs from disk to disk.
fn literal_folders(pattern: &str) -> Vec<&str> {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    let Some((folders, _)) = pattern.rsplit_once('/') else { return Vec::new() };
    let is_literal = |part: &&str| {
        !matches!(*part, "" | "." | "..")
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-+@ ".contains(&byte))
    };
    folders.split('/').take_while(is_literal).collect()
}

/// `path` as seen from `folder`.
pub(crate) fn path_below<'a>(folder: &str, path: &'a str) -> &'a str {
    path.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// A glob over relative paths; without a slash it matches the name at any depth.
pub(crate) struct PathPattern {
    matcher: GlobMatcher,
    name_only: bool,
}

impl PathPattern {
    pub(crate) fn new(pattern: &str) -> Result<PathPattern, String> {
        if pattern.chars().count() > PATTERN_CHARACTERS_MAX {
            return Err(format!(
                "the glob is longer than {PATTERN_CHARACTERS_MAX} characters; shorten it"
            ));
        }
        if pattern.matches('{').count() > BRACES_MAX {
            return Err(format!("the glob has more than {BRACES_MAX} braces; use fewer"));
        }
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .backslash_escape(true)
            .build()
            .map_err(|why| format!("the glob {pattern:?} cannot be used: {}", why.kind()))?;
        Ok(PathPattern { matcher: glob.compile_matcher(), name_only: !pattern.contains('/') })
    }

    pub(crate) fn matches(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path);
        self.matcher.is_match(if self.name_only { name } else { path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_at_any_depth_and_paths_exactly() {
        let matches = |pattern: &str, path: &str| {
            PathPattern::new(pattern).expect("a valid glob").matches(path)
        };
        assert!(matches("*.rs", "src/a/b.rs"));
        assert!(matches("src/**/*.rs", "src/b.rs"));
        assert!(!matches("src/*.rs", "src/a/b.rs"));
        assert!(matches("{a,b}.md", "docs/b.md"));
        assert!(PathPattern::new("a[").is_err());
    }

    #[test]
    fn q24_only_folders_that_a_pattern_names_are_gone_through() {
        let none: [&str; 0] = [];
        for pattern in ["*.rs", "**/a/*.rs", "{a/b,c}/x", "../a/*.rs", "/a/*.rs", "a?/b/c", "\\a/b"]
        {
            assert_eq!(literal_folders(pattern), none, "{pattern}");
        }
        assert_eq!(literal_folders("./src/a-b/**/x/*.ts"), ["src", "a-b"]);
        assert_eq!(literal_folders("src/b.rs"), ["src"]);
        assert_eq!(literal_folders("src/über/*.rs"), ["src"]);
        assert_eq!(literal_folders("src/{a,b}/c/*.rs"), ["src"]);
    }

    #[test]
    fn z10_a_glob_of_deep_braces_is_refused_and_never_panics() {
        let deep = |count: usize| format!("{}{}", "{a,".repeat(count), "}".repeat(count));
        assert!(PathPattern::new(&deep(200)).is_err());
        assert!(PathPattern::new(&deep(20)).is_ok());
    }
}
