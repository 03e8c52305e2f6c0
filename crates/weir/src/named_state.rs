//! What `--state-dir` names (C1): no command is led into a new, empty store by a misspelled folder, but those
//! that are named here as beginning one, and they say so. Not here: opening a store.

use std::path::Path;

use weir_core::view::plain::visible_text;
use weir_install::archive::is_restore_begun;
use weir_install::environment::ProcessEnvironment;

use crate::failure::usage;
use crate::options::{
    AgentsCommand, BrainCommand, CliCommand, CliOptions, ConfigCommand, McpServersCommand,
    MemoryCommand, PermissionsCommand, PhoneArgs, PhoneCommand, PluginsCommand, RecipesCommand,
    SkillsCommand, ToolsCommand, TrustArgs,
};
use crate::terminal::err_message;

/// The variable that says the same for every command. What it names is made when it is needed first.
const VARIABLE: &str = "WEIR_STATE_DIR";

/// What stands in a folder in which something was kept: by runs, by a server whose data may be in another
/// database, by an import, by a decision about a workspace, by packages and sign-ins of MCP servers.
const KEPT: [&str; 12] = [
    "weir.db",
    "weir.db-wal",
    "audit",
    "server.db",
    "server.key",
    "serve.json",
    "people",
    "imported",
    "imports",
    "trust.json",
    "mcp-packages",
    "mcp-tokens",
];

/// What a command does with the store of the folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreUse {
    /// It is about what is kept there already.
    Kept,
    /// It keeps something, and begins a store where there is none.
    Begun,
    /// Nothing.
    Unused,
}

/// Looks at the folder that the flag names, before anything is opened there.
///
/// # Errors
/// A usage error: the command is about what is kept, and nothing is kept there.
pub(crate) fn check_named_state(
    options: &CliOptions,
    environment: &ProcessEnvironment,
) -> anyhow::Result<()> {
    let named = options.global.state_dir.as_deref().filter(|path| !path.as_os_str().is_empty());
    let by_variable = environment.text_variable(VARIABLE).map(Path::new);
    let Some(folder) = named.filter(|folder| Some(*folder) != by_variable) else { return Ok(()) };
    let seen = visible_text(&folder.display().to_string());
    // What a restore moved aside comes back when the command looks at the folder.
    if KEPT.iter().any(|name| folder.join(name).exists()) || is_restore_begun(folder) {
        return Ok(());
    }
    match store_use(options) {
        StoreUse::Kept => {
            let why = match folder.exists() {
                true => "nothing was ever kept in that folder",
                false => "there is no such folder",
            };
            Err(usage(format!(
                "--state-dir {seen}: {why}. Correct the path, or leave --state-dir out to use your \
                 usual state folder (`weir config path` shows it); only `weir run` and other \
                 commands that begin something make a new one"
            )))
        }
        StoreUse::Begun if !folder.exists() => {
            err_message(&format!(
                "note: --state-dir {seen} does not exist; a new store is made there"
            ));
            Ok(())
        }
        StoreUse::Begun | StoreUse::Unused => Ok(()),
    }
}

/// What the command does with the store. One that is not named here is about what is kept: so a new
/// command makes no store for a slip of the finger unless somebody decides that it may.
fn store_use(options: &CliOptions) -> StoreUse {
    let leaves_it_alone = match &options.command {
        Some(command) => leaves_store_alone(command),
        // What a server keeps is not in this folder.
        None => options.tui.attach.is_some(),
    };
    if leaves_it_alone {
        return StoreUse::Unused;
    }
    let tui = &options.tui;
    let begins = match &options.command {
        Some(command) => may_begin_store(command),
        None => tui.resume.is_none() && !tui.continue_last && tui.fork.is_none(),
    };
    if begins { StoreUse::Begun } else { StoreUse::Kept }
}

/// Whether the command neither looks at a store nor changes one.
fn leaves_store_alone(command: &CliCommand) -> bool {
    match command {
        CliCommand::Demo(_)
        | CliCommand::Models(_)
        | CliCommand::Auth(_)
        | CliCommand::Profiles(_)
        | CliCommand::Schema { .. }
        // Skills of one's own are files beside the settings.
        | CliCommand::Skills(SkillsCommand::Validate(_) | SkillsCommand::Add(_))
        | CliCommand::Script(_)
        | CliCommand::Completions { .. }
        | CliCommand::Man(_) => true,
        // Settings stand in files of their own; what agents proposed is kept in the store.
        CliCommand::Config(command) => !matches!(
            command,
            ConfigCommand::Inbox(_) | ConfigCommand::Accept(_) | ConfigCommand::Reject(_)
        ),
        CliCommand::McpServers(McpServersCommand::Add(args)) => args.no_start,
        CliCommand::Permissions(PermissionsCommand::Add(args)) => args.target.session.is_none(),
        CliCommand::Permissions(PermissionsCommand::Remove(args)) => args.target.session.is_none(),
        CliCommand::Trust(args) => {
            is_trust_shown_alone(args) && !args.is_list() && !args.is_removal()
        }
        CliCommand::Import(args) => args.dry_run,
        // A database that is named has what there is, whatever stands in the folder.
        CliCommand::Phone(args) => is_database_named(args),
        CliCommand::Backup(args) => args.database.is_some(),
        // A file that was exported is played without any store.
        CliCommand::Replay(args) => Path::new(&args.journal).exists(),
        _ => false,
    }
}

/// Whether the command keeps something that may be the first of its store.
fn may_begin_store(command: &CliCommand) -> bool {
    match command {
        CliCommand::Run(args) => {
            args.resume.is_none() && !args.continue_last && args.fork.is_none()
        }
        CliCommand::Serve(_)
        | CliCommand::Acp(_)
        | CliCommand::Mcp(_)
        | CliCommand::Restore(_)
        // A service may be started before the first agent is added.
        | CliCommand::Agents(AgentsCommand::Add(_) | AgentsCommand::Daemon(_))
        | CliCommand::Memory(MemoryCommand::Add(_))
        | CliCommand::Brain(BrainCommand::Add(_))
        | CliCommand::Recipes(RecipesCommand::Add(_))
        | CliCommand::Tools(ToolsCommand::Add(_))
        // What these decide about stands in files; the decision may be the first that is kept.
        | CliCommand::Plugins(PluginsCommand::Enable(_))
        | CliCommand::McpServers(
            McpServersCommand::Add(_)
            | McpServersCommand::Approve(_)
            | McpServersCommand::Declare(_)
            | McpServersCommand::Install(_),
        ) => true,
        CliCommand::Trust(args) => !args.is_list() && !args.is_removal(),
        CliCommand::Import(args) => args.undo.is_none(),
        _ => false,
    }
}

fn is_trust_shown_alone(args: &TrustArgs) -> bool {
    args.review.preview || args.json.json && !args.yes && args.review.as_shown.is_none()
}

fn is_database_named(args: &PhoneArgs) -> bool {
    let database = match &args.command {
        None => &args.pair.database,
        Some(PhoneCommand::List(args)) => &args.database,
        Some(PhoneCommand::Revoke(args)) => &args.database,
    };
    database.database.is_some()
}
