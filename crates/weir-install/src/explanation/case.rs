//! What is settled before a call is judged: tools, profile, mode, rules, bounds, and what a session
//! brings along. Settled by `wiring`, as for a run; nothing here decides anything.

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use weir_core::governance::label::{Integrity, Label, Taint};
use weir_core::governance::lease::LeaseCall;
use weir_core::governance::rules::{EffectPresence, Rule, RuleSet, Ruling};
use weir_core::governance::{
    CallFacts, GateContext, GateName, GateOpinion, Judgement, Provenance, RecentCall, judge_each,
};
use weir_core::ids::{CallId, SessionId};
use weir_core::message::{CallBlock, MessageBlock};
use weir_core::model::parse_arguments;
use weir_core::profile::{Limits, PermissionMode, Profile};
use weir_core::session::{CallState, Session, SessionConfig};
use weir_core::tool::defer;
use weir_core::tool::{Effects, Inspection};
use weir_engine::blobs::StagedBlobs;
use weir_engine::engine::load;
use weir_engine::marks::marks_in;
use weir_engine::ports::{Clock, ProgressSink, Store, ToolContext};
use weir_engine::toolbox::Toolbox;
use weir_engine::workspace::Workspace;
use weir_store::MemoryStore;

use crate::config::RawHook;
use crate::context::InstallationContext;
use crate::failure::{engine_failure, usage};
use crate::hooks::ConfiguredHook;
use crate::profiles::LoadedProfile;
use crate::session_ids;
use crate::wiring::{self, SessionOverrides, SystemClock};

/// What stays the same whatever is tried.
pub struct ExplanationCase {
    /// The call.
    pub call: CallState,
    /// The session whose next call it is.
    pub session: Option<Session>,
    /// Every profile there is with the mode it would bring, for what another would change.
    pub profiles: Vec<(Profile, PermissionMode)>,
    /// `sandbox.tier` is set to `none`, and where.
    pub sandbox_off: Option<String>,
    toolbox: Arc<Toolbox>,
    context: ToolContext,
    /// `PreToolUse` hooks that would look at this call, with their places.
    hooks: Vec<String>,
    /// `security.canary` is on.
    watches: bool,
    /// `security.validate_output` is on.
    validates: bool,
    recent: VecDeque<RecentCall>,
}

/// What a change of settings, words or context would alter.
#[derive(Debug, Clone)]
pub struct CallConditions {
    /// What the call would touch.
    pub inspection: Inspection,
    /// The profile.
    pub profile: Profile,
    /// The permission mode.
    pub mode: PermissionMode,
    /// Rules of the settings and of the session's leases.
    pub rules: RuleSet,
    /// Bounds of the run.
    pub limits: Limits,
    /// What the model has read.
    pub label: Label,
    /// What the person wrote.
    pub said: Vec<String>,
}

/// What is asked about, and what is assumed.
#[derive(Debug, Clone, Default)]
pub struct CallQuestion {
    /// The tool's name.
    pub tool: String,
    /// Its arguments, as a JSON object.
    pub input: String,
    /// The profile; `None`: that of the session, or the default.
    pub profile: Option<String>,
    /// The permission mode; `None`: that of the session, or the default.
    pub permission: Option<PermissionMode>,
    /// Texts that the person is taken to have written besides.
    pub said: Vec<String>,
    /// The session whose next call it is (its id or `last`); `None`: a new one's.
    pub session: Option<String>,
}

/// A label of which only the column counts.
pub fn label_of_taint(taint: Taint) -> Label {
    let private = Label::private(Integrity::Workspace, "workspace");
    match taint {
        Taint::Clean => Label::default(),
        Taint::Private => private,
        Taint::External => Label::external("somewhere outside"),
        Taint::Both => Label::external("somewhere outside").joined_with(&private),
    }
}

