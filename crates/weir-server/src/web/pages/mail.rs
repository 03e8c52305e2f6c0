//! Trigger accounts (S16): set up, checked, and what their mails start. Not here: what is done with
//! a mail (`mail`).

use axum::Form;
use axum::extract::{Path, Query, State};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use maud::{Markup, html};
use serde::Deserialize;
use weir_engine::ports::MailSecurity;
use weir_engine::schedule::load_known_agents;
use weir_install::mail::accounts::{self, AccountLine, ServerLine};
use weir_install::mail::rules::MailRule;

use crate::api::mail::{self as api, MailAccountStatus, mail_account_status, set_mail_account};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::redirect_with;
use crate::route::Route;
use crate::web::controls::{ButtonLook, csrf_input, post_form, submit_button};
use crate::web::parts::{framed_page, render_badge, render_empty, render_field, render_moment};

/// This page.
const HERE: &str = "/mail";
/// Empty rows for new rules.
const NEW_RULES: usize = 2;

/// The routes of this file.
pub(crate) fn mail_page_routes() -> Vec<Route> {
    vec![
        Route::get(HERE, show_mail_accounts),
        Route::get("/mail-new", show_blank_form),
        Route::post("/mail-new", add_account),
        Route::get("/mail/{name}", show_edit_form),
        Route::post("/mail/{name}", change_account),
        Route::post("/mail/{name}/check", api::post_mail_check),
        Route::post("/mail/{name}/remove", api::remove),
    ]
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct MailPageNotes {
    note: String,
    problem: String,
}

async fn show_mail_accounts(
    State(app): State<App>,
    caller: Caller,
    Query(told): Query<MailPageNotes>,
) -> HandlerResult<Markup> {
    let now = app.current_time();
    let found =
        accounts::list_mail_accounts(app.records.as_ref(), Some(&caller.person.id), now).await?;
    let all: Vec<MailAccountStatus> =
        found.into_iter().map(|found| mail_account_status(&app, found)).collect();
    let body = html! {
        div.toolbar {
            h1 { "Mail" }
            a.btn.primary href="/mail-new" { "New account" }
        }
        p.muted { "Mail that fits a rule starts one of your agents. What it says reaches the agent \
            as somebody else's words: it can ask for anything and decides nothing." }
        (render_notes(&told))
        @if all.is_empty() {
            (render_empty("No mail accounts yet.", "“New account” sets one up: Weir reads it, and \
                changes nothing in it."))
        } @else {
            div.grid { @for one in &all { (render_account(&caller, one, now)) } }
        }
    };
    Ok(framed_page(&caller, "Mail", HERE, &body))
}

fn render_notes(told: &MailPageNotes) -> Markup {
    html! {
        @if !told.note.is_empty() { p.notice.good role="status" { (told.note) } }
        @if !told.problem.is_empty() { p.notice.bad role="alert" { (told.problem) } }
    }
}

fn render_account(
    caller: &Caller,
    one: &MailAccountStatus,
    now: weir_core::ids::Timestamp,
) -> Markup {
    let line = &one.line;
    let (kind, word) = match one.state {
        "followed" => ("good", "followed"),
        "failing" => ("bad", "failing"),
        "off" => ("", "off"),
        _ => ("info", "watched elsewhere"),
    };
    html! {
        section.card.stack aria-labelledby={ "account-" (line.name) } {
            h2 id={ "account-" (line.name) } { a href={ "/mail/" (line.name) } { (line.name) } }
            p {
                (line.address) " " (render_badge(kind, word))
                @if line.tool { " " (render_badge("info", "email tool")) }
            }
            @if !one.why.is_empty() {
                p.notice.bad { (one.why) " (" (render_moment(one.since, now)) ")" }
            }
            @if line.rules.is_empty() { p.muted { "No rules: incoming mail starts nothing." } }
            @else {
                ul { @for rule in &line.rules { li { (told_rule(rule)) } } }
            }
            div.row {
                (post_form(caller, html! { "/mail/" (line.name) "/check" }, "", &html! {
                    (submit_button(ButtonLook::Plain, html! {
                        "Check" span.unseen { " " (line.name) }
                    }))
                }))
                a.btn href={ "/mail/" (line.name) } { "Change" span.unseen { " " (line.name) } }
            }
        }
    }
}

/// A rule in words.
fn told_rule(rule: &MailRule) -> String {
    let from = if rule.from.is_empty() { "anybody".into() } else { rule.from.clone() };
    let about = match rule.subject.as_str() {
        "" => String::new(),
        subject => format!(" about “{subject}”"),
    };
    let unchecked = if rule.unchecked { ", checked or not" } else { ", if the sender was checked" };
    let answers = if rule.answers { ", which may answer once" } else { "" };
    format!("From {from}{about}{unchecked}: starts {}{answers}", rule.agent)
}

async fn show_blank_form(owner: CallerSpace) -> HandlerResult<Markup> {
    let line = AccountLine {
        name: String::new(),
        address: String::new(),
        imap: ServerLine { host: String::new(), port: 993, security: MailSecurity::Tls },
        smtp: None,
        user: String::new(),
        folder: "INBOX".into(),
        receiver: String::new(),
        enabled: true,
        tool: false,
        rules: Vec::new(),
    };
    account_form(&owner, &line, None, &MailPageNotes::default()).await
}

async fn show_edit_form(
    owner: CallerSpace,
    Path(name): Path<String>,
    Query(told): Query<MailPageNotes>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, .. } = &owner;
    let found = accounts::find_mail_account(
        app.records.as_ref(),
        &caller.person.id,
        &name,
        app.current_time(),
    )
    .await?;
    account_form(&owner, &found.line, Some(&name), &told).await
}

