//! Hosts and recipients that need no asking (S9).

use axum::Form;
use axum::extract::{Path, State};
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::lists::{self, Allowed, ListKind};

use super::HERE;
use crate::api::settings::{list_named, put_on_list, take_off_list};
use crate::app::App;
use crate::guard::Caller;
use crate::problem::Answer;
use crate::web::parts::{badge, csrf, empty, moment};

#[derive(Debug, Deserialize)]
pub(super) struct Entered {
    value: String,
    #[serde(default)]
    for_all: String,
}

impl Entered {
    fn for_all(&self) -> bool {
        self.for_all == "true"
    }
}

pub(super) async fn add(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(entered): Form<Entered>,
) -> Answer<Redirect> {
    let list = (list_named(&name)?, entered.for_all());
    put_on_list(&app, &caller, list, &entered.value).await?;
    Ok(Redirect::to(&format!("{HERE}?section=lists&saved=1")))
}

pub(super) async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Form(entered): Form<Entered>,
) -> Answer<Redirect> {
    let list = (list_named(&name)?, entered.for_all());
    take_off_list(&app, &caller, list, &entered.value).await?;
    Ok(Redirect::to(&format!("{HERE}?section=lists&saved=1")))
}

/// Both lists.
pub(super) async fn section(app: &App, caller: &Caller) -> Answer<Markup> {
    let person = &caller.person.id;
    let records = app.records.as_ref();
    let hosts = lists::all(records, ListKind::Hosts, person, app.now()).await?;
    let recipients = lists::all(records, ListKind::Recipients, person, app.now()).await?;
    let shown = |name: &str, what: &Told, all: &[Allowed]| one(app, caller, (name, what), all);
    Ok(html! {
        p {
            "What stands here passes without asking; everything else asks or is refused. These \
             lists are changed on this page only: no file and no agent can."
        }
        (shown("hosts", &HOSTS, &hosts))
        (shown("recipients", &RECIPIENTS, &recipients))
    })
}

struct Told {
    title: &'static str,
    what: &'static str,
    label: &'static str,
    example: &'static str,
}

const HOSTS: Told = Told {
    title: "Hosts",
    what: "Web hosts that agents may read without asking. Deny rules still apply.",
    label: "Host",
    example: "docs.rs or *.example.org",
};

const RECIPIENTS: Told = Told {
    title: "Recipients",
    what: "Addresses that agents may send mail to. Nobody else gets mail.",
    label: "Address",
    example: "ann@example.org or @example.org",
};

fn one(app: &App, caller: &Caller, (name, told): (&str, &Told), all: &[Allowed]) -> Markup {
    let id = format!("add-{name}");
    html! {
        section.card aria-labelledby={ "title-" (name) } {
            h2 id={ "title-" (name) } { (told.title) }
            p.muted { (told.what) }
            @if all.is_empty() {
                (empty("This list is empty.", "Add the first entry below."))
            } @else {
                (table(app, caller, (name, told), all))
            }
            form.row method="post" action={ (HERE) "/lists/" (name) } {
                (csrf(caller))
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

fn table(app: &App, caller: &Caller, (name, told): (&str, &Told), all: &[Allowed]) -> Markup {
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
                                @if allowed.for_all { (badge("info", "everybody")) }
                                @else { (badge("", "you")) }
                            }
                            td { "by " (allowed.by) ", " (moment(allowed.ts, app.now())) }
                            td { (remove_button(caller, name, allowed)) }
                        }
                    }
                }
            }
        }
    }
}

fn remove_button(caller: &Caller, name: &str, allowed: &Allowed) -> Markup {
    let is_theirs = !allowed.for_all || caller.person.is_admin();
    html! {
        @if is_theirs {
            form method="post" action={ (HERE) "/lists/" (name) "/remove" } {
                (csrf(caller))
                input type="hidden" name="value" value=(allowed.value);
                @if allowed.for_all { input type="hidden" name="for_all" value="true"; }
                button.btn.quiet type="submit" {
                    "Remove" span.unseen { " " (allowed.value) }
                }
            }
        }
    }
}
