//! Obsidian's bases: what a `.base` file asks, and what notes answer. Not here: reading the file and the
//! vault, which files may be seen.

mod check;
mod date;
mod definition;
mod evaluate;
mod expression;
mod file;
mod functions;
mod methods;
mod narrow;
mod query;
mod value;

pub use definition::{BaseDefinition, BaseView, parse_base};
pub use file::{FileTimes, VaultTimes};
pub use query::{BaseCell, BaseGroup, BaseQuery, BaseRow, BaseTable, run_query};

/// What is wrong with a base, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BaseError {
    /// `formulas.price`, `views[0].filters`, …
    pub place: String,
    /// What is wrong there.
    pub message: String,
}

impl BaseError {
    fn new(place: impl Into<String>, message: impl Into<String>) -> BaseError {
        BaseError { place: place.into(), message: message.into() }
    }
}

impl std::fmt::Display for BaseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

impl std::error::Error for BaseError {}
