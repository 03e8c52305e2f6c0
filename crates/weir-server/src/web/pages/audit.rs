//! The record of what was decided and done, to be searched and checked (G10, S10).

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde_json::Value;
use weir_install::audit::AuditVerdict;

use crate::api::audit::{AuditQuery, PART, account_events, read_audit_part};
use crate::app::App;
use crate::audit::AuditRow;
use crate::auth::accounts;
use crate::auth::events::AccountEvent;
use crate::caller::Caller;
use crate::problem::HandlerResult;
use crate::request::CallerSpace;
use crate::route::Route;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_badge, render_empty, render_field, render_moment};

const HERE: &str = "/audit";
/// Account events that are shown at once.
const EVENTS_MAX: usize = 200;
/// Kinds of lines, for people.
const KINDS: &[(&str, &str)] = &[
    ("call.judged", "calls checked"),
    ("call.finished", "calls finished"),
    ("approval.requested", "approvals requested"),
    ("approval.resolved", "approvals answered"),
    ("checkpoint.taken", "checkpoints"),
    ("alert.raised", "alerts"),
    ("limit.reached", "limits reached"),
    ("run.started", "runs started"),
    ("run.finished", "runs finished"),
    ("session.opened", "chats opened"),
    ("session.configured", "chats configured"),
    ("agent.spawned", "sub-agents started"),
    ("memory.written", "facts remembered"),
];

/// The routes of this file.
pub(crate) fn audit_page_routes() -> Vec<Route> {
    vec![
        Route::get(HERE, show_audit),
        Route::post("/audit/verify", verify_audit),
        Route::get("/audit/accounts", show_accounts),
    ]
}

async fn show_audit(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
) -> HandlerResult<Markup> {
    page_of(&app, &caller, &query, &html! {}).await
}

async fn verify_audit(CallerSpace { app, caller, space }: CallerSpace) -> HandlerResult<Markup> {
    let verdict = space.verify_audit().await?;
    page_of(&app, &caller, &AuditQuery::default(), &render_verdict(&verdict)).await
}

fn render_verdict(verdict: &AuditVerdict) -> Markup {
    let looked = format!(
        "{} audit lines and {} facts of {} chats were looked at.",
        verdict.lines, verdict.facts, verdict.sessions
    );
    html! {
        @if verdict.whole {
            p.notice.good role="status" {
                strong { "Verified. " } "Every line follows from the one before. " (looked)
            }
        } @else {
            div.notice.bad role="alert" {
                p { strong { "Verification failed. " } (looked) }
                ul { @for fault in &verdict.faults { li { (fault) } } }
            }
        }
    }
}

async fn page_of(
    app: &App,
    caller: &Caller,
    query: &AuditQuery,
    said: &Markup,
) -> HandlerResult<Markup> {
    let part = read_audit_part(app, caller, query, PART).await?;
    let people: Vec<String> = match caller.is_admin() {
        true => accounts::list_accounts(&app.auth.shelf)
            .await?
            .into_iter()
            .map(|one| one.name)
            .collect(),
        false => Vec::new(),
    };
    let is_own = query.person.is_empty() || query.person == caller.person.name;
    let body = html! {
        (render_audit_head(caller, "lines", query))
        (said)
        (render_filter(query, &people))
        @if !is_own {
            p.notice.info {
                "Lines of " strong { (query.person) } ", without content: who decided what, under \
                 which rule."
            }
        }
        @if part.items.is_empty() {
            (render_empty(
                "No matching entries.",
                if part.next.is_some() { "There may be older matches: go on to older entries." } else { "Try other days, or clear a field." },
            ))
        } @else {
            (render_lines(app, &part.items, is_own))
        }
        nav.pager aria-label="Parts" {
            @if !query.before.is_empty() { a.btn href=(audit_address(query, None)) { "Newest" } }
            @if let Some(next) = part.next { a.btn href=(audit_address(query, Some(next))) rel="next" { "Older" } }
        }
    };
    Ok(page_with(caller, "Audit", HERE, &["pages/audit.css"], &body))
}

fn render_audit_head(caller: &Caller, tab: &str, query: &AuditQuery) -> Markup {
    let export = audit_address(query, None).replacen(HERE, "/api/v1/audit/export", 1);
    let here = |name: &str| (tab == name).then_some("page");
    html! {
        div.toolbar {
            h1 { "Audit" }
            (post_form(caller, "/audit/verify", "", &html! {
                (submit_button(ButtonLook::Plain, "Verify the chain"))
            }))
            a.btn href=(export) download { "Export as JSONL" }
            a.btn.quiet href="/help?page=settings-in-the-browser#audit" { "Help" }
        }
        nav.tabs aria-label="Records" {
            ul {
                li { a href=(HERE) aria-current=[here("lines")] { "Decisions and effects" } }
                li { a href="/audit/accounts" aria-current=[here("accounts")] { "Accounts" } }
            }
        }
    }
}

/// The same look, elsewhere in the lines.
fn audit_address(query: &AuditQuery, before: Option<u64>) -> String {
    let mut pairs = url::form_urlencoded::Serializer::new(String::new());
    let fields = [
        ("person", &query.person),
        ("session", &query.session),
        ("tool", &query.tool),
        ("verdict", &query.verdict),
        ("kind", &query.kind),
        ("from", &query.from),
        ("to", &query.to),
    ];
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        pairs.append_pair(name, value);
    }
    if let Some(before) = before {
        pairs.append_pair("before", &before.to_string());
    }
    format!("{HERE}?{}", pairs.finish())
}

