//! Declarations of single tools in the file that declares their server (U2): as lines for a person, and
//! added to the file beside what stands there. Not here: what is proposed (`weir_mcp`), and whether a
//! person said yes.

use std::collections::BTreeMap;

use anyhow::Context as _;
use toml_edit::{DocumentMut, InlineTable, Item, Table};
use weir_core::tool::ToolDeclaration;
use weir_mcp::declaration_toml;

use super::config_file::ConfigFile;
use super::edit::implicit_table;
use crate::failure::usage;

/// The lines of `[mcp_servers.SERVER.tools.TOOL]`, as [`add_tool_declarations`] writes them.
///
/// # Errors
/// The declaration is none that a file can hold.
pub fn tool_declaration_lines(
    server: &str,
    tool: &str,
    declaration: &ToolDeclaration,
) -> anyhow::Result<String> {
    let mut tools = implicit_table();
    tools.insert(tool, Item::Table(declaration_table(declaration)?));
    let mut above = implicit_table();
    above.insert("tools", Item::Table(tools));
    let mut servers = implicit_table();
    servers.insert(server, Item::Table(above));
    let mut document = DocumentMut::new();
    document.insert("mcp_servers", Item::Table(servers));
    Ok(document.to_string())
}

/// Adds what is declared of tools, by their names, to a server that stands in the file: all or nothing.
/// Comments and order stay.
///
/// # Errors
/// The server is not in the file, a tool is declared there already, or the file cannot be read or
/// written.
pub fn add_tool_declarations(
    config: &ConfigFile,
    server: &str,
    declarations: &BTreeMap<String, ToolDeclaration>,
) -> anyhow::Result<()> {
    let held = config.hold_file()?;
    let mut document = held.open_document()?;
    let file = config.path().display();
    let of_server = document
        .get_mut("mcp_servers")
        .and_then(Item::as_table_like_mut)
        .and_then(|servers| servers.get_mut(server))
        .ok_or_else(|| usage(format!("{server} is not in {file}; nothing was written")))?;
    // In a table of one line everything is a value.
    let none = match of_server.is_inline_table() {
        true => Item::Value(InlineTable::new().into()),
        false => Item::Table(implicit_table()),
    };
    let tools = of_server
        .as_table_like_mut()
        .ok_or_else(|| usage(format!("{file}: mcp_servers.{server} is not a table")))?
        .entry("tools")
        .or_insert(none)
        .as_table_like_mut()
        .ok_or_else(|| usage(format!("{file}: mcp_servers.{server}.tools is not a table")))?;
    for (tool, declaration) in declarations {
        if tools.contains_key(tool) {
            let why = format!("{file} declares {tool} already; correct it there");
            return Err(usage(why));
        }
        tools.insert(tool, Item::Table(declaration_table(declaration)?));
    }
    held.replace_text(&document.to_string())
}

fn declaration_table(declaration: &ToolDeclaration) -> anyhow::Result<Table> {
    let document: DocumentMut =
        declaration_toml(declaration).parse().context("a declaration could not be written")?;
    // A table of its own: that of a document knows its place in that document.
    let mut table = Table::new();
    for (key, item) in document.iter() {
        table.insert(key, item.clone());
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use weir_core::tool::SendDeclaration;

    use super::*;

    fn sending() -> ToolDeclaration {
        let path = |text: &str| text.to_owned().try_into().expect("a path");
        let sends = SendDeclaration { to: vec![path("to")], content: vec![path("text")] };
        ToolDeclaration { sends: Some(sends), ..ToolDeclaration::default() }
    }

    fn added(before: &str, tool: &str) -> anyhow::Result<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("config.toml");
        std::fs::write(&path, before).expect("writable");
        let file = ConfigFile::with_lock_in(folder.path(), &path);
        let result = add_tool_declarations(&file, "s", &[(tool.to_owned(), sending())].into());
        let text = std::fs::read_to_string(&path).expect("it is there");
        if result.is_err() {
            assert_eq!(text, before, "nothing is written where it fails");
        }
        result.map(|()| text)
    }

    #[test]
    fn u2_a_declaration_stands_below_its_server_and_comments_stay() {
        let before = "# mine\n[mcp_servers.s] # the forge\ncommand = \"x\"\n\
                      [mcp_servers.s.tools.read] # yes\nreads = true\n\n[mcp_servers.t]\ncommand = \"y\"\n";
        let text = added(before, "tell \"all\"").expect("it is written");
        for line in before.lines() {
            assert!(text.contains(line), "{line} of {text}");
        }
        let lines = tool_declaration_lines("s", "tell \"all\"", &sending()).expect("lines");
        assert!(text.contains(lines.trim()), "what is shown is what is written: {lines} {text}");
        assert!(lines.contains("sends = { to = [\"to\"], content = [\"text\"] }"), "{lines}");
        let read: super::super::Settings = toml::from_str(&text).expect("it is read back");
        let tools = &read.mcp_servers["s"].tools;
        assert_eq!(tools["tell \"all\""], sending());
        assert!(tools["read"].reads && read.mcp_servers["t"].tools.is_empty());
    }

    #[test]
    fn u2_a_server_in_one_line_is_added_to_as_well() {
        for before in [
            "mcp_servers.s = { command = \"x\" }\n",
            "[mcp_servers]\ns = { command = \"x\", tools = { a = { reads = true } } }\n",
            "[mcp_servers.s]\ncommand = \"x\"\ntools = { a = { reads = true } }\n",
        ] {
            let text = added(before, "tell").expect("it is written");
            let read: super::super::Settings = toml::from_str(&text).expect("it is read back");
            assert_eq!(read.mcp_servers["s"].tools["tell"], sending(), "{text}");
        }
    }

    #[test]
    fn u2_what_stands_elsewhere_or_already_is_not_written_over() {
        for (before, part) in [
            ("[mcp_servers.t]\ncommand = \"x\"\n", "s is not in"),
            (
                "[mcp_servers.s]\ncommand = \"x\"\n[mcp_servers.s.tools.tell]\nreads = true\n",
                "declares tell already",
            ),
            ("[mcp_servers.s]\ncommand = \"x\"\ntools = 3\n", "is not a table"),
        ] {
            let error = added(before, "tell").expect_err(before).to_string();
            assert!(error.contains(part), "{before}: {error}");
        }
    }
}
