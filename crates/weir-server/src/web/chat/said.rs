//! What was said: by people, by the model, and by the model just now.

use maud::{Markup, html};
use weir_core::event::{Added, Event, ModelReplied, RunFinished, RunStatus};
use weir_core::message::{Block, Media, plain_text};
use weir_core::view::plain::visible;
use weir_core::view::told::{counted, cut_off, dollars, stopped_by, tokens};
use weir_core::view::transcript::PlacedFact;
use weir_engine::ledger::status_text;

use super::content::{View, entry_id, time, writing_id};
use crate::render;
use crate::web::parts::icon;

/// Longest citation address that is shown.
const CITED_MAX: usize = 300;

fn permalink(at: &PlacedFact) -> Markup {
    html! { a.permalink href={ "#" (entry_id(at.seq)) } title="Link to this message" { (time(at.ts)) } }
}

/// An input in the conversation.
pub(super) fn said(view: &View, at: &PlacedFact) -> Markup {
    let Some(fact) = at.input() else { return html! {} };
    html! {
        li.entry.person id=(entry_id(at.seq)) data-input=(fact.input) {
            header {
                strong { (visible(&fact.by)) } (permalink(at))
                @if view.acts {
                    a.icon-button.act href=(view.at(&format!("edit?input={}", fact.input)))
                        title="Edit and resend, in a copy of this chat" data-edit=(fact.input) {
                        (icon("edit")) span.unseen { "Edit and resend" }
                    }
                }
            }
            (words(view, &fact.content))
            (attached(&fact.added))
        }
    }
}

/// An input that waits for its turn.
pub(super) fn queued(view: &View, at: &PlacedFact) -> Markup {
    let Some(fact) = at.input() else { return html! {} };
    html! {
        li.queued id={ "q" (at.seq) } {
            span.badge.info { "queued" }
            div.text { (words(view, &fact.content)) }
            @if view.acts {
                form method="post" action=(view.at("withdraw")) data-live {
                    (view.csrf())
                    input type="hidden" name="input" value=(fact.input);
                    button.btn.quiet type="submit" { "Take back" }
                }
            }
        }
    }
}

/// An input that was taken back before the model heard it. The page that said it knows its name.
pub(super) fn returned(view: &View, at: &PlacedFact) -> Markup {
    let Some(fact) = at.input() else { return html! {} };
    let has_files = fact.content.iter().any(|block| !matches!(block, Block::Text { .. }));
    html! {
        li.queued.returned id={ "q" (at.seq) } data-returned=(fact.client_id.as_deref().unwrap_or_default())
            data-words=(plain_text(&fact.content)) {
            span.badge.warn { "not sent" }
            div.text {
                (words(view, &fact.content))
                @if has_files { p.muted { "Attach the files again to send them." } }
            }
        }
    }
}

/// A person's own words as they wrote them, and what they attached.
fn words(view: &View, content: &[Block]) -> Markup {
    html! {
        @for block in content {
            @match block {
                Block::Text { text, .. } => div.text.words dir="auto" { (render::prose(text)) },
                Block::Image { media } => (picture(view, media)),
                Block::Document { media } => (document(view, media)),
                Block::Thinking { .. } | Block::Call(_) | Block::Result { .. } => {},
            }
        }
    }
}

fn attached(added: &[Added]) -> Markup {
    html! {
        @for one in added {
            details.added {
                summary { (icon("attach")) (visible(&one.source)) }
                (render::plain(&one.text))
            }
        }
    }
}

/// A picture from the blobs of the chat.
pub(super) fn picture(view: &View, media: &Media) -> Markup {
    let name = media.name.as_deref().unwrap_or("Picture");
    html! {
        figure.picture {
            a href=(view.blob(media.blob.as_str())) {
                img src=(view.blob(media.blob.as_str())) alt=(visible(name)) loading="lazy";
            }
        }
    }
}

fn document(view: &View, media: &Media) -> Markup {
    let name = media.name.as_deref().unwrap_or("Document");
    html! {
        p.file {
            a href=(view.blob(media.blob.as_str())) { (icon("files")) (visible(name)) }
            span.muted { " " (visible(&media.media_type)) ", " (media.bytes.div_ceil(1_000)) " kB" }
        }
    }
}

/// What the model said. Its calls stand in rows of their own.
pub(super) fn replied(view: &View, at: &PlacedFact) -> Markup {
    let Event::ModelReplied(fact) = at.event.as_ref() else { return html! {} };
    html! {
        li.entry.model id=(entry_id(at.seq)) {
            (thoughts(fact))
            @for block in &fact.content {
                @match block {
                    Block::Text { text, citations, .. } => {
                        @if !text.trim().is_empty() { div.text.prose { (render::markdown(text)) } }
                        (cited(citations))
                    },
                    Block::Image { media } => (picture(view, media)),
                    Block::Document { media } => (document(view, media)),
                    Block::Thinking { .. } | Block::Call(_) | Block::Result { .. } => {},
                }
            }
            @if let Some(mark) = cut_off(fact) { p.muted.cut-off { (mark) } }
            footer {
                (permalink(at))
                span.muted title="Tokens written" { (tokens(fact.usage.output)) " tokens" }
                @if let Some(usd) = fact.cost_usd.filter(|usd| *usd > 0.0) { span.muted { (dollars(usd)) } }
                button.icon-button.act type="button" data-copy hidden title="Copy as Markdown" {
                    (icon("copy")) span.unseen { "Copy this answer as Markdown" }
                }
            }
        }
    }
}

