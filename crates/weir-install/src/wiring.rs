//! Where concrete parts meet: the engine's parts, and the settings of one session.
//!
//! Which value wins is decided here and nowhere else: a flag, then what the session was opened
//! with, then profile and settings.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use futures::future::BoxFuture;
use weir_core::governance::rules::{Rule, RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::ids::SessionId;
use weir_core::model::{ModelInfo, Thinking};
use weir_core::profile::{COMPACT, COMPACT_BELOW, Limits, PermissionMode, Profile};
use weir_core::prompt::{self, PromptScene};
use weir_core::session::child;
use weir_core::session::{CondensingSettings, MemoryPolicy, RecipePolicy, SessionConfig};
use weir_core::tool::built_in::BRAIN_KEEPER;
use weir_core::tool::defer::{self, ToolLoading};
use weir_core::view::plain::visible_text;
use weir_engine::engine::{Engine, EngineParts, SNAPSHOT_EVERY, SessionOptions, SessionResources};
use weir_engine::equal_parts::{share_system_prompt, share_tool_list};
use weir_engine::host::HostParts;
use weir_engine::ports::{
    Clock as _, McpServers, Model, Profiles as _, Store, VendorSearch, Worktrees,
};
use weir_engine::recipes::RecipePlaces;
use weir_engine::scene::{self, SceneOptions};
use weir_engine::skills::SkillPlaces;
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;
use weir_sandbox::{
    EnvironmentLending, SupervisedProcesses, SupervisorOptions, Tier, TierWish,
    filtered_environment,
};
use weir_store::{GitCheckpoints, GitWorktrees, this_process};

use crate::config::{SandboxTier, WorkspaceConfig};
use crate::context::InstallationContext;
use crate::documents::ChildDocuments;
use crate::failure::usage;
use crate::models::{self, WindowNotice};
use crate::profiles::{self, LoadedProfile};
use crate::secrets;

mod added;
pub(crate) mod client_model;
mod first_start;
mod guards;
pub mod guest;
mod helper_endpoint;
mod idle;
mod instructions;
mod made;
pub mod mcp;
mod mcp_ask;
mod mcp_launch;
mod mcp_person;
mod meaning;
mod network;
mod pictures;
mod plugins;
mod routing;
mod spending;
mod stand_in;
mod switching;
#[cfg(test)]
mod tests;
mod vector_cache;
pub mod vendor_search;
mod wishes;

pub use added::{ADDED_FOLDERS_MAX, check_added_folder};
use client_model::{CLIENT_PROVIDER, ClientModel};
pub use first_start::find_first_start;
pub use made::script_runner;
pub use mcp_person::answers as server_answers;
pub use network::guarded_web;
pub use plugins::installed_plugins;
use switching::SessionProfiles;
pub use weir_engine::system_clock::{SystemClock, WallClock};
pub use wishes::{MailWish, PromptWish, ScheduleWish, SessionOverrides};

/// The hidden subcommand under which this program supervises a command.
pub const SUPERVISE: &str = "__supervise";
/// Origin of rules that `weir permissions add --session` gave a session.
pub const SESSION_RULE: &str = "session";
/// Characters of `prompt.instructions` that are told.
pub const CUSTOM_CHARS_MAX: usize = 10_000;
/// Origin of rules that stand for listed recipients of mail. Read anew with every session.
const RECIPIENTS: &str = "recipients (set in the browser)";
/// Origin of the rule for whoever searches the web. Read anew with every session.
const SEARCH_RULE: &str = "web.search";
/// Origin of the rule that is the standing permission for the brain. Read anew with every session.
const BRAIN_RULE: &str = "brain.agent_may_keep";
/// Origin of rules of flags. They stay with the session they were given to.
const FLAG_RULE: &str = "flag";

/// A new session's name: ordered by time, unique everywhere.
pub fn new_session_id() -> SessionId {
    SessionId::new(uuid::Uuid::now_v7().simple().to_string())
}

/// Every tool there is.
pub fn build_toolbox() -> anyhow::Result<Arc<Toolbox>> {
    Ok(Arc::new(copy_built_in_toolbox()?))
}

/// A box of every tool there is: a copy of one of this program, so that sessions share what never changes.
fn copy_built_in_toolbox() -> anyhow::Result<Toolbox> {
    static BUILT_IN: OnceLock<Toolbox> = OnceLock::new();
    if let Some(toolbox) = BUILT_IN.get() {
        return Ok(toolbox.copy());
    }
    let toolbox = Toolbox::new(weir_tools::built_in_tools())?;
    Ok(BUILT_IN.get_or_init(|| toolbox).copy())
}

/// Every tool there is; of those with nothing behind them in this workspace no session is told.
///
/// # Errors
/// Settings, declarations of servers or the store cannot be read.
pub async fn build_toolbox_of_workspace(
    cx: &InstallationContext,
    workspace: &Arc<Workspace>,
) -> anyhow::Result<Arc<Toolbox>> {
    let idle = idle::idle_tool_names(cx, workspace).await?;
    Ok(Arc::new(copy_built_in_toolbox()?.without_use_for(idle)))
}

/// The same for a session with this model: where its vendor is to search and does not, nothing searches.
async fn build_toolbox_for_model(
    cx: &InstallationContext,
    workspace: &Arc<Workspace>,
    model: &ModelInfo,
) -> anyhow::Result<Arc<Toolbox>> {
    let mut idle = idle::idle_tool_names(cx, workspace).await?;
    let by_vendor = cx.config()?.settings.web.search.is_by_vendor();
    if by_vendor && vendor_search::search_model(cx, model)?.is_none() {
        idle.extend(idle::OF_ENGINES.map(String::from));
    }
    Ok(Arc::new(copy_built_in_toolbox()?.without_use_for(idle)))
}

/// The person on whose behalf this program acts, for audit lines.
pub fn principal_name(cx: &InstallationContext) -> String {
    let user = || cx.environment.text_variable("USER");
    let name = cx.served_person().or_else(user).or_else(|| cx.environment.text_variable("LOGNAME"));
    name.map_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()), String::from)
}

