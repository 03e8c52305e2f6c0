//! What was said: by people, by the model, and by the model just now.

use maud::{Markup, html};
use weir_core::event::{
    ImageProduced, InputAccepted, InputAddition, ModelReplied, RunFinished, RunStatus,
};
use weir_core::message::{MessageBlock, StoredMedia, plain_text};
use weir_core::view::plain::visible_text;
use weir_core::view::told::{count_text, cut_off, format_dollars, stopped_by, token_count_text};
use weir_core::view::transcript::SeenFact;
use weir_engine::ledger::status_text;

use super::content::{ChatView, entry_id, render_time, writing_id};
use crate::page::render_icon;
use crate::render;

/// Longest citation address that is shown.
const CITED_MAX: usize = 300;

fn render_permalink<F>(at: &SeenFact<F>) -> Markup {
    html! { a.permalink href={ "#" (entry_id(at.seq)) } title="Link to this message" { (render_time(at.ts)) } }
}

/// An input in the conversation.
pub(super) fn render_input(view: &ChatView, at: &SeenFact<InputAccepted>) -> Markup {
    let fact = &at.fact;
    html! {
        li.entry.person id=(entry_id(at.seq)) data-input=(fact.input) data-said=[fact.client_id.as_deref()] {
            header {
                strong { (visible_text(&fact.by)) } (render_permalink(at))
                @if view.acts {
                    a.icon-button.act href=(view.address_below(&format!("edit?input={}", fact.input)))
                        title="Edit and resend, in a copy of this chat" data-edit=(fact.input) {
                        (render_icon("edit")) span.unseen { "Edit and resend" }
                    }
                }
            }
            (render_words(view, &fact.content))
            (render_attachments(&fact.added))
        }
    }
}

/// An input that waits for its turn.
pub(super) fn render_queued_input(view: &ChatView, at: &SeenFact<InputAccepted>) -> Markup {
    let fact = &at.fact;
    html! {
        li.queued id={ "q" (at.seq) } data-said=[fact.client_id.as_deref()] {
            span.badge.info { "queued" }
            div.text { (render_words(view, &fact.content)) }
            @if view.acts {
                form method="post" action=(view.address_below("withdraw")) data-live {
                    (view.csrf_input())
                    input type="hidden" name="input" value=(fact.input);
                    button.btn.quiet type="submit" { "Take back" }
                }
            }
        }
    }
}

/// An input that was taken back before the model heard it. The page that said it knows its name.
pub(super) fn render_returned_input(view: &ChatView, at: &SeenFact<InputAccepted>) -> Markup {
    let fact = &at.fact;
    let has_files = fact.content.iter().any(|block| !matches!(block, MessageBlock::Text { .. }));
    html! {
        li.queued.returned id={ "q" (at.seq) } data-returned=(fact.client_id.as_deref().unwrap_or_default())
            data-words=(plain_text(&fact.content)) {
            span.badge.warn { "not sent" }
            div.text {
                (render_words(view, &fact.content))
                @if has_files { p.muted { "Attach the files again to send them." } }
            }
        }
    }
}

/// A person's own words as they wrote them, and what they attached.
fn render_words(view: &ChatView, content: &[MessageBlock]) -> Markup {
    html! {
        @for block in content {
            @match block {
                MessageBlock::Text { text, .. } => div.text.words dir="auto" { (render::visible_prose(text)) },
                MessageBlock::Image { media } => (render_picture(view, media)),
                MessageBlock::Document { media } => (render_document(view, media)),
                MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {},
            }
        }
    }
}

fn render_attachments(added: &[InputAddition]) -> Markup {
    html! {
        @for one in added {
            details.added {
                summary { (render_icon("attach")) (visible_text(&one.source)) }
                (render::render_plain(&one.text))
            }
        }
    }
}

/// A picture from the blobs of the chat.
pub(super) fn render_picture(view: &ChatView, media: &StoredMedia) -> Markup {
    let name = media.name.as_deref().unwrap_or("Picture");
    html! {
        figure.picture {
            a href=(view.blob_address(media.blob.as_str())) {
                img src=(view.blob_address(media.blob.as_str())) alt=(visible_text(name)) loading="lazy";
            }
            // A path: the file of the workspace that it was saved as.
            @if name.contains('/') { figcaption.muted { (visible_text(name)) } }
        }
    }
}

