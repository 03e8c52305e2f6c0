//! A whole page, gathered from the steps of the fold.

use maud::{Markup, html};

use super::content::{Content, Op, Region, Verb, View};
use super::status::Banner;

/// Everything that stands on a chat's page.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript {
    log: Vec<(String, Content)>,
    queue: Vec<(String, Content)>,
    asks: Vec<(String, Content)>,
    status: Option<Content>,
    plan: Option<Content>,
    banner: Option<Content>,
}

impl Transcript {
    /// Takes steps of the fold in.
    pub(crate) fn apply(&mut self, ops: Vec<Op>) {
        for op in ops {
            match op.verb {
                Verb::Append(region, content) => self.append(&region, content),
                Verb::Replace(id, content) => self.replace(&id, content),
                Verb::Remove(id) => {
                    for part in [&mut self.log, &mut self.queue, &mut self.asks] {
                        part.retain(|(known, _)| *known != id);
                    }
                }
            }
        }
    }

    fn append(&mut self, region: &Region, content: Content) {
        let part = match region {
            Region::Log => &mut self.log,
            Region::Queue => &mut self.queue,
            Region::Asks => &mut self.asks,
            // What is being written is no fact: a page that is loaded has none of it.
            Region::Within(_) => return,
        };
        part.push((content.id(), content));
    }

    fn replace(&mut self, id: &str, content: Content) {
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
    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.log.iter().position(|(known, _)| known == id)
    }

    /// The place of the entry with this id, or of the last one before it: not every fact has an entry
    /// of its own.
    pub(crate) fn near(&self, id: &str) -> Option<usize> {
        let number = |id: &str| id.strip_prefix('e')?.parse::<u64>().ok();
        let wanted = number(id)?;
        let last = || self.log.iter().rposition(|(id, _)| number(id).is_some_and(|n| n <= wanted));
        self.place(id).or_else(last)
    }

    /// The id of the entry at a place.
    pub(crate) fn id_at(&self, place: usize) -> Option<&str> {
        self.log.get(place).map(|(id, _)| id.as_str())
    }

    /// Entries of the conversation, from one place to before another.
    pub(crate) fn entries(&self, view: &View, from: usize, to: usize) -> Markup {
        let to = to.min(self.log.len());
        let shown = self.log.get(from.min(to)..to).unwrap_or_default();
        html! { @for (_, content) in shown { (content.html(view)) } }
    }

    /// What waits to be said.
    pub(crate) fn queue(&self, view: &View) -> Markup {
        html! { @for (_, content) in &self.queue { (content.html(view)) } }
    }

    /// What waits for an answer.
    pub(crate) fn asks(&self, view: &View) -> Markup {
        html! { @for (_, content) in &self.asks { (content.html(view)) } }
    }

    /// State, context and cost.
    pub(crate) fn status(&self, view: &View) -> Markup {
        let nothing = || Content::Status(Box::default());
        self.status.clone().unwrap_or_else(nothing).html(view)
    }

    /// The task list.
    pub(crate) fn plan(&self, view: &View) -> Markup {
        self.plan.clone().unwrap_or(Content::Plan(Vec::new())).html(view)
    }

    /// What must not be overlooked.
    pub(crate) fn banner(&self, view: &View) -> Markup {
        self.banner.clone().unwrap_or_else(|| Content::Banner(Banner::default())).html(view)
    }
}

#[cfg(test)]
impl Transcript {
    /// What waits to be said, one by one.
    pub(super) fn each_queued(&self, view: &View) -> Vec<String> {
        self.queue.iter().map(|(_, content)| content.html(view).into_string()).collect()
    }

    /// What waits for an answer, one by one.
    pub(super) fn each_ask(&self, view: &View) -> Vec<String> {
        self.asks.iter().map(|(_, content)| content.html(view).into_string()).collect()
    }
}
