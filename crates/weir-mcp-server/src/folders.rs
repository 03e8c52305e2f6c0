//! Which folders a connection has open, once it said so: asked once, and again after it said that they changed
//! (the revisions with a handshake). Without a handshake there is no connection, and each call asks. Not here:
//! what a folder allows, and calls, which ask by themselves (`following`).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ErrorData, InputRequiredResult, InputResponses};
use rmcp::service::RequestContext;

use crate::agent::{CallAnswer, CallQuestion, FoldersAnswer};
use crate::asking::{
    AskingWay, ClientAbilities, QuestionKind, next_answer, read_answer, read_brought,
    send_question, withdraw_question,
};
use crate::translate::request_of;

/// Name of the question.
const QUESTION: &str = "folders";
/// How long a client may take to name its folders. Nobody has to be asked for that.
const FOLDERS_WAIT: Duration = Duration::from_secs(60);

#[derive(Default)]
struct KnownState {
    /// Counts what the client said of changes.
    changes: u64,
    open: Option<Vec<String>>,
}

/// The folders of one connection.
#[derive(Default)]
pub(crate) struct KnownFolders {
    state: Mutex<KnownState>,
}

impl KnownFolders {
    fn lock_state(&self) -> MutexGuard<'_, KnownState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, and of which count of changes an answer would be that is asked for now.
    pub(crate) fn recall_answer(&self) -> (u64, Option<FoldersAnswer>) {
        let state = self.lock_state();
        (state.changes, state.open.clone().map(FoldersAnswer::Open))
    }

    /// Keeps an answer that was asked for at this count: one from before a change is not what holds now, and
    /// what could not be read is asked for again.
    pub(crate) fn keep_answer(&self, asked_at: u64, answer: &FoldersAnswer) {
        let mut state = self.lock_state();
        if let FoldersAnswer::Open(open) = answer
            && state.changes == asked_at
        {
            state.open = Some(open.clone());
        }
    }

    /// The client says that they changed.
    pub(crate) fn forget_answer(&self) {
        let mut state = self.lock_state();
        state.changes += 1;
        state.open = None;
    }
}

/// What a client's folders are, for a request that is no call.
pub(crate) enum AskedFolders {
    /// These.
    Answered(FoldersAnswer),
    /// The client has to come back with them.
    ComeBack(InputRequiredResult),
}

/// Finds out which folders a client has open before something is read for it.
///
/// # Errors
/// The request was cancelled meanwhile.
pub(crate) async fn ask_folders(
    context: &RequestContext<RoleServer>,
    brought: Option<&InputResponses>,
    known: &KnownFolders,
) -> Result<AskedFolders, ErrorData> {
    let able = ClientAbilities::of_request(context);
    if !able.can_be_asked(QuestionKind::Folders) {
        return Ok(AskedFolders::Answered(FoldersAnswer::NotSaid));
    }
    let question = CallQuestion::Folders(QUESTION.into());
    if able.way == AskingWay::ByComingBack {
        return Ok(match brought.and_then(|all| all.get(QUESTION)) {
            Some(brought) => AskedFolders::Answered(folders_in(read_brought(
                QuestionKind::Folders,
                Some(brought.clone()),
            ))),
            None => {
                let request = request_of(&question).map(|request| (QUESTION.to_owned(), request));
                let asked = BTreeMap::from_iter(request);
                AskedFolders::ComeBack(InputRequiredResult::new(Some(asked), None))
            }
        });
    }
    let (asked_at, recalled) = known.recall_answer();
    if let Some(recalled) = recalled {
        return Ok(AskedFolders::Answered(recalled));
    }
    let Some(sent) = send_question(&context.peer, &question).await else {
        let why = "the client could not be asked".to_owned();
        return Ok(AskedFolders::Answered(FoldersAnswer::Failed(why)));
    };
    let mut sent = [sent];
    tokio::select! {
        biased;
        () = context.ct.cancelled() => {
            let [sent] = sent;
            withdraw_question(sent, "nothing is read any more").await;
            Err(ErrorData::internal_error("the request was cancelled", None))
        }
        (_, answer) = next_answer(&mut sent) => {
            let answer = folders_in(read_answer(QuestionKind::Folders, answer));
            known.keep_answer(asked_at, &answer);
            Ok(AskedFolders::Answered(answer))
        }
        () = tokio::time::sleep(FOLDERS_WAIT) => {
            let [sent] = sent;
            withdraw_question(sent, "no answer came").await;
            let why = format!("it named none within {} s", FOLDERS_WAIT.as_secs());
            Ok(AskedFolders::Answered(FoldersAnswer::Failed(why)))
        }
    }
}

fn folders_in(answer: CallAnswer) -> FoldersAnswer {
    match answer {
        CallAnswer::Folders(folders) => folders,
        CallAnswer::Person(_) | CallAnswer::Model(_) => {
            FoldersAnswer::Failed("it answered something else".into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_folders_are_known_until_the_client_says_that_they_changed() {
        let known = KnownFolders::default();
        let open = FoldersAnswer::Open(vec!["file:///a".into()]);
        let (asked_at, nothing) = known.recall_answer();
        assert_eq!(nothing, None);
        known.keep_answer(asked_at, &FoldersAnswer::Failed("no".into()));
        assert_eq!(known.recall_answer().1, None, "what could not be read is asked for again");
        known.keep_answer(asked_at, &open);
        assert_eq!(known.recall_answer(), (asked_at, Some(open.clone())));
        known.forget_answer();
        known.keep_answer(asked_at, &open);
        assert_eq!(known.recall_answer().1, None, "an answer from before the change");
    }
}
