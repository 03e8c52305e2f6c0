//! A program within the engine (U7): tools are functions that give promises, and the code runs until
//! it can do nothing more without an answer. It hears of one step at a time, its clock stands still
//! and its random numbers are drawn from a seed, so that the same answers in the same order make it
//! go the same way again. Not here: who makes its steps, and what they may do.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::context::EvalOptions;
use rquickjs::promise::{MaybePromise, PromiseState};
use rquickjs::{Exception, Function, Object};
use serde_json::Value;
use weir_engine::ports::ProgramStep;

use crate::inside::{FILE, HostRequest, HostRequestHandler, ScriptFailure, ScriptRun, ask_host};
use crate::wire::{HostAnswer, ScriptRequest};

/// The world of a program. What it names is bound before any other code runs, so that a program which
/// overwrites built-in functions breaks its own work and not its answers; nothing else rests on it.
const PRELUDE: &str = r#"
(propose, log, names, now, seed) => {
    const { parse, stringify } = JSON;
    const NativeDate = Date;
    const clock = new Proxy(NativeDate, {
        construct: (of, given, as) =>
            Reflect.construct(of, given.length === 0 ? [now] : given, as === clock ? of : as),
        apply: of => new of(now).toString(),
    });
    NativeDate.now = () => now;
    NativeDate.prototype.constructor = clock;
    globalThis.Date = clock;
    let state = seed >>> 0;
    Math.random = () => {
        state = (state + 0x6D2B79F5) >>> 0;
        let mixed = Math.imul(state ^ (state >>> 15), state | 1);
        mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
        return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
    for (const gone of ["WeakRef", "FinalizationRegistry", "performance"]) delete globalThis[gone];

    const waiting = new Map();
    let last = 0;
    const plain = (key, value) => typeof value === "bigint" ? value.toString() : value;
    const step = (tool, input) => new Promise((resolve, reject) => {
        const text = input === undefined ? "{}" : stringify(input, plain);
        if (typeof text !== "string" || text[0] !== "{") {
            throw new TypeError(`${tool} takes one object of arguments`);
        }
        last += 1;
        waiting.set(last, { tool, resolve, reject });
        propose(last, tool, text.toWellFormed());
    });
    const given = text => {
        const first = text.trimStart()[0];
        if (first !== "{" && first !== "[") return text;
        try { return parse(text); } catch { return text; }
    };
    const settle = (number, ok, text) => {
        const open = waiting.get(number);
        if (open === undefined) return false;
        waiting.delete(number);
        if (ok) {
            open.resolve(given(text));
        } else {
            const error = new Error(text);
            error.name = "StepError";
            error.tool = open.tool;
            open.reject(error);
        }
        return true;
    };
    const shown = value => {
        if (value === undefined) return "undefined";
        if (typeof value === "string") return value.toWellFormed();
        if (["function", "symbol", "bigint"].includes(typeof value)) {
            return String(value).toWellFormed();
        }
        const text = stringify(value, plain, 2);
        return text === undefined ? "undefined" : text.toWellFormed();
    };
    const tools = Object.create(null);
    for (const name of names) {
        tools[name] = input => step(name, input);
        if (!(name in globalThis)) globalThis[name] = tools[name];
    }
    const told = (...words) => log(words.map(shown).join(" "));
    globalThis.tools = Object.freeze(tools);
    globalThis.log = told;
    globalThis.console = Object.freeze({ log: told, info: told, warn: told, error: told });
    return { settle, shown, open: () => waiting.size };
}
"#;

impl<'js> ScriptRun<'js, '_> {
    /// Runs a program until its value is there and none of its steps is open.
    pub(crate) fn run_program(
        &self,
        ask: &ScriptRequest,
        answer: HostRequestHandler,
    ) -> Result<String, ScriptFailure> {
        let ctx = &self.ctx;
        let answer = Rc::new(RefCell::new(answer));
        let world = self.load_program_world(ask, &answer)?;
        let (settle, shown, open): (Function<'js>, Function<'js>, Function<'js>) =
            (world.get("settle")?, world.get("shown")?, world.get("open")?);
        let mut options = EvalOptions::default();
        options.strict = true;
        options.filename = Some(FILE.into());
        // On the first line, so that lines are counted as they were written.
        let code = format!("(async () => {{{}\n}})()", ask.code);
        let value = ctx.eval_with_options::<MaybePromise<'js>, _>(code, options)?;
        loop {
            self.run_jobs()?;
            let waits = open.call::<_, usize>(())?;
            match value.state() {
                PromiseState::Rejected => {
                    let error = value.result::<rquickjs::Value<'js>>().and_then(Result::err);
                    return Err(ScriptFailure::Js(error.unwrap_or(rquickjs::Error::Exception)));
                }
                PromiseState::Resolved if waits == 0 => break,
                PromiseState::Pending if waits == 0 => {
                    return Err(ScriptFailure::Said(
                        "it waits for a promise that never resolves: no step is open (there are \
                         no timers)"
                            .into(),
                    ));
                }
                PromiseState::Resolved | PromiseState::Pending => (),
            }
            let HostAnswer { id, result } = self.next_answer(&answer)?;
            let (ok, text) = match result {
                Ok(text) => (true, text),
                Err(why) => (false, why),
            };
            if !settle.call::<_, bool>((id, ok, text))? {
                return Err(ScriptFailure::Said(format!(
                    "step {id} was answered before it was asked for: the program took another way"
                )));
            }
        }
        if let Some(why) = self.clocks.end_reason() {
            return Err(ScriptFailure::Said(why));
        }
        match value.result::<rquickjs::Value<'js>>() {
            Some(value) => Ok(shown.call::<_, String>((value?,))?),
            None => Err(ScriptFailure::Said("its promise has no value".into())),
        }
    }

    /// Does whatever can be done without an answer.
    fn run_jobs(&self) -> Result<(), ScriptFailure> {
        loop {
            if self.clocks.is_over() {
                return Err(ScriptFailure::Said(String::new()));
            }
            if !self.ctx.execute_pending_job() {
                return Ok(());
            }
        }
    }

    fn next_answer(
        &self,
        answer: &Rc<RefCell<HostRequestHandler>>,
    ) -> Result<HostAnswer, ScriptFailure> {
        let line = ask_host(self.clocks, answer, HostRequest::NextAnswer);
        let line = line.map_err(ScriptFailure::Said)?;
        serde_json::from_str(&line).map_err(|why| ScriptFailure::Said(why.to_string()))
    }

    fn load_program_world(
        &self,
        ask: &ScriptRequest,
        answer: &Rc<RefCell<HostRequestHandler>>,
    ) -> rquickjs::Result<Object<'js>> {
        let ctx = &self.ctx;
        let make: Function<'js> = ctx.eval(PRELUDE)?;
        let wish = {
            let (answer, clocks) = (answer.clone(), self.clocks.clone());
            move |wish: HostRequest| ask_host(&clocks, &answer, wish)
        };
        let (steps, logs) = (wish.clone(), wish);
        let clocks = self.clocks.clone();
        let propose = move |ctx: rquickjs::Ctx<'js>, number: u32, tool: String, input: String| {
            let thrown = |why: String| Exception::throw_message(&ctx, &why);
            let input: Value =
                serde_json::from_str(&input).map_err(|why| thrown(why.to_string()))?;
            let step = HostRequest::Step(ProgramStep { number, tool, input });
            // A step that may not even be asked for ends the program: one that catches, or does not
            // wait, would ask again and again, and the time of asking is not its own.
            let refused = clocks.end_reason().map_or_else(|| steps(step).err(), Some);
            refused.map_or(Ok(()), |why| {
                let error = thrown(why.clone());
                clocks.end(why);
                Err::<(), rquickjs::Error>(error)
            })
        };
        let propose = Function::new(ctx.clone(), propose)?;
        let log = Function::new(ctx.clone(), move |text: String| {
            let _ = logs(HostRequest::Log(text));
        })?;
        let terms = &ask.program;
        // Both fit a JavaScript number: a time has 41 bits, of the seed the lower 32 count.
        let (now, seed) = (terms.now_ms as f64, terms.seed as u32);
        make.call((propose, log, terms.tools.clone(), now, seed))
    }
}
