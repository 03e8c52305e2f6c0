//! Settings of a person and of the installation, in sections (S5, S6, S9, S10). Not here: what may be set,
//! which the program around decides.

use std::collections::BTreeMap;

use axum::Form;
use axum::extract::Query;
use axum::response::{IntoResponse, Redirect, Response};
use maud::{Markup, html};
use serde::Deserialize;
use serde_json::Value;

use crate::api::settings::{apply_settings_change, post_allowed_value};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::{Route, RouteAccess};
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::page_with;

mod control;
mod lists;
mod prompts;
mod rules;
mod security;

use control::{ControlContext, render_group};
use weir_install::user_space::{SettingsChange, SettingsSheet};

/// Where this page is.
const HERE: &str = "/settings";
/// What this page brings along.
const ASSETS: &[&str] = &["pages/settings.css"];

/// The routes of this file.
pub(crate) fn settings_page_routes() -> Vec<Route> {
    vec![
        Route::get("/settings", show_settings),
        Route::post("/settings", save_settings),
        Route::get("/settings/prompts/{file}", prompts::show_prompt),
        Route::post("/settings/prompts/{file}", prompts::save_prompt),
        Route::post("/settings/prompts/{file}/restore", prompts::restore_prompt),
        Route::get("/settings/preview", prompts::preview_prompt),
        Route::post("/settings/lists/{list}", post_allowed_value),
        Route::post("/settings/lists/{list}/remove", lists::remove),
        Route::get(rules::RULES_PAGE, rules::show_rules),
        Route::post(rules::RULES_PAGE, rules::change_rules),
        Route::get("/settings/security", security::show_security).access(RouteAccess::Admin),
        Route::post("/settings/security", security::save_security).access(RouteAccess::Admin),
    ]
}

/// A section of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SettingsSection {
    /// Its name in addresses.
    name: &'static str,
    /// Its name for people.
    title: &'static str,
    /// Keys and tables that stand in it.
    keys: &'static [&'static str],
    /// Only admins see it.
    admin: bool,
}

/// Sections of plain settings, in order. Security, prompt files and lists have pages of their own
/// form.
const SECTIONS: &[SettingsSection] = &[
    SettingsSection {
        name: "general",
        title: "General",
        keys: &["model", "profile", "permission", "prompt.timezone", "helpers", "agents"],
        admin: false,
    },
    SettingsSection {
        name: "prompt",
        title: "Prompt",
        keys: &["prompt.instructions"],
        admin: false,
    },
    SettingsSection {
        name: "memory",
        title: "Memory",
        keys: &["memory", "brain", "recipes"],
        admin: false,
    },
    SettingsSection { name: "limits", title: "Limits", keys: &["limits"], admin: false },
    SettingsSection { name: "context", title: "Context", keys: &["context"], admin: false },
    SettingsSection { name: "lists", title: "Allow-lists", keys: &[], admin: false },
    SettingsSection { name: "security", title: "Security", keys: &[], admin: true },
    SettingsSection {
        name: "server",
        title: "Server",
        keys: &["web.search", "server", "telemetry", "sandbox"],
        admin: true,
    },
];

impl SettingsSection {
    fn find_section(name: &str, caller: &Caller) -> SettingsSection {
        let seen = |one: &&SettingsSection| one.name == name && (!one.admin || caller.is_admin());
        *SECTIONS.iter().find(seen).unwrap_or(&SECTIONS[0])
    }

