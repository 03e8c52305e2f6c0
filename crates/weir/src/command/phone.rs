//! `weir phone`: pairs a telephone with the person at this terminal, lists and revokes telephones (R5). It
//! finds the server of this installation or is it. Not here: what a code, a telephone and its answers are
//! (`weir_server::phone`).

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};
use weir_install::context::InstallationContext;
use weir_install::installation::Installation;
use weir_server::phone::PairedPhone;
use weir_server::{App, ServerOptions};

use super::serve;
use super::serve::presence::{ServerPresence, find_presence};
use crate::failure::usage;
use crate::options::{
    PhoneArgs, PhoneCommand, PhoneDatabase, PhoneListArgs, PhoneRevokeArgs, ServeArgs,
};
use crate::terminal::{format_table, out_json, out_line};

mod address;
mod pair;

pub(super) use address::serve_on_lan;

/// How long a command that revokes waits until its person was told, by whatever channels they have.
const TELLING_MAX: Duration = Duration::from_secs(10);

/// Does what was asked.
pub(super) async fn run_phone_command(
    cx: InstallationContext,
    args: PhoneArgs,
) -> anyhow::Result<ExitCode> {
    match args.command {
        None => return pair::pair_telephone(cx, args.pair).await,
        Some(PhoneCommand::List(args)) => list_telephones(cx, &args).await?,
        Some(PhoneCommand::Revoke(args)) => revoke_telephone(cx, &args).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The database of the telephones: the one that was said, else that of the server that runs, which may have
/// been said to it alone, else that of the settings.
fn choose_database(
    cx: &InstallationContext,
    said: &PhoneDatabase,
    there: Option<&ServerPresence>,
) -> anyhow::Result<String> {
    let used = there.and_then(|there| there.database.as_ref());
    match said.database.as_ref().or(used) {
        Some(database) => Ok(database.clone()),
        None => Ok(cx.config()?.settings.server.database.clone()),
    }
}

/// The server's own parts over the data of the server that runs, or else over that of the settings.
async fn open_telephones(cx: InstallationContext, said: &PhoneDatabase) -> anyhow::Result<App> {
    let there = find_presence(&cx.dirs.state)?;
    let database = choose_database(&cx, said, there.as_ref())?;
    let options = options_of_settings(&cx)?;
    open_app(cx, &database, options).await
}

/// The server's own parts, which do not listen by that.
async fn open_app(
    cx: InstallationContext,
    database: &str,
    options: ServerOptions,
) -> anyhow::Result<App> {
    let installation = Installation::open(cx, database).await?;
    App::new(std::sync::Arc::new(installation), options).map_err(|error| usage(error.to_string()))
}

/// The options of a server as the settings have them.
fn options_of_settings(cx: &InstallationContext) -> anyhow::Result<ServerOptions> {
    let settings = &cx.config()?.settings.server;
    serve::server_options(settings, &ServeArgs { quiet: true, ..ServeArgs::default() })
}

async fn list_telephones(cx: InstallationContext, args: &PhoneListArgs) -> anyhow::Result<()> {
    let app = open_telephones(cx, &args.database).await?;
    let phones = app.list_phones().await.map_err(usage)?;
    if args.json.json {
        let rows: Vec<Value> = phones.iter().map(phone_as_json).collect();
        return out_json(&rows);
    }
    if phones.is_empty() {
        return out_line("No telephone is paired; `weir phone` pairs one.");
    }
    let head = ["id", "name", "account", "paired", "last used", "from"].map(String::from);
    let row = |phone: &PairedPhone| {
        vec![
            phone.id.clone(),
            phone.name.clone(),
            phone.account.clone(),
            phone.paired.to_string(),
            phone.seen.to_string(),
            phone.address.clone(),
        ]
    };
    let mut rows = vec![head.to_vec()];
    rows.extend(phones.iter().map(row));
    out_line(&format_table(&rows))
}

fn phone_as_json(phone: &PairedPhone) -> Value {
    json!({
        "id": phone.id, "name": phone.name, "account": phone.account, "address": phone.address,
        "paired": phone.paired, "seen": phone.seen, "expires": phone.expires,
    })
}

async fn revoke_telephone(cx: InstallationContext, args: &PhoneRevokeArgs) -> anyhow::Result<()> {
    let app = open_telephones(cx, &args.database).await?;
    let phones = app.list_phones().await.map_err(usage)?;
    let wanted = args.phone.trim();
    let is_meant = |phone: &&PairedPhone| {
        phone.name == wanted || (!wanted.is_empty() && phone.id.starts_with(wanted))
    };
    let found: Vec<&PairedPhone> = phones.iter().filter(is_meant).collect();
    let phone = match found.as_slice() {
        [phone] => phone,
        [] => {
            return Err(usage(format!(
                "no paired telephone is called {wanted:?}; `weir phone list` shows them"
            )));
        }
        several => {
            let ids: Vec<&str> = several.iter().map(|phone| phone.id.as_str()).collect();
            return Err(usage(format!(
                "{} telephones are called {wanted:?}: say which by its id ({})",
                several.len(),
                ids.join(", ")
            )));
        }
    };
    if !app.revoke_phone(&phone.id).await.map_err(usage)? {
        return Err(usage(format!("{} was revoked already", phone.name)));
    }
    out_line(&format!("Revoked {} of {}.", phone.name, phone.account))?;
    app.wait_until_told(TELLING_MAX).await;
    Ok(())
}
