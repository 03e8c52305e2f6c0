//! A whole page, gathered from the steps of the fold.

use maud::{Markup, html};

use super::content::{ChatContent, ChatView, PageOperation, PageOperationKind, PageRegion};
use super::status::ChatBanner;

/// Everything that stands on a chat's page.
#[derive(Debug, Clone, Default)]
pub(crate) struct PageTranscript {
    log: Vec<(String, ChatContent)>,
    queue: Vec<(String, ChatContent)>,
    asks: Vec<(String, ChatContent)>,
    status: Option<ChatContent>,
    plan: Option<ChatContent>,
    banner: Option<ChatContent>,
}

impl PageTranscript {
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

    /// How many entries the conversation has.
    pub(crate) fn len(&self) -> usize {
        self.log.len()
    }

    /// The place of the entry with this id.
    pub(crate) fn entry_index(&self, id: &str) -> Option<usize> {
        self.log.iter().position(|(known, _)| known == id)
    }

    /// The place of the entry with this id, or of the last one before it: not every fact has an entry
    /// of its own.
    pub(crate) fn nearest_entry_index(&self, id: &str) -> Option<usize> {
        let number = |id: &str| id.strip_prefix('e')?.parse::<u64>().ok();
        let wanted = number(id)?;
        let last = || self.log.iter().rposition(|(id, _)| number(id).is_some_and(|n| n <= wanted));
        self.entry_index(id).or_else(last)
    }

    /// The id of the entry at a place.
    pub(crate) fn id_at(&self, place: usize) -> Option<&str> {
        self.log.get(place).map(|(id, _)| id.as_str())
    }

    /// Entries of the conversation, from one place to before another.
    pub(crate) fn render_entries(&self, view: &ChatView, from: usize, to: usize) -> Markup {
        let to = to.min(self.log.len());
        let shown = self.log.get(from.min(to)..to).unwrap_or_default();
        html! { @for (_, content) in shown { (content.render_html(view)) } }
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

#[cfg(test)]
impl PageTranscript {
    /// What waits to be said, one by one.
    pub(super) fn each_queued(&self, view: &ChatView) -> Vec<String> {
        self.queue.iter().map(|(_, content)| content.render_html(view).into_string()).collect()
    }

    /// What waits for an answer, one by one.
    pub(super) fn each_ask(&self, view: &ChatView) -> Vec<String> {
        self.asks.iter().map(|(_, content)| content.render_html(view).into_string()).collect()
    }
}
