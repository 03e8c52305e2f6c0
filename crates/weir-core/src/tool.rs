//! What a tool is to the rest of the installation: its description, and what a call of it would touch. What
//! it gives back is in `result`.
//!
//! Running a tool is not here: that is the port `weir_engine::ports::Tool`, and it takes a
//! [`crate::governance::Permit`]. The gate judges [`Effects`], never a tool's or an argument's
//! name (G2).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::knowledge::recipe::{PlannedCall, Recipe};
use crate::label::Label;

mod argument;
pub mod built_in;
pub mod declare;
mod declared;
pub mod defer;
pub mod foreign;
mod handle_words;
mod inspection;
mod named_grant;
mod own_gate;
mod query;
mod result;
mod schema;
pub mod typed;
mod within;

pub use argument::ArgumentPath;
pub(crate) use argument::ArgumentPlace;
pub use declared::{
    ActEffect, ActKind, CommitDeclaration, ControlArgument, SendDeclaration, ToolDeclaration,
};
pub use handle_words::HandleWords;
pub use inspection::{HookOpinion, Inspection, JudgeOpinion, JudgeUse};
pub use named_grant::NamedGrant;
pub use own_gate::OwnGateOpinion;
pub use result::{CleanResult, RawResult, ResultEffect};
pub use schema::InputSchema;
pub use typed::{FieldKind, TypedFields};

/// The seven permission categories of which a profile picks some.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ToolGroup {
    /// Reads files; never changes anything.
    Read,
    /// Knows the note vault; reads only.
    Vault,
    /// Changes or creates files.
    Edit,
    /// Reaches the network.
    Web,
    /// Controls the agent's own behaviour.
    Agent,
    /// Foreign tools.
    Mcp,
    /// Runs commands and scripts.
    Skill,
}

/// What recovery may do with a call of this tool whose outcome was not recorded (D4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum EffectClass {
    /// Repeated silently.
    Read,
    /// Images before and after stand with the intent: the disk tells whether it happened.
    File,
    /// Repeated with the same key.
    Keyed,
    /// The other side can be asked.
    Queryable,
    /// A supervisor owns the child and records its end.
    Process,
    /// Never repeated.
    Once,
    /// Run again from its start, its steps from the journal: those that are answered are not made
    /// again (U7).
    Program,
}

/// A tool as the model and the gate see it. One value per tool, made once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct ToolSpec {
    /// The name the model calls it by: `[a-zA-Z0-9_-]{1,64}`.
    pub name: String,
    /// What the model reads about it.
    pub description: String,
    /// Its permission category.
    pub group: ToolGroup,
    /// JSON Schema (2020-12) of its input: always an object.
    #[cfg_attr(any(test, feature = "schema"), schemars(with = "serde_json::Value"))]
    pub input_schema: InputSchema,
    /// Listed by name only, loaded with `find_tool` (T4).
    #[serde(default)]
    pub deferred: bool,
    /// Calls of it may run beside other such calls (L7).
    #[serde(default)]
    pub parallel_safe: bool,
    /// It asks for something that changes by itself, so the same question twice is no repetition
    /// as long as the answer differs (L6).
    #[serde(default)]
    pub poll: bool,
    /// Its results enter the history whole whatever their size: paged reads, writes, agent control
    /// (X1).
    #[serde(default)]
    pub keeps_result: bool,
    /// Wall time in milliseconds before the call and all its processes end, where it differs from
    /// the session's `tool_timeout`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

