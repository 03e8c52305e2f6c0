//! The world of a play: what outlives a crash, and the engines and sessions that are made of it. Not
//! here: what is done in it (`play`), and its fakes (`crate::world`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail, ensure};
use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::ids::{Seq, SessionId};
use weir_core::message::Message;
use weir_core::model::ModelInfo;
use weir_core::profile::{LimitName, Limits, PermissionMode, built_in_profiles};
use weir_core::session::{CondensingSettings, Guards, SessionConfig, child};
use weir_core::tool::Tier;
use weir_core::tool::defer::ToolLoading;
use weir_engine::engine::{
    Engine, EngineParts, SNAPSHOT_EVERY, SessionOptions, SessionResources, read_verified,
};
use weir_engine::hub::PublishedFact;
use weir_engine::ports::{
    Checkpoints, LeaseOwner, SessionFilter, SpendingCap, SpendingCaps, Store, Tool,
};
use weir_engine::scene::{SOUL_CHARS_MAX, SceneOptions, own_text};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::{Workspace, WorkspaceOptions};

use super::{Depth, Heard, Played, PlayedAgent, write_file};
use crate::crash::{CrashCheckpoints, CrashPoint, CrashStore, CrashTool, Listener};
use crate::documents::OwnDocuments;
use crate::guards::{FakeHooks, FakeJudge};
use crate::models::{FIRST, ModelScripts};
use crate::parse::{Scenario, Setup};
use crate::profiles::{self, FakeProfiles};
use crate::wire::Wire;
use crate::worktree;
use crate::world::{FakeCommand, FakeProcesses, FakeWeb, WorldClock};

/// What an engine has to itself among those of one world.
pub(crate) struct EngineSeat {
    /// Whose leases it takes.
    pub(crate) owner: LeaseOwner,
    /// Its way to what all of them keep.
    pub(crate) store: Arc<dyn Store>,
    /// Where it dies.
    pub(crate) point: Arc<CrashPoint>,
    /// Its time.
    pub(crate) clock: Arc<WorldClock>,
}

/// The folder that is added to the workspace, beside it.
const ADDED: &str = "added";

/// The sessions of sub-agents, as they are heard.
type HeardAgents = Arc<Mutex<BTreeMap<SessionId, Arc<Heard>>>>;

/// When the folds of sessions are kept, and what becomes of them.
#[derive(Clone, Copy)]
pub(crate) struct SnapshotPlay {
    /// Facts after which one is kept again.
    pub(crate) every: Seq,
    /// Some are lost, and some are torn.
    pub(crate) are_torn: bool,
}

impl SnapshotPlay {
    /// For sessions of some dozens of facts that crash at any moment.
    const OFTEN_AND_TORN: SnapshotPlay = SnapshotPlay { every: 8, are_torn: true };
    /// As in the program.
    pub(crate) const USUAL: SnapshotPlay = SnapshotPlay { every: SNAPSHOT_EVERY, are_torn: false };
}

/// What outlives a crash.
pub(crate) struct World {
    pub(super) folder: tempfile::TempDir,
    pub(crate) depth: Depth,
    pub(crate) store: Arc<dyn Store>,
    checkpoints: Arc<dyn Checkpoints>,
    processes: Arc<FakeProcesses>,
    web: Arc<FakeWeb>,
    pub(super) wire: Arc<Wire>,
    requests: Arc<Mutex<Vec<Vec<Arc<Message>>>>>,
    pub(super) heard_agents: HeardAgents,
    /// Hears every request.
    pub(crate) listener: Listener,
    pub(crate) models: ModelScripts,
    pub(crate) snapshots: SnapshotPlay,
    pub(super) elapsed: Duration,
    pub(super) switches: Vec<(String, String)>,
    pub(super) skipped: usize,
    /// Numbers of the acts that were done, from 0.
    pub(super) done: BTreeSet<usize>,
    /// The copy of the workspace that the session works in.
    worktree: Option<String>,
}

