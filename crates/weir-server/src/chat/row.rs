//! A call of a tool as a row that unfolds: arguments, what it would change, who let it run and why,
//! what came of it; and the sub-agents that it started.

use maud::{Markup, html};
use weir_core::event::{AgentSpawned, CallFinished, CallJudged};
use weir_core::governance::Verdict;
use weir_core::ids::BlobId;
use weir_core::message::MessageBlock;
use weir_core::tool::ResultEffect;
use weir_core::view::plain::visible_text;
use weir_core::view::transcript::{CallEntry, CallStage, ChildAgent};

use super::content::{ChatView, entry_id};
use super::said::{render_picture, status_words};
use crate::page::render_icon;
use crate::render;

/// Characters of arguments that stand in the row itself.
const BRIEF_MAX: usize = 120;

/// The id of what a call shows while it runs.
pub(super) fn output_id(row: &CallEntry) -> String {
    format!("{}-out", entry_id(row.proposed.seq))
}

/// The output that a call shows while it runs.
pub(super) fn render_output(id: &str, text: &str) -> Markup {
    html! { div.output id=(id) { (render::render_plain(text)) } }
}

pub(super) fn render_call_row(view: &ChatView, row: &CallEntry) -> Markup {
    let fact = &row.proposed.fact;
    let kind = match row.stage {
        CallStage::Proposed => "",
        CallStage::Waiting | CallStage::Unknown => "warn",
        CallStage::Running => "info",
        CallStage::Done => "good",
        CallStage::Failed | CallStage::NotDone | CallStage::Refused => "bad",
    };
    html! {
        li.entry.call id=(entry_id(row.proposed.seq)) data-call=(row.call) {
            details.tool {
                summary {
                    (render_icon("tool"))
                    span.tool-name.mono { (visible_text(&fact.tool)) }
                    @if let Some(step) = row.step_words() { span.muted { (step) } }
                    span.tool-about { (describe_call(row)) }
                    @if let Some(ms) = row.finished.as_ref().map(|f| f.duration_ms).filter(|ms| *ms > 0) {
                        span.muted.tool-time { (duration_text(ms)) }
                    }
                    span class={ "badge " (kind) } { (row.stage.stage_words()) }
                }
                div.tool-body {
                    h4 { "Arguments" }
                    (render::render_json(&fact.input.to_string()))
                    @if let Some(judged) = &row.judged { (render_judgement(judged)) }
                    @for note in &row.notes { p.muted { (note.text()) } }
                    @if let Some(finished) = &row.finished { (render_result(view, finished)) }
                }
            }
            div.output id=(output_id(row)) {}
            (render_agents(view, row))
        }
    }
}

/// One line about what it does or came to.
fn describe_call(row: &CallEntry) -> String {
    if let Some(finished) = row.finished.as_ref().filter(|f| !f.summary.is_empty()) {
        return visible_text(&finished.summary);
    }
    if let Some(judged) = row.judged.as_ref().filter(|f| !f.inspection.summary.is_empty()) {
        return visible_text(&judged.inspection.summary);
    }
    let all = visible_text(&row.proposed.fact.input.to_string());
    let cut: String = all.chars().take(BRIEF_MAX).collect();
    if cut.len() < all.len() { format!("{cut}…") } else { cut }
}

/// A length of time, short.
pub(super) fn duration_text(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1_000..=59_999 => format!("{:.1} s", ms as f64 / 1e3),
        _ => format!("{} min {} s", ms / 60_000, ms / 1_000 % 60),
    }
}

fn render_judgement(fact: &CallJudged) -> Markup {
    let verdict = match fact.verdict {
        Verdict::Allow => "allowed",
        Verdict::Ask => "asks for approval",
        Verdict::Deny => "not allowed",
    };
    html! {
        h4 { "Decision" }
        dl.kv {
            dt { "Verdict" } dd { (verdict) }
            @if let Some(rule) = &fact.rule { dt { "Rule" } dd.mono { (visible_text(rule)) } }
            @if let Some(gate) = &fact.gate { dt { "Gate" } dd { (visible_text(gate.as_str())) } }
            @if let Some(reason) = &fact.reason { dt { "Reason" } dd { (visible_text(reason)) } }
            @for one in &fact.gates {
                @if fact.gate.as_ref() != Some(&one.gate) {
                    dt { "Gate " (visible_text(one.gate.as_str())) } dd { (visible_text(&one.reason)) }
                }
            }
        }
        @if !fact.ways.is_empty() {
            h4 { "What would pass" }
            ul { @for way in &fact.ways { li { (visible_text(&way.as_words())) } } }
        }
        @if let Some(diff) = &fact.inspection.diff {
            h4 { "Change" }
            (render::render_diff(diff))
        }
    }
}

