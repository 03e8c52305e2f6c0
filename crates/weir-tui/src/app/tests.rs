//! The app as a whole: news and keys in, frames and wishes out.

mod again;
mod decide;
mod earlier;
mod fingers;
mod fixed;
mod frames;
mod keys;
mod made;
mod sent;
mod strays;
