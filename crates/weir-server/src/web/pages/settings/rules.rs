//! Permission rules, and folders whose own files are trusted: seen by everybody who works here, changed by
//! admins, each that widens in two steps, so that what was seen is what is done (R10). Not here: what rules
//! and trust are.

use axum::Form;
use axum::extract::Query;
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_install::user_space::{RuleLine, ShownDecision, TrustLine};

use crate::api::rules::{RuleDeed, SeenDeed, make_deed, review_deed};
use crate::caller::Caller;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::CallerSpace;
use crate::request::body::redirect_with_result;
use crate::web::controls::{ButtonLook, post_form, submit_button};
use crate::web::parts::{page_with, render_empty};

/// Where this page is.
pub(super) const RULES_PAGE: &str = "/settings/rules";
/// The entry of the navigation.
const ENTRY: &str = "/settings";
/// Holds buttons back while a second click may be on its way to what took the place of the first one's.
const ASSETS: &[&str] = &["pages/act.js"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RulesQuery {
    note: String,
    problem: String,
}

/// A change of a rule, or of trust.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct RuleForm {
    /// `allow`, `ask`, `deny`; `remove`; `trust` or `distrust`.
    deed: String,
    /// The rule, or the folder.
    what: String,
    /// Names what was shown; empty: it is to be shown.
    hash: String,
}

/// The page.
pub(super) async fn show_rules(
    owner: CallerSpace,
    Query(shown): Query<RulesQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { caller, space, .. } = &owner;
    let rules = space.list_rules().await?;
    let is_admin = caller.is_admin();
    let hint = match caller.phone_login() {
        None => "They hold for everybody on this server: an admin changes them.",
        Some(_) => {
            "They hold for everybody on this server: change them in a browser in which you signed in, or \
             at the terminal."
        }
    };
    let body = html! {
        div.toolbar {
            h1 { "Permission rules" }
            a.btn.quiet href={ (ENTRY) "?section=lists" } { "Settings" }
            a.btn.quiet href="/help?page=rules" { "Help" }
        }
        @if !shown.note.is_empty() { p.notice.good role="status" { (shown.note) } }
        @if !shown.problem.is_empty() { p.notice.bad role="alert" { (shown.problem) } }
        p { "Deny counts before ask, and ask before allow, whatever their order and file." }
        (rules_table(caller, &rules))
        @if is_admin {
            (add_form(caller))
            (trust_section(caller, &space.list_trusted_folders()?))
        } @else {
            p.hint { (hint) }
        }
    };
    Ok(page_with(caller, "Permission rules", ENTRY, ASSETS, &body))
}

fn rules_table(caller: &Caller, rules: &[RuleLine]) -> Markup {
    if rules.is_empty() {
        return render_empty("There are no rules.", "Only the permission mode decides.");
    }
    html! {
        div.table-wrap tabindex="0" {
            table.cards {
                caption.unseen { "Permission rules" }
                thead { tr {
                    th scope="col" { "Set" } th scope="col" { "Rule" } th scope="col" { "From" }
                    th scope="col" { span.unseen { "Change" } }
                } }
                tbody { @for line in rules { tr data-ask {
                    td data-label="Set" { (line.action.to_string()) }
                    td data-label="Rule" { code { (line.rule) } }
                    td data-label="From" { (line.origin) }
                    td { @if line.removable && caller.is_admin() {
                        (post_form(caller, RULES_PAGE, "", &html! {
                            input type="hidden" name="deed" value="remove";
                            input type="hidden" name="what" value=(line.rule);
                            (submit_button(ButtonLook::Quiet, "Remove…"))
                        }))
                    } }
                } } }
            }
        }
    }
}

fn add_form(caller: &Caller) -> Markup {
    html! {
        section.card aria-labelledby="add-rule" {
            h2 id="add-rule" { "Add a rule" }
            (post_form(caller, RULES_PAGE, "row", &html! {
                label.unseen for="rule-set" { "Set" }
                select id="rule-set" name="deed" {
                    option value="deny" { "deny" }
                    option value="ask" { "ask" }
                    option value="allow" { "allow" }
                }
                label.unseen for="rule-text" { "Rule" }
                input id="rule-text" name="what" required maxlength="1000" autocomplete="off"
                    spellcheck="false" placeholder="Shell(cargo test:*), Read(**/*.pem), Web(docs.rs)";
                (submit_button(ButtonLook::Primary, "Look at it…"))
            }))
        }
    }
}

fn trust_section(caller: &Caller, folders: &[TrustLine]) -> Markup {
    html! {
        section.card aria-labelledby="trust" {
            h2 id="trust" { "Trusted folders" }
            p.muted {
                "The own files of a trusted folder may define hooks, MCP servers, scripts and allow rules. \
                 When one of them changes, trust ends."
            }
            @for one in folders {
                div data-ask {
                    (post_form(caller, RULES_PAGE, "row", &html! {
                        code { (one.folder.display().to_string()) } " " (one.state)
                        input type="hidden" name="deed" value="distrust";
                        input type="hidden" name="what" value=(one.folder.display().to_string());
                        (submit_button(ButtonLook::Quiet, "Trust no longer"))
                    }))
                }
            }
            (post_form(caller, RULES_PAGE, "row", &html! {
                input type="hidden" name="deed" value="trust";
                label.unseen for="trust-folder" { "Folder" }
                input id="trust-folder" name="what" required maxlength="4000" autocomplete="off"
                    spellcheck="false" placeholder="/home/ann/project";
                (submit_button(ButtonLook::Primary, "Look at it…"))
            }))
        }
    }
}

/// Shows what would be done; once that was seen, does it.
pub(super) async fn change_rules(
    owner: CallerSpace,
    Form(form): Form<RuleForm>,
) -> HandlerResult<Result<Redirect, Markup>> {
    let CallerSpace { caller, space, .. } = &owner;
    caller.refuse_phone("changing rules, or the trust in folders,")?;
    let deed = RuleDeed::from_word(&form.deed)?;
    if deed == RuleDeed::Distrust {
        let done = space.distrust_folder(&form.what).map_err(ProblemDetails::from);
        return redirect_with_result(RULES_PAGE, done).map(Ok);
    }
    if form.hash.is_empty() {
        return match review_deed(space, deed, &form.what).await {
            Ok(shown) => Ok(Err(review_page(caller, &form, &shown))),
            Err(problem) => redirect_with_result(RULES_PAGE, Err::<String, _>(problem)).map(Ok),
        };
    }
    let seen = SeenDeed { deed, what: &form.what, hash: &form.hash };
    redirect_with_result(RULES_PAGE, make_deed(space, seen).await).map(Ok)
}

fn review_page(caller: &Caller, form: &RuleForm, shown: &ShownDecision) -> Markup {
    let body = html! {
        h1 { "Is this what you want?" }
        pre tabindex="0" { (shown.text) }
        div data-ask {
            (post_form(caller, RULES_PAGE, "row", &html! {
                input type="hidden" name="deed" value=(form.deed);
                input type="hidden" name="what" value=(form.what);
                input type="hidden" name="hash" value=(shown.hash);
                (submit_button(ButtonLook::Primary, "Do exactly this"))
                a.btn href=(RULES_PAGE) { "Leave it" }
            }))
        }
    };
    page_with(caller, "Is this what you want?", ENTRY, ASSETS, &body)
}
