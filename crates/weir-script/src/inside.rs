//! The JavaScript engine with its own bounds: memory, stack, time. They make the errors plain; what
//! they do not stop, the process around it does. Not here: any process.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvError, Sender, channel};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rquickjs::context::EvalOptions;
use rquickjs::promise::{MaybePromise, PromiseState};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Function, Module, Object, Runtime};
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use weir_engine::ports::{
    HostCall, ProgramHost, ProgramStep, ProgramTask, ScriptHost, ScriptTask, Scripts,
};

use crate::wire::{HostAnswer, RESULT_BYTES_MAX, ScriptRequest, WireScriptKind};

/// Memory of a script.
pub(crate) const MEMORY_BYTES: usize = 64 << 20;
/// Its stack.
const STACK_BYTES: usize = 1 << 20;
/// What stands in place of a file's name where an error is.
pub(crate) const FILE: &str = "tool.js";
/// Longest text of an error.
const ERROR_CHARS_MAX: usize = 2_000;

/// The host as scripts see it, and how values become text. Strings are made well-formed: what goes
/// out is Unicode.
const PRELUDE: &str = r#"
(call, log, has) => {
    const use = (tool, input, whole) => {
        const text = JSON.stringify(input === undefined ? {} : input);
        const answer = JSON.parse(call(String(tool).toWellFormed(), text ?? "{}", whole === true));
        if (answer.Err !== undefined) throw new Error(answer.Err);
        return answer.Ok;
    };
    const host = {
        call: (tool, input) => use(tool, input),
        readFile: path => use("read_file", { path }, true),
        writeFile: (path, content) => use("write_file", { path, content: String(content) }),
        deleteFile: path => use("delete_file", { path }),
        listFiles: (path, options) => use("list_files", { path, ...options }),
        search: (pattern, options) => use("search_files", { pattern, ...options }),
        fetch: (url, options) => use("web_fetch", { url, ...options }),
        log: text => log(String(text).toWellFormed()),
    };
    const plain = (key, value) => typeof value === "bigint" ? value.toString() : value;
    const shown = value => {
        if (typeof value === "string") return value.toWellFormed();
        if (value === undefined) return "undefined";
        if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
            return String(value).toWellFormed();
        }
        const text = JSON.stringify(value, plain, 2);
        return text === undefined ? "undefined" : text.toWellFormed();
    };
    return { host: has ? Object.freeze(host) : undefined, shown };
}
"#;

/// What a script may ask of whoever runs it.
pub(crate) enum HostRequest {
    Call(HostCall),
    Log(String),
    /// A program wants a step made; nobody waits for anything.
    Step(ProgramStep),
    /// A program waits for the next answer to a step: a [`HostAnswer`] as JSON.
    NextAnswer,
}

/// Answers a wish; a log has no answer that anybody reads.
pub(crate) type HostRequestHandler = Box<dyn FnMut(HostRequest) -> Result<String, String>>;

/// Clocks of one run.
pub(crate) struct RunClocks {
    started: Instant,
    own: Duration,
    waited: Cell<Duration>,
    late: Cell<bool>,
    /// Why whoever runs it wants nothing more of it.
    ended: RefCell<Option<String>>,
}

impl RunClocks {
    /// Does what `wait` does; the time of it is not the script's own.
    pub(crate) fn exclude<T>(&self, wait: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let value = wait();
        self.waited.set(self.waited.get() + begun.elapsed());
        value
    }

    pub(crate) fn is_over(&self) -> bool {
        let over = self.started.elapsed().saturating_sub(self.waited.get()) > self.own;
        self.late.set(self.late.get() || over);
        over || self.end_reason().is_some()
    }

    /// Ends the run, whatever the script makes of it: no handler of its own hears of this.
    pub(crate) fn end(&self, why: String) {
        self.ended.borrow_mut().get_or_insert(why);
    }

    pub(crate) fn end_reason(&self) -> Option<String> {
        self.ended.borrow().clone()
    }
}

