//! History made valid for any vendor, and kept encoded (V3, P2, Q4).
//!
//! Messages are gathered into groups of one role. A group of the user's side answers every call of
//! the group before it, exactly once and first of all. What a dialect writes for a group is kept, so
//! that the next request costs only what is new; when the history was changed, everything from the
//! first difference on is written again, and [`PreparedRequest`] says how much of the old bytes survived.
//!
//! Nothing here knows JSON shapes: those are in the dialects ([`RenderDialect`]).

mod pieces;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use weir_core::ids::SessionId;
use weir_core::message::{Message, MessageBlock, Role};
use weir_core::model::{ModelInfo, ModelRequest, Thinking};
use weir_core::tool::{ToolSpec, defer};
use weir_engine::equal_parts::EqualParts;
use weir_engine::ports::{AttachmentSupport, MediaMap, PreparedRequest};

use super::json::is_blank;
use super::names::{IdAlphabet, keep_id, own_id, wire_name};
use super::{RequestEncoder, VendorQuirks};
pub(crate) use pieces::{AssistantPart, CallResultPart, MediaRules, UserPart};

/// What is said when the history gives the model nothing to answer.
const NOTHING_NEW: &str = "Continue.";
/// Bytes for which there is room after the first request of a conversation.
const BODY_SPARE_BYTES: usize = 2 << 10;
/// Stands for an assistant message of which nothing is left.
const NOTHING_SAID: &str = "(no content)";

/// What stands before the histories of all sessions of the program: of most it is the same, and it is the most of
/// what a short session has encoded.
static REQUEST_HEADS: EqualParts<[u8]> = EqualParts::new();

/// How far a group of the user's side can still be extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupShape {
    /// Written to its end.
    Closed,
    /// A list of parts is open.
    List,
    /// One text is open: more text can follow, nothing else.
    Text,
}

