//! What the tools of one session may know and keep: the port [`Knowledge`] over store, skills and
//! profiles. Not here: how skills are found (`skills`), what is worth remembering (`memory`).

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::filter::redact_text;
use weir_core::governance::label::Label;
use weir_core::ids::CallId;
use weir_core::memory::{MemoryFact, MemoryKind, MemoryNote, MemorySource};
use weir_core::proposal::SettingProposal;
use weir_core::recipe::RecipeMatch;
use weir_core::session::SessionConfig;
use weir_core::skill::SkillLine;
use weir_core::tool::ToolSpec;

use crate::blocking::run_blocking;
use crate::brain::CallBrain;
use crate::dormant;
use crate::flagship;
use crate::helper;
use crate::made;
use crate::memory;
use crate::past;
use crate::picture_model;
use crate::ports::{
    BrainAccess, ConsultError, DormantItem, FlagshipAnswer, Knowledge, MeaningAnswer,
    MeaningQuestion, MeaningScope, MemoryRequest, Model, ModelUse, NO_MEANING_SEARCH,
    NO_VENDOR_SEARCH, Passage, PictureAnswer, PictureError, PictureRequest, ProfileLine,
    ProgressSink, Proposal, ReaderAnswer, ReaderQuestion, RecallQuery, Scripts, SkillProposal,
    SkillScript, SkillText, StoredItem, VendorAnswer, VendorQuestion, VendorSearchError,
    VendorSearchSource,
};
use crate::recipes;
use crate::session_log;
use crate::skills;
use crate::spending::SharedCallBounds;
use crate::toolbox::Toolbox;
use crate::vendor_search;
use crate::worker_context::WorkerContext;

/// What one call may know.
pub(crate) struct CallKnowledge {
    pub(crate) context: Arc<WorkerContext>,
    /// The call.
    pub(crate) call: CallId,
    pub(crate) config: Arc<SessionConfig>,
    /// What the model had read when it asked for the call: what it wants remembered has this label.
    pub(crate) label: Label,
    /// The model that reads foreign words for the call and can do nothing.
    pub(crate) reader: Arc<dyn Model>,
}

impl CallKnowledge {
    /// Reads skills away from the loop's thread.
    async fn with_skills<T: Send + 'static>(
        &self,
        work: impl FnOnce(&WorkerContext) -> Result<T, String> + Send + 'static,
    ) -> Result<T, String> {
        let context = self.context.clone();
        let done = run_blocking(move || work(&context)).await;
        done.unwrap_or_else(|_| Err("reading skills failed; try again".into()))
    }

    /// Keeps something until the person decides about it, with what the agent had read.
    async fn put_before_person(&self, call: CallId, made: ProposedText) -> Result<(), String> {
        let ProposedText { what, by, name, text } = made;
        let source = MemorySource {
            by: by.into(),
            session: Some(self.context.session.clone()),
            call: Some(call),
            ..MemorySource::default()
        };
        let (label, ts) = (self.label.clone(), self.context.parts.clock.now());
        let proposal = Proposal { what: what.into(), name, text, source, label, ts };
        self.context.parts.store.propose(&proposal).await.map_err(|error| error.to_string())
    }
}

/// What is put before a person.
struct ProposedText {
    /// The kind of the thing.
    what: &'static str,
    /// The tool that proposes it.
    by: &'static str,
    name: String,
    text: String,
}

#[async_trait]
impl Knowledge for CallKnowledge {
    async fn recall(&self, query: RecallQuery) -> Result<Vec<Passage>, String> {
        let query = RecallQuery { session: Some(self.context.session.clone()), ..query };
        let store = self.context.parts.store.as_ref();
        past::recall_passages(store, query).await.map_err(|error| error.to_string())
    }

    async fn remember_fact(&self, call: CallId, wish: MemoryRequest) -> Result<MemoryNote, String> {
        let by = match wish.file {
            Some(_) => "mark_note_as_memory_source",
            None => "mark_for_memory",
        };
        let source = MemorySource {
            by: by.into(),
            session: Some(self.context.session.clone()),
            call: Some(call),
            file: wish.file.clone(),
            ..MemorySource::default()
        };
        memory::remember_fact(&self.context.parts, &self.config, wish, source, self.label.clone())
            .await
    }

