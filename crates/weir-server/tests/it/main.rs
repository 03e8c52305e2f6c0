//! Tests of what others see of this crate: rendering (S12, Z10).

mod checker;
mod cost;
mod vectors;
