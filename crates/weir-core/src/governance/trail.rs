//! Links that are followed (K10): an address that stands in a page which a person or a search of theirs
//! led to carries only which one was chosen. That is counted in bits, and bounded. Not here: finding the
//! links of a page (the tools of the web), and what may happen with other addresses (`flow`).

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::Provenance;
use crate::ids::CallId;
use crate::tool::{Effects, HostEffect};

/// Most bits that a session tells by choosing among links while it holds private data, with all that
/// its sub-agents tell. A page from a search and nine of its links are some 60.
pub const LINK_BITS_MAX: u32 = 128;
/// Least bits of a link that a search brought whose words were put together beside private data: words
/// choose among all the pages that somebody has in the index of a search engine, not among the few that
/// are found.
pub const STEERED_BITS_MIN: u32 = 12;
/// Most links that a session keeps; later ones are judged like any other address.
pub const LINKS_MAX: usize = 10_000;
/// Most links of one call.
pub const CALL_LINKS_MAX: usize = 300;
/// Bytes of the longest link.
pub const LINK_BYTES_MAX: usize = 2_000;

/// The tool that follows links: built in, one request without a word of the model but the address.
const FETCHES: &str = "web_fetch";
/// Tools whose results are pages that others wrote, found by words.
const SEARCHES: [&str; 2] = ["web_search", "anti_echo_search"];

/// The links that a session was led to, and what following them has told. Part of the fold of its
/// journal: `call.judged` has the bits, `call.finished` the links.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkTrail {
    /// Each link with the least that choosing it tells.
    links: Arc<BTreeMap<String, u32>>,
    /// Calls whose links count, while they run.
    sources: BTreeMap<CallId, LinkSource>,
    /// Bits that were told.
    told: u32,
    /// Bits that sub-agents which still run may tell, by the call that started each.
    lent: BTreeMap<CallId, u32>,
    /// Bits that may be told.
    most: u32,
    /// The lease by which a person agreed, in the mode that asks, to links being followed.
    agreed: Option<u32>,
}

/// Who led to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LinkSource {
    /// The person, a followed link, or a session that held nothing private.
    Plain,
    /// Words that were put together beside private data.
    Steered,
}

/// Where nothing is a link.
pub(crate) static NO_TRAIL: LazyLock<LinkTrail> = LazyLock::new(|| LinkTrail::with_bits(0));

impl Default for LinkTrail {
    fn default() -> LinkTrail {
        LinkTrail::with_bits(LINK_BITS_MAX)
    }
}

impl LinkTrail {
    fn with_bits(most: u32) -> LinkTrail {
        LinkTrail {
            links: Arc::default(),
            sources: BTreeMap::new(),
            told: 0,
            lent: BTreeMap::new(),
            most,
            agreed: None,
        }
    }

    /// No more than `most` bits from now on.
    pub(crate) fn limit_bits(&mut self, most: u32) {
        self.most = self.most.min(most);
    }

    /// Bits that were told.
    pub fn told_bits(&self) -> u32 {
        self.told
    }

    /// Bits that may still be told.
    pub fn left_bits(&self) -> u32 {
        let lent = self.lent.values().fold(0, |sum: u32, bits| sum.saturating_add(*bits));
        self.most.saturating_sub(self.told).saturating_sub(lent)
    }

    pub(crate) fn count_bits(&mut self, bits: u32) {
        self.told = self.told.saturating_add(bits);
    }

    /// Lends the agent that `call` starts its part of what is left; the session keeps one part, and each
    /// of `others` that wait gets as much.
    pub(crate) fn lend_bits(&mut self, call: CallId, others: usize) {
        let parts = u32::try_from(others).unwrap_or(u32::MAX).saturating_add(2);
        let part = self.left_bits() / parts;
        self.lent.entry(call).or_insert(part);
    }

    /// What the agent that `call` starts may tell.
    pub(crate) fn lent_bits(&self, call: CallId) -> u32 {
        self.lent.get(&call).copied().unwrap_or(0)
    }

    /// Whether an agent of this call was lent its part.
    pub(crate) fn is_lender_to(&self, call: CallId) -> bool {
        self.lent.contains_key(&call)
    }

    /// The agent that `call` started has come to rest and told so many bits of what it was lent.
    pub(crate) fn return_bits(&mut self, call: CallId, told: u32) {
        let lent = self.lent.remove(&call).unwrap_or(0);
        self.count_bits(told.min(lent));
    }

    pub(crate) fn agree_to_links(&mut self, lease: u32) {
        self.agreed = Some(lease);
    }

    pub(crate) fn revoke_lease(&mut self, lease: u32) {
        self.agreed.take_if(|agreed| *agreed == lease);
    }

    pub(crate) fn note_source(&mut self, call: CallId, source: LinkSource) {
        self.sources.insert(call, source);
    }