/// An engine over the store of the state folder. `label` says what this process is, for people who
/// find a session held: `weir run`.
///
/// # Errors
/// The store cannot be opened, or the settings cannot be used.
pub async fn open_engine(cx: &InstallationContext, label: &str) -> anyhow::Result<Engine> {
    let store = cx.session_store()?;
    // Whoever waits for the end of a run does not wait for the log of its database.
    cx.keep_write_ahead_log();
    engine_on(cx, label, store).await
}

/// What a way to sessions needs of this folder. `label` as with [`open_engine`].
///
/// # Errors
/// The store cannot be opened.
pub fn host_parts(cx: &InstallationContext, label: &str) -> anyhow::Result<HostParts> {
    Ok(HostParts {
        store: cx.local_store()?,
        clock: Arc::new(SystemClock::default()),
        owner: this_process(label),
        principal: principal_name(cx),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

/// The same engine over a given store. Local servers are asked for the windows of the models that do its side
/// work, which takes a moment.
///
/// # Errors
/// The settings cannot be used.
pub fn engine_on<'a>(
    cx: &'a InstallationContext,
    label: &'a str,
    store: Arc<dyn Store>,
) -> BoxFuture<'a, anyhow::Result<Engine>> {
    // An async function is compiled anew by each crate that awaits it; boxed, by this one alone (Q23).
    Box::pin(make_engine(cx, label, store))
}

async fn make_engine(
    cx: &InstallationContext,
    label: &str,
    store: Arc<dyn Store>,
) -> anyhow::Result<Engine> {
    models::ask_windows_ahead(cx, guards::helper_names(cx)?, WindowNotice::Once).await;
    let declared = secrets::load_declared_secrets(cx)?;
    let secrets = secrets_with(cx, &declared)?;
    Ok(Engine::new(EngineParts {
        store,
        checkpoints: open_checkpoints(cx),
        clock: Arc::new(SystemClock::default()),
        toolbox: build_toolbox()?,
        processes: Arc::new(supervised_processes(cx)?),
        web: Arc::new(network::web_with(cx, &declared)?),
        documents: document_readers()?,
        hooks: Arc::new(guards::load_hooks(cx, secrets.clone())?),
        gates: Vec::new(),
        judge: guards::judge_model(cx)?,
        condenser: guards::condenser_model(cx)?,
        planner: guards::planner_model(cx)?,
        flagship: guards::flagship_model(cx)?,
        owner: this_process(label),
        principal: principal_name(cx),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        secrets,
        snapshot_every: SNAPSHOT_EVERY,
        observers: crate::telemetry::program_observers(cx)?,
    }))
}

/// Values that must never reach model, log or screen.
///
/// # Errors
/// Settings or keys cannot be read.
pub fn secret_texts(cx: &InstallationContext) -> anyhow::Result<Vec<String>> {
    secrets_with(cx, &secrets::load_declared_secrets(cx)?)
}

fn secrets_with(
    cx: &InstallationContext,
    declared: &[secrets::DeclaredSecret],
) -> anyhow::Result<Vec<String>> {
    let mut secrets =
        cx.provider_keys()?.secret_values(models::load_catalogue(cx)?, &cx.environment);
    secrets.extend(secrets::declared_secret_values(declared));
    secrets.extend(secrets::lent_values(cx)?);
    secrets.extend(crate::servers::secret_values(&cx.declared_servers()?.0));
    Ok(secrets)
}

/// What is done for the store when a command has nothing else left to do: records of commands that
/// ended long ago go.
pub fn sweep_command_records(cx: &InstallationContext) {
    let swept = weir_sandbox::sweep_records(&cx.dirs.state);
    tracing::debug!(removed = swept.removed, kept = swept.kept, "old records of commands");
}

/// The model that names chats, where the settings name one.
///
/// # Errors
/// It cannot be asked: what is missing.
pub async fn titler_model(
    cx: &InstallationContext,
    session: &SessionId,
) -> anyhow::Result<Option<Arc<dyn weir_engine::ports::Model>>> {
    guards::titler_model(cx, session).await
}

/// Readers of images and PDFs, each a child that is this program.
pub fn document_readers() -> anyhow::Result<Arc<ChildDocuments>> {
    Ok(Arc::new(ChildDocuments::new()?))
}

/// Files as they were.
pub fn open_checkpoints(cx: &InstallationContext) -> Arc<GitCheckpoints> {
    Arc::new(GitCheckpoints::open(&cx.dirs.state))
}

/// Commands, each under a supervisor that is this program.
pub fn supervised_processes(cx: &InstallationContext) -> anyhow::Result<SupervisedProcesses> {
    Ok(SupervisedProcesses::new(SupervisorOptions {
        program: std::env::current_exe()?,
        args: vec![SUPERVISE.into()],
        state_dir: cx.dirs.state.clone(),
        environment: filtered_environment(
            cx.environment.all_variables(),
            &cx.config()?.settings.commands.env,
        ),
        lending: lending_to_commands(cx)?,
        secrets: secret_texts(cx)?.into_iter().map(weir_core::secret::Secret::new).collect(),
        limits: weir_sandbox::CommandLimits::default(),
        tier: tier_wish(cx.config()?),
        egress: Some(Arc::new(network::command_egress(cx)?)),
    }))
}

/// What commands get of the person's variables where a person agreed. An account of a server gets
/// nothing of the installation's but what it is offered.
fn lending_to_commands(cx: &InstallationContext) -> anyhow::Result<EnvironmentLending> {
    let variables = match cx.is_guest() {
        true => Vec::new(),
        false => {
            weir_sandbox::persons_environment(cx.environment.all_variables(), &secret_texts(cx)?)
        }
    };
    Ok(EnvironmentLending { secrets: secrets::load_lent_secrets(cx)?, variables })
}

/// How commands are to be confined.
pub fn tier_wish(config: &WorkspaceConfig) -> TierWish {
    match config.settings.sandbox.tier {
        SandboxTier::Auto => TierWish::Auto,
        SandboxTier::Namespaces => TierWish::Exactly(Tier::Namespaces),
        SandboxTier::Bubblewrap => TierWish::Exactly(Tier::Bubblewrap),
        SandboxTier::Landlock => TierWish::Exactly(Tier::Landlock),
        SandboxTier::None => TierWish::Exactly(Tier::None),
    }
}

/// The tier under which commands run here.
pub fn command_tier(config: &WorkspaceConfig) -> Tier {
    weir_sandbox::holding_tier(tier_wish(config), &this_program())
}

/// This program, which builds sandboxes too. Where it cannot be found none is built, and the tiers
/// that need it say so.
pub fn this_program() -> PathBuf {
    std::env::current_exe().unwrap_or_default()
}

/// The settings of one session. `kept` are those that it was opened with, where it exists: its
/// model, profile, permission mode and prompt stay unless a flag changes them.
///
/// # Errors
/// A usage error: no model, no such profile, a rule that can never match, …
pub fn session_options<'a>(
    cx: &'a InstallationContext,
    wishes: &'a SessionOverrides,
    kept: Option<&'a SessionConfig>,
) -> BoxFuture<'a, anyhow::Result<SessionOptions>> {
    Box::pin(gather_session_options(cx, wishes, kept))
}

