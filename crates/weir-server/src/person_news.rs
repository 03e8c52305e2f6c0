//! What is told to people of their sessions and accounts (R5): who is watched, what is news, and that
//! each is told once. Not here: how a notice is kept and sent (`notify`).

mod account;
mod news;
mod told;
mod watch;

pub(crate) use account::{note_account_event, tell_account};
pub(crate) use watch::watch_people;
