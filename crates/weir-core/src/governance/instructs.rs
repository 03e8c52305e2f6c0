//! What later runs or instructs, known by its path: the list behind the row *write what later runs
//! or instructs* of the flow table (Z2). Not here: what the table says about it.

/// What later runs or instructs: gitignore-like patterns, the reason after them. Matched without
/// regard to case against the path below the workspace or home; a name may begin with `*`.
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
            "AGENT.md",
            "QWEN.md",
            "WARP.md",
            "CRUSH.md",
            "opencode.json",
            "opencode.jsonc",
            ".cursorrules",
            ".windsurfrules",
            ".clinerules",
            ".goosehints",
            ".rules",
            ".roomodes",
            ".aider.conf.yml",
            ".agents/",
            ".claude/",
            ".codex/",
            ".cursor/",
            ".gemini/",
            ".opencode/",
            ".continue/",
            ".roo/",
            ".kiro/",
            ".junie/",
            ".windsurf/",
            ".amazonq/",
            ".augment/",
            ".trae/",
            ".qwen/",
            ".crush/",
            ".clinerules/",
            ".cline/",
            ".factory/",
            ".goose/",
            ".kilocode/",
            ".openhands/",
            ".github/copilot-instructions.md",
            ".github/instructions/",
            ".github/prompts/",
            ".github/agents/",
            ".github/chatmodes/",
            ".github/hooks/",
            ".github/skills/",
            ".weir/",
            ".mcp.json",
            "mcp.json",
        ],
    ),
    (
        "what runs in continuous integration",
        &[
            ".github/workflows/",
            ".github/actions/",
            ".github/dependabot.yml",
            ".github/dependabot.yaml",
            "action.yml",
            "action.yaml",
            "renovate.json",
            "renovate.json5",
            ".gitlab-ci.yml",
            ".gitlab/ci/",
            ".circleci/",
            ".travis.yml",
            "azure-pipelines.yml",
            "bitbucket-pipelines.yml",
            "appveyor.yml",
            ".appveyor.yml",
            ".cirrus.yml",
            "cloudbuild.yaml",
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
            ".git-hooks/",
            ".pre-commit-config.yaml",
            ".pre-commit-config.yml",
            "lefthook.yml",
            "lefthook.yaml",
            "lefthook.toml",
            "lefthook.json",
            "lefthook-local.yml",
            ".lefthook-local.yml",
            ".lefthook.yml",
            ".lefthook/",
            ".overcommit.yml",
            "prek.toml",
            "hk.pkl",
            ".huskyrc",
            ".huskyrc.json",
            ".huskyrc.js",
            ".lintstagedrc",
            ".lintstagedrc.json",
            ".lintstagedrc.yml",
            ".lintstagedrc.js",
            ".lintstagedrc.cjs",
            ".lintstagedrc.mjs",
            ".simple-git-hooks.json",
            ".simple-git-hooks.js",
            ".simple-git-hooks.cjs",
            "simple-git-hooks.json",
            ".hg/hgrc",
            ".sl/config",
            ".jj/repo/config.toml",
            ".jj/repo/config",
            ".pijul/config",
            "_darcs/prefs/defaults",
            ".envrc",
            ".direnv/",
            ".autoenv",
            ".autoenv.zsh",
            ".rvmrc",
            ".flox/",
            "devbox.json",
            ".vscode/",
            "*.code-workspace",
            "*.sublime-project",
            ".idea/",
            ".zed/",
            ".fleet/",
            ".theia/",
            ".nova/",
            ".helix/",
            ".bsp/",
            ".luarc.json",
            ".luarc.jsonc",
            ".solargraph.yml",
            ".ycm_extra_conf.py",
            ".neoconf.json",
            "rust-analyzer.toml",
            "hie.yaml",
            ".nvim.lua",
            ".nvimrc",
            ".exrc",
            ".vimrc",
            "_vimrc",
            "_exrc",
            ".vimrc.local",
            ".local.vimrc",
            ".dir-locals.el",
            ".dir-locals-2.el",
            ".lvimrc",
            ".devcontainer/",
            ".devcontainer.json",
            ".gitpod.yml",
            ".gitpod/",
            ".idx/",
            ".codesandbox/",
            ".replit",
            ".stackblitzrc",
            ".obsidian/plugins/",
            ".obsidian/community-plugins.json",
            "logseq/custom.js",
            "logseq/config.edn",
            ".cargo/config.toml",
            ".cargo/config",
            "rust-toolchain.toml",
            "rust-toolchain",
            ".npmrc",
            ".yarnrc",
            ".yarnrc.yml",
            ".yarn/plugins/",
            ".yarn/releases/",
            ".pnpmfile.cjs",
            ".pnpmfile.mjs",
            "pnpmfile.js",
            "bunfig.toml",
            "mise.toml",
            ".mise.toml",
            "mise.local.toml",
            ".mise/",
            ".miserc.toml",
            ".rtx.toml",
            ".config/mise/",
            ".config/mise.toml",
            "mise/config.toml",
            ".tool-versions",
            ".mvn/",
            "gradle-wrapper.properties",
            "init.gradle",
            ".sdkmanrc",
            ".bazelrc",
            ".gdbinit",
            ".lldbinit",
            ".gdbearlyinit",
            ".pdbrc",
            ".perldb",
            ".byebugrc",
            ".rdbgrc",
            ".Rprofile",
            ".Renviron",
            ".RData",
            ".irbrc",
            ".pryrc",
            ".iex.exs",
            ".ghci",
            ".ocamlinit",
            ".octaverc",
            ".bundle/config",
            ".bundle/plugin/",
            ".gitmodules",
            ".gitattributes",
            ".gitconfig",
            "sitecustomize.py",
            "usercustomize.py",
            "site-packages/*.pth",
            "dist-packages/*.pth",
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
            ".config/environment.d/",
            ".config/git/",
            ".config/nvim/",
            ".config/nushell/",
            ".local/bin/",
            ".local/share/applications/",
            ".inputrc",
            ".pam_environment",
            ".tmux.conf",
            ".screenrc",
            ".zlogout",
            ".bash_aliases",
            ".xsessionrc",
            ".xsession",
            "Library/LaunchAgents/",
            ".ssh/",
            "crontab",
            "cron.d/",
        ],
    ),
];

