//! The composer: where people write, attach, choose model, thinking, profile and permission, send and stop.

use maud::{Markup, html};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::session::condense::KEEP_CHARS_MAX;
use weir_core::view::plain::visible;

use crate::auth::secret;
use crate::guard::Caller;
use crate::ports::{Home, Setting};
use crate::web::chat::{Status, View};
use crate::web::parts::{csrf, icon};

/// What can be chosen.
pub(super) struct Choices {
    models: Vec<String>,
    profiles: Vec<String>,
}

/// What there is to choose for this person. What cannot be found is no reason to show no page.
pub(super) async fn choices(home: &dyn Home) -> (Choices, Status) {
    let (mut choices, mut status) =
        (Choices { models: Vec::new(), profiles: Vec::new() }, Status::default());
    let Ok(sheet) = home.settings().sheet().await else { return (choices, status) };
    for item in &sheet.items {
        let value = item.value.as_str().unwrap_or_default().to_owned();
        match item.key.as_str() {
            "model" => (choices.models, status.model) = (offered(item), value),
            "profile" => (choices.profiles, status.profile) = (offered(item), value),
            "thinking" => status.thinking = value,
            "permission" => status.permission = value,
            _ => (),
        }
    }
    (choices, status)
}

fn offered(item: &Setting) -> Vec<String> {
    let mut all: Vec<String> = item.choices.iter().chain(&item.suggestions).cloned().collect();
    all.extend(item.value.as_str().filter(|value| !value.is_empty()).map(str::to_owned));
    all.sort();
    all.dedup();
    all
}

fn permission_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan: reads only",
        PermissionMode::Ask => "Ask before changes",
        PermissionMode::AutoEdit => "Edit files freely",
        PermissionMode::Full => "Everything that rules allow",
    }
}

fn thinking_words(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "Answers at once",
        Thinking::Low => "Thinks a little",
        Thinking::Medium => "Thinks",
        Thinking::High => "Thinks hard",
    }
}

/// The pickers. Names of fields as `acts` reads them; `form`: theirs, where they stand outside of it.
fn pickers(choices: &Choices, now: &Status, form: Option<&str>) -> Markup {
    html! {
        div.pickers {
            label for="model" { "Model" }
            (picker("model", (&choices.models, &now.model), form))
            label for="thinking" { "Thinking" }
            select id="thinking" name="thinking" form=[form] {
                @if now.thinking.is_empty() { option value="" selected { "As usual for the model" } }
                @for level in Thinking::ALL {
                    option value=(level.as_str()) selected[level.as_str() == now.thinking] {
                        (thinking_words(level))
                    }
                }
            }
            label for="profile" { "Profile" }
            (picker("profile", (&choices.profiles, &now.profile), form))
            label for="permission" { "Permission" }
            select id="permission" name="permission" form=[form] {
                @for mode in PermissionMode::ALL {
                    option value=(mode.as_str()) selected[mode.as_str() == now.permission] {
                        (permission_words(mode))
                    }
                }
            }
        }
    }
}

fn picker(name: &str, (all, now): (&[String], &str), form: Option<&str>) -> Markup {
    html! {
        @if all.len() > 1 {
            select id=(name) name=(name) form=[form] {
                @if now.is_empty() { option value="" selected { "As set" } }
                @else if !all.iter().any(|one| one == now) { option value=(now) selected { (visible(now)) } }
                @for one in all {
                    option value=(one) selected[one == now] { (visible(one)) }
                }
            }
        } @else {
            input id=(name) name=(name) value=(now) form=[form] autocomplete="off" spellcheck="false"
                placeholder="As set";
        }
    }
}

/// The composer of a chat that exists; `setup`: its pickers, a form of their own.
pub(super) fn of_chat(caller: &Caller, view: &View, choices: &Choices, now: &Status) -> Markup {
    html! {
        section.composer id="composer" aria-label="Write" {
            (writer(caller, &view.at("say"), "Say something", &unfolds("Model, thinking, profile, permission")))
            form.setup-form method="post" action=(view.at("configure")) id="configure" data-live {
                (csrf(caller))
                (pickers(choices, now, None))
                div.row {
                    button.btn type="submit" { "Use from now on" }
                }
                p.hint { "Between runs. A new model or profile makes a new prompt." }
                div.field {
                    label for="keep" { "Condense the context" }
                    input id="keep" name="keep" form="condense" autocomplete="off"
                        maxlength=(KEEP_CHARS_MAX) placeholder="What the summary must keep, if anything";
                }
                div.row { button.btn.quiet type="submit" form="condense" { "Condense the context" } }
            }
            form id="condense" method="post" action=(view.at("condense")) data-live { (csrf(caller)) }
            form id="cancel" method="post" action=(view.at("cancel")) data-live { (csrf(caller)) }
        }
    }
}

/// The composer of a new chat.
pub(super) fn of_new(caller: &Caller, choices: &Choices, now: &Status) -> Markup {
    html! {
        section.composer id="composer" aria-label="Write" {
            (writer(caller, "/chats", "What shall be done?", &unfolds("Model, thinking, profile, permission, folder")))
            div.setup-form {
                (pickers(choices, now, Some("say")))
                div.field {
                    label for="workspace" { "Folder" }
                    input id="workspace" name="workspace" form="say" autocomplete="off"
                        spellcheck="false" placeholder="Your own folder";
                }
            }
        }
    }
}

/// What unfolds the settings below a composer.
fn unfolds(words: &str) -> Markup {
    html! {
        details.setup id="setup" {
            summary.icon-button title=(words) { (icon("settings")) span.unseen { (words) } }
        }
    }
}

/// The form itself. It says with a name of its own, so that sending it twice says it once.
fn writer(caller: &Caller, action: &str, placeholder: &str, more: &Markup) -> Markup {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("csrf", caller.csrf())
        .finish();
    html! {
        form.writer id="say" method="post" enctype="multipart/form-data"
            action={ (action) "?" (query) } data-action=(action) {
            input type="hidden" name="client_id" value=(secret::random_id());
            ul.chosen id="chosen" aria-label="Attached files" hidden {}
            progress id="sending" max="1" value="0" hidden aria-label="Sending" {}
            div.input {
                label.unseen for="text" { "Message" }
                textarea id="text" name="text" rows="1" placeholder=(placeholder)
                    autocomplete="off" enterkeyhint="send" maxlength="1000000"
                    aria-describedby="text-hint" {}
                ul.completions id="completions" role="listbox" aria-label="Suggestions" hidden {}
            }
            div.tools {
                label.icon-button.attach title="Attach files" {
                    (icon("attach")) span.unseen { "Attach files" }
                    input.unseen type="file" name="files" id="files" multiple;
                }
                (more)
                span.hint id="text-hint" {
                    span.keys { kbd { "Enter" } " sends, " kbd { "Shift" } "+" kbd { "Enter" } " breaks the line, "
                        kbd { "/" } " commands, " kbd { "@" } " files" }
                }
                span.grow {}
                @if action != "/chats" {
                    button.btn.stop-run type="submit" form="cancel" id="stop" { (icon("halt")) "Stop" }
                }
                button.btn.primary.send type="submit" id="send" { (icon("send")) span { "Send" } }
            }
        }
    }
}
