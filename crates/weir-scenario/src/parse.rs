//! Reads a scenario file. Not here: what its parts mean when played.

use anyhow::{Context as _, bail};
use weir_core::memory::{MemoryAction, MemoryDecision, MemoryEdit, MemoryKeep};
use weir_core::profile::PermissionMode;
use weir_core::routing::RouteRule;

/// The remark of a scenario that is about a script whose expectation is not met.
pub(crate) const SCRIPT_IS_REFUSED: &str = "<!-- the script is refused -->";
/// The remark of a scenario that is about acts for which the moment never comes.
pub(crate) const ACTS_ARE_LEFT_OVER: &str = "<!-- acts are left over -->";

/// One scenario.
#[derive(Debug, Clone, Default)]
pub struct Scenario {
    /// The first heading.
    pub title: String,
    /// How the session is set up.
    pub setup: Setup,
    /// The scripted model's file.
    pub script: String,
    /// Those of the models that go on in its place: name and file.
    pub other_scripts: Vec<(String, String)>,
    /// What people do, in order.
    pub acts: Vec<Act>,
    /// Expected journal, when the file has one.
    pub journal: Option<String>,
    /// Expected files, when the file says so.
    pub files: Option<String>,
    /// The prose says that an expectation of the script is not met.
    pub script_is_refused: bool,
    /// The prose says that acts are left over.
    pub acts_are_left_over: bool,
}

/// How a session is set up.
#[derive(Debug, Clone, Default)]
pub struct Setup {
    /// Name of the profile; `agent` when absent.
    pub profile: Option<String>,
    /// Permission mode; `ask` when absent.
    pub permission: Option<String>,
    /// Somebody answers.
    pub attended: bool,
    /// Any denial fails the run.
    pub strict: bool,
    /// Price of the model: USD per million tokens of input and output.
    pub price: Option<(f64, f64)>,
    /// The model is held by a server that may cut what is too long.
    pub own_server: bool,
    /// Models that go on where another one failed, in their order.
    pub fallback: Vec<String>,
    /// Which model a run is for.
    pub routes: Vec<RouteRule>,
    /// Models that cannot be had, and why.
    pub missing_models: Vec<(String, String)>,
    /// JSON Schema of the final answer.
    pub output_schema: Option<String>,
    /// Bound for results, in characters.
    pub externalize_over: Option<usize>,
    /// `(limit, value)`.
    pub limits: Vec<(String, String)>,
    /// Caps that sessions have in common, in US dollars.
    pub caps: Vec<(String, f64)>,
    /// `(allow | ask | deny, rule)`.
    pub rules: Vec<(String, String)>,
    /// `(path, text)`; `\n` in the text is a line break.
    pub files: Vec<(String, String)>,
    /// Files of the folder that was added to the workspace: `(path, text)`; none: none was added.
    pub added: Vec<(String, String)>,
    /// The name of the copy of the workspace that the session works in; none: it works in the workspace.
    pub worktree: Option<String>,
    /// Files of the person's own folder: `(path, text)`.
    pub own: Vec<(String, String)>,
    /// `(path, bytes)` of the PDFs and PNGs.
    pub media: Vec<(String, Vec<u8>)>,
    /// `(command, exit status or None for one that hangs, output)`.
    pub commands: Vec<(String, Option<i32>, String)>,
    /// The workspace is trusted.
    pub trusted: bool,
    /// Skills that come with the program are there.
    pub bundled: bool,
    /// Files of the person's own skills: `(path, text)`.
    pub yours: Vec<(String, String)>,
    /// Files that are marked as foreign: `(path, origin)`.
    pub marked: Vec<(String, String)>,
    /// Commands whose supervisor leaves no record when the program dies.
    pub vanishing: Vec<String>,
    /// Crossing of a port at which the program dies in every play.
    pub crash_at: usize,
    /// `(address, body)`.
    pub pages: Vec<(String, String)>,
    /// What the model's vendor finds on the web: words, and a page as `title | address | passage`.
    pub finds: Vec<(String, String)>,
    /// Secret values in use.
    pub secrets: Vec<String>,
    /// How commands are confined; `landlock` when absent.
    pub sandbox: Option<String>,
    /// The word in the prompt that must never leave.
    pub canary: Option<String>,
    /// Hooks: `(event, words that it is about, what it does)`.
    pub hooks: Vec<(String, String, String)>,
    /// Tools of foreign servers.
    pub server_tools: Vec<crate::servers::ForeignToolSetup>,
    /// What is heard of their lists at the first use of one, in each life of the program.
    pub tool_changes: Vec<String>,
    /// A judge model must agree to each action.
    pub validate: bool,
    /// A judge model reads foreign content.
    pub screen: bool,
    /// `(words of the question, answer)`; the first that fits is given.
    pub judge: Vec<(String, String)>,
    /// The same of the helper that summarises; none: it answers everything with one summary.
    pub condense: Vec<(String, String)>,
    /// Files of the person's own plugins: `(path, text)`.
    pub plugins: Vec<(String, String)>,
    /// Plugins that are on before the session.
    pub enabled: Vec<String>,
    /// Tools with nothing behind them when the session begins.
    pub idle: Vec<String>,
    /// Commands of the configuration: `(name and arguments, command line)`.
    pub named: Vec<(String, String)>,
    /// The same of the stronger model; none: there is no such model.
    pub flagship: Vec<(String, String)>,
    /// The same of the model that makes pictures; none: there is no such model.
    pub pictures: Vec<(String, String)>,
    /// Tokens of the model's window.
    pub window: Option<u64>,
    /// How full it may become, in per cent; 0: it is not condensed.
    pub threshold: Option<u32>,
    /// What may be remembered: `accept`, `off`, `after-run`.
    pub memory: Vec<String>,
    /// Recipes that were there before: `(successes, failures, the recipe as JSON)`.
    pub recipes: Vec<(u32, u32, String)>,
    /// What may be done with them: `off`, `slow`, `accept`, `still`.
    pub recipe_policy: Vec<String>,
    /// The recipes of the program are there.
    pub bundled_recipes: bool,
    /// `(words of the question, answer)` of the planner; a question that none fits gets `[]`.
    pub plans: Vec<(String, String)>,
    /// How long it takes to answer, in milliseconds.
    pub plan_delay_ms: u64,
    /// Facts that were kept before: `(kind, own or the origin of its words, text)`.
    pub remembers: Vec<(String, String, String)>,
    /// Entries of the brain that were there before: `(id, own, private or the origin of its words, text)`.
    pub brain: Vec<(String, String, String)>,
    /// Recipients on the list of the mail account; none: there is no account.
    pub mailbox: Option<Vec<String>>,
    /// Addresses of the person's own.
    pub own_addresses: Vec<String>,
    /// Recipients to whom no mail of it goes, whoever agrees.
    pub closed: Vec<String>,
    /// Mails that lie in it: `(sender, subject, text)`.
    pub mails: Vec<(String, String, String)>,
}

