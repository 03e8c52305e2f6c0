//! `search_files`: lines that match a regular expression, with ripgrep's engine.
//!
//! Files are found and opened by the workspace, so what is ignored is not there, and files that
//! ask a person before they are read are left out unless named. Of a file that is not named no line of
//! a private key is shown, nor anything from which such a line could be guessed.

use std::fmt::Write as _;
use std::fs::File;
use std::io;
use std::ops::RangeInclusive;

use async_trait::async_trait;
use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch,
};
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use weir_core::tool::{Effects, PathAccess, PathEffect, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};
use weir_engine::workspace::{EntryKind, FileError, FoundFile, Workspace};

use crate::built::{ActionTool, tool_spec};
use crate::draft::{plan_blocking, reading_plan};
use crate::glob::{PathPattern, path_below, whole_tree};
use crate::read_file::absent_reason;
use crate::{run_blocking, text};

const RESULTS_DEFAULT: usize = 100;
const RESULTS_MAX: usize = 1_000;
const CONTEXT_MAX: usize = 20;
const LINE_CHARACTERS_MAX: usize = 300;
/// Longest line that is searched; longer ones make their file be skipped and named.
const LINE_BYTES_MAX: usize = 8_000_000;
const PATTERN_CHARACTERS_MAX: usize = 2_000;
const REGEX_BYTES_MAX: usize = 10_000_000;

pub(crate) struct SearchFiles;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    /// Regular expression (Rust syntax), matched line by line.
    pattern: String,
    /// Folder or file; default: the workspace.
    #[serde(default)]
    path: Option<String>,
    /// Only these files: `*.rs`, `src/**`.
    #[serde(default)]
    glob: Option<String>,
    /// Ignore case.
    #[serde(default)]
    ignore_case: bool,
    /// Lines around each match; default 0.
    #[serde(default)]
    context: Option<usize>,
    /// Most matching lines; default 100, at most 1000.
    #[serde(default)]
    max_results: Option<usize>,
}

#[async_trait]
impl ActionTool for SearchFiles {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            ..tool_spec(
                "search_files",
                ToolGroup::Read,
                "Searches file contents with a regular expression: matching lines with their \
                 numbers, grouped by file. Leaves out binary files and what .gitignore names.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let workspace = cx.workspace.clone();
        plan_blocking(move || {
            let (at, fails) = search_target(&workspace, input.path.as_deref());
            let pattern = text::one_line(&input.pattern, 80);
            let summary = format!("Search for {pattern} in {}", at.path);
            let fails = fails.or_else(|| SearchQuery::new(&input).err());
            let mut plan = reading_plan(at, summary, fails);
            plan.effects.searches.push(input.pattern);
            plan
        })
        .await
    }

    async fn run_call(input: Input, effects: &Effects, cx: &ToolContext) -> RawResult {
        let Some(at) = effects.paths.first().cloned() else {
            return RawResult::error("the call has no path");
        };
        let (workspace, cancel) = (cx.workspace.clone(), cx.cancel.clone());
        let searched = run_blocking(move || {
            let query = SearchQuery::new(&input)?;
            search_tree(&workspace, &at, &query, &cancel).map_err(|why| why.to_string())
        });
        match searched.await {
            Ok(Ok(hits)) => hits.into_raw(),
            Ok(Err(why)) | Err(why) => RawResult::error(why),
        }
    }
}

/// A folder is searched (`List`, recursive); a single file is read.
fn search_target(workspace: &Workspace, path: Option<&str>) -> (PathEffect, Option<String>) {
    let path = path.unwrap_or(".");
    let folder = workspace.resolve_tree(path, PathAccess::List);
    match workspace.stat_entry(&folder) {
        Ok(entry) if entry.kind == EntryKind::Folder => (folder, None),
        Ok(_) => {
            let mut file = workspace.resolve(path, PathAccess::Read);
            if file.sensitive.is_none() {
                file.sensitive = workspace.key_inside(&file);
            }
            (file, None)
        }
        Err(why) => {
            let told = absent_reason(&folder.path, &why);
            (folder, Some(told))
        }
    }
}

struct SearchQuery {
    matcher: RegexMatcher,
    files: Option<PathPattern>,
    context: usize,
    max_results: usize,
}

