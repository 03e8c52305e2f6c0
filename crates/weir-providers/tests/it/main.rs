//! All integration tests of this crate in one binary.

mod histories;
mod http;
mod pictures;
mod support;
mod text_calls;
mod text_safety;
mod text_shown;
mod wire;