/// Whether a reply has anything of its own to show.
pub(super) fn shows(fact: &ModelReplied) -> bool {
    fact.content.iter().any(|block| match block {
        Block::Text { text, .. } | Block::Thinking { text, .. } => !text.trim().is_empty(),
        Block::Image { .. } | Block::Document { .. } => true,
        Block::Call(_) | Block::Result { .. } => false,
    })
}

fn thoughts(fact: &ModelReplied) -> Markup {
    let thought = fact.content.iter().filter_map(|block| match block {
        Block::Thinking { text, .. } if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    });
    let text = thought.collect::<Vec<_>>().join("\n\n");
    html! {
        @if !text.is_empty() {
            details.thinking {
                summary { (icon("think")) "Thoughts" }
                div.text.words dir="auto" { (render::prose(&text)) }
            }
        }
    }
}

/// Where an answer says that it comes from. Shown as text: a source is no reason to open it.
fn cited(citations: &[serde_json::Value]) -> Markup {
    let told = citations.iter().filter_map(|one| {
        let field = |name: &str| one.get(name).and_then(serde_json::Value::as_str);
        let words = field("title").or_else(|| field("cited_text")).or_else(|| field("url"))?;
        Some(visible(&words.chars().take(CITED_MAX).collect::<String>()))
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
pub(super) fn writing(turn: &str) -> Markup {
    let id = writing_id(turn);
    html! {
        li.entry.model.writing id=(id) aria-busy="true" {
            div id={ (id) "-thinking" } {}
            div.text.prose id={ (id) "-text" } {}
        }
    }
}

/// A block of what the model writes now.
pub(super) fn block(id: &str, text: &str) -> Markup {
    html! { div id=(id) { (render::markdown(text)) } }
}

/// What the model thinks now.
pub(super) fn thinking(id: &str, text: &str) -> Markup {
    html! {
        details.thinking id=(id) open[text.is_empty()] {
            summary { (icon("think")) "Thinking" }
            div.text.words dir="auto" { (render::prose(text)) }
        }
    }
}

/// Image created by the model.
pub(super) fn image(view: &View, at: &PlacedFact) -> Markup {
    let Event::ImageProduced(fact) = at.event.as_ref() else { return html! {} };
    html! {
        li.entry.model id=(entry_id(at.seq)) {
            figure.picture {
                a href=(view.blob(fact.blob.as_str())) {
                    img src=(view.blob(fact.blob.as_str())) alt="Image created by the model"
                        loading="lazy";
                }
            }
        }
    }
}

/// The end of a run.
pub(super) fn ended(view: &View, at: &PlacedFact) -> Markup {
    let Event::RunFinished(fact) = at.event.as_ref() else { return html! {} };
    let (kind, words) = status_words(fact.status);
    html! {
        li.entry.end id=(entry_id(at.seq)) data-status=(status_text(fact.status)) {
            div.row {
                span class={ "badge " (kind) } { (words) }
                span.muted {
                    (tokens(fact.usage.total())) " tokens"
                    @if let Some(usd) = fact.cost_usd.filter(|usd| *usd > 0.0) { " · " (dollars(usd)) }
                    @if fact.tool_calls > 0 { " · " (counted(fact.tool_calls as usize, "tool call")) }
                }
                @if view.acts { (again(view, fact)) }
                (permalink(at))
            }
            @match (stopped_by(fact), &fact.error) {
                (Some(words), _) => p.muted { (words) },
                (None, Some(error)) => p.error { (visible(error)) },
                (None, None) => {},
            }
            @if let Some(output) = &fact.output {
                details { summary { "Structured answer" } (render::json(&output.to_string())) }
            }
            (changed(view, fact))
            (denied(fact))
        }
    }
}

/// Asks the same once more, in a copy of the chat.
fn again(view: &View, fact: &RunFinished) -> Markup {
    html! {
        form.again method="post" action=(view.at("again")) {
            (view.csrf())
            input type="hidden" name="run" value=(fact.run);
            button.icon-button.act type="submit" title="Try again, in a copy of this chat" {
                (icon("again")) span.unseen { "Try again" }
            }
        }
    }
}

fn changed(view: &View, fact: &RunFinished) -> Markup {
    html! {
        @if !fact.changed_files.is_empty() {
            details.changed {
                summary { (counted(fact.changed_files.len(), "file")) " changed" }
                ul { @for path in &fact.changed_files { li.mono { (visible(path)) } } }
            }
            @if view.acts {
                a.btn.quiet href=(view.at(&format!("undo?run={}", fact.run))) {
                    (icon("undo")) "Undo these changes…"
                }
            }
        }
        @if !fact.marked_files.is_empty() {
            div.notice.warn {
                p {
                    "Review these before you use them: they were written while outside content and \
                     private data were in the context."
                }
                ul { @for path in &fact.marked_files { li.mono { (visible(path)) } } }
            }
        }
    }
}

fn denied(fact: &RunFinished) -> Markup {
    html! {
        @if !fact.denials.is_empty() {
            details.denials {
                summary { (counted(fact.denials.len(), "call")) " not allowed" }
                ul {
                    @for one in &fact.denials {
                        @let what = if one.summary.is_empty() { &one.tool } else { &one.summary };
                        li { (visible(what)) span.muted { " by " (visible(&one.by)) ": " (visible(&one.reason)) } }
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
