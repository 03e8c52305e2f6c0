//! Changes of a transcript as updates of the protocol: the one fold of an editor's session. Pure. Not here:
//! questions to the person (`crate::permission`), settings (`crate::options`), and when updates are sent.

use std::collections::BTreeSet;

use weir_core::event::{Event, ImageProduced, InputAccepted, ModelReplied, RunFinished};
use weir_core::ids::CallId;
use weir_core::message::{MessageBlock, StoredMedia, plain_text};
use weir_core::tool::{PlanItem, PlanStatus};
use weir_core::view::told::{FactTone, describe_fact, one_line};
use weir_core::view::transcript::{PlacedFact, SeenFact, Transcript, TranscriptChange as Change};
use weir_tui::link::SignalKind;

use crate::wire::{ContentBlock, Cost, MessageChunk, PlanEntry, SessionUpdate};

mod compaction;
mod diffs;
mod stream;
mod title;
mod tool_calls;

use compaction::RenderedCompaction;
pub(crate) use diffs::diff_contents;
use stream::StreamedReply;
use title::SessionTitle;
use tool_calls::RenderedCalls;
pub(crate) use tool_calls::{absolute_path, call_title, kind_of_effects, locations_of};

/// How an editor is told a line that is no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum NoticeStyle {
    /// As a notice, all of them.
    Notices,
    /// As a message of the agent, and only what must not be missed.
    #[default]
    Messages,
}

/// Whether what is taken in happens now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactAge {
    /// It was there when the session was opened.
    Old,
    /// It happens.
    Fresh,
}

/// What an editor reads of what a session tells.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct EditorReading {
    /// How lines for the person reach it.
    pub(crate) notices: NoticeStyle,
    /// It knows what was added to the protocol: how full the window is, what the session is called. An editor of
    /// before takes such a line for an error and leaves.
    pub(crate) additions: bool,
    /// It shows how the context is made shorter.
    pub(crate) compaction: bool,
    /// What it asks a person by forms and pages.
    pub(crate) asks: ElicitationModes,
}

/// What an editor asks a person otherwise than by a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct ElicitationModes {
    /// By a form.
    pub(crate) forms: bool,
    /// By opening a page.
    pub(crate) pages: bool,
}

/// What came of a fact.
#[derive(Debug, Default)]
pub(crate) struct RenderedFact {
    /// What is another than before.
    pub(crate) changes: Vec<Change>,
    /// What the editor is told.
    pub(crate) updates: Vec<SessionUpdate>,
    /// Updates that name an image of the person in words, where the image itself could stand.
    pub(crate) images: Vec<NamedImage>,
}

/// An image of the person that an update names in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedImage {
    /// Which of the updates.
    pub(crate) at: usize,
    /// The image.
    pub(crate) media: StoredMedia,
}

/// The fold of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionRender {
    root: String,
    reads: EditorReading,
    view: Transcript,
    calls: RenderedCalls,
    stream: StreamedReply,
    /// The names of what this editor said: it shows that itself.
    own: BTreeSet<String>,
    /// The words of the last reply.
    last_words: String,
    /// How full the window is, as the editor was told last.
    told_usage: Option<SessionUpdate>,
    /// Images that the updates of the fact at hand name.
    images: Vec<NamedImage>,
    info: SessionTitle,
    compaction: RenderedCompaction,
}

impl SessionRender {
    /// One of a session that works in the folder `root`.
    pub(crate) fn new(root: String, reads: EditorReading) -> SessionRender {
        SessionRender { root, reads, ..SessionRender::default() }
    }

    /// The same from its beginning: the session is opened anew.
    pub(crate) fn begin_again(&mut self) {
        let own = std::mem::take(&mut self.own);
        *self = SessionRender { own, ..SessionRender::new(self.root.clone(), self.reads) };
    }

    /// What is seen of the session.
    pub(crate) fn transcript(&self) -> &Transcript {
        &self.view
    }

    /// The folder that the session works in.
    pub(crate) fn workspace_root(&self) -> &str {
        &self.root
    }

    /// This editor says something under this name.
    pub(crate) fn note_own_input(&mut self, client_id: &str) {
        self.own.insert(client_id.to_owned());
    }

    /// Takes a fact in.
    pub(crate) fn take_fact(&mut self, fact: &PlacedFact, age: FactAge) -> RenderedFact {
        let changes = self.view.apply(fact);
        let mut updates = Vec::new();
        for change in &changes {
            self.render_change(change, age, &mut updates);
        }
        let compaction = self.compaction.take_fact(fact);
        updates.extend(compaction.into_iter().filter(|_| self.reads.compaction));
        updates.extend(self.render_remark(&fact.event, age));
        let is_told = self.reads.additions && age == FactAge::Fresh;
        updates.extend(self.info.take_fact(fact).filter(|_| is_told));
        RenderedFact { changes, updates, images: std::mem::take(&mut self.images) }
    }

