//! A task of the suite as a session of the real engine; the world is an empty folder and the child.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use weir_core::event::{CallJudged, Event, NOBODY};
use weir_core::governance::rules::{RuleAction, RuleContext, RuleOrigin, RuleSet};
use weir_core::governance::{GateName, Verdict};
use weir_core::ids::SessionId;
use weir_core::message::MessageBlock;
use weir_core::profile::{Limits, PermissionMode, built_in_profiles};
use weir_core::prompt::PromptScene;
use weir_core::session::SessionConfig;
use weir_core::tool::defer::{self, ToolLoading};
use weir_engine::engine::{
    Engine, EngineError, EngineParts, SessionHandle, SessionOptions, SessionResources,
};
use weir_engine::hub::{PublishedFact, SessionUpdate};
use weir_engine::ports::{Model as _, NoHooks, NoProcesses};
use weir_engine::scene::SceneOptions;
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::{Workspace, WorkspaceOptions};
use weir_store::{MemoryCheckpoints, MemoryStore, this_process};
use weir_web::{GuardedWeb, WebOptions};

use crate::attacker::{Puppet, Shown};
use crate::clock::WallClock;
use crate::play::{Person, approvals};

use super::declared;
use super::hijacked::Hijacked;
use super::server::{Server, Task};
use super::setup::{Answers, Setup};

/// Wall time after which a session counts as hung.
const SESSION_MAX: Duration = Duration::from_secs(60);

/// A call that was not let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The suite's name of the tool.
    pub(super) tool: String,
    /// What decided: `labels: flow table: …`.
    pub(super) by: String,
    /// The gate asked; nobody was there, or the person said no.
    pub(super) asked: bool,
}

/// The engine over the suite's tools.
pub(super) struct Bench {
    pub(super) server: Arc<Server>,
    engine: Engine,
    folder: tempfile::TempDir,
    sessions: AtomicUsize,
}

impl Bench {
    pub(super) fn new(server: Arc<Server>) -> anyhow::Result<Bench> {
        let folder = tempfile::Builder::new().prefix("weir-agentdojo-").tempdir()?;
        std::fs::create_dir_all(folder.path().join("work"))?;
        let web = GuardedWeb::new(WebOptions::default()).map_err(|why| anyhow!(why))?;
        let web = Arc::new(web);
        let engine = Engine::new(EngineParts {
            store: Arc::new(MemoryStore::new()),
            checkpoints: Arc::new(MemoryCheckpoints::new()),
            clock: Arc::new(WallClock),
            toolbox: Arc::new(Toolbox::new(declared::tools(&server, &web))?),
            // No tool of the suite runs a command.
            processes: Arc::new(NoProcesses),
            web,
            documents: Arc::new(weir_engine::ports::NoDocuments),
            hooks: Arc::new(NoHooks),
            judge: None,
            condenser: None,
            planner: None,
            flagship: None,
            owner: this_process("weir-redteam"),
            principal: "person".into(),
            version: "redteam".into(),
            secrets: Vec::new(),
            observers: std::sync::Arc::default(),
        });
        Ok(Bench { server, engine, folder, sessions: AtomicUsize::new(0) })
    }

    /// Plays a task that was begun: how often a person was asked, and what was not let through.
    pub(super) async fn play(
        &self,
        setup: &Setup,
        task: &Task,
        mind: Arc<Mutex<Hijacked>>,
    ) -> anyhow::Result<(usize, Vec<Refusal>)> {
        let number = self.sessions.fetch_add(1, Ordering::Relaxed);
        let options = self.options(setup, mind)?;
        let handle = self.engine.open(SessionId::new(format!("dojo-{number}")), options).await?;
        let mut person = setup.person(task);
        let says = format!("{}{}", setup.says, task.prompt);
        let facts = tokio::time::timeout(SESSION_MAX, follow(&handle, &says, &mut person));
        let facts = facts.await.map_err(|_| anyhow!("the session does not come to rest"))??;
        handle.close().await?;
        Ok((approvals(&facts), refusals(&facts)))
    }

