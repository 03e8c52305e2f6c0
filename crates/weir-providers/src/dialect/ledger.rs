//! History made valid for any vendor, and kept encoded (V3, P2, Q4).
//!
//! Messages are gathered into groups of one role. A group of the user's side answers every call of
//! the group before it, exactly once and first of all. What a dialect writes for a group is kept, so
//! that the next request costs only what is new; when the history was changed, everything from the
//! first difference on is written again, and [`Prepared`] says how much of the old bytes survived.
//!
//! Nothing here knows JSON shapes: those are in the dialects ([`Render`]).

mod pieces;

use std::collections::HashSet;
use std::sync::Arc;

use bytes::Bytes;
use weir_core::ids::SessionId;
use weir_core::message::{Block, Message, Role};
use weir_core::model::{ModelInfo, ModelRequest, Thinking};
use weir_core::tool::{ToolSpec, defer};
use weir_engine::ports::{MediaMap, Prepared, Takes};

use super::json::is_blank;
use super::names::{IdAlphabet, keep_id, own_id, wire_name};
use super::{Encoder, Quirks};
pub(crate) use pieces::{Answer, MediaRules, Part, Said};

/// What is said when the history gives the model nothing to answer.
const NOTHING_NEW: &str = "Continue.";
/// Stands for an assistant message of which nothing is left.
const NOTHING_SAID: &str = "(no content)";

/// How far a group of the user's side can still be extended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Written to its end.
    Closed,
    /// A list of parts is open.
    List,
    /// One text is open: more text can follow, nothing else.
    Text,
}

