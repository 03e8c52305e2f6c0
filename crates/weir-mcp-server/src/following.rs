//! One call of a client while it is under way: progress and log lines are told, the client is asked what it can
//! be asked, and a client that no longer wants the call ends it. Not here: what a call does, and how a question is
//! put (`asking`).

use std::collections::BTreeMap;
use std::time::Duration;

use rmcp::model::{
    CallToolResponse, ErrorData, InputRequest, InputRequiredResult, InputResponses,
    ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::{Peer, RoleServer};

use crate::agent::{
    CallAnswer, CallNews, CallQuestion, CallRequest, CallResult, FoldersAnswer, ModelAnswer,
    OtherAnswerers, QuestionNeed,
};
use crate::asking::{
    AskedQuestion, AskingWay, ClientAbilities, QUESTIONS_AT_ONCE_MAX, QuestionKind, SentAnswer,
    SentQuestion, cannot_ask, next_answer, no_answer, read_answer, read_brought, send_question,
    withdraw_question,
};
use crate::folders::KnownFolders;
use crate::logging::LogTeller;
use crate::translate::{request_of, tool_result};
use crate::waiting::{FollowedCall, WaitingCalls};

/// How often a client hears that a call still goes on.
const STILL_THERE: Duration = Duration::from_secs(5);

/// Tells a client where a call stands. Numbers only grow, as the protocol wants it.
struct ProgressTeller {
    peer: Peer<RoleServer>,
    token: Option<ProgressToken>,
    told: u32,
    words: String,
}

impl ProgressTeller {
    async fn tell_client(&mut self, words: Option<String>) {
        if let Some(words) = words {
            self.words = words;
        }
        let Some(token) = self.token.clone() else { return };
        self.told += 1;
        let told = ProgressNotificationParam::new(token, f64::from(self.told))
            .with_message(self.words.clone());
        // Whoever has gone hears nothing.
        let _ = self.peer.notify_progress(told).await;
    }
}

/// What a connection keeps for its calls.
pub(crate) struct CallScene<'a> {
    pub(crate) waiting: &'a WaitingCalls,
    pub(crate) folders: &'a KnownFolders,
    pub(crate) log: LogTeller,
}

/// A call with all that its client is asked meanwhile.
struct Following<'a> {
    followed: FollowedCall,
    scene: &'a CallScene<'a>,
    peer: Peer<RoleServer>,
    able: ClientAbilities,
    /// Questions that the client has, where it answers by itself.
    sent: Vec<SentQuestion>,
    /// Questions that it will be asked to come back with.
    gathered: Vec<(AskedQuestion, InputRequest)>,
    /// Of which count of changes its folders would be.
    folders_at: u64,
    /// What it brought with a call that it was asked nothing about yet.
    brought: InputResponses,
}

/// What there is to a question before its client is asked.
enum BeforeAsking {
    /// It has to be asked.
    Open,
    /// Somebody else may answer it.
    LeftToOthers,
    /// The answer is there.
    Answered(CallAnswer),
}

