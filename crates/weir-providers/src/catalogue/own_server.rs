//! Servers of one's own that can be asked which window holds. Not here: asking them (`window`).

use super::Vendor;
use crate::dialect::ollama;

/// The servers that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnServer {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

impl OwnServer {
    /// The one that a vendor's row stands for. A provider of one's own that speaks Ollama's own words is
    /// Ollama on another machine: requests to it name a window, which must not be a guess.
    pub(crate) fn of(vendor: &Vendor) -> Option<OwnServer> {
        match vendor.name.as_str() {
            "ollama" => Some(OwnServer::Ollama),
            "lmstudio" => Some(OwnServer::LmStudio),
            "llamacpp" => Some(OwnServer::LlamaCpp),
            "vllm" => Some(OwnServer::Vllm),
            _ => (vendor.dialect == ollama::NAME).then_some(OwnServer::Ollama),
        }
    }
}

/// Whether this vendor is a server of one's own that can be asked.
pub fn can_be_asked(vendor: &Vendor) -> bool {
    OwnServer::of(vendor).is_some()
}