/// When an act happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum When {
    /// When the session is at rest.
    AtRest,
    /// When an approval is asked.
    AtApproval,
    /// When a question is asked.
    AtQuestion,
    /// After the n-th fact of this kind.
    After(String, usize),
}

/// What somebody does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Says something.
    Says(String),
    /// Says something and attaches a picture of so many bytes.
    Shows(String, usize),
    /// Says something and attaches the files that it names with `@`.
    Attaches(String),
    /// Answers an approval: `once`, `session`, `session for N calls`, `always` or `deny`, and
    /// words.
    Decides(String, Option<String>),
    /// Takes a lease back.
    Revokes(u32),
    /// Answers a question.
    Answers(String),
    /// Cancels the run.
    Cancels,
    /// Pauses the run.
    PausesRun,
    /// Lets the run go on.
    ResumesRun,
    /// Makes the context shorter.
    Condenses(String),
    /// Takes the last condensing back.
    Uncondenses,
    /// Throws the kill switch.
    Pauses,
    /// Takes the last queued input back.
    Withdraws,
    /// Writes a file behind the agent's back.
    Writes(String, String),
    /// Decides about the fact of the inbox in which these words stand.
    Settles(String, MemoryDecision),
    /// Writes another text into an entry of the brain.
    EditsEntry(String, String),
    /// Accepts or rejects the proposed recipe in whose name the words stand, once it waits.
    SettlesRecipe(String, bool),
    /// Accepts the tool of this name that stands in a file of the workspace.
    AcceptsTool(String),
    /// Changes the code of a kept tool where it is stored.
    AltersTool(String),
    /// Changes a file of the person's own plugins.
    AltersPlugin(String, String),
    /// Goes on with another setting: `permission plan`, `model NAME`.
    Switches(String, String),
    /// Sets the permission mode of the session as it is, also while a run is on.
    SetsMode(PermissionMode),
    /// Decides or answers at another program, which leaves a letter.
    Elsewhere(Box<Deed>),
    /// Takes what was done in the copy over into the workspace.
    Merges,
}

