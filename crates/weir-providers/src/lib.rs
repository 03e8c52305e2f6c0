//! Speaks: one codec per wire dialect and one shared transport.
#![warn(missing_docs)]

pub mod dialect;

use dialect::Dialect;

/// All dialects.
pub const DIALECTS: &[&dyn Dialect] = &[];
