//! What a tool may know and keep beside files: the session's own past, memory, skills, tools that are
//! not loaded, other profiles. Bounded to the session; nothing here writes a file of the workspace.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_core::dynamic::ToolDefinition;
use weir_core::governance::label::Label;
use weir_core::ids::{CallId, MemoryId, Seq, SessionId, Timestamp};
use weir_core::memory::{MemoryFact, MemoryKind, MemoryNote};
use weir_core::model::Usage;
use weir_core::proposal::SettingProposal;
use weir_core::recipe::RecipeMatch;
use weir_core::skill::{SkillLine, SkillNote};
use weir_core::tool::ToolSpec;

use super::brain::{BrainAccess, NoBrain};
use super::{
    MeaningAnswer, MeaningQuestion, ModelUse, NO_PICTURE_MODEL, NoScripts, PictureAnswer,
    PictureError, PictureRequest, ProfileLine, ProgressSink, Scripts, StoredItem, VendorAnswer,
    VendorQuestion, VendorSearchError, VendorSearchSource,
};
use crate::toolbox::Toolbox;

/// What is looked for in the past of sessions (X4). Everything that is set must fit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecallQuery {
    /// In which session; `None`: in all.
    pub session: Option<SessionId>,
    /// Words that must stand in it; empty: any text.
    pub words: String,
    /// Kinds of facts, as in C6; empty: all.
    pub kinds: Vec<String>,
    /// Part of a path or name of a tool that it is about.
    pub subject: Option<String>,
    /// The call that it belongs to.
    pub call: Option<CallId>,
    /// Not older than this.
    pub from: Option<Timestamp>,
    /// Not newer than this.
    pub to: Option<Timestamp>,
    /// At most so many.
    pub limit: usize,
    /// For comparing the passages: any of the words suffices, and each comes whole.
    pub to_compare: bool,
}

/// Text of a fact that was found again, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// Id of the session.
    pub session: SessionId,
    /// Place of the fact in the journal.
    pub seq: Seq,
    /// When it was said or done, in microseconds since 1970 (UTC).
    pub ts: Timestamp,
    /// What kind of fact.
    pub kind: String,
    /// Tool and paths that it is about; empty: none.
    pub subject: String,
    /// The text around what was found, or all of it.
    pub text: String,
}

/// A fact that a tool wants remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryRequest {
    /// The fact in words, one sentence.
    pub text: String,
    /// Kind of the remembered fact.
    pub kind: MemoryKind,
    /// A few words to find it by.
    pub topics: Vec<String>,
    /// From 1 to 5.
    pub importance: u8,
    /// The file that it is from, where there is one.
    pub file: Option<String>,
    /// The kept fact whose place it takes, because it is no longer so.
    pub replaces: Option<MemoryId>,
    /// Whose words it is made of beside those of the context.
    pub label: Label,
}

/// A skill as it is read, or a file of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillText {
    /// What is told when it is active: its text stands in section 10 from now on.
    pub note: SkillNote,
    /// Names of its other files.
    pub files: Vec<String>,
}

/// A script of a skill that may be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillScript {
    /// The command line that runs it.
    pub command: String,
    /// Whose words the script is.
    pub label: Label,
}

/// A skill that the agent wrote and a person has to accept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillProposal {
    /// Its name: the name of its folder.
    pub name: String,
    /// The whole `SKILL.md`; empty: the skill is to be removed.
    pub text: String,
}

