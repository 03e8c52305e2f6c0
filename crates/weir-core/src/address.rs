//! Which IP addresses belong to the open internet: one judgement for fetches, the proxy of commands,
//! mail and notices (Z5). Pure. Not here: names, ports, and what a person listed.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

/// Why an IP address is not reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressRefusal {
    /// This machine.
    Loopback,
    /// A private or unique-local network, or one shared behind a carrier's translation.
    Private,
    /// Only on this link; also where clouds keep a machine's credentials.
    LinkLocal,
    /// A cloud's metadata or control service.
    Metadata,
    /// No single machine.
    Multicast,
    /// Not assigned, for documentation, for measurements, or the unspecified address.
    Reserved,
    /// An IPv6 form that carries an IPv4 address past the rules for those.
    Embedded,
}

impl AddressRefusal {
    /// Whether listing a host's *name* opens such an address. The others must be listed as such.
    pub fn opens_by_name(self) -> bool {
        match self {
            AddressRefusal::Loopback | AddressRefusal::Private => true,
            AddressRefusal::LinkLocal
            | AddressRefusal::Metadata
            | AddressRefusal::Multicast
            | AddressRefusal::Reserved
            | AddressRefusal::Embedded => false,
        }
    }
}

impl fmt::Display for AddressRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressRefusal::Loopback => "this machine itself",
            AddressRefusal::Private => "a private network",
            AddressRefusal::LinkLocal => "a link-local address",
            AddressRefusal::Metadata => "a cloud's metadata service",
            AddressRefusal::Multicast => "a multicast address",
            AddressRefusal::Reserved => "a reserved address",
            AddressRefusal::Embedded => "an IPv4 address inside an IPv6 one",
        })
    }
}

/// Whether `ip` is an ordinary address of the open internet.
///
/// # Errors
/// What it is instead.
pub fn judge_ip(ip: IpAddr) -> Result<(), AddressRefusal> {
    match ip {
        IpAddr::V4(ip) => judge_v4(ip),
        IpAddr::V6(ip) => judge_v6(ip),
    }
}

fn judge_v4(ip: Ipv4Addr) -> Result<(), AddressRefusal> {
    match ip.octets() {
        [127, ..] => Err(AddressRefusal::Loopback),
        [168, 63, 129, 16] | [169, 254, 169, 254] | [100, 100, 100, 200] => {
            Err(AddressRefusal::Metadata)
        }
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] | [100, 64..=127, ..] => {
            Err(AddressRefusal::Private)
        }
        [169, 254, ..] => Err(AddressRefusal::LinkLocal),
        [224..=239, ..] => Err(AddressRefusal::Multicast),
        [0, ..]
        | [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Err(AddressRefusal::Reserved),
        _ => Ok(()),
    }
}

fn judge_v6(ip: Ipv6Addr) -> Result<(), AddressRefusal> {
    match ip.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Err(AddressRefusal::Reserved),
        [0, 0, 0, 0, 0, 0, 0, 1] => Err(AddressRefusal::Loopback),
        // Compatible, mapped, translated, NAT64, Teredo, 6to4, ISATAP below any prefix.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..]
        | [0, 0, 0, 0, 0xffff, 0, ..]
        | [0x64, 0xff9b, ..]
        | [0x2001, 0, ..]
        | [0x2002, ..]
        | [0x2000..=0x3fff, _, _, _, 0 | 0x200, 0x5efe, ..] => Err(AddressRefusal::Embedded),
        [0xfd00, 0xec2, ..] | [0xfd20, 0xce, ..] => Err(AddressRefusal::Metadata),
        [0xfc00..=0xfdff, ..] | [0xfec0..=0xfeff, ..] => Err(AddressRefusal::Private),
        [0xfe80..=0xfebf, ..] => Err(AddressRefusal::LinkLocal),
        [0xff00..=0xffff, ..] => Err(AddressRefusal::Multicast),
        // Special assignments, documentation.
        [0x2001, 0x1..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => {
            Err(AddressRefusal::Reserved)
        }
        // Only this part is given out as global unicast.
        [0x2000..=0x3fff, ..] => Ok(()),
        _ => Err(AddressRefusal::Reserved),
    }
}

/// Whether `ip` is an ordinary address of the open internet; an IPv4 address in its mapped form is
/// judged as what it is.
pub fn is_public(ip: IpAddr) -> bool {
    judge_ip(ip.to_canonical()).is_ok()
}
