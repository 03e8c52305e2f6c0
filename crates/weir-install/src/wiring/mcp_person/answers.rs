//! Words that mean something as an answer to a question of a foreign server, in every face. Not here: the
//! questions.

/// Nothing is sent: the person does not want to.
pub const DECLINE: &str = "Decline";
/// Nothing is sent: the person closed the question.
pub const CANCEL: &str = "Cancel";
/// The field stays out of what is sent.
pub const LEAVE_OUT: &str = "Leave it out";
/// The person opened the page that was named.
pub const OPENED: &str = "I opened it";
