//! Models with what they cost and can, who offers them, and their keys. A key is written here and
//! never shown.

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::{Path, Query};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use weir_core::secret::Secret;
use weir_install::user_space::{
    ModelLine, ModelsTold, NewEndpoint, ProviderLine, SettingsChange, dialect_choices,
};

use crate::api::models as api;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::{redirect_with, redirect_with_result};
use crate::route::{Route, RouteAccess};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{framed_page, render_badge, render_empty, render_field};

/// The entry of the navigation.
const HERE: &str = "/models";

/// The routes of this file.
pub(crate) fn model_page_routes() -> Vec<Route> {
    vec![
        Route::get("/models", show_models),
        Route::post("/models/probe", probe_models),
        Route::post("/models/default", choose_default_model),
        Route::post("/models/key", set_key).access(RouteAccess::Admin),
        Route::post("/models/endpoint", add_endpoint).access(RouteAccess::Admin),
        Route::post("/providers/{name}/forget", api::remove_key).access(RouteAccess::Admin),
        Route::post("/providers/{name}/remove", remove_endpoint).access(RouteAccess::Admin),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelsPageQuery {
    all: bool,
    note: String,
    problem: String,
}

async fn show_models(
    owner: CallerSpace,
    Query(shown): Query<ModelsPageQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { space, .. } = &owner;
    let told = space.list_models(false).await?;
    models_page(&owner, told, &shown).await
}

async fn probe_models(owner: CallerSpace) -> HandlerResult<Markup> {
    let CallerSpace { space, .. } = &owner;
    let told = space.list_models(true).await?;
    models_page(&owner, told, &ModelsPageQuery::default()).await
}

async fn models_page(
    owner: &CallerSpace,
    told: ModelsTold,
    shown: &ModelsPageQuery,
) -> HandlerResult<Markup> {
    let CallerSpace { caller, space, .. } = owner;
    let providers = space.list_providers().await?;
    let sheet = space.settings_sheet().await?;
    let chosen = sheet.items.iter().find(|setting| setting.key == "model");
    let chosen = chosen.map(|setting| {
        (setting.value.as_str().unwrap_or_default().to_owned(), setting.origin.clone())
    });
    let (usable, others): (Vec<ModelLine>, Vec<ModelLine>) =
        told.models.into_iter().partition(|model| model.usable);
    let body = html! {
        div.toolbar {
            h1 { "Models" }
            (post_form(caller, "/models/probe", "", &html! {
                (submit_button(ButtonLook::Plain, "Test connections"))
            }))
        }
        @if !shown.note.is_empty() { p.notice.good role="status" { (shown.note) } }
        @if !shown.problem.is_empty() { p.notice.bad role="alert" { (shown.problem) } }
        @for note in &told.notes { p.notice.warn { (note) } }
        (default_model(caller, chosen, &usable))
        h2 { "Models you can use" }
        @if usable.is_empty() {
            (render_empty("No provider has a key, and no local server is running.",
                "An admin can add a key below, or start a local server."))
        } @else { (render_model_table(&usable, "Models you can use")) }
        @if !others.is_empty() {
            details open[shown.all] {
                summary { (others.len()) " models without a key" }
                (render_model_table(&others, "Models without a key"))
            }
        }
        h2 { "Providers" }
        (render_providers(caller, &providers))
        @if caller.is_admin() {
            (new_key(caller, &providers))
            (new_endpoint(caller))
        }
    };
    Ok(framed_page(caller, "Models", HERE, &body))
}

fn default_model(
    caller: &Caller,
    chosen: Option<(String, String)>,
    usable: &[ModelLine],
) -> Markup {
    let (value, origin) = chosen.unwrap_or_default();
    html! {
        section.card aria-labelledby="standard" {
            h2 id="standard" { "Default model" }
            (post_form(caller, "/models/default", "row", &html! {
                label for="model" { "New chats use" }
                input id="model" name="model" list="models" autocomplete="off" spellcheck="false"
                    value=(value) placeholder="first provider with a key";
                datalist id="models" {
                    @for line in usable { option value=(line.model) {} }
                }
                (submit_button(ButtonLook::Primary, "Save"))
            }))
            @if !origin.is_empty() { p.hint { "Now: " (origin) } }
        }
    }
}

fn token_count_text(tokens: u64) -> String {
    match tokens {
        0..1_000 => tokens.to_string(),
        1_000..1_000_000 => format!("{} k", tokens / 1_000),
        more => format!("{}.{} M", more / 1_000_000, more % 1_000_000 / 100_000),
    }
}

fn render_model_table(models: &[ModelLine], caption: &str) -> Markup {
    html! {
        div.table-wrap tabindex="0" {
            table.cards {
                caption.unseen { (caption) }
                thead { tr {
                    th scope="col" { "Model" } th.num scope="col" { "Window" }
                    th.num scope="col" { "Reply" } th.num scope="col" { "$ in / out per million" }
                    th scope="col" { "Can" } th scope="col" { "Endpoint" }
                } }
                tbody { @for line in models { tr {
                    th scope="row" { code { (line.model) } }
                    td.num data-label="Context" { (token_count_text(line.window)) }
                    td.num data-label="Output" { (token_count_text(line.max_output)) }
                    td.num data-label="$ in / out" {
                        @match (line.price_input, line.price_output) {
                            (Some(input), Some(output)) => { (input) " / " (output) },
                            _ => span.muted { "unknown" },
                        }
                    }
                    td data-label="Can" { (line.abilities.join(", ")) }
                    td {
                        @match line.offered {
                            Some(true) => (render_badge("good", "available")),
                            Some(false) => (render_badge("bad", "not available")),
                            None => span.muted { "not tested" },
                        }
                    }
                } } }
            }
        }
    }
}

fn render_providers(caller: &Caller, providers: &[ProviderLine]) -> Markup {
    let admin = caller.is_admin();
    html! {
        div.table-wrap tabindex="0" {
            table.cards {
                caption.unseen { "Providers" }
                thead { tr {
                    th scope="col" { "Provider" } th scope="col" { "Address" }
                    th scope="col" { "Key" }
                    @if admin { th scope="col" { span.unseen { "Do" } } }
                } }
                tbody { @for line in providers { tr {
                    th scope="row" {
                        (line.name)
                        @if line.custom { " " (render_badge("info", "from the configuration")) }
                        @if line.local { " " (render_badge("", "local")) }
                    }
                    td.mono { (line.base_url) }
                    td { (key_badge(line)) }
                    @if admin { td { (forget_form(caller, line)) (remove_form(caller, line)) } }
                } } }
            }
        }
        p.hint { "Addresses of built-in providers are set in the configuration file." }
    }
}

fn key_badge(line: &ProviderLine) -> Markup {
    match (&line.key, line.needs_key) {
        (Some(source), _) => html! { (render_badge("good", "set")) " " span.muted { (source) } },
        (None, true) => html! { (render_badge("warn", "none")) },
        (None, false) => html! { span.muted { "not needed" } },
    }
}

/// Where an admin writes a key; `back`: the page that it stands on.
pub(super) fn key_form(caller: &Caller, providers: &[ProviderLine], back: &str) -> Markup {
    html! {
        (post_form(caller, "/models/key", "key-form", &html! {
            input type="hidden" name="back" value=(back);
            div.row {
                label for="provider" { "Provider" }
                select id="provider" name="provider" {
                    @for line in providers.iter().filter(|line| !line.local || !line.variables.is_empty()) {
                        option value=(line.name) { (line.name) }
                    }
                }
                label for="key" { "API key" }
                input id="key" name="key" type="password" required autocomplete="off"
                    aria-describedby="key-hint";
                (submit_button(ButtonLook::Primary, "Save key"))
            }
            p.hint id="key-hint" {
                "The key is checked with the provider before it is saved. It is never shown again, and is \
                 kept in a file that only the server can read. An environment variable of the server \
                 takes precedence."
            }
            label {
                input type="checkbox" name="unchecked" value="yes";
                "Save without checking"
            }
        }))
    }
}

/// The same with its heading.
fn new_key(caller: &Caller, providers: &[ProviderLine]) -> Markup {
    html! {
        section.card aria-labelledby="new-key" {
            h2 id="new-key" { "Add an API key" }
            (key_form(caller, providers, HERE))
        }
    }
}

/// Where an admin adds an endpoint that is not built in.
fn new_endpoint(caller: &Caller) -> Markup {
    let input = |name: &str, label: &str, hint: &str, kind: &str, required: bool| {
        let id = format!("endpoint-{name}");
        let control = html! {
            input id=(id) name=(name) type=(kind) required[required] autocomplete="off" spellcheck="false"
                aria-describedby=[(!hint.is_empty()).then(|| format!("{id}-hint"))];
        };
        render_field(&id, label, hint, &control)
    };
    html! {
        section.card aria-labelledby="new-endpoint" {
            h2 id="new-endpoint" { "Add an endpoint" }
            (post_form(caller, "/models/endpoint", "", &html! {
                (input("name", "Name", "Lowercase letters, digits, - and _. Models are called name/model.", "text", true))
                (input("base_url", "Base URL", "For example https://llm.example.org/v1.", "url", true))
                (render_field("endpoint-dialect", "API", "", &html! {
                    select id="endpoint-dialect" name="dialect" {
                        @for choice in dialect_choices() { option value=(choice.name) { (choice.title) } }
                    }
                }))
                (input("key", "API key", "Optional.", "password", false))
                p { label {
                    input type="checkbox" name="unchecked" value="yes";
                    "Save without testing"
                } }
                (submit_button(ButtonLook::Primary, "Test and save"))
            }))
        }
    }
}

fn forget_form(caller: &Caller, line: &ProviderLine) -> Markup {
    html! {
        @if line.kept {
            (post_form(caller, html! { "/providers/" (line.name) "/forget" }, "", &html! {
                (submit_button(ButtonLook::Danger, html! {
                    "Remove key" span.unseen { " of " (line.name) }
                }))
            }))
        }
    }
}

/// Takes an endpoint away that was added; built-in ones stay.
fn remove_form(caller: &Caller, line: &ProviderLine) -> Markup {
    html! {
        @if line.custom {
            (post_form(caller, html! { "/providers/" (line.name) "/remove" }, "", &html! {
                (submit_button(ButtonLook::Danger, html! {
                    "Remove endpoint" span.unseen { " " (line.name) }
                }))
            }))
        }
    }
}

#[derive(Deserialize)]
struct KeyTyped {
    provider: String,
    key: String,
    /// Cancel without asking the vendor.
    #[serde(default)]
    unchecked: String,
    /// The page that the form stands on.
    #[serde(default)]
    back: String,
}

#[derive(Deserialize)]
struct EndpointTyped {
    name: String,
    base_url: String,
    dialect: String,
    #[serde(default)]
    key: String,
    #[serde(default)]
    unchecked: String,
}

#[derive(Debug, Deserialize)]
struct DefaultModelForm {
    model: String,
}

async fn choose_default_model(
    CallerSpace { space, .. }: CallerSpace,
    Form(chosen): Form<DefaultModelForm>,
) -> HandlerResult<Redirect> {
    let value = match chosen.model.trim() {
        "" => Value::Null,
        model => Value::String(model.to_owned()),
    };
    let change = SettingsChange {
        for_all: false,
        version: None,
        values: BTreeMap::from([("model".to_owned(), value)]),
    };
    let changed = space.change_settings(&change).await.map_err(ProblemDetails::from);
    redirect_with_result(HERE, changed.map(|_| "Saved. New chats use it."))
}

async fn set_key(
    CallerSpace { space, .. }: CallerSpace,
    Form(typed): Form<KeyTyped>,
) -> HandlerResult<Redirect> {
    let (provider, key) = (typed.provider, Secret::new(typed.key.trim().to_owned()));
    let page = if typed.back == "/" { "/" } else { HERE };
    if typed.unchecked.is_empty()
        && let Err(error) = space.check_key(&provider, &key).await
    {
        return redirect_with_result(page, Err::<&str, _>(error.into()));
    }
    let kept = api::keep_key(&space, &provider, key).await;
    redirect_with_result(page, kept.map(|()| format!("The key for {provider} is saved.")))
}

/// Most models of a new endpoint that are named.
const NAMED_MAX: usize = 8;

async fn add_endpoint(
    CallerSpace { space, .. }: CallerSpace,
    Form(typed): Form<EndpointTyped>,
) -> HandlerResult<Redirect> {
    let name = typed.name.trim().to_owned();
    let new = NewEndpoint {
        name: typed.name,
        dialect: typed.dialect,
        base_url: typed.base_url,
        key: Secret::new(typed.key.trim().to_owned()),
        unchecked: !typed.unchecked.is_empty(),
    };
    let had_none = space.standard_model().await?.is_none();
    let found = match space.add_endpoint(&new).await {
        Ok(found) => found,
        Err(error) => return redirect_with_result(HERE, Err::<&str, _>(error.into())),
    };
    let mut note = format!("The endpoint {name} is saved.");
    if !found.is_empty() {
        let named: Vec<&str> = found.iter().take(NAMED_MAX).map(String::as_str).collect();
        let more = if found.len() > NAMED_MAX { ", …" } else { "" };
        note.push_str(&format!(" Its models: {}{more}.", named.join(", ")));
    }
    // Whoever had no model wanted this one.
    if let Some(first) = found.first().filter(|_| had_none) {
        let values = BTreeMap::from([("model".to_owned(), Value::String(first.clone()))]);
        let change = SettingsChange { for_all: false, version: None, values };
        space.change_settings(&change).await?;
        note.push_str(&format!(" New chats use {first}."));
    }
    Ok(redirect_with(HERE, "note", &note))
}

async fn remove_endpoint(
    CallerSpace { space, .. }: CallerSpace,
    Path(name): Path<String>,
) -> HandlerResult<Redirect> {
    let removed = space.remove_endpoint(&name).await.map_err(ProblemDetails::from);
    let note = removed.map(|was| match was {
        true => format!("The endpoint {name} was removed, with its key."),
        false => format!("No endpoint {name} was added here."),
    });
    redirect_with_result(HERE, note)
}