impl ToolSpec {
    /// A tool of which nothing else is said: the model is told of it from the start, its calls run one
    /// after the other, the same call twice in a row is a repetition, and the session's own bounds hold
    /// for its time and its results. What differs goes before it:
    /// `ToolSpec { parallel_safe: true, ..ToolSpec::new(name, description, group, input_schema) }`.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        group: ToolGroup,
        input_schema: impl Into<InputSchema>,
    ) -> ToolSpec {
        ToolSpec {
            name: name.into(),
            description: description.into(),
            group,
            input_schema: input_schema.into(),
            deferred: false,
            parallel_safe: false,
            poll: false,
            keeps_result: false,
            timeout_ms: None,
        }
    }

    /// Bytes of what the model reads of it: name, description and schema.
    pub fn bytes(&self) -> usize {
        self.name.len() + self.description.len() + self.input_schema.bytes()
    }
}

/// What a call does to one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathAccess {
    /// Reads its content.
    Read,
    /// Lists what is in it, or searches below it.
    List,
    /// Replaces the content of what exists.
    Write,
    /// Makes what does not exist.
    Create,
    /// Takes it away (one end of a move).
    MoveFrom,
    /// Puts it there (the other end).
    MoveTo,
    /// Deletes it.
    Delete,
}

impl PathAccess {
    /// Whether this changes anything.
    pub fn is_write(self) -> bool {
        !matches!(self, PathAccess::Read | PathAccess::List)
    }
}

/// Where a path leads once symbolic links and `..` are resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PathPlace {
    /// Inside a root of the workspace.
    Inside,
    /// Outside every root, and written so.
    Outside,
    /// Written as if inside, but a link or `..` leads out.
    Escapes,
}

/// One path that a call touches, resolved by the workspace handle, never by the tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PathEffect {
    /// Relative to the workspace root with `/` between parts and Unicode in NFC; absolute when it
    /// lies outside.
    pub path: String,
    /// What happens to the path: it is read, listed, written, made, moved or deleted.
    pub access: PathAccess,
    /// Whether the path lies inside the workspace, outside, or leads out by a link.
    pub place: PathPlace,
    /// Everything below it is touched too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub recursive: bool,
    /// Why it is invisible (G6): the list, its line and pattern. `None`: it is visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ignored: Option<String>,
    /// Why it may not be written (G6). `None`: it may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protected: Option<String>,
    /// Why reading or writing it asks a person although the mode would let it pass (`.env*`, a way
    /// out of the workspace).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitive: Option<String>,
    /// What stands there was written while foreign words were in the context, or came from
    /// outside: from where (Z1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marked: Option<String>,
}

impl PathEffect {
    /// The path alone, without what lies below it; no list and no mark says anything of it.
    pub fn new(path: impl Into<String>, access: PathAccess, place: PathPlace) -> PathEffect {
        PathEffect {
            path: path.into(),
            access,
            place,
            recursive: false,
            ignored: None,
            protected: None,
            sensitive: None,
            marked: None,
        }
    }
}

/// What a file (or its absence) is, without its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FileState {
    /// Nothing there.
    Absent,
    /// A folder.
    Folder,
    /// A regular file.
    File {
        /// Lower-case hex of the content's SHA-256.
        sha256: String,
        /// Size in bytes.
        bytes: u64,
        /// Permission bits, `0o644`.
        mode: u32,
    },
    /// A symbolic link.
    Link {
        /// Where the link leads, as it stands in the link.
        target: String,
    },
}

/// A change of one path that is known before the call runs: what recovery compares the disk with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PlannedChange {
    /// As in [`PathEffect::path`].
    pub path: String,
    /// Content of the path before the call.
    pub before: FileState,
    /// What will be there after.
    pub after: FileState,
}

/// How strongly a command is confined (Z4), from not at all to strongest.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// Supervised, not confined: every command asks.
    #[default]
    None,
    /// Landlock and seccomp.
    Landlock,
    /// Namespaces, made by the program bubblewrap, and seccomp.
    Bubblewrap,
    /// Namespaces that Weir makes itself, and seccomp.
    Namespaces,
}

