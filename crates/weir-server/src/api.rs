//! The JSON API (C7), one file for each kind of thing. A route here has a summary and schemas.

use crate::route::Route;

mod account;
pub(crate) mod admin;
pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod audit;
mod auth;
pub(crate) mod brain;
pub(crate) mod checkpoints;
pub(crate) mod complete;
pub(crate) mod files;
pub(crate) mod library;
pub(crate) mod mail;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod notices;
pub(crate) mod notifications;
pub(crate) mod page;
pub(crate) mod pause;
mod rewind;
pub(crate) mod rules;
pub(crate) mod sessions;
pub(crate) mod settings;
pub(crate) mod shares;
mod socket;
mod usage;
mod users;

pub(crate) use account::{change_password, end_login, login_end, logins_of};
pub(crate) use auth::{make_token, sign_out, token_revoke, tokens_of, with_cookies};
pub(crate) use users::{NewUser, invitation_path, list_people};

/// Every route of the API.
pub(crate) fn api_routes() -> Vec<Route> {
    let groups = [
        account::account_api_routes(),
        admin::admin_api_routes(),
        agents::agent_api_routes(),
        approvals::approval_api_routes(),
        audit::audit_api_routes(),
        auth::auth_api_routes(),
        brain::brain_api_routes(),
        checkpoints::checkpoint_api_routes(),
        complete::completion_api_routes(),
        files::file_api_routes(),
        library::library_api_routes(),
        mail::mail_api_routes(),
        memory::memory_api_routes(),
        models::model_api_routes(),
        notices::notice_api_routes(),
        notifications::notification_api_routes(),
        pause::pause_api_routes(),
        rewind::rewind_api_routes(),
        rules::rule_api_routes(),
        sessions::session_api_routes(),
        settings::settings_api_routes(),
        shares::share_api_routes(),
        socket::socket_api_routes(),
        usage::usage_api_routes(),
        users::user_api_routes(),
    ];
    groups.into_iter().flatten().collect()
}
