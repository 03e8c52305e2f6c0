//! Notes, links, properties and bases: through data where that is possible.

mod base;
mod diagram;
mod hostile;
mod index;
mod note;
mod properties;
mod reading;
mod renaming;
mod rewrite;
mod vault;
