//! Searches of the web in a script: what a vendor's own search tool finds (`found:`). Not here: how a
//! vendor writes that (`wire::search`).

use super::fault::ScriptedFault;

/// What a search finds whose words contain these.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedSearch {
    /// Words of the question; empty: any question.
    pub words: String,
    /// What is answered.
    pub outcome: SearchOutcome,
}

/// What a vendor answers to a search.
#[derive(Debug, Clone, PartialEq)]
pub enum SearchOutcome {
    /// These pages; none: nothing was found.
    Pages(Vec<ScriptedPage>),
    /// The vendor answers, and its search tool refuses, with this word of its own.
    Refused(String),
    /// The request fails.
    Fault(ScriptedFault),
}

/// A page that is found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScriptedPage {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
    /// What is cited of it; empty: it is found and not cited.
    pub passage: String,
    /// When it was published, as the vendor would say it; empty: unknown.
    pub date: String,
}

/// Reads `found: WORDS` with the lines below it.
///
/// # Errors
/// What is wrong with a line.
pub(crate) fn parse_search(
    words: &str,
    lines: &[&str],
    fault: impl Fn(&str) -> Result<ScriptedFault, String>,
) -> Result<ScriptedSearch, String> {
    let search = |outcome| Ok(ScriptedSearch { words: words.to_owned(), outcome });
    let mut pages = Vec::new();
    for line in lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()) {
        if let Some(code) = line.strip_prefix("refused ") {
            return search(SearchOutcome::Refused(code.trim().to_owned()));
        }
        if let Some(text) = line.strip_prefix("error ") {
            return search(SearchOutcome::Fault(fault(text.trim())?));
        }
        let mut fields = line.split(" | ").map(str::trim);
        let mut field = || fields.next().unwrap_or_default().to_owned();
        let page = ScriptedPage { title: field(), url: field(), passage: field(), date: field() };
        if !page.url.contains("://") {
            return Err(format!(
                "`{line}` is no page: write TITLE | ADDRESS | PASSAGE | DATE, `refused CODE` or \
                 `error STATUS`"
            ));
        }
        pages.push(page);
    }
    search(SearchOutcome::Pages(pages))
}
