//! Hosts and recipients that need no asking (S9).

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::lists::{self, AllowListEntry, ListKind};

use super::HERE;
use crate::api::settings::{list_named, put_on_list, take_off_list};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::web::parts::{csrf_input, render_badge, render_empty, render_moment};

#[derive(Debug, Deserialize)]
pub(super) struct ListEntryForm {
    value: String,
    #[serde(default)]
    for_all: String,
}

impl ListEntryForm {
    fn for_all(&self) -> bool {
        self.for_all == "true"
    }
}

pub(super) async fn add_list_entry(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(entered): Form<ListEntryForm>,
) -> HandlerResult<Redirect> {
    put_on_list(&app, &caller, list_named(&name)?, entered.for_all(), &entered.value).await?;
    Ok(Redirect::to(&format!("{HERE}?section=lists&saved=1")))
}

pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(entered): Form<ListEntryForm>,
) -> HandlerResult<Redirect> {
    take_off_list(&app, &caller, list_named(&name)?, entered.for_all(), &entered.value).await?;
    Ok(Redirect::to(&format!("{HERE}?section=lists&saved=1")))
}

/// Both lists.
pub(super) async fn lists_section(app: &App, caller: &Caller) -> HandlerResult<Markup> {
    let person = &caller.person.id;
    let records = app.records.as_ref();
    let hosts = lists::list_entries(records, ListKind::Hosts, person, app.current_time()).await?;
    let recipients =
        lists::list_entries(records, ListKind::Recipients, person, app.current_time()).await?;
    let shown = |name: &str, what: &ListTexts, all: &[AllowListEntry]| {
        render_list(app, caller, name, what, all)
    };
    Ok(html! {
        p {
            "What stands here passes without asking; everything else asks or is refused. These \
             lists are changed on this page only: no file and no agent can."
        }
        (shown("hosts", &HOSTS, &hosts))
        (shown("recipients", &RECIPIENTS, &recipients))
    })
}

struct ListTexts {
    title: &'static str,
    what: &'static str,
    label: &'static str,
    example: &'static str,
}

const HOSTS: ListTexts = ListTexts {
    title: "Hosts",
    what: "Web hosts that agents may read without asking. Deny rules still apply.",
    label: "Host",
    example: "docs.rs or *.example.org",
};

const RECIPIENTS: ListTexts = ListTexts {
    title: "Recipients",
    what: "Addresses that agents may send mail to. Nobody else gets mail.",
    label: "Address",
    example: "ann@example.org or @example.org",
};

fn render_list(
    app: &App,
    caller: &Caller,
    name: &str,
    told: &ListTexts,
    all: &[AllowListEntry],
) -> Markup {
    let id = format!("add-{name}");
    html! {
        section.card aria-labelledby={ "title-" (name) } {
            h2 id={ "title-" (name) } { (told.title) }
            p.muted { (told.what) }
            @if all.is_empty() {
                (render_empty("This list is empty.", "Add the first entry below."))
            } @else {
                (render_list_table(app, caller, name, told, all))
            }
            form.row method="post" action={ (HERE) "/lists/" (name) } {
                (csrf_input(caller))
                label.unseen for=(id) { (told.label) }
                input.settings-entry id=(id) name="value" required maxlength="253"
                    autocomplete="off" placeholder=(told.example);
                @if caller.person.is_admin() {
                    label {
                        input type="checkbox" name="for_all" value="true";
                        "for everyone"
                    }
                }
                button.btn.primary type="submit" { "Add" }
            }
        }
    }
}

fn render_list_table(
    app: &App,
    caller: &Caller,
    name: &str,
    told: &ListTexts,
    all: &[AllowListEntry],
) -> Markup {
    html! {
        div.table-wrap tabindex="0" {
            table {
                caption { (told.title) " that need no asking" }
                thead {
                    tr {
                        th scope="col" { (told.label) }
                        th scope="col" { "For" }
                        th scope="col" { "Added" }
                        th scope="col" { span.unseen { "Change" } }
                    }
                }
                tbody {
                    @for allowed in all {
                        tr {
                            th scope="row" { span.mono { (allowed.value) } }
                            td {
                                @if allowed.for_all { (render_badge("info", "everybody")) }
                                @else { (render_badge("", "you")) }
                            }
                            td { "by " (allowed.by) ", " (render_moment(allowed.ts, app.current_time())) }
                            td { (remove_button(caller, name, allowed)) }
                        }
                    }
                }
            }
        }
    }
}

fn remove_button(caller: &Caller, name: &str, allowed: &AllowListEntry) -> Markup {
    let is_theirs = !allowed.for_all || caller.person.is_admin();
    html! {
        @if is_theirs {
            form method="post" action={ (HERE) "/lists/" (name) "/remove" } {
                (csrf_input(caller))
                input type="hidden" name="value" value=(allowed.value);
                @if allowed.for_all { input type="hidden" name="for_all" value="true"; }
                button.btn.quiet type="submit" {
                    "Remove" span.unseen { " " (allowed.value) }
                }
            }
        }
    }
}