async fn gather_session_options(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<SessionOptions> {
    let wishes = &guest::narrow_guest_overrides(cx, wishes)?;
    let cx = &added::with_session_folders(cx, wishes, kept)?;
    let workspace = cx.open_workspace()?;
    let profile = choose_profile(cx, wishes, kept)?;
    // A wrong rule is said before a model is looked for, which may ask local servers.
    let rules = session_rules(cx, &workspace, wishes, kept)?;
    let model = choose_session_model(cx, wishes, kept, &profile).await?;
    let profile = match kept {
        None => profile_for_window(cx, wishes, profile, &model.info())?,
        Some(_) => profile,
    };
    settle_session(cx, wishes, kept, ChosenParts { workspace, profile, rules, model }).await
}

/// The profile for small windows, where nobody chose one and the model has such a window (R6).
fn profile_for_window(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    profile: LoadedProfile,
    model: &ModelInfo,
) -> anyhow::Result<LoadedProfile> {
    let is_chosen = wishes.profile.is_some() || cx.config()?.is_set("profile");
    let is_small = (1..COMPACT_BELOW).contains(&model.window);
    if is_chosen || !is_small || wishes.only_tools.is_some() || !model.takes_tools() {
        return Ok(profile);
    }
    let loaded = profiles::find_profile(cx, COMPACT)?;
    cx.notify(&format!(
        "note: {} has a window of {} tokens, so the profile {COMPACT} is used: a short prompt, and tools that \
         are found when they are needed (--profile {} has them all at once)",
        model.model, model.window, profile.profile.name
    ));
    Ok(LoadedProfile { profile: wishes.narrow_profile(loaded.profile), ..loaded })
}

/// The same for a model that is already there, whatever wishes and settings name.
///
/// # Errors
/// A usage error: no such profile, a rule that can never match, …
pub async fn session_options_for_model(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    model: Arc<dyn Model>,
) -> anyhow::Result<SessionOptions> {
    let wishes = &guest::narrow_guest_overrides(cx, wishes)?;
    let cx = &added::with_session_folders(cx, wishes, kept)?;
    let workspace = cx.open_workspace()?;
    let profile = choose_profile(cx, wishes, kept)?;
    let rules = session_rules(cx, &workspace, wishes, kept)?;
    settle_session(cx, wishes, kept, ChosenParts { workspace, profile, rules, model }).await
}

/// What is chosen first: tools and servers follow from it.
struct ChosenParts {
    workspace: Arc<Workspace>,
    profile: LoadedProfile,
    rules: RuleSet,
    model: Arc<dyn Model>,
}

/// Gathers the tools, the servers and the rest, once folder, profile and model are chosen.
fn settle_session<'a>(
    cx: &'a InstallationContext,
    wishes: &'a SessionOverrides,
    kept: Option<&'a SessionConfig>,
    chosen: ChosenParts,
) -> BoxFuture<'a, anyhow::Result<SessionOptions>> {
    Box::pin(gather_parts(cx, wishes, kept, chosen))
}

