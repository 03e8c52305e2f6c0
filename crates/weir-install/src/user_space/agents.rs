//! Scheduled agents of a person: what they want of one is checked and put together as `weir agents`
//! does (S8). What is kept of them, and their history, is the store's; when one begins is the
//! scheduler's.

use futures::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_core::governance::lease::AnswerRight;
use weir_core::ids::SessionId;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::schedule::{AgentLimits, MissedTicks, OnAsk, PromptMode, ScheduledAgent};
use weir_core::tool::foreign;
use weir_engine::ports::LeaseOwner;
use weir_engine::schedule::SchedulerSettings;
use weir_store::this_process;

use super::{LABEL, SessionPreferences, UserSpace};
use crate::agents::{CheckedAgent, Place, save_checked_agent};
use crate::context::InstallationContext;
use crate::failure::{InstallationError, refused, usage};
use crate::leftovers;
use crate::wiring::{self, SessionOverrides};
use crate::{models, profiles};

/// What a person wants of a scheduled agent. Whose it is follows from who says it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AgentWish {
    /// Its name: lower-case letters, digits, `-` and `_`.
    pub name: String,
    /// Prompt with which each of its runs begins.
    pub prompt: String,
    /// When, as a cron expression of five or six fields, or `@daily` and the like; none: only by
    /// hand or after another.
    #[serde(default)]
    pub cron: Option<String>,
    /// The zone in which the expression is read; none: that of the settings.
    #[serde(default)]
    pub timezone: Option<String>,
    /// Another agent: whenever a run of that one has completed.
    #[serde(default)]
    pub after: Option<String>,
    /// Its profile; none: that of the settings.
    #[serde(default)]
    pub profile: Option<String>,
    /// The tools that it sees; none: none.
    #[serde(default)]
    pub tools: Vec<String>,
    /// What becomes of the standard prompt.
    #[serde(default)]
    pub prompt_mode: PromptMode,
    /// Its model; none: that of profile or settings.
    #[serde(default)]
    pub model: Option<String>,
    /// Its permission mode; none: that of profile or settings.
    #[serde(default)]
    pub permission: Option<PermissionMode>,
    /// How much its model thinks: `off`, `low`, `medium`, `high`; none: that of profile or settings, or
    /// as usual for the model.
    #[serde(default)]
    pub thinking: Option<Thinking>,
    /// Bounds of each run.
    #[serde(default)]
    pub limits: AgentLimits,
    /// What becomes of ticks that nobody heard; none: what the settings say.
    #[serde(default)]
    pub missed: Option<MissedTicks>,
    /// What becomes of a call that asks.
    #[serde(default)]
    pub on_ask: OnAsk,
    /// The folder that it works in, absolute or relative to the person's own; none: that one.
    #[serde(default)]
    pub workspace: Option<String>,
}

/// An agent that was checked and is kept.
#[derive(Debug, Clone)]
pub struct DefinedAgent {
    /// The definition of the agent.
    pub agent: ScheduledAgent,
    /// What a person should know of it.
    pub notes: Vec<String>,
}

/// A tool that an agent may be given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct OfferedTool {
    /// Name of the tool.
    pub name: String,
    /// Its group: `read`, `edit`, …
    pub group: String,
    /// One sentence.
    pub about: String,
}

/// What the form of an agent offers.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct AgentChoices {
    /// Tools, by group.
    pub tools: Vec<OfferedTool>,
    /// Profiles with their descriptions.
    pub profiles: Vec<(String, String)>,
    /// Models that are known and have a key.
    pub models: Vec<String>,
    /// The zone of the settings.
    pub timezone: String,
}

/// Characters of a tool's description in a picker.
const ABOUT_CHARS: usize = 140;

/// Tools that one chat may name.
const TOOLS_NAMED_MAX: usize = 200;

