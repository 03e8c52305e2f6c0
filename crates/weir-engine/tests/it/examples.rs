//! The examples of the library are run as people run them, and say what they promise. Not here: that
//! they compile, which every build of the tests sees to.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What each example prints, line by line.
const EXAMPLES: &[(&str, &[&str])] = &[
    ("agent", &["answer: It is red.", "status: Completed, calls of tools: 1"]),
    (
        "tool",
        &[
            "answer: The poem has four words; the other file is not mine to read.",
            "not done: Count the words of /etc/passwd (asked: nobody)",
        ],
    ),
    (
        "gate",
        &[
            "answer: The notes are written; billing is closed.",
            "changed: notes.txt",
            "journaled: gate billing refused: billing is frozen until the audit is over",
        ],
    ),
    (
        "store",
        &[
            "first: I will remember the number 7.",
            "later: It was 7.",
            "facts counted and kept are the same: true",
        ],
    ),
    ("model", &["answer: desserts"]),
    (
        "face",
        &[
            "ann> Write a draft and the final.",
            "agent> I write both.",
            "  asks: Create drafts/a.md -> Once",
            "  done, ok: true",
            "agent> Now the other.",
            "  asks: Create final.md -> Deny",
            "  done, ok: false",
            "agent> The draft is there; the other you did not want.",
            "  over: Completed, changed: [\"drafts/a.md\"]",
        ],
    ),
];

/// Where cargo puts an example, seen from this test.
fn example_program(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let build = test.parent().and_then(Path::parent).unwrap();
    let program = build.join("examples").join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    assert!(
        program.is_file(),
        "{} is not there: `cargo build -p weir-engine --examples` builds it (`cargo test` does, too)",
        program.display()
    );
    program
}

#[test]
fn r4_the_six_examples_run_without_network_and_say_what_they_promise() {
    for (name, lines) in EXAMPLES {
        let run = Command::new(example_program(name)).output().unwrap();
        let told = String::from_utf8_lossy(&run.stderr);
        assert!(run.status.success(), "{name}: {}\n{told}", run.status);
        let printed = String::from_utf8_lossy(&run.stdout);
        let printed: Vec<&str> = printed.lines().collect();
        assert_eq!(printed, *lines, "{name}\n{told}");
    }
}

/// What of an example is code of its reader: without the head, imports, scripts and empty lines.
fn counted_lines<'a>(source: &'a str, from: &str) -> Vec<&'a str> {
    let at = source.find(from).unwrap();
    let rest = source[at..].lines().skip(1);
    rest.take_while(|line| *line != "}").filter(|line| !line.trim().is_empty()).collect()
}

#[test]
fn r4_an_agent_and_a_tool_take_twenty_lines() {
    let agent = counted_lines(include_str!("../../examples/agent.rs"), "async fn main()");
    let tool = counted_lines(include_str!("../../examples/tool.rs"), "impl Tool for CountWords");
    for (name, lines) in [("agent", agent), ("tool", tool)] {
        assert!((5..=25).contains(&lines.len()), "{name}: {} lines", lines.len());
    }
}