/// One act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Act {
    /// When.
    pub when: When,
    /// What.
    pub deed: Deed,
}

/// Reads a scenario.
///
/// # Errors
/// A line that means nothing is named with its number.
pub fn parse(text: &str) -> anyhow::Result<Scenario> {
    let mut scenario = Scenario::default();
    let mut block: Option<(String, usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        if let Some(name) = line.strip_prefix("```") {
            match block.take() {
                None => block = Some((name.trim().to_string(), number, String::new())),
                Some((name, start, body)) => take(&mut scenario, &name, start, body)?,
            }
            continue;
        }
        match &mut block {
            Some((_, _, body)) => {
                body.push_str(line);
                body.push('\n');
            }
            None => read_prose(&mut scenario, line),
        }
    }
    if let Some((name, start, _)) = block {
        bail!("line {start}: the block {name} has no end");
    }
    if scenario.acts.is_empty() {
        bail!("there is no `people` block with anything in it");
    }
    Ok(scenario)
}

/// A line outside of the blocks: the heading, remarks about the play, or words for people.
fn read_prose(scenario: &mut Scenario, line: &str) {
    scenario.script_is_refused |= line.contains(SCRIPT_IS_REFUSED);
    scenario.acts_are_left_over |= line.contains(ACTS_ARE_LEFT_OVER);
    if scenario.title.is_empty()
        && let Some(title) = line.strip_prefix("# ")
    {
        scenario.title = title.trim().to_string();
    }
}

fn take(scenario: &mut Scenario, name: &str, start: usize, body: String) -> anyhow::Result<()> {
    match name {
        "setup" => {
            for (number, line) in meaningful(&body, start) {
                setup(&mut scenario.setup, line).with_context(|| format!("line {number}"))?;
            }
        }
        "script" => scenario.script = body,
        name if name.starts_with("script ") => {
            let name = name.trim_start_matches("script ").trim().to_owned();
            scenario.other_scripts.push((name, body));
        }
        "people" => {
            for (number, line) in meaningful(&body, start) {
                scenario.acts.push(act(line).with_context(|| format!("line {number}"))?);
            }
        }
        "journal" => scenario.journal = Some(body),
        "files" => scenario.files = Some(body),
        // Other blocks (text, json, …) are prose.
        _ => (),
    }
    Ok(())
}