impl UserSpace {
    /// The definition that a wish stands for.
    fn agent_of(
        &self,
        cx: &InstallationContext,
        wish: &AgentWish,
    ) -> anyhow::Result<ScheduledAgent> {
        let wish = wish.clone();
        let zone = || cx.config().map(|config| config.settings.prompt.timezone.clone());
        let set = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(ScheduledAgent {
            name: wish.name,
            prompt: wish.prompt,
            cron: set(wish.cron),
            timezone: set(wish.timezone).map_or_else(zone, Ok)?,
            after: set(wish.after),
            profile: set(wish.profile),
            tools: wish.tools,
            prompt_mode: wish.prompt_mode,
            model: set(wish.model),
            permission: wish.permission,
            thinking: wish.thinking,
            limits: wish.limits,
            missed: wish.missed,
            on_ask: wish.on_ask,
            workspace: cx.folder.display().to_string(),
            owner: self.person.name.clone(),
        })
    }

    fn save_agent_definition<'a>(
        &'a self,
        wish: &'a AgentWish,
        replace: bool,
    ) -> BoxFuture<'a, anyhow::Result<DefinedAgent>> {
        Box::pin(async move {
            let folder = wish.workspace.as_deref().filter(|folder| !folder.trim().is_empty());
            let cx = self.at(folder)?;
            let agent = self.agent_of(&cx, wish)?;
            let place = if replace { Place::Taken } else { Place::Free };
            let CheckedAgent { agent, notes, .. } = save_checked_agent(&cx, agent, place).await?;
            Ok(DefinedAgent { agent, notes })
        })
    }

    /// The tools that an agent or a chat of theirs may be given by name; those of servers beside them.
    async fn offered_tools(&self, cx: &InstallationContext) -> anyhow::Result<Vec<OfferedTool>> {
        let narrowed = wiring::guest::narrow_guest_overrides(cx, &SessionOverrides::default())?;
        let may = |name: &String| !narrowed.denied.contains(name);
        let toolbox = wiring::build_toolbox()?;
        let mut tools: Vec<OfferedTool> = toolbox
            .all_tools()
            .iter()
            .map(|tool| tool.spec())
            .filter(|spec| may(&spec.name))
            .map(|spec| OfferedTool {
                name: spec.name.clone(),
                group: json!(spec.group).as_str().unwrap_or_default().to_owned(),
                about: first_sentence(&spec.description),
            })
            .collect();
        if self.has_mailbox().await? {
            tools.push(OfferedTool {
                name: "email".into(),
                group: "web".into(),
                about:
                    "Searches and reads mail of the bound account, and sends to listed recipients."
                        .into(),
            });
        }
        for kept in self.cx.session_store()?.stored_items("tool").await? {
            tools.push(OfferedTool {
                name: kept.name,
                group: "made".into(),
                about: "Made by your agents.".into(),
            });
        }
        Ok(tools)
    }

    /// Holds the bounds that a person names for one chat against what they may have.
    ///
    /// # Errors
    /// A usage error: what is wrong, and what may be said.
    pub(super) async fn may_bound(
        &self,
        cx: &InstallationContext,
        wish: &SessionPreferences,
    ) -> anyhow::Result<()> {
        let limits = &cx.config()?.settings.limits;
        if wish.max_tool_calls == Some(0) {
            return Err(usage("max_tool_calls is 0; for a chat without tools say only_tools: []"));
        }
        if wish.budget_usd.is_some_and(|usd| !usd.is_finite() || usd <= 0.0) {
            return Err(usage("budget_usd must be more than 0"));
        }
        if !self.person.is_admin() {
            let calls = (wish.max_tool_calls, limits.max_tool_calls);
            if let (Some(wanted), Some(most)) = calls
                && wanted > most
            {
                return Err(usage(format!("max_tool_calls is {wanted}; {most} is the most here")));
            }
            if let (Some(wanted), Some(most)) = (wish.budget_usd, limits.budget_usd)
                && wanted > most
            {
                return Err(usage(format!("budget_usd is {wanted}; {most} is the most here")));
            }
        }
        let Some(names) = wish.only_tools.as_ref().filter(|names| !names.is_empty()) else {
            return Ok(());
        };
        if names.len() > TOOLS_NAMED_MAX {
            return Err(usage(format!("only_tools names more than {TOOLS_NAMED_MAX} tools")));
        }
        let offered = self.offered_tools(cx).await?;
        let known = |name: &&String| {
            name.starts_with(foreign::PREFIX) || offered.iter().any(|tool| tool.name == **name)
        };
        match names.iter().find(|name| !known(name)) {
            Some(name) => Err(usage(format!(
                "only_tools names {:?}, which is no tool that you have",
                name.chars().take(80).collect::<String>()
            ))),
            None => Ok(()),
        }
    }

    async fn what_can_be_chosen(&self) -> anyhow::Result<AgentChoices> {
        let cx = self.at(None)?;
        let tools = self.offered_tools(&cx).await?;
        let all = profiles::load_all_profiles(&cx)?;
        let catalogue = models::load_catalogue(&cx)?;
        let mut usable = Vec::new();
        for vendor in catalogue.vendors() {
            let (_, key) = models::vendor_endpoint(&cx, catalogue, vendor)?;
            if key.is_some() {
                let of = catalogue.models().iter().filter(|m| m.model.provider == vendor.name);
                usable.extend(of.map(|info| info.model.to_string()));
            }
        }
        Ok(AgentChoices {
            tools,
            profiles: all
                .iter()
                .map(|loaded| (loaded.profile.name.clone(), loaded.profile.description.clone()))
                .collect(),
            models: usable,
            timezone: cx.config()?.settings.prompt.timezone.clone(),
        })
    }

    /// What the definition says of a session, and what a person wants of this one beside it.
    ///
    /// # Errors
    /// The database does not answer.
    pub(super) async fn of_agent(
        &self,
        agent: &ScheduledAgent,
        wish: &SessionPreferences,
        answer: Option<AnswerRight>,
    ) -> Result<SessionOverrides, InstallationError> {
        let wishes = crate::agents::agent_session_overrides(agent);
        Ok(SessionOverrides {
            hosts: self.hosts().await?,
            mail: self.mail_wish(answer.as_ref()).await?,
            answer,
            model: wish.model.clone().or(wishes.model),
            permission: wish.permission.or(wishes.permission),
            thinking: wish.thinking.or(wishes.thinking),
            ..wishes
        })
    }
}