async fn gather_parts(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    chosen: ChosenParts,
) -> anyhow::Result<SessionOptions> {
    let ChosenParts { workspace, mut profile, rules, model } = chosen;
    switching::ask_profile_windows(cx, wishes).await?;
    let toolbox = build_toolbox_for_model(cx, &workspace, &model.info()).await?;
    made::add_dynamic_tools(cx, &toolbox, &workspace).await?;
    profiles::refuse_closed(cx, &profile, &workspace)?;
    if let Some(mailbox) = &wishes.mail.mailbox {
        toolbox.add(weir_tools::email_tool(mailbox.clone()))?;
    }
    let asked = Arc::new(mcp_ask::SessionModel::default());
    let servers = mcp::of_session(cx, &toolbox, &asked).await?;
    profile.profile = mcp::without_unnamed_servers(profile.profile, &profile.mcp_servers, &toolbox);
    asked.set_model(model.clone());
    let chosen = SessionChoices { workspace, toolbox, profile, rules, model };
    let mut options = session_options_with(cx, wishes, kept, chosen)?;
    options.resources.servers = servers.map(|servers| servers as Arc<dyn McpServers>);
    Ok(options)
}

/// What was settled before the rest of a session's settings.
pub struct SessionChoices {
    /// The guarded handle to the workspace.
    pub workspace: Arc<Workspace>,
    /// Every tool.
    pub toolbox: Arc<Toolbox>,
    /// Its profile.
    pub profile: LoadedProfile,
    /// All rules that hold in it ([`session_rules`]).
    pub rules: RuleSet,
    /// Its model.
    pub model: Arc<dyn Model>,
}