/// Runs what is asked; whatever goes wrong is a sentence.
pub(crate) fn run(ask: &ScriptRequest, answer: HostRequestHandler) -> Result<String, String> {
    let started = Instant::now();
    let own = Duration::from_millis(ask.own_ms);
    let clocks = Rc::new(RunClocks {
        started,
        own,
        waited: Cell::default(),
        late: Cell::new(false),
        ended: RefCell::default(),
    });
    let no_engine = |why: rquickjs::Error| format!("the script engine did not start: {why}");
    let runtime = Runtime::new().map_err(no_engine)?;
    runtime.set_memory_limit(MEMORY_BYTES);
    runtime.set_max_stack_size(STACK_BYTES);
    let watch = clocks.clone();
    runtime.set_interrupt_handler(Some(Box::new(move || watch.is_over())));
    let context = Context::full(&runtime).map_err(no_engine)?;
    let result = context.with(|ctx| {
        let run = ScriptRun { ctx: ctx.clone(), clocks: &clocks };
        let done = run.evaluate(ask, answer);
        done.map_err(|failed| run.describe_failure(failed))
    })?;
    if result.len() > RESULT_BYTES_MAX {
        return Err(format!(
            "it returned {} bytes, at most {RESULT_BYTES_MAX}: return less, or write a file",
            result.len()
        ));
    }
    Ok(result)
}

/// How a run failed.
pub(crate) enum ScriptFailure {
    /// An exception is pending, or the engine refused.
    Js(rquickjs::Error),
    /// A sentence.
    Said(String),
}

impl From<rquickjs::Error> for ScriptFailure {
    fn from(error: rquickjs::Error) -> ScriptFailure {
        ScriptFailure::Js(error)
    }
}

pub(crate) struct ScriptRun<'js, 'a> {
    pub(crate) ctx: Ctx<'js>,
    pub(crate) clocks: &'a Rc<RunClocks>,
}

/// What the host answers; the time in which it does is not the script's.
pub(crate) fn ask_host(
    clocks: &RunClocks,
    answer: &RefCell<HostRequestHandler>,
    wish: HostRequest,
) -> Result<String, String> {
    clocks.exclude(|| match answer.try_borrow_mut() {
        Ok(mut answer) => answer(wish),
        Err(_) => Err("one wish at a time".into()),
    })
}

