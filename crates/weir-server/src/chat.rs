//! A chat as HTML: a fold of its facts and signals (S11). Pure: no clock, no store, no network. The
//! page that is loaded and the changes that arrive later come from the same fold, so a page that
//! was open all the time and one that is loaded now show the same.
//!
//! Not here: addresses and forms that are answered (`web::pages::chat`), the socket (`api::socket`).

mod ask;
mod content;
mod fold;
mod folded;
mod kept;
mod notes;
mod part;
mod row;
mod said;
mod status;
#[cfg(test)]
mod tests;
mod transcript;

pub(crate) use ask::{approval_card, question_card};
pub(crate) use content::{ChatView, PageOperation};
pub(crate) use fold::ChatFold;
pub(crate) use folded::{ChatStart, ENTRIES_SHOWN, FoldedChat, find_start};
pub(crate) use kept::ChatCache;
pub(crate) use part::ChatPart;
pub(crate) use status::ChatStatus;
pub(crate) use transcript::PageTranscript;