impl ExplanationCase {
    /// Settles everything and looks at the call.
    ///
    /// # Errors
    /// A usage error: no such session or profile, or settings that do not hold.
    pub async fn prepare_case(
        cx: &InstallationContext,
        supposed: &CallQuestion,
    ) -> anyhow::Result<(ExplanationCase, CallConditions)> {
        let session = match &supposed.session {
            Some(text) => Some(load_named_session(cx, text).await?),
            None => None,
        };
        let kept = session.as_ref().and_then(Session::config).cloned();
        // A session belongs to its own folder, with the settings and lists that hold there.
        let there =
            kept.as_ref().map(|kept| cx.in_folder(Path::new(&kept.workspace))).transpose()?;
        let cx = there.as_ref().unwrap_or(cx);
        let wishes = SessionOverrides {
            profile: supposed.profile.clone(),
            permission: supposed.permission,
            attended: true,
            ..SessionOverrides::default()
        };
        let workspace = cx.open_workspace()?;
        let toolbox = wiring::build_toolbox_of_workspace(cx, &workspace).await?;
        let profile = wiring::choose_profile(cx, &wishes, kept.as_deref())?;
        let config = cx.config()?;
        let mode = wiring::choose_permission_mode(config, &wishes, kept.as_deref(), &profile);
        let own = wiring::session_rules(cx, &workspace, &wishes, kept.as_deref())?;
        let all = toolbox.all_tools();
        let known: Vec<&str> = all.iter().map(|t| t.spec().name.as_str()).collect();
        if let Some(error) = own.check_tools(&known).first() {
            return Err(usage(error.to_string()));
        }
        let limits = wiring::session_limits(config, &wishes, &profile);
        let mut said = session.as_ref().map_or_else(Vec::new, |s| s.person_texts().to_vec());
        said.extend(supposed.said.iter().cloned());
        let now = SystemClock::default().now();
        let with_leases = |session: Option<&Session>, tool: &str, effects: &Effects| {
            let call = LeaseCall { tool, effects };
            session.map_or_else(|| own.clone(), |s| s.rules_with_leases(&own, now, call))
        };
        let call = proposed_call(&supposed.tool, &supposed.input)?;
        let rules = with_leases(session.as_ref(), &call.tool, &Effects::default());
        prepare_workspace(cx, &workspace, &rules).await?;
        let sandbox = &config.settings.sandbox.tier;
        let off = matches!(sandbox, crate::config::SandboxTier::None);
        let case = ExplanationCase {
            context: planning_tool_context(cx, workspace, mode, &limits)?,
            session,
            profiles: profiles_with_modes(cx, &wishes, kept.as_deref())?,
            sandbox_off: off.then(|| config.origin_of_key("sandbox.tier").to_string()),
            toolbox,
            hooks: config
                .hooks
                .iter()
                .filter_map(|raw| describe_guarding_hook(raw, &call.tool))
                .collect(),
            watches: config.settings.security.canary,
            validates: config.settings.security.validate_output,
            recent: VecDeque::new(),
            call,
        };
        let inspection = case.inspect_call(mode).await;
        // What was granted by name becomes rules of this call only.
        let rules = with_leases(case.session.as_ref(), &case.call.tool, &inspection.effects);
        let label = case.session.as_ref().map_or_else(Label::default, |s| s.label().clone());
        let profile = profile.profile;
        Ok((case, CallConditions { inspection, profile, mode, rules, limits, label, said }))
    }

    /// What is found out about the call in this mode.
    pub async fn inspect_call(&self, mode: PermissionMode) -> Inspection {
        let context = ToolContext { mode, ..self.context.clone() };
        self.toolbox.inspect(&self.call, &context).await.0
    }

