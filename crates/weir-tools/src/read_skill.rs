//! `read_skill`: the instructions of a skill, which bind from then on, or another file of it.

use async_trait::async_trait;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::{pager, skill, text};

/// Characters of one answer with another file of a skill: what is longer is read in pages.
const FILE_CHARACTERS_MAX: usize = 20_000;

pub(crate) struct ReadSkill;

#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(crate) struct Input {
    name: String,
    /// Another file of it.
    #[serde(default)]
    file: Option<String>,
    /// First line of `file`; default 1.
    #[serde(default)]
    from_line: Option<usize>,
}

#[async_trait]
impl ActionTool for ReadSkill {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            parallel_safe: true,
            keeps_result: true,
            ..tool_spec(
                "read_skill",
                ToolGroup::Agent,
                "Reads a skill. Its instructions bind you from then on, for this task.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let what = match &input.file {
            Some(file) => format!("Read {file} of the skill {}", input.name),
            None => format!("Read the skill {}", input.name),
        };
        skill::plan_skill_read(cx, &input.name, input.file.as_deref(), text::one_line(&what, 200))
            .await
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let Some(file) = &input.file else {
            return skill::activate_skill(cx, &input.name, None).await;
        };
        match cx.knows.skill_file(&input.name, file).await {
            Ok((text, label)) => {
                RawResult { label, ..skill_file_page(file, &text, input.from_line.unwrap_or(1)) }
            }
            Err(why) => RawResult::error(format!("{file} of {} cannot be read: {why}", input.name)),
        }
    }
}

fn skill_file_page(file: &str, text: &str, from: usize) -> RawResult {
    if text.chars().count() <= FILE_CHARACTERS_MAX && from <= 1 {
        return RawResult::ok(format!("{file}:\n{text}"));
    }
    let mut reader = text.as_bytes();
    let never = CancellationToken::new();
    let page = match pager::read_page(&mut reader, from.max(1), pager::PAGE_LINES, &never) {
        Ok(page) => page,
        Err(error) => return RawResult::error(format!("{file} cannot be read: {error}")),
    };
    if page.last == 0 {
        let lines = page.total.unwrap_or(0);
        return RawResult::error(format!("{file} has {lines} lines; there is no line {from}"));
    }
    let (mut shown, mut last) = (String::new(), page.first);
    for (at, line) in page.text.lines().enumerate() {
        if at > 0 && shown.len() + line.len() > FILE_CHARACTERS_MAX {
            break;
        }
        shown.push_str(line);
        shown.push('\n');
        last = page.first + at;
    }
    let more = last < page.last || page.more;
    let notice =
        if more { format!("[it goes on: from_line {}]", last + 1) } else { "[its end]".into() };
    RawResult::ok(format!("{file}, lines {} to {last}:\n{shown}{notice}", page.first))
}

#[cfg(test)]
mod tests {
    use weir_core::message::plain_text;

    use super::skill_file_page;

    #[test]
    fn m1_a_long_file_of_a_skill_is_read_in_pages_to_its_end() {
        let text: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
        let (mut from, mut seen) = (1, 0);
        for _ in 0..20 {
            let raw = skill_file_page("a.md", &text, from);
            let shown = plain_text(&raw.blocks);
            let lines = shown.lines().filter(|line| !line.starts_with('['));
            seen += lines.filter(|line| line.contains("line ")).count();
            match shown.rsplit_once("[it goes on: from_line ") {
                Some((_, rest)) => from = rest.trim_end_matches(']').parse().expect("a line"),
                None => break,
            }
        }
        assert_eq!(seen, 5_000);
        assert!(!skill_file_page("a.md", "x\n", 7).ok);
        assert_eq!(plain_text(&skill_file_page("a.md", "x", 1).blocks), "a.md:\nx");
    }
}
