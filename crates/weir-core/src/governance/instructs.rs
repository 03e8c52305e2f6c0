//! What later runs or instructs, known by its path: the list behind the row *write what later runs
//! or instructs* of the flow table (Z2). Not here: what the table says about it.

use std::sync::LazyLock;

#[cfg(test)]
mod tests;

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
            ".opencode.json",
            "AGENTS.local.md",
            "CODEBUDDY.md",
            "IFLOW.md",
            "HERMES.md",
            ".hermes.md",
            "HEARTBEAT.md",
            "IDENTITY.md",
            "replit.md",
            ".augment-guidelines",
            ".claude.json",
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
            ".agent/",
            ".aiassistant/",
            ".amp/",
            ".claude-plugin/",
            ".codebuddy/",
            ".gitlab/duo/",
            ".iflow/",
            ".pi/",
            ".qoder/",
            ".rovodev/",
            ".ruler/",
            ".tabnine/",
            ".vibe/",
            ".warp/",
            ".zencoder/",
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
            ".renovaterc",
            ".renovaterc.json",
            ".renovaterc.json5",
            ".mergify.yml",
            ".github/mergify.yml",
            ".gitlab-ci.yml",
            ".gitlab/ci/",
            ".circleci/",
            ".travis.yml",
            "azure-pipelines.yml",
            "azure-pipelines.yaml",
            ".azure-pipelines/",
            ".azuredevops/",
            "bitbucket-pipelines.yml",
            "appveyor.yml",
            ".appveyor.yml",
            ".cirrus.yml",
            ".cirrus.star",
            "cloudbuild.yaml",
            "cloudbuild.yml",
            "cloudbuild.json",
            "buildspec.yml",
            "buildspec.yaml",
            "codemagic.yaml",
            "amplify.yml",
            "netlify.toml",
            "vercel.json",
            "Jenkinsfile",
            ".drone.yml",
            ".drone.yaml",
            ".drone.star",
            ".drone.jsonnet",
            ".woodpecker.yml",
            ".woodpecker.yaml",
            ".woodpecker/",
            ".buildkite/",
            ".build.yml",
            ".builds/",
            ".readthedocs.yaml",
            ".readthedocs.yml",
            ".semaphore/",
            ".teamcity/",
            ".tekton/",
            ".harness/",
            ".zuul.yaml",
            ".zuul.d/",
            "zuul.yaml",
            "zuul.d/",
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
            "lefthook-local.yaml",
            "lefthook-local.toml",
            "lefthook-local.json",
            ".lefthook-local.yaml",
            ".lefthook-local.toml",
            ".lefthook-local.json",
            ".lefthook-local.yml",
            ".lefthook.yml",
            ".lefthook.yaml",
            ".lefthook.toml",
            ".lefthook.json",
            ".lefthook/",
            ".overcommit.yml",
            ".cargo-husky/",
            "captainhook.json",
            "grumphp.yml",
            "prek.toml",
            "hk.pkl",
            ".huskyrc",
            ".huskyrc.json",
            ".huskyrc.js",
            ".lintstagedrc",
            ".lintstagedrc.json",
            ".lintstagedrc.yml",
            ".lintstagedrc.yaml",
            ".lintstagedrc.ts",
            ".lintstagedrc.js",
            ".lintstagedrc.cjs",
            ".lintstagedrc.mjs",
            "lint-staged.config.js",
            "lint-staged.config.cjs",
            "lint-staged.config.mjs",
            "lint-staged.config.ts",
            "commitlint.config.js",
            "commitlint.config.cjs",
            "commitlint.config.mjs",
            "commitlint.config.ts",
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
            ".envrc.local",
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
            ".kateproject",
            ".vim/",
            ".nvim/",
            ".vs/",
            ".externalToolBuilders/",
            ".vimspector.json",
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
            ".gvimrc",
            ".emacs",
            ".emacs.d/",
            ".kakrc",
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
            ".mise.local.toml",
            ".config/mise.local.toml",
            "mise.local.toml",
            ".mise/",
            ".miserc.toml",
            ".rtx.toml",
            ".config/mise/",
            ".config/mise.toml",
            "mise/config.toml",
            ".tool-versions",
            ".asdfrc",
            ".prototools",
            ".mvn/",
            "gradle-wrapper.properties",
            "init.gradle",
            ".sdkmanrc",
            ".bazelrc",
            ".bazeliskrc",
            ".bazelversion",
            ".buckconfig",
            ".gdbinit",
            ".lldbinit",
            ".gdbearlyinit",
            ".pdbrc",
            ".ipython/",
            ".jupyter/",
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
            ".cshrc",
            ".tcshrc",
            ".login",
            ".kshrc",
            ".xonshrc",
            ".bash_completion",
            ".zsh/",
            ".oh-my-zsh/",
            ".xprofile",
            ".xinitrc",
            ".config/fish/",
            ".config/autostart/",
            ".config/systemd/",
            ".config/environment.d/",
            ".config/git/",
            ".config/nvim/",
            ".config/nushell/",
            ".config/zsh/",
            ".config/elvish/",
            ".config/xonsh/",
            ".config/powershell/",
            ".config/direnv/",
            ".direnvrc",
            ".config/plasma-workspace/",
            ".config/sway/",
            ".config/i3/",
            ".config/hypr/",
            ".config/labwc/",
            ".config/openbox/",
            ".config/awesome/",
            ".config/bspwm/",
            ".config/sxhkd/",
            ".config/tmux/",
            ".config/kitty/",
            ".config/alacritty/",
            ".config/wezterm/",
            ".wezterm.lua",
            ".config/ghostty/",
            ".config/starship.toml",
            ".config/helix/",
            ".config/zed/",
            ".config/emacs/",
            ".config/kak/",
            ".config/lazygit/",
            ".config/yazi/",
            ".config/Code/User/",
            ".config/VSCodium/User/",
            ".config/Cursor/User/",
            ".config/go/",
            ".config/pip/",
            ".config/pnpm/",
            ".config/gh/",
            ".local/bin/",
            ".cargo/bin/",
            ".docker/cli-plugins/",
            ".gradle/init.d/",
            ".julia/config/",
            ".local/share/applications/",
            ".local/share/systemd/",
            ".local/share/dbus-1/",
            ".local/share/nvim/",
            ".local/share/bash-completion/",
            ".inputrc",
            ".pam_environment",
            ".tmux.conf",
            ".screenrc",
            ".lesskey",
            ".lessfilter",
            ".forward",
            ".procmailrc",
            ".mailcap",
            ".muttrc",
            ".hgrc",
            ".psqlrc",
            ".sqliterc",
            ".gemrc",
            ".condarc",
            ".pydistutils.cfg",
            ".curlrc",
            ".wgetrc",
            ".tigrc",
            ".terraformrc",
            ".hammerspoon/",
            ".xmonad/",
            ".fluxbox/",
            ".xbindkeysrc",
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
    find_reason(&path.to_lowercase(), GovernedName::ends_or_goes_on)
}

