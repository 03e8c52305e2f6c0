//! What answers for the session still allow in a chat, each of which can be taken back (Z2, R10): the words of
//! `weir approvals revoke` as a page. Not here: how such an answer is given, and what a lease covers.

use axum::Form;
use axum::extract::Query;
use axum::response::Redirect;
use maud::{Markup, html};
use serde::Deserialize;
use weir_core::governance::lease::LeaseGrant;
use weir_core::ids::Timestamp;
use weir_core::view::plain::visible_text;

use crate::caller::Caller;
use crate::live::fold::load_session_fold;
use crate::problem::{HandlerResult, ProblemDetails};
use crate::request::body::redirect_with_result;
use crate::request::{CallerSession, CallerSpace};
use crate::web::controls::{
    ButtonLook, DataTable, TableColumn, data_table, post_form, submit_button,
};
use crate::web::parts::{page_with, render_empty, render_moment};

/// The script that holds buttons back while a second click may be on its way.
const ASSETS: &[&str] = &["pages/act.js"];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct LeasesQuery {
    note: String,
    problem: String,
}

/// Which lease is taken back.
#[derive(Debug, Deserialize)]
pub(super) struct RevokeForm {
    /// Its number in the session: it is given to no other.
    lease: u32,
}

/// The leases of a chat that still cover calls.
pub(super) async fn show_leases(
    CallerSession { owner, id, .. }: CallerSession,
    Query(shown): Query<LeasesQuery>,
) -> HandlerResult<Markup> {
    let CallerSpace { app, caller, space } = &owner;
    let folded = load_session_fold(space.store().as_ref(), &id).await?;
    let now = app.current_time();
    let live: Vec<&LeaseGrant> =
        folded.session.leases().iter().filter(|lease| lease.is_live(now)).collect();
    let action = format!("/chats/{id}/revoke");
    let body = html! {
        div.toolbar {
            h1 { "Leases" }
            a.btn.quiet href={ "/chats/" (id) } { "Back to the chat" }
        }
        @if !shown.note.is_empty() { p.notice.good role="status" { (shown.note) } }
        @if !shown.problem.is_empty() { p.notice.bad role="alert" { (shown.problem) } }
        p.muted {
            "What an answer “For this session” lets pass in this chat without a question. Deny rules and gates \
             stay above it. Once it is revoked, such calls ask again."
        }
        @if live.is_empty() {
            (render_empty("There are no leases.", "Every call that asks is answered by itself."))
        } @else {
            (data_table(&DataTable {
                region: None,
                caption: html! { "Leases" },
                caption_seen: false,
                columns: &[
                    TableColumn::Text("Lease"), TableColumn::Text("Allows"), TableColumn::Text("Left"),
                    TableColumn::Text("Granted by"), TableColumn::Unseen("Revoke"),
                ],
                rows: html! { @for lease in &live { (render_lease(caller, &action, lease, now)) } },
            }))
        }
    };
    Ok(page_with(caller, "Leases", "/chats", ASSETS, &body))
}

fn render_lease(caller: &Caller, action: &str, lease: &LeaseGrant, now: Timestamp) -> Markup {
    html! {
        tr data-ask {
            th scope="row" { (lease.lease) }
            td { @for text in lease.covered_texts() { code { (visible_text(&text)) } " " } }
            td { (render_remainder(lease, now)) }
            td { (visible_text(&lease.by)) }
            td { @if caller.may_write() {
                (post_form(caller, action, "", &html! {
                    input type="hidden" name="lease" value=(lease.lease);
                    (submit_button(ButtonLook::Plain, "Revoke"))
                }))
            } }
        }
    }
}

fn render_remainder(lease: &LeaseGrant, now: Timestamp) -> Markup {
    html! {
        @match lease.uses_left {
            Some(1) => "1 call left",
            Some(left) => { (left) " calls left" },
            None => {},
        }
        @if lease.uses_left.is_some() && lease.until.is_some() { ", " }
        @if let Some(until) = lease.until { "ends " (render_moment(until, now)) }
        @if lease.uses_left.is_none() && lease.until.is_none() { "until the end of the session" }
    }
}

/// Takes a lease back.
pub(super) async fn revoke_lease(
    CallerSession { owner, id, .. }: CallerSession,
    Form(RevokeForm { lease }): Form<RevokeForm>,
) -> HandlerResult<Redirect> {
    let CallerSpace { app, caller, .. } = &owner;
    let request = owner.session_request(&id);
    let done = app.sessions.revoke_lease(request, lease, caller.journal_name()).await;
    let done = match done {
        // Whoever looks at a page of earlier finds on it that there is nothing left to take back.
        Err(problem) if problem.status == 404 => Err(ProblemDetails::conflict(format!(
            "there is no lease {lease} in this session any more, so nothing was changed"
        ))),
        done => done.map(|()| format!("Lease {lease} is revoked: such calls ask again.")),
    };
    redirect_with_result(&format!("/chats/{id}/leases"), done)
}