/// What a session's tools may know and keep.
#[async_trait]
pub trait Knowledge: Send + Sync {
    /// Looks in the past of this session.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn recall(&self, query: RecallQuery) -> Result<Vec<Passage>, String>;
    /// Puts a fact into memory or the inbox; it keeps the label of the context.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn remember_fact(&self, call: CallId, wish: MemoryRequest) -> Result<MemoryNote, String>;
    /// Facts of the memory that fit these words, best first.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn find_memories(
        &self,
        words: &str,
        kind: Option<MemoryKind>,
        limit: usize,
    ) -> Result<Vec<MemoryFact>, String>;
    /// Facts that came from a file of this workspace, each with its path there: kept or waiting.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn facts_from_files(&self) -> Result<Vec<MemoryFact>, String> {
        Err(NO_SESSION.into())
    }
    /// Looks in the texts of the workspace by what they mean (K6).
    ///
    /// # Errors
    /// A sentence for the model.
    async fn search_meaning(
        &self,
        question: MeaningQuestion,
        progress: &ProgressSink,
        cancel: &CancellationToken,
    ) -> Result<MeaningAnswer, String> {
        let _ = (question, progress, cancel);
        Err(NO_MEANING_SEARCH.into())
    }
    /// All skills that can be read here.
    fn skills(&self) -> Vec<SkillLine>;
    /// Reads a skill.
    ///
    /// # Errors
    /// A sentence for the model: there is none, or it cannot be used.
    async fn skill(&self, name: &str) -> Result<SkillText, String>;
    /// Reads another file of a skill.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn skill_file(&self, name: &str, file: &str) -> Result<(String, Label), String>;
    /// Says how a script of a skill is run (M1: only where the workspace is trusted).
    ///
    /// # Errors
    /// A sentence for the model.
    async fn skill_script(
        &self,
        name: &str,
        script: &str,
        args: &[String],
    ) -> Result<SkillScript, String>;
    /// Puts the files of a skill where its script can be run: called once the call has its permit.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn ready_skill(&self, name: &str) -> Result<(), String>;
    /// Puts a skill before the person.
    ///
    /// # Errors
    /// A sentence for the model: what is wrong with it.
    async fn propose_skill(&self, call: CallId, proposal: SkillProposal) -> Result<(), String>;
    /// Puts a value of a setting before the person (G5); it keeps the label of the context. A later
    /// value of the same setting takes its place.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn propose_setting(&self, call: CallId, proposal: SettingProposal) -> Result<(), String> {
        let _ = (call, proposal);
        Err(NO_SESSION.into())
    }
    /// The newest lines of this session's log, oldest first: what was decided and done, one JSON object
    /// each.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn session_log(&self) -> Result<Vec<Value>, String> {
        Err(NO_SESSION.into())
    }
    /// Tools that are named only (T4).
    fn deferred_tools(&self) -> Arc<Vec<ToolSpec>>;
    /// Tools whose schemas the model has.
    fn loaded_tools(&self) -> Arc<Vec<ToolSpec>> {
        Arc::default()
    }
    /// Recipes that may be used here, with how often each worked; their scores say nothing.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn usable_recipes(&self) -> Result<Vec<RecipeMatch>, String> {
        Ok(Vec::new())
    }
    /// The person's brain, for this call; nobody's outside a session.
    fn brain(&self) -> Arc<dyn BrainAccess> {
        Arc::new(NoBrain)
    }
    /// The tools of the session, to which tools are added that are made at run time; none outside one.
    fn toolbox(&self) -> Option<Arc<Toolbox>> {
        None
    }
    /// What runs the code of such tools.
    fn scripts(&self) -> Arc<dyn Scripts> {
        Arc::new(NoScripts)
    }
    /// Tools that somebody made, on or off (T5).
    ///
    /// # Errors
    /// A sentence for the model.
    async fn made_tools(&self) -> Result<Vec<StoredItem>, String> {
        Err(NO_SESSION.into())
    }
    /// Keeps a tool that a person agreed to; it keeps the label of the context.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn keep_tool(&self, _definition: &ToolDefinition) -> Result<StoredItem, String> {
        Err(NO_SESSION.into())
    }
    /// Takes a tool away for good; whether it was there.
    ///
    /// # Errors
    /// A sentence for the model.
    async fn unkeep_tool(&self, _name: &str) -> Result<bool, String> {
        Err(NO_SESSION.into())
    }
    /// Profiles that the agent may propose, with what each may do that the present one may not.
    fn proposable_profiles(&self) -> Vec<ProfileLine>;
    /// Asks the stronger model that `helpers.flagship` names. The answer has the label of what the
    /// question was made from.
    ///
    /// # Errors
    /// None is named, or it gave no answer: a sentence for the model, with what it used.
    async fn consult_flagship(&self, question: &str) -> Result<FlagshipAnswer, ConsultError> {
        let _ = question;
        Err(ConsultError { why: NO_FLAGSHIP.into(), used: None })
    }
    /// Asks a model without tools, which sees nothing else, about foreign words (U6). Its answer is theirs:
    /// it may say whatever they want.
    ///
    /// # Errors
    /// It gave no answer: a sentence without words of its own, with what it used.
    async fn ask_reader(&self, question: &ReaderQuestion) -> Result<ReaderAnswer, ConsultError> {
        let _ = question;
        Err(ConsultError { why: "no model reads words here".into(), used: None })
    }
    /// The stronger model, as people name it; `None`: none is named.
    fn flagship_name(&self) -> Option<String> {
        None
    }
    /// The vendor that searches the web, where a person chose that; `None`: none does.
    fn vendor_search(&self) -> Option<VendorSearchSource> {
        None
    }
    /// Asks that vendor. No known secret goes there, and none comes back.
    ///
    /// # Errors
    /// As [`super::VendorSearch::search_web`]; there is none, or it took too long.
    async fn search_by_vendor(
        &self,
        question: VendorQuestion,
    ) -> Result<VendorAnswer, VendorSearchError> {
        let _ = question;
        Err(VendorSearchError { why: NO_VENDOR_SEARCH.into(), used: None })
    }
    /// Has the model that `helpers.image` names make a picture. It has the label of what it was asked
    /// for with.
    ///
    /// # Errors
    /// None is named, or it made none: a sentence for the model, with what it used.
    async fn make_picture(&self, request: PictureRequest) -> Result<PictureAnswer, PictureError> {
        let _ = request;
        Err(PictureError { why: NO_PICTURE_MODEL.into(), used: None })
    }
    /// The model that makes pictures, as people name it; `None`: none is named.
    fn picture_model_name(&self) -> Option<String> {
        None
    }
    /// What exists and is not switched on, beside tools, skills and plugins: recipes, foreign
    /// servers, tools made at run time.
    async fn dormant_items(&self) -> Vec<DormantItem> {
        Vec::new()
    }
}