impl Following<'_> {
    /// Puts a question, or answers it where nobody is to be asked.
    ///
    /// # Errors
    /// Nothing can come of the call without what the client cannot be asked.
    async fn ask_client(&mut self, question: CallQuestion) -> Result<(), ErrorData> {
        let asked = AskedQuestion::of(&question);
        match self.look_before_asking(&question)? {
            BeforeAsking::Open => (),
            BeforeAsking::LeftToOthers => return Ok(()),
            BeforeAsking::Answered(answer) => {
                self.followed.call.answer_question(&asked.name, answer).await;
                return Ok(());
            }
        }
        let is_put = match self.able.way {
            _ if self.sent.len() + self.gathered.len() >= QUESTIONS_AT_ONCE_MAX => false,
            AskingWay::ByRequest => {
                let sent = send_question(&self.peer, &question).await;
                let is_sent = sent.is_some();
                self.sent.extend(sent);
                is_sent
            }
            AskingWay::ByComingBack => {
                let request = request_of(&question);
                let is_there = request.is_some();
                self.gathered.extend(request.map(|request| (asked.clone(), request)));
                is_there
            }
        };
        if !is_put {
            self.followed.call.answer_question(&asked.name, no_answer(asked.kind)).await;
        }
        Ok(())
    }

    fn look_before_asking(&mut self, question: &CallQuestion) -> Result<BeforeAsking, ErrorData> {
        match question {
            CallQuestion::Person(form) if !self.able.can_be_asked(QuestionKind::Person) => {
                match form.others {
                    OtherAnswerers::Somebody => Ok(BeforeAsking::LeftToOthers),
                    OtherAnswerers::Nobody => Err(cannot_ask(QuestionKind::Person)),
                }
            }
            CallQuestion::Model(asked) if !self.able.can_be_asked(QuestionKind::Model) => {
                match asked.need {
                    QuestionNeed::Required => Err(cannot_ask(QuestionKind::Model)),
                    QuestionNeed::Optional => {
                        let why = "the client has no model that can be asked (sampling)".into();
                        Ok(BeforeAsking::Answered(CallAnswer::Model(ModelAnswer::Failed(why))))
                    }
                }
            }
            CallQuestion::Folders(_) if !self.able.can_be_asked(QuestionKind::Folders) => {
                Ok(BeforeAsking::Answered(CallAnswer::Folders(FoldersAnswer::NotSaid)))
            }
            CallQuestion::Folders(_) if self.able.way == AskingWay::ByRequest => {
                let (folders_at, known) = self.scene.folders.recall_answer();
                self.folders_at = folders_at;
                Ok(known.map_or(BeforeAsking::Open, |known| {
                    BeforeAsking::Answered(CallAnswer::Folders(known))
                }))
            }
            CallQuestion::Person(_) | CallQuestion::Model(_) | CallQuestion::Folders(_) => {
                Ok(self.take_brought(question).map_or(BeforeAsking::Open, BeforeAsking::Answered))
            }
        }
    }

    /// The answer that the client brought without having been asked, where it is worth what an argument is: which
    /// folders it has open, and words that nobody else could say. A yes to what others may answer too is an
    /// approval: before its question it would be nobody's. Nor can a model have answered what it was not asked.
    fn take_brought(&mut self, question: &CallQuestion) -> Option<CallAnswer> {
        let says_only = match question {
            CallQuestion::Person(form) => form.others == OtherAnswerers::Nobody,
            CallQuestion::Folders(_) => true,
            CallQuestion::Model(_) => false,
        };
        if !says_only || self.able.way != AskingWay::ByComingBack {
            return None;
        }
        let AskedQuestion { name, kind } = AskedQuestion::of(question);
        let answer = read_brought(kind, Some(self.brought.remove(&name)?));
        // What is no answer is asked for.
        (answer != no_answer(kind)).then_some(answer)
    }

    async fn take_answer(&mut self, at: usize, answer: SentAnswer) {
        let SentQuestion { asked, .. } = self.sent.swap_remove(at);
        let answer = read_answer(asked.kind, answer);
        if let CallAnswer::Folders(folders) = &answer {
            self.scene.folders.keep_answer(self.folders_at, folders);
        }
        self.followed.call.answer_question(&asked.name, answer).await;
    }

    async fn settle_question(&mut self, name: &str) {
        self.gathered.retain(|(asked, _)| asked.name != name);
        if let Some(at) = self.sent.iter().position(|sent| sent.asked.name == name) {
            withdraw_question(self.sent.swap_remove(at), "it was answered elsewhere").await;
        }
    }

    async fn withdraw_all(&mut self, why: &str) {
        for sent in self.sent.drain(..) {
            withdraw_question(sent, why).await;
        }
    }

    async fn finish_call(&mut self, result: CallResult) -> CallToolResponse {
        self.withdraw_all("the call is over").await;
        CallToolResponse::Complete(tool_result(result))
    }

    /// The call waits under a name until its client comes back with what it is asked.
    fn come_back(self) -> CallToolResponse {
        let Following { mut followed, scene, gathered, .. } = self;
        let (asked, requests): (Vec<AskedQuestion>, BTreeMap<String, InputRequest>) = gathered
            .into_iter()
            .map(|(asked, request)| (asked.clone(), (asked.name, request)))
            .unzip();
        followed.asked = asked;
        let state = scene.waiting.keep_call(followed);
        CallToolResponse::InputRequired(InputRequiredResult::new(Some(requests), Some(state)))
    }
}

/// Follows a call to its end, to questions that the client has to come back with, or until it is given up.
/// `brought`: what the client says with a call about which it was asked nothing yet.
pub(crate) async fn follow_call(
    followed: FollowedCall,
    context: RequestContext<RoleServer>,
    brought: InputResponses,
    scene: &CallScene<'_>,
) -> Result<CallToolResponse, ErrorData> {
    let mut progress = ProgressTeller {
        peer: context.peer.clone(),
        token: context.meta.get_progress_token(),
        told: 0,
        words: format!("{} is being judged", followed.request.tool),
    };
    let able = ClientAbilities::of_request(&context);
    let (peer, sent, gathered) = (context.peer.clone(), Vec::new(), Vec::new());
    let mut call =
        Following { followed, scene, peer, able, sent, gathered, folders_at: 0, brought };
    let mut ticks = tokio::time::interval(STILL_THERE);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        let has_gathered = !call.gathered.is_empty();
        tokio::select! {
            biased;
            () = context.ct.cancelled() => {
                call.withdraw_all("the call was cancelled").await;
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
            news = call.followed.call.next_news() => match news {
                CallNews::Progress(words) => progress.tell_client(Some(words)).await,
                CallNews::Logged(line) => scene.log.tell_client(line).await,
                CallNews::Asked(question) => {
                    if let Err(error) = call.ask_client(question).await {
                        call.withdraw_all("the call is given up").await;
                        return Err(error);
                    }
                }
                CallNews::Settled(name) => call.settle_question(&name).await,
                CallNews::Finished(result) => return Ok(call.finish_call(result).await),
            },
            // All that is asked at once is asked in one round.
            () = std::future::ready(()), if has_gathered => return Ok(call.come_back()),
            (at, answer) = next_answer(&mut call.sent) => call.take_answer(at, answer).await,
            _ = ticks.tick() => progress.tell_client(None).await,
        }
    }
}

/// Gives a client that came back its call with the answers that it brought.
///
/// # Errors
/// The call is not the one that it was, or waits no more.
pub(crate) async fn resume_call(
    state: &str,
    request: &CallRequest,
    responses: &InputResponses,
    waiting: &WaitingCalls,
) -> Result<FollowedCall, ErrorData> {
    let gone = || {
        ErrorData::invalid_params(
            "this call waits no more: call the tool again, without requestState",
            None,
        )
    };
    let mut followed = waiting.take_call(state).ok_or_else(gone)?;
    // What was asked about is what goes on, and nothing else under its name.
    if followed.request != *request {
        return Err(ErrorData::invalid_params(
            "the call differs from the one that waits: tool and arguments stay as they were",
            None,
        ));
    }
    for AskedQuestion { name, kind } in std::mem::take(&mut followed.asked) {
        let brought = responses.get(&name).cloned();
        followed.call.answer_question(&name, read_brought(kind, brought)).await;
    }
    Ok(followed)
}
