//! The composer: where people write, attach, choose model, permission and thinking, send and stop.

use maud::{Markup, html};
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::session::condense::KEEP_CHARS_MAX;
use weir_core::view::plain::visible_text;
use weir_install::user_space::{Setting, UserSpace};

use crate::auth::secret;
use crate::caller::Caller;
use crate::chat::{ChatStatus, ChatView};
use crate::web::controls::{ButtonLook, csrf_input, submit_button};
use crate::web::parts::render_icon;

/// What can be chosen.
pub(super) struct ComposerChoices {
    /// Models whose provider has a key, or needs none.
    pub(super) models: Vec<String>,
    profiles: Vec<String>,
}

/// The choices of this person's composer. That one cannot be found is no reason to show no page.
pub(super) async fn load_choices(space: &UserSpace) -> (ComposerChoices, ChatStatus) {
    let (mut choices, mut status) =
        (ComposerChoices { models: Vec::new(), profiles: Vec::new() }, ChatStatus::default());
    if let Ok(told) = space.list_models(false).await {
        let usable = told.models.into_iter().filter(|line| line.usable);
        choices.models = usable.map(|line| line.model).collect();
    }
    let Ok(sheet) = space.settings_sheet().await else { return (choices, status) };
    for item in &sheet.items {
        let value = item.value.as_str().unwrap_or_default().to_owned();
        match item.key.as_str() {
            "model" => status.model = value,
            "profile" => (choices.profiles, status.profile) = (offered_values(item), value),
            "thinking" => status.thinking = value,
            "permission" => status.permission = value,
            _ => (),
        }
    }
    (choices, status)
}

fn offered_values(item: &Setting) -> Vec<String> {
    let mut all: Vec<String> = item.choices.iter().chain(&item.suggestions).cloned().collect();
    all.extend(item.value.as_str().filter(|value| !value.is_empty()).map(str::to_owned));
    all.sort();
    all.dedup();
    all
}

pub(super) fn permission_words(mode: PermissionMode) -> &'static str {
    match mode {
        PermissionMode::Plan => "Plan: read only",
        PermissionMode::Ask => "Ask before changes",
        PermissionMode::AutoEdit => "Edit files without asking",
        PermissionMode::Full => "Full access within the rules",
    }
}

fn thinking_words(level: Thinking) -> &'static str {
    match level {
        Thinking::Off => "Thinking: off",
        Thinking::Low => "Thinking: low",
        Thinking::Medium => "Thinking: medium",
        Thinking::High => "Thinking: high",
    }
}

/// A model without its provider: `claude-sonnet-5-5`.
fn short_model_name(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, name)| name)
}

/// What is chosen at the box itself: model, permission and thinking. Names of fields as `acts` reads
/// them; `form`: whose they are, for they stand in another; `usual`: the model of a new chat in which
/// none is chosen.
fn at_box(choices: &ComposerChoices, now: &ChatStatus, form: &str, usual: Option<&str>) -> Markup {
    let is_known = choices.models.contains(&now.model);
    html! {
        div.at-box {
            label.unseen for="model" { "Model" }
            select id="model" name="model" form=(form) title="Model" {
                @if now.model.is_empty() {
                    option value="" selected {
                        "Default" @if let Some(usual) = usual { " (" (visible_text(short_model_name(usual))) ")" }
                    }
                } @else if !is_known {
                    option value=(now.model) selected { (visible_text(short_model_name(&now.model))) }
                }
                @for one in &choices.models {
                    option value=(one) selected[*one == now.model] {
                        @let is_twice = choices.models.iter().filter(|other| short_model_name(other) == short_model_name(one)).count() > 1;
                        (visible_text(if is_twice { one } else { short_model_name(one) }))
                    }
                }
            }
            label.unseen for="permission" { "Permission" }
            select id="permission" name="permission" form=(form) title="Permissions without asking" {
                @for mode in PermissionMode::ALL {
                    option value=(mode.as_str()) selected[mode.as_str() == now.permission] {
                        (permission_words(mode))
                    }
                }
            }
            label.unseen for="thinking" { "Thinking" }
            select id="thinking" name="thinking" form=(form) title="How much the model thinks before it answers" {
                @if now.thinking.is_empty() { option value="" selected { "Thinking: default" } }
                @for level in Thinking::ALL {
                    option value=(level.as_str()) selected[level.as_str() == now.thinking] {
                        (thinking_words(level))
                    }
                }
            }
            @if form == CONFIGURE {
                noscript { button.btn type="submit" form=(form) { "Apply" } }
            }
        }
    }
}

/// The form of a chat's own settings.
const CONFIGURE: &str = "configure";

/// What is chosen less often, below the box.
fn render_pickers(choices: &ComposerChoices, now: &ChatStatus, form: Option<&str>) -> Markup {
    html! {
        div.pickers {
            label for="profile" { "Profile" }
            (render_picker("profile", &choices.profiles, &now.profile, form))
            label for="other_model" { "Another model" }
            input id="other_model" name="other_model" form=[form] autocomplete="off"
                spellcheck="false" placeholder="provider/name";
        }
    }
}

