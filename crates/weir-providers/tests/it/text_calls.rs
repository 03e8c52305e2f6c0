//! Cases of calls that models wrote as text (V5), in `tests/text_calls`: see the README there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use weir_providers::text_calls::{
    CallHabit, FoundCalls, FoundPiece, HeldText, OfferedTool, OfferedTools, ToldWords, find_calls,
    format_names,
};

/// Fewest cases with a public source, and fewest formats that such a case has.
const CASES_MIN: usize = 200;
const FORMATS_MIN: usize = 20;
/// What stands in place of a source in a case that only varies another.
const VARIATION: &str = "own variation of ";

#[derive(Default)]
struct CallCase {
    name: String,
    source: String,
    /// `name(argument: type, …)`, with semicolons between.
    tools: String,
    habit: CallHabit,
    /// What the model was told, as far as the case is about it.
    given: String,
    reply: String,
    found: String,
}

impl CallCase {
    fn read(block: &str) -> CallCase {
        let mut case = CallCase::default();
        let mut lines = block.lines();
        case.name = lines.next().unwrap_or_default().to_owned();
        let mut part = "";
        for line in lines {
            match line {
                "--- given" | "--- reply" | "--- found" => part = line,
                _ => {
                    let text = match part {
                        "--- given" => &mut case.given,
                        "--- reply" => &mut case.reply,
                        "--- found" => &mut case.found,
                        _ => {
                            case.read_head(line);
                            continue;
                        }
                    };
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
        for text in [&mut case.given, &mut case.reply] {
            text.truncate(text.len().saturating_sub(1));
        }
        case
    }

    fn read_head(&mut self, line: &str) {
        if let Some(source) = line.strip_prefix("source: ") {
            source.clone_into(&mut self.source);
        } else if let Some(tools) = line.strip_prefix("tools: ") {
            tools.clone_into(&mut self.tools);
        } else if line == "habit: also calls of its own" {
            self.habit = CallHabit::AlsoText;
        }
    }

    /// Whether it has a public source. It panics where a case has neither that nor one that it varies.
    fn has_public_source(&self) -> bool {
        let is_public = self.source.starts_with("http");
        let is_said = match is_public {
            true => is_address(&self.source),
            false => self.source.strip_prefix(VARIATION).is_some_and(|case| !case.is_empty()),
        };
        assert!(is_said, "{} has no source: {:?}", self.name, self.source);
        is_public
    }

    fn offered_tools(&self) -> OfferedTools {
        let tools: Vec<(String, Value)> = self.tools.split("; ").map(read_tool).collect();
        let offered = tools.iter().map(|(name, schema)| OfferedTool { name, schema });
        OfferedTools::new(&offered.collect::<Vec<_>>(), self.habit)
    }
}

/// Whether `source` is the https address of one page, and nothing beside it.
fn is_address(source: &str) -> bool {
    let Some((host, path)) =
        source.strip_prefix("https://").and_then(|address| address.split_once('/'))
    else {
        return false;
    };
    let is_label = |label: &str| {
        !label.is_empty() && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    host.contains('.')
        && host.split('.').all(is_label)
        && !path.is_empty()
        && path.chars().all(|c| c.is_ascii_graphic())
}

fn read_tool(written: &str) -> (String, Value) {
    let (name, rest) = written.split_once('(').expect("name(argument: type)");
    let mut properties = Map::new();
    for part in rest.trim_end_matches(')').split(", ").filter(|part| !part.is_empty()) {
        let (key, kind) = part.split_once(": ").expect("argument: type");
        properties.insert(key.to_owned(), json!({"type": kind}));
    }
    (name.to_owned(), json!({"type": "object", "properties": properties}))
}

fn corpus() -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/text_calls");
    let files =
        std::fs::read_dir(folder).expect("the corpus").map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> = files.filter(|file| !file.ends_with("README.md")).collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a text");
        (file, text)
    };
    files.into_iter().map(read).collect()
}

fn find(case: &CallCase, tools: &OfferedTools) -> FoundCalls {
    let told = ToldWords::of_texts([&case.given]);
    find_calls(&case.reply, tools, &|call| told.holds_call(call))
}

fn describe(case: &CallCase, found: &FoundCalls) -> String {
    let mut out = String::new();
    for piece in &found.pieces {
        let line = match piece {
            FoundPiece::Call(call) => {
                format!("call {} {}", call.tool, Value::Object(call.arguments.clone()))
            }
            FoundPiece::Said(text) if *text == case.reply => "all of it is text".to_owned(),
            FoundPiece::Said(text) => format!("says {}", json!(text)),
        };
        writeln!(out, "{line}").expect("memory");
    }
    if !found.formats.is_empty() {
        writeln!(out, "format {}", found.formats.join(", ")).expect("memory");
    }
    for repair in &found.repairs {
        writeln!(out, "repair {repair}").expect("memory");
    }
    out
}

/// What is shown in pieces is what is recorded, however the reply is cut.
fn check_shown(case: &CallCase, found: &FoundCalls, tools: &OfferedTools) {
    let said: String = found
        .pieces
        .iter()
        .filter_map(|piece| match piece {
            FoundPiece::Said(text) => Some(text.as_str()),
            FoundPiece::Call(_) => None,
        })
        .collect();
    let characters: Vec<char> = case.reply.chars().collect();
    for size in [1, 2, 3, 7, 19, 64, usize::MAX] {
        let mut held = HeldText::default();
        let mut shown = String::new();
        for chunk in characters.chunks(size) {
            let chunk: String = chunk.iter().collect();
            shown.push_str(held.feed_text(&chunk, tools).unwrap_or_default());
        }
        assert!(said.starts_with(&shown), "{}: {shown:?} was shown", case.name);
        shown.push_str(held.unshown_rest(&said));
        assert_eq!(shown, said, "{} in pieces of {size}", case.name);
    }
}

#[test]
fn v05_calls_written_as_text_are_found_as_recorded() {
    let (mut public, mut varied) = (0, 0);
    let (mut formats, mut public_formats) = (BTreeMap::<&str, usize>::new(), BTreeSet::new());
    for (file, text) in corpus() {
        let mut blocks = text.split("=== ");
        let mut written = blocks.next().expect("a title").to_owned();
        for block in blocks {
            let case = CallCase::read(block);
            let tools = case.offered_tools();
            let found = find(&case, &tools);
            check_shown(&case, &found, &tools);
            let given = block.split("--- found\n").next().expect("what was given");
            write!(written, "=== {given}--- found\n{}\n", describe(&case, &found)).expect("memory");
            found.formats.iter().for_each(|name| *formats.entry(name).or_default() += 1);
            if case.has_public_source() {
                public += 1;
                public_formats.extend(found.formats);
            } else {
                varied += 1;
            }
        }
        let written = written.trim_end().to_owned() + "\n";
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&file, &written).expect("writable");
        } else {
            assert_eq!(written, text, "{} differs; UPDATE=1 writes it anew", file.display());
        }
    }
    assert!(
        public >= CASES_MIN && public_formats.len() >= FORMATS_MIN,
        "{public} with a public source, of {public_formats:?}; {varied} variations of them"
    );
    let untested: Vec<&str> = format_names().filter(|name| !formats.contains_key(name)).collect();
    assert!(untested.is_empty(), "no case is of {untested:?}");
}

