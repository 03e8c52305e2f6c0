//! What a new chat shows while there is no model that can be asked: that there is none, and the ways
//! to one. A key is checked with its vendor before it is kept (`pages::models`). Not here: which
//! model is taken where several can be asked.

use maud::{Markup, html};
use serde::Deserialize;
use weir_core::profile::PermissionMode;
use weir_core::view::first_start::FirstStart;
use weir_core::view::plain::visible_text;
use weir_install::user_space::{ProviderLine, UserSpace};

use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::web::pages::models;

use super::composer::permission_words;

/// What was done before this page was shown, in words.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct StartNotes {
    note: String,
    problem: String,
}

/// Says it.
pub(super) fn render_notes(told: &StartNotes) -> Markup {
    html! {
        @if !told.note.is_empty() { p.notice.good role="status" { (visible_text(&told.note)) } }
        @if !told.problem.is_empty() { p.notice.bad role="alert" { (visible_text(&told.problem)) } }
    }
}

/// Which permission mode holds, said before the first chat to whoever chose none (U13).
pub(super) fn render_first_start(first: FirstStart) -> Markup {
    let switch =
        format!("choose “{}” in the box below", permission_words(PermissionMode::AutoEdit));
    html! { p.muted id="first-start" { (first.describe(&switch)) } }
}

/// The model that is set cannot be asked, and others can.
pub(super) fn cannot_be_asked(set: &str) -> Markup {
    html! {
        p.notice.warn {
            @if set.is_empty() { "No model is set as your default. " }
            @else { "Your default model, " code { (visible_text(set)) } ", cannot be used: its provider has no key. " }
            "Choose one in the box below, or set a default under " a href="/models" { "Models" } "."
        }
    }
}

/// No model can be asked: how to get one. `set`: the one that is set and has no key.
pub(super) async fn without_model(
    caller: &Caller,
    space: &UserSpace,
    set: &str,
) -> HandlerResult<Markup> {
    let providers = space.list_providers().await?;
    let admin = caller.is_admin();
    Ok(html! {
        section.card.start aria-labelledby="start" {
            h2 id="start" { "Connect a model to start" }
            p {
                @if set.is_empty() { "Weir has no model yet: no provider has an API key, and no local model server answers." }
                @else { "Your model, " code { (visible_text(set)) } ", cannot be used yet: its provider has no API key." }
            }
            @if admin {
                h3 { "Use a provider" }
                (models::key_form(caller, &providers, "/"))
                p { a href="/models#new-endpoint" { "Add another endpoint" } span.muted { ", for example a server of your own" } }
                h3 { "Or run a model on this computer" }
                (render_local_servers(&providers))
            } @else {
                p { "Ask an admin of this server to add an API key under Models." }
            }
            h3 { "Or look around first" }
            p.muted {
                "Run " code { "weir demo" } " in a terminal: it plays a session with prepared answers and \
                 needs no model. " a href="/help" { "Help" } " explains what Weir does."
            }
        }
    })
}

/// Servers on this machine that are looked for.
fn render_local_servers(providers: &[ProviderLine]) -> Markup {
    let all: Vec<&ProviderLine> = providers.iter().filter(|line| line.local).collect();
    html! {
        p {
            "Start one of these, and Weir uses it without further settings: "
            @for (n, line) in all.iter().enumerate() {
                @if n > 0 { ", " }
                strong { (line.name) } " " span.muted { "(" (line.base_url) ")" }
            }
            ". None of them has a model running now."
        }
        p { a.btn href="/" { "Look again" } }
    }
}
