//! The record of what was decided and done (G10).

use axum::Json;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Response};
use http::header;
use serde::Deserialize;
use weir_install::audit::AuditVerdict;
use weir_install::people::Person;

use crate::app::App;
use crate::audit::{self, AuditFilter, AuditPart, AuditRow};
use crate::auth::accounts;
use crate::auth::events::{self, AccountEvent};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::route::Route;

/// Lines of one part.
pub(crate) const PART: usize = 100;
/// Lines that one export has at most.
const EXPORT_MAX: usize = 100_000;

/// The routes of this file.
pub(crate) fn audit_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/audit", list_audit_lines)
            .summary("Audit lines, the newest first, a hundred at a time")
            .query::<AuditQuery>()
            .gives_json::<AuditPart>(200),
        Route::get("/api/v1/audit/verify", verify_audit)
            .summary("Whether journals and audit lines are as they were written")
            .gives_json::<AuditVerdict>(200),
        Route::get("/api/v1/audit/export", export_audit_lines)
            .summary("The lines that a filter holds, oldest first, one JSON object a line")
            .query::<AuditQuery>()
            .gives_as::<String>(200, "application/jsonl"),
        Route::get("/api/v1/audit/accounts", accounts_of)
            .summary("What happened to accounts: one's own; of everybody for admins")
            .gives_json::<Vec<AccountEvent>>(200),
    ]
}

/// A filter of audit lines, and the person whose lines they are.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct AuditQuery {
    /// The lines of this person, by name; of another than oneself only for admins, and then without
    /// content. Empty: one's own.
    #[serde(default)]
    pub(crate) person: String,
    /// Only of this session.
    #[serde(default)]
    pub(crate) session: String,
    /// Only about this tool.
    #[serde(default)]
    pub(crate) tool: String,
    /// Only with this verdict: allow, ask or deny.
    #[serde(default)]
    pub(crate) verdict: String,
    /// Only of this kind: `call.judged`, `approval.resolved`, …
    #[serde(default)]
    pub(crate) kind: String,
    /// Only from this day on, UTC: `2026-01-02`.
    #[serde(default)]
    pub(crate) from: String,
    /// Only to this day, UTC.
    #[serde(default)]
    pub(crate) to: String,
    /// Only lines with a smaller number: the `next` of the part before. Empty: from the newest on.
    #[serde(default)]
    pub(crate) before: String,
}

impl AuditQuery {
    fn to_audit_filter(&self) -> HandlerResult<AuditFilter> {
        for (name, text) in [("from", &self.from), ("to", &self.to)] {
            if !text.is_empty() && text.parse::<jiff::civil::Date>().is_err() {
                let why = format!("{name} is {text:?}, which is no day: write 2026-01-31");
                return Err(ProblemDetails::bad_request(why));
            }
        }
        let before = match self.before.as_str() {
            "" => None,
            text => Some(text.parse().map_err(|_| {
                ProblemDetails::bad_request(format!(
                    "before is {text:?}, which is no number of a line"
                ))
            })?),
        };
        Ok(AuditFilter {
            session: self.session.trim().to_owned(),
            tool: self.tool.trim().to_owned(),
            verdict: self.verdict.clone(),
            kind: self.kind.trim().to_owned(),
            from: self.from.clone(),
            to: self.to.clone(),
            before,
        })
    }
}

/// Whose lines are asked for; another's only by an admin.
async fn find_audited_person(app: &App, caller: &Caller, name: &str) -> HandlerResult<Person> {
    if name.is_empty() || name == caller.person.name {
        return Ok(caller.person.clone());
    }
    // The same answer whether the name exists or not: names are nobody else's business.
    if !caller.is_admin() {
        return Err(ProblemDetails::not_found(format!("a person {name:?}")));
    }
    let found = accounts::by_name(&app.auth.shelf, name).await?;
    found.ok_or_else(|| ProblemDetails::not_found(format!("a person {name:?}")))
}

/// The part that `query` asks for, `limit` lines at most.
pub(crate) async fn read_audit_part(
    app: &App,
    caller: &Caller,
    query: &AuditQuery,
    limit: usize,
) -> HandlerResult<AuditPart> {
    let filter = query.to_audit_filter()?;
    let person = find_audited_person(app, caller, query.person.trim()).await?;
    let store = app.user_space(&person).await?.store();
    let mut part = audit::read_part(store.as_ref(), &filter, limit).await?;
    if person.id != caller.person.id {
        part.items = part.items.into_iter().map(AuditRow::without_content).collect();
    }
    Ok(part)
}

async fn list_audit_lines(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
) -> HandlerResult<Json<AuditPart>> {
    Ok(Json(read_audit_part(&app, &caller, &query, PART).await?))
}

async fn verify_audit(CallerSpace { space, .. }: CallerSpace) -> HandlerResult<Json<AuditVerdict>> {
    Ok(Json(space.verify_audit().await?))
}

async fn export_audit_lines(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<AuditQuery>,
) -> HandlerResult<Response> {
    let mut query = query;
    let mut rows = Vec::new();
    loop {
        let part = read_audit_part(&app, &caller, &query, PART.saturating_mul(10)).await?;
        rows.extend(part.items);
        let Some(next) = part.next.filter(|_| rows.len() < EXPORT_MAX) else { break };
        query.before = next.to_string();
    }
    rows.truncate(EXPORT_MAX);
    let mut text = String::new();
    for row in rows.iter().rev() {
        text.push_str(&serde_json::to_string(row).map_err(ProblemDetails::internal_failure)?);
        text.push('\n');
    }
    let headers = [
        (header::CONTENT_TYPE, "application/jsonl; charset=utf-8"),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"audit.jsonl\""),
    ];
    Ok((headers, text).into_response())
}

async fn accounts_of(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<Vec<AccountEvent>>> {
    Ok(Json(account_events(&app, &caller).await?))
}

/// What happened to accounts, the newest first: one's own, or everybody's.
pub(crate) async fn account_events(app: &App, caller: &Caller) -> HandlerResult<Vec<AccountEvent>> {
    let account = (!caller.is_admin()).then_some(caller.person.name.as_str());
    let mut all = events::list_events(&app.auth.shelf, account).await?;
    all.reverse();
    Ok(all)
}