    /// What every gate says.
    pub fn gate_opinions(&self, at: &CallConditions) -> Vec<(GateName, Option<GateOpinion>)> {
        let writes = at.mode != PermissionMode::Plan;
        let specs = self.toolbox.visible_specs(&at.profile, writes);
        // A session's own model says how much is loaded; a new one is taken to have room.
        let window = self.session.as_ref().map_or(0, weir_core::session::Session::window_tokens);
        let loaded = defer::split_loading(specs, window).loaded;
        let visible: Vec<String> = loaded.iter().map(|spec| spec.name.clone()).collect();
        let nothing = GateContext {
            found: &weir_core::governance::NOTHING_FOUND,
            visible: &visible,
            mode: at.mode,
            rules: &at.rules,
            limits: &at.limits,
            tool_calls: 0,
            consulted: 0,
            changes: 0,
            recent: &self.recent,
            unknown: &[],
            provenance: Provenance::for_empty_session(),
        };
        let base = self.session.as_ref().and_then(|session| session.gate_context(&at.rules));
        let base = base.unwrap_or(nothing);
        let context = GateContext {
            visible: &visible,
            mode: at.mode,
            limits: &at.limits,
            provenance: Provenance {
                label: &at.label,
                said: &at.said,
                // The judge is not asked here, and its silence would be a no.
                validates: false,
                ..base.provenance
            },
            ..base
        };
        let facts = CallFacts {
            call: self.call.id,
            tool: &self.call.tool,
            input: &self.call.input,
            broken: self.call.broken.as_deref(),
            inspection: &at.inspection,
        };
        judge_each(&facts, &context)
    }

    /// What all of them come to.
    pub fn judge_call(&self, at: &CallConditions) -> Judgement {
        Judgement::from_opinions(
            self.gate_opinions(at).into_iter().filter_map(|(_, opinion)| opinion),
        )
    }