/// What one dialect writes.
pub(crate) trait RenderDialect: Send {
    /// Name of the dialect: whose seals it can read.
    const DIALECT: &'static str;
    /// What goes into `,…` of the newest stable block to mark it for the vendor's cache.
    const MARKER: Option<&'static str> = None;
    /// A sealed text goes back even when it is empty.
    const SEALED_BLANK_TEXT: bool = false;
    /// The quirks of its vendor.
    fn quirks(&self) -> &VendorQuirks;
    /// Which ids of calls the vendor accepts.
    fn id_alphabet(&self) -> IdAlphabet;
    /// Which media the vendor takes.
    fn media_rules(&self) -> MediaRules;
    /// Whether thinking may be asked for when the last group of the assistant says `said`.
    fn may_think(&self, _last: &LastTurn) -> bool {
        true
    }
    /// Everything before the history, the bracket that opens it included.
    fn write_head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking);
    /// Writes a group of the assistant, whole. `said` is not empty.
    fn write_assistant(&self, out: &mut Vec<u8>, said: &[AssistantPart<'_>]);
    /// Writes a group of the user's side and leaves it open. `answers` and `parts` are not both
    /// empty.
    fn write_user(
        &self,
        out: &mut Vec<u8>,
        answers: &[CallResultPart<'_>],
        parts: &[UserPart<'_>],
    ) -> GroupShape;
    /// Extends an open group. `None` when it cannot be: nothing was written then. Text can always
    /// be added.
    fn extend(
        &self,
        out: &mut Vec<u8>,
        shape: GroupShape,
        parts: &[UserPart<'_>],
    ) -> Option<GroupShape>;
    /// Closes a group of the user's side.
    fn close_group(&self, out: &mut Vec<u8>, shape: GroupShape);
    /// Closes the body.
    fn close_body(&self, out: &mut Vec<u8>);
}

/// What the last group of the assistant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LastTurn {
    pub(crate) calls: bool,
    pub(crate) thinking: bool,
}

/// A call that was written, by the number of the session.
#[derive(Debug)]
struct IssuedCall {
    call: weir_core::ids::CallId,
    wire_id: String,
    name: String,
    /// The input, where another tool carries the call.
    carried: Option<serde_json::Value>,
    /// The vendor's own id, when this vendor made the call.
    echo: Option<String>,
}

/// Messages of one role that became one message on the wire.
#[derive(Debug)]
struct MessageGroup {
    role: Role,
    /// Messages `first..end` of the history; none for the greeting that some histories need.
    first: usize,
    end: usize,
    /// Length of the kept body before it, the group before it not closed yet.
    start: usize,
    /// Calls issued before it.
    issued: usize,
    shape: GroupShape,
    /// Where a cache marker goes into its last block.
    mark: Option<usize>,
}

/// Everything that stands before the history: when it changes, nothing can be kept.
struct RequestHead {
    session: SessionId,
    model: Arc<ModelInfo>,
    system: Arc<str>,
    tools: Arc<Vec<ToolSpec>>,
    thinking: Thinking,
    /// As it is written, all but the last byte, by which a dialect tells whether a comma comes next.
    bytes: Arc<[u8]>,
}

impl RequestHead {
    fn is_same(&self, request: &ModelRequest, thinking: Thinking) -> bool {
        self.thinking == thinking
            && self.session == request.session
            && (Arc::ptr_eq(&self.system, &request.system) || self.system == request.system)
            && (Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools)
            && (Arc::ptr_eq(&self.model, &request.model) || self.model == request.model)
    }
}

/// The encoder of every dialect.
pub(crate) struct RequestBuffer<R> {
    render: R,
    head: Option<RequestHead>,
    /// The model of the request at hand: some seals are bound to theirs.
    model: String,
    /// The last byte of the head and the history, the last group open, without markers and tail.
    body: Vec<u8>,
    seen: Vec<Arc<Message>>,
    groups: Vec<MessageGroup>,
    issued: Vec<IssuedCall>,
    /// Ids of `issued`, so that none is used twice.
    used_ids: HashSet<String>,
    /// Where the newest marker stood in the request before: its cache entry is still wanted.
    marked_before: Option<usize>,
    sent: Bytes,
}

impl<R: RenderDialect> RequestBuffer<R> {
    pub(crate) fn new(render: R) -> RequestBuffer<R> {
        RequestBuffer {
            render,
            head: None,
            model: String::new(),
            body: Vec::new(),
            seen: Vec::new(),
            groups: Vec::new(),
            issued: Vec::new(),
            used_ids: HashSet::new(),
            marked_before: None,
            sent: Bytes::new(),
        }
    }

    /// What of the head stands before the body that is kept.
    fn head_bytes(&self) -> &[u8] {
        match &self.head {
            Some(head) => &head.bytes,
            None => &[],
        }
    }

    /// Head and history as they stand in one body.
    fn whole_body(&self) -> Vec<u8> {
        [self.head_bytes(), self.body.as_slice()].concat()
    }

    /// Forgets what is kept, and writes the head of `request`.
    fn begin_body(&mut self, request: &ModelRequest, thinking: Thinking) {
        self.rewind_to(0);
        self.body.clear();
        self.marked_before = None;
        let mut head = Vec::new();
        self.render.write_head(&mut head, request, thinking);
        self.body.extend(head.pop());
        let bytes: Arc<[u8]> = head.into();
        // One that names its session is no other's.
        let bytes = if self.render.quirks().prompt_cache_key {
            bytes
        } else {
            REQUEST_HEADS.share(bytes, |one, other| one == other)
        };
        self.head = Some(RequestHead {
            session: request.session.clone(),
            model: request.model.clone(),
            system: request.system.clone(),
            tools: request.tools.clone(),
            thinking,
            bytes,
        });
    }

    /// How much may be thought about `request`.
    fn possible_thinking(&self, request: &ModelRequest) -> Thinking {
        if self.render.may_think(&self.last_turn(&request.history)) {
            request.thinking
        } else {
            Thinking::Off
        }
    }

    fn has_head_of(&self, request: &ModelRequest, thinking: Thinking) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_same(request, thinking))
    }

    /// The last group of which no message is behind the first `unchanged` ones. It may still be written again.
    fn last_kept_group(&self, unchanged: usize) -> Option<&MessageGroup> {
        self.groups.iter().rev().find(|group| group.end <= unchanged)
    }

    /// How many of the messages seen are still the same.
    fn unchanged_prefix(&self, history: &[Arc<Message>]) -> usize {
        let same = |(a, b): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b) || a == b;
        self.seen.iter().zip(history).take_while(same).count()
    }

    /// Drops every group that covers a message from `from` on.
    fn rewind_to(&mut self, from: usize) {
        while self.groups.last().is_some_and(|group| group.end > from) {
            self.pop_group();
        }
        // A greeting stands only before the assistant's words.
        if let [MessageGroup { role: Role::User, first, end, .. }] = self.groups[..]
            && first == end
        {
            self.pop_group();
        }
        self.seen.truncate(from);
    }

    fn pop_group(&mut self) {
        if let Some(group) = self.groups.pop() {
            self.body.truncate(group.start);
            for issued in self.issued.drain(group.issued..) {
                self.used_ids.remove(&issued.wire_id);
            }
        }
    }

    /// Writes the messages of `history` that no group covers yet.
    fn extend(&mut self, history: &[Arc<Message>], scene: &RenderContext<'_>) {
        let mut next = self.groups.last().map_or(0, |group| group.end);
        while next < history.len() {
            if !self.has_wire_content(&history[next]) {
                next += 1;
                continue;
            }
            let role = history[next].role;
            let mut end = next + 1;
            while end < history.len()
                && (history[end].role == role || !self.has_wire_content(&history[end]))
            {
                end += 1;
            }
            self.add_messages(history, next..end, scene);
            next = end;
        }
        let known = self.seen.len();
        self.seen.extend(history[known..].iter().cloned());
    }

    /// Adds messages of one role: to the open group of that role, or as a new one.
    fn add_messages(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &RenderContext<'_>,
    ) {
        let role = history[range.start].role;
        let mut first = range.start;
        if let Some(open) = self.groups.last()
            && open.role == role
        {
            if role == Role::User && self.append_to_open_group(history, range.clone(), scene) {
                return;
            }
            first = self.groups.last().map_or(first, |open| open.first);
            self.pop_group();
        }
        match role {
            Role::User => self.user_group(history, first..range.end, scene),
            Role::Assistant => self.assistant_group(history, first..range.end, scene),
        }
    }

    /// Appends to the open group of the user's side what needs nothing before it changed.
    fn append_to_open_group(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &RenderContext<'_>,
    ) -> bool {
        let asked = self.asked_before_last();
        let blocks = || history[range.clone()].iter().filter(|m| m.role == Role::User);
        let answers_late = blocks().flat_map(|message| &message.blocks).any(|block| {
            matches!(block, MessageBlock::Result { call, .. }
                if self.issued[asked.clone()].iter().any(|issued| issued.call == *call))
        });
        if answers_late {
            return false;
        }
        let parts = self.parts_of(&history[range.clone()], &[], scene);
        let Some(group) = self.groups.last_mut() else { return false };
        if parts.is_empty() {
            group.end = range.end;
            return true;
        }
        let Some(shape) = self.render.extend(&mut self.body, group.shape, &parts) else {
            return false;
        };
        group.shape = shape;
        group.end = range.end;
        group.mark = mark_before(&self.body, b"");
        true
    }

    /// The calls that the last group, one of the user's side, answers.
    fn asked_before_last(&self) -> std::ops::Range<usize> {
        let count = self.groups.len();
        let from = match count.checked_sub(2) {
            Some(before) => self.groups[before].issued,
            None => self.issued.len(),
        };
        from..self.issued.len()
    }

    /// The calls that a new group of the user's side must answer.
    fn open_calls(&self) -> std::ops::Range<usize> {
        let from = match self.groups.last() {
            Some(MessageGroup { role: Role::Assistant, issued, .. }) => *issued,
            Some(MessageGroup { role: Role::User, .. }) | None => self.issued.len(),
        };
        from..self.issued.len()
    }

    fn user_group(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &RenderContext<'_>,
    ) {
        let asked = self.open_calls();
        let start = self.body.len();
        let mut body = std::mem::take(&mut self.body);
        self.close_last(&mut body);
        let messages = &history[range.clone()];
        let (answers, used) = self.call_results(messages, asked, scene);
        let parts = self.parts_of(messages, &used, scene);
        let shape = self.render.write_user(&mut body, &answers, &parts);
        drop((answers, parts));
        self.body = body;
        self.groups.push(MessageGroup {
            role: Role::User,
            first: range.start,
            end: range.end,
            start,
            issued: self.issued.len(),
            shape,
            mark: mark_before(&self.body, b""),
        });
    }

    fn assistant_group(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &RenderContext<'_>,
    ) {
        if self.groups.is_empty() {
            self.add_greeting(range.start);
        }
        let start = self.body.len();
        let issued = self.issued.len();
        // Silent messages of the user's side may stand in between; calls in them are none.
        for message in history[range.clone()].iter().filter(|m| m.role == Role::Assistant) {
            self.issue_calls(message);
        }
        let mut body = std::mem::take(&mut self.body);
        self.close_last(&mut body);
        let said = self.assistant_parts(&history[range.clone()], issued, scene);
        self.render.write_assistant(&mut body, &said);
        drop(said);
        self.body = body;
        self.groups.push(MessageGroup {
            role: Role::Assistant,
            first: range.start,
            end: range.end,
            start,
            issued,
            shape: GroupShape::Closed,
            mark: mark_before(&self.body, b"]}"),
        });
    }

    /// A conversation begins with the user, whoever spoke first.
    fn add_greeting(&mut self, at: usize) {
        let start = self.body.len();
        let shape =
            self.render.write_user(&mut self.body, &[], &[UserPart::from_text(NOTHING_NEW)]);
        let mark = mark_before(&self.body, b"");
        let role = Role::User;
        self.groups.push(MessageGroup { role, first: at, end: at, start, issued: 0, shape, mark });
    }

    fn close_last(&self, out: &mut Vec<u8>) {
        if let Some(MessageGroup { role: Role::User, shape, .. }) = self.groups.last() {
            self.render.close_group(out, *shape);
        }
    }

    /// Gives every call of `message` an id that this vendor accepts and that no other call has.
    fn issue_calls(&mut self, message: &Message) {
        let alphabet = self.render.id_alphabet();
        for block in &message.blocks {
            let MessageBlock::Call(call) = block else { continue };
            if self.issued.iter().rev().any(|issued| issued.call == call.call) {
                continue;
            }
            let keeps = keep_id(&call.wire_id, alphabet) && !self.used_ids.contains(&call.wire_id);
            let wire_id = if keeps { call.wire_id.clone() } else { own_id(call.call, alphabet) };
            let own = self.readable_seal(call.seal.as_ref());
            let echo = own.and_then(|seal| Some(seal.get("id")?.as_str()?.to_owned()));
            self.used_ids.insert(wire_id.clone());
            let carried = self
                .needs_carrier_tool(&call.tool)
                .then(|| defer::carry_call(&call.tool, &call.input));
            let name = if carried.is_some() { defer::CARRIER } else { call.tool.as_str() };
            let name = wire_name(name).into_owned();
            self.issued.push(IssuedCall { call: call.call, wire_id, name, carried, echo });
        }
    }

    /// Whether a call of `tool` goes by way of another: the request does not declare it, and some
    /// vendors refuse a call of what is not declared (T4).
    fn needs_carrier_tool(&self, tool: &str) -> bool {
        let has = |name: &str| {
            let tools = self.head.iter().flat_map(|head| head.tools.iter());
            tools.clone().any(|known| known.name == name)
        };
        !has(tool) && has(defer::CARRIER)
    }

    /// Whether anything of `message` reaches the wire.
    fn has_wire_content(&self, message: &Message) -> bool {
        message.blocks.iter().any(|block| match (message.role, block) {
            (_, MessageBlock::Text { text, seal, .. }) => {
                !is_blank(text)
                    || (message.role == Role::Assistant
                        && R::SEALED_BLANK_TEXT
                        && self.readable_seal(seal.as_ref()).is_some())
            }
            (_, MessageBlock::Image { .. } | MessageBlock::Document { .. })
            | (Role::Assistant, MessageBlock::Call(_))
            | (Role::User, MessageBlock::Result { .. }) => true,
            (_, MessageBlock::Thinking { .. })
            | (Role::User, MessageBlock::Call(_))
            | (Role::Assistant, MessageBlock::Result { .. }) => false,
        })
    }

    /// What the last group of the assistant holds, before anything is encoded.
    fn last_turn(&self, history: &[Arc<Message>]) -> LastTurn {
        let mut turn = LastTurn::default();
        let mut found = false;
        // Thinking that leads to nothing is not sent, so it does not count.
        let mut said_after = false;
        for message in history.iter().rev().filter(|message| self.has_wire_content(message)) {
            match message.role {
                Role::User if found => break,
                Role::User => {}
                Role::Assistant => {
                    found = true;
                    for block in message.blocks.iter().rev() {
                        match block {
                            MessageBlock::Thinking { seal, .. } => {
                                turn.thinking |=
                                    said_after && self.readable_seal(seal.as_ref()).is_some();
                            }
                            MessageBlock::Call(_) => {
                                turn.calls = true;
                                said_after = true;
                            }
                            MessageBlock::Text { text, .. } => said_after |= !is_blank(text),
                            MessageBlock::Image { .. } | MessageBlock::Document { .. } => {
                                said_after = true
                            }
                            MessageBlock::Result { .. } => {}
                        }
                    }
                }
            }
        }
        turn
    }

    /// The whole body: markers, tail and closing brackets around what is kept.
    fn assemble(&mut self, tail: Option<&str>) -> Vec<u8> {
        let tail = tail.filter(|text| !is_blank(text));
        let kept = self.head_bytes().len() + self.body.len();
        let mut out = Vec::with_capacity(kept + tail.map_or(0, str::len) * 2 + 256);
        out.extend_from_slice(self.head_bytes());
        let newest = self.groups.last().and_then(|group| group.mark);
        let mut from = 0;
        if let Some(marker) = R::MARKER {
            let before = self.marked_before.filter(|at| newest.is_some_and(|newest| *at < newest));
            for at in [before, newest].into_iter().flatten() {
                out.extend_from_slice(&self.body[from..at]);
                out.extend_from_slice(marker.as_bytes());
                from = at;
            }
            self.marked_before = newest;
        }
        out.extend_from_slice(&self.body[from..]);
        let shape = match self.groups.last() {
            Some(MessageGroup { role: Role::User, shape, .. }) => {
                let parts: Vec<UserPart<'_>> = tail.map(UserPart::from_text).into_iter().collect();
                let extended = (!parts.is_empty())
                    .then(|| self.render.extend(&mut out, *shape, &parts))
                    .flatten();
                extended.unwrap_or(*shape)
            }
            Some(MessageGroup { role: Role::Assistant, .. }) | None => {
                let scene = RenderContext::empty_context();
                let (answers, _) = self.call_results(&[], self.open_calls(), &scene);
                // Results alone are enough for the model to go on.
                let text = tail.or(answers.is_empty().then_some(NOTHING_NEW));
                let parts: Vec<UserPart<'_>> = text.map(UserPart::from_text).into_iter().collect();
                self.render.write_user(&mut out, &answers, &parts)
            }
        };
        self.render.close_group(&mut out, shape);
        self.render.close_body(&mut out);
        out
    }
}

