//! Foreign servers (MCP): how each stands, what it offers, and what of it a person approved (Z8).

use super::{
    Deed, LibraryItem, LibraryLine, NewServer, Shelved, TextKind, Waiting, Word, anew, cannot, same,
};
use crate::catalogue::servers::{approval, standing, words};
use crate::config::{self, Additions, McpServerSettings};
use crate::cx::Cx;
use crate::failure::usage;
use crate::wiring::mcp::{self, Known};

/// Whether the server is started and asked what it offers now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// It is shown as it was approved.
    No,
    /// It is started, asked and ended.
    Yes,
}

fn line(known: &Known) -> LibraryLine {
    let standing = standing(known);
    LibraryLine {
        name: known.declared.name.clone(),
        about: words::reached(&known.declared.settings),
        origin: known.declared.place.clone(),
        state: standing.detail,
        waits: matches!(standing.word, "unapproved" | "changed"),
        untrusted: true,
    }
}

/// Every declared server.
pub(super) async fn all(cx: &Cx) -> anyhow::Result<Shelved> {
    let (known, notes) = mcp::known(cx).await?;
    Ok(Shelved { lines: known.iter().map(line).collect(), notes })
}

/// One server; where it is asked, what it offers now waits for a person's word.
pub(super) async fn one(cx: &Cx, name: &str, asked: Asked) -> anyhow::Result<LibraryItem> {
    let known = mcp::find(cx, name).await?;
    let mut text = words::server(&known);
    if let Some(pin) = &known.pin {
        text.push('\n');
        text.push_str(&words::listing(name, &pin.listing));
    }
    let waiting = match asked {
        Asked::No => None,
        Asked::Yes => {
            let (pin, text) = approval::asked(cx, &known).await?;
            let same = known.pin.as_ref().is_some_and(|kept| kept.hash() == pin.hash());
            (!same).then(|| Waiting {
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
        deeds.push(Deed::Approve);
    }
    if known.pin.is_some() {
        deeds.push(Deed::Disable);
    }
    let facts =
        known.pin.iter().map(|pin| ("Approved as SHA-256".to_owned(), pin.hash())).collect();
    let (hash, text_kind) = (String::new(), TextKind::Plain);
    Ok(LibraryItem { line: line(&known), facts, text, text_kind, hash, waiting, deeds })
}

/// Declares a server in the installation's settings, by the same checks as `weir mcp-servers add`.
pub(super) fn declare(cx: &Cx, new: &NewServer) -> anyhow::Result<()> {
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
    config::add_all(&cx.files().user, &Additions { servers, ..Additions::default() })
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
pub(super) async fn act(cx: &Cx, name: &str, word: &Word<'_>) -> anyhow::Result<String> {
    let known = mcp::find(cx, name).await?;
    match word.deed {
        Deed::Approve => {
            let (pin, _) = approval::asked(&anew(cx)?, &known).await?;
            same(word.hash, &pin.hash())?;
            mcp::keep(cx, &known.declared, &pin).await?;
            Ok(format!("{name} is approved: {} tools.", pin.listing.tools.len()))
        }
        Deed::Disable => {
            mcp::forget(cx, &known.declared).await?;
            Ok(format!("{name} is not approved any more: none of its tools can be called."))
        }
        deed @ (Deed::Accept | Deed::Reject | Deed::Enable | Deed::Remove) => Err(cannot(deed)),
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