impl World {
    pub(crate) fn new(scenario: &Scenario, depth: Depth) -> anyhow::Result<World> {
        let folder = tempfile::tempdir()?;
        let root = folder.path().join("workspace");
        let state = folder.path().join("state");
        std::fs::create_dir_all(&root)?;
        std::fs::create_dir_all(&state)?;
        write_setup_files(&scenario.setup, folder.path(), &root)?;
        crate::skills::write(&scenario.setup, folder.path())?;
        crate::plugins::write_own(&scenario.setup, folder.path())?;
        if scenario.setup.worktree.is_some() {
            worktree::commit_project(&root);
        }
        let (store, checkpoints): (Arc<dyn Store>, Arc<dyn Checkpoints>) = match depth {
            Depth::Memory => (
                Arc::new(weir_store::MemoryStore::new()),
                Arc::new(weir_store::MemoryCheckpoints::new()),
            ),
            Depth::Disk => (
                weir_store::open_store(&format!("sqlite:{}", state.display()))?,
                Arc::new(weir_store::GitCheckpoints::open(&state)),
            ),
        };
        let setup = &scenario.setup;
        let command = |(words, code, output): &(String, Option<i32>, String)| {
            let vanishes = setup.vanishing.contains(words);
            (words.clone(), FakeCommand { code: *code, output: output.clone(), vanishes })
        };
        let models = ModelScripts::parse(scenario)?;
        let (wire, requests) = (Arc::<Wire>::default(), Arc::<Mutex<Vec<_>>>::default());
        let heard_agents = HeardAgents::default();
        let listener: Listener = {
            let (wire, requests) = (wire.clone(), requests.clone());
            let agents = heard_agents.clone();
            Arc::new(move |request, media| {
                if child::parent_of(&request.session).is_some() {
                    let mut agents = agents.lock().unwrap_or_else(PoisonError::into_inner);
                    let heard = agents.entry(request.session.clone()).or_default();
                    heard.wire.hear(request, media);
                    let mut all = heard.requests.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(request.history.to_vec());
                    return;
                }
                wire.hear(request, media);
                let mut heard = requests.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push(request.history.to_vec());
            })
        };
        Ok(World {
            folder,
            depth,
            store,
            checkpoints,
            processes: Arc::new(FakeProcesses::new(
                setup.commands.iter().map(command).collect(),
                tier(setup.sandbox.as_deref())?,
            )),
            web: Arc::new(FakeWeb::new(setup.pages.iter().cloned().collect())),
            wire,
            requests,
            heard_agents,
            listener,
            models,
            snapshots: SnapshotPlay::OFTEN_AND_TORN,
            elapsed: Duration::ZERO,
            switches: Vec::new(),
            skipped: 0,
            done: BTreeSet::new(),
            worktree: setup.worktree.clone(),
        })
    }

    pub(super) fn workspace(&self) -> anyhow::Result<Workspace> {
        self.open_folder(self.root())
    }

    /// A folder with the guards of the workspace.
    pub(crate) fn open_folder(&self, root: PathBuf) -> anyhow::Result<Workspace> {
        let state = self.state_folder();
        let workspace = Workspace::open(WorkspaceOptions {
            root,
            extra_roots: self.added_folder().into_iter().collect(),
            own_folders: vec![state.clone()],
        });
        let workspace = workspace.map_err(|error| anyhow!(error))?.with_trash(state.join("trash"));
        Ok(workspace.with_derived(&state.join("derived")))
    }

    /// Tools with nothing behind them: those that the scenario names, and a vault's where there is none.
    fn idle_tools(&self, setup: &Setup) -> Vec<String> {
        let mut idle = setup.idle.clone();
        idle.extend(profiles::idle_tool_names(self.root()));
        if !setup.finds.is_empty() {
            idle.retain(|name| !profiles::OF_ENGINES.contains(&name.as_str()));
        }
        idle
    }

    /// Where the engines keep what is theirs.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    /// The folder that was added to the workspace, where the scenario has one.
    fn added_folder(&self) -> Option<PathBuf> {
        let folder = self.folder.path().join(ADDED);
        folder.is_dir().then_some(folder)
    }

