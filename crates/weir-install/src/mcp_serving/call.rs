//! A call as its client sees it: what is told of it, what is asked, and whether it begins at all. Not here: what
//! becomes of it (`driver`).

use std::path::PathBuf;

use async_trait::async_trait;
use tokio::sync::{OwnedSemaphorePermit, mpsc, watch};
use weir_mcp_server::{
    CallAnswer, CallInProgress, CallNews, CallQuestion, CallResult, ClientIdentity, LogLine,
    ResultPart, ServingError,
};

use super::driver::{DriverOrder, OrderedCall};
use super::folders::check_folders;

/// The question which folders the client has open.
const FOLDERS: &str = "folders";

/// How far a call has come.
pub(super) enum CallStart {
    /// It waits until somebody waits for it.
    Waits(Box<OrderedCall>),
    /// It waits until its client has said which folders it has open.
    Asked(Box<OrderedCall>),
    /// It has begun.
    Begun,
    /// It does not begin. Why.
    Refused(String),
}

/// A call that a client waits for.
pub(super) struct ServedCall {
    pub(super) number: u64,
    pub(super) client: ClientIdentity,
    pub(super) news: mpsc::UnboundedReceiver<CallNews>,
    pub(super) log: mpsc::Receiver<LogLine>,
    pub(super) progress: watch::Receiver<String>,
    pub(super) orders: mpsc::UnboundedSender<DriverOrder>,
    /// The folder that it would work in.
    pub(super) root: PathBuf,
    pub(super) start: CallStart,
    pub(super) _permit: OwnedSemaphorePermit,
}

impl ServedCall {
    /// Gives it to whoever makes calls.
    pub(super) fn begin_call(&mut self, order: Box<OrderedCall>) -> Result<(), ServingError> {
        self.start = CallStart::Begun;
        let sent = self.orders.send(DriverOrder::Call(order));
        sent.map_err(|_| ServingError::Failed("this server is going down".into()))
    }
}

fn refusal_news(why: &str) -> CallNews {
    CallNews::Finished(CallResult { parts: vec![ResultPart::Text(why.to_owned())], ok: false })
}

#[async_trait]
impl CallInProgress for ServedCall {
    async fn next_news(&mut self) -> CallNews {
        match std::mem::replace(&mut self.start, CallStart::Begun) {
            CallStart::Waits(order) => {
                self.start = CallStart::Asked(order);
                return CallNews::Asked(CallQuestion::Folders(FOLDERS.into()));
            }
            CallStart::Asked(order) => {
                self.start = CallStart::Asked(order);
                return std::future::pending().await;
            }
            CallStart::Refused(why) => {
                let news = refusal_news(&why);
                self.start = CallStart::Refused(why);
                return news;
            }
            CallStart::Begun => (),
        }
        tokio::select! {
            biased;
            // Where it stood, and what happened, before whatever else there is to tell.
            Ok(()) = self.progress.changed() => {
                CallNews::Progress(self.progress.borrow_and_update().clone())
            }
            Some(line) = self.log.recv() => CallNews::Logged(line),
            news = self.news.recv() => {
                news.unwrap_or_else(|| refusal_news("No result: this server is going down."))
            }
        }
    }

    async fn answer_question(&mut self, question: &str, answer: CallAnswer) {
        let question = question.to_owned();
        let order = match answer {
            CallAnswer::Folders(folders) => {
                let start = std::mem::replace(&mut self.start, CallStart::Begun);
                // Only a call that asked is waiting for it, and it begins once.
                let CallStart::Asked(order) = start else {
                    self.start = start;
                    return;
                };
                let begun = match check_folders(&self.root, folders).await {
                    Ok(()) => self.begin_call(order).map_err(|error| error.to_string()),
                    Err(why) => Err(why),
                };
                if let Err(why) = begun {
                    self.start = CallStart::Refused(why);
                }
                return;
            }
            CallAnswer::Person(answer) => {
                DriverOrder::Answer { question, answer, client: self.client.clone() }
            }
            CallAnswer::Model(answer) => {
                DriverOrder::ModelSaid { call: self.number, question, answer }
            }
        };
        // A driver that has gone has settled everything.
        let _ = self.orders.send(order);
    }
}

