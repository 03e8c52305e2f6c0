//! What a vendor offers by way of search: a row of data (`vendors.toml`). Not here: requests.

use serde::Deserialize;

use super::Vendor;

/// In whose words a search is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchShape {
    /// Anthropic's server tool `web_search_20250305`.
    Anthropic,
    /// OpenAI's tool `web_search` of the Responses API.
    OpenaiResponses,
    /// `web_search_options` of OpenAI's search models in Chat Completions.
    OpenaiChat,
    /// OpenRouter's server tool `openrouter:web_search`.
    Openrouter,
    /// Grounding with Google Search.
    Gemini,
}

/// A vendor's search.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchOffer {
    /// How it is asked.
    pub shape: SearchShape,
    /// Parts of the names of models that have it; empty: all have it.
    #[serde(default)]
    pub models: Vec<String>,
    /// What it costs, the first that fits; none: nobody knows.
    #[serde(default)]
    pub prices: Vec<SearchPrice>,
}

/// What searches cost beside tokens, as the vendor publishes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SearchPrice {
    /// Beginning of the names of the models that it is for; empty: all.
    #[serde(default)]
    pub models: String,
    /// Cents (USD) for a thousand.
    pub cents_per_thousand: u64,
    /// Of what.
    #[serde(default)]
    pub unit: SearchPriceUnit,
}

/// What a price counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SearchPriceUnit {
    /// Each search that the vendor counts.
    #[default]
    Search,
    /// A request, however much it searches.
    Request,
}

impl Vendor {
    /// How a model of this vendor is asked to search; `None`: it is not.
    pub fn search_offer(&self, model: &str) -> Option<&SearchOffer> {
        let offer = self.search.as_ref()?;
        let fits = offer.models.is_empty() || offer.models.iter().any(|part| model.contains(part));
        fits.then_some(offer)
    }
}

impl SearchOffer {
    fn price(&self, model: &str) -> Option<&SearchPrice> {
        self.prices.iter().find(|price| model.starts_with(&price.models))
    }

    /// What so many searches cost, in USD; `None`: nobody knows.
    pub(crate) fn cost_of(&self, model: &str, searches: u64) -> Option<f64> {
        if searches == 0 {
            return Some(0.0);
        }
        let price = self.price(model)?;
        let count = match price.unit {
            SearchPriceUnit::Search => searches,
            SearchPriceUnit::Request => 1,
        };
        Some(count as f64 * price.cents_per_thousand as f64 / 100_000.0)
    }

    /// What it costs beside its tokens, in words.
    pub fn price_text(&self, model: &str) -> String {
        let Some(price) = self.price(model) else {
            return "at a price that the vendor tells with each answer, or that nobody knows"
                .into();
        };
        let unit = match price.unit {
            SearchPriceUnit::Search => "searches",
            SearchPriceUnit::Request => "requests that search",
        };
        let usd = price.cents_per_thousand as f64 / 100.0;
        format!("${usd} for 1000 {unit}, and the tokens")
    }
}