/// The form of an account; `there`: its name, if it exists.
async fn account_form(
    owner: &CallerSpace,
    line: &AccountLine,
    there: Option<&str>,
    told: &MailPageNotes,
) -> HandlerResult<Markup> {
    let CallerSpace { caller, space, .. } = owner;
    let (agents, _) = load_known_agents(space.store().as_ref()).await?;
    let agents: Vec<String> = agents.into_keys().collect();
    let title = there.map_or("New mail account".to_owned(), |name| format!("Mail account {name}"));
    let action = there.map_or("/mail-new".to_owned(), |name| format!("/mail/{name}"));
    let body = html! {
        h1 { (title) }
        (render_notes(told))
        (post_form(caller, &action, "stack", &html! {
            (account_card(line, there))
            div.grid {
                (server_card("imap", "Fetching mail (IMAP)", Some(&line.imap)))
                (server_card("smtp", "Sending mail (SMTP)", line.smtp.as_ref()))
            }
            (rules_card(line, &agents))
            div.row {
                (submit_button(ButtonLook::Primary, "Save"))
                a.btn.quiet href=(HERE) { "Back" }
            }
        }))
        @if let Some(name) = there {
            form method="post" action={ "/mail/" (name) "/remove" }
                data-confirm="Remove this account? Your mail stays on its server." {
                (csrf_input(caller))
                (submit_button(ButtonLook::Danger, "Remove account"))
            }
        }
    };
    Ok(framed_page(caller, &title, HERE, &body))
}

