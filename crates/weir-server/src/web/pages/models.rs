//! Models with what they cost and can, who offers them, and their keys. A key is written here and
//! never shown.

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;
use weir_core::secret::Secret;
use weir_install::failure::HouseError;
use weir_install::user_space::{
    DIALECTS, ModelLine, ModelsTold, NewEndpoint, ProviderLine, SettingsChange,
};

use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::route::{Route, RouteAccess};
use crate::web::parts::{csrf_input, framed_page, render_badge, render_empty, render_field};

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
        Route::post("/providers/{name}/forget", forget_key).access(RouteAccess::Admin),
        Route::post("/providers/{name}/remove", remove_endpoint).access(RouteAccess::Admin),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ModelsPageQuery {
    all: bool,
    note: String,
    wrong: String,
}

/// Nothing but the token that the guard has looked at already.
#[derive(Debug, Deserialize)]
struct ModelActionForm {}

async fn show_models(
    State(app): State<App>,
    caller: Caller,
    Query(shown): Query<ModelsPageQuery>,
) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let told = home.list_models(false).await?;
    models_page(&app, &caller, told, &shown).await
}

async fn probe_models(
    State(app): State<App>,
    caller: Caller,
    Form(ModelActionForm {}): Form<ModelActionForm>,
) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let told = home.list_models(true).await?;
    models_page(&app, &caller, told, &ModelsPageQuery::default()).await
}

async fn models_page(
    app: &App,
    caller: &Caller,
    told: ModelsTold,
    shown: &ModelsPageQuery,
) -> HandlerResult<Markup> {
    let home = app.home(&caller.person).await?;
    let providers = home.list_providers().await?;
    let sheet = home.settings_sheet().await?;
    let chosen = sheet.items.iter().find(|setting| setting.key == "model");
    let chosen = chosen.map(|setting| {
        (setting.value.as_str().unwrap_or_default().to_owned(), setting.origin.clone())
    });
    let (usable, others): (Vec<ModelLine>, Vec<ModelLine>) =
        told.models.into_iter().partition(|model| model.usable);
    let body = html! {
        div.toolbar {
            h1 { "Models" }
            form method="post" action="/models/probe" {
                (csrf_input(caller))
                button.btn type="submit" { "Test connections" }
            }
        }
        @if !shown.note.is_empty() { p.notice.good role="status" { (shown.note) } }
        @if !shown.wrong.is_empty() { p.notice.bad role="alert" { (shown.wrong) } }
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
        @if caller.person.is_admin() {
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
            form.row method="post" action="/models/default" {
                (csrf_input(caller))
                label for="model" { "New chats use" }
                input id="model" name="model" list="models" autocomplete="off" spellcheck="false"
                    value=(value) placeholder="first provider with a key";
                datalist id="models" {
                    @for line in usable { option value=(line.model) {} }
                }
                button.btn.primary type="submit" { "Save" }
            }
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
    let admin = caller.person.is_admin();
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
        form.key-form method="post" action="/models/key" {
            (csrf_input(caller))
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
                button.btn.primary type="submit" { "Save key" }
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
        }
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
            form method="post" action="/models/endpoint" {
                (csrf_input(caller))
                (input("name", "Name", "Lowercase letters, digits, - and _. Models are called name/model.", "text", true))
                (input("base_url", "Base URL", "For example https://llm.example.org/v1.", "url", true))
                (render_field("endpoint-dialect", "API", "", &html! {
                    select id="endpoint-dialect" name="dialect" {
                        @for (word, text) in DIALECTS { option value=(word) { (text) } }
                    }
                }))
                (input("key", "API key", "Optional.", "password", false))
                p { label {
                    input type="checkbox" name="unchecked" value="yes";
                    "Save without testing"
                } }
                button.btn.primary type="submit" { "Test and save" }
            }
        }
    }
}

fn forget_form(caller: &Caller, line: &ProviderLine) -> Markup {
    html! {
        @if line.kept {
            form method="post" action={ "/providers/" (line.name) "/forget" } {
                (csrf_input(caller))
                button.btn.danger type="submit" {
                    "Remove key" span.unseen { " of " (line.name) }
                }
            }
        }
    }
}

