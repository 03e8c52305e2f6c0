//! `weir auth`: keys of providers, and the secrets that tools may name. A key is read, kept, used
//! and forgotten; neither is ever printed.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::secret::Secret;
use weir_engine::ports::SearchEngineKind;
use weir_install::context::InstallationContext;
use weir_install::keys::ProviderKeys;
use weir_install::models;
use weir_install::secrets::{self, DeclaredSecret};

use crate::command::context_for_looking;
use crate::failure::usage;
use crate::options::AuthCommand;
use crate::terminal::{format_table, out_json, out_line, read_hidden};
use weir_terminal::remote::{SERVER_KEY_PREFIX, ServerAddress, server_key_name};

/// Sets, lists, removes.
pub(crate) fn run_auth_command(
    cx: &InstallationContext,
    command: AuthCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        AuthCommand::Set { provider } => save_provider_key(cx, &provider)?,
        AuthCommand::List(flag) => list_provider_keys(cx, flag.json)?,
        AuthCommand::Remove { provider } => remove(cx, &provider)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn save_provider_key(cx: &InstallationContext, provider: &str) -> anyhow::Result<()> {
    let catalogue = models::load_catalogue(cx)?;
    let search = SearchEngineKind::from_word(provider).filter(|kind| kind.key_variable().is_some());
    if provider == secrets::OBSIDIAN || search.is_some() {
        let what = search.map_or("Obsidian's Local REST API".to_owned(), |kind| {
            format!("the search engine {}", kind.as_str())
        });
        let key = Secret::new(read_hidden(&format!("Key of {what}"))?);
        let mut keys = cx.keys_to_change()?;
        let place = keys.save_key(provider, key)?;
        return out_line(&format!("The key is saved in {place}."));
    }
    if provider.contains("://") {
        let place = ServerAddress::parse_address(provider).map_err(usage)?;
        let token = Secret::new(read_hidden(&format!("Token for {place}"))?);
        let mut keys = cx.keys_to_change()?;
        let kept = keys.save_key(&server_key_name(&place), token)?;
        return out_line(&format!("The token for {place} is saved in {kept}."));
    }
    if cx.config()?.settings.commands.secrets.iter().any(|name| name == provider) {
        let value = Secret::new(read_hidden(&format!("Value of {provider}"))?);
        let mut keys = cx.keys_to_change()?;
        let place = keys.save_key(provider, value)?;
        return out_line(&format!("{provider} is saved in {place}."));
    }
    let Some(vendor) = catalogue.find_vendor(provider) else {
        let known: Vec<&str> = catalogue.vendors().iter().map(|v| v.name.as_str()).collect();
        let known = known.join(", ");
        return Err(usage(format!(
            "there is no provider {provider:?}; known providers: {known}; you can define others in \
             your configuration under [providers.NAME]"
        )));
    };
    let key = Secret::new(read_hidden(&format!("Key for {provider}"))?);
    let mut keys = cx.keys_to_change()?;
    let place = keys.save_key(provider, key)?;
    out_line(&format!("The key for {provider} is saved in {place}."))?;
    if let Some(name) =
        vendor.key_env.iter().find(|name| cx.environment.text_variable(name).is_some())
    {
        crate::terminal::err_message(&format!(
            "warning: the environment variable {name} is set and takes precedence"
        ));
    }
    Ok(())
}

fn list_provider_keys(cx: &InstallationContext, as_json: bool) -> anyhow::Result<()> {
    let cx = &context_for_looking(cx)?;
    let catalogue = models::load_catalogue(cx)?;
    let keys = cx.provider_keys()?;
    let mut rows = Vec::new();
    for vendor in catalogue.vendors() {
        let found = keys.find_key(vendor, catalogue, &cx.environment);
        let source = found.map(|(_, source)| source.to_string());
        rows.push((vendor, source));
    }
    let declared = secrets::load_declared_secrets(cx)?;
    let servers = keys
        .kept_providers()
        .filter_map(|name| name.strip_prefix(SERVER_KEY_PREFIX))
        .map(str::to_owned);
    let servers: Vec<String> = servers.collect();
    if as_json {
        let rows = rows.iter().map(|(vendor, source)| {
            json!({
                "provider": vendor.name,
                "has_key": source.is_some(),
                "source": source,
                "needs_key": vendor.needs_key,
                "variables": vendor.key_env,
            })
        });
        let secrets = declared.iter().map(|one| {
            json!({
                "secret": one.web.name,
                "hosts": one.web.hosts,
                "source": one.source.to_string(),
                "has_value": one.web.value.is_ok(),
            })
        });
        let servers = servers.iter().map(|server| json!({ "server": server, "has_token": true }));
        let of_keyring = keyring_rows(keys);
        return out_json(&rows.chain(secrets).chain(servers).chain(of_keyring).collect::<Vec<_>>());
    }
    let lines = rows.iter().map(|(vendor, source)| {
        let how = match (source, vendor.key_env.first()) {
            (Some(source), _) => format!("key from {source}"),
            (None, _) if !vendor.needs_key => "needs no key".to_owned(),
            (None, Some(variable)) => {
                format!("no key: set {variable} or run `weir auth set {}`", vendor.name)
            }
            (None, None) => format!("no key: run `weir auth set {}`", vendor.name),
        };
        vec![vendor.name.clone(), how]
    });
    let lines = lines.chain(declared.iter().map(secret_line));
    let token = |server: String| {
        let source = keys.kept_source(&format!("{SERVER_KEY_PREFIX}{server}"));
        let place = source.map(|source| format!(" in {source}")).unwrap_or_default();
        vec![format!("server {server}"), format!("token saved{place}")]
    };
    let lines = lines.chain(servers.into_iter().map(token));
    let lines = lines.chain(keyring_lines(keys));
    out_line(&format_table(&lines.collect::<Vec<_>>()))
}

/// What the keyring has of which no row of a provider or server can tell, as lines.
fn keyring_lines(keys: &ProviderKeys) -> Vec<Vec<String>> {
    let unread = keys
        .unread_in_keyring()
        .map(|name| vec![format!("{name} in the system keyring"), "cannot be read now".to_owned()]);
    let unknown = keys.unread_outdated_in_keyring();
    let outdated = keys.outdated_in_keyring().into_iter().map(|name| {
        let how =
            format!("counts no more; `weir auth remove {name}` clears it once it is unlocked");
        let how = match unknown.contains(name) {
            true => format!("{how}; until then no text is cleaned of it"),
            false => how,
        };
        vec![format!("older {name} in the system keyring"), how]
    });
    unread.chain(outdated).collect()
}

/// The same for programs: keys that cannot be read now, and
/// those that count no more.
fn keyring_rows(keys: &ProviderKeys) -> Vec<Value> {
    let unread = keys.unread_in_keyring().map(|name| {
        json!({
            "keyring_key": name,
            "counts": true,
            "is_readable": false,
            "why": keys.keyring_problem(),
        })
    });
    let unknown = keys.unread_outdated_in_keyring();
    let outdated = keys.outdated_in_keyring().into_iter().map(|name| {
        json!({ "keyring_key": name, "counts": false, "is_readable": !unknown.contains(name) })
    });
    unread.chain(outdated).collect()
}

/// A secret as a line: its name, its hosts, where it is or why it cannot be had.
fn secret_line(one: &DeclaredSecret) -> Vec<String> {
    let hosts = one.web.hosts.join(", ");
    let how = match &one.web.value {
        Ok(_) => format!("for {hosts}, from {}", one.source),
        Err(why) => format!("for {hosts}, not usable: {why}"),
    };
    vec![format!("secret {}", one.web.name), how]
}

fn remove(cx: &InstallationContext, provider: &str) -> anyhow::Result<()> {
    let mut keys = cx.provider_keys()?.clone();
    let place = ServerAddress::parse_address(provider).ok().map(|place| server_key_name(&place));
    let Some(source) = keys.remove(place.as_deref().unwrap_or(provider))? else {
        let kept: Vec<&str> = keys.kept_providers().collect();
        let kept = if kept.is_empty() { "none".to_owned() } else { kept.join(", ") };
        return Err(usage(format!("no key is saved for {provider:?} (saved: {kept})")));
    };
    out_line(&format!("Removed the key for {provider} from {source}."))
}
