//! `weir mcp-servers declare`: what is proposed of tools that nobody declared becomes the person's own
//! declaration, each by their word (U2). Not here: what is proposed (`weir_mcp`), and how the file is
//! changed (`weir_install::config`).

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde_json::json;
use weir_core::view::plain::visible_text;
use weir_install::catalogue::servers::approval::{compare_offer, offer};
use weir_install::catalogue::servers::words;
use weir_install::config::{add_tool_declarations, tool_declaration_lines};
use weir_install::context::InstallationContext;
use weir_install::servers::ServerOwner;
use weir_install::wiring::mcp::{self, KnownMcpServer};
use weir_mcp::{
    DeclarationProposal, ListedTool, ServerListing, ToolDeclarations, is_literal_tool_name,
    propose_declaration,
};

use super::approve::{ApprovalPrompting, confirm_offer};
use crate::failure::{exit, usage};
use crate::options::McpDeclareArgs;
use crate::terminal::{confirm_by_person, is_attended, out_json, out_line};

pub(super) async fn declare_tools(
    cx: &InstallationContext,
    args: &McpDeclareArgs,
) -> anyhow::Result<ExitCode> {
    let name = &args.name;
    let how = ApprovalPrompting { yes: args.yes, json: args.json.json };
    check_person_sees(args, how)?;
    let known = mcp::find_known_server(cx, name).await?;
    check_declared_by_person(&known)?;
    let files = cx.config_files();
    let path = &files.user;
    let listing = fetch_approved_listing(cx, &known).await?;
    let offered = collect_proposals(&known, &listing, &args.tools)?;
    if offered.is_empty() {
        out_line(&describe_nothing_proposed(&known, &listing))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut chosen = BTreeMap::new();
    for one in &offered {
        if !how.json {
            out_line(&describe_proposal(name, one)?)?;
        }
        let question = format!("Declare {} like this?", visible_text(one.tool));
        if how.yes || confirm_by_person(&question)? {
            chosen.insert(one.tool.to_owned(), one.proposal.declaration.clone());
        }
    }
    if chosen.is_empty() {
        out_line("Nothing was declared.")?;
        return Ok(ExitCode::from(exit::FAILED));
    }
    add_tool_declarations(&files.file_at(path), name, &chosen)?;
    let tools: Vec<&String> = chosen.keys().collect();
    approve_declared(cx, &DeclaredTools { name, tools, path }, listing, how).await
}

/// A proposal is taken by whoever saw it: a person who is asked about each, or one who names the tools.
fn check_person_sees(args: &McpDeclareArgs, how: ApprovalPrompting) -> anyhow::Result<()> {
    let name = &args.name;
    if how.yes && args.tools.is_empty() {
        return Err(usage(format!(
            "--yes takes no proposal that nobody named; say which: `weir mcp-servers declare {name} \
             TOOL --yes` (`weir mcp-servers show {name}` shows what is proposed)"
        )));
    }
    if how.yes || (is_attended() && !how.json) {
        return Ok(());
    }
    Err(usage(format!(
        "nobody can be asked here; run this in a terminal, or name the tools and confirm with --yes \
         (`weir mcp-servers show {name}` shows what is proposed)"
    )))
}

/// What is declared goes into the file that declares the server, which has to be the person's own.
fn check_declared_by_person(known: &KnownMcpServer) -> anyhow::Result<()> {
    let (name, place) = (&known.declared.name, &known.declared.place);
    let way = match known.declared.whose {
        ServerOwner::User => return Ok(()),
        ServerOwner::Project => format!(
            "write [mcp_servers.{name}.tools.TOOL] there, or add the server to your own settings"
        ),
        ServerOwner::McpJson => {
            "such a file holds no declarations; add the server to your own settings".to_owned()
        }
        ServerOwner::Editor => "add the server to your own settings".to_owned(),
    };
    Err(usage(format!(
        "{name} is declared by the workspace ({place}), whose file this command does not change: {way} \
         (`weir mcp-servers add`)"
    )))
}

/// What the server offers now, which has to be what the person approved: the proposals rest on it, and
/// what they approve afterwards is nothing but the declarations.
async fn fetch_approved_listing(
    cx: &InstallationContext,
    known: &KnownMcpServer,
) -> anyhow::Result<ServerListing> {
    let name = &known.declared.name;
    let spec = known.enabled_spec()?;
    let first = format!("look at it first: `weir mcp-servers approve {name}`");
    if known.pin.is_none() {
        return Err(usage(format!("{name} is not approved yet; {first}")));
    }
    let (pin, differences) = offer(cx, known, spec).await?;
    if !differences.is_empty() {
        return Err(usage(format!("{name} is not as you approved it; {first}")));
    }
    Ok(pin.listing)
}

/// A tool that nobody declared, and what its names suggest.
struct ProposedTool<'a> {
    tool: &'a str,
    listed: &'a ListedTool,
    proposal: DeclarationProposal,
}

