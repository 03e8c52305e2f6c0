//! The JSON API (C7), one file for each kind of thing. A route here has a summary and schemas.

use crate::route::Route;

mod account;
pub(crate) mod admin;
mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod auth;
pub(crate) mod checkpoints;
pub(crate) mod complete;
pub(crate) mod files;
pub(crate) mod library;
pub(crate) mod mail;
pub(crate) mod memory;
mod models;
mod notices;
pub(crate) mod notifications;
pub(crate) mod page;
mod pause;
mod rewind;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod shares;
mod socket;
mod usage;
mod users;

pub(crate) use account::{change_password, end_login, logins_of};
pub(crate) use auth::{make_token, revoke_token, sign_out, tokens_of, with_cookies};
pub(crate) use users::{everybody, invitation_path};

/// Every route of the API.
pub(crate) fn routes() -> Vec<Route> {
    let groups = [
        account::routes(),
        admin::routes(),
        agents::routes(),
        approvals::routes(),
        audit::routes(),
        auth::routes(),
        checkpoints::routes(),
        complete::routes(),
        files::routes(),
        library::routes(),
        mail::routes(),
        memory::routes(),
        models::routes(),
        notices::routes(),
        notifications::routes(),
        pause::routes(),
        rewind::routes(),
        sessions::routes(),
        settings::routes(),
        shares::routes(),
        socket::routes(),
        usage::routes(),
        users::routes(),
    ];
    groups.into_iter().flatten().collect()
}
