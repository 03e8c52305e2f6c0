//! The one task that has the session of an MCP client: calls go in as the replies of its model, facts come
//! back as news. It opens a session when the first call comes and gives it back when the client goes. Not
//! here: what a fact means for a call (`board`).

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use serde_json::{Map, Value};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use weir_core::event::{ApprovalRequested, CancelCause, Decision, Event, InputAddition};
use weir_core::ids::{ApprovalId, CallId};
use weir_core::input::PersonMessage;
use weir_core::label::Label;
use weir_core::message::{MessageBlock, StoredMedia};
use weir_core::model::{ModelInfo, ReplyCall};
use weir_core::view::told::one_line;
use weir_engine::engine::{Engine, SessionHandle, SessionOptions};
use weir_engine::hub::{SessionUpdate, SignalKind, UpdateSubscription};
use weir_engine::ports::CallReaders;
use weir_engine::workspace::Workspace;
use weir_mcp_server::{
    CallNews, CallQuestion, CallResult, ClientIdentity, LogLevel, LogLine, ModelAnswer,
    ModelQuestion, PersonAnswer, QuestionNeed, ResultPart,
};

use super::board::{BoardNews, CallBoard, CallNumber, GivenUp, NewsOfCall, wire_id};
use super::callers::{AskedModel, WaitingCaller};
use super::current::CurrentSession;
use super::log::{LineOwner, line_of_fact};
use super::question::{approval_form, decision_of, waiting_text};
use super::reader::{ClientReaders, ReaderOrder};
use super::{ServeOptions, prepare_session};
use crate::config::{ApprovalWay, ClientTrust};
use crate::context::InstallationContext;
use crate::leftovers;
use crate::wiring;
use crate::wiring::client_model::{CallQueue, ClientModel};

/// Calls after which a new session begins, once nothing is under way: nothing of a client's history is ever
/// left out, so it must not grow for ever.
const CALLS_PER_SESSION: u32 = 2_000;
/// How long a run may take to end when the client has gone.
const END_WAIT: Duration = Duration::from_secs(10);
/// Most tokens of an answer of a client's model.
const READER_TOKENS_MAX: u32 = 4_096;
/// What is said for the client. Words of the program, and the only ones that count as said: nothing that a
/// client writes is a person's word.
const SAID: &str = "Calls of an MCP client.";

/// What the driver is told.
pub(super) enum DriverOrder {
    /// A client calls a tool.
    Call(Box<OrderedCall>),
    /// It no longer wants the call.
    GiveUp(CallNumber),
    /// It answered a question, for its person as it says.
    Answer {
        /// The question.
        question: String,
        /// What came of it.
        answer: PersonAnswer,
        /// Who asked.
        client: ClientIdentity,
    },
    /// A call of the session has its client's model read something.
    AskModel(ReaderOrder),
    /// A client's model answered, or did not.
    ModelSaid {
        /// The call whose client was asked.
        call: CallNumber,
        /// The question.
        question: String,
        /// What came of it.
        answer: ModelAnswer,
    },
    /// It was told words that no call brought.
    Heard(Label),
    /// Nobody orders anything any more.
    Leave,
}

/// A call with whoever waits for it.
pub(super) struct OrderedCall {
    pub(super) number: CallNumber,
    pub(super) client: ClientIdentity,
    pub(super) tool: String,
    pub(super) arguments: Map<String, Value>,
    pub(super) news: mpsc::UnboundedSender<CallNews>,
    pub(super) log: mpsc::Sender<LogLine>,
    pub(super) progress: watch::Sender<String>,
}

/// Whether a question goes to the client's own form too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FormUse {
    Shown,
    None,
}

/// A call that the run under way is not for.
struct HeldCall {
    number: CallNumber,
    client: ClientIdentity,
    call: ReplyCall,
}

/// A session that is open.
struct LiveSession {
    handle: SessionHandle,
    updates: UpdateSubscription,
    workspace: Arc<Workspace>,
    /// Keeps what the session needs of the engine.
    _engine: Engine,
    calls: u32,
    runs: bool,
    /// Since when nothing runs.
    rests: Instant,
}

/// What woke the driver.
enum DriverWakeup {
    /// Nothing was called for as long as the session is kept.
    Rested,
    Order(Option<DriverOrder>),
    Update(Option<SessionUpdate>),
}

