//! Pages, one file each. Everything works by plain forms; scripts only make it quicker.

use crate::route::Route;

mod account;
mod admin;
mod agents;
mod approvals;
mod audit;
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
mod settings;
mod setup;
mod shared;
mod signin;
mod usage;
mod users;

pub(crate) use shared::shared_entries;

/// Every page.
pub(crate) fn routes() -> Vec<Route> {
    let groups = [
        account::routes(),
        admin::routes(),
        agents::routes(),
        approvals::routes(),
        audit::routes(),
        chat::routes(),
        chats::routes(),
        files::routes(),
        help::routes(),
        library::routes(),
        mail::routes(),
        memory::routes(),
        models::routes(),
        notices::routes(),
        notifications::routes(),
        settings::routes(),
        setup::routes(),
        shared::routes(),
        signin::routes(),
        usage::routes(),
        users::routes(),
    ];
    groups.into_iter().flatten().collect()
}