    /// The folder that the session works in.
    pub(crate) fn root(&self) -> PathBuf {
        match &self.worktree {
            None => self.project(),
            Some(name) => worktree::copy_folder(&self.project(), name),
        }
    }

    /// The folder with the files of the setup.
    pub(crate) fn project(&self) -> PathBuf {
        self.folder.path().join("workspace")
    }

    pub(crate) fn engine(
        &self,
        setup: &Setup,
        life: usize,
        point: &Arc<CrashPoint>,
        clock: Arc<WorldClock>,
    ) -> anyhow::Result<Engine> {
        let owner = LeaseOwner {
            // A process that does not exist: a lease of a life that is over is free.
            pid: 4_000_000 + u32::try_from(life)?,
            started: 1,
            host: "scenario".into(),
            label: "scenario".into(),
        };
        let (store, point) = (self.store.clone(), point.clone());
        self.engine_of_program(setup, EngineSeat { owner, store, point, clock })
    }

    /// The engine of one program.
    pub(crate) fn engine_of_program(
        &self,
        setup: &Setup,
        seat: EngineSeat,
    ) -> anyhow::Result<Engine> {
        let EngineSeat { owner, store, point, clock } = seat;
        let wrap = |inner: Arc<dyn Tool>| {
            Arc::new(CrashTool { inner, point: point.clone() }) as Arc<dyn Tool>
        };
        let tools = weir_tools::built_in_tools().into_iter().map(wrap).collect();
        Ok(Engine::new(EngineParts {
            store: Arc::new(CrashStore {
                inner: store,
                point: point.clone(),
                tears_snapshots: self.snapshots.are_torn,
            }),
            checkpoints: Arc::new(CrashCheckpoints {
                inner: self.checkpoints.clone(),
                point: point.clone(),
            }),
            clock,
            toolbox: Arc::new(Toolbox::new(tools)?),
            processes: self.processes.clone(),
            web: self.web.clone(),
            documents: Arc::new(OwnDocuments),
            hooks: Arc::new(FakeHooks::new(&setup.hooks)?),
            gates: Vec::new(),
            judge: Some(Arc::new(FakeJudge::new(setup.judge.clone()))),
            condenser: Some(Arc::new(FakeJudge::summarising(setup.condense.clone()))),
            flagship: crate::guards::flagship(setup),
            planner: Some(crate::planner::planner(setup, &point)),
            owner,
            principal: "person".into(),
            version: "test".into(),
            secrets: setup.secrets.clone(),
            snapshot_every: self.snapshots.every,
            observers: std::sync::Arc::default(),
        }))
    }

    pub(crate) fn options(
        &self,
        setup: &Setup,
        point: &Arc<CrashPoint>,
        away: Option<&str>,
    ) -> anyhow::Result<SessionOptions> {
        let workspace = self.workspace()?;
        let pictures = crate::pictures::picture_model(setup, point);
        let named = away.unwrap_or(FIRST);
        let models = self.models.with_window(setup.window);
        let model = models.model(named, point, &self.listener).map_err(|why| anyhow!(why))?;
        let config = self.config(setup, &model.info(), away)?;
        // A mode that stands in the profile says nothing about another profile.
        let own = config.profile.permission.is_some();
        let permission = if own { PermissionMode::Ask } else { config.permission };
        let profiles = FakeProfiles {
            permission,
            limits: config.limits,
            models,
            point: point.clone(),
            listener: self.listener.clone(),
            idle: self.idle_tools(setup),
        };
        let scene = SceneOptions {
            base: profiles::scene(&config.profile, &config.tools, &config.deferred, None),
            config_dir: Some(self.folder.path().join("config")),
            timezone: "UTC".into(),
            skills: crate::skills::places(setup, self.folder.path()),
            recipes: crate::recipes::places(setup, self.folder.path()),
        };
        Ok(SessionOptions {
            workspace: Arc::new(workspace),
            model,
            scene,
            config,
            profiles: Arc::new(profiles),
            resources: SessionResources {
                vendor_search: crate::vendor_search::searching_vendor(&setup.finds),
                pictures,
                spending: spending_caps(&setup.caps)?,
                ..SessionResources::default()
            },
        })
    }

