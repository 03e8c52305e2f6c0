//! Hostile files of profiles, by the driver of `weir-fuzz` (Z10): heads of Markdown, agents of
//! others, TOML.

use std::path::Path;

use weir_fuzz::{Target, driver, input, seeds};

use super::{finish_profile, from_markdown, from_toml, frontmatter};

const WORDS: &[&str] = &[
    "---\n",
    "name: ",
    "description: ",
    "tools:\n  - ",
    "tools: [",
    "groups: [read, web]\n",
    "limits:\n  max_iterations: ",
    "role: |\n  ",
    "role: >-\n  ",
    "permission: full\n",
    "model: ",
    "# ",
    " #",
    "- ",
    "\"",
    "''",
    "'",
    "[",
    "]",
    "[[",
    "]]",
    ",",
    "{",
    "&a ",
    "*a",
    "!!",
    ": ",
    ":",
    "\t",
    "\r\n",
    "null",
    "~",
    "role = \"\"\"",
    "[limits]\n",
    "=",
];

/// A head says where it is wrong; what stands below it is kept; a profile has a plain name and a
/// role, whoever wrote it.
fn profile(data: &[u8]) {
    let text = input::text(data);
    let lines = text.matches('\n').count() + 1;
    match frontmatter::split_frontmatter(&text) {
        Ok((_, body)) => assert!(text.ends_with(body), "the text below is another"),
        Err(why) => {
            let line: usize = why.split(':').next().and_then(|line| line.parse().ok()).unwrap_or(0);
            assert!((1..=lines + 1).contains(&line), "line {line} of {lines}: {why}");
        }
    }
    let files = [
        from_markdown(Path::new("ws/.weir/profiles/x.md"), &text),
        from_markdown(Path::new("ws/.claude/agents/x.md"), &text),
        from_toml(&text).map(|file| (file, Vec::new())),
    ];
    for (file, notes) in files.into_iter().filter_map(Result::ok) {
        match finish_profile(file, "x".to_owned(), notes) {
            Ok(loaded) => {
                assert!(!loaded.profile.role.trim().is_empty());
                let name = &loaded.profile.name;
                assert!(!name.contains(['/', '\n', '\0']) && !name.is_empty(), "{name:?}");
            }
            Err(why) => assert!(!why.is_empty()),
        }
    }
}

fn profile_seeds() -> Vec<Vec<u8>> {
    let mut found = seeds::files("examples", "reviewer.md");
    found.extend(seeds::texts(&[
        "---\nname: reviewer # short\ndescription: \"a: b\"\ngroups: [read, web]\ntools:\n  - glob\n  \
         - 'x''y'\nlimits:\n  max_iterations: 9\nrole: |\n  You are\n  careful.\n---\nBody\n",
        "---\nname: x\ntools: Read, Grep, Bash\nmodel: sonnet\n---\nYou look.\n",
        "name = \"x\"\nrole = \"You look.\"\ngroups = [\"read\"]\n[limits]\nmax_iterations = 3\n",
    ]));
    found
}

#[test]
fn z10_fuzz_profile() {
    driver::check(&Target {
        name: "profile",
        run: profile,
        seeds: profile_seeds,
        dictionary: WORDS,
        inputs: 3_000,
    });
}
