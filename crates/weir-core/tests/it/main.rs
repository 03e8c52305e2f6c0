//! Tests of the pure machine against whole sessions.

mod random_sessions;