/// The same for all that lies below the folder `path`: the parent of a governed folder is judged
/// like the folder (A10). `home` and what it lies in hold the profiles of shells.
pub fn instructs_below(path: &str, home: Option<&str>) -> Option<&'static str> {
    if let Some(why) = instructing_reason(path) {
        return Some(why);
    }
    let folder = path.trim_end_matches('/');
    let holds = |home: &str| {
        let below = home.trim_end_matches('/').strip_prefix(folder);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    };
    if path.starts_with('/') && home.is_some_and(holds) {
        return Some("profiles of shells and sessions");
    }
    find_reason(&folder.to_lowercase(), GovernedName::lies_below)
}

/// The first reason of the list with a name that `fits`. Each part of `path`, which is in lower case, is looked
/// up as the first part of names; they are asked about what stands behind it.
fn find_reason(path: &str, fits: fn(&GovernedName, &str) -> bool) -> Option<&'static str> {
    let governed = &*GOVERNED;
    let mut first: Option<usize> = None;
    let mut left = path.trim_start_matches('/');
    while !left.is_empty() {
        let (part, behind) = left.split_once('/').unwrap_or((left, ""));
        left = behind.trim_start_matches('/');
        let fitting = governed.beginning_with(part).filter(|name| fits(name, left));
        first = first.into_iter().chain(fitting.map(|name| name.place)).min();
    }
    first.map(|place| INSTRUCTS[place].0)
}

/// A pattern of the list, in lower case and taken apart.
struct GovernedName {
    first: String,
    /// The parts after the first.
    rest: Vec<String>,
    is_folder: bool,
    /// Place of its reason in the list.
    place: usize,
}

impl GovernedName {
    fn of_pattern(pattern: &str, place: usize) -> GovernedName {
        let pattern = pattern.to_lowercase();
        let mut parts = parts_of(&pattern).map(str::to_owned);
        let first = parts.next().unwrap_or_default();
        GovernedName { first, rest: parts.collect(), is_folder: pattern.ends_with('/'), place }
    }

    /// Order in which names are looked up: those that begin alike as they stand in the list.
    fn lookup_key(&self) -> (&str, usize) {
        (&self.first, self.place)
    }

    /// Whether a path with its first part has its others too in what stands `behind` that: as the last ones for
    /// a file, with something below or itself for a folder.
    fn ends_or_goes_on(&self, behind: &str) -> bool {
        let mut parts = parts_of(behind);
        let has = |wanted: &String| parts.next().is_some_and(|part| matches_part(part, wanted));
        self.rest.iter().all(has) && (self.is_folder || parts.next().is_none())
    }

    /// Whether it lies below a path that has its first part and ends with what stands `behind` that.
    fn lies_below(&self, behind: &str) -> bool {
        let mut rest = self.rest.iter();
        parts_of(behind).all(|part| rest.next().is_some_and(|wanted| wanted == part))
            && rest.next().is_some()
    }
}

/// The list by the first parts of its names, so that a path is not compared with each of them.
struct GovernedNames {
    /// Sorted by [`GovernedName::lookup_key`].
    named: Vec<GovernedName>,
    /// Those whose first part begins with `*`.
    open: Vec<GovernedName>,
}

impl GovernedNames {
    /// The names whose first part is this one.
    fn beginning_with<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a GovernedName> {
        let from = self.named.partition_point(|name| name.first.as_str() < part);
        let named = self.named[from..].iter().take_while(move |name| name.first == part);
        named.chain(self.open.iter().filter(move |name| matches_part(part, &name.first)))
    }
}

/// Made when the first path is judged.
static GOVERNED: LazyLock<GovernedNames> = LazyLock::new(|| {
    let names = INSTRUCTS.iter().enumerate().flat_map(|(place, (_, patterns))| {
        patterns.iter().map(move |pattern| GovernedName::of_pattern(pattern, place))
    });
    let (open, mut named): (Vec<GovernedName>, Vec<GovernedName>) =
        names.partition(|name| name.first.starts_with('*'));
    named.sort_by(|a, b| a.lookup_key().cmp(&b.lookup_key()));
    GovernedNames { named, open }
});

fn parts_of(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

fn matches_part(part: &str, wanted: &str) -> bool {
    match wanted.strip_prefix('*') {
        Some(end) => part.len() > end.len() && part.ends_with(end),
        None => part == wanted,
    }
}
