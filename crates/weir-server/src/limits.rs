//! How much one person or one address may ask for: connections at once, requests a minute, bytes of
//! a body. Not here: which requests count (`guard::quotas`), and guesses of passwords, which the
//! sign-in service slows down by account.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::response::{IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue};
use tokio::sync::Notify;
use weir_core::ids::Timestamp;

use crate::problem::ProblemDetails;

/// Bytes of a request's body where its route says nothing else.
pub(crate) const BODY_BYTES_MAX: usize = 1024 * 1024;
/// An address may ask for so many times what a person may: several people share one.
const PEOPLE_PER_ADDRESS: u32 = 10;
/// Buckets kept. Past it those that are full again are forgotten.
const BUCKETS_MAX: usize = 20_000;
/// The time in which a quota comes back.
const WINDOW_S: u32 = 60;

fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What is left of a quota.
#[derive(Debug, Clone, Copy, PartialEq)]
struct QuotaBucket {
    left: f64,
    at: Timestamp,
}

/// The answer about one more request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct QuotaDecision {
    /// Whether it may go on.
    pub(crate) allowed: bool,
    /// The quota.
    pub(crate) quota: u32,
    /// What is left of it.
    pub(crate) left: u32,
    /// Seconds until it is whole again, or, where it may not go on, until one is there.
    pub(crate) seconds: u32,
}

/// Quotas that come back evenly over a minute, one for each key.
#[derive(Debug)]
pub(crate) struct MinuteQuotas<K> {
    quota: u32,
    buckets: Mutex<HashMap<K, QuotaBucket>>,
}

impl<K: Eq + Hash> MinuteQuotas<K> {
    /// `quota` a minute for each.
    pub(crate) fn new(quota: u32) -> MinuteQuotas<K> {
        MinuteQuotas { quota: quota.max(1), buckets: Mutex::default() }
    }

    /// Takes one, if one is there.
    pub(crate) fn take(&self, key: K, now: Timestamp) -> QuotaDecision {
        self.ask_quota(key, now, 1.0)
    }

    /// Whether one is there; takes none.
    pub(crate) fn peek(&self, key: K, now: Timestamp) -> QuotaDecision {
        self.ask_quota(key, now, 0.0)
    }

    fn ask_quota(&self, key: K, now: Timestamp, cost: f64) -> QuotaDecision {
        let full = f64::from(self.quota);
        let a_second = full / f64::from(WINDOW_S);
        let mut buckets = lock_mutex(&self.buckets);
        if buckets.len() >= BUCKETS_MAX {
            buckets.retain(|_, bucket| fill_bucket(*bucket, now, a_second, full).left < full);
        }
        let known = buckets.get(&key).copied().unwrap_or(QuotaBucket { left: full, at: now });
        let mut bucket = fill_bucket(known, now, a_second, full);
        let allowed = bucket.left >= 1.0;
        if allowed {
            bucket.left -= cost;
        }
        // Whoever fills the table with keys is not remembered: the address they come from is.
        if buckets.len() < BUCKETS_MAX || buckets.contains_key(&key) {
            buckets.insert(key, bucket);
        }
        let missing = if allowed { full - bucket.left } else { 1.0 - bucket.left };
        QuotaDecision {
            allowed,
            quota: self.quota,
            left: bucket.left as u32,
            seconds: (missing / a_second).ceil() as u32,
        }
    }
}

fn fill_bucket(bucket: QuotaBucket, now: Timestamp, a_second: f64, full: f64) -> QuotaBucket {
    // A clock that jumps back fills nothing and takes nothing.
    let passed = now.micros().saturating_sub(bucket.at.micros()).max(0) as f64 / 1e6;
    QuotaBucket { left: (bucket.left + passed * a_second).min(full), at: now }
}

impl QuotaDecision {
    /// Says in the headers of an answer what is left.
    pub(crate) fn write_headers(self, headers: &mut HeaderMap, policy: &str) {
        let line = format!("\"{policy}\";r={};t={}", self.left, self.seconds);
        let quota = format!("\"{policy}\";q={};w={WINDOW_S}", self.quota);
        for (name, text) in [("ratelimit", line), ("ratelimit-policy", quota)] {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }

    /// The answer to whoever asked too often.
    pub(crate) fn refusal_response(self, policy: &str) -> Response {
        let who = if policy == "address" { "this address" } else { "you" };
        let sentence =
            format!("{who} may send {} requests a minute; wait {} s", self.quota, self.seconds);
        let mut response =
            ProblemDetails::too_many(u64::from(self.seconds), sentence).into_response();
        self.write_headers(response.headers_mut(), policy);
        response
    }
}

/// The quotas of a server.
pub(crate) struct RateLimits {
    /// By the id of a person.
    pub(crate) people: MinuteQuotas<String>,
    /// By address, as [`network_of`] gives it.
    pub(crate) addresses: MinuteQuotas<IpAddr>,
}

impl RateLimits {
    /// So many requests a minute for a person.
    pub(crate) fn new(requests_per_minute: u32) -> RateLimits {
        RateLimits {
            people: MinuteQuotas::new(requests_per_minute),
            addresses: MinuteQuotas::new(requests_per_minute.saturating_mul(PEOPLE_PER_ADDRESS)),
        }
    }
}

/// Set on an answer to somebody who is known.
#[derive(Debug, Clone)]
pub(crate) struct ResponsePerson {
    /// Id of the person.
    pub(crate) person: String,
}

/// An address as quotas see it: with IPv6 everybody has a whole network of them.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => {
            let [a, b, c, d, ..] = v6.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// Connections that are open, by address.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections {
    open: Mutex<ConnectionCounts>,
    emptied: Notify,
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// A place for one connection; free again when it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    connections: Arc<OpenConnections>,
    address: Option<IpAddr>,
}

