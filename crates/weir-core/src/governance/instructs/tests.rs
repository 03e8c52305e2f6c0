//! Paths that are known for what later runs or instructs, and that looking them up says the same as comparing
//! them with each name of the list.

use super::*;

#[test]
fn a9_what_later_runs_or_instructs_is_known_by_its_path() {
    for yes in [
        "AGENTS.md",
        "docs/agents.MD",
        ".agent/rules/x.md",
        "sub/HEARTBEAT.md",
        ".woodpecker.yaml",
        ".builds/a.yml",
        ".readthedocs.yaml",
        "lint-staged.config.mjs",
        ".vim/coc-settings.json",
        ".bazeliskrc",
        "dotfiles/.emacs.d/init.el",
        "/home/person/.config/zsh/.zshrc",
        "/home/person/.local/share/dbus-1/services/x.service",
        "/home/person/.cargo/bin/git",
        "/home/person/.lesskey",
        ".github/workflows/ci.yml",
        "sub/.github/workflows/x",
        ".agents/skills/a/run.sh",
        "skills/a/SKILL.md",
        "/home/person/.bashrc",
        "./.envrc",
        ".husky",
        "tools/rust-toolchain.toml",
        ".yarnrc.yml",
        "app.code-workspace",
        ".vscode/mcp.json",
        ".venv/lib/python3.12/site-packages/x.pth",
        ".mvn/extensions.xml",
        "action.yml",
        "sub/.kiro/steering/x.md",
        "QWEN.md",
        ".obsidian/plugins/x/main.js",
        "notes/.obsidian/community-plugins.json",
        ".helix/languages.toml",
        ".helix/config.toml",
        ".devcontainer.json",
        "sub/.hg/hgrc",
        ".jj/repo/config.toml",
        ".Rprofile",
        ".irbrc",
        ".pryrc",
        ".bundle/config",
        ".github/hooks/x.json",
        ".config/mise/config.toml",
        ".direnv/flake-profile.rc",
        ".fleet/run.json",
        "app.sublime-project",
        "lefthook-local.yml",
    ] {
        assert!(instructing_reason(yes).is_some(), "{yes}");
    }
    for no in [
        "src/main.rs",
        "AGENTS.md.txt",
        "agents/readme.md",
        "workflows/ci.yml",
        "profile",
        "models/best.pth",
        ".obsidian/snippets/dark.css",
        ".obsidian/app.json",
        ".hg/store/data",
        ".jj/repo/store/x",
        "devcontainer.json",
        "config/mise.txt",
    ] {
        assert!(instructing_reason(no).is_none(), "{no}");
    }
}

#[test]
fn a10_the_parent_of_a_governed_folder_is_judged_like_it() {
    let home = Some("/home/person");
    for yes in
        ["/home/person/.config", "/home/person", "/home", "/home/person/.config/fish", ".github"]
    {
        assert!(instructs_below(yes, home).is_some(), "{yes}");
    }
    for no in ["/home/person/music", "/home/personal", "src", "/srv/data"] {
        assert!(instructs_below(no, home).is_none(), "{no}");
    }
}

/// A name of the list that is compared with each place of a path, one name after the other.
struct ComparedName {
    why: &'static str,
    parts: Vec<String>,
    is_folder: bool,
}

impl ComparedName {
    fn governs_path(&self, parts: &[&str]) -> bool {
        let count = self.parts.len();
        parts.windows(count).enumerate().any(|(at, window)| {
            (self.is_folder || at + count == parts.len())
                && window.iter().zip(&self.parts).all(|(part, wanted)| {
                    let end = wanted.strip_prefix('*');
                    end.map_or(part == wanted, |end| *part != end && part.ends_with(end))
                })
        })
    }

    fn lies_below(&self, parts: &[&str]) -> bool {
        (1..self.parts.len()).any(|count| {
            let from = parts.len().checked_sub(count);
            from.is_some_and(|from| parts[from..] == self.parts[..count])
        })
    }
}

fn compared_names() -> Vec<ComparedName> {
    let listed = INSTRUCTS.iter().flat_map(|(why, patterns)| {
        patterns.iter().map(move |pattern| (*why, pattern.to_lowercase()))
    });
    let compared = listed.map(|(why, pattern)| ComparedName {
        why,
        parts: pattern.split('/').filter(|p| !p.is_empty()).map(str::to_owned).collect(),
        is_folder: pattern.ends_with('/'),
    });
    compared.collect()
}

