//! What goes wrong instead of a reply. Not here: how a vendor says it (`wire`).

/// What goes wrong instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedFault {
    /// An HTTP status with the vendor's error body.
    Status {
        /// 400 to 599.
        status: u16,
        /// Seconds in `Retry-After`.
        retry_after: Option<String>,
        /// The vendor's sentence; a usual one when empty.
        message: String,
    },
    /// The vendor's way to say that the request is larger than the window.
    Overflow,
    /// The vendor's safety layer refuses the request.
    Safety,
    /// The stream ends in the middle, cleanly.
    Cut,
    /// The connection breaks in the middle of the stream.
    Reset,
    /// The stream stops in the middle and stays open.
    Stall,
    /// An error event in the middle of the stream.
    Midstream,
    /// The stream holds what is not the dialect.
    Garbage,
    /// No answer ever.
    Hang,
    /// The connection breaks before an answer.
    Network,
}