/// Drives the sessions of one client, one after the other.
pub(super) struct CallDriver {
    pub(super) cx: Arc<InstallationContext>,
    pub(super) serving: ServeOptions,
    /// What the first session is opened with; those after it are prepared anew.
    pub(super) first: Option<SessionOptions>,
    pub(super) queue: Arc<CallQueue>,
    board: CallBoard,
    callers: HashMap<CallNumber, WaitingCaller>,
    /// What clients' models are asked, by the name of the question.
    asked_models: HashMap<String, AskedModel>,
    /// Questions whose call was not heard of yet.
    unplaced: Vec<ReaderOrder>,
    /// Counts those that were asked.
    models_asked: u64,
    /// By which readers of a session ask for something.
    orders: mpsc::WeakUnboundedSender<DriverOrder>,
    /// Values that no line of the log tells.
    secrets: Vec<String>,
    /// Calls of other programs than the run under way is of, or from after somebody was told more words: they
    /// wait for a run of their own, so that it says whose they are and what had been read.
    held: VecDeque<HeldCall>,
    /// Whose calls the run under way, or the last one, is of.
    client: ClientIdentity,
    /// Whose words the clients were told beside their calls.
    heard: Label,
    /// The run under way does not know of all of them.
    heard_more: bool,
    current: Arc<CurrentSession>,
    live: Option<LiveSession>,
}

impl CallDriver {
    pub(super) fn new(
        cx: Arc<InstallationContext>,
        serving: ServeOptions,
        first: SessionOptions,
        current: Arc<CurrentSession>,
        orders: mpsc::WeakUnboundedSender<DriverOrder>,
    ) -> CallDriver {
        CallDriver {
            cx,
            serving,
            first: Some(first),
            queue: Arc::default(),
            board: CallBoard::default(),
            callers: HashMap::new(),
            asked_models: HashMap::new(),
            unplaced: Vec::new(),
            models_asked: 0,
            orders,
            secrets: Vec::new(),
            held: VecDeque::new(),
            client: ClientIdentity::default(),
            heard: Label::default(),
            heard_more: false,
            current,
            live: None,
        }
    }