    fn has_key(self, key: &str) -> bool {
        self.keys.iter().any(|table| {
            key.strip_prefix(table).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

#[derive(Debug, Default, Deserialize)]
struct SettingsQuery {
    #[serde(default)]
    section: String,
    #[serde(default)]
    q: String,
    #[serde(default, rename = "for")]
    scope: String,
    #[serde(default)]
    saved: String,
}

impl SettingsQuery {
    /// Whether what holds for everybody is looked at.
    fn for_all(&self, caller: &Caller) -> bool {
        self.scope == "all" && caller.is_admin()
    }
}

async fn show_settings(
    owner: CallerSpace,
    Query(look): Query<SettingsQuery>,
) -> HandlerResult<Response> {
    let CallerSpace { caller, .. } = &owner;
    let section = SettingsSection::find_section(&look.section, caller);
    if section.name == "security" && look.q.is_empty() {
        return Ok(Redirect::to("/settings/security").into_response());
    }
    let said = match look.saved.as_str() {
        "" => html! {},
        _ => html! {
            p.notice.good role="status" {
                "Saved. It applies from the next run; a run in progress is not affected."
            }
        },
    };
    Ok(settings_page(&owner, &look, &said, &BTreeMap::new()).await?.into_response())
}

/// The page. `typed`: what was sent and not taken, so that nobody types it twice.
async fn settings_page(
    owner: &CallerSpace,
    look: &SettingsQuery,
    said: &Markup,
    typed: &BTreeMap<String, String>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = owner;
    let sheet = space.settings_sheet().await?;
    let section = SettingsSection::find_section(&look.section, caller);
    let searched = !look.q.trim().is_empty();
    let body = html! {
        (render_settings_head(caller, if searched { "" } else { section.name }, look))
        (said)
        @for note in &sheet.notes {
            p.notice.warn { (note) }
        }
        @if searched {
            (render_search_results(&sheet, caller, look))
        } @else if section.name == "lists" {
            (lists::lists_section(app, caller).await?)
        } @else {
            @if section.name == "prompt" { (prompts::prompts_section(owner).await?) }
            (settings_form(&sheet, caller, section, look, typed))
        }
    };
    Ok(page_with(caller, "Settings", HERE, ASSETS, &body))
}

/// Title, search and tabs.
fn render_settings_head(caller: &Caller, here: &str, look: &SettingsQuery) -> Markup {
    let shown = SECTIONS.iter().filter(|section| !section.admin || caller.is_admin());
    html! {
        div.toolbar {
            h1 { "Settings" }
            form.settings-search method="get" action=(HERE) role="search" {
                label.unseen for="settings-q" { "Search settings" }
                input id="settings-q" type="search" name="q" value=(look.q)
                    placeholder="Search settings" maxlength="100";
                (submit_button(ButtonLook::Plain, "Search"))
            }
            a.btn.quiet href="/help?page=settings-in-the-browser" { "Help" }
        }
        nav.tabs aria-label="Sections" {
            ul {
                @for section in shown {
                    li {
                        a href={ (HERE) "?section=" (section.name) }
                            aria-current=[(section.name == here).then_some("page")] {
                            (section.title)
                        }
                    }
                }
            }
        }
    }
}

/// What the search found, each with the way to its section.
fn render_search_results(sheet: &SettingsSheet, caller: &Caller, look: &SettingsQuery) -> Markup {
    let words: Vec<String> = look.q.to_lowercase().split_whitespace().map(String::from).collect();
    let fits = |text: &str| {
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word.as_str()))
    };
    let section_of = |key: &str| {
        let seen = |one: &&SettingsSection| {
            (one.has_key(key) || (one.name == "security" && key.starts_with("security.")))
                && (!one.admin || caller.is_admin())
        };
        SECTIONS.iter().find(seen)
    };
    let hits: Vec<_> = sheet
        .items
        .iter()
        .filter(|setting| {
            fits(&format!(
                "{} {} {}",
                setting.key,
                control::setting_title(&setting.key),
                setting.description
            ))
        })
        .filter_map(|setting| section_of(&setting.key).map(|section| (section, setting)))
        .collect();
    html! {
        h2 { (hits.len()) " found for “" (look.q) "”" }
        @if hits.is_empty() {
            (crate::web::parts::render_empty(
                "No settings found.",
                "Try one word, such as window, budget or memory.",
            ))
        } @else {
            ul.settings-found {
                @for (section, setting) in hits {
                    li.card {
                        a href={ (HERE) "?section=" (section.name) "#" (control::element_id(&setting.key)) } {
                            (control::setting_title(&setting.key))
                        }
                        " " span.muted { "in " (section.title) }
                        p.hint { (setting.description) }
                    }
                }
            }
        }
    }
}

/// The settings of one section.
fn settings_form(
    sheet: &SettingsSheet,
    caller: &Caller,
    section: SettingsSection,
    look: &SettingsQuery,
    typed: &BTreeMap<String, String>,
) -> Markup {
    let for_all = look.for_all(caller);
    let mine: Vec<_> = sheet.items.iter().filter(|setting| section.has_key(&setting.key)).collect();
    // The personality has an editor with versions above; for everybody it is a plain text.
    let shown = mine.into_iter().filter(|one| for_all || one.key != "prompt.instructions");
    let asked = ControlContext { for_all, typed };
    let shown: Vec<_> = shown.collect();
    let can = |setting: &&&weir_install::user_space::Setting| asked.may_set(setting);
    let any = shown.iter().any(|setting| can(&setting));
    let version = if for_all { sheet.house_version } else { sheet.version };
    html! {
        @if caller.is_admin() { (render_scopes(section, for_all)) }
        @if !shown.is_empty() {
            (post_form(caller, HERE, "settings", &html! {
                input type="hidden" name="section" value=(section.name);
                input type="hidden" name="for" value=(if for_all { "all" } else { "" });
                input type="hidden" name="version" value=(version);
                (render_group(&shown, &asked))
                @if any {
                    div.row.settings-save {
                        (submit_button(ButtonLook::Primary, "Save"))
                        span.hint { "Leave empty to inherit the value." }
                    }
                }
            }))
        }
    }
}

fn render_scopes(section: SettingsSection, for_all: bool) -> Markup {
    let link = |all: bool, word: &str| {
        let query = if all { "&for=all" } else { "" };
        html! {
            a.btn href={ (HERE) "?section=" (section.name) (query) }
                aria-current=[(all == for_all).then_some("true")] { (word) }
        }
    };
    html! {
        div.row.settings-scopes role="group" aria-label="For whom" {
            (link(false, "For me"))
            (link(true, "For everyone"))
        }
    }
}

async fn save_settings(
    owner: CallerSpace,
    Form(fields): Form<Vec<(String, String)>>,
) -> HandlerResult<Response> {
    let CallerSpace { caller, .. } = &owner;
    let typed: BTreeMap<String, String> = fields.into_iter().collect();
    let get = |name: &str| typed.get(name).cloned().unwrap_or_default();
    let look =
        SettingsQuery { section: get("section"), scope: get("for"), ..SettingsQuery::default() };
    match save_fields(&owner, &look, &typed).await {
        Ok(()) => {
            let scope = if look.for_all(caller) { "&for=all" } else { "" };
            let section = SettingsSection::find_section(&look.section, caller).name;
            let back = format!("{HERE}?section={section}{scope}&saved=1");
            Ok(Redirect::to(&back).into_response())
        }
        Err(problem) => {
            let status = problem.status_code();
            let said = render_refusal(&problem);
            let page = settings_page(&owner, &look, &said, &typed).await?;
            Ok((status, page).into_response())
        }
    }
}

/// What was not saved, and why.
fn render_refusal(problem: &ProblemDetails) -> Markup {
    html! {
        p.notice.bad role="alert" {
            strong { "Not saved: " }
            (problem.detail)
        }
    }
}

async fn save_fields(
    owner: &CallerSpace,
    look: &SettingsQuery,
    typed: &BTreeMap<String, String>,
) -> HandlerResult<()> {
    let CallerSpace { caller, space, .. } = owner;
    let for_all = look.for_all(caller);
    let sheet = space.settings_sheet().await?;
    let mut values: BTreeMap<String, Value> = BTreeMap::new();
    for (name, text) in typed {
        let Some(key) = name.strip_prefix("v:") else { continue };
        let Some(setting) = sheet.items.iter().find(|setting| setting.key == key) else {
            return Err(ProblemDetails::bad_request(format!("there is no setting {key}")));
        };
        let there = if for_all { setting.house.as_ref() } else { setting.own.as_ref() };
        let value = control::parse_value(setting, text);
        if value.as_ref() != there {
            values.insert(key.to_owned(), value.unwrap_or(Value::Null));
        }
    }
    let version = typed.get("version").and_then(|text| text.parse().ok());
    apply_settings_change(owner, &SettingsChange { for_all, version, values }).await
}
