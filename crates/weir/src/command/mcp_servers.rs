//! `weir mcp-servers`: which servers there are, what each is and offers, and what of it a person
//! approved (C9, Z8). Starting one and comparing it with what was approved is in `weir_mcp`.

use std::process::ExitCode;

use serde_json::{Value, json};
use weir_core::tool::foreign;
use weir_core::view::plain::visible_text;
use weir_install::catalogue::servers::brought::{
    BroughtDecision, forget_brought_server, list_brought_decisions,
};
use weir_install::catalogue::servers::{McpServerStatus, checked, server_status, words};
use weir_install::context::InstallationContext;
use weir_install::servers::{ServerOwner, TokenFiles};
use weir_install::wiring::mcp::{self, KnownMcpServer};
use weir_install::wording::timestamp_text;
use weir_mcp::{ServerListing, TokenStore as _};

use crate::failure::{exit, failure_with_status, usage};
use crate::options::{McpListArgs, McpRestartArgs, McpServerArgs, McpServersCommand};
use crate::terminal::{err_message, format_table, out_json, out_line};

mod add;
mod approve;
mod declare;
mod install;

/// Lists, shows, adds, approves, restarts, removes.
pub(crate) async fn mcp_servers(
    cx: &InstallationContext,
    command: McpServersCommand,
) -> anyhow::Result<ExitCode> {
    match command {
        McpServersCommand::List(args) => list_servers(cx, &args).await,
        McpServersCommand::Show(args) => show_server(cx, &args).await,
        McpServersCommand::Add(args) => add::add_server(cx, &args).await,
        McpServersCommand::Approve(args) => approve::approve_server(cx, &args).await,
        McpServersCommand::Declare(args) => declare::declare_tools(cx, &args).await,
        McpServersCommand::Install(args) => install::install_server_package(cx, &args).await,
        McpServersCommand::Update(args) => install::update_server_package(cx, &args).await,
        McpServersCommand::Restart(args) => restart_server(cx, &args).await,
        McpServersCommand::Remove(args) => remove(cx, &args).await,
    }
}

async fn list_servers(cx: &InstallationContext, args: &McpListArgs) -> anyhow::Result<ExitCode> {
    let (all, notes) = mcp::load_known_servers(cx).await?;
    for note in &notes {
        err_message(&format!("warning: {note}"));
    }
    let standings = match args.check {
        true if !all.is_empty() => checked(cx, &all).await?,
        _ => all.iter().map(server_status).collect(),
    };
    let fails = |s: &McpServerStatus| matches!(s.word, "failed" | "broken" | "uninstalled");
    let failed = args.check && standings.iter().any(fails);
    let code = if failed { ExitCode::from(exit::FAILED) } else { ExitCode::SUCCESS };
    let brought = list_brought_decisions(cx).await?;
    if args.json.json {
        let all = all.iter().zip(&standings).map(|(known, s)| as_json(cx, known, s));
        let of_editors = brought.iter().map(|decision| brought_json(cx, decision));
        out_json(&all.chain(of_editors).collect::<Vec<Value>>())?;
        return Ok(code);
    }
    if all.is_empty() && brought.is_empty() {
        out_line("No MCP servers. `weir mcp-servers add` adds one.")?;
        return Ok(code);
    }
    let row = |(known, standing): (&KnownMcpServer, &McpServerStatus)| {
        let detail = standing.detail.lines().next().unwrap_or_default();
        let reached = words::describe_server_address(&known.declared.settings);
        vec![
            known.declared.name.clone(),
            standing.word.to_owned(),
            visible_text(detail),
            visible_text(&words::truncate_chars(&reached, REACHED_CHARS_MAX)),
            visible_text(&known.declared.place),
        ]
    };
    let rows = all.iter().zip(&standings).map(row).chain(brought.iter().map(brought_row));
    out_line(&format_table(&rows.collect::<Vec<_>>()))?;
    Ok(code)
}

/// Where a server is from that only an editor declares.
const OF_AN_EDITOR: &str = "an editor, in this folder";

fn brought_state(decision: &BroughtDecision) -> &'static str {
    if decision.is_approved { "approved" } else { "refused" }
}

/// What was said of a server of an editor: `weir mcp-servers remove` takes it back.
fn brought_row(decision: &BroughtDecision) -> Vec<String> {
    let tools = decision.tools.map(|tools| format!("{tools} tools, ")).unwrap_or_default();
    let since = timestamp_text(decision.since);
    vec![
        visible_text(&decision.name),
        brought_state(decision).to_owned(),
        visible_text(&format!("{tools}by {}, {since} UTC", decision.by)),
        visible_text(&words::truncate_chars(&decision.reached, REACHED_CHARS_MAX)),
        OF_AN_EDITOR.to_owned(),
    ]
}

fn brought_json(cx: &InstallationContext, decision: &BroughtDecision) -> Value {
    json!({
        "name": decision.name,
        "place": OF_AN_EDITOR,
        "source": "editor",
        "workspace": cx.folder,
        "reached": decision.reached,
        "state": brought_state(decision),
        "approved": decision.is_approved,
        "tools": decision.tools,
        "by": decision.by,
        "since": decision.since,
    })
}

/// Characters of a command line or address in a list.
const REACHED_CHARS_MAX: usize = 60;