fn meaningful(body: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    body.lines()
        .enumerate()
        .map(move |(at, line)| (start + at + 1, line.trim()))
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn unescape(text: &str) -> String {
    let lines = text.replace("\\n", "\n").replace("\\r", "\r");
    lines.replace("\\t", "\t").replace("\\0", "\0")
}

#[expect(clippy::too_many_lines, reason = "one match, a line or two for each setting")]
fn setup(setup: &mut Setup, line: &str) -> anyhow::Result<()> {
    let (key, rest) = line.split_once([':', ' ']).unwrap_or((line, ""));
    let rest = rest.trim();
    match key {
        "profile" => setup.profile = Some(rest.into()),
        "permission" => setup.permission = Some(rest.into()),
        "attended" => setup.attended = rest == "yes",
        "strict" => setup.strict = rest == "yes",
        "trusted" => setup.trusted = rest == "yes",
        "bundled-skills" => setup.bundled = rest == "yes",
        "bundled-recipes" => setup.bundled_recipes = rest == "yes",
        "your-skill" => {
            let (path, text) = rest.split_once(": ").context("your-skill PATH: TEXT")?;
            setup.yours.push((path.into(), sized(text)));
        }
        "marked" => {
            let (path, origin) = rest.split_once(": ").context("marked PATH: ORIGIN")?;
            setup.marked.push((path.into(), origin.into()));
        }
        "sandbox" => setup.sandbox = Some(rest.into()),
        "worktree" => setup.worktree = Some(rest.into()),
        "canary" => setup.canary = Some(rest.into()),
        "hook" => {
            let (about, does) = rest.split_once("=> ").context("hook EVENT WORDS => DOES")?;
            let (event, words) = about.trim().split_once(' ').unwrap_or((about.trim(), ""));
            setup.hooks.push((event.into(), words.trim().into(), does.into()));
        }
        "validate" => setup.validate = rest == "yes",
        "screen" => setup.screen = rest == "yes",
        "judge" => {
            let (words, answer) = rest.split_once("=> ").context("judge WORDS => ANSWER")?;
            setup.judge.push((words.trim().into(), unescape(answer)));
        }
        "condense" => {
            let (words, answer) = rest.split_once("=> ").context("condense WORDS => ANSWER")?;
            setup.condense.push((words.trim().into(), unescape(answer)));
        }
        "plugin" => {
            let (path, text) = rest.split_once(": ").context("plugin PATH: TEXT")?;
            setup.plugins.push((path.into(), sized(text)));
        }
        "enabled" => setup.enabled.push(rest.into()),
        "idle" => setup.idle.extend(rest.split_whitespace().map(String::from)),
        "named" => {
            let (head, run) = rest.split_once(" => ").context("named NAME ARGUMENT… => LINE")?;
            setup.named.push((head.trim().into(), run.into()));
        }
        "flagship" => {
            let (words, answer) = rest.split_once("=> ").context("flagship WORDS => ANSWER")?;
            setup.flagship.push((words.trim().into(), unescape(answer)));
        }
        "server-tool" => {
            setup.server_tools.push(crate::servers::ForeignToolSetup::parse(&unescape(rest))?);
        }
        "tools-changed" => setup.tool_changes.push(rest.into()),
        "picture" => {
            let (words, answer) = rest.split_once("=> ").context("picture WORDS => ANSWER")?;
            setup.pictures.push((words.trim().into(), answer.trim().into()));
        }
        "memory" => setup.memory.push(rest.into()),
        "recipes" => setup.recipe_policy.push(rest.into()),
        "recipe" => {
            let mut words = rest.splitn(3, ' ');
            let mut word = || words.next().context("recipe SUCCESSES FAILURES JSON");
            setup.recipes.push((word()?.parse()?, word()?.parse()?, word()?.into()));
        }
        "plan-delay" => setup.plan_delay_ms = rest.parse()?,
        "plan" => {
            let (words, answer) = rest.split_once("=> ").context("plan WORDS => ANSWER")?;
            // As it stands: JSON has escapes of its own.
            setup.plans.push((words.trim().into(), answer.trim().into()));
        }
        "remembers" => {
            let mut words = rest.splitn(3, ' ');
            let mut word = || words.next().context("remembers KIND own|ORIGIN TEXT");
            setup.remembers.push((word()?.into(), word()?.into(), sized(word()?)));
        }
        "brain" => {
            let mut words = rest.splitn(3, ' ');
            let mut word = || words.next().context("brain ID own|private|ORIGIN TEXT");
            setup.brain.push((word()?.into(), word()?.into(), sized(word()?)));
        }
        "mailbox" => setup.mailbox = Some(rest.split_whitespace().map(String::from).collect()),
        "own-address" => setup.own_addresses.push(rest.into()),
        "mail-closed" => setup.closed.push(rest.into()),
        "mail" => {
            let mut fields = rest.splitn(3, " | ");
            let mut field = || fields.next().context("mail FROM | SUBJECT | TEXT");
            setup.mails.push((field()?.into(), field()?.into(), sized(field()?)));
        }
        "own-server" => setup.own_server = rest == "yes",
        "fallback" => setup.fallback.push(rest.into()),
        "route" => setup.routes.push(crate::models::parse_route(rest)?),
        "missing-model" => {
            let (name, why) = rest.split_once(": ").context("missing-model NAME: WHY")?;
            setup.missing_models.push((name.into(), why.into()));
        }
        "window" => setup.window = Some(rest.parse()?),
        "threshold" => setup.threshold = Some(rest.parse()?),
        "output-schema" => setup.output_schema = Some(rest.into()),
        "externalize-over" => setup.externalize_over = Some(rest.parse()?),
        "secret" => setup.secrets.push(rest.into()),
        "vanishes" => setup.vanishing.push(rest.into()),
        "crash-at" => setup.crash_at = rest.parse()?,
        "price" => {
            let (input, output) = rest.split_once(' ').context("price INPUT OUTPUT")?;
            setup.price = Some((input.parse()?, output.trim().parse()?));
        }
        "limit" => {
            let (name, value) = rest.split_once(':').context("limit NAME: VALUE")?;
            setup.limits.push((name.trim().into(), value.trim().into()));
        }
        "cap" => {
            let (name, value) = rest.split_once(':').context("cap NAME: USD")?;
            setup.caps.push((name.trim().into(), value.trim().parse()?));
        }
        "allow" | "ask" | "deny" => setup.rules.push((key.into(), rest.into())),
        "file" => {
            let (path, text) = rest.split_once(": ").unwrap_or((rest.trim_end_matches(':'), ""));
            setup.files.push((path.into(), sized(text)));
        }
        "added" => {
            let (path, text) = rest.split_once(": ").context("added PATH: TEXT")?;
            setup.added.push((path.into(), sized(text)));
        }
        "own" => {
            let (path, text) = rest.split_once(": ").context("own PATH: TEXT")?;
            setup.own.push((path.into(), sized(text)));
        }
        "pdf" => {
            let (path, pages) = rest.split_once(':').context("pdf PATH: LINE | LINE")?;
            let pages = match pages.trim().split_once(" times ") {
                Some((count, page)) => vec![page; count.parse()?],
                None => pages.split('|').map(str::trim).collect(),
            };
            setup.media.push((path.into(), crate::made::pdf(&pages)));
        }
        "zip" => {
            let (path, entries) = rest.split_once(": ").context("zip PATH: NAME=TEXT | …")?;
            let entries = entries.split(" | ").map(|entry| {
                let (name, text) = entry.split_once('=').context("NAME=TEXT")?;
                Ok((name.trim().to_owned(), sized(text)))
            });
            let entries: Vec<(String, String)> = entries.collect::<anyhow::Result<_>>()?;
            setup.media.push((path.into(), crate::made::zip(&entries)?));
        }
        "png" => {
            let (path, size) = rest.split_once(": ").context("png PATH: WIDTH HEIGHT")?;
            let (width, height) = size.split_once(' ').context("png PATH: WIDTH HEIGHT")?;
            let bytes = crate::made::png(width.parse()?, height.trim().parse()?);
            setup.media.push((path.into(), bytes));
        }
        "command" => {
            let (command, rest) =
                rest.split_once(" => ").context("command WORDS => exit N TEXT")?;
            let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
            let (code, output) = match word {
                "hangs" => (None, rest),
                "exit" => {
                    let (code, output) = rest.split_once(' ').unwrap_or((rest, ""));
                    (Some(code.parse()?), output)
                }
                _ => bail!("a command exits or hangs"),
            };
            setup.commands.push((command.into(), code, sized(output)));
        }
        "page" => {
            let (url, body) = rest.split_once(" => ").context("page ADDRESS => BODY")?;
            setup.pages.push((url.into(), sized(body)));
        }
        "finds" => {
            let (words, page) =
                rest.split_once(" => ").context("finds WORDS => TITLE | ADDRESS | PASSAGE")?;
            setup.finds.push((words.into(), page.into()));
        }
        _ => bail!("unknown setting {key:?}"),
    }
    Ok(())
}

/// `N times TEXT` repeats; everything else is the text with its escapes.
fn sized(text: &str) -> String {
    if let Some((count, rest)) = text.split_once(" times ")
        && let Ok(count) = count.parse::<usize>()
    {
        return unescape(rest).repeat(count);
    }
    unescape(text)
}

fn act(line: &str) -> anyhow::Result<Act> {
    let (line, after) = match line.rsplit_once(" @ ") {
        Some((line, when)) => {
            let (kind, count) = when.split_once('#').unwrap_or((when, "1"));
            (line, Some(When::After(kind.trim().into(), count.trim().parse()?)))
        }
        None => (line, None),
    };
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    let rest = rest.trim();
    let (when, deed) = match word {
        "says" => (When::AtRest, Deed::Says(sized(rest))),
        "shows" => {
            let (bytes, text) = rest.split_once(' ').context("shows BYTES TEXT")?;
            (When::AtRest, Deed::Shows(text.into(), bytes.parse()?))
        }
        "attaches" => (When::AtRest, Deed::Attaches(unescape(rest))),
        "approves" => {
            let how = if rest.is_empty() { "once" } else { rest };
            (When::AtApproval, Deed::Decides(how.into(), None))
        }
        "denies" => {
            let reason = (!rest.is_empty()).then(|| rest.to_string());
            (When::AtApproval, Deed::Decides("deny".into(), reason))
        }
        "revokes" => (When::AtRest, Deed::Revokes(rest.parse()?)),
        "answers" => (When::AtQuestion, Deed::Answers(rest.into())),
        "accepts" => (When::AtRest, Deed::Settles(rest.into(), MemoryDecision::keep())),
        "accepts-edited" => {
            let (words, text) = rest.split_once(": ").context("accepts-edited WORDS: TEXT")?;
            let edit = MemoryEdit { text: text.into(), by: "person".into() };
            let action = MemoryAction::Keep(MemoryKeep { private: false, edit: Some(edit) });
            (When::AtRest, Deed::Settles(words.into(), MemoryDecision { action, seen: None }))
        }
        "accepts-recipe" => (When::AtRest, Deed::SettlesRecipe(rest.into(), true)),
        "rejects-recipe" => (When::AtRest, Deed::SettlesRecipe(rest.into(), false)),
        "rejects" => (When::AtRest, Deed::Settles(rest.into(), MemoryDecision::reject())),
        "accepts-tool" => (When::AtRest, Deed::AcceptsTool(rest.into())),
        "alters-tool" => (When::AtRest, Deed::AltersTool(rest.into())),
        "condenses" => (When::AtRest, Deed::Condenses(rest.into())),
        "uncondenses" => (When::AtRest, Deed::Uncondenses),
        "cancels" => (When::After("model.requested".into(), 1), Deed::Cancels),
        "pauses-run" => (When::After("model.requested".into(), 1), Deed::PausesRun),
        "resumes-run" => (When::After("run.paused".into(), 1), Deed::ResumesRun),
        "pauses" => (When::After("model.requested".into(), 1), Deed::Pauses),
        "withdraws" => (When::After("input.accepted".into(), 2), Deed::Withdraws),
        "writes" => {
            let (path, text) = rest.split_once(": ").context("writes PATH: TEXT")?;
            (When::AtRest, Deed::Writes(path.into(), unescape(text)))
        }
        "edits-entry" => {
            let (id, text) = rest.split_once(": ").context("edits-entry ID: TEXT")?;
            (When::AtRest, Deed::EditsEntry(id.into(), unescape(text)))
        }
        "alters-plugin" => {
            let (path, text) = rest.split_once(": ").context("alters-plugin PATH: TEXT")?;
            (When::AtRest, Deed::AltersPlugin(path.into(), unescape(text)))
        }
        "switches" => {
            let (what, value) = rest.split_once(' ').context("switches WHAT VALUE")?;
            (When::AtRest, Deed::Switches(what.into(), value.into()))
        }
        "sets-mode" => {
            let mode = rest.parse().map_err(|error: String| anyhow::anyhow!(error))?;
            (When::AtRest, Deed::SetsMode(mode))
        }
        "elsewhere" => elsewhere(rest)?,
        "merges" => (When::AtRest, Deed::Merges),
        _ => bail!("nobody can {word:?}"),
    };
    Ok(Act { when: after.unwrap_or(when), deed })
}

/// What somebody does at another program: it comes as a letter.
fn elsewhere(line: &str) -> anyhow::Result<(When, Deed)> {
    let Act { when, deed } = act(line)?;
    if !matches!(deed, Deed::Decides(..) | Deed::Answers(_)) {
        bail!("elsewhere people approve, deny and answer: {line:?}");
    }
    Ok((when, Deed::Elsewhere(Box::new(deed))))
}

/// The file's text with the body of its block `name` replaced (or the block added at the end).
pub fn with_block(text: &str, name: &str, body: &str) -> String {
    let open = format!("```{name}\n");
    let body =
        if body.is_empty() || body.ends_with('\n') { body.into() } else { format!("{body}\n") };
    match text.find(&open) {
        Some(start) => {
            let from = start + open.len();
            let length = text[from..].find("```").unwrap_or(text.len() - from);
            format!("{}{body}{}", &text[..from], &text[from + length..])
        }
        None => format!("{}\n\n{open}{body}```\n", text.trim_end()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_act_may_wait_for_a_fact() {
        let act = act("cancels @ call.started#2").expect("an act");
        assert_eq!(act, Act { when: When::After("call.started".into(), 2), deed: Deed::Cancels });
    }

    #[test]
    fn what_comes_by_letter_is_an_answer() {
        let act = act("elsewhere denies not now").expect("an act");
        let denies = Deed::Decides("deny".into(), Some("not now".into()));
        let deed = Deed::Elsewhere(Box::new(denies));
        assert_eq!(act, Act { when: When::AtApproval, deed });
        assert!(elsewhere("merges").is_err());
    }

    #[test]
    fn a_block_is_replaced_in_place() {
        let text = "# T\n\n```journal\nold\n```\nend\n";
        assert_eq!(with_block(text, "journal", "new"), "# T\n\n```journal\nnew\n```\nend\n");
    }
}