/// Takes an endpoint away that was added; built-in ones stay.
fn remove_form(caller: &Caller, line: &ProviderLine) -> Markup {
    html! {
        @if line.custom {
            form method="post" action={ "/providers/" (line.name) "/remove" } {
                (csrf_input(caller))
                button.btn.danger type="submit" {
                    "Remove endpoint" span.unseen { " " (line.name) }
                }
            }
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

/// Back to the page, with what was done or why it was not.
fn redirect_to_models(done: Result<String, HouseError>) -> HandlerResult<Redirect> {
    back_to(HERE, done)
}

/// The same for another page.
fn back_to(page: &str, done: Result<String, HouseError>) -> HandlerResult<Redirect> {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    match done {
        Ok(note) => query.append_pair("note", &note),
        Err(HouseError::Refused(wrong)) => query.append_pair("wrong", &wrong),
        Err(error) => return Err(error.into()),
    };
    Ok(Redirect::to(&format!("{page}?{}", query.finish())))
}

async fn choose_default_model(
    State(app): State<App>,
    caller: Caller,
    Form(chosen): Form<DefaultModelForm>,
) -> HandlerResult<Redirect> {
    let home = app.home(&caller.person).await?;
    let value = match chosen.model.trim() {
        "" => Value::Null,
        model => Value::String(model.to_owned()),
    };
    let change = SettingsChange {
        for_all: false,
        version: None,
        values: BTreeMap::from([("model".to_owned(), value)]),
    };
    redirect_to_models(
        home.change_settings(&change).await.map(|_| "Saved. New chats use it.".to_owned()),
    )
}

async fn set_key(
    State(app): State<App>,
    caller: Caller,
    Form(typed): Form<KeyTyped>,
) -> HandlerResult<Redirect> {
    let home = app.home(&caller.person).await?;
    let (provider, key) = (typed.provider, Secret::new(typed.key.trim().to_owned()));
    let page = if typed.back == "/" { "/" } else { HERE };
    if typed.unchecked.is_empty()
        && let Err(error) = home.check_key(&provider, &key).await
    {
        return back_to(page, Err(error));
    }
    let kept = home.set_key(&provider, key).await;
    back_to(page, kept.map(|()| format!("The key for {provider} is saved.")))
}

/// Most models of a new endpoint that are named.
const NAMED_MAX: usize = 8;

async fn add_endpoint(
    State(app): State<App>,
    caller: Caller,
    Form(typed): Form<EndpointTyped>,
) -> HandlerResult<Redirect> {
    let home = app.home(&caller.person).await?;
    let name = typed.name.trim().to_owned();
    let new = NewEndpoint {
        name: typed.name,
        dialect: typed.dialect,
        base_url: typed.base_url,
        key: Secret::new(typed.key.trim().to_owned()),
        unchecked: !typed.unchecked.is_empty(),
    };
    let had_none = home.standard_model().await?.is_none();
    let found = match home.add_endpoint(&new).await {
        Ok(found) => found,
        Err(error) => return redirect_to_models(Err(error)),
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
        home.change_settings(&change).await?;
        note.push_str(&format!(" New chats use {first}."));
    }
    redirect_to_models(Ok(note))
}

async fn remove_endpoint(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(ModelActionForm {}): Form<ModelActionForm>,
) -> HandlerResult<Redirect> {
    let home = app.home(&caller.person).await?;
    let removed = home.remove_endpoint(&name).await;
    redirect_to_models(removed.map(|was| match was {
        true => format!("The endpoint {name} was removed, with its key."),
        false => format!("No endpoint {name} was added here."),
    }))
}

async fn forget_key(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(ModelActionForm {}): Form<ModelActionForm>,
) -> HandlerResult<Redirect> {
    let home = app.home(&caller.person).await?;
    let removed = home.remove_key(&name).await;
    redirect_to_models(removed.map(|was| match was {
        true => format!("The key for {name} was removed."),
        false => format!("There was no saved key for {name}."),
    }))
}
