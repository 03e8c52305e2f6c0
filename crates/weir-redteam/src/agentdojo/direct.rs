//! The same model with nothing before the tools: its calls are made at the service, its programs run here.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;
use async_trait::async_trait;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{ProgramHost, ProgramStep, ProgramTask, Scripts as _, StepAnswer};
use weir_script::OwnScripts;

use crate::attacker::{Mind as _, Move, Seen};

use super::hijacked::Hijacked;
use super::planner::{FIND_TOOL, RUN_PROGRAM};
use super::reader::question;
use super::service::Service;
use super::{with_prefix, without_prefix};

/// Tools of Weir that a program finds here, too.
const EXTRACT: &str = "extract_fields";
const OPEN: &str = "open_handle";

/// Plays a task that was begun.
pub(super) async fn play(
    service: &Service,
    play: &str,
    mind: &Mutex<Hijacked>,
) -> anyhow::Result<()> {
    let mut results: Vec<Seen> = Vec::new();
    loop {
        let next = mind.lock().unwrap_or_else(PoisonError::into_inner).next(&results);
        let Move::Call(wishes) = next else { return Ok(()) };
        results.clear();
        for wish in wishes {
            let called = &wish.input["arguments"]["code"];
            let seen = match (wish.input["tool"].as_str(), called.as_str()) {
                (Some(RUN_PROGRAM), Some(code)) => run(service, play, mind, code).await?,
                _ if wish.tool == FIND_TOOL => Seen { ok: true, text: RUN_PROGRAM.into() },
                _ => {
                    let (ok, text) =
                        service.call(play, without_prefix(&wish.tool), &wish.input).await?;
                    Seen { ok, text }
                }
            };
            results.push(seen);
        }
    }
}

async fn run(
    service: &Service,
    play: &str,
    mind: &Mutex<Hijacked>,
    code: &str,
) -> anyhow::Result<Seen> {
    let tools = service.tools.iter().map(|name| with_prefix(name));
    let tools = tools.chain([EXTRACT, OPEN].map(str::to_owned)).collect();
    let program = ProgramTask { code: code.into(), tools, now_ms: 0, seed: 0 };
    let host = Steps { service, play, mind, asked: Mutex::default() };
    let done = OwnScripts.run_program(program, &host, &CancellationToken::new()).await;
    Ok(match done {
        Ok(text) => Seen { ok: true, text },
        Err(text) => Seen { ok: false, text },
    })
}

/// Makes steps one by one, in the order in which they were asked for.
struct Steps<'a> {
    service: &'a Service,
    play: &'a str,
    mind: &'a Mutex<Hijacked>,
    asked: Mutex<VecDeque<ProgramStep>>,
}

impl Steps<'_> {
    async fn make(&self, step: &ProgramStep) -> anyhow::Result<(bool, String)> {
        let text = |name: &str| step.input[name].as_str().map(str::to_owned);
        match step.tool.as_str() {
            OPEN => Ok((true, text("text").unwrap_or_default())),
            EXTRACT => {
                let asked = question(&step.input);
                let asked = asked.ok_or_else(|| anyhow!("no question: {}", step.input))?;
                let mind = self.mind.lock().unwrap_or_else(PoisonError::into_inner);
                let answer = mind.reader().answer(&asked);
                Ok((true, answer.unwrap_or_else(|| Value::Null.to_string())))
            }
            name => self.service.call(self.play, without_prefix(name), &step.input).await,
        }
    }
}

#[async_trait]
impl ProgramHost for Steps<'_> {
    async fn propose_step(&self, step: ProgramStep) -> Result<(), String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).push_back(step);
        Ok(())
    }

    async fn next_answer(&self) -> Result<StepAnswer, String> {
        let next = self.asked.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        let step = next.ok_or("no step is open")?;
        let (ok, text) = self.make(&step).await.map_err(|why| format!("{why:#}"))?;
        Ok(StepAnswer { number: step.number, result: if ok { Ok(text) } else { Err(text) } })
    }

    fn log(&self, _: &str) {}
}