impl Tier {
    /// The word in settings and reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::None => "none",
            Tier::Landlock => "landlock",
            Tier::Bubblewrap => "bubblewrap",
            Tier::Namespaces => "namespaces",
        }
    }

    /// Whether a command sees files, processes and a network of its own.
    pub fn has_own_view(self) -> bool {
        match self {
            Tier::Bubblewrap | Tier::Namespaces => true,
            Tier::None | Tier::Landlock => false,
        }
    }
    fn is_none(&self) -> bool {
        *self == Tier::None
    }
}

/// A command that a call would run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct CommandEffect {
    /// The command line as it is given to the shell.
    pub command: String,
    /// Folder it runs in, as in [`PathEffect::path`].
    pub cwd: String,
    /// It goes on after the call returns.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub background: bool,
    /// It runs in a terminal of its own, as programs see it that ask for one (R7).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub terminal: bool,
    /// What confines it.
    #[serde(default, skip_serializing_if = "Tier::is_none")]
    pub tier: Tier,
    /// It asks to leave the sandbox that there is: a person agrees to each such command, exactly.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside_sandbox: bool,
    /// Every writable place but its own temporary folder is taken from it (mode `plan`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// Hosts that it may reach, through the proxy (Z4). What is not confined reaches every host,
    /// whatever stands here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Ports of this machine that it asked to reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// Those of `ports` at which nothing but a running job of this session is met, which is confined as
    /// this is, reaches nothing itself and was agreed to (U13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_ports: Vec<u16>,
    /// Ports of this machine at which what it starts is to be reached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub serves: Vec<u16>,
    /// Sockets of other programs that it asked to speak to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sockets: Vec<String>,
    /// Files that are hidden, and whose content this command can read in the history of git (A13).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovers: Vec<String>,
    /// Remote-tracking branches that already have the commit which it makes anew or leaves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<String>,
    /// It makes anew the newest commit and no other, which was made in this repository and which, as far
    /// as its refs tell, nobody else has: the reflog leads back to it (U13).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub renews_own_commit: bool,
    /// Names of the person's secrets that it finds in variables of these names. Never a value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<String>,
}

impl CommandEffect {
    /// Whether it can reach anything beyond its sandbox, or be reached there.
    pub fn has_network(&self) -> bool {
        self.tier == Tier::None || !self.describe_reach().is_empty()
    }

    /// Whether all that it reaches beyond its sandbox are jobs of its own session, in sandboxes like its
    /// own: it gets no further than what it writes into the workspace for them.
    pub fn reaches_own_jobs_only(&self) -> bool {
        self.tier.has_own_view()
            && !self.outside_sandbox
            && !self.background
            && self.hosts.is_empty()
            && self.serves.is_empty()
            && self.sockets.is_empty()
            && self.secrets.is_empty()
            && !self.ports.is_empty()
            && self.ports.iter().all(|port| self.own_ports.contains(port))
    }

    /// The reach of the command beyond its sandbox, and the places where it can be reached, in
    /// words for a person.
    pub fn describe_reach(&self) -> Vec<String> {
        let ports = self.ports.iter().map(|port| format!("localhost:{port}"));
        let serves = self.serves.iter().map(|port| format!("localhost:{port} (served)"));
        let sockets = self.sockets.iter().map(|socket| format!("the socket {socket}"));
        self.hosts.iter().cloned().chain(ports).chain(serves).chain(sockets).collect()
    }
}

/// Something that is sent to somebody: a message, a post, a request that changes something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SendEffect {
    /// The recipient, canonical: an address, a channel, a user.
    pub recipient: String,
    /// By which way: `mail`, the name of a server, a host.
    pub by: String,
}

/// A running background job that reaches the network and is given words.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct FeedEffect {
    /// Its name: `j3`.
    pub job: String,
    /// Its command line.
    pub command: String,
    /// Hosts that it may reach; empty: all of the network, since nothing confines it.
    pub hosts: Vec<String>,
}

/// A question to a foreign server that was declared as reading and reaches the network.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct QueryEffect {
    /// The server, as in `reads_from`.
    pub server: String,
    /// Every word of its arguments that the model chose freely: no member of a closed set, no flag.
    pub words: Vec<String>,
}