/// `request` without tools where its model takes none. The last place where that can be held, whoever made the
/// request: a vendor refuses tools for such a model (K13).
fn without_refused_tools(request: &ModelRequest) -> Cow<'_, ModelRequest> {
    if request.tools.is_empty() || request.model.has_ability("tools") {
        Cow::Borrowed(request)
    } else {
        Cow::Owned(ModelRequest { tools: Arc::default(), ..request.clone() })
    }
}

impl<R: RenderDialect> RequestEncoder for RequestBuffer<R> {
    fn accepted_media(&self) -> AttachmentSupport {
        let rules = self.render.media_rules();
        AttachmentSupport {
            documents: rules.documents,
            document_bytes_max: rules.document_bytes_max,
        }
    }

    fn encode(&mut self, request: &ModelRequest, media: &MediaMap) -> PreparedRequest {
        let request = without_refused_tools(request);
        let request = request.as_ref();
        // Whoever still sends the body before this one has it: two whole ones are not kept here (Q5).
        self.sent = Bytes::new();
        let scene = RenderContext { media, model: Some(&request.model) };
        self.model.clone_from(&request.model.model.name);
        let thinking = self.possible_thinking(request);
        let head_length = self.head_bytes().len();
        let expected = head_length + self.body.len();
        let same_head = self.has_head_of(request, thinking);
        let unchanged = if same_head { self.unchanged_prefix(&request.history) } else { 0 };
        // The old bytes are compared from there on.
        let stable = if same_head {
            let kept = self.last_kept_group(unchanged).or(self.groups.first());
            kept.map_or(self.body.len(), |group| group.start)
        } else {
            0
        };
        let kept = if same_head {
            let old = self.body[stable..].to_vec();
            self.rewind_to(unchanged);
            self.extend(&request.history, &scene);
            let kept = stable + common_prefix(&old, &self.body[stable..]);
            // Within what was kept, the place is still the end of a block.
            self.marked_before = self.marked_before.filter(|at| *at < kept);
            head_length + kept
        } else {
            let old = self.whole_body();
            self.begin_body(request, thinking);
            self.extend(&request.history, &scene);
            // It grew by doubling; from now on a turn adds little.
            self.body.shrink_to(self.body.len() + BODY_SPARE_BYTES);
            if old.is_empty() { 0 } else { common_prefix(&old, &self.whole_body()) }
        };
        self.sent = Bytes::from(self.assemble(request.tail.as_deref()));
        PreparedRequest {
            bytes: self.sent.len() as u64,
            prefix_bytes: kept as u64,
            prefix_expected: expected as u64,
        }
    }