    fn config(
        &self,
        setup: &Setup,
        model: &ModelInfo,
        away: Option<&str>,
    ) -> anyhow::Result<SessionConfig> {
        let name = setup.profile.as_deref().unwrap_or("agent");
        let profile = built_in_profiles().into_iter().find(|profile| profile.name == name);
        let profile = profile.with_context(|| format!("there is no profile {name}"))?;
        let mut mode = setup.permission.clone().unwrap_or_else(|| "ask".into());
        let mut model = model.clone();
        for (what, value) in &self.switches {
            match what.as_str() {
                "permission" => mode.clone_from(value),
                "model" => model.model.name.clone_from(value),
                "abilities" => {
                    let names = value.split(',').map(|name| name.trim().to_owned());
                    model.abilities = names.collect();
                }
                _ => bail!("nothing is called {what}"),
            }
        }
        model.may_cut = setup.own_server && away.is_none();
        let permission: PermissionMode = mode.parse().map_err(|error: String| anyhow!(error))?;
        let root = self.root();
        let workspace = root.to_string_lossy().into_owned();
        let rules = self.session_rules(setup)?;
        let ToolLoading { loaded: tools, deferred } =
            profiles::loading(&profile, permission, model.window, &self.idle_tools(setup))?;
        let mut scene = profiles::scene(&profile, &tools, &deferred, setup.canary.as_deref());
        scene.window = model.window;
        let soul = self.folder.path().join("config/SOUL.md");
        scene.soul = own_text(&soul, "SOUL.md", SOUL_CHARS_MAX);
        Ok(SessionConfig {
            system: weir_core::prompt::system_prompt(&scene).into(),
            routing: crate::models::routing(setup, away),
            permission,
            rules,
            limits: limits(&setup.limits)?,
            tools,
            deferred,
            condensing: match setup.threshold {
                None => CondensingSettings::default(),
                Some(threshold) => CondensingSettings { enabled: threshold > 0, threshold },
            },
            memory: crate::memory::policy(setup)?,
            recipes: crate::recipes::policy(setup)?,
            externalize_over: setup.externalize_over.unwrap_or(2_000),
            output_schema: setup.output_schema.as_deref().map(serde_json::from_str).transpose()?,
            strict: setup.strict,
            attended: setup.attended,
            own_addresses: setup.own_addresses.iter().cloned().collect(),
            guards: Guards {
                canary: setup.canary.clone(),
                validate_output: setup.validate,
                screen_results: setup.screen,
                stop_hooks: setup.hooks.iter().any(|(event, ..)| event == "Stop"),
                ..Guards::default()
            },
            ..SessionConfig::with_defaults(workspace, profile, model)
        })
    }

    /// The rules of the setup, for its folders.
    fn session_rules(&self, setup: &Setup) -> anyhow::Result<RuleSet> {
        let added = self.added_folder().map(|folder| folder.to_string_lossy().into_owned());
        let mut rules = RuleSet::new(RuleContext {
            workspace: self.root().to_string_lossy().into_owned(),
            added_folders: added.into_iter().collect(),
            ..RuleContext::default()
        });
        for (action, text) in &setup.rules {
            let action = match action.as_str() {
                "allow" => RuleAction::Allow,
                "ask" => RuleAction::Ask,
                _ => RuleAction::Deny,
            };
            let rule = rules.parse_rule(action, text, RuleOrigin::new("setup"))?;
            rules.add(rule);
        }
        Ok(rules)
    }

