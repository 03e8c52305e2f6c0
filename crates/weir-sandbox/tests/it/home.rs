//! What commands see of the home (A14): the workspace as the engine confines it, each tier for real.
//! Not here: other folders (`attack`).

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use weir_core::tool::{CommandEffect, Effects, PathAccess, Tier};
use weir_engine::ports::{CommandOutcome, CommandSpec};
use weir_engine::workspace::{Workspace, WorkspaceOptions};

use crate::attack::{SECRET, room};
use crate::kernel::by_an_ordinary_user;
use crate::world::World;

under_confining_tiers!(
    a14_no_store_of_keys_in_the_home_is_read,
    a14_tools_in_the_home_work,
    a14_the_same_holds_for_an_ordinary_user,
);

/// Where programs keep keys, and other things of the person's.
const STORES: &[&str] = &[
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".gemini/oauth_creds.json",
    ".local/share/opencode/auth.json",
    ".config/github-copilot/hosts.json",
    ".cache/huggingface/token",
    ".huggingface/token",
    ".kaggle/kaggle.json",
    ".config/sops/age/keys.txt",
    ".config/doctl/config.yaml",
    ".fly/config.yml",
    ".config/.wrangler/config/default.toml",
    ".local/share/com.vercel.cli/auth.json",
    ".config/netlify/config.json",
    ".config/stripe/config.toml",
    ".oci/config",
    ".config/hcloud/cli.toml",
    ".config/containers/auth.json",
    ".config/helm/registry/config.json",
    ".config/pypoetry/auth.toml",
    ".local/share/uv/credentials/x",
    ".config/composer/auth.json",
    ".nuget/NuGet/NuGet.Config",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Slack/Cookies",
    ".config/Signal/config.json",
    ".bitcoin/wallet.dat",
    ".Xauthority",
    ".msmtprc",
    ".authinfo",
    ".netrc",
    ".npmrc",
    ".git-credentials",
    ".config/git/credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".m2/settings.xml",
    ".gradle/gradle.properties",
    ".sbt/.credentials",
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".bash_history",
    "other-project/.env",
    "go/src/private/key.go",
    "notes.txt",
];

struct Home {
    world: World,
    home: PathBuf,
    workspace: Workspace,
}

impl Home {
    fn new(tier: Tier) -> Home {
        let root = tempfile::tempdir_in(room()).expect("a folder");
        let at = root.path().canonicalize().expect("it exists");
        let home = at.join("home");
        let files = [
            ("code/ws/here", "in the workspace\n"),
            (".cargo/config.toml", "of cargo\n"),
            (".gitconfig", "[user]\n\tname = The Person\n"),
            (".local/share/uv/tools/x/run", "#!/bin/sh\necho of a tool\n"),
            ("away/pyenv/version", "of a link\n"),
        ];
        let stores = STORES.iter().map(|store| (*store, SECRET));
        for (name, text) in files.into_iter().chain(stores) {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            std::fs::write(path, text).expect("a file");
        }
        std::fs::create_dir_all(home.join(".local/bin")).expect("a folder");
        symlink("../share/uv/tools/x/run", home.join(".local/bin/tool")).expect("a link");
        symlink("away/pyenv", home.join(".pyenv")).expect("a link");
        let options = WorkspaceOptions {
            root: home.join("code/ws"),
            extra_roots: Vec::new(),
            own_folders: vec![home.join(".local/share/weir")],
        };
        let workspace = Workspace::open(options).expect("a workspace").with_home(&home);
        let world = World::at(root, tier, |options| options.state_dir = at.join("state"));
        Home { world, home, workspace }
    }

