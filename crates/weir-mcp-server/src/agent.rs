//! The port: what is served to MCP clients, in no SDK's types. Not here: the protocol (`handler`), and what
//! stands behind it.

use async_trait::async_trait;
use serde_json::{Map, Value};
use tokio::sync::watch;

/// What a client says of itself. Nobody checks it: it is shown and recorded as the client's own words.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct ClientIdentity {
    /// Name of the program.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// What the server says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerDescription {
    /// Name of the program.
    pub name: String,
    /// The same for people.
    pub title: String,
    /// Its version.
    pub version: String,
    /// What the client's model should know of the tools.
    pub instructions: String,
}

/// A tool that can be called.
#[derive(Debug, Clone, PartialEq)]
pub struct ServedTool {
    /// Name by which it is called.
    pub name: String,
    /// What the client's model reads about it.
    pub description: String,
    /// JSON Schema of its arguments: an object.
    pub input_schema: Map<String, Value>,
    /// It never changes anything.
    pub reads_only: bool,
    /// It reaches what is not on this machine.
    pub reaches_out: bool,
}

/// A prompt that a person can choose in the client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedPrompt {
    /// Name by which it is chosen.
    pub name: String,
    /// What it is for, in a line.
    pub description: String,
    /// Words that go into it.
    pub arguments: Vec<ServedArgument>,
}

/// Words that go into a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedArgument {
    /// Name of the argument.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// Without it the prompt is none.
    pub required: bool,
}

/// The text of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptText {
    /// What it is for, in a line.
    pub description: String,
    /// What is said to the client's model: a message for each.
    pub parts: Vec<ResultPart>,
}

/// A prompt, as the client asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct PromptRequest {
    /// Name of the prompt.
    pub name: String,
    /// Words that go into it. Not yet looked at.
    pub arguments: Map<String, Value>,
    /// Whether words that are missing can be asked for.
    pub person: PersonReach,
}

/// Whether the client's person can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PersonReach {
    /// By a form of the client.
    Reachable,
    /// Not at all, or they chose to say nothing: the prompt does with what it has.
    OutOfReach,
}

/// What there is to a prompt.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptReply {
    /// Its text.
    Text(PromptText),
    /// All words that it lacks, in one form whose fields are named as the arguments. It is asked for again with
    /// what was filled in, and nothing is kept for it until then.
    Asked(PersonQuestion),
}

/// Something that can be read by its address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedResource {
    /// The address.
    pub uri: String,
    /// Short name for people.
    pub name: String,
    /// What it is, in a line.
    pub description: String,
    /// IANA media type.
    pub media_type: String,
}

/// A family of addresses that can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServedTemplate {
    /// The addresses, as an RFC 6570 template.
    pub uri_template: String,
    /// Short name for people.
    pub name: String,
    /// What they are, in a line.
    pub description: String,
    /// IANA media type of each.
    pub media_type: String,
}

/// Something that is to be read, as the client asks for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceRequest {
    /// Who asks.
    pub client: ClientIdentity,
    /// The address.
    pub uri: String,
    /// Which folders the client has open; of an agent that does not follow them nobody asked.
    pub folders: FoldersAnswer,
}

/// A call of a tool, as the client asks for it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallRequest {
    /// Who asks.
    pub client: ClientIdentity,
    /// Name of the tool.
    pub tool: String,
    /// Its arguments. Not yet held against the tool's schema.
    pub arguments: Map<String, Value>,
}

/// A piece of what a call or a resource gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResultPart {
    /// Words.
    Text(String),
    /// A picture.
    Image {
        /// IANA media type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// Sound.
    Audio {
        /// IANA media type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
    /// A document: words of a media type of their own.
    TextResource {
        /// Its address.
        uri: String,
        /// IANA media type.
        media_type: String,
        /// The words.
        text: String,
    },
    /// A document: bytes.
    BinaryResource {
        /// Its address.
        uri: String,
        /// IANA media type.
        media_type: String,
        /// The bytes in base64.
        data: String,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// What the client's model is given.
    pub parts: Vec<ResultPart>,
    /// False when it failed, was refused, or ended without an outcome.
    pub ok: bool,
}

/// What a person is asked while a call waits: a form.
#[derive(Debug, Clone, PartialEq)]
pub struct PersonQuestion {
    /// Name of the question, unique in its call.
    pub name: String,
    /// What is asked, whole, as plain text.
    pub message: String,
    /// The form: a JSON Schema object with fields of plain types.
    pub schema: Value,
    /// Who can answer it beside the client's person.
    pub others: OtherAnswerers,
}

/// Who can answer a question beside the client's person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtherAnswerers {
    /// Somebody, by another way: a client that cannot ask waits for them.
    Somebody,
    /// Nobody: a client that cannot ask is told so, and the call is given up.
    Nobody,
}

/// What came of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum PersonAnswer {
    /// The form was filled in.
    Accepted(Map<String, Value>),
    /// The person said no.
    Declined,
    /// The person chose nothing, or the client could not ask.
    Dismissed,
}

/// What the client's own model is asked while a call waits (sampling): these words, and nothing else that the
/// client knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelQuestion {
    /// Name of the question, unique in its call.
    pub name: String,
    /// What the model is told before; empty: nothing.
    pub system: String,
    /// What it is asked, as said by a user.
    pub text: String,
    /// Most tokens of its answer.
    pub tokens_max: u32,
    /// What a client without a model to ask means for the call.
    pub need: QuestionNeed,
}

