//! What tools exist, and what is found out about a call before it is judged.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use serde_json::Value;
use weir_core::governance::shell;
use weir_core::profile::{PermissionMode, Profile};
use weir_core::session::CallState;
use weir_core::tool::built_in::HANDLE_TOOLS;
use weir_core::tool::{
    CommandEffect, EffectClass, Effects, FeedEffect, Inspection, Tier, ToolSpec,
};

use crate::blocking::run_blocking;
use crate::equal_parts::EqualParts;
use crate::ports::{CallPlan, Tool, ToolContext};

/// Errors of one set of arguments that are told at once.
const SCHEMA_ERRORS_TOLD: usize = 3;

/// All tools of an engine, or of one session of it: the built-in ones, which never change, and those
/// that came later (foreign servers, plugins, tools made at run time).
pub struct Toolbox {
    built_in: Arc<BuiltInTools>,
    added: RwLock<BTreeMap<String, Arc<dyn Tool>>>,
    /// Tools with nothing behind them: no session begins with them. The same ones in most sessions of a server,
    /// which hold them once (Q18).
    idle: Arc<BTreeSet<String>>,
    /// Of the tools that were added.
    validators: Validators,
}

/// The tools that never change, held once by a box and all of its copies (Q18).
struct BuiltInTools {
    tools: Vec<Arc<dyn Tool>>,
    by_name: HashMap<String, usize>,
    validators: Validators,
}

/// Names of tools with nothing behind them, of all boxes of the program.
static IDLE_NAMES: EqualParts<BTreeSet<String>> = EqualParts::new();

/// Schemas by the name of their tool, compiled when first needed: a schema costs more to compile than most
/// calls to run.
type Validators = Mutex<HashMap<String, Arc<jsonschema::Validator>>>;

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all_tools().iter().map(|tool| &tool.spec().name)).finish()
    }
}

/// Two tools of one name.
#[derive(Debug, thiserror::Error)]
#[error("two tools are called {name}")]
pub struct DuplicateTool {
    /// The name that two tools have.
    pub name: String,
}

