//! Who is told that a resource has changed: in the older revision a list of each connection, in the newer a
//! request that listens. Only that it changed, at a pace and of so many addresses: what stands there is read as
//! ever. Not here: what changes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::SubscriptionContext;
use rmcp::{Peer, RoleServer};
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

use crate::agent::ServedAgent;
use crate::translate::error_of;

/// Addresses of one connection, or of one request that listens.
const ADDRESSES_MAX: usize = 64;
/// Addresses that a request may name: the SDK keeps them all while it listens, also those that are named twice.
const NAMED_MAX: usize = 1_024;
/// Requests that listen at once, of all clients of an agent.
pub(crate) const LISTENERS_MAX: usize = 32;
/// Time between two looks: however much happens, nobody is told of an address more often.
const PACE: Duration = Duration::from_millis(500);

/// Addresses with the version that was told last.
type Versions = BTreeMap<String, u64>;

/// What one connection is told of, in the revision that subscribes address by address.
pub(crate) struct Subscriptions {
    versions: Arc<Mutex<Versions>>,
    presence: Arc<Presence>,
    /// Tells of them; ends with the connection.
    teller: Mutex<Option<AbortOnDropHandle<()>>>,
}

/// Whether a client is still there. Over HTTP nobody says that it has gone, and what it is told counts there as
/// a sign of life of its session: so nothing is told after it was silent for too long, else its session would
/// stay for as long as anything happens.
struct Presence {
    heard: Mutex<Instant>,
    /// How long it may be silent; `None`: it is known when it goes.
    silence_max: Option<Duration>,
}

impl Presence {
    fn is_likely(&self) -> bool {
        self.silence_max.is_none_or(|max| lock(&self.heard).elapsed() < max)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Subscriptions {
    /// None yet, of a client that may be silent for so long.
    pub(crate) fn new(silence_max: Option<Duration>) -> Subscriptions {
        let presence = Presence { heard: Mutex::new(Instant::now()), silence_max };
        Subscriptions {
            versions: Arc::default(),
            presence: Arc::new(presence),
            teller: Mutex::default(),
        }
    }

    /// The client has asked for something.
    pub(crate) fn note_heard(&self) {
        *lock(&self.presence.heard) = Instant::now();
    }

    /// Tells of changes at an address from now on.
    ///
    /// # Errors
    /// Nobody is told of changes there, or there are too many already.
    pub(crate) fn subscribe(
        &self,
        agent: &Arc<dyn ServedAgent>,
        uri: String,
        peer: Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let version = agent.resource_version(&uri).map_err(error_of)?;
        let mut versions = lock(&self.versions);
        if versions.len() >= ADDRESSES_MAX && !versions.contains_key(&uri) {
            let why = format!(
                "{ADDRESSES_MAX} resources are subscribed to already; unsubscribe from one first"
            );
            return Err(ErrorData::invalid_request(why, None));
        }
        versions.entry(uri).or_insert(version);
        drop(versions);
        lock(&self.teller).get_or_insert_with(|| {
            let agent = agent.clone();
            let told = ToldConnection {
                versions: self.versions.clone(),
                presence: self.presence.clone(),
                peer,
            };
            AbortOnDropHandle::new(tokio::spawn(tell_connection(agent, told)))
        });
        Ok(())
    }

    /// Tells of it no more. What nobody subscribed to is left alone.
    pub(crate) fn unsubscribe(&self, uri: &str) {
        let mut versions = lock(&self.versions);
        versions.remove(uri);
        if versions.is_empty() {
            lock(&self.teller).take();
        }
    }
}

/// Addresses that have another version than the one that was told; it counts as told.
fn changed_addresses(agent: &dyn ServedAgent, versions: &mut Versions) -> Vec<String> {
    let mut changed = Vec::new();
    for (uri, told) in versions {
        if let Ok(version) = agent.resource_version(uri)
            && version != *told
        {
            *told = version;
            changed.push(uri.clone());
        }
    }
    changed
}

struct ToldConnection {
    versions: Arc<Mutex<Versions>>,
    presence: Arc<Presence>,
    peer: Peer<RoleServer>,
}

async fn tell_connection(agent: Arc<dyn ServedAgent>, told: ToldConnection) {
    let ToldConnection { versions, presence, peer } = told;
    let mut changes = agent.listen_to_changes();
    // What changed before it listened is told too.
    changes.mark_changed();
    while changes.changed().await.is_ok() {
        // It hears of what it missed with the first change after it has asked for something again.
        let changed = match presence.is_likely() {
            true => changed_addresses(agent.as_ref(), &mut lock(&versions)),
            false => Vec::new(),
        };
        for uri in changed {
            let told = ResourceUpdatedNotificationParam::new(uri);
            // One after the other: a client that takes nothing has one notice before it, not all of them.
            if peer.notify_resource_updated(told).await.is_err() {
                return;
            }
        }
        tokio::time::sleep(PACE).await;
    }
}

/// What of a wish to listen is heard: addresses that have versions, up to a number. Tools, prompts and the list
/// of resources stay as they are for as long as a client is connected.
pub(crate) fn accepted_filter(
    agent: &dyn ServedAgent,
    requested: &SubscriptionFilter,
) -> Option<SubscriptionFilter> {
    let wanted = requested.resource_subscriptions.as_deref().unwrap_or_default();
    if wanted.len() > NAMED_MAX {
        return None;
    }
    let mut addresses: Vec<String> = Vec::new();
    for uri in wanted {
        if addresses.len() >= ADDRESSES_MAX {
            break;
        }
        if !addresses.contains(uri) && agent.resource_version(uri).is_ok() {
            addresses.push(uri.clone());
        }
    }
    let mut accepted = SubscriptionFilter::new();
    accepted.resource_subscriptions = (!addresses.is_empty()).then_some(addresses);
    Some(accepted)
}

/// Tells a request that listens, until it is ended.
pub(crate) async fn tell_listener(agent: &dyn ServedAgent, context: &SubscriptionContext) {
    let mut versions = Versions::new();
    for uri in context.accepted().resource_subscriptions.iter().flatten() {
        if let Ok(version) = agent.resource_version(uri) {
            versions.insert(uri.clone(), version);
        }
    }
    let telling = async {
        let mut changes = agent.listen_to_changes();
        changes.mark_changed();
        while changes.changed().await.is_ok() {
            for uri in changed_addresses(agent, &mut versions) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
            tokio::time::sleep(PACE).await;
        }
    };
    tokio::select! {
        () = context.cancelled() => (),
        () = telling => (),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn r2_a_client_that_was_silent_for_too_long_is_taken_for_gone_until_it_asks_again() {
        let hour = Duration::from_secs(60 * 60);
        let (over_http, at_streams) = (Subscriptions::new(Some(hour)), Subscriptions::new(None));
        tokio::time::sleep(hour - Duration::from_secs(1)).await;
        assert!(over_http.presence.is_likely());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!over_http.presence.is_likely() && at_streams.presence.is_likely());
        over_http.note_heard();
        assert!(over_http.presence.is_likely());
    }
}