/// The same for a model and folder that are already there (the demo brings its own).
#[expect(clippy::too_many_lines, reason = "a list of what a session gets, each from its place")]
pub fn session_options_with(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    chosen: SessionChoices,
) -> anyhow::Result<SessionOptions> {
    let config = cx.config()?;
    let SessionChoices { workspace, toolbox, profile, rules, model } = chosen;
    let named = routing::NamedModel::new(config, wishes, &profile.profile, &model.info());
    for note in &profile.notes {
        cx.notify(&format!("warning: {}: {note}", profile.source));
    }
    let permission = choose_permission_mode(config, wishes, kept, &profile);
    let info = model.info();
    warn_without_tools(cx, &info, kept);
    instructions::warn_of_no_files(cx, workspace.root());
    let ToolLoading { loaded: mut tools, deferred } =
        load_session_tools(&toolbox, &profile.profile, permission, &info);
    let limits = spending::limits_with_caps(cx, wishes, &profile, &info)?;
    child::within_depth(Arc::make_mut(&mut tools), 0, &limits);
    let (tools, deferred) = (share_tool_list(tools), share_tool_list(deferred));
    check_names(cx, &rules, &profile, &toolbox)?;
    let guards = guards::session_guards(config, kept, SystemClock::default().now());
    let profiles = SessionProfiles::new(cx, wishes, &toolbox, &workspace)?;
    let base = PromptScene {
        canary: guards.canary.clone(),
        profile: Some(profile.profile.clone()),
        tools: tools.clone(),
        deferred: deferred.clone(),
        profiles: profiles.list(),
        window: info.window,
        soul: read_soul_text(cx),
        custom: custom_instructions(config),
        conventions: workspace_conventions(&profile.profile, workspace.root()),
        allowed_hosts: config.settings.web.allow_hosts.clone(),
        ..PromptScene::default()
    };
    let thinking = choose_thinking(config, wishes, kept, &profile.profile, &info);
    let session = SessionConfig {
        workspace: workspace.root().display().to_string(),
        limits,
        budget_place: spending::budget_place(config, wishes, &limits),
        profile: profile.profile,
        model: info.as_ref().clone(),
        routing: routing::session_routing(cx, wishes, kept, &named)?,
        thinking,
        permission,
        rules,
        system: session_system_prompt(&base, wishes, kept),
        tools,
        deferred,
        condensing: condensing_policy(config),
        memory: memory_policy(config),
        recipes: recipe_policy(config),
        depth: 0,
        externalize_over: config.settings.context.externalize_over,
        own_addresses: own_addresses(config),
        answer: wishes.answer.clone(),
        link_bits: None,
        output_schema: wishes.output_schema.clone(),
        strict: wishes.strict,
        attended: wishes.attended,
        guards,
    };
    models::check_fits_window(cx, &session)?;
    let profiles = profiles.with_base_scene(&base);
    let embedding = meaning::embedding_model(cx)?;
    // Only what is sent to a model must be without them.
    let secrets = if embedding.is_some() { secret_texts(cx)? } else { Vec::new() };
    let resources = SessionResources {
        toolbox: Some(toolbox),
        scripts: Some(script_runner()?),
        // A repository can point at files anywhere on the machine: not for who has one folder.
        worktrees: (!cx.is_guest()).then(|| Arc::new(GitWorktrees) as Arc<dyn Worktrees>),
        meaning: Some(Arc::new(meaning::WorkspaceMeaning::new(&cx.dirs.state, embedding, secrets))),
        vendor_search: vendor_search::search_model(cx, &info)?
            .map(|model| model as Arc<dyn VendorSearch>),
        pictures: pictures::picture_model(cx)?,
        spending: spending::spending_caps(cx, wishes)?,
        ..SessionResources::default()
    };
    let scene = SceneOptions {
        base,
        config_dir: Some(cx.dirs.config.clone()),
        timezone: config.settings.prompt.timezone.clone(),
        recipes: checked_recipes(cx),
        skills: SkillPlaces {
            plugins: Some(installed_plugins(cx, &workspace)?),
            ..skill_places(cx)
        },
    };
    let profiles = Arc::new(profiles);
    Ok(SessionOptions { workspace, model, scene, config: session, profiles, resources })
}

/// Says of a new session whose model takes no tools that it can do nothing.
fn warn_without_tools(cx: &InstallationContext, model: &ModelInfo, kept: Option<&SessionConfig>) {
    if kept.is_none() && !model.takes_tools() {
        let name = &model.model;
        cx.notify(&format!("{name} takes no tools: it answers, and can do nothing"));
    }
}

/// The tools of a session: with their schemas, and by name only (T4). A model that takes none is
/// told of none.
pub fn load_session_tools(
    toolbox: &Toolbox,
    profile: &Profile,
    permission: PermissionMode,
    model: &ModelInfo,
) -> ToolLoading {
    if !model.takes_tools() {
        return ToolLoading::default();
    }
    let visible = toolbox.visible_specs(profile, permission != PermissionMode::Plan);
    match profile.compact {
        true => defer::split_compact(visible),
        false => defer::split_loading(visible, model.window),
    }
}

/// Where skills are looked for (M1): the person's own folders, the first one first.
pub fn skill_places(cx: &InstallationContext) -> SkillPlaces {
    let home = |folder: &str| cx.dirs.home.as_ref().map(|home| home.join(folder));
    let others = [home(".agents/skills"), home(".claude/skills")];
    let own = std::iter::once(own_skills(cx)).chain(others.into_iter().flatten()).collect();
    SkillPlaces { own, trusted: cx.is_trusted(), bundled: true, plugins: None }
}

/// The folder in which the person's skills for Weir stand, and those that it wrote.
pub fn own_skills(cx: &InstallationContext) -> PathBuf {
    cx.dirs.config.join("skills")
}

