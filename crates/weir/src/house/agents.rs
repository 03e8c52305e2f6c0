//! Scheduled agents of a person: checked and put together as `weir agents` does.

use async_trait::async_trait;
use serde_json::json;
use weir_core::ids::SessionId;
use weir_core::schedule::ScheduledAgent;
use weir_core::tool::foreign;
use weir_engine::ports::Owner;
use weir_engine::schedule::SchedulerSettings;
use weir_install::cx::Cx;
use weir_install::wiring::{self, Wishes};
use weir_install::{models, profiles};
use weir_server::ports::{
    AgentChoices, AgentDesk, AgentWish, DefinedAgent, HouseError, OfferedTool, SessionWish,
};
use weir_store::this_process;

use super::home::{LABEL, PersonHome};
use super::refused;
use crate::command::agents::add::{Defined, Place, define};
use crate::command::agents::start;
use crate::command::run::tidy;
use crate::failure::usage;

/// Characters of a tool's description in a picker.
const ABOUT_CHARS: usize = 140;
/// Tools that one chat may name.
const TOOLS_NAMED_MAX: usize = 200;

impl PersonHome {
    /// The definition that a wish stands for.
    fn agent_of(&self, cx: &Cx, wish: &AgentWish) -> anyhow::Result<ScheduledAgent> {
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

    async fn defined(&self, wish: &AgentWish, replace: bool) -> anyhow::Result<DefinedAgent> {
        let folder = wish.workspace.as_deref().filter(|folder| !folder.trim().is_empty());
        let cx = self.at(folder)?;
        let agent = self.agent_of(&cx, wish)?;
        let place = if replace { Place::Taken } else { Place::Free };
        let Defined { agent, notes, .. } = define(&cx, agent, place).await?;
        Ok(DefinedAgent { agent, notes })
    }

    /// The tools that an agent or a chat of theirs may be given by name; those of servers beside them.
    async fn offered_tools(&self, cx: &Cx) -> anyhow::Result<Vec<OfferedTool>> {
        let narrowed = wiring::guest::narrowed(cx, &Wishes::default())?;
        let may = |name: &String| !narrowed.denied.contains(name);
        let toolbox = wiring::toolbox()?;
        let mut tools: Vec<OfferedTool> = toolbox
            .all()
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
        for kept in self.cx.journal()?.kept("tool").await? {
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
    pub(super) async fn may_bound(&self, cx: &Cx, wish: &SessionWish) -> anyhow::Result<()> {
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
        let all = profiles::all(&cx)?;
        let catalogue = models::catalogue(&cx)?;
        let mut usable = Vec::new();
        for vendor in catalogue.vendors() {
            let (_, key) = models::endpoint(&cx, &catalogue, vendor)?;
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
        wish: &SessionWish,
    ) -> Result<Wishes, HouseError> {
        let wishes = start::wishes(agent);
        Ok(Wishes {
            hosts: self.hosts().await?,
            mail: self.mail_wish().await?,
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

#[async_trait]
impl AgentDesk for PersonHome {
    async fn define(&self, wish: &AgentWish, replace: bool) -> Result<DefinedAgent, HouseError> {
        self.look_up_made().await?;
        self.defined(wish, replace).await.map_err(|error| refused(&error))
    }

    async fn choices(&self) -> Result<AgentChoices, HouseError> {
        self.look_up_made().await?;
        self.what_can_be_chosen().await.map_err(|error| refused(&error))
    }

    fn bounds(&self) -> Result<SchedulerSettings, HouseError> {
        let cx = self.at(None).map_err(|error| refused(&error))?;
        let settings = &cx.config().map_err(|error| refused(&error))?.settings.agents;
        Ok(SchedulerSettings {
            at_once: settings.max_concurrent_runs as usize,
            per_hour: settings.max_runs_per_hour as usize,
            missed: settings.missed,
        })
    }

    fn holder(&self) -> Owner {
        this_process(LABEL)
    }

    fn over(&self, agent: &ScheduledAgent, session: &SessionId) {
        let workspace = self.at(Some(&agent.workspace)).and_then(|cx| cx.workspace());
        match workspace {
            Ok(workspace) => tidy::finished(workspace.as_ref(), session),
            Err(error) => tracing::warn!(%error, "what a run left for itself stays"),
        }
    }
}