fn as_json(cx: &InstallationContext, known: &KnownMcpServer, standing: &McpServerStatus) -> Value {
    let settings = &known.declared.settings;
    json!({
        "name": known.declared.name,
        "place": known.declared.place,
        "source": match known.declared.whose {
            ServerOwner::User => "user",
            ServerOwner::Project => "project",
            ServerOwner::McpJson => ".mcp.json",
            ServerOwner::Editor => "editor",
        },
        "workspace": cx.folder,
        "transport": if settings.url.is_empty() { "stdio" } else { "http" },
        "reached": words::describe_server_address(settings),
        "package": known.pinned_package(),
        "state": standing.word,
        "detail": standing.detail,
        "approved": known.pin.is_some(),
        "protocol": standing.listing.as_ref().map(|listing| &listing.protocol),
        "tools": standing.listing.as_ref().map(|listing| listing.tools.len()),
    })
}

async fn show_server(cx: &InstallationContext, args: &McpServerArgs) -> anyhow::Result<ExitCode> {
    let known = mcp::find_known_server(cx, &args.name).await?;
    let standing = server_status(&known);
    if args.json.json {
        let mut json = as_json(cx, &known, &standing);
        json["hash"] = json!(known.pin.as_ref().map(weir_mcp::ServerPin::hash));
        json["tools"] = tools_json(&known, standing.listing.as_ref());
        json["notes"] = json!(standing.listing.as_ref().map(|listing| &listing.notes));
        out_json(&json)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = words::describe_server(&known);
    text.push_str(&format!("State: {}\n", visible_text(standing.detail.trim_end())));
    match (&known.pin, &standing.listing) {
        (Some(pin), Some(listing)) => {
            text.push_str(&format!("Approved as SHA-256 {}\n\n", pin.hash()));
            text.push_str(&words::describe_listing(&args.name, listing, known.declarations()));
        }
        _ => text.push_str(
            "Its tools are known once you have reviewed it: `weir mcp-servers approve`.\n",
        ),
    }
    out_line(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn tools_json(known: &KnownMcpServer, listing: Option<&ServerListing>) -> Value {
    let server = known.declared.name.as_str();
    let declared = known.declarations();
    let tools = listing.into_iter().flat_map(|listing| &listing.tools);
    let tools = tools.map(|(name, tool)| {
        json!({
            "name": name,
            "called": foreign::foreign_tool_name(server, name),
            "title": tool.title,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "says_read_only": tool.says_read_only,
            "does": declared.map(|declared| words::describe_effects(name, tool, declared)),
            "hash": tool.hash,
        })
    });
    Value::Array(tools.collect())
}

async fn restart_server(
    cx: &InstallationContext,
    args: &McpRestartArgs,
) -> anyhow::Result<ExitCode> {
    let known = mcp::find_known_server(cx, &args.name).await?;
    if args.forget {
        forget_sign_in(cx, &known).await?;
    }
    let all = [known];
    let standing = checked(cx, &all).await?.pop();
    let standing = standing.ok_or_else(|| usage("it was not started"))?;
    if matches!(standing.word, "failed" | "broken" | "uninstalled" | "disabled") {
        return Err(failure_with_status(
            exit::FAILED,
            format!("{}: {}", args.name, standing.detail),
        ));
    }
    if args.json.json {
        out_json(&as_json(cx, &all[0], &standing))?;
    } else {
        out_line(&format!("{}: {}", args.name, visible_text(&standing.detail)))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn forget_sign_in(cx: &InstallationContext, known: &KnownMcpServer) -> anyhow::Result<()> {
    let name = known.declared.name.clone();
    let keys = [(name.clone(), known.declared.storage_key(cx))].into();
    TokenFiles::new(&cx.dirs.state, keys).save(&name, None).await.map_err(usage)
}

async fn remove(cx: &InstallationContext, args: &McpServerArgs) -> anyhow::Result<ExitCode> {
    let known = match mcp::find_known_server(cx, &args.name).await {
        Ok(known) => known,
        // An editor declares it to its own sessions: here there is only what was said of it.
        Err(error) => {
            return match forget_brought_server(cx, &args.name).await? {
                true => report_removal(args, "what was said of this server of an editor"),
                false => Err(error),
            };
        }
    };
    let (name, place) = (&args.name, &known.declared.place);
    match known.declared.whose {
        ServerOwner::User => {
            let files = cx.config_files();
            let path = &files.user;
            if !weir_install::config::remove_server(&files.file_at(path), name)? {
                return Err(usage(format!("{name} is not in {}", path.display())));
            }
        }
        ServerOwner::Project | ServerOwner::McpJson | ServerOwner::Editor => {
            return Err(usage(format!(
                "{name} is declared by the workspace ({place}); remove it there. It is not used \
                 while the workspace is not trusted (`weir trust remove`)"
            )));
        }
    }
    mcp::forget_approval(cx, &known.declared).await?;
    forget_sign_in(cx, &known).await?;
    weir_install::servers::packages::remove(&known.declared.package_place(cx))?;
    forget_brought_server(cx, &args.name).await?;
    report_removal(args, "the server and its approval")
}

fn report_removal(args: &McpServerArgs, what: &str) -> anyhow::Result<ExitCode> {
    let name = &args.name;
    if args.json.json {
        out_json(&json!({"name": name, "removed": true}))?;
    } else {
        out_line(&format!("Removed {name}: {what}"))?;
    }
    Ok(ExitCode::SUCCESS)
}
