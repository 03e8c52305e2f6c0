//! Lists in parts: every list of the API has the same shape.

use serde::{Deserialize, Serialize};

/// Most things in one part.
pub(crate) const LIMIT_MAX: usize = 200;
/// Things in one part where nobody says how many.
const LIMIT_DEFAULT: usize = 50;

/// The part of a list that is asked for.
#[derive(Debug, Clone, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PageQuery {
    /// At most so many (1 to 200, default 50).
    pub(crate) limit: Option<usize>,
    /// The `next` of the part before.
    pub(crate) after: Option<String>,
}

impl PageQuery {
    /// How many, within bounds.
    pub(crate) fn limit(&self) -> usize {
        self.limit.unwrap_or(LIMIT_DEFAULT).clamp(1, LIMIT_MAX)
    }
}

/// A part of a list.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "{T}Page"))]
pub(crate) struct ListPage<T> {
    /// The things.
    pub(crate) items: Vec<T>,
    /// What to send as `after` for the next part; `null`: this was the last.
    pub(crate) next: Option<String>,
}

impl<T> ListPage<T> {
    /// The part of `all` that `query` asks for; `key`: the name by which a part ends.
    pub(crate) fn from_list(
        all: Vec<T>,
        query: &PageQuery,
        key: impl Fn(&T) -> String,
    ) -> ListPage<T> {
        let start = match &query.after {
            None => 0,
            Some(after) => {
                all.iter().position(|one| key(one) == *after).map_or(all.len(), |n| n + 1)
            }
        };
        let limit = query.limit();
        let more = all.len().saturating_sub(start) > limit;
        let items: Vec<T> = all.into_iter().skip(start).take(limit).collect();
        let next = items.last().filter(|_| more).map(&key);
        ListPage { items, next }
    }
}