/// The profile, with no more tools than are wanted.
pub fn choose_profile(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<LoadedProfile> {
    let loaded = whole_profile(cx, wishes, kept)?;
    Ok(LoadedProfile { profile: wishes.narrow_profile(loaded.profile), ..loaded })
}

/// The profile: flag, session, settings.
fn whole_profile(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<LoadedProfile> {
    if let Some(name) = &wishes.profile {
        return profiles::find_profile(cx, name);
    }
    let config = cx.config()?;
    let Some(kept) = kept else {
        let name = &config.settings.profile;
        return profiles::find_profile(cx, name).map_err(|error| match config.is_set("profile") {
            true => usage(format!("{}: {error}", config.origin_of_key("profile"))),
            false => error,
        });
    };
    // A session keeps its profile as it was, also when the file has gone or changed since.
    let found = profiles::find_profile(cx, &kept.profile.name).ok();
    Ok(LoadedProfile {
        profile: kept.profile.clone(),
        source: profiles::ProfileSource::BuiltIn,
        limits: found.as_ref().map(|found| found.limits).unwrap_or_default(),
        mcp_servers: found.map(|found| found.mcp_servers).unwrap_or_default(),
        notes: Vec::new(),
    })
}

/// The model: flag, session, profile, settings.
async fn choose_session_model(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    profile: &LoadedProfile,
) -> anyhow::Result<Arc<dyn Model>> {
    if let Some(text) = &wishes.model {
        return models::choose_model(cx, Some(text)).await;
    }
    let Some(kept) = kept else {
        return models::choose_model(cx, profile.profile.model.as_deref()).await;
    };
    // It goes on with the model that stood in, or that a rule named, until its run is over.
    if let Some(away) = &kept.routing.away {
        let model = models::choose_model(cx, Some(away)).await;
        return model.or_else(|error| stand_in::without_stand_in(cx, kept, error));
    }
    if kept.model.model.provider == CLIENT_PROVIDER {
        return Ok(Arc::new(ClientModel::of_session(&kept.model)));
    }
    if kept.model.model.provider != "script" {
        return models::choose_model(cx, Some(&kept.model.model.to_string())).await;
    }
    // A journal does not say where the script of a scripted model stood.
    let named = cx.config()?.settings.model.as_deref();
    match named.filter(|text| text.starts_with("script:")) {
        Some(text) => models::choose_model(cx, Some(text)).await,
        None => Err(usage(
            "this session's model is scripted; say where the script is: -m script:FILE \
             (or another model)",
        )),
    }
}

/// The permission mode: flag, session, profile, settings; never wider than a workspace that is not
/// trusted says of itself, unless a flag says so.
pub fn choose_permission_mode(
    config: &WorkspaceConfig,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    profile: &LoadedProfile,
) -> PermissionMode {
    if let Some(mode) = wishes.permission {
        return mode;
    }
    let from_profile = || profile.profile.permission.unwrap_or(config.settings.permission);
    let mode = match kept {
        Some(kept) if wishes.profile.is_none() => kept.permission,
        _ => from_profile(),
    };
    let rank = |mode: PermissionMode| PermissionMode::ALL.iter().position(|m| *m == mode);
    match config.permission_ceiling {
        Some(ceiling) if rank(ceiling) < rank(mode) => ceiling,
        _ => mode,
    }
}

/// How much the model thinks: flag, session, profile, settings, else what is usual for the model. A
/// level of a session that nobody chose goes with its model.
pub fn choose_thinking(
    config: &WorkspaceConfig,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
    profile: &Profile,
    info: &ModelInfo,
) -> Thinking {
    let chosen = |kept: &&SessionConfig| {
        let is_usual = kept.thinking == kept.model.usual_thinking();
        wishes.profile.is_none() && !(wishes.model.is_some() && is_usual)
    };
    let of_session = || kept.filter(chosen).map(|kept| kept.thinking);
    let said = wishes.thinking.or_else(of_session).or(profile.thinking);
    said.or(config.settings.thinking).unwrap_or_else(|| info.usual_thinking())
}

/// Bounds: flag, then settings that somebody wrote down, then the profile, then built in.
pub fn session_limits(
    config: &WorkspaceConfig,
    wishes: &SessionOverrides,
    profile: &LoadedProfile,
) -> Limits {
    let settings = &config.settings.limits;
    let set = settings.to_limits();
    let of = &profile.limits;
    let iterations = config.is_set("limits.max_iterations").then_some(settings.max_iterations);
    let iterations = config.bound_or("limits.max_iterations", iterations, of.max_iterations);
    // 0 is no bound: as the largest number it can be compared.
    let key = "limits.consecutive_mistake_limit";
    let mistakes = config.is_set(key).then_some(settings.consecutive_mistake_limit);
    let comparable = |limit: Option<u32>| limit.map(|limit| limit.wrapping_sub(1));
    let mistakes =
        config.bound_or(key, comparable(mistakes), comparable(of.consecutive_mistake_limit));
    let calls = of.max_tool_calls.or(wishes.tool_calls_default);
    let calls = config.bound_or("limits.max_tool_calls", settings.max_tool_calls, calls);
    let usd = config.bound_or("limits.budget_usd", settings.budget_usd, of.budget_usd);
    let tokens = config.bound_or("limits.budget_tokens", settings.budget_tokens, of.budget_tokens);
    Limits {
        max_iterations: wishes.max_iterations.or(iterations).unwrap_or(settings.max_iterations),
        max_tool_calls: wishes.max_tool_calls.or(calls),
        consecutive_mistake_limit: mistakes
            .map_or(settings.consecutive_mistake_limit, |limit| limit.wrapping_add(1)),
        budget_usd: wishes.budget_usd.or(usd),
        budget_tokens: wishes.budget_tokens.or(tokens),
        run_timeout_ms: wishes.run_timeout_ms.or(set.run_timeout_ms),
        ..set
    }
}

/// All rules that hold: of both files, of flags, and those that the session was given.
///
/// # Errors
/// A rule that is none or can never match: file and line.
pub fn session_rules(
    cx: &InstallationContext,
    workspace: &Workspace,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<RuleSet> {
    let config = cx.config()?;
    let mut set = RuleSet::new(rule_context(cx, workspace));
    let parse = |set: &RuleSet, action, text: &str, origin| {
        set.parse_rule(action, text, origin).map_err(|error| usage(error.to_string()))
    };
    let mut rules: Vec<Rule> = Vec::new();
    for raw in &config.rules {
        rules.push(parse(&set, raw.action, &raw.text, raw.origin.clone())?);
    }
    rules.extend(added::added_rules(cx, workspace)?);
    for host in &config.settings.web.allow_hosts {
        let origin = RuleOrigin::new(format!(
            "web.allow_hosts ({})",
            config.origin_of_key("web.allow_hosts")
        ));
        rules.push(parse(&set, RuleAction::Allow, &format!("Web({host})"), origin)?);
    }
    for host in &wishes.hosts {
        let origin = RuleOrigin::new("web.allow_hosts (set in the browser)");
        rules.push(parse(&set, RuleAction::Allow, &format!("Web({host})"), origin)?);
    }
    // Whoever sets an engine up wants it to be asked: by these tools, and its host by no other.
    if crate::search::is_web_searched(cx)? {
        for tool in idle::OF_ENGINES {
            rules.push(parse(&set, RuleAction::Allow, tool, RuleOrigin::new(SEARCH_RULE))?);
        }
    }
    // A rule for the tool: so it is journaled with the session, and shown and denied like any other.
    if cx.config()?.settings.brain.agent_may_keep {
        let origin = RuleOrigin::new(BRAIN_RULE);
        rules.push(parse(&set, RuleAction::Allow, BRAIN_KEEPER, origin)?);
    }
    for recipient in &wishes.mail.recipients {
        let origin = RuleOrigin::new(RECIPIENTS);
        let who = match recipient.strip_prefix('@') {
            Some(domain) => format!("*@{domain}"),
            None => recipient.clone(),
        };
        rules.push(parse(&set, RuleAction::Allow, &format!("Mail({who})"), origin)?);
    }
    for (action, texts) in [(RuleAction::Allow, &wishes.allow), (RuleAction::Deny, &wishes.deny)] {
        for text in texts {
            let origin = RuleOrigin::new(format!("{FLAG_RULE} --{action}"));
            rules.push(parse(&set, action, text, origin)?);
        }
    }
    set.extend(rules);
    if let Some(kept) = kept {
        // Rules of files have a line and are read anew; the others are the session's own.
        let own = kept.rules.iter().filter(|rule| {
            let source = &rule.origin().source;
            let listed = source.starts_with("web.allow_hosts")
                || source == RECIPIENTS
                || source == SEARCH_RULE
                || source == BRAIN_RULE;
            rule.origin().line.is_none() && !listed
        });
        set.extend(own.cloned());
    }
    Ok(set)
}

/// The person's own addresses in the form in which they are compared (U5).
pub(crate) fn own_addresses(config: &WorkspaceConfig) -> BTreeSet<String> {
    let addresses = config.settings.person.addresses.iter();
    addresses.map(|one| one.trim().to_ascii_lowercase()).filter(|one| !one.is_empty()).collect()
}

/// How the window is kept from bursting (X2).
fn condensing_policy(config: &WorkspaceConfig) -> CondensingSettings {
    let of = &config.settings.context;
    CondensingSettings { enabled: of.condensing_enabled, threshold: of.condensing_threshold }
}

/// What may be remembered beyond the session (M4).
fn memory_policy(config: &WorkspaceConfig) -> MemoryPolicy {
    let of = &config.settings.memory;
    MemoryPolicy { off: !of.enabled, accepts: of.accept, after_run: of.after_run }
}

/// What may be done with recipes (M5, L16).
fn recipe_policy(config: &WorkspaceConfig) -> RecipePolicy {
    let of = &config.settings.recipes;
    // Between 0 and 1: `config/check.rs` saw to it.
    let floor = (of.floor.clamp(0.0, 1.0) * 100.0).round() as u32;
    RecipePolicy {
        off: !of.enabled,
        fast: of.fast_path,
        learn: of.learn,
        accepts: of.accept_learned,
        floor,
    }
}

/// Where recipes are looked for; what is wrong with the person's own is said once.
fn checked_recipes(cx: &InstallationContext) -> RecipePlaces {
    let places = recipe_places(cx);
    if cx.config().is_ok_and(|config| config.settings.recipes.enabled) {
        for notice in weir_engine::recipes::survey_recipes(&places, &[]).notices {
            cx.notify(&format!("warning: {}", visible_text(&notice)));
        }
    }
    places
}

/// Where recipes are looked for (M5).
pub fn recipe_places(cx: &InstallationContext) -> RecipePlaces {
    let own = Some(cx.dirs.config.join("recipes"));
    RecipePlaces { own, bundled: true, ..RecipePlaces::default() }
}

/// What rules are relative to.
pub fn rule_context(cx: &InstallationContext, workspace: &Workspace) -> RuleContext {
    let text = |path: &std::path::Path| path.display().to_string();
    RuleContext {
        workspace: text(workspace.root()),
        home: cx.dirs.home.as_deref().map(text),
        own_folders: cx.dirs.protected_folders().iter().map(|folder| text(folder)).collect(),
        added_folders: workspace.added_folders().map(String::from).collect(),
    }
}

/// Names of tools in rules and profile must exist.
fn check_names(
    cx: &InstallationContext,
    rules: &RuleSet,
    profile: &LoadedProfile,
    toolbox: &Toolbox,
) -> anyhow::Result<()> {
    let all = toolbox.all_tools();
    let known: Vec<&str> = all.iter().map(|tool| tool.spec().name.as_str()).collect();
    if let Some(error) = rules.check_tools(&known).first() {
        return Err(usage(error.to_string()));
    }
    let named = profile.profile.extra_tools.iter().chain(&profile.profile.denied_tools);
    for name in named.filter(|name| !known.contains(&name.as_str())) {
        cx.notify(&format!(
            "warning: {}: there is no tool {name} (`weir tools list` shows them)",
            profile.source
        ));
    }
    Ok(())
}

/// The system prompt. A session keeps its own as long as nothing that stands in it has changed, so
/// that the provider's cache holds (P2).
fn session_system_prompt(
    scene: &PromptScene,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> Arc<str> {
    let text = match (&wishes.prompt, kept) {
        // The word that is watched must stand in every prompt, or there is nothing to watch.
        (PromptWish::Replaced(text), _) => match prompt::confidential_section(scene) {
            Some(section) => format!("{}\n\n{section}", text.trim_end()),
            None => text.clone(),
        },
        (PromptWish::Preceded(text), _) => {
            format!("{}\n\n{}", text.trim_end(), prompt::system_prompt(scene))
        }
        (PromptWish::Own, Some(kept))
            if wishes.profile.is_none()
                && kept.tools == scene.tools
                && kept.deferred == scene.deferred
                // Another model's cache holds nothing of this, and its window may be another.
                && kept.model.window == scene.window
                && kept.guards.canary == scene.canary =>
        {
            return kept.system.clone();
        }
        (PromptWish::Own, _) => prompt::system_prompt(scene),
    };
    share_system_prompt(text.into())
}

/// The person's own identity text for the agent.
fn read_soul_text(cx: &InstallationContext) -> Option<String> {
    scene::own_text(&cx.dirs.config.join("SOUL.md"), "SOUL.md", scene::SOUL_CHARS_MAX)
}

/// The person's instructions for every profile.
fn custom_instructions(config: &WorkspaceConfig) -> Option<String> {
    let text = config.settings.prompt.instructions.trim();
    (!text.is_empty()).then(|| prompt::cut_text(text, CUSTOM_CHARS_MAX, "prompt.instructions"))
}

/// The kind of workspace whose conventions stand in the prompt: the profile's, or what the folder
/// shows itself to be.
pub fn workspace_conventions(profile: &Profile, folder: &std::path::Path) -> Option<String> {
    let seen = || scene::kind_of(folder).map(str::to_owned);
    profile.conventions.clone().or_else(seen)
}
