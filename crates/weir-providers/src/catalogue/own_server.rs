//! Servers of one's own that can be asked which window holds. Not here: asking them (`window`).

use super::Vendor;
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