impl<'js> ScriptRun<'js, '_> {
    fn evaluate(
        &self,
        ask: &ScriptRequest,
        answer: HostRequestHandler,
    ) -> Result<String, ScriptFailure> {
        let ctx = &self.ctx;
        if ask.kind == WireScriptKind::Program {
            return self.run_program(ask, answer);
        }
        let tools = self.load_prelude(ask.kind == WireScriptKind::Module, answer)?;
        let shown: Function<'js> = tools.get("shown")?;
        let input = ctx.json_parse(ask.input.to_string())?;
        let value = match ask.kind {
            WireScriptKind::Program | WireScriptKind::Expression => {
                ctx.globals().set("input", input)?;
                let mut options = EvalOptions::default();
                options.strict = false;
                options.filename = Some(FILE.into());
                ctx.eval_with_options::<MaybePromise<'js>, _>(ask.code.as_str(), options)?
            }
            WireScriptKind::Check | WireScriptKind::Module => {
                let module = Module::declare(ctx.clone(), FILE, ask.code.as_str())?;
                let (module, evaluated) = module.eval()?;
                self.settle_promise(&MaybePromise::from_value(evaluated.into_value()))?;
                let entry: rquickjs::Value<'js> = module.get("run").or_else(|error| {
                    if ctx.has_exception() {
                        ctx.catch();
                    }
                    if matches!(error, rquickjs::Error::Exception) {
                        return Ok(rquickjs::Value::new_undefined(ctx.clone()));
                    }
                    Err(error)
                })?;
                let entry = entry.into_function().ok_or_else(|| {
                    ScriptFailure::Said(
                        "the module exports no function run: write `export function run(input, \
                         host) { … }`"
                            .into(),
                    )
                })?;
                if ask.kind == WireScriptKind::Check {
                    return Ok(String::new());
                }
                let host: rquickjs::Value<'js> = tools.get("host")?;
                entry.call::<_, MaybePromise<'js>>((input, host))?
            }
        };
        let value = self.settle_promise(&value)?;
        Ok(shown.call::<_, String>((value,))?)
    }

    /// The host and the way to show a value.
    fn load_prelude(&self, has: bool, answer: HostRequestHandler) -> rquickjs::Result<Object<'js>> {
        let ctx = &self.ctx;
        let make: Function<'js> = ctx.eval(PRELUDE)?;
        let answer = Rc::new(RefCell::new(answer));
        let clocks = self.clocks.clone();
        let wish = move |wish: HostRequest| ask_host(&clocks, &answer, wish);
        let (calls, logs) = (wish.clone(), wish);
        let call = move |tool: String, input: String, whole: bool| {
            let input: Result<Value, _> = serde_json::from_str(&input);
            let answered: Result<String, String> = match input {
                Ok(input) => calls(HostRequest::Call(HostCall { tool, input, whole })),
                Err(why) => Err(format!("the arguments of {tool} cannot be sent: {why}")),
            };
            serde_json::to_string(&answered).unwrap_or_default()
        };
        let call = Function::new(ctx.clone(), call)?;
        let log = Function::new(ctx.clone(), move |text: String| {
            let _ = logs(HostRequest::Log(text));
        })?;
        make.call((call, log, has))
    }

    /// Does what is pending until the value is there.
    fn settle_promise(
        &self,
        value: &MaybePromise<'js>,
    ) -> Result<rquickjs::Value<'js>, ScriptFailure> {
        loop {
            match value.state() {
                PromiseState::Resolved => {
                    return match value.result::<rquickjs::Value<'js>>() {
                        Some(value) => Ok(value?),
                        None => Err(ScriptFailure::Said("its promise has no value".into())),
                    };
                }
                PromiseState::Rejected => {
                    let error = value.result::<rquickjs::Value<'js>>().and_then(Result::err);
                    return Err(ScriptFailure::Js(error.unwrap_or(rquickjs::Error::Exception)));
                }
                PromiseState::Pending => (),
            }
            if self.clocks.is_over() {
                return Err(ScriptFailure::Said(String::new()));
            }
            if !self.ctx.execute_pending_job() {
                return Err(ScriptFailure::Said(
                    "it returned a promise that never resolves: nothing is left to wait for \
                     (there are no timers)"
                        .into(),
                ));
            }
        }
    }

    fn describe_failure(&self, failed: ScriptFailure) -> String {
        if let Some(why) = self.clocks.end_reason() {
            return why;
        }
        if self.clocks.late.get() {
            return format!(
                "it ran longer than {} s; make it do less, or look for an endless loop",
                self.clocks.own.as_secs_f32()
            );
        }
        let error = match failed {
            ScriptFailure::Said(text) => return text,
            ScriptFailure::Js(error) => error,
        };
        let caught = Err::<(), _>(error).catch(&self.ctx);
        let text = match caught {
            Ok(()) => String::new(),
            Err(CaughtError::Exception(exception)) => {
                let message = exception.message().unwrap_or_default();
                let name: String = exception.get("name").unwrap_or_else(|_| "Error".into());
                let place = exception.stack().as_deref().and_then(error_position);
                let at = place.map(|place| format!(" (line {place})")).unwrap_or_default();
                format!("{name}: {message}{at}")
            }
            Err(CaughtError::Value(value)) if value.is_null() => out_of_memory(),
            Err(CaughtError::Value(value)) => {
                let shown = self.ctx.json_stringify(value).ok().flatten();
                let shown = shown.and_then(|text| text.to_string().ok());
                format!("it threw {}", shown.unwrap_or_else(|| "something".into()))
            }
            Err(CaughtError::Error(error)) => error.to_string(),
        };
        match text {
            text if text.contains("out of memory") => out_of_memory(),
            text => text.chars().take(ERROR_CHARS_MAX).collect(),
        }
    }
}

fn out_of_memory() -> String {
    format!("it ran out of its {} MB of memory", MEMORY_BYTES >> 20)
}

