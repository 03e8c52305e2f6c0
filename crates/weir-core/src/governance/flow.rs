//! The flow table (Z2): what may happen with what stands in the context. Data, printed into
//! `docs/generated/policy.txt`; the gate `labels` only looks it up.
//!
//! Rule of two: untrusted input, private data, an effect on the outside: at most two without a
//! person.

use super::label::Taint;

/// Where something may go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Sink {
    /// Reading the workspace.
    ReadWorkspace,
    /// Writing an ordinary file.
    WriteFile,
    /// Writing outside the workspace.
    WriteOutside,
    /// Writing what later runs or instructs.
    WriteInstruction,
    /// A confined command without network.
    RunConfined,
    /// A command that can reach anything outside.
    RunWithNetwork,
    /// Fetching from a host that a person listed, at an address that carries nothing of its own.
    FetchListed,
    /// The same at an address that stands literally in what came from outside: which link is
    /// followed can spell something out.
    FetchListedLink,
    /// The same at an address that was put together here.
    FetchListedBuilt,
    /// Fetching from any other host.
    FetchOther,
    /// The same at an address that the person wrote.
    FetchAsked,
    /// Sending to somebody whom the person named or listed.
    SendNamed,
    /// Sending to anybody else.
    SendOther,
    /// A tool whose effects nobody knows.
    Unknown,
}

/// What the table says, from the least strict to the strictest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cell {
    /// Nothing: mode and rules decide.
    Mode,
    /// A person is asked, unless a rule or lease of theirs covers it.
    AskOrLease,
    /// A person is asked about this very call.
    AskExactly,
    /// It does not happen.
    Deny,
}

impl Cell {
    /// The words in tables.
    pub fn as_str(self) -> &'static str {
        match self {
            Cell::Mode => "mode",
            Cell::AskOrLease => "ask or lease",
            Cell::AskExactly => "ask exactly",
            Cell::Deny => "deny",
        }
    }
}

/// One row: a sink, its words, and its cells in the order of [`Taint::ALL`].
#[derive(Debug)]
pub struct Row {
    /// Where something goes.
    pub sink: Sink,
    /// The words in the table.
    pub text: &'static str,
    /// For a context that is clean, private, external, both.
    pub cells: [Cell; 4],
}

use Cell::{AskExactly, AskOrLease, Deny, Mode};

/// The table.
pub const FLOW: &[Row] = &[
    Row { sink: Sink::ReadWorkspace, text: "read the workspace", cells: [Mode, Mode, Mode, Mode] },
    Row {
        sink: Sink::WriteFile,
        text: "write a file (marked from external on, shown at the end with both)",
        cells: [Mode, Mode, Mode, Mode],
    },
    Row {
        sink: Sink::WriteOutside,
        text: "write outside the workspace",
        cells: [Mode, Mode, AskExactly, AskExactly],
    },
    Row {
        sink: Sink::WriteInstruction,
        text: "write what later runs or instructs",
        cells: [AskOrLease, AskOrLease, Deny, Deny],
    },
    Row {
        sink: Sink::RunConfined,
        text: "run a confined command without network",
        cells: [Mode, Mode, Mode, Mode],
    },
    Row {
        sink: Sink::RunWithNetwork,
        text: "run a command with network",
        cells: [AskOrLease, AskOrLease, AskOrLease, AskExactly],
    },
    Row {
        sink: Sink::FetchListed,
        text: "fetch from a listed host",
        cells: [Mode, Mode, Mode, Mode],
    },
    Row {
        sink: Sink::FetchListedLink,
        text: "fetch from a listed host, a link that stands in a result",
        cells: [Mode, Mode, Mode, AskExactly],
    },
    Row {
        sink: Sink::FetchListedBuilt,
        text: "fetch from a listed host, address put together here",
        cells: [Mode, Mode, Mode, Deny],
    },
    Row {
        sink: Sink::FetchAsked,
        text: "fetch from another host, address written by the person",
        cells: [Mode, AskOrLease, AskOrLease, AskExactly],
    },
    Row {
        sink: Sink::FetchOther,
        text: "fetch from another host",
        cells: [Mode, AskOrLease, AskOrLease, Deny],
    },
    Row {
        sink: Sink::SendNamed,
        text: "send to somebody the person named or listed",
        cells: [AskOrLease, AskOrLease, AskExactly, AskExactly],
    },
    Row {
        sink: Sink::SendOther,
        text: "send to anybody else",
        cells: [AskExactly, Deny, Deny, Deny],
    },
    Row {
        sink: Sink::Unknown,
        text: "use a tool whose effects nobody knows",
        cells: [AskOrLease, AskExactly, AskExactly, Deny],
    },
];

/// What the table says about `sink` with such a context.
pub fn cell(sink: Sink, taint: Taint) -> Cell {
    let column = Taint::ALL.iter().position(|column| *column == taint);
    let row = FLOW.iter().find(|row| row.sink == sink);
    // A sink without a row cannot be: a test holds it. If it were, it would be closed.
    row.zip(column).map_or(Deny, |(row, column)| row.cells[column])
}

