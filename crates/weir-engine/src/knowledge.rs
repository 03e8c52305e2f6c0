//! What the tools of one session may know and keep: the port [`Knowledge`] over store, skills and
//! profiles. Not here: how skills are found (`skills`), what is worth remembering (`memory`).

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, SessionId};
use weir_core::memory::{MemoryFact, MemoryKind, MemoryNote, MemorySource};
use weir_core::recipe::RecipeMatch;
use weir_core::session::SessionConfig;
use weir_core::skill::SkillLine;
use weir_core::tool::ToolSpec;

use crate::dormant;
use crate::engine::Parts;
use crate::flagship;
use crate::made;
use crate::memory;
use crate::ports::{
    ConsultError, Consulted, Dormant, Kept, Knowledge, Passage, ProfileLine, Profiles, Proposal,
    RecallQuery, Scripts, SkillProposal, SkillScript, SkillText, Wish,
};
use crate::recipes;
use crate::scene::SceneOptions;
use crate::skills;
use crate::toolbox::Toolbox;
use crate::workspace::Workspace;

/// What one call may know.
pub(crate) struct Known {
    pub(crate) parts: Arc<Parts>,
    pub(crate) session: SessionId,
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) scene: Arc<SceneOptions>,
    pub(crate) profiles: Arc<dyn Profiles>,
    pub(crate) config: Arc<SessionConfig>,
    /// What the model had read when it asked for the call: what it wants remembered has this label.
    pub(crate) label: Label,
    /// The tools of the session.
    pub(crate) toolbox: Arc<Toolbox>,
    /// What runs the code of tools that were made at run time.
    pub(crate) scripts: Arc<dyn Scripts>,
}

/// What reading a skill needs, away from the loop's thread.
struct SkillsOf {
    session: SessionId,
    workspace: Arc<Workspace>,
    scene: Arc<SceneOptions>,
}

impl Known {
    async fn of_skills<T: Send + 'static>(
        &self,
        work: impl FnOnce(&SkillsOf) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let known = SkillsOf {
            session: self.session.clone(),
            workspace: self.workspace.clone(),
            scene: self.scene.clone(),
        };
        let done = tokio::task::spawn_blocking(move || work(&known)).await;
        done.unwrap_or_else(|_| Err("reading skills failed; try again".into()))
    }
}

#[async_trait]
impl Knowledge for Known {
    async fn recall(&self, query: RecallQuery) -> Result<Vec<Passage>, String> {
        let query = RecallQuery { session: Some(self.session.clone()), ..query };
        self.parts.store.recall(&query).await.map_err(|error| error.to_string())
    }

    async fn remember(&self, call: CallId, wish: Wish) -> Result<MemoryNote, String> {
        let source = MemorySource {
            by: "mark_for_memory".into(),
            session: Some(self.session.clone()),
            call: Some(call),
            file: wish.file.clone(),
        };
        memory::remember(&self.parts, &self.config, wish, source, self.label.clone()).await
    }

    async fn memories(
        &self,
        words: &str,
        kind: Option<MemoryKind>,
        limit: usize,
    ) -> Result<Vec<MemoryFact>, String> {
        memory::search(&self.parts, &self.config, words, kind, limit).await
    }

    fn skills(&self) -> Vec<SkillLine> {
        skills::catalogue(&self.scene.skills, &self.workspace)
    }

    async fn skill(&self, name: &str) -> Result<SkillText, String> {
        let name = name.to_owned();
        self.of_skills(move |known| skills::read(&known.scene.skills, &known.workspace, &name))
            .await
    }

    async fn skill_file(&self, name: &str, file: &str) -> Result<(String, Label), String> {
        let (name, file) = (name.to_owned(), file.to_owned());
        self.of_skills(move |known| {
            skills::read_file(&known.scene.skills, &known.workspace, &name, &file)
        })
        .await
    }

    async fn skill_script(
        &self,
        name: &str,
        script: &str,
        args: &[String],
    ) -> Result<SkillScript, String> {
        let (name, script, args) = (name.to_owned(), script.to_owned(), args.to_vec());
        self.of_skills(move |known| {
            let (places, session) = (&known.scene.skills, &known.session);
            skills::script(places, &known.workspace, session, &name, (&script, &args))
        })
        .await
    }

    async fn ready_skill(&self, name: &str) -> Result<(), String> {
        let name = name.to_owned();
        self.of_skills(move |known| {
            skills::ready(&known.scene.skills, &known.workspace, &known.session, &name)
        })
        .await
    }

    async fn propose_skill(&self, call: CallId, proposal: SkillProposal) -> Result<(), String> {
        let source = MemorySource {
            by: "manage_skill".into(),
            session: Some(self.session.clone()),
            call: Some(call),
            file: None,
        };
        let proposal = Proposal {
            what: "skill".into(),
            name: proposal.name,
            text: proposal.text,
            source,
            label: self.label.clone(),
            ts: self.parts.clock.now(),
        };
        self.parts.store.propose(&proposal).await.map_err(|error| error.to_string())
    }

    fn deferred(&self) -> Arc<Vec<ToolSpec>> {
        self.config.deferred.clone()
    }

    fn loaded(&self) -> Arc<Vec<ToolSpec>> {
        self.config.tools.clone()
    }

    fn toolbox(&self) -> Option<Arc<Toolbox>> {
        Some(self.toolbox.clone())
    }

    fn scripts(&self) -> Arc<dyn Scripts> {
        self.scripts.clone()
    }

    async fn made_tools(&self) -> Result<Vec<Kept>, String> {
        made::all(self.parts.store.as_ref()).await.map_err(|error| error.to_string())
    }

    async fn keep_tool(&self, definition: &ToolDefinition) -> Result<Kept, String> {
        let by = format!("{}, in session {}", self.parts.principal, self.session);
        // What was foreign before the change still is.
        let mut label = self.label.clone();
        let known = self.made_tools().await?;
        let old = known.iter().find(|kept| kept.name == definition.name);
        old.iter().for_each(|kept| label.join(&kept.label));
        let kept = made::kept(definition, (by, label, self.parts.clock.now()));
        self.parts.store.keep(&kept).await.map_err(|error| error.to_string())
    }

    async fn unkeep_tool(&self, name: &str) -> Result<bool, String> {
        self.parts.store.unkeep(made::TOOL, name).await.map_err(|error| error.to_string())
    }

    async fn consult(&self, question: &str) -> Result<Consulted, ConsultError> {
        flagship::consult(&self.parts, &self.session, &self.label, question).await
    }

    fn flagship(&self) -> Option<String> {
        self.parts.flagship.as_ref().map(|model| model.info().model.to_string())
    }

    async fn dormant(&self) -> Vec<Dormant> {
        dormant::of_store(self.parts.store.as_ref()).await
    }

    async fn recipes(&self) -> Result<Vec<RecipeMatch>, String> {
        let found = recipes::usable(&self.parts, &self.scene.recipes, &self.config).await;
        found.map_err(|error| format!("recipes cannot be read: {error}"))
    }

    fn profiles(&self) -> Vec<ProfileLine> {
        let line = |(name, description): (String, String)| {
            let switched = self.profiles.switched(&self.config, &name);
            let widens = switched.map(|to| weir_core::config::widens(&self.config, &to.config));
            ProfileLine { present: name == self.config.profile.name, name, description, widens }
        };
        self.profiles.list().into_iter().map(line).collect()
    }
}