fn render_filter(query: &AuditQuery, people: &[String]) -> Markup {
    let select = |id: &str, now: &str, words: &[(&str, &str)]| {
        html! {
            select id=(id) name=(id) {
                option value="" selected[now.is_empty()] { "any" }
                @for (value, word) in words { option value=(value) selected[*value == now] { (word) } }
            }
        }
    };
    let verdicts = [("allow", "allowed"), ("ask", "asked"), ("deny", "denied")];
    let people: Vec<(&str, &str)> =
        people.iter().map(|name| (name.as_str(), name.as_str())).collect();
    html! {
        form.card.audit-filter method="get" action=(HERE) role="search" {
            (render_field("from", "From", "", &html! { input id="from" name="from" type="date" value=(query.from); }))
            (render_field("to", "To", "", &html! { input id="to" name="to" type="date" value=(query.to); }))
            (render_field("kind", "Kind", "", &select("kind", &query.kind, KINDS)))
            (render_field("verdict", "Verdict", "", &select("verdict", &query.verdict, &verdicts)))
            (render_field("tool", "Tool", "", &html! { input id="tool" name="tool" value=(query.tool) autocomplete="off"; }))
            (render_field("session", "Chat", "", &html! { input id="session" name="session" value=(query.session) autocomplete="off"; }))
            @if !people.is_empty() {
                (render_field("person", "Person", "", &select("person", &query.person, &people)))
            }
            (submit_button(ButtonLook::Primary, "Show"))
        }
    }
}

fn row_word<'a>(row: &'a AuditRow, name: &str) -> &'a str {
    row.fields[name].as_str().unwrap_or_default()
}

fn render_lines(app: &App, rows: &[AuditRow], is_own: bool) -> Markup {
    html! {
        div.table-wrap tabindex="0" role="region" aria-label="Audit lines" {
            table.audit {
                caption { "Newest first, at most " (PART) }
                thead {
                    tr {
                        th.num scope="col" { "Line" }
                        th scope="col" { "When" }
                        th scope="col" { "What" }
                        th scope="col" { "Reason" }
                        th scope="col" { "By" }
                        th scope="col" { "Chat" }
                    }
                }
                tbody { @for row in rows { (render_line(app, row, is_own)) } }
            }
        }
    }
}

fn render_line(app: &App, row: &AuditRow, is_own: bool) -> Markup {
    let verdict = row_word(row, "verdict");
    let reason = [row_word(row, "rule"), row_word(row, "reason")];
    let short: String = row.session.chars().take(12).collect();
    html! {
        tr {
            th.num scope="row" { (row.n) }
            td { (render_moment(row.ts, app.current_time())) }
            td {
                (row_word(row, "kind")) " "
                @if !row_word(row, "tool").is_empty() { code { (row_word(row, "tool")) } " " }
                @match verdict {
                    "allow" => { (render_badge("good", "allowed")) },
                    "ask" => { (render_badge("warn", "asked")) },
                    "deny" => { (render_badge("bad", "denied")) },
                    _ => {},
                }
                (render_more(row))
            }
            td {
                @if !row_word(row, "gate").is_empty() { (render_badge("", row_word(row, "gate"))) " " }
                @for text in reason.iter().filter(|text| !text.is_empty()) { span.audit-why { (text) } " " }
            }
            td { (row_word(row, "by")) }
            td {
                @if is_own {
                    a.mono href={ "/chats/" (row.session) "#e" (row.seq) } { (short) }
                } @else { span.mono { (short) } }
            }
        }
    }
}

/// More that a line says.
fn render_more(row: &AuditRow) -> Markup {
    const TOLD: &[&str] = &["kind", "tool", "verdict", "gate", "rule", "reason", "by"];
    let map = row.fields.as_object();
    let rest: Vec<(&String, &Value)> = map
        .into_iter()
        .flatten()
        .filter(|(name, value)| !TOLD.contains(&name.as_str()) && !value.is_null())
        .collect();
    html! {
        @if !rest.is_empty() {
            details {
                summary { "More" span.unseen { " of line " (row.n) } }
                dl.kv {
                    @for (name, value) in rest {
                        dt { (name) }
                        dd.mono { (weir_core::view::plain::visible_text(&plain_value(value))) }
                    }
                    dt { "hash" }
                    dd.mono { (row.hash) }
                }
            }
        }
    }
}

fn plain_value(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

async fn show_accounts(State(app): State<App>, caller: Caller) -> HandlerResult<Markup> {
    let events = account_events(&app, &caller).await?;
    let body = html! {
        (render_audit_head(&caller, "accounts", &AuditQuery::default()))
        @if events.is_empty() {
            (render_empty("No account events yet.", "Sign-ins, passwords, roles and settings for everyone appear here."))
        } @else {
            div.table-wrap tabindex="0" role="region" aria-label="Account events" {
                table {
                    caption { "Newest first, at most " (EVENTS_MAX) }
                    thead {
                        tr {
                            @for word in ["When", "What", "Account", "By", "From", "More"] {
                                th scope="col" { (word) }
                            }
                        }
                    }
                    tbody { @for event in events.iter().take(EVENTS_MAX) { (event_row(&app, event)) } }
                }
            }
        }
    };
    Ok(page_with(&caller, "Audit", HERE, &["pages/audit.css"], &body))
}

fn event_row(app: &App, event: &AccountEvent) -> Markup {
    html! {
        tr {
            td { (render_moment(event.ts, app.current_time())) }
            th scope="row" { (event.what.replace('_', " ")) }
            td { (event.account) }
            td { (event.by) }
            td.mono { (event.address) }
            td { (event.detail) }
        }
    }
}