fn account_card(line: &AccountLine, there: Option<&str>) -> Markup {
    let name = html! { input id="name" name="name" required pattern="[a-z0-9\\-]{1,32}"
    value=(line.name) readonly[there.is_some()] aria-describedby="name-hint"; };
    let address = html! { input id="address" name="address" type="email" required
    value=(line.address); };
    let user = html! { input id="user" name="user" required autocomplete="off" value=(line.user); };
    let password = html! { input id="password" name="password" type="password"
    autocomplete="new-password" required[there.is_none()] aria-describedby="password-hint"; };
    let folder = html! { input id="folder" name="folder" required value=(line.folder); };
    let receiver = html! { input id="receiver" name="receiver" value=(line.receiver)
    aria-describedby="receiver-hint"; };
    html! {
        section.card.stack aria-labelledby="account" {
            h2 id="account" { "Account" }
            (render_field("name", "Name", "Lowercase letters, digits and -.", &name))
            (render_field("address", "Address", "", &address))
            (render_field("user", "User name", "", &user))
            (render_field("password", "Password", "It goes in and never comes out; empty keeps the one that \
                is there. Kept encrypted, the key outside the database.", &password))
            (render_field("folder", "Folder", "", &folder))
            (render_field("receiver", "Receiving server", "As it stands first in the header \
                Authentication-Results of your mails: only then does a sender count as checked.",
                &receiver))
            (tick_box("enabled", "Watch this mailbox", line.enabled))
            (tick_box("tool", "Agents may use it with the email tool (one account at a time)", line.tool))
        }
    }
}

fn tick_box(name: &str, words: &str, on: bool) -> Markup {
    html! {
        div.row {
            input type="checkbox" id=(name) name=(name) value="on" checked[on];
            label for=(name) { (words) }
        }
    }
}

fn server_card(of: &str, title: &str, line: Option<&ServerLine>) -> Markup {
    let id = |part: &str| format!("{of}-{part}");
    let needed = of == "imap";
    let host = html! { input id=(id("host")) name=(id("host")) required[needed]
    value=(line.map_or("", |line| &line.host)) aria-describedby=[(!needed).then(|| id("host-hint"))]; };
    let port = html! { input id=(id("port")) name=(id("port")) type="number" min="1" max="65535"
    value=(line.map_or(if needed { 993 } else { 465 }, |line| line.port)); };
    let chosen = line.map(|line| line.security).unwrap_or_default();
    let choices = [
        (MailSecurity::Tls, "tls", "TLS"),
        (MailSecurity::StartTls, "starttls", "STARTTLS"),
        (MailSecurity::None, "none", "None (this computer only)"),
    ];
    let security = html! {
        select id=(id("security")) name=(id("security")) {
            @for (value, word, words) in choices {
                option value=(word) selected[value == chosen] { (words) }
            }
        }
    };
    let hint = if needed { "" } else { "Empty: the account only reads." };
    html! {
        section.card.stack aria-labelledby=(id("title")) {
            h2 id=(id("title")) { (title) }
            (render_field(&id("host"), "Server", hint, &host))
            (render_field(&id("port"), "Port", "", &port))
            (render_field(&id("security"), "Encryption", "", &security))
        }
    }
}

fn rules_card(line: &AccountLine, agents: &[String]) -> Markup {
    let rows = line.rules.len() + NEW_RULES;
    html! {
        section.card.stack aria-labelledby="rules" {
            h2 id="rules" { "Rules" }
            p.muted { "The first matching rule applies. Rules without an agent are ignored." }
            @for at in 0..rows {
                @let rule = line.rules.get(at);
                fieldset {
                    legend { "Rule " (at + 1) }
                    div.grid {
                        (render_field(&format!("from-{at}"), "From", "", &html! {
                            input id={ "from-" (at) } name={ "from-" (at) }
                                placeholder="*@example.org" value=(rule.map_or("", |r| &r.from));
                        }))
                        (render_field(&format!("subject-{at}"), "Subject contains", "", &html! {
                            input id={ "subject-" (at) } name={ "subject-" (at) }
                                value=(rule.map_or("", |r| &r.subject));
                        }))
                        (render_field(&format!("agent-{at}"), "Starts", "", &html! {
                            select id={ "agent-" (at) } name={ "agent-" (at) } {
                                option value="" { "nothing" }
                                @for agent in agents {
                                    option value=(agent)
                                        selected[rule.is_some_and(|r| r.agent == *agent)] { (agent) }
                                }
                            }
                        }))
                    }
                    (tick_box(&format!("unchecked-{at}"), "Also if nobody vouches for the sender \
                        (anybody can write any address)", rule.is_some_and(|r| r.unchecked)))
                    (tick_box(&format!("automatic-{at}"), "Also automatic mail",
                        rule.is_some_and(|r| r.automatic)))
                    (tick_box(&format!("answers-{at}"), "The agent may answer a checked sender once, \
                        as long as it has read nothing but their mail",
                        rule.is_some_and(|r| r.answers)))
                }
            }
        }
    }
}

