//! From a host to the addresses that a socket may go to: looked up once, every one judged. The
//! client and the proxy share it.

use std::net::IpAddr;
use std::time::Duration;

use url::Host;

use crate::address::{host_text, judge_host, judge_ip, refusal_text};
use crate::lookup::{ADDRESSES_MAX, HostLookup};

/// What addresses are judged by.
#[derive(Clone, Copy)]
pub(crate) struct AddressGuard<'a> {
    /// Hosts that may be private ones, in canonical form.
    pub(crate) allowed: &'a [String],
    /// Who is asked for names.
    pub(crate) lookup: &'a dyn HostLookup,
    /// How long that may take.
    pub(crate) timeout: Duration,
}

/// The addresses of a host, judged.
#[derive(Debug)]
pub(crate) struct PinnedAddresses {
    /// Where a socket may go, and nowhere else.
    pub(crate) addresses: Vec<IpAddr>,
    /// All of them belong to this machine or a private network; a person listed the host.
    pub(crate) is_private: bool,
}

/// Why there are none.
#[derive(Debug)]
pub(crate) enum PinError {
    /// It must not be reached.
    Refused(String),
    /// Name servers gave no usable answer.
    Failed(String),
}

impl PinError {
    pub(crate) fn into_text(self) -> String {
        match self {
            PinError::Refused(why) | PinError::Failed(why) => why,
        }
    }
}

/// Looks `host` up and judges all that is found.
pub(crate) async fn pin_host<S: AsRef<str>>(
    guard: AddressGuard<'_>,
    host: &Host<S>,
) -> Result<PinnedAddresses, PinError> {
    let text = host_text(host);
    let is_listed = guard.allowed.contains(&text);
    if !is_listed {
        judge_host(host).map_err(PinError::Refused)?;
    }
    let addresses = match host {
        Host::Ipv4(ip) => vec![IpAddr::V4(*ip)],
        Host::Ipv6(ip) => vec![IpAddr::V6(*ip)],
        Host::Domain(_) => {
            let found = look_up(guard, &text).await.map_err(PinError::Failed)?;
            // One closed address closes the name: which of them a socket takes is not ours to say.
            for ip in &found {
                if let Err(closed) = judge_ip(*ip)
                    && !(is_listed && closed.opens_by_name())
                {
                    return Err(PinError::Refused(refusal_text(&format!("{text} ({ip})"), closed)));
                }
            }
            found
        }
    };
    let is_private = addresses.iter().all(|ip| judge_ip(*ip).is_err());
    Ok(PinnedAddresses { addresses, is_private })
}

async fn look_up(guard: AddressGuard<'_>, host: &str) -> Result<Vec<IpAddr>, String> {
    let found = tokio::time::timeout(guard.timeout, guard.lookup.lookup_host(host))
        .await
        .map_err(|_| format!("the name {host} could not be looked up in time"))?
        .map_err(|why| format!("the name {host} could not be looked up: {why}"))?;
    if found.is_empty() {
        return Err(format!("the name {host} has no address"));
    }
    if found.len() > ADDRESSES_MAX {
        return Err(format!("the name {host} has more than {ADDRESSES_MAX} addresses"));
    }
    Ok(found)
}