/// A sub-agent that a call would start (M6).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct SpawnEffect {
    /// Name of its profile: what `Agent(NAME)` rules are about.
    pub profile: String,
    /// Its authority lets it change files or run commands. Each such call of it is judged on its
    /// own; this says beside whom it may run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub writes: bool,
    /// It works in a copy of the workspace of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub worktree: bool,
}

/// Something of others that a call would switch on (Z9): it may do more from then on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct EnableEffect {
    /// The kind of the thing: `plugin`.
    pub what: String,
    /// Name of the plugin.
    pub name: String,
    /// SHA-256 of what it is now: nothing else is switched on.
    pub hash: String,
}

/// What a call does to an entry of the brain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BrainChange {
    /// Puts a new one there.
    Add,
    /// Changes what it says.
    Update,
    /// Takes it out of what is found.
    Forget,
}

impl BrainChange {
    /// What is done, in words before the name of the entry.
    pub fn as_words(self) -> &'static str {
        match self {
            BrainChange::Add => "keeping in the brain",
            BrainChange::Update => "changing in the brain",
            BrainChange::Forget => "forgetting from the brain",
        }
    }
}

/// A change of the person's brain, their own knowledge store (K12).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct BrainEffect {
    /// What is done.
    pub change: BrainChange,
    /// What the entry is called.
    pub title: String,
    /// Id of the entry; empty: it is a new one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub entry: String,
    /// The version that was looked at, which alone is changed; 0: it is a new one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub version: u32,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A host that a call would reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct HostEffect {
    /// `GET`, `POST`, …
    pub method: String,
    /// Host in ASCII, lower case, without port.
    pub host: String,
    /// The whole address, canonical.
    pub url: String,
    /// Name of the secret that the engine puts into the request for this host (Z7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
}

/// What a call asks of the agent itself rather than of the world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum AgentControl {
    /// Ends the run with this result (`attempt_completion`).
    Complete {
        /// What the person is told.
        result: String,
    },
    /// Puts a question to the person and waits (`ask_followup_question`).
    Ask {
        /// Text of the question, as the person reads it.
        text: String,
        /// Answers to choose from; empty: free text.
        options: Vec<String>,
        /// Several may be chosen.
        multiple: bool,
    },
    /// Replaces the task list (`update_todo_list`).
    Plan {
        /// The new list.
        items: Vec<PlanItem>,
    },
    /// Goes on with another profile (`switch_agent`).
    Switch {
        /// Name of the profile to go on with.
        profile: String,
        /// The reason, as a sentence for people.
        reason: String,
        /// The rights that the profile has and the present one has not; empty: the switch widens
        /// nothing.
        widens: Vec<String>,
    },
    /// Follows a recipe once the calls of this turn are done (`execute_recipe`).
    Follow {
        /// The recipe whose steps become calls.
        recipe: Box<Recipe>,
        /// Its calls, with the parameters put in.
        calls: Vec<PlannedCall>,
    },
}

/// One line of the task list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct PlanItem {
    /// The step in words, one line.
    pub text: String,
    /// How far it is.
    pub status: PlanStatus,
}

/// How far a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStatus {
    /// Not begun.
    Pending,
    /// It runs.
    InProgress,
    /// Finished.
    Done,
}

