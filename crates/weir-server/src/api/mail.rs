//! Trigger accounts (S16): accounts of a person that are followed, and what their mails start.

use axum::Json;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;
use weir_install::mail::accounts::{self, AccountLine, Found};
use weir_install::seal::Seal;

use crate::app::App;
use crate::auth::events::{self, Doer};
use crate::guard::Caller;
use crate::problem::{Answer, Problem};
use crate::route::Route;

/// The routes of this file.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/mail", list)
            .summary("Your mail accounts and what their mails start")
            .gives::<Vec<AccountShown>>(200),
        Route::put("/api/v1/mail/{name}", keep)
            .summary(
                "Set a mail account up, or change it; the password goes in and never comes out",
            )
            .body::<NewAccount>()
            .gives::<AccountShown>(200),
        Route::delete("/api/v1/mail/{name}", remove)
            .summary("Take a mail account away")
            .gives_nothing(204),
        Route::post("/api/v1/mail/{name}/check", check)
            .summary("Sign in at the servers of a mail account, to see whether it works")
            .gives_nothing(204),
    ]
}

/// A mail account and how it stands.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AccountShown {
    /// What is set.
    #[serde(flatten)]
    pub(crate) line: AccountLine,
    /// `off`, `followed`, `failing`, `elsewhere` (another replica follows it, or it was not begun).
    pub(crate) state: &'static str,
    /// Why it fails; empty: it does not.
    pub(crate) why: String,
    /// Since when, in microseconds since 1970; 0: nobody knows.
    #[schemars(with = "i64")]
    pub(crate) since: Timestamp,
}

/// An account as it is set.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct NewAccount {
    /// What is set. Its name is that of the address.
    #[serde(flatten)]
    line: AccountLine,
    /// Its password; without it the account keeps the one it has.
    #[serde(default)]
    password: Option<String>,
}

/// How an account stands here.
pub(crate) fn shown(app: &App, found: Found) -> AccountShown {
    let standing = app.mail.of(&found.owner, &found.line.name);
    let since = standing.as_ref().map(|standing| standing.since).unwrap_or_default();
    let (state, why) =
        match (found.line.enabled, standing.and_then(|s| s.why.map(Some).or(Some(None)))) {
            (false, _) => ("off", String::new()),
            (true, None) => ("elsewhere", String::new()),
            (true, Some(None)) => ("followed", String::new()),
            (true, Some(Some(why))) => ("failing", why),
        };
    AccountShown { line: found.line, state, why, since }
}

async fn list(State(app): State<App>, caller: Caller) -> Answer<Json<Vec<AccountShown>>> {
    let found = accounts::all(app.records.as_ref(), Some(&caller.person.id), app.now()).await?;
    Ok(Json(found.into_iter().map(|found| shown(&app, found)).collect()))
}

/// Keeps an account and notes that it was changed.
pub(crate) async fn set(
    app: &App,
    caller: &Caller,
    line: AccountLine,
    password: Option<&str>,
) -> Answer<()> {
    let seal = Seal::new(&app.house.seal_key()?)?;
    let name = line.name.clone();
    let records = app.records.as_ref();
    accounts::keep((records, &seal), &caller.person, line, password, app.now()).await?;
    app.home(&caller.person).await?.renew();
    let by = caller.by();
    let what = ("mail_account_set", by.as_str());
    events::note(&app.doorman.shelf, Doer { by: &by, address: None }, what, &name).await
}

async fn keep(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
    Json(new): Json<NewAccount>,
) -> Answer<Json<AccountShown>> {
    if new.line.name != name {
        return Err(Problem::bad("the name in the body is another than that of the address"));
    }
    set(&app, &caller, new.line, new.password.as_deref()).await?;
    let found = accounts::find(app.records.as_ref(), &caller.person.id, &name, app.now()).await?;
    Ok(Json(shown(&app, found)))
}

async fn remove(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    taken_away(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Takes an account away and notes it.
pub(crate) async fn taken_away(app: &App, caller: &Caller, name: &str) -> Answer<()> {
    accounts::remove(app.records.as_ref(), &caller.person.id, name, app.now()).await?;
    app.home(&caller.person).await?.renew();
    let by = caller.by();
    let what = ("mail_account_removed", by.as_str());
    events::note(&app.doorman.shelf, Doer { by: &by, address: None }, what, name).await
}

/// Signs in at the servers of an account.
pub(crate) async fn checked(app: &App, caller: &Caller, name: &str) -> Answer<()> {
    let now = app.now();
    let found = accounts::find(app.records.as_ref(), &caller.person.id, name, now).await?;
    let account = found.account(&Seal::new(&app.house.seal_key()?)?)?;
    weir_install::mail::check_account(&account, &found.line.folder).await?;
    Ok(())
}

async fn check(
    State(app): State<App>,
    caller: Caller,
    Path(name): Path<String>,
) -> Answer<StatusCode> {
    checked(&app, &caller, &name).await?;
    Ok(StatusCode::NO_CONTENT)
}
