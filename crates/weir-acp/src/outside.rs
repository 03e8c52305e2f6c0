//! What is understood of an editor's lines, for tests that send hostile ones. Nothing here is used by the
//! program. Not here: what a session does with them.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::io::BufReader;

use crate::client_servers::ClientServers;
use crate::options::SettingWish;
use crate::permission::read_reply;
use crate::rpc::{IncomingMessage, LineReader, ReadLine, RpcError};
use crate::wire::{
    AuthenticateParams, InitializeParams, ListParams, OpenParams, PromptParams, SessionParams,
    SetModeParams, SetOptionParams,
};

/// The lines of `bytes`, read in pieces of `piece` bytes; `None`: one of more than `bytes_max`.
pub fn read_lines(bytes: &[u8], piece: usize, bytes_max: usize) -> Vec<Option<Vec<u8>>> {
    let mut reader = LineReader::new(BufReader::with_capacity(piece.max(1), bytes), bytes_max);
    let mut lines = Vec::new();
    loop {
        let mut next = pin!(reader.next_line());
        // Bytes that are there are never waited for.
        match next.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(ReadLine::Line(line))) => lines.push(Some(line)),
            Poll::Ready(Ok(ReadLine::TooLong)) => lines.push(None),
            Poll::Ready(Ok(ReadLine::End) | Err(_)) | Poll::Pending => return lines,
        }
    }
}

/// What a line is answered with at once: the name of its request and why it is refused. `None`: it is
/// understood, as far as it can be without a session.
pub fn refuse_line(line: &[u8]) -> Option<(Value, String)> {
    match IncomingMessage::parse_line(line) {
        IncomingMessage::Invalid { id, error } => {
            Some((serde_json::to_value(&id).ok()?, error.message))
        }
        IncomingMessage::Request { id, method, params } => {
            let error = check_params(&method, params).err()?;
            Some((serde_json::to_value(&id).ok()?, error.message))
        }
        IncomingMessage::Notification { .. } => None,
        IncomingMessage::Answer { outcome, .. } => {
            // Whatever it is, it is one of the answers.
            let _ = read_reply(outcome);
            None
        }
    }
}

/// The names under which servers are declared, and what is said of those that are not.
pub fn read_servers(servers: &[Value]) -> Option<(Vec<String>, Vec<String>)> {
    let read = ClientServers::read(servers).ok()?;
    Some((read.declared.into_iter().map(|one| one.name).collect(), read.remarks))
}

fn check_params(method: &str, params: Value) -> Result<(), RpcError> {
    fn read<T: DeserializeOwned>(params: Value) -> Result<T, RpcError> {
        serde_json::from_value(params).map_err(|error| RpcError::invalid_params(error.to_string()))
    }
    match method {
        "initialize" => read::<InitializeParams>(params).map(drop),
        "authenticate" => read::<AuthenticateParams>(params).map(drop),
        "session/list" => read::<Option<ListParams>>(params).map(drop),
        "session/new" | "session/load" | "session/resume" | "session/fork" => {
            let params: OpenParams = read(params)?;
            ClientServers::read(params.mcp_servers.as_deref().unwrap_or_default()).map(drop)
        }
        "session/prompt" => read::<PromptParams>(params).map(drop),
        "session/set_mode" => read(params)
            .and_then(|params: SetModeParams| SettingWish::of_mode(&params.mode_id))
            .map(drop),
        "session/set_config_option" => read(params)
            .and_then(|params: SetOptionParams| {
                SettingWish::of_option(&params.config_id, &params.value)
            })
            .map(drop),
        "session/close" | "session/delete" => read::<SessionParams>(params).map(drop),
        _ => Err(RpcError::invalid_params("there is no such method")),
    }
}