fn render_document(view: &ChatView, media: &StoredMedia) -> Markup {
    let name = media.name.as_deref().unwrap_or("Document");
    html! {
        p.file {
            a href=(view.blob_address(media.blob.as_str())) { (render_icon("files")) (visible_text(name)) }
            span.muted { " " (visible_text(&media.media_type)) ", " (media.bytes.div_ceil(1_000)) " kB" }
        }
    }
}

/// What the model said. Its calls stand in rows of their own.
pub(super) fn render_reply(view: &ChatView, at: &SeenFact<ModelReplied>) -> Markup {
    let fact = &at.fact;
    html! {
        li.entry.model id=(entry_id(at.seq)) {
            (render_thoughts(fact))
            @for block in &fact.content {
                @match block {
                    MessageBlock::Text { text, citations, .. } => {
                        @if !text.trim().is_empty() { div.text.prose { (render::render_markdown(text)) } }
                        (render_citations(citations))
                    },
                    MessageBlock::Image { media } => (render_picture(view, media)),
                    MessageBlock::Document { media } => (render_document(view, media)),
                    MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {},
                }
            }
            @if let Some(mark) = cut_off(fact) { p.muted.cut-off { (mark) } }
            footer {
                (render_permalink(at))
                span.muted title="Tokens written" { (token_count_text(fact.usage.output)) " tokens" }
                @if let Some(usd) = fact.cost_usd.filter(|usd| *usd > 0.0) { span.muted { (format_dollars(usd)) } }
                button.icon-button.act type="button" data-copy hidden title="Copy as Markdown" {
                    (render_icon("copy")) span.unseen { "Copy this answer as Markdown" }
                }
            }
        }
    }
}