    fn first_to_write(&self, request: &ModelRequest) -> usize {
        let request = without_refused_tools(request);
        let request = request.as_ref();
        // Of another model than the last one the head differs as well.
        if !self.has_head_of(request, self.possible_thinking(request)) {
            return 0;
        }
        let unchanged = self.unchanged_prefix(&request.history);
        self.last_kept_group(unchanged).map_or(0, |group| group.first)
    }

    fn last_body(&self) -> Bytes {
        self.sent.clone()
    }

    fn take_body(&mut self) -> Bytes {
        std::mem::take(&mut self.sent)
    }
}

/// What a rendering needs beside the history.
struct RenderContext<'a> {
    media: &'a MediaMap,
    model: Option<&'a ModelInfo>,
}

impl RenderContext<'static> {
    fn empty_context() -> RenderContext<'static> {
        static EMPTY: MediaMap = MediaMap::new();
        RenderContext { media: &EMPTY, model: None }
    }
}

/// Before the brace that closes the last block: there a marker fits. `closers` is what follows that
/// block. Only dialects that have a marker read it, and all of their blocks are objects.
fn mark_before(body: &[u8], closers: &[u8]) -> Option<usize> {
    let blocks = body.strip_suffix(closers)?;
    (blocks.last() == Some(&b'}')).then(|| blocks.len() - 1)
}

/// Length of what `a` and `b` begin with in common.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    /// Compared as one piece, which is fast; the first piece that differs is searched byte by byte.
    const PIECE: usize = 4096;
    let mut at = 0;
    while let (Some(x), Some(y)) = (a.get(at..at + PIECE), b.get(at..at + PIECE)) {
        if x != y {
            break;
        }
        at += PIECE;
    }
    at + a[at..].iter().zip(&b[at..]).take_while(|(x, y)| x == y).count()
}
