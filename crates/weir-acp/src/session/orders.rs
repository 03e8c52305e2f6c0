//! What the connection gives to a session: how it begins, and what the editor orders of it. Not here: what
//! is done then.

use std::path::PathBuf;

use tokio::sync::mpsc;
use weir_core::ids::SessionId;
use weir_install::context::InstallationContext;
use weir_install::wiring::SessionOverrides;

use crate::options::SettingWish;
use crate::render::EditorReading;
use crate::rpc::RequestId;
use crate::wire::ContentBlock;

/// Orders that may wait for a session.
const ORDERS_MAX: usize = 64;

/// How a session is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionOpening {
    /// It is new.
    New,
    /// It exists, and everything in it is told.
    Load,
    /// It exists, and nothing of what it was is told.
    Resume,
    /// It was just made as a copy of another, and nothing of what that was is told.
    Fork,
}

impl SessionOpening {
    /// Whether the editor does not know its name yet.
    pub(crate) fn names_session(self) -> bool {
        matches!(self, SessionOpening::New | SessionOpening::Fork)
    }
}

/// What a session needs to begin.
pub(crate) struct SessionStart {
    /// The program in the folder of the session.
    pub(crate) cx: InstallationContext,
    /// What the flags say.
    pub(crate) flags: SessionOverrides,
    /// Which session.
    pub(crate) id: SessionId,
    /// How it is opened.
    pub(crate) opening: SessionOpening,
    /// The request that is answered once it is open.
    pub(crate) request: RequestId,
    /// What the editor reads of what it is told.
    pub(crate) reads: EditorReading,
    /// What the person must be told of it.
    pub(crate) warnings: Vec<String>,
    /// The same of what becomes known later.
    pub(crate) warned: mpsc::Receiver<String>,
    /// Where the files of terminals are; none: the editor makes no terminals.
    pub(crate) terminals: Option<PathBuf>,
}

/// What the editor orders of a session that is open.
pub(crate) enum SessionOrder {
    /// Say this, and answer when the turn is over.
    Prompt {
        /// The request.
        request: RequestId,
        /// What is said.
        blocks: Vec<ContentBlock>,
    },
    /// End what is on.
    Cancel,
    /// The same, where this request is one of the session.
    CancelRequest(RequestId),
    /// Change a setting.
    Change {
        /// The request.
        request: RequestId,
        /// To what.
        wish: SettingWish,
        /// What the answer is.
        reply: ChangeReply,
    },
    /// Answer as if it were opened now.
    Describe(RequestId),
    /// Give it back.
    Close(RequestId),
}

/// What the answer to a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeReply {
    /// Nothing.
    Nothing,
    /// All options.
    Options,
    /// The end of a turn: it was typed as a command.
    Turn,
}

/// The way to a session.
pub(crate) type OrderSender = mpsc::Sender<SessionOrder>;

/// A way to a session, and its other end.
pub(crate) fn order_channel() -> (OrderSender, mpsc::Receiver<SessionOrder>) {
    mpsc::channel(ORDERS_MAX)
}
