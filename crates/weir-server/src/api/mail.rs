//! Trigger accounts (S16): accounts of a person that are followed, and what their mails start.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_install::mail::accounts::{self, AccountLine, MailAccountDraft, MailAccountEntry};
use weir_install::seal::SecretSeal;

use crate::app::App;
use crate::auth::events::{self, EventActor};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::ReplyTo;
use crate::route::Route;

/// The page of these accounts.
const PAGE: &str = "/mail";

/// The routes of this file.
pub(crate) fn mail_api_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/mail", list_mail_accounts)
            .summary("Your mail accounts and what their mails start")
            .gives_json::<Vec<MailAccountStatus>>(200),
        Route::put("/api/v1/mail/{name}", put_mail_account)
            .summary(
                "Set a mail account up, or change it; the password goes in and never comes out",
            )
            .body::<NewAccount>()
            .gives_json::<MailAccountStatus>(200),
        Route::delete("/api/v1/mail/{name}", remove)
            .summary("Take a mail account away")
            .gives_nothing(204),
        Route::post("/api/v1/mail/{name}/check", post_mail_check)
            .summary("Sign in at the servers of a mail account, to see whether it works")
            .gives_nothing(204),
    ]
}

/// A mail account and how it stands.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MailAccountStatus {
    /// What is set.
    #[serde(flatten)]
    pub(crate) line: AccountLine,
    /// `off`, `followed`, `failing`, `elsewhere` (another replica follows it, or it was not begun).
    pub(crate) state: &'static str,
    /// Why it fails; empty: it does not.
    pub(crate) why: String,
    /// Since when (UTC); the start of 1970 where nobody knows.
    pub(crate) since: Timestamp,
}

/// An account as it is set.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct NewAccount {
    /// What is set. Its name is that of the address.
    #[serde(flatten)]
    line: AccountLine,
    /// Its password; without it the account keeps the one it has.
    #[serde(default)]
    password: Option<String>,
}

/// How an account stands here.
pub(crate) fn mail_account_status(app: &App, found: MailAccountEntry) -> MailAccountStatus {
    let standing = app.mail.status_of(&found.owner, &found.line.name);
    let since = standing.as_ref().map(|standing| standing.since).unwrap_or_default();
    let (state, why) =
        match (found.line.enabled, standing.and_then(|s| s.why.map(Some).or(Some(None)))) {
            (false, _) => ("off", String::new()),
            (true, None) => ("elsewhere", String::new()),
            (true, Some(None)) => ("followed", String::new()),
            (true, Some(Some(why))) => ("failing", why),
        };
    MailAccountStatus { line: found.line, state, why, since }
}

async fn list_mail_accounts(
    State(app): State<App>,
    caller: Caller,
) -> HandlerResult<Json<Vec<MailAccountStatus>>> {
    let found = accounts::list_mail_accounts(
        app.records.as_ref(),
        Some(&caller.person.id),
        app.current_time(),
    )
    .await?;
    Ok(Json(found.into_iter().map(|found| mail_account_status(&app, found)).collect()))
}

/// Keeps an account and notes that it was changed.
pub(crate) async fn set_mail_account(
    owner: &CallerSpace,
    line: AccountLine,
    password: Option<&str>,
) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    let seal = SecretSeal::new(&app.installation.seal_key()?)?;
    let name = line.name.clone();
    let records = app.records.as_ref();
    let draft = MailAccountDraft { line, password };
    accounts::store_mail_account(records, &seal, &caller.person, draft, app.current_time()).await?;
    space.renew();
    let by = caller.journal_name();
    events::record_event(
        &app.auth.shelf,
        EventActor { by: &by, address: None },
        "mail_account_set",
        &caller.person.name,
        &name,
    )
    .await
}

async fn put_mail_account(
    owner: CallerSpace,
    Path(name): Path<String>,
    Json(new): Json<NewAccount>,
) -> HandlerResult<Json<MailAccountStatus>> {
    let CallerSpace { app, caller, .. } = &owner;
    if new.line.name != name {
        return Err(ProblemDetails::bad_request(
            "the name in the body is another than that of the address",
        ));
    }
    set_mail_account(&owner, new.line, new.password.as_deref()).await?;
    let found = accounts::find_mail_account(
        app.records.as_ref(),
        &caller.person.id,
        &name,
        app.current_time(),
    )
    .await?;
    Ok(Json(mail_account_status(app, found)))
}

pub(crate) async fn remove(
    owner: CallerSpace,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let done = taken_away(&owner, &name).await.map(|()| StatusCode::NO_CONTENT);
    reply.noted_or_problem(PAGE, "The account was removed.", done)
}

/// Takes an account away and notes it.
async fn taken_away(owner: &CallerSpace, name: &str) -> HandlerResult<()> {
    let CallerSpace { app, caller, space } = owner;
    accounts::remove(app.records.as_ref(), &caller.person.id, name, app.current_time()).await?;
    space.renew();
    let by = caller.journal_name();
    events::record_event(
        &app.auth.shelf,
        EventActor { by: &by, address: None },
        "mail_account_removed",
        &caller.person.name,
        name,
    )
    .await
}

/// Signs in at the servers of an account.
async fn check_mail_account(app: &App, caller: &Caller, name: &str) -> HandlerResult<()> {
    let now = app.current_time();
    let found =
        accounts::find_mail_account(app.records.as_ref(), &caller.person.id, name, now).await?;
    let account = found.open_account(&SecretSeal::new(&app.installation.seal_key()?)?)?;
    weir_install::mail::check_account(&account, &found.line.folder).await?;
    Ok(())
}

pub(crate) async fn post_mail_check(
    State(app): State<App>,
    caller: Caller,
    reply: ReplyTo,
    Path(name): Path<String>,
) -> HandlerResult<Response> {
    let done = check_mail_account(&app, &caller, &name).await.map(|()| StatusCode::NO_CONTENT);
    reply.noted_or_problem(PAGE, "Both servers accepted the account.", done)
}
