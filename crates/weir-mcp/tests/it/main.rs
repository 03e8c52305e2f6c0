//! The client against servers that are scripted here: both lives of the protocol, and everything a
//! server can do wrong or for harm.

mod world;

mod asked;
mod bad;
mod network;
mod pins;
mod protocol;
mod sign_in;