impl Toolbox {
    /// A toolbox of these.
    ///
    /// # Errors
    /// Two of them have one name.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Result<Toolbox, DuplicateTool> {
        let mut by_name = HashMap::new();
        for (at, tool) in tools.iter().enumerate() {
            let name = tool.spec().name.clone();
            if by_name.insert(name.clone(), at).is_some() {
                return Err(DuplicateTool { name });
            }
        }
        let built_in = BuiltInTools { tools, by_name, validators: Mutex::default() };
        Ok(Toolbox {
            built_in: Arc::new(built_in),
            added: RwLock::default(),
            idle: Arc::default(),
            validators: Mutex::default(),
        })
    }

    /// The same box, in which these tools have nothing behind them (no server is declared, no
    /// stronger model is named): no session is told of them when it begins. What gives them
    /// something to do later makes them known then (`ResultEffect::Made`).
    #[must_use]
    pub fn without_use_for(mut self, idle: impl IntoIterator<Item = String>) -> Toolbox {
        let mut names = BTreeSet::clone(&self.idle);
        names.extend(idle);
        self.idle = IDLE_NAMES.share(Arc::new(names), |one, other| one == other);
        self
    }

    /// The same tools in a box of their own: what is added to one is not in the other. It costs little: what
    /// never changes is not copied.
    #[must_use]
    pub fn copy(&self) -> Toolbox {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner).clone();
        Toolbox {
            built_in: self.built_in.clone(),
            added: RwLock::new(added),
            idle: self.idle.clone(),
            validators: Mutex::default(),
        }
    }

    /// Adds a tool. It takes the place of one of its name that was added before.
    ///
    /// # Errors
    /// It would take the name of a built-in tool.
    pub fn add(&self, tool: Arc<dyn Tool>) -> Result<(), DuplicateTool> {
        let name = tool.spec().name.clone();
        if self.built_in.by_name.contains_key(&name) {
            return Err(DuplicateTool { name });
        }
        self.validators.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
        self.added.write().unwrap_or_else(PoisonError::into_inner).insert(name, tool);
        Ok(())
    }

    /// Takes a tool away that was added; whether it was there.
    pub fn remove(&self, name: &str) -> bool {
        self.validators.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
        self.added.write().unwrap_or_else(PoisonError::into_inner).remove(name).is_some()
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if let Some(at) = self.built_in.by_name.get(name) {
            return Some(self.built_in.tools[*at].clone());
        }
        self.added.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    /// All that can be listed: the built-in ones in the order of their list, then the others by name.
    pub fn all_tools(&self) -> Vec<Arc<dyn Tool>> {
        let added = self.added.read().unwrap_or_else(PoisonError::into_inner);
        let all = self.built_in.tools.iter().chain(added.values());
        all.filter(|tool| tool.is_offered()).cloned().collect()
    }

    /// What a profile may see (T3): in the order of the list, so that prompts are stable.
    pub fn visible_specs(&self, profile: &Profile, writes: bool) -> Vec<ToolSpec> {
        let all = self.all_tools();
        let has = |spec: &ToolSpec| profile.has_tool(&spec.name, spec.group);
        // In plan mode write tools are absent, not merely refused (C3).
        let kept = |spec: &ToolSpec| writes || spec.group != weir_core::tool::ToolGroup::Edit;
        let of_use = |spec: &ToolSpec| !self.idle.contains(&spec.name);
        let is_shown = |tool: &&Arc<dyn Tool>| {
            let spec = tool.spec();
            has(spec) && kept(spec) && of_use(spec)
        };
        let shown: Vec<&Arc<dyn Tool>> = all.iter().filter(is_shown).collect();
        // Words are kept as handles where something could be done with them that others see (U6).
        let acts = shown.iter().any(|tool| tool.acts_on_others());
        let specs = shown.into_iter().map(|tool| tool.spec());
        let is_used = |spec: &&ToolSpec| acts || !HANDLE_TOOLS.contains(&spec.name.as_str());
        specs.filter(is_used).cloned().collect()
    }

    /// Finds out about a call: does its tool exist, are its arguments valid, what would it do.
    pub async fn inspect(&self, call: &CallState, cx: &ToolContext) -> (Inspection, CallPlan) {
        let nothing =
            |summary: String| CallPlan::new(EffectClass::Read, Effects::default(), summary);
        let Some(tool) = self.get(&call.tool) else {
            let plan = nothing(format!("Call the unknown tool {}", call.tool));
            let nearest = self.nearest_name(&call.tool);
            return (Inspection { known: false, nearest, ..inspection_of_plan(&plan) }, plan);
        };
        if call.broken.is_some() {
            let plan = nothing(format!("Call {} with broken arguments", call.tool));
            return (inspection_of_plan(&plan), plan);
        }
        if let Some(invalid) = self.argument_errors(tool.spec(), &call.input) {
            let plan = nothing(format!("Call {} with invalid arguments", call.tool));
            return (Inspection { invalid: Some(invalid), ..inspection_of_plan(&plan) }, plan);
        }
        let mut plan = tool.plan_call(&call.input, cx).await;
        close_what_only_reads(&mut plan.effects, cx.mode);
        add_foreseen_effects(&mut plan.effects, cx).await;
        (inspection_of_plan(&plan), plan)
    }

    /// What is wrong with the arguments: field, what was expected, what came.
    pub(crate) fn argument_errors(&self, spec: &ToolSpec, input: &Value) -> Option<String> {
        let validator = match self.validator(spec) {
            Ok(validator) => validator,
            Err(error) => return Some(format!("The tool's own schema is invalid: {error}")),
        };
        let told: Vec<String> = validator
            .iter_errors(input)
            .take(SCHEMA_ERRORS_TOLD)
            .map(|error| {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() { "the arguments".to_string() } else { at };
                format!("{at}: {error}")
            })
            .collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    fn validator(&self, spec: &ToolSpec) -> Result<Arc<jsonschema::Validator>, String> {
        let validators = match self.built_in.by_name.contains_key(&spec.name) {
            true => &self.built_in.validators,
            false => &self.validators,
        };
        let mut compiled = validators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(validator) = compiled.get(&spec.name) {
            return Ok(validator.clone());
        }
        let validator =
            jsonschema::draft202012::new(&spec.input_schema).map_err(|e| e.to_string())?;
        let validator = Arc::new(validator);
        compiled.insert(spec.name.clone(), validator.clone());
        Ok(validator)
    }

    /// The existing name that is most like `name`, if any is.
    pub fn nearest_name(&self, name: &str) -> Option<String> {
        let lower = name.to_lowercase();
        self.all_tools()
            .iter()
            .map(|tool| tool.spec().name.clone())
            .map(|known| (crate::text_diff::measure_likeness(&lower, &known), known))
            .filter(|(ratio, _)| *ratio > 0.6)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known)
    }
}

/// Whether a schema can be used to check arguments.
///
/// # Errors
/// Why not.
pub fn check_schema(schema: &Value) -> Result<(), String> {
    let compiled = jsonschema::draft202012::new(schema);
    compiled.map(|_| ()).map_err(|why| format!("input_schema is no JSON Schema: {why}"))
}

/// Takes every writable place from a command that would pass in mode `ask` because it only reads: what
/// the list of readers does not know costs nothing then (U13).
fn close_what_only_reads(effects: &mut Effects, mode: PermissionMode) {
    let writes = effects.paths.iter().any(|path| path.access.is_write());
    if mode != PermissionMode::Ask || writes {
        return;
    }
    for command in effects.commands.iter_mut().filter(|command| command.tier != Tier::None) {
        command.read_only |= shell::reads_only(&shell::parse_command_line(&command.command), true);
    }
}