/// The proposals for these tools; for none: all that there are.
fn collect_proposals<'a>(
    known: &'a KnownMcpServer,
    listing: &'a ServerListing,
    wanted: &[String],
) -> anyhow::Result<Vec<ProposedTool<'a>>> {
    let unknown = |name: &str, listed: &ListedTool| {
        known.declarations().is_none_or(|declared| is_undeclared(declared, name, listed))
    };
    if wanted.is_empty() {
        let open = listing.tools.iter().filter(|(name, listed)| {
            unknown(name.as_str(), listed) && is_literal_tool_name(name.as_str())
        });
        let proposed = open.filter_map(|(tool, listed)| {
            Some(ProposedTool { tool, listed, proposal: propose_declaration(tool, listed)? })
        });
        return Ok(proposed.collect());
    }
    let server = &known.declared.name;
    let mut found: Vec<ProposedTool<'_>> = Vec::new();
    for name in wanted {
        let shown = visible_text(name);
        let Some((tool, listed)) = listing.tools.get_key_value(name) else {
            return Err(usage(format!(
                "{server} has no tool {shown}; `weir mcp-servers show {server}` lists its tools"
            )));
        };
        if !unknown(tool, listed) {
            let says = known
                .declarations()
                .map(|declared| words::describe_effects(tool, listed, declared))
                .unwrap_or_default();
            return Err(usage(format!(
                "{shown} is declared already: {says}. To say something else, write \
                 [mcp_servers.{server}.tools.{shown}] yourself"
            )));
        }
        if !is_literal_tool_name(tool) {
            return Err(usage(format!(
                "{shown} has a sign in its name that would be read as a pattern, and so as other tools: \
                 it stays unknown what it does"
            )));
        }
        let proposal = propose_declaration(tool, listed).ok_or_else(|| {
            usage(format!(
                "nothing suggests what {shown} does: read its description (`weir mcp-servers show \
                 {server}`) and write [mcp_servers.{server}.tools.{shown}] yourself"
            ))
        })?;
        if found.iter().all(|one| one.tool != tool) {
            found.push(ProposedTool { tool, listed, proposal });
        }
    }
    Ok(found)
}

/// Nobody says of this tool what it does, rightly or wrongly.
fn is_undeclared(declared: &ToolDeclarations, name: &str, listed: &ListedTool) -> bool {
    declared.find_declaration(name, listed).is_none() && !declared.is_read_only(name, listed)
}

/// The tool as a model reads it, and the lines that are proposed for it.
fn describe_proposal(server: &str, one: &ProposedTool<'_>) -> anyhow::Result<String> {
    let mut text = words::describe_tool(server, one.tool, one.listed, None);
    text.push_str(&format!("\n  Proposed, since {}:\n", visible_text(&one.proposal.because)));
    let lines = tool_declaration_lines(server, one.tool, &one.proposal.declaration)?;
    for line in lines.lines() {
        text.push_str(&format!("      {}\n", visible_text(line)));
    }
    Ok(text)
}

/// Why there is nothing to ask about.
fn describe_nothing_proposed(known: &KnownMcpServer, listing: &ServerListing) -> String {
    let server = &known.declared.name;
    let open = listing.tools.iter().filter(|(name, listed)| {
        known.declarations().is_none_or(|declared| is_undeclared(declared, name, listed))
    });
    let open: Vec<String> = open.map(|(name, _)| visible_text(name)).collect();
    if open.is_empty() {
        return format!("Every tool of {server} is declared (`weir mcp-servers show {server}`).");
    }
    format!(
        "Nothing suggests what these tools of {server} do: {}. Read their descriptions (`weir \
         mcp-servers show {server}`) and write [mcp_servers.{server}.tools.TOOL] yourself.",
        open.join(", ")
    )
}

/// What was written, and where.
struct DeclaredTools<'a> {
    name: &'a str,
    tools: Vec<&'a String>,
    path: &'a Path,
}

/// Shows what the server is with the new declarations against what was approved, and asks.
async fn approve_declared(
    cx: &InstallationContext,
    written: &DeclaredTools<'_>,
    listing: ServerListing,
    how: ApprovalPrompting,
) -> anyhow::Result<ExitCode> {
    let DeclaredTools { name, tools, path } = written;
    if !how.json {
        let tools: Vec<String> = tools.iter().map(|tool| visible_text(tool)).collect();
        out_line(&format!("Declared in {}: {}\n", path.display(), tools.join(", ")))?;
    }
    // The settings were read before they were changed.
    let cx = cx.reloaded_in_folder(&cx.folder)?;
    let known = mcp::find_known_server(&cx, name).await?;
    let spec = known.usable_spec()?;
    // As it was listed above: what a server says now nobody has seen.
    let (pin, differences) = compare_offer(&known, spec, listing);
    let (code, mut report) = confirm_offer(&cx, &known, pin, differences, how).await?;
    if how.json {
        report["declared"] = json!(tools);
        report["file"] = json!(path);
        out_json(&report)?;
    } else if code != ExitCode::SUCCESS {
        out_line(&format!(
            "The lines stay in {}; `weir mcp-servers approve {name}` asks again.",
            path.display()
        ))?;
    }
    Ok(code)
}