/// What it means for a call when its client cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuestionNeed {
    /// Nothing can come of the call: the client is told what it lacks, and the call is given up.
    Required,
    /// The call is told, and goes on with that.
    Optional,
}

/// What came of a question to the client's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelAnswer {
    /// The model's words, whose ever they are: the client could have written them itself.
    Said {
        /// The model, as the client calls it.
        model: String,
        /// Its words.
        text: String,
    },
    /// There are none. Why.
    Failed(String),
}

/// Which folders the client has open (roots), as it says itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FoldersAnswer {
    /// These addresses.
    Open(Vec<String>),
    /// It says nothing of folders, to anybody.
    NotSaid,
    /// It says that it can say it, and did not, or said more than is listened to. Why.
    Failed(String),
}

/// What a client is asked while a call of it waits.
#[derive(Debug, Clone, PartialEq)]
pub enum CallQuestion {
    /// Its person, by a form.
    Person(PersonQuestion),
    /// Its model.
    Model(ModelQuestion),
    /// Which folders it has open: a question of this name, unique in its call.
    Folders(String),
}

impl CallQuestion {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            CallQuestion::Person(question) => &question.name,
            CallQuestion::Model(question) => &question.name,
            CallQuestion::Folders(name) => name,
        }
    }
}

/// What came of a question, of the kind that was asked.
#[derive(Debug, Clone, PartialEq)]
pub enum CallAnswer {
    /// Of the client's person.
    Person(PersonAnswer),
    /// Of its model.
    Model(ModelAnswer),
    /// Its folders.
    Folders(FoldersAnswer),
}

/// How much a line of the log matters, the least first (RFC 5424, as the protocol names them).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LogLevel {
    /// For whoever looks for a fault.
    Debug,
    /// What happens as it should.
    Info,
    /// What somebody may want to look at.
    Notice,
    /// What did not happen as it was asked for.
    Warning,
    /// What failed.
    Error,
    /// A part does not work any more.
    Critical,
    /// Somebody has to act at once.
    Alert,
    /// Nothing works any more.
    Emergency,
}

/// A line of the log of what happens to a call.
#[derive(Debug, Clone, PartialEq)]
pub struct LogLine {
    /// How much it matters.
    pub level: LogLevel,
    /// Which part of the server says it.
    pub logger: &'static str,
    /// What happened: a sentence, or an object with one.
    pub data: Value,
}

/// What happens to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum CallNews {
    /// Where it stands, in a line.
    Progress(String),
    /// A line of its log. Told to a client that asked for lines of this level, at a pace; never waited for.
    Logged(LogLine),
    /// The client is asked. The call waits until it is answered, here or, a person, elsewhere. What is asked at
    /// once is told at once.
    Asked(CallQuestion),
    /// The question of this name no longer waits.
    Settled(String),
    /// It is over: nothing comes after this.
    Finished(CallResult),
}

/// A call under way. Dropping it gives the call up.
#[async_trait]
pub trait CallInProgress: Send {
    /// What happens next. Waits for it. Cancel-safe: what was not returned is returned the next time.
    async fn next_news(&mut self) -> CallNews;
    /// Passes an answer to a question on. One that no longer waits, or that is of another kind than its
    /// question, is left alone.
    async fn answer_question(&mut self, question: &str, answer: CallAnswer);
}

/// Why a request cannot be answered. The text goes to the client.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServingError {
    /// There is no such tool, prompt or resource.
    #[error("{0}")]
    NotFound(String),
    /// The request cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// Something here does not work.
    #[error("{0}")]
    Failed(String),
}

/// What is served. One for each connection of a client; requests come beside each other.
#[async_trait]
pub trait ServedAgent: Send + Sync + 'static {
    /// What the server says of itself.
    fn describe_server(&self) -> ServerDescription;
    /// Every tool, in an order that stays.
    async fn list_tools(&self) -> Result<Vec<ServedTool>, ServingError>;
    /// Begins a call. What the tool itself makes of its arguments is a result, not an error.
    async fn begin_call(
        &self,
        request: CallRequest,
    ) -> Result<Box<dyn CallInProgress>, ServingError>;
    /// Every prompt.
    async fn list_prompts(&self) -> Result<Vec<ServedPrompt>, ServingError>;
    /// The text of a prompt with the client's words in it, or what it lacks. Never asks whom it cannot reach.
    async fn read_prompt(&self, request: &PromptRequest) -> Result<PromptReply, ServingError>;
    /// Every resource that has an address of its own.
    async fn list_resources(&self) -> Result<Vec<ServedResource>, ServingError>;
    /// Every family of resources.
    async fn list_templates(&self) -> Result<Vec<ServedTemplate>, ServingError>;
    /// Whether which folders a client has open says what it may read: it is asked before a resource is read.
    /// (A call asks by itself.)
    fn follows_folders(&self) -> bool {
        false
    }
    /// What stands at an address.
    async fn read_resource(
        &self,
        request: ResourceRequest,
    ) -> Result<Vec<ResultPart>, ServingError>;
    /// A number that is another one when what stands at this address may have changed. It says nothing else of
    /// it, reads nothing, and is asked for often. An error: nobody is told of changes there.
    fn resource_version(&self, uri: &str) -> Result<u64, ServingError>;
    /// Wakes whoever looks for changes. Changes that come quickly may wake once.
    fn listen_to_changes(&self) -> watch::Receiver<()>;
}
