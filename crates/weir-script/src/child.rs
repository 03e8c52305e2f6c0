//! The child: confines itself, reads what to run, runs it, says how it ended. Not here: who starts it.

use std::cell::RefCell;
use std::io::{self, BufReader, Stdin};
use std::process::ExitCode;
use std::rc::Rc;

use weir_sandbox::{ReaderLimits, confine_reader};

use crate::inside::{self, HostRequest, HostRequestHandler};
use crate::wire::{self, FromChild, HostAnswer, ScriptRequest};

/// The hidden subcommand under which a program is this child.
pub const SCRIPT: &str = "__script";
/// The program itself lies in its address space too; the engine's own bound is far below.
pub(crate) const LIMITS: ReaderLimits = ReaderLimits { memory_bytes: 1 << 30, cpu_seconds: 12 };
/// Exit status of a child that could not confine itself.
pub(crate) const NOT_CONFINED: u8 = 3;
/// Exit status of a child that was not told what to run.
const NOT_ASKED: u8 = 4;

/// The child. Call it before anything else in `main`, when the first argument is [`SCRIPT`]: it must
/// have one thread.
pub fn script_main() -> ExitCode {
    if confine_reader(LIMITS).is_err() {
        return ExitCode::from(NOT_CONFINED);
    }
    let mut input = BufReader::new(io::stdin());
    let ask: ScriptRequest = match wire::read_line(&mut input) {
        Ok(ask) => ask,
        Err(_) => return ExitCode::from(NOT_ASKED),
    };
    let end = match inside::run(&ask, parent_request_handler(input)) {
        Ok(text) => FromChild::Ok(text),
        Err(why) => FromChild::Error(why),
    };
    match wire::write_line(&mut io::stdout(), &end) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Asks the parent and waits for the answer.
fn parent_request_handler(input: BufReader<Stdin>) -> HostRequestHandler {
    let input = Rc::new(RefCell::new(input));
    let mut last = 0;
    Box::new(move |wish| {
        let lost = |why: io::Error| format!("nobody answers: {why}");
        match wish {
            HostRequest::Log(text) => {
                wire::write_line(&mut io::stdout(), &FromChild::Log(text)).map_err(lost)?;
                Ok(String::new())
            }
            HostRequest::Step(step) => {
                let (number, tool, input_of) = (step.number, step.tool, step.input);
                let line = FromChild::Step { number, tool, input: input_of };
                wire::write_line(&mut io::stdout(), &line).map_err(lost)?;
                Ok(String::new())
            }
            HostRequest::NextAnswer => {
                wire::write_line(&mut io::stdout(), &FromChild::Stalled).map_err(lost)?;
                let answer: HostAnswer = wire::read_line(&mut *input.borrow_mut()).map_err(lost)?;
                serde_json::to_string(&answer).map_err(|why| why.to_string())
            }
            HostRequest::Call(call) => {
                last += 1;
                let (tool, input_of, whole) = (call.tool, call.input, call.whole);
                let line = FromChild::Call { id: last, tool, input: input_of, whole };
                wire::write_line(&mut io::stdout(), &line).map_err(lost)?;
                let answer: HostAnswer = wire::read_line(&mut *input.borrow_mut()).map_err(lost)?;
                if answer.id != last {
                    return Err("an answer came to something else".into());
                }
                answer.result
            }
        }
    })
}
