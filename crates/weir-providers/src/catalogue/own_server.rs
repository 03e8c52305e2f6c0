//! Servers of one's own that can be asked which window holds. Not here: asking them (`window`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{LOCAL_WINDOW, UNKNOWN_WINDOW, Vendor};
use crate::dialect::{ollama, openai_chat};

/// What a server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerKind {
    /// Ollama.
    Ollama,
    /// LM Studio.
    LmStudio,
    /// `llama-server` of llama.cpp.
    LlamaCpp,
    /// vLLM.
    Vllm,
    /// None of these: it is asked nothing.
    Other,
}

impl ServerKind {
    /// The words of the config.
    pub const WORDS: [&str; 5] = ["ollama", "lmstudio", "llama.cpp", "vllm", "other"];

    /// The one that a word of the config, or the name of a built-in provider, stands for.
    pub fn of_word(word: &str) -> Option<ServerKind> {
        match word {
            "ollama" => Some(ServerKind::Ollama),
            "lmstudio" => Some(ServerKind::LmStudio),
            "llama.cpp" | "llamacpp" => Some(ServerKind::LlamaCpp),
            "vllm" => Some(ServerKind::Vllm),
            "other" => Some(ServerKind::Other),
            _ => None,
        }
    }

    /// What the server of a vendor is known to be: as the config says, or as a built-in row stands for. A
    /// provider of one's own that speaks Ollama's own words is Ollama on another machine: requests to it name a
    /// window, which must not be a guess.
    pub(crate) fn of_vendor(vendor: &Vendor) -> Option<ServerKind> {
        let by_name = || match vendor.name.as_str() {
            "ollama" | "lmstudio" | "llamacpp" | "vllm" => ServerKind::of_word(&vendor.name),
            _ => None,
        };
        let by_dialect = || (vendor.dialect == ollama::NAME).then_some(ServerKind::Ollama);
        vendor.server.or_else(by_name).or_else(by_dialect)
    }
}

/// Whether this vendor is a server that can be asked: one that is known to be of one's own, or one of which nobody
/// said what it is and which speaks what all of them speak.
pub fn can_be_asked(vendor: &Vendor) -> bool {
    match ServerKind::of_vendor(vendor) {
        Some(ServerKind::Other) => false,
        Some(_) => true,
        None => vendor.is_own && vendor.dialect == openai_chat::NAME,
    }
}

/// Whether the server of this vendor is known to be of one's own, before anybody asks it.
pub fn is_own_server(vendor: &Vendor) -> bool {
    ServerKind::of_vendor(vendor).is_some_and(|kind| kind != ServerKind::Other)
}

/// Ends of names that no public server has: of this machine, of a network at home, at work or between one's own
/// machines, and of tests (RFC 6761, 6762, 8375; Tailscale's).
const NEAR_NAMES: [&str; 10] = [
    "localhost",
    "local",
    "lan",
    "home",
    "home.arpa",
    "internal",
    "intranet",
    "localdomain",
    "ts.net",
    "test",
];

/// The window that a model of this vendor is given where nobody says which holds. What stands on a machine of
/// one's own, or near it, mostly starts with a small one and cuts what is over at the front unseen (R6); behind a
/// public name there is a gateway or a vendor, whose models have large ones and refuse what is too long.
pub fn guessed_window(vendor: &Vendor) -> u64 {
    match is_own_server(vendor) || vendor.is_own && is_near(&vendor.base_url) {
        true => LOCAL_WINDOW,
        false => UNKNOWN_WINDOW,
    }
}

/// Whether an address is of this machine or of a network that is not the public one; also one that cannot be read.
fn is_near(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else { return true };
    let Some(host) = url.host_str() else { return true };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.parse() {
        Ok(IpAddr::V4(address)) => is_near_v4(address),
        Ok(IpAddr::V6(address)) => {
            address.to_ipv4_mapped().map_or_else(|| is_near_v6(address), is_near_v4)
        }
        Err(_) => {
            let name = bare.trim_end_matches('.').to_ascii_lowercase();
            let ends_so = |end: &str| {
                let before = name.strip_suffix(end);
                before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
            };
            !name.contains('.') || NEAR_NAMES.iter().any(|end| ends_so(end))
        }
    }
}

fn is_near_v4(address: Ipv4Addr) -> bool {
    // 100.64.0.0/10 is what carriers and networks between one's own machines use.
    let [first, second, ..] = address.octets();
    let is_shared = first == 100 && (64..128).contains(&second);
    address.is_loopback() || address.is_private() || address.is_link_local() || is_shared
}

fn is_near_v6(address: Ipv6Addr) -> bool {
    address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r6_what_stands_near_is_told_from_what_stands_behind_a_public_name() {
        for near in [
            "http://127.0.0.1:8000/v1",
            "http://[::1]:8000/v1",
            "http://192.168.1.20:8080/v1",
            "http://10.0.0.3/v1",
            "http://100.101.102.103:11434",
            "http://[fd00::1]:8000/v1",
            "http://[::ffff:192.168.1.20]/v1",
            "http://box:8000/v1",
            "http://LOCALHOST:1/v1",
            "http://gpu.lan/v1",
            "http://gpu.home.arpa./v1",
            "http://gpu.tail1234.ts.net/v1",
            "no address",
        ] {
            assert!(is_near(near), "{near}");
        }
        for far in [
            "https://gateway.example.com/v1",
            "https://openrouter.ai/api/v1",
            "https://203.0.113.7/v1",
            "https://[2001:db8::1]/v1",
            "https://lan.example.com/v1",
            "https://evillocal.com/v1",
        ] {
            assert!(!is_near(far), "{far}");
        }
    }
}