/// Line and column of the topmost place in the script's own text.
fn error_position(stack: &str) -> Option<String> {
    let from = stack.split_once(&format!("{FILE}:"))?.1;
    let place: String = from.chars().take_while(|c| c.is_ascii_digit() || *c == ':').collect();
    Some(place.trim_end_matches(':').to_owned())
}

/// Scripts in this process, with the engine's own bounds only: for tests that wrote them themselves.
#[derive(Debug, Clone, Copy, Default)]
pub struct OwnScripts;

/// What the thread of a script has to say.
enum ScriptNews {
    /// It wishes for something, and waits until that is answered.
    Wish(HostRequest, Sender<Result<String, String>>),
    Ended(Result<String, String>),
}

/// Runs `ask` in a thread of its own; what it wishes for is answered by `answered`, one after the other.
async fn run_in_thread<F, A>(
    ask: ScriptRequest,
    cancel: &CancellationToken,
    mut answered: F,
) -> Result<String, String>
where
    F: FnMut(HostRequest) -> A,
    A: Future<Output = Result<String, String>>,
{
    let ended = || Err("the script was ended".to_string());
    let failed = |_| "the script engine failed".to_string();
    let mut news = start_thread(ask)?;
    loop {
        // A paused clock stands while a blocking task runs: so it stands while the script works, and
        // not while the script waits for what only time may bring, as a question that expires.
        let next = tokio::task::spawn_blocking(move || (news.recv(), news));
        let (heard, back) = tokio::select! {
            biased;
            () = cancel.cancelled() => return ended(),
            next = next => next.map_err(|_| failed(RecvError))?,
        };
        news = back;
        match heard.map_err(failed)? {
            ScriptNews::Ended(result) => return result,
            ScriptNews::Wish(wish, answer) => {
                let result = tokio::select! {
                    biased;
                    () = cancel.cancelled() => return ended(),
                    result = answered(wish) => result,
                };
                // A script that ended meanwhile waits for nothing.
                let _ = answer.send(result);
            }
        }
    }
}

fn start_thread(ask: ScriptRequest) -> Result<Receiver<ScriptNews>, String> {
    let (news, heard) = channel();
    let wishes = news.clone();
    let answer = move |wish: HostRequest| {
        let gone = || "the call has ended".to_string();
        let (sender, answered) = channel();
        wishes.send(ScriptNews::Wish(wish, sender)).map_err(|_| gone())?;
        answered.recv().map_err(|_| gone())?
    };
    let work = move || {
        // Who waited for it may be gone.
        let _ = news.send(ScriptNews::Ended(run(&ask, Box::new(answer))));
    };
    let started = std::thread::Builder::new().name("script".into()).spawn(work);
    started.map(|_| heard).map_err(|why| format!("a thread for the script cannot start: {why}"))
}

#[async_trait]
impl Scripts for OwnScripts {
    async fn run(
        &self,
        script: ScriptTask,
        host: &dyn ScriptHost,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        run_in_thread(ScriptRequest::from(script), cancel, async |wish| match wish {
            HostRequest::Call(call) => host.call_host(call).await,
            HostRequest::Log(text) => {
                host.log(&text);
                Ok(String::new())
            }
            HostRequest::Step(_) | HostRequest::NextAnswer => Err("this is no program".into()),
        })
        .await
    }

    async fn run_program(
        &self,
        program: ProgramTask,
        host: &dyn ProgramHost,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let ended = std::sync::Mutex::new(None);
        let done = run_in_thread(ScriptRequest::from(program), cancel, async |wish| {
            let answered = match wish {
                HostRequest::Step(step) => host.propose_step(step).await.map(|()| String::new()),
                HostRequest::NextAnswer => host.next_answer().await.and_then(|answer| {
                    let answer = HostAnswer { id: answer.number.into(), result: answer.result };
                    serde_json::to_string(&answer).map_err(|why| why.to_string())
                }),
                HostRequest::Log(text) => {
                    host.log(&text);
                    Ok(String::new())
                }
                HostRequest::Call(call) => Err(format!("{} is no step", call.tool)),
            };
            if let Err(why) = &answered {
                *ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
            }
            answered
        })
        .await;
        match ended.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(why) => Err(why),
            None => done,
        }
    }
}