impl OpenConnections {
    /// How many are open.
    pub(crate) fn open_count(&self) -> usize {
        lock_mutex(&self.open).all
    }

    /// Returns when none is open any more, sockets that were once connections among them.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            let emptied = self.emptied.notified();
            if self.open_count() == 0 {
                return;
            }
            emptied.await;
        }
    }

    /// A place, if one is free. `address`: whose are counted; `None`: those of a proxy or of this
    /// machine are not.
    pub(crate) fn claim_slot(
        self: &Arc<OpenConnections>,
        address: Option<IpAddr>,
        max: usize,
        per_address_max: usize,
    ) -> Option<ConnectionSlot> {
        let address = address.map(network_of);
        let mut open = lock_mutex(&self.open);
        let of_address = address.and_then(|address| open.by_address.get(&address)).copied();
        if open.all >= max || of_address.unwrap_or(0) >= per_address_max {
            return None;
        }
        open.all += 1;
        if let Some(address) = address {
            *open.by_address.entry(address).or_insert(0) += 1;
        }
        Some(ConnectionSlot { connections: self.clone(), address })
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        let mut open = lock_mutex(&self.connections.open);
        open.all = open.all.saturating_sub(1);
        if open.all == 0 {
            self.connections.emptied.notify_waiters();
        }
        let Some(address) = self.address else { return };
        if let Some(count) = open.by_address.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                open.by_address.remove(&address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000;

    #[test]
    fn s14_a_quota_is_used_up_and_comes_back_evenly() {
        let quotas = MinuteQuotas::new(60);
        let start = Timestamp(1_000 * SECOND);
        let allowed = (0..100).filter(|_| quotas.take("ann", start).allowed).count();
        assert_eq!(allowed, 60);
        let refused = quotas.take("ann", start);
        assert_eq!((refused.allowed, refused.left, refused.seconds), (false, 0, 1));
        assert!(quotas.take("ben", start).allowed, "each has their own");
        let later = Timestamp(start.0 + 10 * SECOND);
        let allowed = (0..100).filter(|_| quotas.take("ann", later).allowed).count();
        assert_eq!(allowed, 10);
    }

    #[test]
    fn s14_a_clock_that_jumps_back_gives_nothing_and_blocks_nobody() {
        let quotas = MinuteQuotas::new(60);
        for _ in 0..60 {
            assert!(quotas.take("ann", Timestamp(1_000 * SECOND)).allowed);
        }
        assert!(!quotas.take("ann", Timestamp(0)).allowed);
        assert!(quotas.take("ann", Timestamp(2 * SECOND)).allowed);
    }

    #[test]
    fn s14_a_table_full_of_keys_does_not_grow() {
        let quotas = MinuteQuotas::new(1);
        for key in 0..BUCKETS_MAX + 100 {
            quotas.take(key, Timestamp(0));
        }
        assert_eq!(lock_mutex(&quotas.buckets).len(), BUCKETS_MAX);
        // A minute later all of them are forgotten.
        quotas.take(BUCKETS_MAX + 200, Timestamp(60 * SECOND));
        assert_eq!(lock_mutex(&quotas.buckets).len(), 1);
    }

    #[test]
    fn s3_places_are_counted_in_all_and_by_address_and_given_back() {
        let connections = Arc::new(OpenConnections::default());
        let address = |text: &str| Some(text.parse().expect("an address"));
        let place = |ip| connections.claim_slot(ip, 4, 2);
        let first = place(address("2001:db8::1")).expect("free");
        let _second = place(address("2001:db8::2")).expect("free");
        assert!(place(address("2001:db8::3")).is_none(), "the same network");
        let _third = place(address("192.0.2.1")).expect("free");
        let _fourth = place(None).expect("free");
        assert!(place(None).is_none(), "four in all");
        drop(first);
        assert_eq!(connections.open_count(), 3);
        assert!(place(address("2001:db8::3")).is_some());
    }
}