/// What was typed.
struct MailFormInput(Vec<(String, String)>);

impl MailFormInput {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(typed, _)| typed == name);
        found.map_or("", |(_, value)| value.trim())
    }

    fn parse_server(&self, of: &str) -> Result<Option<ServerLine>, String> {
        let part = |part: &str| self.get(&format!("{of}-{part}"));
        let host = part("host").to_owned();
        if host.is_empty() {
            return Ok(None);
        }
        let port = part("port").parse().map_err(|_| format!("{:?} is no port", part("port")))?;
        let security = match part("security") {
            "starttls" => MailSecurity::StartTls,
            "none" => MailSecurity::None,
            _ => MailSecurity::Tls,
        };
        Ok(Some(ServerLine { host, port, security }))
    }

    fn parse_account(&self) -> Result<AccountLine, String> {
        let numbered = |what: &str, at: usize| self.get(&format!("{what}-{at}")).to_owned();
        let rules = (0..weir_install::mail::rules::RULES_MAX + NEW_RULES).map(|at| MailRule {
            from: numbered("from", at),
            subject: numbered("subject", at),
            unchecked: !numbered("unchecked", at).is_empty(),
            automatic: !numbered("automatic", at).is_empty(),
            answers: !numbered("answers", at).is_empty(),
            agent: numbered("agent", at),
        });
        Ok(AccountLine {
            name: self.get("name").to_owned(),
            address: self.get("address").to_owned(),
            imap: self.parse_server("imap")?.ok_or("name the server that mail is fetched from")?,
            smtp: self.parse_server("smtp")?,
            user: self.get("user").to_owned(),
            folder: self.get("folder").to_owned(),
            receiver: self.get("receiver").to_owned(),
            enabled: !self.get("enabled").is_empty(),
            tool: !self.get("tool").is_empty(),
            rules: rules.filter(|rule| !rule.agent.is_empty()).collect(),
        })
    }
}

async fn add_account(
    owner: CallerSpace,
    Form(typed): Form<Vec<(String, String)>>,
) -> HandlerResult<Response> {
    let typed = MailFormInput(typed);
    save_account(&owner, &typed, None).await
}

async fn change_account(
    owner: CallerSpace,
    Path(name): Path<String>,
    Form(mut typed): Form<Vec<(String, String)>>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = &owner;
    accounts::find_mail_account(app.records.as_ref(), &caller.person.id, &name, app.current_time())
        .await?;
    typed.retain(|(typed, _)| typed != "name");
    typed.push(("name".into(), name.clone()));
    save_account(&owner, &MailFormInput(typed), Some(&name)).await
}

/// Keeps what was typed; what is wrong is said above the form, and nothing is lost.
async fn save_account(
    owner: &CallerSpace,
    typed: &MailFormInput,
    there: Option<&str>,
) -> HandlerResult<Response> {
    let CallerSpace { app, caller, .. } = owner;
    let line = typed.parse_account().map_err(ProblemDetails::bad_request)?;
    let found = accounts::find_mail_account(
        app.records.as_ref(),
        &caller.person.id,
        &line.name,
        app.current_time(),
    )
    .await;
    let done = match (there, found) {
        (None, Ok(_)) => Err(ProblemDetails::conflict("an account of this name is there already")),
        _ => set_mail_account(owner, line.clone(), Some(typed.get("password"))).await,
    };
    match done {
        Ok(()) => Ok(redirect_with(HERE, "note", "The account was saved.").into_response()),
        Err(problem) => {
            let told = MailPageNotes { note: String::new(), problem: problem.detail };
            let shown = account_form(owner, &line, there, &told).await?;
            Ok((StatusCode::UNPROCESSABLE_ENTITY, shown).into_response())
        }
    }
}
