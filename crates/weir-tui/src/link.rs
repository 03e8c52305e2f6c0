//! What passes between this face and whoever runs the session: wishes one way, news the other (F1).
//!
//! Neither side waits for the other's answer: a wish that something comes back for carries a
//! [`CommandTicket`], and whoever no longer cares ignores what comes. Plain data; not here: who makes it so.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::mpsc;
use weir_core::event::Event;
use weir_core::ids::{Seq, SessionId, Timestamp};
use weir_core::input::PersonCommand;
use weir_core::model::Thinking;
use weir_core::profile::PermissionMode;
use weir_core::view::first_start::FirstStart;
use weir_core::view::transcript::{PlacedFact, SettledPlace, SettledTranscript};

pub use crate::decisions::{DecisionKind, DecisionRequest, ReportPart};
pub use crate::reports::ReportKind;

/// News that may wait for the face; past it, whoever tells waits (a face that loads a long journal).
pub const NEWS_MAX: usize = 1024;
/// Wishes that may wait; a person does not type faster.
pub const WISHES_MAX: usize = 256;

/// The face's end.
#[derive(Debug)]
pub struct UiChannel {
    /// What the person wants.
    pub wishes: mpsc::Sender<UiCommand>,
    /// What happened.
    pub news: mpsc::Receiver<UiUpdate>,
}

/// The other end.
#[derive(Debug)]
pub struct BackendChannel {
    /// What the person wants. Closed: the face has gone.
    pub wishes: mpsc::Receiver<UiCommand>,
    /// What happened.
    pub news: mpsc::Sender<UiUpdate>,
}

/// Both ends of a new link.
pub fn ui_channel_pair() -> (UiChannel, BackendChannel) {
    let (wishes, wished) = mpsc::channel(WISHES_MAX);
    let (told, news) = mpsc::channel(NEWS_MAX);
    (UiChannel { wishes, news }, BackendChannel { wishes: wished, news: told })
}

/// Names a wish for which something comes back. Chosen by the face, each one once.
pub type CommandTicket = u64;

/// Which session is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionTarget {
    /// A new one, in the folder that the program was started for. It exists from the first message
    /// on: until then nothing is written.
    New,
    /// One that exists, in its own folder.
    Existing(SessionId),
    /// A copy of one, up to and without the input that was accepted as fact `before`; all of it
    /// where that is `None`.
    Fork {
        /// The original.
        of: SessionId,
        /// The place of an `input.accepted`.
        before: Option<Seq>,
    },
}

/// A file that goes with a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MessageAttachment {
    /// A file by its path, as the person named it: relative to the workspace, absolute, or `~/…`.
    Path(String),
    /// Bytes from the clipboard.
    Bytes {
        /// A name for it: `pasted-1.png`.
        name: String,
        /// The content.
        bytes: Arc<[u8]>,
    },
}

/// What goes back when a session is wound back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RewindScope {
    /// The conversation: a copy of the session up to there is opened; files stay.
    Conversation,
    /// Files, as they were before the first change after it; the conversation stays.
    Files,
    /// Both.
    Both,
}

