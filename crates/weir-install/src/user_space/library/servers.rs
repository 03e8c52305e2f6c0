//! Foreign servers (MCP): how each stands, what it offers, and what of it a person approved (Z8).

use super::{
    LibraryAction, LibraryDecision, LibraryItem, LibraryLine, LibraryListing, NewServer,
    PendingLibraryChange, TextKind, check_unchanged, reload_context, unsupported_action,
};
use crate::catalogue::servers::{approval, server_status, words};
use crate::config::{self, ConfigAdditions, McpServerSettings};
use crate::context::InstallationContext;
use crate::failure::usage;
use crate::wiring::mcp::{self, KnownMcpServer};

/// Whether the server is started and asked what it offers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerProbe {
    /// It is shown as it was approved.
    No,
    /// It is started, asked and ended.
    Yes,
}

fn server_line(known: &KnownMcpServer) -> LibraryLine {
    let standing = server_status(known);
    LibraryLine {
        name: known.declared.name.clone(),
        about: words::describe_server_address(&known.declared.settings),
        origin: known.declared.place.clone(),
        state: standing.detail,
        waits: matches!(standing.word, "unapproved" | "changed"),
        untrusted: true,
    }
}

/// Every declared server.
pub(super) async fn list_servers(cx: &InstallationContext) -> anyhow::Result<LibraryListing> {
    let (known, notes) = mcp::load_known_servers(cx).await?;
    Ok(LibraryListing { lines: known.iter().map(server_line).collect(), notes })
}

/// One server; where it is asked, what it offers now waits for a person's word.
pub(super) async fn server_item(
    cx: &InstallationContext,
    name: &str,
    asked: ServerProbe,
) -> anyhow::Result<LibraryItem> {
    let known = mcp::find_known_server(cx, name).await?;
    let mut text = words::describe_server(&known);
    if let Some(pin) = &known.pin {
        text.push('\n');
        text.push_str(&words::describe_listing(name, &pin.listing, known.declarations()));
    }
    let waiting = match asked {
        ServerProbe::No => None,
        ServerProbe::Yes => {
            let (pin, text) = approval::asked(cx, &known).await?;
            let same = known.pin.as_ref().is_some_and(|kept| kept.hash() == pin.hash());
            (!same).then(|| PendingLibraryChange {
                editable: None,
                what: match known.pin.is_some() {
                    true => "not as it was approved".into(),
                    false => "not approved yet".into(),
                },
                text,
                diff: String::new(),
                whose: "the words of its maker".into(),
                // Approving it is reading it.
                untrusted: false,
                hash: pin.hash(),
            })
        }
    };
    let mut deeds = Vec::new();
    if waiting.is_some() {
        deeds.push(LibraryAction::Approve);
    }
    if known.pin.is_some() {
        deeds.push(LibraryAction::Disable);
    }
    let facts =
        known.pin.iter().map(|pin| ("Approved as SHA-256".to_owned(), pin.hash())).collect();
    let (hash, text_kind) = (String::new(), TextKind::Plain);
    Ok(LibraryItem { line: server_line(&known), facts, text, text_kind, hash, waiting, deeds })
}

/// Declares a server in the installation's settings, by the same checks as `weir mcp-servers add`.
pub(super) fn declare_server(cx: &InstallationContext, new: &NewServer) -> anyhow::Result<()> {
    let name = new.name.trim();
    let mut line = words_of(&new.command)?.into_iter();
    let server = McpServerSettings {
        command: line.next().unwrap_or_default(),
        args: line.collect(),
        url: new.url.trim().to_owned(),
        writes: new.writes.clone(),
        hosts: new.hosts.clone(),
        ..McpServerSettings::default()
    };
    if server.command.is_empty() == server.url.is_empty() {
        return Err(usage("give a command or an address, and not both"));
    }
    let mut together = cx.config()?.settings.clone();
    if together.mcp_servers.contains_key(name) {
        return Err(usage(format!("there is a server {name:?} already")));
    }
    together.mcp_servers.insert(name.to_owned(), server.clone());
    if let Some((key, why)) = config::server_complaint(&together) {
        return Err(usage(format!("{key} {why}")));
    }
    let servers = vec![(name.to_owned(), server)];
    let files = cx.config_files();
    config::add_to_config_file(
        &files.file_at(&files.user),
        &ConfigAdditions { servers, ..ConfigAdditions::default() },
    )
}

/// A command line as words: blanks part them and quotes keep them together. Nothing is expanded.
fn words_of(line: &str) -> anyhow::Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in line.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                word.get_or_insert_default();
                quote = Some(c);
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err(usage("Command: a quotation mark is not closed"));
    }
    words.extend(word);
    Ok(words)
}

/// Approves what was shown, or forgets what was approved.
pub(super) async fn act_on_server(
    cx: &InstallationContext,
    name: &str,
    word: &LibraryDecision<'_>,
) -> anyhow::Result<String> {
    let known = mcp::find_known_server(cx, name).await?;
    match word.deed {
        LibraryAction::Approve => {
            let (pin, _) = approval::asked(&reload_context(cx)?, &known).await?;
            check_unchanged(word.hash, &pin.hash())?;
            mcp::save_approval(cx, &known.declared, &pin).await?;
            Ok(format!("{name} is approved: {} tools.", pin.listing.tools.len()))
        }
        LibraryAction::Disable => {
            mcp::forget_approval(cx, &known.declared).await?;
            Ok(format!("{name} is not approved any more: none of its tools can be called."))
        }
        deed @ (LibraryAction::Accept
        | LibraryAction::Reject
        | LibraryAction::Enable
        | LibraryAction::Remove) => Err(unsupported_action(deed)),
    }
}

#[cfg(test)]
mod tests {
    use super::words_of;

    #[test]
    fn s10_a_command_line_is_cut_at_blanks_and_kept_together_by_quotes() {
        let words = |line: &str| words_of(line).expect(line);
        assert_eq!(words(" npx  -y @a/server . "), ["npx", "-y", "@a/server", "."]);
        assert_eq!(words("run 'two words' \"\" a\"b c\"d"), ["run", "two words", "", "ab cd"]);
        assert_eq!(words("echo $HOME `x`"), ["echo", "$HOME", "`x`"]);
        assert!(words("").is_empty() && words_of("run 'open").is_err());
    }
}
