//! The person's prompt files with their versions, and what a new chat would be told (S5).

use axum::Form;
use axum::extract::{Path, Query};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use weir_engine::text_diff::render_named_diff;
use weir_install::user_space::{PromptFile, PromptText, PromptVersion};

use super::{ASSETS, HERE, SettingsQuery, render_refusal, render_settings_head};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::render;
use crate::request::CallerSpace;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{page_with, render_badge, render_empty, render_moment};

/// What people call a file, and what it is for.
fn describe_prompt_file(file: PromptFile) -> (&'static str, &'static str) {
    match file {
        PromptFile::Soul => {
            ("Soul (SOUL.md)", "Who the agent is: identity, values, style. Sent to every agent.")
        }
        PromptFile::User => {
            ("About you (USER.md)", "Who you are and how you work. Sent to your agents.")
        }
        PromptFile::Personality => {
            ("Personality", "How agents should behave towards you, in any profile.")
        }
    }
}

const FROZEN: &str = "A chat keeps the prompt with which it began. What you save here counts in \
                      new chats.";

fn find_prompt_file(name: &str) -> HandlerResult<PromptFile> {
    PromptFile::from_name(name)
        .ok_or_else(|| ProblemDetails::not_found(format!("a prompt file {name:?}")))
}

fn prompt_address(file: PromptFile) -> String {
    format!("{HERE}/prompts/{}", file.name())
}