/// What the person wants.
#[derive(Debug, Clone, PartialEq)]
pub enum UiCommand {
    /// Open another session instead of the one that is open.
    Open(SessionTarget),
    /// Say something. While a run is on it is queued.
    Say {
        /// The words. May begin with `/name` of a workflow or skill.
        text: String,
        /// What goes along.
        attached: Vec<MessageAttachment>,
        /// A name for it; [`UiUpdate::Refused`] gives it back, `input.accepted` carries it.
        client_id: String,
    },
    /// What the session is told as it stands: an answer, also to a sub-agent's question; taking
    /// back what is queued; the end of the run.
    Tell(PersonCommand),
    /// Another permission mode.
    Mode(PermissionMode),
    /// How much the model thinks.
    Thinking(Thinking),
    /// Another model.
    Model(String),
    /// Another profile.
    Profile(String),
    /// Take the session up anew, as soon as no run is on: what it is made of beside its settings is another.
    Reload,
    /// Make the context shorter; with what the summary must keep.
    Condense(String),
    /// Take the files of the last run back.
    Undo,
    /// Run a command of the person's own in a shell, in the workspace. What it prints comes as
    /// [`UiUpdate::Shell`].
    Shell {
        /// The command line.
        command: String,
        /// By which its news are known.
        ticket: CommandTicket,
    },
    /// End that command.
    EndShell(CommandTicket),
    /// Sessions in which these words stand, all when there are none: `Items::SessionsScreen`.
    Sessions {
        /// Words.
        query: String,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// What stands before the facts that were told: [`UiUpdate::Earlier`]. Wished when somebody comes near it;
    /// one at a time.
    Earlier {
        /// The last fact that was not told.
        last: Seq,
        /// So many facts at least, where there are so many.
        facts: Seq,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// Files of the workspace whose path is like this: `Items::Files`, the best first.
    Files {
        /// Part of a path.
        query: String,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// Models that can be chosen: `Items::ComposerChoices`.
    Models(CommandTicket),
    /// Profiles that can be chosen: `Items::ComposerChoices`.
    Profiles(CommandTicket),
    /// What the clipboard of the person's own machine holds: [`UiUpdate::Clipboard`].
    Clipboard(CommandTicket),
    /// What winding back to before the input at this place would change in files:
    /// [`UiUpdate::Text`] with a unified diff.
    Preview {
        /// The place of an `input.accepted`.
        before: Seq,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// Wind back to before the input at this place.
    Rewind {
        /// The place of an `input.accepted`.
        before: Seq,
        /// What.
        back: RewindScope,
    },
    /// A text for reading: [`UiUpdate::Text`].
    Report {
        /// Which.
        report: ReportKind,
        /// What follows the command's name.
        arguments: String,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// What a decision is about, whole, before it is made: [`UiUpdate::Review`]. Nothing is changed.
    Review {
        /// What is to be decided.
        request: DecisionRequest,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// Do what was shown: [`UiUpdate::Decided`]. Where it is another one meanwhile nothing is done, and
    /// that one is shown: [`UiUpdate::Review`].
    Decide {
        /// What is decided.
        request: DecisionRequest,
        /// The [`DecisionReview::as_shown`] of what the person agreed to.
        as_shown: String,
        /// For the answer.
        ticket: CommandTicket,
    },
    /// Write the session to a file: `md`, `html` or `jsonl` by its ending; a name is chosen when
    /// empty. Told as [`UiUpdate::Notice`].
    Export(String),
    /// Throw (with a reason) or release the kill switch.
    Pause(Option<String>),
    /// Let runs start again.
    Release,
    /// Nobody is left here to be asked: from now on what asks in this run is denied, by nobody, and a
    /// question ends the run and stays open. Where it cannot be, a bad [`UiUpdate::Notice`] says so.
    Unattended,
    /// The face goes. The other end gives the session back and closes the news.
    Leave,
}

/// What is known of the surroundings of an open session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenSessionInfo {
    /// The folder, as a person would write it: `~/code/weir`.
    pub folder: String,
    /// The git branch, where there is one.
    pub branch: Option<String>,
    /// How the session is taken up again, as a command line: `weir --resume 0197…`.
    pub resume: String,
    /// Where the engine is, when it is not in this process: the server's address.
    pub server: Option<String>,
    /// What a person should know now: the folder is not trusted, no sandbox works, …
    pub notes: Vec<String>,
    /// Nothing was said in the folder yet, and nobody chose a permission mode.
    pub first_start: Option<FirstStart>,
    /// An external editor may be used, files of this machine can be named.
    pub local: bool,
}

/// A command that can be typed as `/name`, beside those of the face itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// One sentence.
    pub about: String,
    /// What it takes: `[file]`.
    pub hint: String,
    /// `workflow`, `skill`, `plugin`.
    pub kind: String,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLine {
    /// Which.
    pub id: SessionId,
    /// Its title or first words.
    pub title: String,
    /// Its folder.
    pub folder: String,
    /// When something last happened.
    pub last: Timestamp,
    /// How it stands: `completed`, `running elsewhere`, `waits for you`, …
    pub state: String,
    /// The place where the words were found.
    pub found: Option<String>,
}

/// Something that can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceOption {
    /// What is sent when it is chosen.
    pub value: String,
    /// One line about it.
    pub about: String,
    /// It is the one that holds now.
    pub current: bool,
}

/// A list that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListResult {
    /// To [`UiCommand::Sessions`].
    Sessions(Vec<SessionLine>),
    /// To [`UiCommand::Files`]: paths relative to the workspace; folders end with `/`.
    Files(Vec<String>),
    /// To [`UiCommand::Models`] and [`UiCommand::Profiles`].
    Choices(Vec<ChoiceOption>),
}

/// What a person is to agree to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecisionReview {
    /// What is to be decided.
    pub request: DecisionRequest,
    /// All that would count, as the command of the same name shows it.
    pub text: String,
    /// What is asked: `Accept it?`.
    pub question: String,
    /// Names exactly what is shown: a yes to it does nothing else.
    pub as_shown: String,
    /// The words that the person may change before they agree; `None`: none can be changed here.
    pub editable: Option<String>,
    /// The person said yes to another one before: it changed meanwhile.
    pub changed: bool,
}

/// What the clipboard holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClipboardContent {
    /// A picture. That it is whole and of a kind that can be attached was looked at.
    Image {
        /// How names of its kind end: `png`.
        ending: String,
        /// The content.
        bytes: Arc<[u8]>,
    },
    /// No picture, but words.
    Text(String),
}

/// How a text is to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextKind {
    /// As it is.
    Plain,
    /// Markdown.
    Markdown,
    /// A unified diff.
    Diff,
}