/// Adds what no tool says of its own effects: which of its paths git runs or takes settings from (A9,
/// A1), which running jobs with network could read what it writes (A12), and what a person could grant by
/// name to a command that asks for hosts (U13).
async fn add_foreseen_effects(effects: &mut Effects, cx: &ToolContext) {
    let is_change = |command: &CommandEffect| {
        !command.read_only && !shell::reads_only(&shell::parse_command_line(&command.command), true)
    };
    let by_files =
        !effects.changes.is_empty() || effects.paths.iter().any(|path| path.access.is_write());
    if let Some(command) = effects.commands.iter().find(|command| !command.hosts.is_empty()) {
        let (workspace, folder) = (cx.workspace.clone(), command.cwd.clone());
        let look = run_blocking(move || workspace.named_grants(&folder));
        effects.named_grants = look.await.unwrap_or_default();
    }
    if by_files {
        let (workspace, planned) = (cx.workspace.clone(), effects.clone());
        let look = run_blocking(move || workspace.run_by_git(&planned));
        match look.await {
            Ok(found) => effects.run_by_git = found,
            // Nobody knows what git would run of it.
            Err(_) => effects.unknown = true,
        }
    }
    if !by_files && !effects.commands.iter().any(is_change) {
        return;
    }
    for job in cx.processes.jobs(&cx.session).await {
        let known = effects.feeds.iter().any(|feed| feed.job == job.job);
        if let Some(hosts) = job.reaches.filter(|_| job.end.is_none() && !known) {
            effects.feeds.push(FeedEffect { job: job.job, command: job.command, hosts });
        }
    }
}

fn inspection_of_plan(plan: &CallPlan) -> Inspection {
    Inspection {
        fails: plan.fails.clone(),
        diff: plan.diff.clone(),
        confirm: plan.confirm.clone(),
        ..Inspection::new(plan.class, plan.effects.clone(), plan.summary.clone())
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use serde_json::json;
    use weir_core::governance::Permit;
    use weir_core::tool::{RawResult, ToolGroup};

    use super::*;

    /// A tool that takes one type of arguments, and is never run.
    struct Typed(ToolSpec);

    #[async_trait]
    impl Tool for Typed {
        fn spec(&self) -> &ToolSpec {
            &self.0
        }

        async fn plan_call(&self, _: &Value, _: &ToolContext) -> CallPlan {
            CallPlan::new(EffectClass::Read, Effects::default(), "Look")
        }

        async fn run(&self, _: Permit, _: &ToolContext) -> RawResult {
            RawResult::ok("")
        }
    }

    fn typed(name: &str, of: &str) -> Arc<dyn Tool> {
        let schema = json!({ "type": "object", "properties": { "it": { "type": of } } });
        Arc::new(Typed(ToolSpec::new(name, "Looks.", ToolGroup::Read, schema)))
    }

    #[test]
    fn q18_names_of_tools_without_use_are_held_once_for_all_boxes() {
        let base = Toolbox::new(vec![typed("q18_look", "string")]).expect("one tool");
        let idle = || ["q18_look", "q18_other"].map(String::from);
        let (one, other) =
            (base.copy().without_use_for(idle()), base.copy().without_use_for(idle()));
        assert!(Arc::ptr_eq(&one.idle, &other.idle));
        assert!(Arc::ptr_eq(&one.copy().idle, &one.idle));
        let fewer = base.copy().without_use_for(["q18_other".to_owned()]);
        assert!(!fewer.idle.contains("q18_look"), "another box has fewer");
        let more = fewer.without_use_for(["q18_look".to_owned()]);
        assert!(Arc::ptr_eq(&more.idle, &one.idle), "what was named before stays");
    }

    #[test]
    fn q18_copies_of_a_box_compile_a_built_in_schema_once_and_each_its_own() {
        let base = Toolbox::new(vec![typed("look", "string")]).expect("one tool");
        let (one, other) = (base.copy(), base.copy());
        one.add(typed("made", "string")).expect("another name");
        other.add(typed("made", "integer")).expect("another name");
        let compiled = |toolbox: &Toolbox, name: &str| {
            let tool = toolbox.get(name).expect("it is there");
            toolbox.validator(tool.spec()).expect("a schema")
        };
        assert!(Arc::ptr_eq(&compiled(&one, "look"), &compiled(&other, "look")));
        let fits = |toolbox: &Toolbox, it: Value| {
            let tool = toolbox.get("made").expect("it was added");
            toolbox.argument_errors(tool.spec(), &json!({ "it": it })).is_none()
        };
        assert!(fits(&one, json!("x")) && !fits(&one, json!(1)));
        assert!(fits(&other, json!(1)) && !fits(&other, json!("x")));
        assert!(base.get("made").is_none());
        assert!(one.add(typed("look", "integer")).is_err(), "a built-in name is nobody else's");
    }

    #[test]
    fn u13_what_only_reads_has_nothing_writable_in_ask() {
        let closed = |line: &str, tier, mode| {
            let command = CommandEffect { command: line.into(), tier, ..CommandEffect::default() };
            let mut effects = Effects { commands: vec![command], ..Effects::default() };
            close_what_only_reads(&mut effects, mode);
            effects.commands[0].read_only
        };
        let (ask, tier) = (PermissionMode::Ask, Tier::Landlock);
        assert!(closed("git status | head", tier, ask));
        assert!(!closed("git commit -m x", tier, ask));
        assert!(!closed("git status", Tier::None, ask));
        assert!(!closed("git status", tier, PermissionMode::AutoEdit));
    }
}