fn render_result(view: &ChatView, fact: &CallFinished) -> Markup {
    html! {
        h4 { "Result" }
        @if let Some(why) = &fact.withheld {
            div.notice.bad { p { "Withheld from the model: " (visible_text(why)) } }
        }
        @for block in fact.blocks_for_person().iter() {
            @match block {
                MessageBlock::Text { text, .. } => (render::render_plain(text)),
                MessageBlock::Image { media } | MessageBlock::Document { media } => (render_picture(view, media)),
                MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {},
            }
        }
        @if let Some(blob) = &fact.full { (render_full_link(view, blob, fact.bytes)) }
        @if !fact.changed.is_empty() {
            p { "Changed: " @for path in &fact.changed { code { (visible_text(path)) } " " } }
        }
        @if let Some(from) = &fact.marks {
            p.muted { "Its output counts as foreign from now on: " (visible_text(from)) }
        }
        @if !fact.label.is_clean() { p.muted { "Source: " (visible_text(&fact.label.to_string())) } }
        (render_steps(&fact.news))
    }
}

fn render_full_link(view: &ChatView, blob: &BlobId, bytes: u64) -> Markup {
    html! {
        p { a href=(view.blob_address(blob.as_str())) { "Full result" } span.muted { " (" (bytes.div_ceil(1_000)) " kB)" } }
    }
}

/// Tools that the call used on its way.
fn render_steps(news: &[ResultEffect]) -> Markup {
    let steps: Vec<_> = news
        .iter()
        .filter_map(|one| match one {
            ResultEffect::Step { tool, ok, summary } => Some((tool, *ok, summary)),
            _ => None,
        })
        .collect();
    html! {
        @if !steps.is_empty() {
            h4 { "Steps" }
            ol {
                @for (tool, ok, summary) in steps {
                    li { span.mono { (visible_text(tool)) } " " (visible_text(summary)) @if !ok { " (failed)" } }
                }
            }
        }
    }
}

fn render_agents(view: &ChatView, row: &CallEntry) -> Markup {
    html! {
        @if !row.agents.is_empty() {
            ul.agents { @for one in &row.agents { li { (render_agent(view, one)) } } }
        }
    }
}

fn render_agent(view: &ChatView, one: &ChildAgent) -> Markup {
    let fact = &one.spawned;
    let (kind, word) = match &one.ended {
        Some((status, _)) => status_words(*status),
        None if one.asks => ("warn", "waiting for you"),
        None => ("info", "working"),
    };
    html! {
        details.agent {
            summary {
                (render_icon("agents"))
                strong { (visible_text(&fact.profile)) }
                span.tool-about { (visible_text(first_line(&fact.task))) }
                span class={ "badge " (kind) } { (word) }
            }
            (about_agent(view, one, fact))
        }
    }
}

fn about_agent(view: &ChatView, one: &ChildAgent, fact: &AgentSpawned) -> Markup {
    html! {
        div.tool-body {
            dl.kv {
                dt { "Task" } dd { (render::visible_prose(&fact.task)) }
                dt { "Model" } dd { (visible_text(&fact.model)) }
                dt { "Permission" } dd { (fact.permission.as_str()) }
                @if let Some(folder) = &fact.worktree { dt { "Folder" } dd.mono { (visible_text(folder)) } }
            }
            @if let Some((_, text)) = &one.ended { div.text.prose { (render::render_markdown(text)) } }
            @if view.acts { p { a href={ "/chats/" (one.id) } { "Open its conversation" } } }
        }
    }
}

fn first_line(text: &str) -> &str {
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or("")
}
