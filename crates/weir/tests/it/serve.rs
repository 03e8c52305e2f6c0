//! `weir serve` as people, programs and attackers meet it.

mod agents;
mod attach;
mod bad_input;
mod chat;
mod complete;
mod condense;
mod container;
mod database_away;
mod files;
mod harness;
mod live;
mod mail;
mod models;
mod operations;
mod people;
mod render;
mod replicas;
mod settings;
mod store;
mod tenants;