/// The answer where nothing searches by meaning: it names the tool that works here.
pub const NO_MEANING_SEARCH: &str = "texts cannot be searched by meaning here; use search_files";

/// What is said where no vendor searches.
pub const NO_VENDOR_SEARCH: &str = "no model vendor searches the web for this session";

/// What is said where no stronger model is named.
pub const NO_FLAGSHIP: &str = "no stronger model is set up. A person names one in the user \
                               configuration: helpers.flagship = \"provider/name\"";

/// A question to a model that reads foreign words and can do nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderQuestion {
    /// What it is told about itself.
    pub system: String,
    /// The question with the words.
    pub text: String,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ReaderAnswer {
    /// Its words.
    pub text: String,
    /// Whose words the answer counts as.
    pub label: Label,
    /// What it used.
    pub used: ModelUse,
}

/// An answer of the stronger model.
#[derive(Debug, Clone, PartialEq)]
pub struct FlagshipAnswer {
    /// Answer in words, as the model is told it.
    pub text: String,
    /// Name of the model, as `provider/name`.
    pub model: String,
    /// Tokens.
    pub usage: Usage,
    /// What that cost; `None`: nobody knows.
    pub cost_usd: Option<f64>,
    /// The label of what the question was made from.
    pub label: Label,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsultError {
    /// A sentence for the model.
    pub why: String,
    /// It was asked all the same: what that used, as far as anybody knows.
    pub used: Option<ModelUse>,
}

/// Something that exists and is not switched on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DormantItem {
    /// The kind of the thing: `recipe`, `MCP server`, `tool`.
    pub what: String,
    /// Name of the tool or skill.
    pub name: String,
    /// What is known of it.
    pub about: String,
    /// How a person switches it on.
    pub how: String,
}

/// Nothing is known and nothing kept: for calls that are planned outside a session.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoKnowledge;

const NO_SESSION: &str = "there is no session here that could know or keep anything";

#[async_trait]
impl Knowledge for NoKnowledge {
    async fn recall(&self, _: RecallQuery) -> Result<Vec<Passage>, String> {
        Err(NO_SESSION.into())
    }
    async fn remember_fact(&self, _: CallId, _: MemoryRequest) -> Result<MemoryNote, String> {
        Err(NO_SESSION.into())
    }
    async fn find_memories(
        &self,
        _: &str,
        _: Option<MemoryKind>,
        _: usize,
    ) -> Result<Vec<MemoryFact>, String> {
        Err(NO_SESSION.into())
    }
    fn skills(&self) -> Vec<SkillLine> {
        Vec::new()
    }
    async fn skill(&self, _: &str) -> Result<SkillText, String> {
        Err(NO_SESSION.into())
    }
    async fn skill_file(&self, _: &str, _: &str) -> Result<(String, Label), String> {
        Err(NO_SESSION.into())
    }
    async fn skill_script(&self, _: &str, _: &str, _: &[String]) -> Result<SkillScript, String> {
        Err(NO_SESSION.into())
    }
    async fn ready_skill(&self, _: &str) -> Result<(), String> {
        Err(NO_SESSION.into())
    }
    async fn propose_skill(&self, _: CallId, _: SkillProposal) -> Result<(), String> {
        Err(NO_SESSION.into())
    }
    fn deferred_tools(&self) -> Arc<Vec<ToolSpec>> {
        Arc::default()
    }
    fn proposable_profiles(&self) -> Vec<ProfileLine> {
        Vec::new()
    }
}