    /// The journals of sub-agents.
    async fn agents(&self) -> anyhow::Result<BTreeMap<SessionId, PlayedAgent>> {
        let mut agents = BTreeMap::new();
        for meta in self.store.list_sessions(&SessionFilter::default()).await? {
            if child::parent_of(&meta.id).is_none() {
                continue;
            }
            let records = read_verified(self.store.as_ref(), &meta.id).await?;
            let facts: Result<Vec<PublishedFact>, _> =
                records.iter().map(weir_engine::ledger::fact_of).collect();
            let mut heard = self.heard_agents.lock().unwrap_or_else(PoisonError::into_inner);
            let heard = heard.remove(&meta.id).unwrap_or_default();
            agents.insert(meta.id, PlayedAgent { facts: facts?, heard });
        }
        Ok(agents)
    }

    pub(super) fn finish(self, crossings: usize) -> anyhow::Result<Played> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let id = SessionId::new("scenario");
        let records =
            runtime.block_on(weir_engine::engine::read_verified(self.store.as_ref(), &id))?;
        let facts: Result<Vec<PublishedFact>, _> =
            records.iter().map(weir_engine::ledger::fact_of).collect();
        let agents = runtime.block_on(self.agents())?;
        let mut files = BTreeMap::new();
        collect(&self.project(), &self.project(), &mut files)?;
        if self.worktree.is_some() {
            files.retain(|path, _| !worktree::is_of_git(path));
        }
        if let Some(added) = self.added_folder() {
            let mut beside = BTreeMap::new();
            collect(&added, &added, &mut beside)?;
            files.extend(
                beside.into_iter().map(|(path, text)| (format!("../{ADDED}/{path}"), text)),
            );
        }
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Played {
            facts: facts?,
            requests,
            wire: self.wire.clone(),
            files,
            commands: self.processes.started(),
            agents,
            crossings,
            folder: self.folder.path().display().to_string(),
        })
    }
}

/// The files of the setup: of the workspace `root`, and of the folder that is added to it.
fn write_setup_files(setup: &Setup, folder: &Path, root: &Path) -> anyhow::Result<()> {
    for (path, text) in &setup.files {
        write_file(root, path, text)?;
    }
    for (path, text) in &setup.added {
        write_file(&folder.join(ADDED), path, text)?;
    }
    for (path, bytes) in &setup.media {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap_or(root))?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}

fn limits(set: &[(String, String)]) -> anyhow::Result<Limits> {
    let mut value = serde_json::to_value(Limits::default())?;
    for (name, text) in set {
        let known = value.get(name).is_some() || name == "session_usd";
        ensure!(known, "there is no limit {name}");
        value[name] = serde_json::from_str(text)?;
    }
    Ok(serde_json::from_value(value)?)
}

/// Caps that sessions have in common. That of a schedule counts what the agent `nightly` spends, and lets what has
/// no price pass, as the usual one does.
fn spending_caps(set: &[(String, f64)]) -> anyhow::Result<SpendingCaps> {
    let mut own = Vec::new();
    for (name, max_usd) in set {
        let limit = LimitName::from(name.as_str());
        ensure!(limit.is_shared_money(), "there is no cap {name}");
        let is_schedule = limit == LimitName::ScheduleUsd;
        own.push(SpendingCap {
            max_usd: *max_usd,
            agent: is_schedule.then(|| "nightly".to_owned()),
            lets_unpriced_pass: is_schedule,
            limit,
        });
    }
    Ok(SpendingCaps { own, server: None })
}

fn collect(root: &Path, folder: &Path, out: &mut BTreeMap<String, String>) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            collect(root, &path, out)?;
        } else {
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            let bytes = std::fs::read(&path).unwrap_or_default();
            let count = bytes.len();
            let text = match String::from_utf8(bytes) {
                Ok(text) if !text.starts_with("%PDF-") => text,
                _ => format!("({count} bytes)"),
            };
            out.insert(name, text);
        }
    }
    Ok(())
}

/// The tier of this name; the commands of a scenario count as confined unless it says otherwise.
fn tier(name: Option<&str>) -> anyhow::Result<Tier> {
    let name = name.unwrap_or("landlock");
    let tiers = [Tier::None, Tier::Landlock, Tier::Bubblewrap, Tier::Namespaces];
    tiers.into_iter().find(|tier| tier.as_str() == name).with_context(|| format!("tier {name}"))
}