    /// Takes the links that `call` brought, where they count.
    pub(crate) fn take_links<'a>(
        &mut self,
        call: CallId,
        links: impl IntoIterator<Item = &'a String>,
    ) {
        let Some(source) = self.sources.remove(&call) else { return };
        let known_links = Arc::make_mut(&mut self.links);
        let least = match source {
            LinkSource::Plain => 0,
            LinkSource::Steered => STEERED_BITS_MIN,
        };
        let fits = |link: &&String| !link.is_empty() && link.len() <= LINK_BYTES_MAX;
        for link in links.into_iter().take(CALL_LINKS_MAX).filter(fits) {
            if let Some(known) = known_links.get_mut(link) {
                *known = least.min(*known);
            } else if known_links.len() < LINKS_MAX {
                known_links.insert(link.clone(), least);
            }
        }
    }

    /// Whether this address is one of the links.
    fn has_link(&self, url: &str) -> bool {
        self.links.contains_key(url)
    }

    /// What the choice of this link tells: which it is among all, or none of them. `None`: it is no link.
    fn choice_bits(&self, url: &str) -> Option<u32> {
        let least = *self.links.get(url)?;
        let links = u32::try_from(self.links.len()).unwrap_or(u32::MAX);
        Some((u32::BITS - links.leading_zeros()).max(least))
    }
}

impl Provenance<'_> {
    /// Whether this request of `tool` follows a link, and what that tells fits what is left.
    pub(crate) fn follows_link(&self, tool: &str, host: &HostEffect) -> bool {
        tool == FETCHES
            && is_plain_read(host)
            && self.link_bits(host).is_some_and(|bits| bits <= self.trail.left_bits())
    }

    /// Whether that needs no question in the mode that asks: a person agreed to links.
    pub(crate) fn follows_agreed_link(&self, tool: &str, host: &HostEffect) -> bool {
        self.trail.agreed.is_some() && self.follows_link(tool, host)
    }

    /// Bits that a call with these effects tells by the link that it follows; `None`: it follows none.
    pub(crate) fn followed_bits(&self, tool: &str, effects: &Effects) -> Option<u32> {
        let followed = effects.hosts.iter().filter(|host| self.follows_link(tool, host));
        followed.filter_map(|host| self.link_bits(host)).reduce(u32::saturating_add)
    }

    /// Who led to what a call with these effects brings; `None`: its links are addresses like others.
    /// What was put together beside private data may come back as a link, from whoever answers with
    /// what they are asked.
    pub(crate) fn link_source(&self, tool: &str, effects: &Effects) -> Option<LinkSource> {
        if !reads_web_alone(effects) {
            return None;
        }
        let private = self.label.is_private();
        if SEARCHES.contains(&tool) {
            let asks = effects.hosts.iter().all(|host| effects.is_declared_query(host));
            let source = if private { LinkSource::Steered } else { LinkSource::Plain };
            return asks.then_some(source);
        }
        let [host] = effects.hosts.as_slice() else { return None };
        let led = !private || self.follows_link(tool, host) || self.is_said(&host.url);
        (tool == FETCHES && led).then_some(LinkSource::Plain)
    }

    /// `None`: it is no link.
    fn link_bits(&self, host: &HostEffect) -> Option<u32> {
        let named = || self.named_address_bits(&host.url);
        match self.label.is_private() {
            true => self.trail.choice_bits(&host.url).or_else(named),
            false => self.trail.has_link(&host.url).then_some(0).or_else(|| named().map(|_| 0)),
        }
    }

    /// What the choice of an address tells that the person wrote out, scheme and all, as long as nobody
    /// else has spoken: which it is among all that they wrote. `None`: it is none of these.
    fn named_address_bits(&self, url: &str) -> Option<u32> {
        // A word of a file's name is no address, though `https://` before it would make it one.
        if self.label.is_external() || !self.is_written_out(url) {
            return None;
        }
        let written: usize = self.said.iter().map(|said| said.matches("://").count()).sum();
        let written = u32::try_from(written).unwrap_or(u32::MAX);
        Some(u32::BITS - written.leading_zeros())
    }
}

/// Whether a call with these effects reads the web and nothing else: what it brings was put together
/// neither here nor in the workspace.
fn reads_web_alone(effects: &Effects) -> bool {
    let bare = Effects {
        hosts: effects.hosts.clone(),
        queries: effects.queries.clone(),
        searches: effects.searches.clone(),
        ..Effects::default()
    };
    // The key of a search engine opens nothing private.
    let is_open = |host: &HostEffect| host.secret.is_none() || effects.is_declared_query(host);
    !effects.hosts.is_empty()
        && effects.hosts.iter().all(|host| effects.only_reads(host) && is_open(host))
        && bare == *effects
}

fn is_plain_read(host: &HostEffect) -> bool {
    matches!(host.method.as_str(), "GET" | "HEAD") && host.secret.is_none()
}

#[cfg(test)]
mod tests;