#[test]
fn v05_public_sources_are_addresses_of_one_page() {
    assert!(is_address("https://github.com/ggml-org/llama.cpp/issues/1"));
    for source in [
        "http://github.com/a/b",
        "https://github.com",
        "https://github.com/",
        "https://github/a",
        "https://.com/a",
        "https://github.com/a and more",
        "github.com/a",
        "",
    ] {
        assert!(!is_address(source), "{source:?}");
    }
}

/// Half of every case, and every case with one bracket or mark taken out, is read without a panic, and
/// no call appears whose name was not offered.
#[test]
fn v05_half_a_reply_is_no_danger() {
    for (_, text) in corpus() {
        for block in text.split("=== ").skip(1) {
            let case = CallCase::read(block);
            let tools = case.offered_tools();
            for (at, _) in case.reply.char_indices() {
                let half = find_calls(&case.reply[..at], &tools, &|_| false);
                let known = |name: &str| case.tools.contains(&format!("{name}("));
                assert!(half.calls().all(|call| known(&call.tool)), "{} at {at}", case.name);
            }
        }
    }
}

/// Marks that never close, as many as fit, take no more than linear time.
#[test]
fn v05_hostile_replies_end_soon() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    let tools = OfferedTools::new(
        &[OfferedTool { name: "read_file", schema: &schema }],
        CallHabit::OnlyText,
    );
    let pieces = [
        "<tool_call>",
        "<tool_call>{\"name\": \"",
        "<tool_call>[",
        "<function=read_file>\n<parameter=path>\n",
        "<invoke name=\"read_file\"><parameter name=\"path\">",
        "<think>",
        "`",
        "```json\n",
        "[read_file(path=",
        "\n{\"name\": {",
        "<read_file>",
        "{{{{[[[[",
        "<|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{\"path\": \"",
        "\nAction: read_file\nAction Input: a",
        "- ```\n",
        "> ",
        "1. ~~~\n   ",
        "[ ] ",
        "> `",
        "func",
        "\n{{h",
        "<![CDATA[",
        "<function name=\"read_file\"><param name=\"path\">",
        "<｜tool_calls_begin｜><｜tool_call_begin｜>",
        "<tool_call>read_file\n",
        "<seed:think>",
    ];
    for piece in pieces {
        let reply = piece.repeat(100_000 / piece.len());
        let found = find_calls(&reply, &tools, &|_| false);
        let (mut held, mut shown) = (HeldText::default(), String::new());
        for chunk in reply.chars().take(20_000).collect::<Vec<_>>().chunks(40) {
            let chunk: String = chunk.iter().collect();
            shown.push_str(held.feed_text(&chunk, &tools).unwrap_or_default());
        }
        assert!(reply.starts_with(&shown), "{piece:?}");
        assert_eq!(found.pieces, [FoundPiece::Said(reply)], "{piece:?}");
    }
}