fn render_picker(name: &str, all: &[String], now: &str, form: Option<&str>) -> Markup {
    html! {
        @if all.len() > 1 {
            select id=(name) name=(name) form=[form] {
                @if now.is_empty() { option value="" selected { "Default" } }
                @else if !all.iter().any(|one| one == now) { option value=(now) selected { (visible_text(now)) } }
                @for one in all {
                    option value=(one) selected[one == now] { (visible_text(one)) }
                }
            }
        } @else {
            input id=(name) name=(name) value=(now) form=[form] autocomplete="off" spellcheck="false"
                placeholder="Default";
        }
    }
}

/// The composer of a chat that exists; `setup`: its pickers, a form of their own.
pub(super) fn of_chat(
    caller: &Caller,
    view: &ChatView,
    choices: &ComposerChoices,
    now: &ChatStatus,
) -> Markup {
    let more = html! {
        (render_setup("More settings of this chat"))
        (at_box(choices, now, CONFIGURE, None))
    };
    html! {
        section.composer id="composer" aria-label="Message" {
            (render_writer(caller, &view.address_below("say"), &more))
            form.setup-form method="post" action=(view.address_below("configure")) id=(CONFIGURE) data-live {
                (csrf_input(caller))
                (render_pickers(choices, now, None))
                div.row { (submit_button(ButtonLook::Plain, "Apply")) }
                p.hint { "Changes apply from the next message. Another model or profile starts a new prompt cache." }
                div.field {
                    label for="keep" { "Compact the context" }
                    input id="keep" name="keep" form="condense" autocomplete="off"
                        maxlength=(KEEP_CHARS_MAX) placeholder="What the summary must keep (optional)";
                }
                div.row { button.btn.quiet type="submit" form="condense" { "Compact the context" } }
            }
            form id="condense" method="post" action=(view.address_below("condense")) data-live { (csrf_input(caller)) }
            @for name in ["cancel", "pause", "resume"] {
                form id=(name) method="post" action=(view.address_below(name)) data-live { (csrf_input(caller)) }
            }
        }
    }
}

/// The composer of a new chat. `usual`: the model where none is chosen.
pub(super) fn of_new(
    caller: &Caller,
    choices: &ComposerChoices,
    now: &ChatStatus,
    usual: Option<&str>,
) -> Markup {
    let more = html! {
        (render_setup("More settings: profile, folder"))
        (at_box(choices, now, "say", usual))
    };
    html! {
        section.composer id="composer" aria-label="Message" {
            (render_writer(caller, "/chats", &more))
            div.setup-form {
                (render_pickers(choices, now, Some("say")))
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
fn render_setup(words: &str) -> Markup {
    html! {
        details.setup id="setup" {
            summary.icon-button title=(words) { (render_icon("settings")) span.unseen { (words) } }
        }
    }
}

/// The form itself. It says with a name of its own, so that sending it twice says it once.
fn render_writer(caller: &Caller, action: &str, more: &Markup) -> Markup {
    let query = url::form_urlencoded::Serializer::new(String::new())
        .append_pair("csrf", caller.csrf_token())
        .finish();
    html! {
        form.writer id="say" method="post" enctype="multipart/form-data"
            action={ (action) "?" (query) } data-action=(action) {
            input type="hidden" name="client_id" value=(secret::random_id());
            ul.chosen id="chosen" aria-label="Attached files" hidden {}
            progress id="sending" max="1" value="0" hidden aria-label="Sending" {}
            div.input {
                label.unseen for="text" { "Message" }
                textarea id="text" name="text" rows="1" placeholder="Message Weir…"
                    autocomplete="off" enterkeyhint="send" maxlength="1000000"
                    aria-describedby="text-hint" {}
                ul.completions id="completions" role="listbox" aria-label="Suggestions" hidden {}
            }
            div.tools {
                label.icon-button.attach title="Attach files" {
                    (render_icon("attach")) span.unseen { "Attach files" }
                    input.unseen type="file" name="files" id="files" multiple;
                }
                (more)
                span.unseen id="text-hint" {
                    "Enter sends, Shift+Enter starts a new line, / lists commands, @ lists files"
                }
                span.grow {}
                @if action != "/chats" {
                    button.btn.pause-run type="submit" form="pause" id="pause-run" title="Pause: what is under way is finished, nothing new begins" { (render_icon("pause")) "Pause" }
                    button.btn.resume-run type="submit" form="resume" id="resume-run" title="Let the paused run go on" { (render_icon("resume")) "Resume" }
                    button.btn.stop-run type="submit" form="cancel" id="stop" { (render_icon("halt")) "Stop" }
                }
                button.btn.primary.send type="submit" id="send" { (render_icon("send")) span { "Send" } }
            }
        }
    }
}