/// What comparing says of a path, and what it says of the folder of that name.
fn compare_path(names: &[ComparedName], path: &str) -> [Option<&'static str>; 2] {
    let lower = path.to_lowercase();
    let shown = lower.trim_start_matches("./").split('/').filter(|part| !part.is_empty());
    let shown: Vec<&str> = shown.collect();
    let whole: Vec<&str> = lower.split('/').filter(|part| !part.is_empty()).collect();
    let governed = names.iter().find(|name| name.governs_path(&shown)).map(|name| name.why);
    let above = || names.iter().find(|name| name.lies_below(&whole)).map(|name| name.why);
    [governed, governed.or_else(above)]
}

/// A name as it may be written, in other cases, with more or less of it, above and below others.
fn ways_to_write(name: &str) -> Vec<String> {
    let name = name.trim_end_matches('/');
    let named = name.replace('*', "a");
    let without_first: String = named.chars().skip(1).collect();
    let without_last: String = named.chars().take(named.chars().count() - 1).collect();
    let mut ways = vec![
        name.to_owned(),
        name.replace('*', ""),
        named.to_uppercase(),
        named.to_lowercase(),
        named.replace(['k', 'K'], "\u{212a}"),
        named.replace(['i', 'I'], "\u{130}"),
        named.replace(['s', 'S'], "\u{17f}"),
        named.replace('a', "\u{430}"),
        named.replace('.', "\u{ff0e}"),
        named.replace('/', "//"),
        named.replace('/', "/x/"),
        named.replace('/', "\\"),
        without_first,
        without_last,
    ];
    for before in ["sub/", "./", "././", "/./", "a/./", "../", "/", "//", "/home/me/", "x", " "] {
        ways.push(format!("{before}{named}"));
    }
    for after in ["/", "//", "/x", "/x/y.md", "/.", "/..", "x", ".", " ", "/*", "\0"] {
        ways.push(format!("{named}{after}"));
    }
    for (at, _) in named.match_indices('/') {
        let (above, below) = (&named[..at], &named[at + 1..]);
        ways.extend([above, below].map(str::to_owned));
        ways.extend([format!("sub/{above}/"), format!("{above}/x"), format!("{below}/x")]);
    }
    ways
}

fn written_paths() -> Vec<String> {
    let names: Vec<&str> =
        INSTRUCTS.iter().flat_map(|(_, patterns)| patterns.iter().copied()).collect();
    let mut paths: Vec<String> = names.iter().flat_map(|name| ways_to_write(name)).collect();
    // Of two names in one path the reason counts that stands first in the list, not in the path.
    for (at, name) in names.iter().enumerate() {
        for step in [1, 97, 211] {
            let other = names[(at + step) % names.len()];
            paths.push(format!("{name}/{other}").replace('*', "a"));
            paths.push(format!("{other}/x/{name}").replace('*', "a"));
        }
    }
    paths.extend(
        ["", "/", "//", ".", "./", "..", "*", "a", "\u{3a3}", "/home/me"].map(str::to_owned),
    );
    paths
}

#[test]
fn a9_looking_a_name_up_finds_what_comparing_it_with_each_does() {
    let (names, paths) = (compared_names(), written_paths());
    let mut governed = 0;
    for path in &paths {
        let [expected, _] = compare_path(&names, path);
        assert_eq!(instructing_reason(path), expected, "{path:?}");
        governed += usize::from(expected.is_some());
    }
    // Both are among them, many times.
    assert!(governed > 10 * names.len(), "{governed}");
    assert!(paths.len() - governed > 10 * names.len(), "{governed} of {}", paths.len());
}

#[test]
fn a10_looking_a_folder_up_finds_what_comparing_it_with_each_does() {
    let (names, paths) = (compared_names(), written_paths());
    let mut above = 0;
    for path in &paths {
        let [governed, expected] = compare_path(&names, path);
        assert_eq!(instructs_below(path, None), expected, "{path:?}");
        above += usize::from(governed != expected);
    }
    assert!(above > 100, "{above}");
}