fn first_sentence(text: &str) -> String {
    let sentence = text.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let cut: String = sentence.chars().take(ABOUT_CHARS).collect();
    format!("{cut}.")
}

impl UserSpace {
    /// Checks a definition for everything that a run would stumble over, and keeps it. `replace`:
    /// one that has the name gives way.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it; then nothing is kept.
    pub async fn define_agent(
        &self,
        wish: &AgentWish,
        replace: bool,
    ) -> Result<DefinedAgent, InstallationError> {
        self.look_up_made().await?;
        self.save_agent_definition(wish, replace).await.map_err(|error| refused(&error))
    }

    /// What can be chosen for one.
    ///
    /// # Errors
    /// The settings cannot be read.
    pub async fn agent_choices(&self) -> Result<AgentChoices, InstallationError> {
        self.look_up_made().await?;
        self.what_can_be_chosen().await.map_err(|error| refused(&error))
    }

    /// Bounds of scheduled runs.
    ///
    /// # Errors
    /// The settings cannot be read.
    pub fn schedule_bounds(&self) -> Result<SchedulerSettings, InstallationError> {
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let settings = &cx.config().map_err(|error| refused(&error))?.settings.agents;
        Ok(SchedulerSettings {
            at_once: settings.max_concurrent_runs as usize,
            per_hour: settings.max_runs_per_hour as usize,
            missed: settings.missed,
        })
    }

    /// This process, as it stands beside the runs that it has.
    pub fn schedule_holder(&self) -> LeaseOwner {
        this_process(LABEL)
    }

    /// A run's session is over, well or badly: what it left for itself in its folder goes.
    pub fn remove_run_results(&self, agent: &ScheduledAgent, session: &SessionId) {
        let workspace = self.at(Some(&agent.workspace)).and_then(|cx| cx.open_workspace());
        match workspace {
            Ok(workspace) => leftovers::remove_results(workspace.as_ref(), session),
            Err(error) => tracing::warn!(%error, "what a run left for itself stays"),
        }
    }
}
