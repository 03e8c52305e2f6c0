//! Pages, one file each. Everything works by plain forms; scripts only make it quicker.

use crate::route::Route;

mod account;
mod admin;
mod agents;
mod approvals;
mod audit;
mod brain;
mod chat;
mod chats;
mod files;
mod help;
mod library;
mod mail;
mod memory;
mod models;
mod notices;
mod notifications;
mod phone;
mod settings;
mod setup;
mod shared;
mod signin;
mod usage;
mod users;

pub(crate) use shared::shared_entries;

/// Every page.
pub(crate) fn page_routes() -> Vec<Route> {
    let groups = [
        account::account_page_routes(),
        admin::admin_page_routes(),
        agents::agent_page_routes(),
        approvals::approval_page_routes(),
        audit::audit_page_routes(),
        brain::brain_page_routes(),
        chat::chat_page_routes(),
        chats::chats_page_routes(),
        files::file_page_routes(),
        help::help_page_routes(),
        library::library_page_routes(),
        mail::mail_page_routes(),
        memory::memory_page_routes(),
        models::model_page_routes(),
        notices::notice_page_routes(),
        notifications::notification_page_routes(),
        phone::phone_page_routes(),
        settings::settings_page_routes(),
        setup::setup_page_routes(),
        shared::share_page_routes(),
        signin::sign_in_page_routes(),
        usage::usage_page_routes(),
        users::user_page_routes(),
    ];
    groups.into_iter().flatten().collect()
}