/// The files as cards, for the section `Prompt`.
pub(super) async fn prompts_section(owner: &CallerSpace) -> HandlerResult<Markup> {
    let CallerSpace { app, space, .. } = owner;
    let mut texts = Vec::new();
    for file in PromptFile::ALL {
        texts.push(space.prompt_text(file).await?);
    }
    Ok(html! {
        p.muted { (FROZEN) }
        div.grid {
            @for text in &texts {
                section.card {
                    h2 { (describe_prompt_file(text.file).0) }
                    p.muted { (describe_prompt_file(text.file).1) }
                    p {
                        (text.text.chars().count()) " of " (text.chars_max) " characters"
                        @if let Some(last) = text.versions.first() {
                            ", version " (last.version) " " (render_moment(last.ts, app.current_time()))
                        }
                    }
                    a.btn href=(prompt_address(text.file)) { "Edit" span.unseen { " " (describe_prompt_file(text.file).0) } }
                }
            }
        }
        p { a.btn href={ (HERE) "/preview" } { "Preview the prompt of a new chat" } }
    })
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct CompareQuery {
    from: Option<u64>,
    to: Option<u64>,
    #[serde(default)]
    saved: String,
}

pub(super) async fn show_prompt(
    CallerSpace { app, caller, space }: CallerSpace,
    Path(file): Path<String>,
    Query(compare): Query<CompareQuery>,
) -> HandlerResult<Markup> {
    let text = space.prompt_text(find_prompt_file(&file)?).await?;
    let said = html! {
        @if !compare.saved.is_empty() { p.notice.good role="status" { "Saved. " (FROZEN) } }
    };
    Ok(prompt_editor(
        &app,
        &caller,
        &PromptEditor { text: &text, typed: &text.text, said: &said, compare: &compare },
    ))
}

#[derive(Debug, Deserialize)]
pub(super) struct SavePromptForm {
    text: String,
    version: u64,
}

pub(super) async fn save_prompt(
    CallerSpace { app, caller, space }: CallerSpace,
    Path(file): Path<String>,
    Form(saved): Form<SavePromptForm>,
) -> HandlerResult<Response> {
    let file = find_prompt_file(&file)?;
    match space.save_prompt(file, &saved.text, Some(saved.version)).await {
        Ok(_) => Ok(Redirect::to(&format!("{}?saved=1", prompt_address(file))).into_response()),
        Err(error) => {
            let problem = ProblemDetails::from(error);
            let status = problem.status_code();
            let text = space.prompt_text(file).await?;
            let said = render_refusal(&problem);
            let compare = CompareQuery::default();
            let editor =
                PromptEditor { text: &text, typed: &saved.text, said: &said, compare: &compare };
            Ok((status, prompt_editor(&app, &caller, &editor)).into_response())
        }
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct RestorePromptForm {
    version: u64,
}

pub(super) async fn restore_prompt(
    CallerSpace { space, .. }: CallerSpace,
    Path(file): Path<String>,
    Form(restored): Form<RestorePromptForm>,
) -> HandlerResult<Redirect> {
    let file = find_prompt_file(&file)?;
    let text = space.prompt_text(file).await?;
    let old = text.versions.iter().find(|version| version.version == restored.version);
    let old =
        old.ok_or_else(|| ProblemDetails::not_found(format!("version {}", restored.version)))?;
    space.save_prompt(file, &old.text, None).await?;
    Ok(Redirect::to(&format!("{}?saved=1", prompt_address(file))))
}

/// What stands on the page of a file.
struct PromptEditor<'a> {
    text: &'a PromptText,
    /// What is in the box.
    typed: &'a str,
    /// The outcome of the last save.
    said: &'a Markup,
    compare: &'a CompareQuery,
}

fn prompt_editor(app: &App, caller: &Caller, editor: &PromptEditor<'_>) -> Markup {
    let PromptEditor { text, typed, said, compare } = *editor;
    let (title, what) = describe_prompt_file(text.file);
    let newest = text.versions.first().map_or(0, |last| last.version);
    let body = html! {
        (render_settings_head(caller, "prompt", &SettingsQuery::default()))
        (said)
        h2 { (title) }
        p.muted { (what) " " (FROZEN) }
        (post_form(caller, prompt_address(text.file), "", &html! {
            input type="hidden" name="version" value=(newest);
            div.field {
                label for="text" { "Text" }
                textarea.settings-text id="text" name="text" rows="18"
                    aria-describedby="text-hint" { (typed) }
                p.hint id="text-hint" {
                    "At most " (text.chars_max) " characters. Empty: nothing is told."
                }
            }
            div.row {
                (submit_button(ButtonLook::Primary, "Save as a new version"))
                a.btn.quiet href={ (HERE) "?section=prompt" } { "Back" }
            }
        }))
        (render_history(app, caller, text, compare))
    };
    page_with(caller, title, HERE, ASSETS, &body)
}

fn render_history(app: &App, caller: &Caller, text: &PromptText, compare: &CompareQuery) -> Markup {
    html! {
        h2 { "Versions" }
        @if text.versions.is_empty() {
            (render_empty("Empty so far.", "Your first save is version 1."))
        } @else {
            (render_difference(text, compare))
            (data_table(&DataTable {
                region: None,
                caption: html! { "Versions, newest first" },
                caption_seen: true,
                columns: &[
                    TableColumn::Text("Version"), TableColumn::Text("Saved"),
                    TableColumn::Number("Characters"), TableColumn::Unseen("View and restore"),
                ],
                rows: html! {
                    @for (at, version) in text.versions.iter().enumerate() {
                        (render_version_row(app, caller, text, version, at))
                    }
                },
            }))
        }
    }
}

fn render_version_row(
    app: &App,
    caller: &Caller,
    text: &PromptText,
    version: &PromptVersion,
    at: usize,
) -> Markup {
    let here = prompt_address(text.file);
    let number = version.version;
    let before = text.versions.get(at + 1).map_or(0, |before| before.version);
    html! {
        tr {
            th scope="row" {
                (number) " "
                @if at == 0 { (render_badge("good", "now")) }
            }
            td {
                @if version.by == "outside" { "changed outside of this page" }
                @else { "by " (version.by) }
                ", " (render_moment(version.ts, app.current_time()))
            }
            td.num { (version.text.chars().count()) }
            td {
                div.row {
                    a.btn.quiet href={ (here) "?from=" (before) "&to=" (number) } {
                        "What changed" span.unseen { " in version " (number) }
                    }
                    @if at > 0 {
                        (post_form(caller, html! { (here) "/restore" }, "", &html! {
                            input type="hidden" name="version" value=(number);
                            (submit_button(ButtonLook::Plain, html! {
                                "Restore" span.unseen { " version " (number) }
                            }))
                        }))
                    }
                }
            }
        }
    }
}

/// What is between two versions, where they were asked for.
fn render_difference(text: &PromptText, compare: &CompareQuery) -> Markup {
    let (Some(from), Some(to)) = (compare.from, compare.to) else { return html! {} };
    let of = |number: u64| {
        let found = text.versions.iter().find(|version| version.version == number);
        found.map(|version| version.text.as_str()).unwrap_or_default()
    };
    let names = [format!("version {from}"), format!("version {to}")];
    let unified = render_named_diff(names.each_ref().map(String::as_str), of(from), of(to));
    html! {
        section aria-label={ "From version " (from) " to version " (to) } {
            h3 { "From version " (from) " to version " (to) }
            @if unified.is_empty() { p.muted { "No differences." } }
            @else { (render::render_diff(&unified)) }
        }
    }
}

pub(super) async fn preview_prompt(
    CallerSpace { caller, space, .. }: CallerSpace,
) -> HandlerResult<Markup> {
    let sections = space.preview_prompt().await?;
    let all: u64 = sections.iter().map(|section| section.tokens).sum();
    let body = html! {
        (render_settings_head(&caller, "prompt", &SettingsQuery::default()))
        h2 { "The prompt of a new chat" }
        p.muted {
            "About " (all) " tokens, without the descriptions of tools. Nothing was sent to a \
             model. What hooks add at the start is not known here."
        }
        @for section in &sections {
            details.card {
                summary { strong { (section.name) } " " span.muted { "about " (section.tokens) " tokens" } }
                pre { (section.text) }
            }
        }
        p { a.btn.quiet href={ (HERE) "?section=prompt" } { "Back" } }
    };
    Ok(page_with(&caller, "Prompt", HERE, ASSETS, &body))
}