    /// What the session is called and when something last happened, where the editor reads it and anything has.
    pub(crate) fn info_update(&self) -> Option<SessionUpdate> {
        self.info.whole_update().filter(|_| self.reads.additions)
    }

    fn render_change(&mut self, change: &Change, age: FactAge, out: &mut Vec<SessionUpdate>) {
        match change {
            Change::InputSaid(at) | Change::InputDelivered(at) => {
                for (update, image) in self.render_input(&at.fact, age) {
                    let at = out.len();
                    self.images.extend(image.map(|media| NamedImage { at, media }));
                    out.push(update);
                }
            }
            Change::RequestStarted(turn) => self.stream.begin_turn(turn.to_string()),
            Change::StreamAbandoned => out.extend(self.stream.abandon_turn()),
            Change::ReplyAdded(at) => {
                out.extend(self.render_reply(at));
                if age == FactAge::Fresh {
                    out.extend(self.take_changed_usage());
                }
            }
            Change::ImageAdded(at) => out.extend(self.render_image(&at.fact)),
            Change::CallAdded(call) => {
                if let Some(entry) = self.view.find_call(*call) {
                    out.push(self.calls.start_call(entry));
                }
            }
            Change::CallChanged(call) | Change::CallEnded(call) => {
                // Of what is over only the end is of interest.
                let is_shown = age == FactAge::Fresh || matches!(change, Change::CallEnded(_));
                if let Some(entry) = self.view.find_call(*call).filter(|_| is_shown) {
                    out.extend(self.calls.change_call(entry, &self.root));
                }
            }
            Change::PlanChanged => {
                let entries = self.view.task_list().iter().map(plan_entry).collect();
                out.push(SessionUpdate::Plan { entries });
            }
            Change::RunEnded(at) => {
                out.extend(self.render_run_end(&at.fact));
                self.calls.forget_run();
                if age == FactAge::Fresh {
                    out.extend(self.take_changed_usage());
                }
            }
            // The editor shows what it said; questions and settings are told elsewhere.
            Change::InputQueued(_)
            | Change::InputWithdrawn(_)
            | Change::InputUnsaid(_)
            | Change::RunStarted
            | Change::AskOpened(_)
            | Change::AskClosed { .. }
            | Change::UnknownCallsChanged
            | Change::SettingsChanged => (),
        }
    }

    /// What is streamed; progress of a call is kept until [`SessionRender::take_progress`].
    pub(crate) fn take_signal(
        &mut self,
        kind: SignalKind,
        subject: &str,
        text: &str,
    ) -> Option<SessionUpdate> {
        match kind {
            SignalKind::Text => self.stream.push_words(subject, text),
            SignalKind::Thinking => self.stream.push_thoughts(subject, text),
            SignalKind::Output => {
                self.calls.push_output(subject, text);
                None
            }
        }
    }

    /// A terminal of the editor shows what a call prints.
    pub(crate) fn attach_terminal(&mut self, call: CallId, terminal: String) -> SessionUpdate {
        self.calls.attach_terminal(call, terminal)
    }

    /// Whether a call printed something that was not told yet.
    pub(crate) fn has_progress(&self) -> bool {
        self.calls.has_progress()
    }

    /// What calls printed since it was last asked.
    pub(crate) fn take_progress(&mut self) -> Vec<SessionUpdate> {
        self.calls.take_progress()
    }

    /// The calls of a run that is on, as they stand: what was loaded may stop in the middle.
    pub(crate) fn open_call_updates(&mut self) -> Vec<SessionUpdate> {
        let open = self.calls.open_calls();
        let entries = open.into_iter().filter_map(|call| self.view.find_call(call));
        entries.filter_map(|entry| self.calls.change_call(entry, &self.root)).collect()
    }

    /// What somebody said; beside what names an image the image.
    fn render_input(
        &self,
        fact: &InputAccepted,
        age: FactAge,
    ) -> Vec<(SessionUpdate, Option<StoredMedia>)> {
        let is_own = fact.client_id.as_ref().is_some_and(|name| self.own.contains(name));
        if is_own && age == FactAge::Fresh {
            return Vec::new();
        }
        let id = fact.input.to_string();
        let chunks = fact.content.iter().filter_map(|block| match block {
            MessageBlock::Text { text, .. } => Some((text.clone(), None)),
            MessageBlock::Image { media } => Some((media_name(media), Some(media.clone()))),
            MessageBlock::Document { media } => Some((media_name(media), None)),
            MessageBlock::Thinking { .. } | MessageBlock::Call(_) | MessageBlock::Result { .. } => {
                None
            }
        });
        let chunk = |text| SessionUpdate::UserMessageChunk(message_chunk(text, Some(id.clone())));
        chunks.map(|(text, image)| (chunk(text), image)).collect()
    }