    async fn run(&self, call: u32, command: &str, reads: &[&str]) -> CommandOutcome {
        let effect = CommandEffect {
            command: command.into(),
            tier: self.world.tier,
            ..CommandEffect::default()
        };
        let named = |path: &&str| {
            let path = self.home.join(path).display().to_string();
            self.workspace.resolve(&path, PathAccess::Read)
        };
        let effects = Effects { paths: reads.iter().map(named).collect(), ..Effects::default() };
        let confine =
            self.workspace.confine_command(&effect, &effects, false).expect("it is small");
        let command = format!("export HOME={}; {command}", self.home.display());
        let cwd = self.home.join("code/ws");
        self.world.run(CommandSpec { cwd, confine, ..self.world.spec(call, &command) }).await
    }
}

async fn a14_no_store_of_keys_in_the_home_is_read(tier: Tier) {
    let home = Home::new(tier);
    let stores = STORES.join(" ");
    let command =
        format!("grep -rs . ~; cat .git/x here; cd ~; for f in {stores}; do cat $f; done");
    let outcome = home.run(1, &command, &[]).await;
    assert!(!outcome.output.contains(SECRET), "{outcome:?}");
    assert!(outcome.output.contains("in the workspace"), "{outcome:?}");
    if tier.has_own_view() {
        let outcome = home.run(2, "ls -A ~ ~/.config", &[]).await;
        for absent in ["notes.txt", ".claude", ".aws", "gh", "Slack"] {
            // Whole lines: `ls` heads each list with the folder's path, whose name is random.
            let listed = outcome.output.lines().any(|line| line == absent);
            assert!(!listed, "{absent}: {outcome:?}");
        }
    }
}

async fn a14_tools_in_the_home_work(tier: Tier) {
    let home = Home::new(tier);
    let outcome = home
        .run(
            1,
            "cat ~/.cargo/config.toml ~/.pyenv/version here; sh ~/.local/bin/tool; \
             git config --global user.name; echo new > here && cat here",
            &[],
        )
        .await;
    assert_eq!(
        outcome.output, "of cargo\nof a link\nin the workspace\nof a tool\nThe Person\nnew\n",
        "{outcome:?}"
    );
    // What a call names and a person let pass is seen, and nothing beside it.
    let outcome = home.run(2, "cat ~/notes.txt; ls ~/other-project", &["notes.txt"]).await;
    assert!(outcome.output.contains(SECRET), "{outcome:?}");
    let outcome = home.run(3, "cat ~/other-project/.env", &["notes.txt"]).await;
    assert!(!outcome.output.contains(SECRET), "{outcome:?}");
}

/// The tools of whoever runs this, wherever they lie.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a14_the_tools_of_this_machine_work() {
    if !crate::world::is_there(Tier::Bubblewrap) {
        return;
    }
    let world = World::new(Tier::Bubblewrap);
    let root = world.state.path().join("ws");
    std::fs::create_dir(&root).expect("a folder");
    let options =
        WorkspaceOptions { root: root.clone(), extra_roots: Vec::new(), own_folders: Vec::new() };
    let workspace = Workspace::open(options).expect("a workspace");
    for (call, command) in
        (1..).zip(["cargo --version", "python3 -m pip --version", "git --version"])
    {
        let outside = std::process::Command::new("sh").args(["-c", command]).output();
        if !outside.is_ok_and(|done| done.status.success()) {
            continue;
        }
        let effect = CommandEffect {
            command: command.into(),
            tier: Tier::Bubblewrap,
            ..CommandEffect::default()
        };
        let confine =
            workspace.confine_command(&effect, &Effects::default(), false).expect("it is small");
        let spec = CommandSpec { cwd: root.clone(), confine, ..world.spec(call, command) };
        let outcome = world.run(spec).await;
        let end = weir_engine::ports::CommandEnd::Exited { code: 0 };
        assert_eq!(outcome.end, end, "{command}: {outcome:?}");
    }
}

async fn a14_the_same_holds_for_an_ordinary_user(tier: Tier) {
    for name in ["a14_no_store_of_keys_in_the_home_is_read", "a14_tools_in_the_home_work"] {
        by_an_ordinary_user(&format!("home::{}::{name}", tier.as_str()));
    }
}
