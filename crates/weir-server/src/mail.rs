//! Trigger accounts (S16): accounts of a person that are followed, and rules by which a mail starts
//! an agent. What the mail says reaches the agent as somebody else's words.
//!
//! Not here: IMAP and SMTP (`weir-mail`), and what the agent may do.

pub(crate) mod follow;
pub(crate) mod watch;
