//! Servers of one's own that can be asked which window holds. Not here: asking them (`window`).

use super::Vendor;

/// The servers that can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnServer {
    Ollama,
    LmStudio,
    LlamaCpp,
    Vllm,
}

impl OwnServer {
    /// The one that a vendor's row stands for.
    pub(crate) fn of(vendor: &Vendor) -> Option<OwnServer> {
        match vendor.name.as_str() {
            "ollama" => Some(OwnServer::Ollama),
            "lmstudio" => Some(OwnServer::LmStudio),
            "llamacpp" => Some(OwnServer::LlamaCpp),
            "vllm" => Some(OwnServer::Vllm),
            _ => None,
        }
    }
}

/// Whether this vendor is a server of one's own that can be asked.
pub fn can_be_asked(vendor: &Vendor) -> bool {
    OwnServer::of(vendor).is_some()
}
