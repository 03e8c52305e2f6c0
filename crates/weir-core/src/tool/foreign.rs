//! Names under which tools of foreign servers are known here (Z8): `mcp__SERVER__TOOL`, in the
//! alphabet that every vendor takes. Pure, and the same for the same words everywhere. Not here:
//! which servers there are.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

pub use super::built_in::FOREIGN_CALLER as USE;

/// Begins every name of a foreign tool, and no other.
pub const PREFIX: &str = "mcp__";
/// What stands in the place of a tool for a server's own questions to the model (R3).
pub const SAMPLING: &str = "sampling";
/// Longest name that every vendor takes.
const NAME_MAX: usize = 64;
/// Longest part that names the server.
const SERVER_MAX: usize = 24;
/// Digits of the mark that a name gets when it had to be changed.
const MARK_DIGITS: usize = 10;

/// The name of the tool `tool` of `server`. What fits stays as it is; what does not is shortened and
/// marked with a hash, and nothing that stays looks like that: so two tools never get one name,
/// short of a collision of hashes.
pub fn foreign_tool_name(server: &str, tool: &str) -> String {
    let server_part = server_part(server);
    let room = NAME_MAX - PREFIX.len() - server_part.len() - 2;
    let fits = tool.len() <= room && is_plain(tool) && !is_marked(tool) && tool != SAMPLING;
    let tool_part = match fits {
        true => tool.to_owned(),
        false => marked_word(tool, &format!("{server}\n{tool}"), room),
    };
    format!("{PREFIX}{server_part}__{tool_part}")
}

/// The name under which `server` asks the model while a call of it runs (R3): `mcp__SERVER__sampling`. No tool
/// of a server has it.
pub fn sampling_name(server: &str) -> String {
    format!("{PREFIX}{}__{SAMPLING}", server_part(server))
}

/// Whether `asked` is the name under which the server of the tool `outer` asks the model.
pub fn is_sampling_of(outer: &str, asked: &str) -> bool {
    match (split_name(outer), split_name(asked)) {
        (Some((of, _)), Some((server, SAMPLING))) => of == server,
        _ => false,
    }
}

/// The server and the tool in a name of [`foreign_tool_name`]; `None`: it is no such name.
pub fn split_name(tool: &str) -> Option<(&str, &str)> {
    tool.strip_prefix(PREFIX)?.split_once("__")
}

/// The part of a name that stands for its server: what `Mcp(SERVER:*)` names in a rule.
pub fn server_part(server: &str) -> String {
    let splits = server.contains("__") || server.starts_with('_') || server.ends_with('_');
    let fits = server.len() <= SERVER_MAX && is_plain(server) && !splits && !is_marked(server);
    if fits { server.to_owned() } else { marked_word(server, server, SERVER_MAX) }
}

/// The call that an input of [`USE`] means: its name and its arguments. `None`: it means none.
pub fn used_call(input: &Value) -> Option<(String, Value)> {
    let word = |field: &str| input.get(field)?.as_str().filter(|word| !word.is_empty());
    let arguments = match input.get("arguments") {
        None | Some(Value::Null) => json!({}),
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(other) => other.clone(),
    };
    arguments.is_object().then_some(())?;
    Some((foreign_tool_name(word("server")?, word("tool")?), arguments))
}

fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !word.is_empty() && word.chars().all(plain)
}

/// Whether it ends like a name that had to be changed.
fn is_marked(word: &str) -> bool {
    word.rsplit_once('-').is_some_and(|(_, end)| {
        end.len() == MARK_DIGITS && end.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
    })
}