    /// Whom `gate` would ask, and explaining does not.
    pub fn not_asked(&self, gate: &GateName, at: &CallConditions) -> Option<String> {
        let runs =
            at.inspection.known && at.inspection.invalid.is_none() && self.call.broken.is_none();
        let effects = &at.inspection.effects;
        let matters = effects.changes_world() || !effects.hosts.is_empty();
        match gate {
            GateName::Hooks if runs && !self.hooks.is_empty() => Some(format!(
                "{} would be called first and can only make it stricter",
                self.hooks.join(", ")
            )),
            GateName::Intent if runs && matters && self.validates => Some(
                "security.validate_output is on: a judge model would have to agree that this is \
                 what the person asked for"
                    .to_owned(),
            ),
            GateName::Canary if self.watches && self.session.is_none() => Some(
                "security.canary is on, and each session has its own secret word; --session checks \
                 for it"
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Why a gate lets the call pass, where it has a rule for that.
    pub fn passing_reason(&self, gate: &GateName, at: &CallConditions) -> Option<String> {
        if *gate != GateName::Rules || at.inspection.effects == Effects::default() {
            return None;
        }
        let rules = matching_allow_rules(&at.rules, &self.call.tool, &at.inspection.effects);
        Some(match rules.is_empty() {
            true => format!("mode {} allows it", at.mode),
            false => rules.join(", "),
        })
    }
}

/// The allow rules that are about this call.
fn matching_allow_rules(rules: &RuleSet, tool: &str, effects: &Effects) -> Vec<String> {
    let of = |ruling: Ruling<'_>| match ruling {
        Ruling::Allow(rules) => rules.into_iter().map(Rule::to_string).collect(),
        Ruling::Deny(_) | Ruling::Ask(_) | Ruling::Silent => Vec::new(),
    };
    let mut found: Vec<String> = of(rules.rule_tool(tool, EffectPresence::Something));
    found.extend(effects.paths.iter().flat_map(|path| of(rules.rule_path(path))));
    found.extend(effects.commands.iter().flat_map(|command| of(rules.rule_command(command))));
    found.extend(effects.hosts.iter().flat_map(|host| of(rules.rule_host(host))));
    found.sort_unstable();
    found.dedup();
    found
}

/// Every profile, with the mode that a session of it would have.
fn profiles_with_modes(
    cx: &InstallationContext,
    wishes: &SessionOverrides,
    kept: Option<&SessionConfig>,
) -> anyhow::Result<Vec<(Profile, PermissionMode)>> {
    let config = cx.config()?;
    let with_mode = |loaded: LoadedProfile| {
        let wishes =
            SessionOverrides { profile: Some(loaded.profile.name.clone()), ..wishes.clone() };
        let mode = wiring::choose_permission_mode(config, &wishes, kept, &loaded);
        (loaded.profile, mode)
    };
    Ok(crate::profiles::load_all_profiles(cx)?.into_iter().map(with_mode).collect())
}

/// The hook with its place, when it would look at this call.
fn describe_guarding_hook(raw: &RawHook, tool: &str) -> Option<String> {
    let hook = ConfiguredHook::new(raw).ok()?;
    hook.guards_tool(tool).then(|| format!("{} ({})", raw.name(), raw.origin))
}

/// The session as its journal tells it.
async fn load_named_session(cx: &InstallationContext, text: &str) -> anyhow::Result<Session> {
    let store = cx.local_store()?;
    let id = session_ids::find_session_id(store.as_ref(), text).await?;
    let loaded = load(store.as_ref() as &dyn Store, &id).await.map_err(engine_failure)?;
    if loaded.session.config().is_none() {
        return Err(usage(format!("session {id} was never opened, so it has no history to use")));
    }
    Ok(loaded.session)
}

/// Gives the workspace what a session would: its rules, and the marks of foreign files.
async fn prepare_workspace(
    cx: &InstallationContext,
    workspace: &Workspace,
    rules: &RuleSet,
) -> anyhow::Result<()> {
    workspace.hold_rules(Arc::new(rules.clone()));
    let folder = workspace.root().display().to_string();
    let marks = marks_in(&*cx.local_store()?, &folder).await?;
    workspace.hold_marks(marks.into_iter().map(|mark| (mark.path, mark.origin)));
    Ok(())
}

fn proposed_call(tool: &str, input: &str) -> anyhow::Result<CallState> {
    let parsed = parse_arguments(input);
    let broken = parsed.as_ref().err().cloned();
    let block = MessageBlock::Call(CallBlock {
        call: CallId(1),
        wire_id: "explained".into(),
        tool: tool.to_owned(),
        input: parsed.unwrap_or_else(|_| json!({})),
        broken,
        seal: None,
    });
    CallState::from_block(&block).ok_or_else(|| usage("this is not a call"))
}

/// What a tool may look at while it plans: the real folder, network and checkpoints, and a store
/// that forgets.
fn planning_tool_context(
    cx: &InstallationContext,
    workspace: Arc<Workspace>,
    mode: PermissionMode,
    limits: &Limits,
) -> anyhow::Result<ToolContext> {
    Ok(ToolContext {
        knows: Arc::new(weir_engine::ports::NoKnowledge),
        nested: Arc::new(weir_engine::ports::NoNested),
        plugins: wiring::installed_plugins(cx, &workspace)?,
        agents: Arc::new(weir_engine::ports::NoAgents),
        person: Arc::new(weir_engine::ports::NoPerson),
        model_prompter: Arc::new(weir_engine::ports::NoModelPrompter),
        bounds: Arc::new(weir_engine::ports::NoBounds),
        servers: Arc::new(weir_engine::ports::NoServers),
        session: SessionId::new("explain"),
        call: CallId(1),
        workspace,
        processes: Arc::new(wiring::supervised_processes(cx)?),
        web: Arc::new(wiring::guarded_web(cx)?),
        documents: wiring::document_readers()?,
        blobs: Arc::new(StagedBlobs::new(Arc::new(MemoryStore::new()))),
        checkpoints: wiring::open_checkpoints(cx),
        mode,
        cancel: CancellationToken::new(),
        now: weir_engine::scene::zoned_time(
            &cx.config()?.settings.prompt.timezone,
            SystemClock::default().now(),
        ),
        timeout_ms: limits.tool_timeout_ms,
        progress: ProgressSink::none(),
        foreign: false,
        about: Arc::new(Value::Null),
        contents: Arc::new(BTreeMap::new()),
        program: weir_engine::ports::ProgramAccess::none(),
    })
}