/// What one dialect writes.
pub(crate) trait Render: Send {
    /// Name of the dialect: whose seals it can read.
    const DIALECT: &'static str;
    /// What goes into `,…` of the newest stable block to mark it for the vendor's cache.
    const MARKER: Option<&'static str> = None;
    /// A sealed text goes back even when it is empty.
    const SEALED_BLANK_TEXT: bool = false;
    /// The quirks of its vendor.
    fn quirks(&self) -> &Quirks;
    /// Which ids of calls the vendor accepts.
    fn ids(&self) -> IdAlphabet;
    /// Which media the vendor takes.
    fn media(&self) -> MediaRules;
    /// Whether thinking may be asked for when the last group of the assistant says `said`.
    fn may_think(&self, _last: &LastTurn) -> bool {
        true
    }
    /// Everything before the history, the bracket that opens it included.
    fn head(&self, out: &mut Vec<u8>, request: &ModelRequest, thinking: Thinking);
    /// Writes a group of the assistant, whole. `said` is not empty.
    fn assistant(&self, out: &mut Vec<u8>, said: &[Said<'_>]);
    /// Writes a group of the user's side and leaves it open. `answers` and `parts` are not both
    /// empty.
    fn user(&self, out: &mut Vec<u8>, answers: &[Answer<'_>], parts: &[Part<'_>]) -> Shape;
    /// Extends an open group. `None` when it cannot be: nothing was written then. Text can always
    /// be added.
    fn extend(&self, out: &mut Vec<u8>, shape: Shape, parts: &[Part<'_>]) -> Option<Shape>;
    /// Closes a group of the user's side.
    fn close(&self, out: &mut Vec<u8>, shape: Shape);
    /// Closes the body.
    fn end(&self, out: &mut Vec<u8>);
}

/// What the last group of the assistant holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LastTurn {
    pub(crate) calls: bool,
    pub(crate) thinking: bool,
}

/// A call that was written, by the number of the session.
#[derive(Debug)]
struct Issued {
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
struct Group {
    role: Role,
    /// Messages `first..end` of the history; none for the greeting that some histories need.
    first: usize,
    end: usize,
    /// Length of the body before it, the group before it not closed yet.
    start: usize,
    /// Calls issued before it.
    issued: usize,
    shape: Shape,
    /// Where a cache marker goes into its last block.
    mark: Option<usize>,
}

/// Everything that stands before the history: when it changes, nothing can be kept.
struct Head {
    session: SessionId,
    model: Arc<ModelInfo>,
    system: Arc<str>,
    tools: Arc<Vec<ToolSpec>>,
    thinking: Thinking,
}

impl Head {
    fn is_same(&self, request: &ModelRequest, thinking: Thinking) -> bool {
        self.thinking == thinking
            && self.session == request.session
            && (Arc::ptr_eq(&self.system, &request.system) || self.system == request.system)
            && (Arc::ptr_eq(&self.tools, &request.tools) || self.tools == request.tools)
            && (Arc::ptr_eq(&self.model, &request.model) || self.model == request.model)
    }
}

/// The encoder of every dialect.
pub(crate) struct Ledger<R> {
    render: R,
    head: Option<Head>,
    /// The model of the request at hand: some seals are bound to theirs.
    model: String,
    /// Head and history, the last group open, without markers and tail.
    body: Vec<u8>,
    seen: Vec<Arc<Message>>,
    groups: Vec<Group>,
    issued: Vec<Issued>,
    /// Ids of `issued`, so that none is used twice.
    used_ids: HashSet<String>,
    /// Where the newest marker stood in the request before: its cache entry is still wanted.
    marked_before: Option<usize>,
    sent: Bytes,
}

impl<R: Render> Ledger<R> {
    pub(crate) fn new(render: R) -> Ledger<R> {
        Ledger {
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

    /// How many of the messages seen are still the same.
    fn unchanged(&self, history: &[Arc<Message>]) -> usize {
        let same = |(a, b): &(&Arc<Message>, &Arc<Message>)| Arc::ptr_eq(a, b) || a == b;
        self.seen.iter().zip(history).take_while(same).count()
    }

    /// Drops every group that covers a message from `from` on.
    fn rewind(&mut self, from: usize) {
        while self.groups.last().is_some_and(|group| group.end > from) {
            self.pop_group();
        }
        // A greeting stands only before the assistant's words.
        if let [Group { role: Role::User, first, end, .. }] = self.groups[..]
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
    fn extend(&mut self, history: &[Arc<Message>], scene: &Scene<'_>) {
        let mut next = self.groups.last().map_or(0, |group| group.end);
        while next < history.len() {
            if !self.says(&history[next]) {
                next += 1;
                continue;
            }
            let role = history[next].role;
            let mut end = next + 1;
            while end < history.len() && (history[end].role == role || !self.says(&history[end])) {
                end += 1;
            }
            self.add(history, next..end, scene);
            next = end;
        }
        let known = self.seen.len();
        self.seen.extend(history[known..].iter().cloned());
    }

    /// Adds messages of one role: to the open group of that role, or as a new one.
    fn add(&mut self, history: &[Arc<Message>], range: std::ops::Range<usize>, scene: &Scene<'_>) {
        let role = history[range.start].role;
        let mut first = range.start;
        if let Some(open) = self.groups.last()
            && open.role == role
        {
            if role == Role::User && self.append(history, range.clone(), scene) {
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
    fn append(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &Scene<'_>,
    ) -> bool {
        let asked = self.asked_before_last();
        let blocks = || history[range.clone()].iter().filter(|m| m.role == Role::User);
        let answers_late = blocks().flat_map(|message| &message.blocks).any(|block| {
            matches!(block, Block::Result { call, .. }
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
            Some(Group { role: Role::Assistant, issued, .. }) => *issued,
            Some(Group { role: Role::User, .. }) | None => self.issued.len(),
        };
        from..self.issued.len()
    }

    fn user_group(
        &mut self,
        history: &[Arc<Message>],
        range: std::ops::Range<usize>,
        scene: &Scene<'_>,
    ) {
        let asked = self.open_calls();
        let start = self.body.len();
        let mut body = std::mem::take(&mut self.body);
        self.close_last(&mut body);
        let messages = &history[range.clone()];
        let (answers, used) = self.answers(messages, asked, scene);
        let parts = self.parts_of(messages, &used, scene);
        let shape = self.render.user(&mut body, &answers, &parts);
        drop((answers, parts));
        self.body = body;
        self.groups.push(Group {
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
        scene: &Scene<'_>,
    ) {
        if self.groups.is_empty() {
            self.greet(range.start);
        }
        let start = self.body.len();
        let issued = self.issued.len();
        // Silent messages of the user's side may stand in between; calls in them are none.
        for message in history[range.clone()].iter().filter(|m| m.role == Role::Assistant) {
            self.issue_calls(message);
        }
        let mut body = std::mem::take(&mut self.body);
        self.close_last(&mut body);
        let said = self.said(&history[range.clone()], issued, scene);
        self.render.assistant(&mut body, &said);
        drop(said);
        self.body = body;
        self.groups.push(Group {
            role: Role::Assistant,
            first: range.start,
            end: range.end,
            start,
            issued,
            shape: Shape::Closed,
            mark: mark_before(&self.body, b"]}"),
        });
    }

    /// A conversation begins with the user, whoever spoke first.
    fn greet(&mut self, at: usize) {
        let start = self.body.len();
        let shape = self.render.user(&mut self.body, &[], &[Part::text(NOTHING_NEW)]);
        let mark = mark_before(&self.body, b"");
        let role = Role::User;
        self.groups.push(Group { role, first: at, end: at, start, issued: 0, shape, mark });
    }

    fn close_last(&self, out: &mut Vec<u8>) {
        if let Some(Group { role: Role::User, shape, .. }) = self.groups.last() {
            self.render.close(out, *shape);
        }
    }

    /// Gives every call of `message` an id that this vendor accepts and that no other call has.
    fn issue_calls(&mut self, message: &Message) {
        let alphabet = self.render.ids();
        for block in &message.blocks {
            let Block::Call(call) = block else { continue };
            if self.issued.iter().rev().any(|issued| issued.call == call.call) {
                continue;
            }
            let keeps = keep_id(&call.wire_id, alphabet) && !self.used_ids.contains(&call.wire_id);
            let wire_id = if keeps { call.wire_id.clone() } else { own_id(call.call, alphabet) };
            let own = self.own(call.seal.as_ref());
            let echo = own.and_then(|seal| Some(seal.get("id")?.as_str()?.to_owned()));
            self.used_ids.insert(wire_id.clone());
            let carried = self.carries(&call.tool).then(|| defer::carry(&call.tool, &call.input));
            let name = if carried.is_some() { defer::CARRIER } else { call.tool.as_str() };
            let name = wire_name(name).into_owned();
            self.issued.push(Issued { call: call.call, wire_id, name, carried, echo });
        }
    }

    /// Whether a call of `tool` goes by way of another: the request does not declare it, and some
    /// vendors refuse a call of what is not declared (T4).
    fn carries(&self, tool: &str) -> bool {
        let has = |name: &str| {
            let tools = self.head.iter().flat_map(|head| head.tools.iter());
            tools.clone().any(|known| known.name == name)
        };
        !has(tool) && has(defer::CARRIER)
    }

    /// Whether anything of `message` reaches the wire.
    fn says(&self, message: &Message) -> bool {
        message.blocks.iter().any(|block| match (message.role, block) {
            (_, Block::Text { text, seal, .. }) => {
                !is_blank(text)
                    || (message.role == Role::Assistant
                        && R::SEALED_BLANK_TEXT
                        && self.own(seal.as_ref()).is_some())
            }
            (_, Block::Image { .. } | Block::Document { .. })
            | (Role::Assistant, Block::Call(_))
            | (Role::User, Block::Result { .. }) => true,
            (_, Block::Thinking { .. })
            | (Role::User, Block::Call(_))
            | (Role::Assistant, Block::Result { .. }) => false,
        })
    }

    /// What the last group of the assistant holds, before anything is encoded.
    fn last_turn(&self, history: &[Arc<Message>]) -> LastTurn {
        let mut turn = LastTurn::default();
        let mut found = false;
        // Thinking that leads to nothing is not sent, so it does not count.
        let mut said_after = false;
        for message in history.iter().rev().filter(|message| self.says(message)) {
            match message.role {
                Role::User if found => break,
                Role::User => {}
                Role::Assistant => {
                    found = true;
                    for block in message.blocks.iter().rev() {
                        match block {
                            Block::Thinking { seal, .. } => {
                                turn.thinking |= said_after && self.own(seal.as_ref()).is_some();
                            }
                            Block::Call(_) => {
                                turn.calls = true;
                                said_after = true;
                            }
                            Block::Text { text, .. } => said_after |= !is_blank(text),
                            Block::Image { .. } | Block::Document { .. } => said_after = true,
                            Block::Result { .. } => {}
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
        let mut out = Vec::with_capacity(self.body.len() + tail.map_or(0, str::len) * 2 + 256);
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
            Some(Group { role: Role::User, shape, .. }) => {
                let parts: Vec<Part<'_>> = tail.map(Part::text).into_iter().collect();
                let extended = (!parts.is_empty())
                    .then(|| self.render.extend(&mut out, *shape, &parts))
                    .flatten();
                extended.unwrap_or(*shape)
            }
            Some(Group { role: Role::Assistant, .. }) | None => {
                let scene = Scene::nothing();
                let (answers, _) = self.answers(&[], self.open_calls(), &scene);
                // Results alone are enough for the model to go on.
                let text = tail.or(answers.is_empty().then_some(NOTHING_NEW));
                let parts: Vec<Part<'_>> = text.map(Part::text).into_iter().collect();
                self.render.user(&mut out, &answers, &parts)
            }
        };
        self.render.close(&mut out, shape);
        self.render.end(&mut out);
        out
    }
}

impl<R: Render> Encoder for Ledger<R> {
    fn takes(&self) -> Takes {
        let rules = self.render.media();
        Takes { documents: rules.documents, document_bytes_max: rules.document_bytes_max }
    }

    fn encode(&mut self, request: &ModelRequest, media: &MediaMap) -> Prepared {
        let scene = Scene { media, model: Some(&request.model) };
        self.model.clone_from(&request.model.model.name);
        let thinking = if self.render.may_think(&self.last_turn(&request.history)) {
            request.thinking
        } else {
            Thinking::Off
        };
        let expected = self.body.len();
        let same_head = self.head.as_ref().is_some_and(|head| head.is_same(request, thinking));
        let unchanged = if same_head { self.unchanged(&request.history) } else { 0 };
        // The last group that is kept may still be written again, so the old bytes are compared
        // from its start on.
        let stable = if same_head {
            let kept = self.groups.iter().rev().find(|group| group.end <= unchanged);
            kept.map_or_else(|| self.groups.first().map_or(expected, |g| g.start), |g| g.start)
        } else {
            0
        };
        let old = self.body[stable..].to_vec();
        if same_head {
            self.rewind(unchanged);
        } else {
            self.rewind(0);
            self.body.clear();
            self.marked_before = None;
            self.render.head(&mut self.body, request, thinking);
            self.head = Some(Head {
                session: request.session.clone(),
                model: request.model.clone(),
                system: request.system.clone(),
                tools: request.tools.clone(),
                thinking,
            });
        }
        self.extend(&request.history, &scene);
        let kept = stable + common_prefix(&old, &self.body[stable..]);
        // Within what was kept, the place is still the end of a block.
        self.marked_before = self.marked_before.filter(|at| *at < kept);
        self.sent = Bytes::from(self.assemble(request.tail.as_deref()));
        Prepared {
            bytes: self.sent.len() as u64,
            prefix_bytes: kept as u64,
            prefix_expected: expected as u64,
        }
    }

    fn body(&self) -> Bytes {
        self.sent.clone()
    }
}

/// What a rendering needs beside the history.
struct Scene<'a> {
    media: &'a MediaMap,
    model: Option<&'a ModelInfo>,
}

impl Scene<'static> {
    fn nothing() -> Scene<'static> {
        static EMPTY: MediaMap = MediaMap::new();
        Scene { media: &EMPTY, model: None }
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