impl SearchQuery {
    fn new(input: &Input) -> Result<SearchQuery, String> {
        let pattern = &input.pattern;
        if pattern.is_empty() || pattern.chars().count() > PATTERN_CHARACTERS_MAX {
            return Err(format!("the pattern must have 1 to {PATTERN_CHARACTERS_MAX} characters"));
        }
        let matcher = RegexMatcherBuilder::new()
            .case_insensitive(input.ignore_case)
            .crlf(true)
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX)
            .build(pattern)
            .map_err(|why| {
                format!(
                    "the pattern is not a valid regular expression: {why}. Escape literal \
                     ( ) [ ] {{ }} . * + ? | ^ $ with a backslash; matches cannot span lines"
                )
            })?;
        Ok(SearchQuery {
            matcher,
            files: input.glob.as_deref().map(PathPattern::new).transpose()?,
            context: input.context.unwrap_or(0).min(CONTEXT_MAX),
            max_results: input.max_results.unwrap_or(RESULTS_DEFAULT).clamp(1, RESULTS_MAX),
        })
    }
}

/// What was found so far.
#[derive(Default)]
struct SearchHits {
    text: String,
    lines: usize,
    files: usize,
    searched: usize,
    skipped: Vec<String>,
    full: bool,
    tree_cut: bool,
}

fn search_tree(
    workspace: &Workspace,
    at: &PathEffect,
    query: &SearchQuery,
    cancel: &CancellationToken,
) -> Result<SearchHits, FileError> {
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LINE_BYTES_MAX))
        .before_context(query.context)
        .after_context(query.context)
        .build();
    let mut hits = SearchHits::default();
    if at.access == PathAccess::Read {
        let file = workspace.open_file(at)?;
        // Who allowed it was told that it holds a key.
        let file = SearchedFile {
            path: &at.path,
            file: &file,
            key_lines: &Vec::<RangeInclusive<u64>>::new,
        };
        hits.search_file(&mut searcher, query, file, cancel);
        return Ok(hits);
    }
    let walk = workspace.walk(at, whole_tree())?;
    hits.tree_cut = walk.truncated;
    let mut found = workspace.found_files();
    for entry in &walk.entries {
        let wanted = |files: &PathPattern| files.matches(path_below(&at.path, &entry.path));
        if entry.kind != EntryKind::File || !query.files.as_ref().is_none_or(wanted) {
            continue;
        }
        if hits.full || cancel.is_cancelled() {
            break;
        }
        match found.open_entry(entry) {
            Ok(FoundFile::Open(file)) => {
                let key_lines = || workspace.key_lines(&workspace.effect_of_entry(entry));
                let file = SearchedFile { path: &entry.path, file: &file, key_lines: &key_lines };
                hits.search_file(&mut searcher, query, file, cancel);
            }
            Ok(FoundFile::Hidden) => (),
            Ok(FoundFile::AsksFirst) => {
                let path = &entry.path;
                hits.skipped.push(format!("{path} (may hold secrets: search it by its path)"));
            }
            Err(why) => hits.skipped.push(why.to_string()),
        }
    }
    Ok(hits)
}

/// A file that is open, and its path as it is shown.
#[derive(Clone, Copy)]
struct SearchedFile<'a> {
    path: &'a str,
    file: &'a File,
    key_lines: &'a dyn Fn() -> Vec<RangeInclusive<u64>>,
}

impl SearchHits {
    fn search_file(
        &mut self,
        searcher: &mut Searcher,
        query: &SearchQuery,
        file: SearchedFile<'_>,
        cancel: &CancellationToken,
    ) {
        let SearchedFile { path, file, key_lines } = file;
        self.searched += 1;
        let mut sink = FileSink {
            text: String::new(),
            lines: 0,
            room: query.max_results - self.lines,
            full: false,
            matcher: &query.matcher,
            key_lines: KeyLines { look: key_lines, found: None },
            cancel,
        };
        if let Err(why) = searcher.search_reader(&query.matcher, file, &mut sink) {
            self.skipped.push(format!("{path} ({why})"));
        }
        if sink.lines > 0 {
            self.files += 1;
            self.lines += sink.lines;
            let gap = if self.text.is_empty() { "" } else { "\n" };
            let _ = write!(self.text, "{gap}{path}\n{}", sink.text);
        }
        self.full |= sink.full;
    }

