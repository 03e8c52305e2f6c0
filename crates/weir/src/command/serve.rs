//! `weir serve`: the server, until a signal ends it. Not here: what it answers (`weir-server`).

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use futures::stream;
use weir_install::config::ServerSettings;
use weir_install::context::InstallationContext;
use weir_install::installation::Installation;
use weir_server::{App, HttpServer, ServerLimits, ServerOptions};
use weir_store::SqliteStore;

use crate::command::current_timestamp;
use crate::command::phone::serve_on_lan;
use crate::command::run::TerminationSignals;
use crate::failure::usage;
use crate::options::ServeArgs;
use crate::supervised::refuse_supervised_flag;
use crate::terminal;

pub(super) mod presence;

use presence::{ServerPresence, announce_presence, named_everywhere};

/// Most bytes of a file with a password.
const PASSWORD_FILE_BYTES_MAX: u64 = 4096;

/// Serves.
pub(super) async fn run_server(
    cx: InstallationContext,
    args: ServeArgs,
) -> anyhow::Result<ExitCode> {
    if args.first_admin.is_some() {
        // It sets the password with which the agent's own questions could be answered.
        refuse_supervised_flag("serve --first-admin", &cx.environment)?;
    }
    if args.lan.is_some() {
        refuse_supervised_flag("serve --lan", &cx.environment)?;
    }
    let settings = cx.config()?.settings.server.clone();
    let metrics_token = metrics_token(&cx, &settings.metrics_token_env)?;
    let mut options = ServerOptions { metrics_token, ..server_options(&settings, &args)? };
    let database = args.database.clone().unwrap_or_else(|| settings.database.clone());
    let state = cx.dirs.state.clone();
    let fingerprint = match args.lan {
        Some(lan) => Some(serve_on_lan(&mut options, lan, &state, current_timestamp())?),
        None => None,
    };
    let installation = Installation::open(cx, &database).await?;
    if let Some(warning) = describe_store_damage(&state) {
        terminal::err_message(&format!("warning: {warning}"));
    }
    let app =
        App::new(Arc::new(installation), options).map_err(|error| usage(error.to_string()))?;
    first_admin(&app, &args).await?;
    if let Some(reason) = app.refuse_to_listen().await.map_err(usage)? {
        return Err(usage(reason));
    }
    let server = HttpServer::bind(app.clone()).await.map_err(|error| usage(error.to_string()))?;
    if let Some(warning) = server.startup_warning() {
        terminal::err_message(&format!("warning: {warning}"));
    }
    // From before anybody is told of it: whoever ends it then ends it in order.
    let signals = TerminationSignals::new()?;
    let presence =
        ServerPresence { fingerprint, ..server_presence(&app, server.address(), &database) };
    let _kept = announce_server(&state, &presence);
    announce_address(&app, server.address(), args.quiet).await;
    if let Some(fingerprint) = presence.fingerprint.as_ref().filter(|_| !args.quiet) {
        terminal::err_line(&format!(
            "certificate of its own, SHA-256 {fingerprint}; `weir phone` pairs a telephone"
        ));
    }
    let signals = stream::unfold(signals, |mut signals| async move {
        signals.next().await;
        Some(((), signals))
    });
    server.run(signals).await;
    Ok(ExitCode::SUCCESS)
}

/// What a server says of itself to other commands of this machine.
pub(super) fn server_presence(app: &App, address: SocketAddr, database: &str) -> ServerPresence {
    ServerPresence {
        address,
        public_url: app.options.public_url.clone(),
        tls: app.options.tls.is_some(),
        database: Some(named_everywhere(database)),
        fingerprint: None,
    }
}

/// Says to other commands of this machine that the server is there, as long as what is given is kept. Where
/// that cannot be said it serves all the same.
pub(super) fn announce_server(state: &Path, presence: &ServerPresence) -> Option<std::fs::File> {
    announce_presence(state, presence)
        .inspect_err(|error| tracing::warn!(%error, "`weir phone` will not find this server"))
        .ok()
        .flatten()
}

