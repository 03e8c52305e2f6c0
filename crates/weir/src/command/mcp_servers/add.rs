//! `weir mcp-servers add`: declares a server in the person's settings, looks at it, approves it.

use std::collections::BTreeMap;
use std::process::ExitCode;

use serde_json::json;
use weir_install::config::{self, ConfigAdditions, McpOauthSettings, McpServerSettings};
use weir_install::context::InstallationContext;
use weir_install::wiring::mcp;

use super::approve::{ApprovalPrompting, review_server};
use crate::failure::{exit, failure_with_status, usage};
use crate::options::McpAddArgs;
use crate::terminal::{err_message, out_json, out_line};

/// How a server is looked at that is in no settings yet, so that no list shows it.
const ADD_ONLY: &str =
    "--no-start adds it without an approval; then `weir mcp-servers list --check` shows it";

pub(super) async fn add_server(
    cx: &InstallationContext,
    args: &McpAddArgs,
) -> anyhow::Result<ExitCode> {
    let how = ApprovalPrompting { yes: args.yes, json: args.json.json };
    if !args.no_start {
        how.check_can_ask(ADD_ONLY)?;
    }
    let name = &args.name;
    let server = settings_from_args(args)?;
    let files = cx.config_files();
    let path = &files.user;
    let mut together = cx.config()?.settings.clone();
    if together.mcp_servers.contains_key(name) {
        return Err(usage(format!(
            "there is already a server {name} ({}); remove it first: `weir mcp-servers remove \
             {name}`",
            cx.config()?.origin_of_key(&format!("mcp_servers.{name}.command"))
        )));
    }
    together.mcp_servers.insert(name.clone(), server.clone());
    if let Some((key, why)) = config::server_complaint(&together) {
        return Err(usage(format!("{key} {why}")));
    }
    let servers = vec![(name.clone(), server)];
    let additions = ConfigAdditions { servers, ..ConfigAdditions::default() };
    config::add_to_config_file(&files.file_at(path), &additions)?;
    if args.no_start {
        let file = path.display();
        match args.json.json {
            true => out_json(&json!({"name": name, "approved": false, "file": path}))?,
            false => out_line(&format!(
                "{name} is added to {file}; review it with `weir mcp-servers approve {name}`"
            ))?,
        }
        return Ok(ExitCode::SUCCESS);
    }
    // The settings were read before they were changed.
    let cx = cx.reloaded_in_folder(&cx.folder)?;
    let known = mcp::find_known_server(&cx, name).await?;
    match review_server(&cx, &known, how).await {
        Ok(code) => Ok(code),
        Err(error) => {
            err_message(&format!(
                "{name} is added to {}, but not approved; `weir mcp-servers approve {name}` tries \
                 again, `weir mcp-servers remove {name}` removes it",
                path.display()
            ));
            Err(failure_with_status(exit::FAILED, format!("{error:#}")))
        }
    }
}

fn settings_from_args(args: &McpAddArgs) -> anyhow::Result<McpServerSettings> {
    let mut words = args.command.iter().cloned();
    let command = words.next().unwrap_or_default();
    let url = args.url.clone().unwrap_or_default();
    if command.is_empty() && url.is_empty() {
        return Err(usage(
            "say how to reach the server: --url URL, or a program and its arguments after `--`",
        ));
    }
    let of = |text: &Option<String>| text.clone().unwrap_or_default();
    Ok(McpServerSettings {
        command,
        args: words.collect(),
        env: parse_name_value_pairs("--env", &args.env)?,
        url,
        headers: parse_name_value_pairs("--header", &args.header)?,
        secrets: parse_name_value_pairs("--secret", &args.secret)?,
        hosts: args.host.clone(),
        reads: absolute_folders(&args.read)?,
        writes: absolute_folders(&args.write)?,
        cwd: String::new(),
        unconfined: args.unconfined,
        read_tools: args.read_tool.clone(),
        send_tools: args.send_tool.clone(),
        tools: BTreeMap::new(),
        trust_annotations: args.trust_annotations,
        trust_labels: false,
        sampling: args.sampling,
        timeout: args.timeout,
        start_timeout: args.start_timeout,
        enabled: true,
        protocol: of(&args.protocol),
        oauth: McpOauthSettings {
            client_id: of(&args.client_id),
            client_secret: of(&args.client_secret),
            client_metadata_url: of(&args.client_metadata_url),
            scopes: args.scope.clone(),
            callback_port: 0,
        },
    })
}

fn parse_name_value_pairs(
    flag: &str,
    texts: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut table = BTreeMap::new();
    for text in texts {
        let (name, value) = text.split_once('=').ok_or_else(|| {
            // What stands there may be a secret: it is not repeated.
            usage(format!("{flag} takes NAME=VALUE"))
        })?;
        if table.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(usage(format!("{flag} names {name} twice")));
        }
    }
    Ok(table)
}

/// Folders in full, but for the workspace itself, which is another one elsewhere.
fn absolute_folders(texts: &[String]) -> anyhow::Result<Vec<String>> {
    let full = |text: &String| {
        if text == "." || text.starts_with("~/") || text.starts_with("./") {
            return Ok(text.clone());
        }
        let path = std::path::absolute(text).map_err(|error| usage(format!("{text}: {error}")))?;
        let path = path.to_str().ok_or_else(|| usage(format!("{text} is not valid UTF-8")))?;
        Ok(path.to_owned())
    };
    texts.iter().map(full).collect()
}
