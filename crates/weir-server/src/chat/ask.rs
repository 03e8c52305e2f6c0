//! What waits for a person: calls to be allowed, questions to be answered. A form that works by
//! itself; `dialog.js` shows it as a dialog.

use maud::{Markup, html};
use serde_json::Value;
use weir_core::event::{ApprovalRequested, QuestionAsked};
use weir_core::governance::label::{Label, Taint};
use weir_core::view::plain::visible_text;
use weir_core::view::told::{
    OFTEN_ASKED, grant_text, lines_head, offers_always, permission_command, question_line,
};
use weir_core::view::visible::lookalike_remarks;

use super::content::{ChatView, ask_id};
use crate::render;

/// The dialog about a call. `path`: the sub-agents on the way to the one that asks.
pub(super) fn render_approval_dialog(
    view: &ChatView,
    asked: &ApprovalRequested,
    path: &[String],
) -> Markup {
    let id = ask_id(asked.approval.as_str());
    html! {
        dialog.ask id=(id) open aria-labelledby={ (id) "-title" } data-ask {
            (approval_card(view, asked, path))
        }
    }
}

/// What is asked, and the ways to answer.
pub(crate) fn approval_card(view: &ChatView, asked: &ApprovalRequested, path: &[String]) -> Markup {
    let id = ask_id(asked.approval.as_str());
    html! {
        h2 id={ (id) "-title" } tabindex="-1" { "Allow this?" }
        @if !path.is_empty() {
            p.muted { "Asked by the sub-agent " strong { (visible_text(&path.join(" › "))) } }
        }
        p.summary { (visible_text(&asked.summary)) }
        p { span.muted { "Why you are asked: " } (visible_text(&asked.reason)) }
        (read_before(&asked.label))
        @for remark in lookalike_remarks(asked) { div.notice.warn { p { "Check carefully: " (remark) } } }
        @if asked.lines.is_empty() {
            @if let Some(diff) = &asked.diff { (render::render_diff(diff)) }
            // Where it stands by itself, nothing that is asked is folded away.
            details open[asked.diff.is_none() || !view.acts] {
                summary { span.mono { (visible_text(&asked.tool)) } " and its arguments" }
                (render_arguments(&asked.input))
            }
        } @else { (render_steps(asked)) }
        @if view.acts { (render_decision_forms(view, asked, &id)) }
    }
}

/// The steps that are asked about together: a row each, to be opened for all of it (U8).
fn render_steps(asked: &ApprovalRequested) -> Markup {
    html! {
        p { (lines_head(asked)) }
        @for line in &asked.lines {
            details {
                summary { (question_line(line)) }
                p { span.muted { "Why you are asked: " } (visible_text(&line.reason)) }
                @if let Some(diff) = &line.diff { (render::render_diff(diff)) }
                (render_arguments(&line.input))
            }
        }
    }
}

/// What the model had read when it asked: loud where words from outside were among it.
fn read_before(label: &Label) -> Markup {
    let words = || format!("Read before this: {}", visible_text(&label.to_string()));
    html! {
        @match label.taint() {
            Taint::Clean => {},
            Taint::Private => p.muted { (words()) },
            Taint::External | Taint::Both => div.notice.warn { p { (words()) } },
        }
    }
}

/// Two forms: Enter in a field presses the first button of its form, so the one that allows has no
/// field, and the one with the reason can only deny. That holds without scripts too.
fn render_decision_forms(view: &ChatView, asked: &ApprovalRequested, id: &str) -> Markup {
    let rules: Vec<String> = asked.rules.iter().map(|rule| visible_text(rule.text())).collect();
    html! {
        @if !rules.is_empty() {
            @if asked.often { p.hint { (OFTEN_ASKED) } }
            p.hint {
                @if let Some(grant) = &asked.grant {
                    "“For this session” grants " strong { (grant_text(grant)) } ". “Always in this project” adds this rule: "
                } @else if asked.bound {
                    "“For this session” adds this rule, as long as nothing from elsewhere is read: "
                } @else {
                    "“For this session” and “Always in this project” add this rule: "
                }
                @for rule in &rules { code { (rule) } " " }
                @if offers_always(asked) {
                    br;
                    "For all projects: "
                    @for rule in &rules { code { (permission_command(rule)) } " " }
                }
            }
        }
        form method="post" action=(view.address_below("decide")) data-live {
            (of_approval(view, asked))
            div.row.answers {
                @if asked.often {
                    button.btn.primary type="submit" name="decision" value="session" { "For this session" }
                    button.btn type="submit" name="decision" value="once" { "Allow once" }
                } @else {
                    button.btn.primary type="submit" name="decision" value="once" { "Allow once" }
                    @if !rules.is_empty() {
                        button.btn type="submit" name="decision" value="session" { "For this session" }
                    }
                }
                @if offers_always(asked) {
                    button.btn type="submit" name="decision" value="always" { "Always in this project" }
                }
            }
        }
        form method="post" action=(view.address_below("decide")) data-live {
            (of_approval(view, asked))
            input type="hidden" name="decision" value="deny";
            div.field {
                label for={ (id) "-reason" } { "Reason (if you deny)" }
                input id={ (id) "-reason" } name="reason" maxlength="2000" autocomplete="off";
                p.hint { "Sent to the model. Pressing Enter denies." }
            }
            div.row.answers { button.btn.danger type="submit" { "Deny" } }
        }
    }
}

fn of_approval(view: &ChatView, asked: &ApprovalRequested) -> Markup {
    html! {
        (view.csrf_input())
        input type="hidden" name="approval" value=(asked.approval);
        (view.back_input())
    }
}

fn render_arguments(input: &Value) -> Markup {
    let Value::Object(fields) = input else {
        return html! { (render::render_json(&input.to_string())) };
    };
    html! {
        dl.kv.arguments {
            @for (name, value) in fields {
                dt.mono { (visible_text(name)) }
                dd {
                    @match value.as_str() {
                        Some(text) => (render::render_plain(text)),
                        None => (render::render_json(&value.to_string())),
                    }
                }
            }
        }
    }
}

/// The dialog about a question.
pub(super) fn render_question_dialog(view: &ChatView, asked: &QuestionAsked) -> Markup {
    let id = ask_id(asked.question.as_str());
    html! {
        dialog.ask id=(id) open aria-labelledby={ (id) "-title" } data-ask {
            (question_card(view, asked))
        }
    }
}

/// The question, and the ways to answer.
pub(crate) fn question_card(view: &ChatView, asked: &QuestionAsked) -> Markup {
    let id = ask_id(asked.question.as_str());
    let kind = if asked.multiple { "checkbox" } else { "radio" };
    html! {
        h2 id={ (id) "-title" } tabindex="-1" { "A question for you" }
        div.text.prose { (render::render_markdown(&asked.text)) }
        @if view.acts {
            form method="post" action=(view.address_below("answer")) data-live {
                (view.csrf_input())
                input type="hidden" name="question" value=(asked.question);
                (view.back_input())
                @if !asked.options.is_empty() {
                    fieldset {
                        legend { @if asked.multiple { "Choose any" } @else { "Choose one" } }
                        @for option in &asked.options {
                            label.choice {
                                input type=(kind) name="choice" value=(option);
                                (visible_text(option))
                            }
                        }
                    }
                }
                div.field {
                    label for={ (id) "-answer" } {
                        @if asked.options.is_empty() { "Your answer" } @else { "Or write your own answer" }
                    }
                    textarea id={ (id) "-answer" } name="answer" rows="2" {}
                }
                button.btn.primary type="submit" { "Answer" }
            }
        }
    }
}