/// Everything a call would touch, for its arguments. Two calls with equal effects have equal
/// values here (G2). Empty: it touches nothing outside the session.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Effects {
    /// Files and folders.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathEffect>,
    /// Changes of files that are known exactly in advance.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<PlannedChange>,
    /// Those paths of them that git runs, or below which lies what it runs (`core.hooksPath`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub run_by_git: Vec<String>,
    /// Commands.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandEffect>,
    /// Hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<HostEffect>,
    /// What of its workspace a person could grant by name, where it runs a command that asks for hosts
    /// (U13). No effect: what the engine saw of files and remotes while it looked at the call.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_grants: Vec<NamedGrant>,
    /// Words that it searches for (L6 compares them by similarity).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<String>,
    /// Background jobs of this session that it reads, feeds or ends. They were judged when they
    /// were started, so these need no rule of their own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<String>,
    /// Jobs that it feeds and that reach the network: what it writes to them can leave.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feeds: Vec<FeedEffect>,
    /// Texts that it would put into memory or propose as a skill: kept beyond the session, and
    /// read by later ones (M4).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remembers: Vec<String>,
    /// The change of the person's brain: what is kept there stands in `remembers` too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brain: Option<BrainEffect>,
    /// Whose words it gives back, where that is known before it runs: a skill or a fact of the
    /// memory that came from outside.
    #[serde(skip_serializing_if = "Label::is_clean")]
    pub gives: Label,
    /// The messages that the call sends, with their recipients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<SendEffect>,
    /// What it does at a foreign server, as declared (U2).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub acts: Vec<ActEffect>,
    /// Servers whose data it reads: foreign and private until somebody says otherwise.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reads_from: Vec<String>,
    /// The questions to servers that reach the network: a question itself can carry something out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queries: Vec<QueryEffect>,
    /// The sub-agent that it starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spawns: Option<SpawnEffect>,
    /// Plugins and servers that the call switches on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub enables: Vec<EnableEffect>,
    /// It asks a stronger model (`consult_flagship`), of which a run has few answers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub consults: bool,
    /// The foreign server for which it asks the session's model, in the server's words (R3).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// Change of the agent itself: a question, another profile, a recipe, the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<AgentControl>,
    /// Nothing is known: treated as having every effect.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unknown: bool,
    /// What is not known happens in a sandbox without network and without a place to write: what it
    /// is given stays there, as with a confined command.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub contained: bool,
    /// It was declared to do something there: where its answer is an acknowledgement and nothing else,
    /// that is not foreign text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub acknowledges: bool,
    /// It puts words into the context on purpose that were kept beside it as a handle (U6).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub opens: bool,
    /// The bits that its answer about foreign words can tell at most, where it asks a helper (U12).
    #[serde(skip_serializing_if = "is_zero")]
    pub extracts: u32,
}

impl Effects {
    /// Whether it changes anything outside the session: then it needs a durable intent.
    pub fn changes_world(&self) -> bool {
        self.unknown
            || !self.commands.is_empty()
            || !self.sends.is_empty()
            || !self.acts.is_empty()
            || !self.changes.is_empty()
            || !self.remembers.is_empty()
            || self.brain.is_some()
            || !self.enables.is_empty()
            || self.spawns.as_ref().is_some_and(|spawn| spawn.writes)
            || self.paths.iter().any(|p| p.access.is_write())
            || self.hosts.iter().any(|host| !self.only_reads(host))
    }

    /// The planned changes of what no path is said to be written.
    pub(crate) fn unannounced_changes(&self) -> Vec<&PlannedChange> {
        if self.changes.is_empty() {
            return Vec::new();
        }
        let written = self.paths.iter().filter(|at| at.access.is_write());
        let announced: BTreeSet<&str> = written.map(|at| at.path.as_str()).collect();
        let changes = self.changes.iter();
        changes.filter(|change| !announced.contains(change.path.as_str())).collect()
    }

    /// Whether this request only reads: by its method, or because it is a question that is declared
    /// word by word, which some servers want to be posted.
    pub fn only_reads(&self, host: &HostEffect) -> bool {
        host.method == "GET" || host.method == "HEAD" || self.is_declared_query(host)
    }

    /// Whether this request is a declared question: its words are judged, not its address.
    pub fn is_declared_query(&self, host: &HostEffect) -> bool {
        self.queries.iter().any(|query| query.server == host.host)
    }
}
