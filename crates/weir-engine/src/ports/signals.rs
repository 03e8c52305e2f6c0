//! How what streams in a session reaches whoever follows it in another process that uses the same
//! store (S17). A store carries it and keeps nothing of it; what is in it is no store's business, and
//! some of it may be lost: the fact that follows brings the whole text. Not here: what a piece of it
//! says, and who may hear it.

use async_trait::async_trait;

/// Most bytes of what a parcel holds.
pub const SIGNAL_BODY_MAX: usize = 7_000;

/// A way from the process that runs a session to one where somebody follows it. Whoever asks anew
/// gets a new one, on which everything that no fact has told yet comes from its beginning.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalLine {
    /// The process that asked, in the store's own word: another one after each start.
    pub to: String,
    /// Grows with each asking of that process.
    pub number: u64,
}

/// What is sent on a line at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignalParcel {
    /// On which line.
    pub line: SignalLine,
    /// 0, 1, 2, … on its line.
    pub n: u64,
    /// Sealed by whoever sends, opened by whoever hears: ASCII, at most [`SIGNAL_BODY_MAX`] bytes.
    pub body: String,
}

/// One who hears what streams in a session elsewhere. The store asks for it as long as this is kept.
#[async_trait]
pub trait SignalEar: Send + Sync {
    /// The next parcel that has arrived: of the newest line alone, each once and in order. A parcel
    /// that does not come in time is asked for anew, on a new line.
    fn take_parcel(&mut self) -> Option<SignalParcel>;
    /// Resolves when there is one. Giving up waiting loses nothing.
    async fn wait_for_parcel(&mut self);
}