/// What is wrong with the first person's own sessions, which lie in the state folder itself. The
/// server starts nevertheless: nobody else's are touched by it.
fn describe_store_damage(state: &Path) -> Option<String> {
    if !state.join("weir.db").exists() {
        return None;
    }
    let error = SqliteStore::open(state).err()?;
    Some(format!("the sessions in {} cannot be used: {error}", state.display()))
}

/// Says where it listens and, as long as there is no account, the code for making the first. It serves
/// already: a database that does not answer now is no reason to end.
async fn announce_address(app: &App, address: SocketAddr, quiet: bool) {
    let scheme = if app.options.tls.is_some() { "https" } else { "http" };
    let here = format!("{scheme}://{address}");
    if !quiet {
        terminal::err_line(&format!("listening on {here}"));
    }
    match app.setup_code().await {
        Ok(None) => {}
        Ok(Some(code)) => {
            let open = app.options.public_url.clone().unwrap_or(here);
            terminal::err_line(&format!(
                "setup code: {code} (open {open}/setup; the code is valid for one day)"
            ));
        }
        Err(why) => terminal::err_line(&format!(
            "whether there is an account is not known: {why}. If there is none yet, start the server again for the \
             code that makes the first"
        )),
    }
}

/// Makes the account that was asked for, where there is none.
async fn first_admin(app: &App, args: &ServeArgs) -> anyhow::Result<()> {
    let (Some(name), Some(file)) = (&args.first_admin, &args.password_file) else {
        return Ok(());
    };
    let password = read_password(file)?;
    let made = app.make_first_admin(name, &password).await.map_err(usage)?;
    if made && !args.quiet {
        terminal::err_line(&format!("created the account {name}"));
    }
    Ok(())
}

fn read_password(file: &Path) -> anyhow::Result<String> {
    let told = |why: String| usage(format!("the password in {}: {why}", file.display()));
    let meta = std::fs::metadata(file).map_err(|error| told(error.to_string()))?;
    if meta.len() > PASSWORD_FILE_BYTES_MAX {
        return Err(told("the file is too long for a password".into()));
    }
    let text = std::fs::read_to_string(file).map_err(|error| told(error.to_string()))?;
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// The settings with the words of the command line over them.
pub(super) fn server_options(
    settings: &ServerSettings,
    args: &ServeArgs,
) -> anyhow::Result<ServerOptions> {
    let bind = match args.bind {
        Some(bind) => bind,
        None => settings.bind.parse().map_err(|_| {
            usage(format!("server.bind {:?} is not of the form address:port", settings.bind))
        })?,
    };
    let tls = match (settings.certificate.as_str(), settings.key.as_str()) {
        ("", "") => None,
        ("", _) | (_, "") => {
            return Err(usage("server.certificate and server.key must be set together"));
        }
        (certificate, key) => Some((PathBuf::from(certificate), PathBuf::from(key))),
    };
    Ok(ServerOptions {
        bind,
        public_url: public_url(&settings.public_url)?,
        tls,
        proxies: parse_proxy_addresses(&settings.proxies)?,
        quiet: args.quiet,
        limits: ServerLimits {
            connections_max: settings.connections_max as usize,
            connections_per_address_max: settings.connections_per_address_max as usize,
            requests_per_minute: settings.requests_per_minute,
            drain_ms_max: settings.drain.ms,
        },
        metrics_token: None,
    })
}

/// The token of the variable `name`; an empty name means that there is none.
pub(super) fn metrics_token(
    cx: &InstallationContext,
    name: &str,
) -> anyhow::Result<Option<String>> {
    if name.is_empty() {
        return Ok(None);
    }
    let unset = || usage(format!("server.metrics_token_env: the variable {name} is not set"));
    Ok(Some(cx.environment.text_variable(name).ok_or_else(unset)?.to_owned()))
}

pub(super) fn public_url(text: &str) -> anyhow::Result<Option<String>> {
    weir_install::unusable::public_origin(text).map_err(usage)
}

fn parse_proxy_addresses(all: &[String]) -> anyhow::Result<Vec<IpAddr>> {
    let address = |text: &String| {
        text.parse().map_err(|_| {
            usage(format!("server.proxies: {text:?} is not an IP address like 10.0.0.1"))
        })
    };
    all.iter().map(address).collect()
}
