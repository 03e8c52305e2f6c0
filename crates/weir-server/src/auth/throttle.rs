//! Guessing is slow (S2): waits that grow with each failure, per account and per address, shared by
//! all replicas. Nobody is locked out for good by somebody else's guessing: waits have an end, and a
//! browser that signed in before counts by itself.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use weir_core::ids::Timestamp;

use crate::auth::secret;
use crate::auth::shelf::{EntrySlot, TypedRecords};
use crate::problem::{HandlerResult, ProblemDetails};

/// Kind of the entries.
const KIND: &str = "throttle";
/// After so long without a try everything is forgotten.
const FORGOTTEN_MS: u64 = 24 * 60 * 60 * 1000;

/// How quickly one thing may be tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThrottleBucket {
    name: String,
    free: u32,
    wait_ms_max: u64,
}

impl ThrottleBucket {
    /// Tries at one account, whoever makes them: 5 free, then waits up to 5 minutes.
    pub(crate) fn for_account(name: &str) -> ThrottleBucket {
        ThrottleBucket::new("account", name, 5, 5 * 60 * 1000)
    }

    /// Tries of a browser that signed in to this account before.
    pub(crate) fn for_device(name: &str, device: &str) -> ThrottleBucket {
        ThrottleBucket::new("device", &format!("{name} {device}"), 5, 5 * 60 * 1000)
    }

    /// Tries from one address, at whatever account: 20 free, then waits up to 15 minutes. An IPv6
    /// network (/64) counts as one.
    pub(crate) fn for_address(address: IpAddr) -> ThrottleBucket {
        let network = match address {
            IpAddr::V6(six) => match six.to_ipv4_mapped() {
                Some(four) => four.to_string(),
                None => format!("{:x?}", &six.segments()[..4]),
            },
            IpAddr::V4(four) => four.to_string(),
        };
        ThrottleBucket::new("address", &network, 20, 15 * 60 * 1000)
    }

    /// Tries at the setup code.
    pub(crate) fn for_setup() -> ThrottleBucket {
        ThrottleBucket::new("setup", "code", 5, 60 * 1000)
    }

    /// Questions for a passkey, of which each leaves an entry: 60 free, then up to a minute.
    pub(crate) fn for_passkey_question(address: IpAddr) -> ThrottleBucket {
        let ThrottleBucket { name, .. } = ThrottleBucket::for_address(address);
        ThrottleBucket::new("question", &name, 60, 60 * 1000)
    }

    fn new(what: &str, name: &str, free: u32, wait_ms_max: u64) -> ThrottleBucket {
        ThrottleBucket {
            name: format!("{what}:{}", secret::secret_digest(name)),
            free,
            wait_ms_max,
        }
    }

    /// How long to wait after so many tries that failed.
    fn wait_ms(&self, failures: u32) -> u64 {
        match failures.checked_sub(self.free) {
            None => 0,
            Some(over) => (1000_u64 << over.min(20)).min(self.wait_ms_max),
        }
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct FailedAttempts {
    failures: u32,
    #[serde(default)]
    until: i64,
}

/// Counts a try before it is made, in every bucket: many at once do not slip through. A try that is
/// refused counts nowhere, so that guessing at one account does not slow down its whole address.
///
/// # Errors
/// One of them has to wait: how many seconds.
pub(crate) async fn take_attempt(
    shelf: &TypedRecords,
    buckets: &[ThrottleBucket],
) -> HandlerResult<()> {
    for (at, bucket) in buckets.iter().enumerate() {
        let wait_ms = take_one(shelf, bucket).await?;
        if wait_ms > 0 {
            for taken in &buckets[..at] {
                give_back(shelf, taken).await?;
            }
            let seconds = wait_ms.div_ceil(1000);
            return Err(ProblemDetails::too_many(
                seconds,
                format!("too many tries; the next one is possible in {seconds} seconds"),
            ));
        }
    }
    Ok(())
}

async fn take_one(shelf: &TypedRecords, bucket: &ThrottleBucket) -> HandlerResult<u64> {
    let now = shelf.current_time();
    let mut wait_ms = 0;
    let slot = EntrySlot { kind: KIND, name: &bucket.name, owner: "", expires: None };
    shelf
        .change_value(slot, |tries: Option<FailedAttempts>| {
            let mut tries = tries.unwrap_or_default();
            wait_ms = Timestamp(tries.until).ms_since(now);
            if wait_ms > bucket.wait_ms_max {
                // No wait is that long: it was noted by a clock that ran ahead, and begins anew.
                wait_ms = bucket.wait_ms(tries.failures).max(1);
                tries.until = now.plus_ms(wait_ms).0;
                return Some((tries, Some(now.plus_ms(FORGOTTEN_MS))));
            }
            if wait_ms > 0 {
                return None;
            }
            tries.failures = tries.failures.saturating_add(1);
            tries.until = now.plus_ms(bucket.wait_ms(tries.failures)).0;
            Some((tries, Some(now.plus_ms(FORGOTTEN_MS))))
        })
        .await?;
    Ok(wait_ms)
}

/// The try was right: this bucket begins anew.
pub(crate) async fn forget_failures(
    shelf: &TypedRecords,
    bucket: &ThrottleBucket,
) -> HandlerResult<()> {
    shelf.remove(KIND, &bucket.name).await?;
    Ok(())
}

/// The try was right, but says nothing of those before it: it alone is taken back. So whoever has
/// one account cannot make room for guessing at others.
pub(crate) async fn give_back(shelf: &TypedRecords, bucket: &ThrottleBucket) -> HandlerResult<()> {
    let now = shelf.current_time();
    let slot = EntrySlot { kind: KIND, name: &bucket.name, owner: "", expires: None };
    shelf
        .change_value(slot, |tries: Option<FailedAttempts>| {
            let mut tries = tries?;
            tries.failures = tries.failures.saturating_sub(1);
            tries.until = now.0;
            Some((tries, Some(now.plus_ms(FORGOTTEN_MS))))
        })
        .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s2_waits_grow_and_have_an_end() {
        let bucket = ThrottleBucket::for_account("ann");
        let waits: Vec<u64> = [1, 4, 5, 6, 7, 13, 14, 1000].map(|n| bucket.wait_ms(n)).into();
        assert_eq!(waits, [0, 0, 1000, 2000, 4000, 256_000, 300_000, 300_000]);
    }

    #[test]
    fn s2_an_ipv6_network_is_one_address() {
        let bucket = |text: &str| ThrottleBucket::for_address(text.parse().expect("an address"));
        assert_eq!(bucket("2001:db8:1:2::1"), bucket("2001:db8:1:2:ffff::9"));
        assert_ne!(bucket("2001:db8:1:2::1"), bucket("2001:db8:1:3::1"));
        assert_eq!(bucket("::ffff:192.0.2.1"), bucket("192.0.2.1"));
    }
}