/// How loud a notice is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeTone {
    /// To be known.
    Quiet,
    /// Something was done.
    Good,
    /// Something could not be done.
    Bad,
}

/// What a signal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalKind {
    /// The model writes.
    Text,
    /// The model thinks.
    Thinking,
    /// A tool shows progress.
    Output,
}

/// What comes of a command of the person's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShellNews {
    /// It printed this.
    Output(String),
    /// It ended: what to say of it (`exit 0`, `killed by signal 9`), whether well, and what the
    /// model would be told if it were shown to it (cut to a bound, redacted).
    Ended {
        /// In words.
        status: String,
        /// It ended with 0.
        ok: bool,
        /// For the model.
        shown: String,
    },
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum UiUpdate {
    /// A session is open: everything before belongs to another one. Its facts follow from the first
    /// on, or from the place on that [`UiUpdate::Settled`] says; the first `known` of them are from before.
    Opened {
        /// Which; `None`: a new one that does not exist yet.
        session: Option<SessionId>,
        /// How many of the facts that follow are old.
        known: Seq,
        /// What is known of its surroundings.
        about: Box<OpenSessionInfo>,
        /// What can be typed as `/name`.
        named: Vec<SlashCommandInfo>,
    },
    /// What is seen of the session that was opened just now, at a settled place: its facts follow from there
    /// on. Those up to there come as [`UiUpdate::Earlier`] when they are wished for (Q10).
    Settled(Box<SettledTranscript>),
    /// Facts from before those that were told, as [`UiCommand::Earlier`] wished for them: from a settled place
    /// on up to the last that was not told, in order, without a gap.
    Earlier {
        /// To which wish.
        ticket: CommandTicket,
        /// The place.
        from: Box<SettledPlace>,
        /// They.
        facts: Vec<PlacedFact>,
    },
    /// A durable fact: each once, in order, without a gap.
    Fact {
        /// Its place.
        seq: Seq,
        /// When.
        ts: Timestamp,
        /// What.
        event: Arc<Event>,
    },
    /// Streamed text or progress; the fact that follows carries all of it again.
    Signal {
        /// About what.
        kind: SignalKind,
        /// The turn or call, as facts name it.
        subject: String,
        /// The text.
        text: String,
    },
    /// The settings that a new session would have, before it exists; later facts tell more.
    Settings {
        /// `provider/name`.
        model: String,
        /// Name of the profile.
        profile: String,
        /// Permission mode.
        permission: PermissionMode,
        /// How much the model thinks.
        thinking: Thinking,
    },
    /// A list that was asked for.
    Listed {
        /// To which wish.
        ticket: CommandTicket,
        /// It.
        items: ListResult,
    },
    /// A text that was asked for.
    Text {
        /// To which wish.
        ticket: CommandTicket,
        /// Its title.
        title: String,
        /// The text.
        text: String,
        /// How it is to be shown.
        kind: TextKind,
    },
    /// What is to be decided, as it was asked for.
    Review {
        /// To which wish.
        ticket: CommandTicket,
        /// It.
        review: Box<DecisionReview>,
    },
    /// What was decided is done.
    Decided {
        /// To which wish.
        ticket: CommandTicket,
        /// What was done, in a sentence or some.
        text: String,
    },
    /// What the clipboard holds, as it was asked for.
    Clipboard {
        /// To which wish.
        ticket: CommandTicket,
        /// It.
        clip: ClipboardContent,
    },
    /// What was asked for with this ticket cannot be had: why and what to do.
    Failed {
        /// To which wish.
        ticket: CommandTicket,
        /// A sentence.
        why: String,
    },
    /// What came of a shell command.
    Shell {
        /// Which.
        ticket: CommandTicket,
        /// What.
        news: ShellNews,
    },
    /// A line for the person.
    Notice {
        /// How loud.
        tone: NoticeTone,
        /// A sentence.
        text: String,
    },
    /// What was said did not arrive, and is given back.
    Refused {
        /// As it was called.
        client_id: String,
        /// Why.
        why: String,
    },
    /// The branch is another one now.
    Branch(Option<String>),
    /// The engine of the session went down, and what it owed is kept: nothing more comes of what is on, until
    /// something is said. A sentence for the person.
    EngineDown(String),
    /// The connection to the server is lost, or (`None`) there again.
    Lost(Option<String>),
    /// Where this machine keeps the person's earlier messages, one JSON string a line; the face
    /// reads and appends.
    History(PathBuf),
    /// It is over: the session was given back. An error is why.
    Over(Option<String>),
}