impl Drop for ServedCall {
    fn drop(&mut self) {
        let _ = self.orders.send(DriverOrder::GiveUp(self.number));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};
    use tokio::sync::Semaphore;
    use weir_mcp_server::{FoldersAnswer, LogLevel};

    use super::*;

    /// A call, what is ordered for it, and what its client hears by.
    struct Place {
        call: ServedCall,
        ordered: mpsc::UnboundedReceiver<DriverOrder>,
        news: mpsc::UnboundedSender<CallNews>,
        log: mpsc::Sender<LogLine>,
        progress: watch::Sender<String>,
    }

    fn place() -> Place {
        let (news, hears) = mpsc::unbounded_channel();
        let (log, logged) = mpsc::channel(4);
        let (progress, told) = watch::channel(String::new());
        let (orders, ordered) = mpsc::unbounded_channel();
        let open = Arc::new(Semaphore::new(1));
        let call = ServedCall {
            number: 1,
            client: ClientIdentity::default(),
            news: hears,
            log: logged,
            progress: told,
            orders,
            root: PathBuf::from("/srv/site"),
            start: CallStart::Begun,
            _permit: open.try_acquire_owned().expect("a place"),
        };
        Place { call, ordered, news, log, progress }
    }

    fn order() -> Box<OrderedCall> {
        Box::new(OrderedCall {
            number: 1,
            client: ClientIdentity::default(),
            tool: "read_file".into(),
            arguments: Map::new(),
            news: mpsc::unbounded_channel().0,
            log: mpsc::channel(1).0,
            progress: watch::channel(String::new()).0,
        })
    }

    #[tokio::test]
    async fn r2_of_progress_that_nobody_read_only_the_newest_is_kept_and_told_before_the_end() {
        let Place { mut call, news, log, progress, .. } = place();
        for line in 0..10_000 {
            progress.send_replace(format!("line {line}"));
        }
        let line = LogLine { level: LogLevel::Info, logger: "weir", data: json!("it runs") };
        log.try_send(line.clone()).expect("there is room");
        let result = CallResult { parts: Vec::new(), ok: true };
        news.send(CallNews::Finished(result.clone())).expect("somebody hears");
        drop((progress, log));
        assert_eq!(call.next_news().await, CallNews::Progress("line 9999".into()));
        assert_eq!(call.next_news().await, CallNews::Logged(line));
        assert_eq!(call.next_news().await, CallNews::Finished(result));
    }

    #[tokio::test]
    async fn r2_a_call_that_follows_folders_begins_once_and_only_where_its_client_has_it_open() {
        let open = |uri: &str| CallAnswer::Folders(FoldersAnswer::Open(vec![uri.into()]));
        let Place { mut call, mut ordered, .. } = place();
        call.start = CallStart::Waits(order());
        // What was not asked yet is not answered.
        call.answer_question(FOLDERS, open("file:///srv/site")).await;
        assert!(ordered.try_recv().is_err());
        let asked = call.next_news().await;
        assert_eq!(asked, CallNews::Asked(CallQuestion::Folders(FOLDERS.into())));
        call.answer_question(FOLDERS, open("file:///srv/site")).await;
        call.answer_question(FOLDERS, open("file:///srv/site")).await;
        assert!(matches!(ordered.try_recv(), Ok(DriverOrder::Call(_))));
        assert!(ordered.try_recv().is_err(), "it begins once");

        let Place { mut call, mut ordered, .. } = place();
        call.start = CallStart::Waits(order());
        call.next_news().await;
        call.answer_question(FOLDERS, open("file:///srv/other")).await;
        let told = call.next_news().await;
        assert!(matches!(&told, CallNews::Finished(result) if !result.ok), "{told:?}");
        call.answer_question(FOLDERS, open("file:///srv/site")).await;
        assert!(ordered.try_recv().is_err(), "a no stays one");
    }
}
