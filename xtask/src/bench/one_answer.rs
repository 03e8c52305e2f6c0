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
    let (mut peaks, mut file_pages, mut versions) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..runs.min(10) {
        let peak = house.run(&script, true)?.peak;
        peaks.push(peak.all / 1e6);
        file_pages.push(peak.file_pages / 1e6);
    }
    for _ in 0..runs {
        versions.push(ms(house.version()?));
    }
    let body = &first.exchanges.first().context("the run asked no model")?.body;
    let request: Value = serde_json::from_slice(body).context("the request is not JSON")?;
    let prompt = request["system"].to_string().len() + request["tools"].to_string().len();
    Ok(vec![
        Row::at_most("Q1", "process start to first byte of a request", &to_request, "ms", 10.0),
        Row::at_most("Q2", "whole run, one text answer, durable", &whole, "ms", 20.0),
        Row::at_most("Q2", "weir --version", &versions, "ms", 3.0),
        Row::at_most("Q5", "peak memory: one answer", &peaks, "MB", 15.0),
        Row::at_most("Q5", "of it pages of files", &file_pages, "MB", 8.0),
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