/// What of `word` the alphabet has, and a hash of `whole`.
fn marked_word(word: &str, whole: &str, max: usize) -> String {
    let digest = Sha256::digest(whole.as_bytes());
    let hash: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let kept: String = word.chars().map(plain).take(max - MARK_DIGITS - 1).collect();
    format!("{}-{}", kept.trim_end_matches('-'), &hash[..MARK_DIGITS])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn z8_plain_names_stay_and_odd_ones_are_marked() {
        for (server, tool, expected) in [
            ("git", "push", "mcp__git__push"),
            ("git", "_push", "mcp__git___push"),
            ("my-git_2", "a__b", "mcp__my-git_2__a__b"),
        ] {
            assert_eq!(foreign_tool_name(server, tool), expected);
        }
        for (server, tool) in [
            ("git", "pu.sh"),
            ("git", ""),
            ("", "push"),
            ("a__b", "c"),
            ("a_", "_b"),
            ("grün", "пуш"),
            ("git", "x-0123456789"),
            ("git-0123456789", "x"),
            ("a/../b", "rm -rf /"),
        ] {
            let made = foreign_tool_name(server, tool);
            let fits = made.len() <= NAME_MAX && is_plain(&made);
            assert!(fits && made.contains('-'), "{made}");
        }
        let long = foreign_tool_name(&"s".repeat(300), &"t".repeat(300));
        assert_eq!(long.len(), NAME_MAX);
    }

    #[test]
    fn z8_no_two_tools_share_a_name() {
        let words =
            ["a", "a_", "_a", "a__b", "b", "a.b", "a-b", "a b", "A", "é", "e", "", "x__", "__x"];
        let long = [format!("{}1", "x".repeat(80)), format!("{}2", "x".repeat(80))];
        let words: Vec<&str> = words.into_iter().chain(long.iter().map(String::as_str)).collect();
        let mut seen = BTreeSet::new();
        for server in &words {
            for tool in &words {
                let made = foreign_tool_name(server, tool);
                // A name that was made is itself a name somebody could choose.
                let made_again =
                    foreign_tool_name(server, made.rsplit("__").next().unwrap_or_default());
                assert!(made != made_again || is_plain(tool), "{server} {tool}");
                assert!(seen.insert(made), "{server} {tool}");
                // A rule finds the server in it.
                let (part, _) = foreign_tool_name(server, tool)[PREFIX.len()..]
                    .split_once("__")
                    .map(|(a, b)| (a.to_owned(), b.to_owned()))
                    .expect("it has two parts");
                assert_eq!(part, server_part(server));
            }
        }
    }

    #[test]
    fn r3_no_tool_has_the_name_of_a_servers_questions() {
        let asked = sampling_name("git");
        assert_eq!(asked, "mcp__git__sampling");
        let tool = foreign_tool_name("git", SAMPLING);
        assert!(tool.starts_with("mcp__git__sampling-") && tool != asked, "{tool}");
        assert!(is_sampling_of("mcp__git__push", &asked));
        for (outer, asked) in [
            ("mcp__hub__push", asked.as_str()),
            ("read_file", asked.as_str()),
            ("mcp__git__push", tool.as_str()),
            ("mcp__git__push", "mcp__git__pull"),
        ] {
            assert!(!is_sampling_of(outer, asked), "{outer} {asked}");
        }
    }

    #[test]
    fn t2_a_call_by_way_of_another_is_its_own() {
        let input = json!({ "server": "git", "tool": "push", "arguments": { "to": "x" } });
        assert_eq!(used_call(&input), Some(("mcp__git__push".into(), json!({ "to": "x" }))));
        let text = json!({ "server": "git", "tool": "push", "arguments": "{\"to\": \"x\"}" });
        assert_eq!(used_call(&text), used_call(&input));
        assert_eq!(used_call(&json!({ "server": "a", "tool": "b" })).map(|u| u.1), Some(json!({})));
        for none in [
            json!({ "server": "git" }),
            json!({ "tool": "push" }),
            json!({ "server": "", "tool": "push" }),
            json!({ "server": "git", "tool": "push", "arguments": [] }),
            json!({ "server": "git", "tool": "push", "arguments": "x" }),
        ] {
            assert_eq!(used_call(&none), None, "{none}");
        }
    }
}
