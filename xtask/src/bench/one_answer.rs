//! What a run of one answer costs: start, whole run, memory, size of the first request.

use std::sync::Arc;

use anyhow::Context as _;
use serde_json::Value;

use super::figures::{Row, ms};
use super::house::House;
use super::model::{Reply, Script};

pub(super) fn rows(house: &House, runs: u32) -> anyhow::Result<Vec<Row>> {
    let script: Script = Arc::new(|_| Reply::Text("It is done.".into()));
    // The first run makes the store; targets are for one that exists.
    let first = house.run(&script, false)?;
    let (mut to_request, mut whole) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let ran = house.run(&script, false)?;
        let asked = ran.exchanges.first().context("the run asked no model")?;
        to_request.push(ms(asked.first_byte.duration_since(ran.began)));
        whole.push(ms(ran.wall));
    }
    let mut peaks = Vec::new();
    for _ in 0..runs.min(10) {
        peaks.push(house.run(&script, true)?.peak / 1e6);
    }
    let body = &first.exchanges.first().context("the run asked no model")?.body;
    let request: Value = serde_json::from_slice(body).context("the request is not JSON")?;
    let prompt = request["system"].to_string().len() + request["tools"].to_string().len();
    Ok(vec![
        Row::at_most("Q1", "process start to first byte of a request", &to_request, "ms", 10.0),
        Row::at_most("Q2", "whole run, one text answer, durable", &whole, "ms", 20.0),
        Row::at_most("Q5", "peak memory: one answer", &peaks, "MB", 20.0),
        Row::at_most(
            "Q7",
            "system prompt and tools, profile code",
            &[prompt as f64 / 1e3],
            "kB",
            24.0,
        ),
        Row::watched("Q7", "the whole first request", body.len() as f64 / 1e3, "kB"),
    ])
}
