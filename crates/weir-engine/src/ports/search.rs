//! The search engine of the web that a person set up: which one, and what it wants to be asked with.
//! Not here: how a question and its answer are written (`weir-tools`), and where the key is kept.

/// A search engine that can be asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchEngine {
    /// The kind of the search engine.
    pub kind: SearchEngineKind,
    /// Where it is: scheme and host, and a path where one stands before the engine's own. No slash at
    /// the end.
    pub base_url: String,
    /// Its host as in [`super::WebAddress::host`], which may be a private one: a person named it.
    pub host: String,
    /// Name of the secret that holds its key; `None`: it is asked without one.
    pub secret: Option<String>,
}

/// The engines whose interface is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchEngineKind {
    /// An instance of SearXNG, of one's own or of others.
    Searxng,
    /// Brave Search.
    Brave,
    /// Tavily.
    Tavily,
    /// Exa.
    Exa,
    /// Kagi.
    Kagi,
}

/// In which header a key is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHeader {
    /// Its name.
    pub name: &'static str,
    /// Its value, with `{}` where the key stands.
    pub format: &'static str,
}

impl SearchEngineKind {
    /// All of them, in the order in which they are named to people.
    pub const ALL: [SearchEngineKind; 5] = [
        SearchEngineKind::Searxng,
        SearchEngineKind::Brave,
        SearchEngineKind::Tavily,
        SearchEngineKind::Exa,
        SearchEngineKind::Kagi,
    ];

    /// The word in settings.
    pub fn as_str(self) -> &'static str {
        match self {
            SearchEngineKind::Searxng => "searxng",
            SearchEngineKind::Brave => "brave",
            SearchEngineKind::Tavily => "tavily",
            SearchEngineKind::Exa => "exa",
            SearchEngineKind::Kagi => "kagi",
        }
    }

    /// The engine of this word.
    pub fn from_word(word: &str) -> Option<SearchEngineKind> {
        SearchEngineKind::ALL.into_iter().find(|kind| kind.as_str() == word)
    }

    /// Where its maker answers; `None`: everybody runs their own.
    pub fn own_url(self) -> Option<&'static str> {
        match self {
            SearchEngineKind::Searxng => None,
            SearchEngineKind::Brave => Some("https://api.search.brave.com"),
            SearchEngineKind::Tavily => Some("https://api.tavily.com"),
            SearchEngineKind::Exa => Some("https://api.exa.ai"),
            SearchEngineKind::Kagi => Some("https://kagi.com"),
        }
    }

    /// The variable in which people keep its key; `None`: it answers without one.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            SearchEngineKind::Searxng => None,
            SearchEngineKind::Brave => Some("BRAVE_API_KEY"),
            SearchEngineKind::Tavily => Some("TAVILY_API_KEY"),
            SearchEngineKind::Exa => Some("EXA_API_KEY"),
            SearchEngineKind::Kagi => Some("KAGI_API_KEY"),
        }
    }

    /// How its key is sent.
    pub fn key_header(self) -> KeyHeader {
        let (name, format) = match self {
            SearchEngineKind::Searxng | SearchEngineKind::Tavily => ("authorization", "Bearer {}"),
            SearchEngineKind::Brave => ("x-subscription-token", "{}"),
            SearchEngineKind::Exa => ("x-api-key", "{}"),
            SearchEngineKind::Kagi => ("authorization", "Bot {}"),
        };
        KeyHeader { name, format }
    }
}
