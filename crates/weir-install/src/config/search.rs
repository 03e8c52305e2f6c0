//! The settings of the search engine: which engine, where it is, what is wrong with them. Not here:
//! its key, and how it is asked.

use weir_engine::ports::SearchEngineKind;

use super::SearchSettings;

/// The word for the search of a model's vendor, which is no engine with an address of its own.
const VENDOR: &str = "vendor";

impl SearchSettings {
    /// Whether a model's vendor searches.
    pub(crate) fn is_by_vendor(&self) -> bool {
        self.kind.trim() == VENDOR
    }
}

/// The engine and where it is; `None`: it runs nowhere (SearXNG without an address).
pub(crate) fn search_engine_address(
    settings: &SearchSettings,
) -> Option<(SearchEngineKind, url::Url)> {
    let kind = SearchEngineKind::from_word(settings.kind.trim())?;
    let address = match settings.url.trim() {
        "" => kind.own_url()?,
        own => own,
    };
    Some((kind, url::Url::parse(address).ok()?))
}

/// What is wrong with the settings: the key below `web.search`, and the sentence.
pub(super) fn search_complaint(settings: &SearchSettings) -> Option<(String, String)> {
    let complaint = |key: &str, problem: String| Some((format!("web.search.{key}"), problem));
    if !settings.is_by_vendor() && SearchEngineKind::from_word(settings.kind.trim()).is_none() {
        let known = SearchEngineKind::ALL.iter().map(|kind| kind.as_str());
        let known: Vec<&str> = known.chain([VENDOR]).collect();
        let problem = format!("is {:?}; it is one of {}", settings.kind, known.join(", "));
        return complaint("kind", problem);
    }
    if !settings.is_by_vendor() && !settings.model.trim().is_empty() {
        let problem = format!("is {:?}; a model searches with kind = \"vendor\"", settings.model);
        return complaint("model", problem);
    }
    let fits = |url: url::Url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
    };
    if !settings.url.trim().is_empty() && !url::Url::parse(settings.url.trim()).is_ok_and(fits) {
        let problem = format!("is {:?}; write https://HOST/PATH, without a key", settings.url);
        return complaint("url", problem);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn k10_only_engines_whose_interface_is_spoken_can_be_set() {
        let of = |kind: &str, url: &str| {
            let settings =
                SearchSettings { kind: kind.into(), url: url.into(), ..SearchSettings::default() };
            search_complaint(&settings).map(|(key, _)| key)
        };
        assert_eq!(of("searxng", ""), None);
        assert_eq!(of("kagi", "https://proxy.example/kagi/"), None);
        assert_eq!(of("google", ""), Some("web.search.kind".into()));
        assert_eq!(of("vendor", ""), None);
        let model = |kind: &str| {
            let (kind, model) = (kind.into(), "anthropic/x".into());
            search_complaint(&SearchSettings { kind, model, ..SearchSettings::default() })
        };
        assert_eq!(model("vendor"), None);
        assert_eq!(model("brave").map(|(key, _)| key), Some("web.search.model".into()));
        for url in ["search.example", "ftp://x", "https://a:b@x/", "https://x/?key=1"] {
            assert_eq!(of("searxng", url), Some("web.search.url".into()), "{url}");
        }
    }
}