    /// Serves until nobody orders anything any more, then gives the session back.
    pub(super) async fn drive_sessions(mut self, mut orders: mpsc::UnboundedReceiver<DriverOrder>) {
        loop {
            let ends = self.rest_end();
            let rested = async {
                match ends {
                    Some(at) => tokio::time::sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            let live = &mut self.live;
            let update = async {
                match live {
                    Some(live) => live.updates.next().await,
                    None => std::future::pending().await,
                }
            };
            let woken = tokio::select! {
                biased;
                update = update => DriverWakeup::Update(update.ok().flatten()),
                order = orders.recv() => DriverWakeup::Order(order),
                () = rested => DriverWakeup::Rested,
            };
            match woken {
                DriverWakeup::Rested => self.give_session_back().await,
                DriverWakeup::Order(None | Some(DriverOrder::Leave)) => break,
                DriverWakeup::Order(Some(order)) => self.take_order(order).await,
                DriverWakeup::Update(Some(update)) => self.take_update(update).await,
                DriverWakeup::Update(None) => self.lose_session().await,
            }
        }
        self.give_session_back().await;
    }

    /// When a session that nobody calls anything in is given back, so that its person can go on with it.
    fn rest_end(&self) -> Option<Instant> {
        let live = self.live.as_ref().filter(|live| !live.runs)?;
        Some(live.rests + self.serving.rest?)
    }

    async fn take_order(&mut self, order: DriverOrder) {
        match order {
            DriverOrder::Call(call) => self.take_call(*call).await,
            DriverOrder::GiveUp(number) => self.give_up_call(number).await,
            DriverOrder::Answer { question, answer, client } => {
                let Some(decision) = decision_of(&answer) else { return };
                // Whether anybody saw the form is known to nobody here.
                let by = format!(
                    "{}, by its form, for {}",
                    client_words(&client),
                    self.principal_name()
                );
                self.decide_approval(&ApprovalId::new(question), decision, &by, None).await;
            }
            DriverOrder::AskModel(order) => self.ask_model(order),
            DriverOrder::ModelSaid { call, question, answer } => {
                // Only the client that was asked answers.
                if self.asked_models.get(&question).is_some_and(|asked| asked.call == call)
                    && let Some(asked) = self.asked_models.remove(&question)
                {
                    // A reader that waits no longer needs no answer.
                    let _ = asked.reply.send(answer);
                }
            }
            DriverOrder::Heard(label) => {
                self.heard.join(&label);
                self.heard_more = true;
            }
            // Taken before it comes here.
            DriverOrder::Leave => (),
        }
    }

    /// Has the client of a call ask its model.
    fn ask_model(&mut self, order: ReaderOrder) {
        // Of a session that has ended: numbers of calls begin anew in the next one.
        if order.reply.is_closed() {
            return;
        }
        let Some(call) = self.board.find_known(order.call) else {
            // A call may run before the fact that it was asked for is told here.
            self.unplaced.push(order);
            return;
        };
        let ReaderOrder { system, text, reply, .. } = order;
        let Some(caller) = self.callers.get(&call) else {
            let why = "the client no longer waits for this call".to_owned();
            let _ = reply.send(ModelAnswer::Failed(why));
            return;
        };
        self.models_asked += 1;
        let name = format!("reader-{}", self.models_asked);
        let question = CallQuestion::Model(ModelQuestion {
            name: name.clone(),
            system,
            text,
            tokens_max: READER_TOKENS_MAX,
            need: QuestionNeed::Optional,
        });
        if caller.news.send(CallNews::Asked(question)).is_ok() {
            self.asked_models.insert(name, AskedModel { call, reply });
        }
    }

    /// Asks what waited for the session to be heard about its call, unless nobody wants to know it any more.
    fn ask_unplaced(&mut self) {
        for order in std::mem::take(&mut self.unplaced) {
            if !order.reply.is_closed() {
                self.ask_model(order);
            }
        }
    }

    /// Nobody waits for a call any more, or it is over: so are the questions of it.
    fn forget_caller(&mut self, call: CallNumber) -> Option<WaitingCaller> {
        self.asked_models.retain(|_, asked| asked.call != call);
        self.callers.remove(&call)
    }

    async fn take_call(&mut self, call: OrderedCall) {
        let OrderedCall { number, client, tool, arguments, news, log, progress } = call;
        let caller = WaitingCaller {
            client: client.clone(),
            tool: tool.clone(),
            news,
            log,
            left_out: 0,
            progress,
        };
        self.callers.insert(number, caller);
        let arguments = Value::Object(arguments).to_string();
        let call = ReplyCall { wire_id: wire_id(number), tool, arguments, seal: None };
        self.held.push_back(HeldCall { number, client, call });
        match self.live.as_ref().is_some_and(|live| live.runs) {
            true => self.queue_held_calls(),
            false => self.begin_run().await,
        }
    }

    /// Gives the run the calls that are of its client, in their order: nobody goes before somebody who waited.
    fn queue_held_calls(&mut self) {
        while !self.heard_more
            && let Some(next) = self.held.pop_front_if(|next| next.client == self.client)
        {
            self.board.add_call(next.number);
            self.queue.push_call(next.call);
        }
    }

    /// Begins a run for what waits, in a session that is opened where there is none.
    async fn begin_run(&mut self) {
        // What a run before left is said again first, and alone.
        if !self.board.has_queued() {
            let Some(next) = self.held.front() else { return };
            self.client = next.client.clone();
        }
        let ready = match self.check_not_paused().await {
            Ok(()) => self.open_session().await,
            paused => paused,
        };
        if let Err(why) = ready {
            self.fail_all(&why).await;
            return;
        }
        self.heard_more = false;
        self.queue_held_calls();
        let label = match self.serving.trust {
            ClientTrust::Foreign => Label::external(format!("mcp:{}", client_words(&self.client))),
            ClientTrust::Own => Label::default(),
        };
        let label = label.joined_with(&self.heard);
        let added = vec![InputAddition {
            source: client_words(&self.client),
            text: "What is called, and with which arguments, is this program's own choice.".into(),
            label,
        }];
        let content = vec![MessageBlock::text(SAID)];
        let message = PersonMessage { content, added, ..PersonMessage::default() };
        let by = format!("{}, through {}", self.principal_name(), client_words(&self.client));
        let Some(live) = &mut self.live else { return };
        live.runs = true;
        self.board.note_said();
        let said = live.handle.tell_session(&by, message.into()).await;
        if let Err(error) = said {
            live.runs = false;
            self.fail_all(&error.to_string()).await;
        }
    }

    /// Nothing begins while Weir is paused; what is under way is ended by the engine.
    async fn check_not_paused(&self) -> Result<(), String> {
        let store = self.cx.session_store().map_err(|error| format!("{error:#}"))?;
        match store.pause_state().await {
            Ok(None) => Ok(()),
            Ok(Some(pause)) => Err(format!(
                "Weir is paused by {}; the person ends that with `weir release`.",
                one_line(&pause.by)
            )),
            // Whoever cannot ask does nothing.
            Err(error) => Err(format!("whether Weir is paused cannot be found out: {error}")),
        }
    }

    async fn open_session(&mut self) -> Result<(), String> {
        let is_old =
            |live: &LiveSession| live.calls >= CALLS_PER_SESSION || live.handle.is_closed();
        if self.live.as_ref().is_some_and(is_old) {
            self.give_session_back().await;
        }
        if self.live.is_some() {
            return Ok(());
        }
        let text = |error: anyhow::Error| format!("no session can be opened: {error:#}");
        let mut options = match self.first.take() {
            Some(options) => options,
            None => prepare_session(&self.cx, &self.serving).await.map_err(text)?,
        };
        let model = Arc::new(ClientModel::new(&self.client.name, self.queue.clone()));
        options.config.model = weir_engine::ports::Model::info(model.as_ref()).as_ref().clone();
        options.model = model;
        options.resources.readers = self.client_readers(&options.config.model);
        let store = self.cx.session_store().map_err(text)?;
        let engine = wiring::engine_on(&self.cx, self.serving.label, store).await.map_err(text)?;
        self.secrets.clone_from(&engine.parts().secrets);
        let workspace = options.workspace.clone();
        let id = wiring::new_session_id();
        let opened = engine.open(id.clone(), options).await;
        let handle = opened.map_err(|error| format!("no session can be opened: {error}"))?;
        let updates = handle.listen_to_updates(0);
        self.current.set_session(id.clone());
        self.cx.notify(&format!("session {id}: calls of {}", client_words(&self.client)));
        let secrets = &self.secrets;
        for caller in self.callers.values_mut() {
            caller.log_line(LogLevel::Info, &format!("calls go to session {id}"), secrets);
        }
        self.live = Some(LiveSession {
            handle,
            updates,
            workspace,
            _engine: engine,
            calls: 0,
            runs: false,
            rests: Instant::now(),
        });
        Ok(())
    }

    fn client_readers(&self, info: &ModelInfo) -> Option<Arc<dyn CallReaders>> {
        let orders = self.serving.sampling.then(|| self.orders.clone())?;
        Some(Arc::new(ClientReaders { info: Arc::new(info.clone()), orders }))
    }

    /// Tells a line of the log to whom it is for.
    fn log_fact(&mut self, event: &Event) {
        let Some((owner, level, text)) = line_of_fact(event) else { return };
        let calls = match owner {
            LineOwner::Call(call) => self.board.find_known(call).into_iter().collect(),
            LineOwner::All => self.board.known_calls(),
        };
        for call in calls {
            if let Some(caller) = self.callers.get_mut(&call) {
                caller.log_line(level, &text, &self.secrets);
            }
        }
    }

    async fn give_up_call(&mut self, number: CallNumber) {
        let caller = self.forget_caller(number);
        self.held.retain(|held| held.number != number);
        let by = caller.map_or_else(|| self.client.clone(), |caller| caller.client);
        match self.board.give_up(number) {
            GivenUp::LeftAlone => (),
            GivenUp::Unqueue => {
                if self.queue.remove_call(&wire_id(number)) {
                    self.board.remove_call(number);
                }
            }
            GivenUp::Deny(approval) => self.deny_unwanted(&approval, &by).await,
            GivenUp::EndRun => self.end_run(&by).await,
        }
    }

    async fn end_unwanted_run(&self) {
        if self.board.is_all_given_up() {
            self.end_run(&self.client).await;
        }
    }

    async fn end_run(&self, by: &ClientIdentity) {
        let Some(live) = self.live.as_ref().filter(|live| live.runs) else { return };
        let by = client_words(by);
        if let Err(error) = live.handle.cancel_run(CancelCause::Cancelled, &by).await {
            tracing::debug!(%error, "the run of a client could not be ended");
        }
    }

    async fn deny_unwanted(&self, approval: &ApprovalId, by: &ClientIdentity) {
        let by = client_words(by);
        let why = Some("the client gave the call up".to_owned());
        self.decide_approval(approval, Decision::Deny, &by, why).await;
    }

    async fn decide_approval(
        &self,
        approval: &ApprovalId,
        decision: Decision,
        by: &str,
        reason: Option<String>,
    ) {
        let Some(live) = &self.live else { return };
        let decided = live.handle.decide_approval(approval.clone(), decision, by, reason).await;
        // Somebody else was quicker: their answer counts, and is told as any other.
        if let Err(error) = decided {
            tracing::debug!(%error, "an answer came too late");
        }
    }

    async fn take_update(&mut self, update: SessionUpdate) {
        match update {
            SessionUpdate::Signal { kind: SignalKind::Output, subject, text } => {
                let call = subject.parse::<CallId>().ok();
                let news = call.and_then(|call| self.board.take_output(call, &text));
                self.tell_callers(news.into_iter().collect()).await;
            }
            SessionUpdate::Signal { .. } => (),
            SessionUpdate::Fact(fact) => self.take_fact(&fact.event).await,
        }
    }

    async fn take_fact(&mut self, event: &Arc<Event>) {
        self.current.count_fact(event);
        // The end of a call is told while it is known.
        self.log_fact(event);
        let news = self.board.take_fact(event);
        self.tell_callers(news).await;
        self.ask_unplaced();
        match event.as_ref() {
            Event::ModelReplied(reply) => {
                let calls = |block: &&MessageBlock| matches!(block, MessageBlock::Call(_));
                let made = reply.content.iter().filter(calls).count();
                if let Some(live) = &mut self.live {
                    live.calls = live.calls.saturating_add(u32::try_from(made).unwrap_or(u32::MAX));
                }
                self.end_unwanted_run().await;
            }
            // What goes on may be what nobody waits for: those that did are answered.
            Event::CallFinished(_) | Event::CallUnknown(_) => self.end_unwanted_run().await,
            Event::RunFinished(run) => {
                // Whoever still asks is of no call: it hears that nobody answers.
                self.unplaced.clear();
                if let Some(live) = &mut self.live {
                    live.runs = false;
                    live.rests = Instant::now();
                }
                let queue = self.queue.clone();
                let over = self.board.end_run(run, |number| queue.has_call(&wire_id(number)));
                self.tell_callers(over).await;
                self.begin_run().await;
            }
            _ => (),
        }
    }

    async fn tell_callers(&mut self, all: Vec<NewsOfCall>) {
        for NewsOfCall { call, news } in all {
            let news = match news {
                BoardNews::Progress(words) => {
                    if let Some(caller) = self.callers.get(&call) {
                        caller.progress.send_replace(words);
                    }
                    continue;
                }
                BoardNews::Asked { asked, is_ordinary } => {
                    self.tell_asked(call, &asked, self.may_show_form(is_ordinary));
                    continue;
                }
                BoardNews::Unwanted(approval) => {
                    self.deny_unwanted(&approval, &self.client).await;
                    continue;
                }
                BoardNews::Settled(approval) => CallNews::Settled(approval.to_string()),
                BoardNews::Finished { blocks, ok } => {
                    // One that was never taken is not taken later.
                    self.queue.remove_call(&wire_id(call));
                    let parts = self.result_parts(&blocks).await;
                    CallNews::Finished(CallResult { parts, ok })
                }
            };
            let is_over = matches!(news, CallNews::Finished(_));
            // Whoever gave the call up hears nothing.
            if let Some(caller) = self.callers.get(&call) {
                let _ = caller.news.send(news);
            }
            if is_over {
                self.forget_caller(call);
            }
        }
    }

    /// Whether a client's form may decide: its program could answer by itself, so where nobody vouches for
    /// the program, what would be worth it to an attacker is answered elsewhere.
    fn may_show_form(&self, is_ordinary: bool) -> FormUse {
        match (self.serving.approvals, self.serving.trust) {
            (ApprovalWay::Ask, ClientTrust::Own) => FormUse::Shown,
            (ApprovalWay::Ask, ClientTrust::Foreign) if is_ordinary => FormUse::Shown,
            (ApprovalWay::Ask | ApprovalWay::Elsewhere | ApprovalWay::Deny, _) => FormUse::None,
        }
    }

    fn tell_asked(&self, call: CallNumber, asked: &ApprovalRequested, form: FormUse) {
        let Some(caller) = self.callers.get(&call) else { return };
        caller.progress.send_replace(waiting_text(asked));
        let root = self.live.as_ref().map(|live| live.workspace.root().display().to_string());
        let form = match form {
            FormUse::Shown => approval_form(asked, &root.unwrap_or_default()),
            FormUse::None => None,
        };
        if let Some(form) = form {
            let _ = caller.news.send(CallNews::Asked(CallQuestion::Person(form)));
        }
    }

    async fn result_parts(&self, blocks: &[MessageBlock]) -> Vec<ResultPart> {
        let mut parts = Vec::new();
        for block in blocks {
            match block {
                MessageBlock::Text { text, .. } => parts.push(ResultPart::Text(text.clone())),
                MessageBlock::Image { media } => parts.push(self.media_part(media, true).await),
                MessageBlock::Document { media } => parts.push(self.media_part(media, false).await),
                MessageBlock::Thinking { .. }
                | MessageBlock::Call(_)
                | MessageBlock::Result { .. } => (),
            }
        }
        parts
    }

    async fn media_part(&self, media: &StoredMedia, is_image: bool) -> ResultPart {
        let name = media.name.as_deref().unwrap_or(&media.media_type);
        let Some(live) = &self.live else {
            return ResultPart::Text(format!("[{name} is gone with its session]"));
        };
        let bytes = match live.handle.blobs().get(&media.blob).await {
            Ok(bytes) => bytes,
            Err(error) => return ResultPart::Text(format!("[{name} cannot be read: {error}]")),
        };
        let data = base64::engine::general_purpose::STANDARD.encode(&bytes);
        let media_type = media.media_type.clone();
        match is_image {
            true => ResultPart::Image { media_type, data },
            false => ResultPart::BinaryResource {
                uri: format!("weir://blob/{}", media.blob),
                media_type,
                data,
            },
        }
    }

    /// The session went down by itself.
    async fn lose_session(&mut self) {
        let why = match self.live.take() {
            Some(live) => match live.handle.close().await {
                Ok(()) => "the session has ended; call again for a new one".to_owned(),
                Err(error) => format!("the session went down: {error}"),
            },
            None => "there is no session".to_owned(),
        };
        self.fail_all(&why).await;
    }

    async fn fail_all(&mut self, why: &str) {
        self.held.drain(..).for_each(|held| self.board.add_call(held.number));
        let failed = self.board.fail_all(why);
        self.tell_callers(failed).await;
    }

    /// Ends what is on, and gives the session back.
    async fn give_session_back(&mut self) {
        self.end_run(&self.client).await;
        let Some(mut live) = self.live.take() else { return };
        if live.runs {
            let over = async {
                while let Ok(Some(update)) = live.updates.next().await {
                    let SessionUpdate::Fact(fact) = update else { continue };
                    if matches!(fact.event.as_ref(), Event::RunFinished(_)) {
                        break;
                    }
                }
            };
            // What does not end in time is taken up again by whoever opens the session next.
            let _ = tokio::time::timeout(END_WAIT, over).await;
        }
        let id = live.handle.id().clone();
        if let Err(error) = live.handle.close().await {
            tracing::warn!(%error, "a session was not given back well");
        }
        leftovers::remove_results(&live.workspace, &id);
    }

    fn principal_name(&self) -> String {
        wiring::principal_name(&self.cx)
    }
}

/// A client as it is named in journals: what it says of itself, in one plain line.
fn client_words(client: &ClientIdentity) -> String {
    let name = one_line(&client.name);
    match name.is_empty() {
        true => "an MCP client".into(),
        false => format!("the MCP client {name}"),
    }
}