/// The words of a sink.
pub fn text(sink: Sink) -> &'static str {
    FLOW.iter().find(|row| row.sink == sink).map_or("an effect without a row", |row| row.text)
}

/// What later runs or instructs: gitignore-like patterns, the reason after them. Matched without
/// regard to case against the path below the workspace or home.
pub const INSTRUCTS: &[(&str, &[&str])] = &[
    (
        "instructions for agents",
        &[
            "AGENTS.md",
            "AGENTS.override.md",
            "CLAUDE.md",
            "CLAUDE.local.md",
            "GEMINI.md",
            "SOUL.md",
            "USER.md",
            "SKILL.md",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".goosehints",
            ".agents/",
            ".claude/",
            ".codex/",
            ".cursor/",
            ".gemini/",
            ".opencode/",
            ".github/copilot-instructions.md",
            ".weir/",
            ".mcp.json",
        ],
    ),
    (
        "what runs in continuous integration",
        &[
            ".github/workflows/",
            ".github/actions/",
            ".gitlab-ci.yml",
            ".circleci/",
            ".travis.yml",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            "Jenkinsfile",
            ".drone.yml",
            ".woodpecker.yml",
            ".woodpecker/",
            ".buildkite/",
            ".forgejo/",
            ".gitea/",
            ".ci/",
        ],
    ),
    (
        "what runs by itself",
        &[
            ".husky/",
            ".githooks/",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".envrc",
            ".vscode/tasks.json",
            ".vscode/settings.json",
            ".vscode/launch.json",
            ".idea/",
            ".devcontainer/",
            ".cargo/config.toml",
            ".cargo/config",
            ".npmrc",
            ".gitmodules",
            ".gitattributes",
            ".gitconfig",
            "sitecustomize.py",
            "usercustomize.py",
            "conftest.py",
        ],
    ),
    (
        "profiles of shells and sessions",
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".bash_logout",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".zprofile",
            ".zlogin",
            ".xprofile",
            ".xinitrc",
            ".config/fish/",
            ".config/autostart/",
            ".config/systemd/",
            ".ssh/",
            "crontab",
            "cron.d/",
        ],
    ),
];

/// Why a write of `path` is a write of what later runs or instructs, if it is.
pub fn instructs(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let path = path.trim_start_matches("./");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    for (why, patterns) in INSTRUCTS {
        for pattern in *patterns {
            let wanted = pattern.to_lowercase();
            let folder = wanted.ends_with('/');
            let wanted: Vec<&str> = wanted.split('/').filter(|part| !part.is_empty()).collect();
            // Anywhere: as the last parts for a file, with something below or itself for a folder.
            let found = parts.windows(wanted.len()).enumerate().any(|(at, window)| {
                window == wanted.as_slice() && (folder || at + wanted.len() == parts.len())
            });
            if found {
                return Some(why);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z2_adding_taint_never_widens_a_verdict() {
        for row in FLOW {
            let [clean, private, external, both] = row.cells;
            assert!(clean <= private && clean <= external, "{}", row.text);
            assert!(private <= both && external <= both, "{}", row.text);
        }
    }

    #[test]
    fn z2_every_sink_has_one_row() {
        use Sink::*;
        let all = [
            ReadWorkspace,
            WriteFile,
            WriteOutside,
            WriteInstruction,
            RunConfined,
            RunWithNetwork,
            FetchListed,
            FetchListedLink,
            FetchListedBuilt,
            FetchAsked,
            FetchOther,
            SendNamed,
            SendOther,
            Unknown,
        ];
        for sink in all {
            assert_eq!(FLOW.iter().filter(|row| row.sink == sink).count(), 1, "{sink:?}");
        }
        assert_eq!(FLOW.len(), all.len());
    }

    #[test]
    fn z2_rule_of_two_foreign_words_and_private_data_never_leave_without_a_person() {
        use Sink::*;
        for sink in [
            RunWithNetwork,
            FetchListedLink,
            FetchListedBuilt,
            FetchAsked,
            FetchOther,
            SendNamed,
            SendOther,
        ] {
            assert!(cell(sink, Taint::Both) >= AskExactly, "{sink:?}");
        }
    }

    #[test]
    fn z2_what_later_runs_or_instructs_is_known_by_its_path() {
        for yes in [
            "AGENTS.md",
            "docs/agents.MD",
            ".github/workflows/ci.yml",
            "sub/.github/workflows/x",
            ".agents/skills/a/run.sh",
            "skills/a/SKILL.md",
            "/home/person/.bashrc",
            "./.envrc",
            ".husky",
        ] {
            assert!(instructs(yes).is_some(), "{yes}");
        }
        for no in
            ["src/main.rs", "AGENTS.md.txt", "agents/readme.md", "workflows/ci.yml", "profile"]
        {
            assert!(instructs(no).is_none(), "{no}");
        }
    }
}
