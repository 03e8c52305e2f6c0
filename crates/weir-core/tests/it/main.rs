//! Tests of the pure machine against whole sessions.

mod policy;
mod random_sessions;
