//! A vendor that searches the web, as a scenario says what it finds. Not here: how real ones are asked.

use std::sync::Arc;

use async_trait::async_trait;
use weir_core::model::Usage;
use weir_engine::ports::{
    VendorAnswer, VendorPage, VendorQuestion, VendorSearch, VendorSearchError, VendorSearchSource,
    WebAddress,
};

/// The vendor that finds these; none: no vendor searches.
pub(crate) fn searching_vendor(finds: &[(String, String)]) -> Option<Arc<dyn VendorSearch>> {
    (!finds.is_empty()).then(|| Arc::new(FakeVendor(finds.to_vec())) as Arc<dyn VendorSearch>)
}

struct FakeVendor(Vec<(String, String)>);

#[async_trait]
impl VendorSearch for FakeVendor {
    fn source(&self) -> VendorSearchSource {
        let (url, host) = ("https://search.example/".into(), "search.example".into());
        VendorSearchSource { model: "fake/searcher".into(), address: WebAddress { url, host } }
    }

    async fn search_web(
        &self,
        question: &VendorQuestion,
    ) -> Result<VendorAnswer, VendorSearchError> {
        let fits = |(words, _): &&(String, String)| question.words.contains(words.as_str());
        let page = |(_, text): &(String, String)| {
            let mut fields = text.split(" | ").map(|field| field.trim().to_owned());
            let mut field = || fields.next().unwrap_or_default();
            VendorPage { title: field(), url: field(), passage: field(), date: None }
        };
        Ok(VendorAnswer {
            pages: self.0.iter().filter(fits).map(page).collect(),
            searched: vec![question.words.clone()],
            searches: 1,
            usage: Usage { input: 900, output: 100, ..Usage::default() },
            cost_usd: Some(0.01),
            ..VendorAnswer::default()
        })
    }
}