    fn into_raw(self) -> RawResult {
        let found =
            format!("{} in {}", matches_text(self.lines), text::count_noun(self.files, "file"));
        let mut notes = Vec::new();
        if self.lines == 0 {
            notes.push(format!(
                "No match in {}. Check the spelling, try ignore_case or a shorter pattern",
                text::count_noun(self.searched, "searched file")
            ));
        }
        if self.full {
            notes.push(format!(
                "[stopped after {}; narrow pattern, path or glob, or raise max_results]",
                matches_text(self.lines)
            ));
        }
        if self.tree_cut {
            notes.push("[the folder is too large to be searched whole; give a path]".into());
        }
        if !self.skipped.is_empty() {
            notes.push(format!("[not searched:\n{}]", text::bullet_list(&self.skipped, 5)));
        }
        let header = if self.lines > 0 { format!("{found}\n\n") } else { String::new() };
        let gap = if self.lines > 0 && !notes.is_empty() { "\n" } else { "" };
        let body = format!("{header}{}{gap}{}", self.text, notes.join("\n"));
        RawResult::ok(body.trim_end()).with_summary(found)
    }
}

fn matches_text(n: usize) -> String {
    if n == 1 { "1 match".into() } else { format!("{n} matches") }
}

struct FileSink<'a> {
    text: String,
    lines: usize,
    room: usize,
    full: bool,
    matcher: &'a RegexMatcher,
    key_lines: KeyLines<'a>,
    cancel: &'a CancellationToken,
}

/// The lines of private keys in a file, looked for once there is something to show of it.
struct KeyLines<'a> {
    look: &'a dyn Fn() -> Vec<RangeInclusive<u64>>,
    found: Option<Vec<RangeInclusive<u64>>>,
}

impl KeyLines<'_> {
    fn known_lines(&mut self) -> &[RangeInclusive<u64>] {
        let look = self.look;
        self.found.get_or_insert_with(look)
    }

    fn has_line(&mut self, number: Option<u64>) -> bool {
        let lines = self.known_lines();
        let Some(number) = number else { return !lines.is_empty() };
        let at = lines.partition_point(|lines| *lines.end() < number);
        lines.get(at).is_some_and(|lines| lines.contains(&number))
    }
}

impl FileSink<'_> {
    fn write_line(&mut self, number: Option<u64>, sign: char, bytes: &[u8], around: usize) {
        let line = String::from_utf8_lossy(bytes);
        let line = line.trim_end_matches(['\n', '\r']);
        let _ = writeln!(self.text, "{}{sign}{}", number.unwrap_or(0), line_window(line, around));
    }
}

/// At most a line's worth of characters of `line`, those around byte `around` kept.
fn line_window(line: &str, around: usize) -> String {
    if line.len() <= LINE_CHARACTERS_MAX {
        return line.to_owned();
    }
    let wish = around.saturating_sub(LINE_CHARACTERS_MAX / 3);
    let start = (0..=wish.min(line.len())).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    let before = if start > 0 { "…" } else { "" };
    format!("{before}{}", text::clip_text(&line[start..], LINE_CHARACTERS_MAX))
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        // As if it did not match: what it would change could be asked for letter by letter.
        if self.key_lines.has_line(found.line_number()) {
            return Ok(!self.cancel.is_cancelled());
        }
        if self.lines == self.room {
            self.full = true;
            return Ok(false);
        }
        let place = self.matcher.find(found.bytes()).ok().flatten();
        let around = place.map_or(0, |place| place.start());
        self.write_line(found.line_number(), ':', found.bytes(), around);
        self.lines += 1;
        Ok(!self.cancel.is_cancelled())
    }

    fn context(&mut self, _: &Searcher, near: &SinkContext<'_>) -> Result<bool, io::Error> {
        // What stands around a line of a key would say that it matched.
        if !self.key_lines.known_lines().is_empty() {
            return Ok(true);
        }
        let after_the_last = self.lines == self.room && *near.kind() == SinkContextKind::Before;
        if !after_the_last {
            self.write_line(near.line_number(), '-', near.bytes(), 0);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        if self.lines < self.room && self.key_lines.known_lines().is_empty() {
            self.text.push_str("--\n");
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn t7_long_lines_show_what_is_around_the_match() {
        let line = format!("{}needle{}", "ä".repeat(5_000), "b".repeat(5_000));
        let shown = line_window(&line, line.find("needle").expect("it is there"));
        assert!(shown.contains("needle") && shown.chars().count() <= LINE_CHARACTERS_MAX + 2);
    }
}