/// What lies in a folder that `core.hooksPath` names, or is a piece of a repository: no name of a file
/// tells it.
pub const HOOKS: &str = "what git runs (core.hooksPath), or takes its settings from";

/// Why a write of `path` is a write of what later runs or instructs, if it is.
pub fn instructing_reason(path: &str) -> Option<&'static str> {
    let path = path.to_lowercase();
    let parts = parts_of(path.trim_start_matches("./"));
    let is_governed = |pattern: &&str| {
        let wanted = pattern.to_lowercase();
        let folder = wanted.ends_with('/');
        let wanted = parts_of(&wanted);
        // Anywhere: as the last parts for a file, with something below or itself for a folder.
        parts.windows(wanted.len()).enumerate().any(|(at, window)| {
            let is_same =
                window.iter().zip(&wanted).all(|(part, wanted)| matches_part(part, wanted));
            is_same && (folder || at + wanted.len() == parts.len())
        })
    };
    let governed = INSTRUCTS.iter().find(|(_, patterns)| patterns.iter().any(&is_governed));
    governed.map(|(why, _)| *why)
}

/// The same for all that lies below the folder `path`: the parent of a governed folder is judged
/// like the folder (A10). `home` and what it lies in hold the profiles of shells.
pub fn instructs_below(path: &str, home: Option<&str>) -> Option<&'static str> {
    if let Some(why) = instructing_reason(path) {
        return Some(why);
    }
    let folder = path.trim_end_matches('/');
    let home = home.map(|home| home.trim_end_matches('/'));
    let holds_home = |home: &str| home == folder || home.starts_with(&format!("{folder}/"));
    if path.starts_with('/') && home.is_some_and(holds_home) {
        return Some("profiles of shells and sessions");
    }
    let path = folder.to_lowercase();
    let parts = parts_of(&path);
    let is_above = |pattern: &&str| {
        let wanted = pattern.to_lowercase();
        let wanted = parts_of(&wanted);
        (1..wanted.len()).any(|count| parts.ends_with(&wanted[..count]))
    };
    let above = INSTRUCTS.iter().find(|(_, patterns)| patterns.iter().any(&is_above));
    above.map(|(why, _)| *why)
}

fn parts_of(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

fn matches_part(part: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => part.len() > end.len() && part.ends_with(end),
        None => part == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a9_what_later_runs_or_instructs_is_known_by_its_path() {
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
        for yes in [
            "/home/person/.config",
            "/home/person",
            "/home",
            "/home/person/.config/fish",
            ".github",
        ] {
            assert!(instructs_below(yes, home).is_some(), "{yes}");
        }
        for no in ["/home/person/music", "/home/personal", "src", "/srv/data"] {
            assert!(instructs_below(no, home).is_none(), "{no}");
        }
    }
}
