//! What others see of this crate: `weir serve` as people, programs and attackers meet it, the real
//! program in an installation of its own; and rendering (S12, Z10).

mod agents;
mod attach;
mod bad_input;
mod brain;
mod chat;
mod checker;
mod complete;
mod condense;
mod container;
mod cost;
mod database_away;
mod editor;
mod files;
mod live;
mod mail;
mod mcp;
mod messengers;
mod models;
mod money;
mod notices;
mod operations;
mod people;
mod phone;
mod proposed_settings;
mod render;
mod replicas;
mod rules;
mod settings;
mod store;
mod tenants;
mod vectors;
