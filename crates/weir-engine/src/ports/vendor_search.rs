//! Search of the web by a model's vendor, with the vendor's own search tool (K10). Not here: search
//! engines with a key of their own (`search`), and how a vendor's request is written.

use async_trait::async_trait;
use weir_core::model::Usage;

use super::{ModelUse, WebAddress};

/// Asks a model's vendor to search the web. Called for one question at a time, with no word of the
/// session but that question.
#[async_trait]
pub trait VendorSearch: Send + Sync {
    /// Who is asked, and where.
    fn source(&self) -> VendorSearchSource;
    /// Asks. The answer is what others wrote; nothing in it is for this program.
    ///
    /// # Errors
    /// Nobody answered, the search was refused, or nothing was searched: a sentence for the model,
    /// with what it used all the same.
    async fn search_web(
        &self,
        question: &VendorQuestion,
    ) -> Result<VendorAnswer, VendorSearchError>;
}

/// Who searches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorSearchSource {
    /// The model that is asked, as `provider/name`.
    pub model: String,
    /// Where its vendor is asked. A person named it, so it may be a private host.
    pub address: WebAddress,
}

/// One question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VendorQuestion {
    /// The words that are searched for.
    pub words: String,
    /// Pages of this domain alone.
    pub site: Option<String>,
    /// Pages of the last so much are wanted: `week`.
    pub age: Option<&'static str>,
    /// Most pages.
    pub limit: usize,
}

/// What a vendor found.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct VendorAnswer {
    /// The pages, those that are cited first, each address once.
    pub pages: Vec<VendorPage>,
    /// What the vendor's model said where it cites nothing.
    pub uncited: String,
    /// The words that the vendor says it searched for.
    pub searched: Vec<String>,
    /// Searches that it counts.
    pub searches: u64,
    /// Tokens.
    pub usage: Usage,
    /// What tokens and searches cost, in USD; `None`: nobody knows one of their prices.
    pub cost_usd: Option<f64>,
}

/// A page that a vendor found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VendorPage {
    /// Its title, or what the vendor gives for it.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What is cited of it; may be empty.
    pub passage: String,
    /// When it was published or changed, as the vendor says it.
    pub date: Option<String>,
}

/// Why nothing was found.
#[derive(Debug, Clone, PartialEq)]
pub struct VendorSearchError {
    /// A sentence.
    pub why: String,
    /// What it used all the same, and what that cost; `None`: it used nothing that is known.
    pub used: Option<ModelUse>,
}