fn render_thoughts(fact: &ModelReplied) -> Markup {
    let thought = fact.content.iter().filter_map(|block| match block {
        MessageBlock::Thinking { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = thought.collect::<Vec<_>>().join("\n\n");
    html! {
        @if !text.is_empty() {
            details.thinking {
                summary { (render_icon("think")) "Thoughts" }
                div.text.words dir="auto" { (render::visible_prose(&text)) }
            }
        }
    }
}

/// Where an answer says that it comes from. Shown as text: a source is no reason to open it.
fn render_citations(citations: &[serde_json::Value]) -> Markup {
    let told = citations.iter().filter_map(|one| {
        let field = |name: &str| one.get(name).and_then(serde_json::Value::as_str);
        let words = field("title").or_else(|| field("cited_text")).or_else(|| field("url"))?;
        Some(visible_text(&words.chars().take(CITED_MAX).collect::<String>()))
    });
    let told: Vec<String> = told.collect();
    html! {
        @if !told.is_empty() {
            details.cited {
                summary { "Sources (" (told.len()) ")" }
                ol { @for one in told { li { (one) } } }
            }
        }
    }
}

/// Where the model writes now.
pub(super) fn render_writing(turn: &str) -> Markup {
    let id = writing_id(turn);
    html! {
        li.entry.model.writing id=(id) aria-busy="true" {
            div id={ (id) "-thinking" } {}
            div.text.prose id={ (id) "-text" } {}
        }
    }
}

/// A block of what the model writes now.
pub(super) fn render_block(id: &str, text: &str) -> Markup {
    html! { div id=(id) { (render::render_markdown(text)) } }
}

/// What the model thinks now.
pub(super) fn render_thinking(id: &str, text: &str) -> Markup {
    html! {
        details.thinking id=(id) open[text.is_empty()] {
            summary { (render_icon("think")) "Thinking" }
            div.text.words dir="auto" { (render::visible_prose(text)) }
        }
    }
}

/// Image created by the model.
pub(super) fn render_image(view: &ChatView, at: &SeenFact<ImageProduced>) -> Markup {
    let fact = &at.fact;
    html! {
        li.entry.model id=(entry_id(at.seq)) {
            figure.picture {
                a href=(view.blob_address(fact.blob.as_str())) {
                    img src=(view.blob_address(fact.blob.as_str())) alt="Image created by the model"
                        loading="lazy";
                }
                @if let Some(path) = &fact.path { figcaption.muted { (visible_text(path)) } }
            }
        }
    }
}

/// The end of a run.
pub(super) fn render_run_end(view: &ChatView, at: &SeenFact<RunFinished>) -> Markup {
    let fact = &at.fact;
    let (kind, words) = status_words(fact.status);
    html! {
        li.entry.end id=(entry_id(at.seq)) data-status=(status_text(fact.status)) {
            div.row {
                span class={ "badge " (kind) } { (words) }
                span.muted {
                    (token_count_text(fact.usage.total_tokens())) " tokens"
                    @if let Some(usd) = fact.cost_usd.filter(|usd| *usd > 0.0) { " · " (format_dollars(usd)) }
                    @if fact.tool_calls > 0 { " · " (count_text(fact.tool_calls as usize, "tool call")) }
                }
                @if view.acts { (render_again_form(view, fact)) }
                (render_permalink(at))
            }
            @match (stopped_by(fact), &fact.error) {
                (Some(words), _) => p.muted { (words) },
                (None, Some(error)) => p.error { (visible_text(error)) },
                (None, None) => {},
            }
            @if let Some(output) = &fact.output {
                details { summary { "Structured answer" } (render::render_json(&output.to_string())) }
            }
            (render_changed_files(view, fact))
            (render_denials(fact))
        }
    }
}

/// Asks the same once more, in a copy of the chat.
fn render_again_form(view: &ChatView, fact: &RunFinished) -> Markup {
    html! {
        form.again method="post" action=(view.address_below("again")) {
            (view.csrf_input())
            input type="hidden" name="run" value=(fact.run);
            button.icon-button.act type="submit" title="Try again, in a copy of this chat" {
                (render_icon("again")) span.unseen { "Try again" }
            }
        }
    }
}

fn render_changed_files(view: &ChatView, fact: &RunFinished) -> Markup {
    html! {
        @if !fact.changed_files.is_empty() {
            details.changed {
                summary { (count_text(fact.changed_files.len(), "file")) " changed" }
                ul { @for path in &fact.changed_files { li.mono { (visible_text(path)) } } }
            }
            @if view.acts {
                a.btn.quiet href=(view.address_below(&format!("undo?run={}", fact.run))) {
                    (render_icon("undo")) "Undo these changes…"
                }
            }
        }
        @if !fact.marked_files.is_empty() {
            div.notice.warn {
                p {
                    "Review these before you use them: they were written while outside content and \
                     private data were in the context."
                }
                ul { @for path in &fact.marked_files { li.mono { (visible_text(path)) } } }
            }
        }
    }
}

fn render_denials(fact: &RunFinished) -> Markup {
    html! {
        @if !fact.denials.is_empty() {
            details.denials {
                summary { (count_text(fact.denials.len(), "call")) " not allowed" }
                ul {
                    @for one in &fact.denials {
                        @let what = if one.summary.is_empty() { &one.tool } else { &one.summary };
                        li { (visible_text(what)) span.muted { " by " (visible_text(&one.by)) ": " (visible_text(&one.reason)) } }
                    }
                }
            }
        }
    }
}

/// Colour and words of how a run ended.
pub(super) fn status_words(status: RunStatus) -> (&'static str, &'static str) {
    match status {
        RunStatus::Completed => ("good", "Done"),
        RunStatus::NeedsInput => ("warn", "Needs your input"),
        RunStatus::Denied => ("bad", "Denied"),
        RunStatus::Limit => ("warn", "Stopped at a limit"),
        RunStatus::Budget => ("warn", "Stopped: the budget is spent"),
        RunStatus::Cancelled => ("", "Stopped"),
        RunStatus::Paused => ("warn", "Stopped by the kill switch"),
        RunStatus::Interrupted => ("warn", "Interrupted"),
        RunStatus::Failed => ("bad", "Failed"),
    }
}
