//! Reads images and PDFs: what they are, their text, pictures of their pages, smaller copies (X5).
//!
//! Nothing here bounds memory or time for good: parsers of such files panic, loop and allocate on
//! bad input. The program therefore calls [`serve`] in a child process with hard limits, and only
//! tests and files that we made ourselves go through [`answer`] directly. This crate does no I/O
//! but on the streams it is given, and knows nothing of sessions or models.

mod image;
mod pdf;
mod wire;

use std::panic::{AssertUnwindSafe, catch_unwind};

use weir_core::document::{Seen, Unread, Wish};

pub use wire::{read_answer, serve, write_question};

/// What `wish` asks of `bytes`. Total but for running out of memory, stack or patience.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn answer(wish: &Wish, bytes: &[u8]) -> Result<Seen, Unread> {
    let look = || match wish {
        Wish::Image { side_max, bytes_max } => image::look(bytes, *side_max, *bytes_max),
        Wish::Pdf => pdf::pages(bytes).map(|pages| Seen::Pdf { pages }),
        Wish::Text { bytes_max } => pdf::text(bytes, *bytes_max),
        Wish::Pictures { pages, side_max } => pdf::pictures(bytes, pages, *side_max),
    };
    // Readers of PDFs panic on odd files: that is an answer like any other.
    catch_unwind(AssertUnwindSafe(look))
        .unwrap_or_else(|_| Err(broken("its reader gave up on what is in it")))
}

fn broken(why: impl std::fmt::Display) -> Unread {
    Unread::Broken { why: why.to_string() }
}

fn too_large(why: impl Into<String>) -> Unread {
    Unread::TooLarge { why: why.into() }
}