    fn options(&self, setup: &Setup, mind: Arc<Mutex<Hijacked>>) -> anyhow::Result<SessionOptions> {
        let root = self.folder.path().join("work");
        let workspace = root.display().to_string();
        let mut rules =
            RuleSet::new(RuleContext { workspace: workspace.clone(), ..RuleContext::default() });
        for site in setup.sites {
            let origin = RuleOrigin::new("user config");
            rules.add(rules.parse_rule(RuleAction::Allow, &format!("Web({site})"), origin)?);
        }
        let profile = built_in_profiles().into_iter().find(|profile| profile.name == "agent");
        let profile = profile.context("there is no profile agent")?;
        let model = Arc::new(Puppet::new(mind, Shown::default()));
        let tools = self.engine.parts().toolbox.visible_specs(&profile, true);
        let ToolLoading { loaded: tools, deferred } =
            defer::split_loading(tools, model.info().window);
        let scene = PromptScene {
            profile: Some(profile.clone()),
            tools: tools.clone(),
            deferred: deferred.clone(),
            ..PromptScene::default()
        };
        let config = SessionConfig {
            system: weir_core::prompt::system_prompt(&scene),
            permission: PermissionMode::Full,
            rules,
            // No bound of a run may look like the gate's work.
            limits: Limits { max_iterations: 200, ..Limits::default() },
            tools,
            deferred,
            attended: setup.answers != Answers::Nobody,
            ..SessionConfig::with_defaults(workspace, profile, model.info().as_ref().clone())
        };
        let workspace = Workspace::open(WorkspaceOptions {
            root,
            extra_roots: Vec::new(),
            own_folders: Vec::new(),
        });
        let workspace = Arc::new(workspace.map_err(|why| anyhow!(why))?);
        let scene = SceneOptions {
            base: scene,
            config_dir: None,
            timezone: "UTC".into(),
            skills: weir_engine::skills::SkillPlaces::default(),
            recipes: weir_engine::recipes::RecipePlaces::default(),
        };
        Ok(SessionOptions {
            workspace,
            model,
            scene,
            config,
            profiles: Arc::new(weir_engine::ports::NoProfiles),
            resources: SessionResources::default(),
        })
    }
}

async fn follow(
    handle: &SessionHandle,
    says: &str,
    person: &mut Person,
) -> anyhow::Result<Vec<PublishedFact>> {
    let mut updates = handle.listen_to_updates(0);
    handle.submit_input(vec![MessageBlock::text(says)], "person").await?;
    let mut facts: Vec<PublishedFact> = Vec::new();
    loop {
        let Some(update) = updates.next().await? else { bail!("the session went down") };
        let SessionUpdate::Fact(fact) = update else { continue };
        if let Event::ApprovalRequested(asked) = fact.event.as_ref() {
            let decision = person(asked);
            match handle.decide_approval(asked.approval.clone(), decision, "person", None).await {
                // Nobody to ask: it was resolved at once.
                Ok(()) | Err(EngineError::Refused(_)) => (),
                Err(error) => return Err(error.into()),
            }
        }
        let over = matches!(fact.event.as_ref(), Event::RunFinished(_));
        facts.push(fact);
        if over {
            return Ok(facts);
        }
    }
}

/// The calls that were not let through, in their order.
fn refusals(facts: &[PublishedFact]) -> Vec<Refusal> {
    let mut tools = BTreeMap::new();
    let mut judged: BTreeMap<_, &CallJudged> = BTreeMap::new();
    let mut refused = BTreeSet::new();
    for fact in facts {
        match fact.event.as_ref() {
            Event::CallProposed(f) => {
                tools.insert(f.call, f.tool.as_str());
            }
            Event::CallJudged(f) => {
                judged.insert(f.call, f);
                if f.verdict == Verdict::Deny {
                    refused.insert(f.call);
                }
            }
            Event::ApprovalResolved(f) if f.by == NOBODY || !f.decision.allows() => {
                refused.insert(f.call);
            }
            _ => (),
        }
    }
    let refusal = |call| {
        let f = judged.get(call)?;
        let gate = f.gate.as_ref().map_or("no gate", GateName::as_str);
        let by = format!("{gate}: {}", f.rule.as_deref().unwrap_or("no rule"));
        let tool = declared::without_prefix(tools.get(call)?).to_owned();
        Some(Refusal { tool, by, asked: f.verdict == Verdict::Ask })
    };
    refused.iter().filter_map(refusal).collect()
}
