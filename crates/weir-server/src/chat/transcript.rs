//! A page, gathered from the steps of the fold: all of its entries, or those from one on.

use maud::{Markup, html};
use weir_core::ids::Seq;
use weir_core::view::transcript::Transcript;

use super::content::{ChatContent, ChatView, PageOperation, PageOperationKind, PageRegion};
use super::status::{ChatBanner, ChatStatus};

/// Everything that stands on a chat's page. The place of an entry is counted from the first one of the
/// conversation, also where that is not here.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageTranscript {
    /// Entries of the conversation before those that are here.
    before: usize,
    log: Vec<(String, ChatContent)>,
    queue: Vec<(String, ChatContent)>,
    asks: Vec<(String, ChatContent)>,
    status: Option<ChatContent>,
    plan: Option<ChatContent>,
    banner: Option<ChatContent>,
}

impl PageTranscript {
    /// That of a chat of which so much was seen, with nothing open: its conversation has `entries` by
    /// now, of which none is here.
    pub(super) fn after_entries(entries: usize, seen: &Transcript) -> PageTranscript {
        let banner = ChatBanner { unknown: seen.unknown_calls().to_vec() };
        PageTranscript {
            before: entries,
            status: Some(ChatContent::Status(Box::new(ChatStatus::from_transcript(seen)))),
            plan: Some(ChatContent::Plan(seen.task_list().to_vec())),
            banner: Some(ChatContent::Banner(banner)),
            ..PageTranscript::default()
        }
    }

    /// Takes steps of the fold in.
    pub(crate) fn apply_operations(&mut self, ops: Vec<PageOperation>) {
        for op in ops {
            match op.verb {
                PageOperationKind::Append(region, content) => self.append_content(&region, content),
                PageOperationKind::Replace(id, content) => self.replace_content(&id, content),
                PageOperationKind::Remove(id) => {
                    for part in [&mut self.log, &mut self.queue, &mut self.asks] {
                        part.retain(|(known, _)| *known != id);
                    }
                }
            }
        }
    }

    fn append_content(&mut self, region: &PageRegion, content: ChatContent) {
        let part = match region {
            PageRegion::Log => &mut self.log,
            PageRegion::Queue => &mut self.queue,
            PageRegion::Asks => &mut self.asks,
            // What is being written is no fact: a page that is loaded has none of it.
            PageRegion::Within(_) => return,
        };
        part.push((content.id(), content));
    }

    fn replace_content(&mut self, id: &str, content: ChatContent) {
        match id {
            "status" => self.status = Some(content),
            "plan" => self.plan = Some(content),
            "banner" => self.banner = Some(content),
            _ => {
                let parts = [&mut self.log, &mut self.queue, &mut self.asks];
                // What changes is nearly always near the end.
                let found = parts.into_iter().flat_map(|part| part.iter_mut().rev());
                if let Some(place) = found.into_iter().find(|(known, _)| known == id) {
                    *place = (content.id(), content);
                }
            }
        }
    }

    /// Forgets the entries before this place.
    pub(super) fn forget_entries(&mut self, place: usize) {
        let count = place.saturating_sub(self.before).min(self.log.len());
        self.log.drain(..count);
        self.before += count;
    }

    /// How many entries the conversation has.
    pub(crate) fn len(&self) -> usize {
        self.before + self.log.len()
    }

    /// The place of the first entry that is here.
    pub(crate) fn first_index(&self) -> usize {
        self.before
    }

    /// The place of the entry with this id.
    pub(crate) fn entry_index(&self, id: &str) -> Option<usize> {
        Some(self.before + self.log.iter().position(|(known, _)| known == id)?)
    }

    /// The place of the entry with this id, or of the last one before it: not every fact has an entry
    /// of its own. It is an entry of a fact that came after those of all entries that are not here.
    pub(crate) fn nearest_entry_index(&self, id: &str) -> Option<usize> {
        let wanted = fact_number(id)?;
        let is_before = |id: &str| fact_number(id).is_some_and(|seq| seq <= wanted);
        let last = || self.log.iter().rposition(|(id, _)| is_before(id));
        let found = self.entry_index(id).or_else(|| Some(self.before + last()?));
        found.or(self.before.checked_sub(1))
    }

    /// The id of the entry at a place.
    pub(crate) fn id_at(&self, place: usize) -> Option<&str> {
        self.log.get(place.checked_sub(self.before)?).map(|(id, _)| id.as_str())
    }

    /// Entries of the conversation that are here, from one place to before another.
    pub(crate) fn render_entries(&self, view: &ChatView, from: usize, to: usize) -> Markup {
        let shown = self.entries_between(from, to);
        html! { @for (_, content) in shown { (content.render_html(view)) } }
    }

    fn entries_between(&self, from: usize, to: usize) -> &[(String, ChatContent)] {
        let within = |place: usize| place.saturating_sub(self.before).min(self.log.len());
        let to = within(to);
        self.log.get(within(from).min(to)..to).unwrap_or_default()
    }

    /// What waits to be said.
    pub(crate) fn render_queue(&self, view: &ChatView) -> Markup {
        html! { @for (_, content) in &self.queue { (content.render_html(view)) } }
    }

    /// What waits for an answer.
    pub(crate) fn render_asks(&self, view: &ChatView) -> Markup {
        html! { @for (_, content) in &self.asks { (content.render_html(view)) } }
    }

    /// State, context and cost.
    pub(crate) fn render_status(&self, view: &ChatView) -> Markup {
        let nothing = || ChatContent::Status(Box::default());
        self.status.clone().unwrap_or_else(nothing).render_html(view)
    }

    /// The task list.
    pub(crate) fn render_plan(&self, view: &ChatView) -> Markup {
        self.plan.clone().unwrap_or(ChatContent::Plan(Vec::new())).render_html(view)
    }

    /// What must not be overlooked.
    pub(crate) fn render_banner(&self, view: &ChatView) -> Markup {
        self.banner
            .clone()
            .unwrap_or_else(|| ChatContent::Banner(ChatBanner::default()))
            .render_html(view)
    }
}

/// The fact that an entry began with: 57 of `e57`.
pub(super) fn fact_number(id: &str) -> Option<Seq> {
    id.strip_prefix('e')?.parse().ok()
}

#[cfg(test)]
impl PageTranscript {
    /// Entries of the conversation, from one place to before another, as text to compare.
    pub(super) fn entries_text(&self, from: usize, to: usize) -> String {
        format!("{:#?}", self.entries_between(from, to))
    }

    /// What stands beside the conversation, as text to compare.
    pub(super) fn beside_text(&self) -> String {
        let nothing = PageTranscript::after_entries(0, &Transcript::default());
        let (status, plan) = (self.status.as_ref(), self.plan.as_ref());
        let (status, plan) = (status.or(nothing.status.as_ref()), plan.or(nothing.plan.as_ref()));
        let banner = self.banner.as_ref().or(nothing.banner.as_ref());
        format!("{:#?}", (&self.queue, &self.asks, status, plan, banner))
    }

    /// What waits to be said, one by one.
    pub(super) fn each_queued(&self, view: &ChatView) -> Vec<String> {
        self.queue.iter().map(|(_, content)| content.render_html(view).into_string()).collect()
    }

    /// What waits for an answer, one by one.
    pub(super) fn each_ask(&self, view: &ChatView) -> Vec<String> {
        self.asks.iter().map(|(_, content)| content.render_html(view).into_string()).collect()
    }
}
