//! The record of what was decided and done, to be searched and checked (G10, S10).

use axum::extract::{Query, State};
use maud::{Markup, html};
use serde_json::Value;
use weir_install::audit::AuditVerdict;

use crate::api::audit::{AuditQuery, PART, account_events, look};
use crate::app::App;
use crate::audit::AuditRow;
use crate::auth::accounts;
use crate::auth::events::AccountEvent;
use crate::guard::Caller;
use crate::problem::Answer;
use crate::route::Route;
use crate::web::parts::{badge, csrf, empty, field, moment, page_with};

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
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get(HERE, show),
        Route::post("/audit/verify", verify),
        Route::get("/audit/accounts", show_accounts),
    ]
}

async fn show(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
) -> Answer<Markup> {
    page_of(&app, &caller, &query, &html! {}).await
}

async fn verify(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    let verdict = app.home(&caller.person).await?.verify_audit().await?;
    page_of(&app, &caller, &AuditQuery::default(), &told(&verdict)).await
}

fn told(verdict: &AuditVerdict) -> Markup {
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

async fn page_of(app: &App, caller: &Caller, query: &AuditQuery, said: &Markup) -> Answer<Markup> {
    let part = look(app, caller, query, PART).await?;
    let people: Vec<String> = match caller.person.is_admin() {
        true => accounts::all(&app.doorman.shelf).await?.into_iter().map(|one| one.name).collect(),
        false => Vec::new(),
    };
    let is_own = query.person.is_empty() || query.person == caller.person.name;
    let body = html! {
        (top(caller, "lines", query))
        (said)
        (filter(query, &people))
        @if !is_own {
            p.notice.info {
                "Lines of " strong { (query.person) } ", without content: who decided what, under \
                 which rule."
            }
        }
        @if part.items.is_empty() {
            (empty(
                "No matching entries.",
                if part.next.is_some() { "There may be older matches: go on to older entries." } else { "Try other days, or clear a field." },
            ))
        } @else {
            (lines(app, &part.items, is_own))
        }
        nav.pager aria-label="Parts" {
            @if !query.before.is_empty() { a.btn href=(address(query, None)) { "Newest" } }
            @if let Some(next) = part.next { a.btn href=(address(query, Some(next))) rel="next" { "Older" } }
        }
    };
    Ok(page_with(caller, "Audit", HERE, &["pages/audit.css"], &body))
}

fn top(caller: &Caller, tab: &str, query: &AuditQuery) -> Markup {
    let export = address(query, None).replacen(HERE, "/api/v1/audit/export", 1);
    let here = |name: &str| (tab == name).then_some("page");
    html! {
        div.toolbar {
            h1 { "Audit" }
            form method="post" action="/audit/verify" {
                (csrf(caller))
                button.btn type="submit" { "Verify the chain" }
            }
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
fn address(query: &AuditQuery, before: Option<u64>) -> String {
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

fn filter(query: &AuditQuery, people: &[String]) -> Markup {
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
            (field("from", "From", "", &html! { input id="from" name="from" type="date" value=(query.from); }))
            (field("to", "To", "", &html! { input id="to" name="to" type="date" value=(query.to); }))
            (field("kind", "Kind", "", &select("kind", &query.kind, KINDS)))
            (field("verdict", "Verdict", "", &select("verdict", &query.verdict, &verdicts)))
            (field("tool", "Tool", "", &html! { input id="tool" name="tool" value=(query.tool) autocomplete="off"; }))
            (field("session", "Chat", "", &html! { input id="session" name="session" value=(query.session) autocomplete="off"; }))
            @if !people.is_empty() {
                (field("person", "Person", "", &select("person", &query.person, &people)))
            }
            button.btn.primary type="submit" { "Show" }
        }
    }
}

fn word<'a>(row: &'a AuditRow, name: &str) -> &'a str {
    row.fields[name].as_str().unwrap_or_default()
}

fn lines(app: &App, rows: &[AuditRow], is_own: bool) -> Markup {
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
                tbody { @for row in rows { (line(app, row, is_own)) } }
            }
        }
    }
}

fn line(app: &App, row: &AuditRow, is_own: bool) -> Markup {
    let verdict = word(row, "verdict");
    let reason = [word(row, "rule"), word(row, "reason")];
    let short: String = row.session.chars().take(12).collect();
    html! {
        tr {
            th.num scope="row" { (row.n) }
            td { (moment(row.ts, app.now())) }
            td {
                (word(row, "kind")) " "
                @if !word(row, "tool").is_empty() { code { (word(row, "tool")) } " " }
                @match verdict {
                    "allow" => { (badge("good", "allowed")) },
                    "ask" => { (badge("warn", "asked")) },
                    "deny" => { (badge("bad", "denied")) },
                    _ => {},
                }
                (more(row))
            }
            td {
                @if !word(row, "gate").is_empty() { (badge("", word(row, "gate"))) " " }
                @for text in reason.iter().filter(|text| !text.is_empty()) { span.audit-why { (text) } " " }
            }
            td { (word(row, "by")) }
            td {
                @if is_own {
                    a.mono href={ "/chats/" (row.session) "#e" (row.seq) } { (short) }
                } @else { span.mono { (short) } }
            }
        }
    }
}

/// More that a line says.
fn more(row: &AuditRow) -> Markup {
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
                        dd.mono { (weir_core::view::plain::visible(&plain(value))) }
                    }
                    dt { "hash" }
                    dd.mono { (row.hash) }
                }
            }
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), String::from)
}

async fn show_accounts(State(app): State<App>, caller: Caller) -> Answer<Markup> {
    let events = account_events(&app, &caller).await?;
    let body = html! {
        (top(&caller, "accounts", &AuditQuery::default()))
        @if events.is_empty() {
            (empty("No account events yet.", "Sign-ins, passwords, roles and settings for everyone appear here."))
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
            td { (moment(event.ts, app.now())) }
            th scope="row" { (event.what.replace('_', " ")) }
            td { (event.account) }
            td { (event.by) }
            td.mono { (event.address) }
            td { (event.detail) }
        }
    }
}