    fn render_reply(&mut self, at: &SeenFact<ModelReplied>) -> Vec<SessionUpdate> {
        let fact = &at.fact;
        let words = plain_text(&fact.content);
        let thoughts: String = fact
            .content
            .iter()
            .filter_map(|block| match block {
                MessageBlock::Thinking { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        let updates = self.stream.finish_turn(&fact.turn.to_string(), &thoughts, &words);
        self.last_words = words;
        updates
    }

    fn render_image(&self, fact: &ImageProduced) -> Option<SessionUpdate> {
        let path = fact.path.as_deref()?;
        let whole = absolute_path(&self.root, path);
        let uri = url::Url::from_file_path(&whole).ok()?.to_string();
        let (name, mime_type) = (one_line(path), Some(fact.media_type.clone()));
        let content = ContentBlock::ResourceLink { uri, name, mime_type };
        let message_id = Some(fact.turn.to_string());
        Some(SessionUpdate::AgentMessageChunk(MessageChunk { content, message_id }))
    }

    /// An answer that stands in no reply: the agent ended its run with a result.
    fn render_run_end(&self, fact: &RunFinished) -> Option<SessionUpdate> {
        let text = fact.text.trim();
        let is_new = !text.is_empty() && text != self.last_words.trim();
        let id = Some(fact.run.to_string());
        is_new.then(|| SessionUpdate::AgentMessageChunk(message_chunk(text.to_owned(), id)))
    }

    /// How full the window is, where that is known and the editor reads it and was told otherwise.
    pub(crate) fn take_changed_usage(&mut self) -> Option<SessionUpdate> {
        let usage = self.usage_update().filter(|usage| self.told_usage.as_ref() != Some(usage))?;
        self.told_usage = Some(usage.clone());
        Some(usage)
    }

    fn usage_update(&self) -> Option<SessionUpdate> {
        let meters = self.view.meters();
        let cost = Cost { amount: meters.cost_usd, currency: "USD" };
        (self.reads.additions && meters.window > 0).then(|| SessionUpdate::UsageUpdate {
            used: meters.context,
            size: meters.window,
            cost: (!meters.cost_open).then_some(cost),
        })
    }

    /// What a fact tells in passing.
    fn render_remark(&self, event: &Event, age: FactAge) -> Option<SessionUpdate> {
        // The end of the run carries the same words.
        if let Event::ModelFailed(f) = event
            && f.next.is_none()
            && age == FactAge::Fresh
        {
            return None;
        }
        let (tone, text) = describe_fact(event)?;
        self.remark_update(tone, &text)
    }

    /// A line for the person, as this editor is told one.
    pub(crate) fn remark_update(&self, tone: FactTone, text: &str) -> Option<SessionUpdate> {
        let text = one_line(text);
        if text.is_empty() {
            return None;
        }
        let (severity, is_needed) = match tone {
            FactTone::Quiet => ("info", false),
            FactTone::Good | FactTone::Mark => ("info", true),
            FactTone::Warn => ("warning", true),
            FactTone::Bad => ("error", true),
        };
        match self.reads.notices {
            NoticeStyle::Notices => Some(SessionUpdate::Notice { severity, title: text }),
            // Beside the agent's own words: it must not be taken for them.
            NoticeStyle::Messages => is_needed.then(|| {
                let text = format!("\n\n> Weir: {text}\n\n");
                SessionUpdate::AgentMessageChunk(message_chunk(text, None))
            }),
        }
    }
}

/// A piece of a message.
fn message_chunk(text: String, message_id: Option<String>) -> MessageChunk {
    MessageChunk { content: ContentBlock::text_block(text), message_id }
}

/// What goes along, in words.
fn media_name(media: &StoredMedia) -> String {
    let name = media.name.as_deref().unwrap_or("attachment");
    format!("[{}: {}]", one_line(name), one_line(&media.media_type))
}

fn plan_entry(item: &PlanItem) -> PlanEntry {
    let status = match item.status {
        PlanStatus::Pending => "pending",
        PlanStatus::InProgress => "in_progress",
        PlanStatus::Done => "completed",
    };
    PlanEntry { content: one_line(&item.text), priority: "medium", status }
}

#[cfg(test)]
mod tests;