    async fn find_memories(
        &self,
        words: &str,
        kind: Option<MemoryKind>,
        limit: usize,
    ) -> Result<Vec<MemoryFact>, String> {
        memory::search_memory(&self.context.parts, &self.config, words, kind, limit).await
    }

    async fn facts_from_files(&self) -> Result<Vec<MemoryFact>, String> {
        memory::facts_from_files(&self.context.parts, &self.config).await
    }

    async fn search_meaning(
        &self,
        question: MeaningQuestion,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> Result<MeaningAnswer, String> {
        let Some(search) = &self.context.resources.meaning else {
            return Err(NO_MEANING_SEARCH.into());
        };
        let bounds = SharedCallBounds(self.context.helper_bounds(Some(self.call)));
        let scope = MeaningScope { progress, cancel, bounds: &bounds };
        search.search_workspace(&self.context.workspace, question, &scope).await
    }

    fn skills(&self) -> Vec<SkillLine> {
        skills::skill_catalogue(&self.context.scene.skills, &self.context.workspace)
    }

    async fn skill(&self, name: &str) -> Result<SkillText, String> {
        let name = name.to_owned();
        self.with_skills(move |known| {
            skills::read_skill(&known.scene.skills, &known.workspace, &name)
        })
        .await
    }

    async fn skill_file(&self, name: &str, file: &str) -> Result<(String, Label), String> {
        let (name, file) = (name.to_owned(), file.to_owned());
        self.with_skills(move |known| {
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
        self.with_skills(move |known| {
            let (places, session) = (&known.scene.skills, &known.session);
            let call = skills::ScriptCall { script: &script, args: &args };
            skills::skill_script_command(places, &known.workspace, session, &name, call)
        })
        .await
    }

    async fn ready_skill(&self, name: &str) -> Result<(), String> {
        let name = name.to_owned();
        self.with_skills(move |known| {
            skills::prepare_skill_files(
                &known.scene.skills,
                &known.workspace,
                &known.session,
                &name,
            )
        })
        .await
    }

    async fn propose_skill(&self, call: CallId, proposal: SkillProposal) -> Result<(), String> {
        let (what, by) = ("skill", "manage_skill");
        let (name, text) = (proposal.name, proposal.text);
        self.put_before_person(call, ProposedText { what, by, name, text }).await
    }

    async fn propose_setting(&self, call: CallId, proposal: SettingProposal) -> Result<(), String> {
        // Checked here too: what waits for a person is never what nobody may propose.
        if let Some(problem) = proposal.problem() {
            return Err(problem);
        }
        let text = serde_json::to_string(&proposal).map_err(|error| error.to_string())?;
        let (what, by, name) = ("setting", "update_settings", proposal.key);
        self.put_before_person(call, ProposedText { what, by, name, text }).await
    }

    async fn session_log(&self) -> Result<Vec<Value>, String> {
        let store = self.context.parts.store.as_ref();
        let read = session_log::read_session_log(store, &self.context.session).await;
        read.map_err(|error| format!("the log cannot be read: {error}"))
    }

    fn deferred_tools(&self) -> Arc<Vec<ToolSpec>> {
        self.config.deferred.clone()
    }

    fn loaded_tools(&self) -> Arc<Vec<ToolSpec>> {
        self.config.tools.clone()
    }

    fn brain(&self) -> Arc<dyn BrainAccess> {
        let (parts, session) = (self.context.parts.clone(), self.context.session.clone());
        Arc::new(CallBrain { parts, session, label: self.label.clone() })
    }

    fn toolbox(&self) -> Option<Arc<Toolbox>> {
        Some(self.context.toolbox.clone())
    }

    fn scripts(&self) -> Arc<dyn Scripts> {
        self.context.scripts.clone()
    }

    async fn made_tools(&self) -> Result<Vec<StoredItem>, String> {
        made::list_dynamic_tools(self.context.parts.store.as_ref())
            .await
            .map_err(|error| error.to_string())
    }

    async fn keep_tool(&self, definition: &ToolDefinition) -> Result<StoredItem, String> {
        let by = format!("{}, in session {}", self.context.parts.principal, self.context.session);
        // What was foreign before the change still is.
        let mut label = self.label.clone();
        let known = self.made_tools().await?;
        let old = known.iter().find(|kept| kept.name == definition.name);
        old.iter().for_each(|kept| label.join(&kept.label));
        let ts = self.context.parts.clock.now();
        let kept = made::stored_definition(definition, made::Acceptance { by, label, ts });
        self.context.parts.store.store_item(&kept).await.map_err(|error| error.to_string())
    }

    async fn unkeep_tool(&self, name: &str) -> Result<bool, String> {
        self.context
            .parts
            .store
            .remove_stored_item(made::TOOL, name)
            .await
            .map_err(|error| error.to_string())
    }

    async fn consult_flagship(&self, question: &str) -> Result<FlagshipAnswer, ConsultError> {
        flagship::consult_flagship(&self.context, self.call, &self.label, question).await
    }

    async fn ask_reader(&self, question: &ReaderQuestion) -> Result<ReaderAnswer, ConsultError> {
        let WorkerContext { parts, session, .. } = self.context.as_ref();
        let text = redact_text(&question.text, &parts.secrets).into_owned();
        let asked =
            helper::ask_in_time(self.reader.as_ref(), session, &question.system, text).await;
        let used = ModelUse { usage: asked.usage, cost_usd: asked.cost_usd };
        match asked.text {
            Ok(text) => {
                let text = redact_text(&text, &parts.secrets).into_owned();
                Ok(ReaderAnswer { text, label: self.label.clone().told_by_model(), used })
            }
            Err(_) => {
                let why = "the model that reads the words gave no answer; try again, or open them";
                let used = (!used.usage.is_nothing()).then_some(used);
                Err(ConsultError { why: why.into(), used })
            }
        }
    }

    fn flagship_name(&self) -> Option<String> {
        self.context.parts.flagship.as_ref().map(|model| model.info().model.to_string())
    }

    fn vendor_search(&self) -> Option<VendorSearchSource> {
        self.context.resources.vendor_search.as_ref().map(|vendor| vendor.source())
    }

    async fn search_by_vendor(
        &self,
        question: VendorQuestion,
    ) -> Result<VendorAnswer, VendorSearchError> {
        let Some(vendor) = &self.context.resources.vendor_search else {
            return Err(VendorSearchError { why: NO_VENDOR_SEARCH.into(), used: None });
        };
        vendor_search::search_under_caps(&self.context, self.call, vendor.as_ref(), question).await
    }

    async fn make_picture(&self, request: PictureRequest) -> Result<PictureAnswer, PictureError> {
        picture_model::ask_for_picture(&self.context, self.call, &self.label, request).await
    }

    fn picture_model_name(&self) -> Option<String> {
        self.context.resources.pictures.as_ref().map(|model| model.model_name())
    }

    async fn dormant_items(&self) -> Vec<DormantItem> {
        dormant::of_store(self.context.parts.store.as_ref()).await
    }

    async fn usable_recipes(&self) -> Result<Vec<RecipeMatch>, String> {
        let found =
            recipes::usable_recipes(&self.context.parts, &self.context.scene.recipes, &self.config)
                .await;
        found.map_err(|error| format!("recipes cannot be read: {error}"))
    }

    fn proposable_profiles(&self) -> Vec<ProfileLine> {
        let line = |(name, description): (String, String)| {
            let switched = self.context.profiles.profile_settings(&self.config, &name);
            let widens =
                switched.map(|to| weir_core::config::describe_widening(&self.config, &to.config));
            ProfileLine { present: name == self.config.profile.name, name, description, widens }
        };
        self.context.profiles.list().into_iter().map(line).collect()
    }
}
