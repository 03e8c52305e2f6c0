//! Hosts and recipients that need no asking (S9).

use axum::extract::Path;
use axum::response::Redirect;
use maud::{Markup, html};
use weir_install::lists::{self, AllowListEntry, ListKind};

use super::HERE;
use crate::api::settings::{LISTS_PAGE, NewAllowed, list_named, take_off_list};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::request::body::SentBody;
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{render_badge, render_empty, render_moment};

pub(super) async fn remove(
    owner: CallerSpace,
    Path(name): Path<String>,
    SentBody(old): SentBody<NewAllowed>,
) -> HandlerResult<Redirect> {
    take_off_list(&owner, list_named(&name)?, old.for_all, &old.value).await?;
    Ok(Redirect::to(LISTS_PAGE))
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
             lists are changed on this page only: no file and no agent can. "
            a href=(super::rules::RULES_PAGE) { "Permission rules and trusted folders" }
            " have a page of their own."
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
    what: "Addresses that agents may send mail to. An admin is asked about each mail to anybody else; other \
           people's agents send none.",
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
            (post_form(caller, html! { (HERE) "/lists/" (name) }, "row", &html! {
                label.unseen for=(id) { (told.label) }
                input.settings-entry id=(id) name="value" required maxlength="253"
                    autocomplete="off" placeholder=(told.example);
                @if caller.is_admin() {
                    label {
                        input type="checkbox" name="for_all" value="true";
                        "for everyone"
                    }
                }
                (submit_button(ButtonLook::Primary, "Add"))
            }))
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
        (data_table(&DataTable {
            region: None,
            caption: html! { (told.title) " that need no asking" },
            caption_seen: true,
            columns: &[
                TableColumn::Text(told.label), TableColumn::Text("For"),
                TableColumn::Text("Added"), TableColumn::Unseen("Change"),
            ],
            rows: html! {
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
            },
        }))
    }
}

fn remove_button(caller: &Caller, name: &str, allowed: &AllowListEntry) -> Markup {
    let is_theirs = !allowed.for_all || caller.is_admin();
    html! {
        @if is_theirs {
            (post_form(caller, html! { (HERE) "/lists/" (name) "/remove" }, "", &html! {
                input type="hidden" name="value" value=(allowed.value);
                @if allowed.for_all { input type="hidden" name="for_all" value="true"; }
                (submit_button(ButtonLook::Quiet, html! {
                    "Remove" span.unseen { " " (allowed.value) }
                }))
            }))
        }
    }
}
