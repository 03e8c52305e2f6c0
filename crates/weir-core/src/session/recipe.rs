//! What a run makes of a recipe: it is told, or its steps are followed without asking the model
//! after each (L16). Not here: how calls are judged and run, which is as for any other call; what is
//! put into a call (`crate::recipe::plan`).

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::{
    Event, RecipeFallback, RecipeMatched, RecipePlanned, RecipeStepped, RunStatus, TurnStarted,
};
use crate::ids::{CallId, TurnId};
use crate::message::{CallBlock, MessageBlock, plain_text};
use crate::recipe::plan::{self, StepOutput};
use crate::recipe::{PlannedCall, Recipe, RecipeMatch, RecipeUse};
use crate::tool::{AgentControl, ToolSpec};

use super::call::CallResult;
use super::{CallState, RunPhase, RunState, Session, TurnStage, TurnState};

mod told;

use told::{push_result, result_heading};

/// How a person stops a recipe that is followed.
const STOP: &str = "To stop it, cancel the run (Esc, Ctrl-C), or say something: then it stops after \
                    the step under way.";
/// How a person does without one that is only told.
const STOP_TOLD: &str = "The agent decides whether to follow it: say so if another way is wanted.";
/// The reason of a fallback that a person caused.
const SAID: &str = "the person said something";
/// Characters of all results that are told where the model's window is not known.
const TOLD_CHARS_MAX: usize = 400_000;
/// Share of the model's window that the told results may take together.
const TOLD_SHARE: f64 = 0.4;
/// Characters of the reason of a fallback.
const REASON_CHARS_MAX: usize = 300;

/// What a run makes of a recipe.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RecipeGuide {
    recipe: String,
    name: String,
    /// The tools of its steps.
    tools: Vec<String>,
    /// How many of `tools`, in this order, the agent called with success by itself.
    called: usize,
    way: RecipeRoute,
    stage: RecipeProgress,
    /// Characters of results that were told.
    told: usize,
}

/// How the run came to the recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum RecipeRoute {
    /// It stands in the prompt; the agent may follow it.
    Told,
    /// By the fast path.
    Fast,
    /// The agent called `execute_recipe`.
    Executed,
}

/// How far it is.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum RecipeProgress {
    /// Nothing is followed.
    Told,
    /// The planner is to be asked about it.
    Planning(Box<Recipe>),
    /// Its calls are made.
    Following { calls: Vec<PlannedCall>, given: Vec<StepOutput> },
    /// It cannot go on; that it fell back is a fact that follows.
    Failing { step: Option<u32>, reason: String, done: u32 },
    /// It was left.
    FellBack,
    /// All its calls were made.
    Followed,
}

/// What the planner is asked.
#[derive(Debug, Clone)]
pub struct PlanWork {
    /// The recipe with its steps.
    pub recipe: Recipe,
    /// What the person said.
    pub message: String,
    /// The tools of its steps.
    pub tools: Vec<ToolSpec>,
}

impl RecipeGuide {
    fn new(recipe: &Recipe, way: RecipeRoute, stage: RecipeProgress) -> RecipeGuide {
        RecipeGuide {
            recipe: recipe.id.clone(),
            name: recipe.name.clone(),
            tools: recipe.steps.iter().map(|step| step.tool.clone()).collect(),
            called: 0,
            way,
            stage,
            told: 0,
        }
    }

    /// The agent made a call by itself, and it succeeded.
    pub(super) fn note_call(&mut self, tool: &str) {
        if self.tools.get(self.called).is_some_and(|next| next == tool) {
            self.called += 1;
        }
    }

    /// Whether its steps are being followed, or are to be.
    fn is_open(&self) -> bool {
        matches!(
            self.stage,
            RecipeProgress::Planning(_)
                | RecipeProgress::Following { .. }
                | RecipeProgress::Failing { .. }
        )
    }

    /// Steps that were made.
    fn steps_done(&self) -> u32 {
        match &self.stage {
            RecipeProgress::Following { given, .. } => {
                u32::try_from(given.len()).unwrap_or(u32::MAX)
            }
            RecipeProgress::Failing { done, .. } => *done,
            RecipeProgress::Told
            | RecipeProgress::Planning(_)
            | RecipeProgress::FellBack
            | RecipeProgress::Followed => 0,
        }
    }

    fn fallback(&self, step: Option<u32>, reason: &str) -> Event {
        let reason = reason.chars().take(REASON_CHARS_MAX).collect();
        RecipeFallback { recipe: self.recipe.clone(), step, reason }.into()
    }
}

impl RunState {
    /// What this run says about its recipe, once it ends as `status`. Only use counts (M5).
    pub(super) fn recipe_use(&self, status: RunStatus) -> Option<RecipeUse> {
        let guide = self.recipe.as_ref()?;
        let completed = status == RunStatus::Completed;
        let followed = matches!(guide.stage, RecipeProgress::Followed);
        let ok = match guide.way {
            RecipeRoute::Told => {
                let steps = guide.tools.len();
                let (all, half) = (guide.called == steps, guide.called * 2 >= steps);
                // It was the wrong way where the person stopped or corrected the agent on it.
                let stopped = status == RunStatus::Cancelled || self.solving.is_corrected();
                match stopped {
                    true => (steps > 0 && half).then_some(false)?,
                    false => (completed && steps > 0 && all).then_some(true)?,
                }
            }
            // The kill switch says nothing about a recipe, and neither does a question that is open
            // once its steps are done.
            RecipeRoute::Fast | RecipeRoute::Executed if status == RunStatus::Paused => {
                return None;
            }
            RecipeRoute::Fast | RecipeRoute::Executed
                if followed && status == RunStatus::NeedsInput =>
            {
                return None;
            }
            RecipeRoute::Fast | RecipeRoute::Executed => completed && followed,
        };
        Some(RecipeUse { recipe: guide.recipe.clone(), fast: guide.way == RecipeRoute::Fast, ok })
    }
}

impl Session {
    /// What was found to fit, as far as it may be used at all.
    pub(super) fn usable_match(&self, found: Option<Box<RecipeMatch>>) -> Option<Box<RecipeMatch>> {
        let config = self.config.as_ref()?;
        let first = self.run.as_ref().is_some_and(|run| run.phase == RunPhase::Look);
        let may = first && !config.recipes.off && config.depth == 0;
        found.filter(|found| may && !found.standing.is_demoted())
    }

    /// Whether the steps of a recipe may be followed without asking the model after each.
    fn may_be_fast(&self, found: &RecipeMatch) -> bool {
        let Some(config) = &self.config else { return false };
        let recipe = &found.recipe;
        let plain = |block: &MessageBlock| matches!(block, MessageBlock::Text { .. });
        let attached = !self.queue.iter().all(|queued| queued.content.iter().all(plain));
        let profile = &config.profile.name;
        config.recipes.fast
            && !config.recipes.off
            && config.depth == 0
            && found.standing.is_fast()
            && (recipe.profiles.is_empty() || recipe.profiles.contains(profile))
            && (!attached || recipe.attachments)
            && (1..=plan::CALLS_MAX).contains(&recipe.steps.len())
            && recipe.steps.iter().all(|step| self.find_tool(&step.tool).is_some())
            && self.open_question().is_none()
    }

    /// A run has begun, and this recipe fits.
    pub(super) fn adopt_recipe(&mut self, found: &RecipeMatch) {
        let fast = self.may_be_fast(found);
        self.label.join(&found.recipe.label);
        let fact = RecipeMatched {
            recipe: found.recipe.id.clone(),
            name: found.recipe.name.clone(),
            score: found.score,
            fast,
            successes: found.standing.successes,
            failures: found.standing.failures,
            stop: if fast { STOP } else { STOP_TOLD }.into(),
        };
        self.due.push_back(fact.into());
        let Some(run) = &mut self.run else { return };
        let (way, stage) = match fast {
            true => (RecipeRoute::Fast, RecipeProgress::Planning(Box::new(found.recipe.clone()))),
            false => (RecipeRoute::Told, RecipeProgress::Told),
        };
        run.recipe = Some(RecipeGuide::new(&found.recipe, way, stage));
        if fast {
            run.phase = RunPhase::Plan;
        }
    }

    fn guide(&self) -> Option<&RecipeGuide> {
        self.run.as_ref()?.recipe.as_ref()
    }

    /// What the planner is asked, while it is to be asked.
    pub fn plan_work(&self) -> Option<PlanWork> {
        let RecipeProgress::Planning(recipe) = &self.guide()?.stage else { return None };
        let mut said = Vec::new();
        for queued in &self.queue {
            said.push(plain_text(&queued.content));
            said.extend(queued.added.iter().map(|added| added.text.clone()));
        }
        let mut tools: Vec<ToolSpec> = Vec::new();
        for step in &recipe.steps {
            let spec = self.find_tool(&step.tool)?;
            if !tools.iter().any(|tool| tool.name == spec.name) {
                tools.push(spec.clone());
            }
        }
        Some(PlanWork { recipe: recipe.as_ref().clone(), message: said.join("\n\n"), tools })
    }

    /// Whether the calls of this turn are those of a recipe.
    pub fn follows_recipe(&self) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.recipe)
    }

    /// The fact to an answer of the planner; none where it is no longer asked.
    pub(super) fn recipe_planned(&self, fact: RecipePlanned) -> Option<Event> {
        let run = self.run.as_ref().filter(|run| run.cancel.is_none())?;
        let waits = run.phase == RunPhase::Plan && run.recipe.as_ref()?.recipe == fact.recipe;
        waits.then(|| fact.into())
    }

    /// What follows while the planner is asked: a limit, or the person says something else.
    pub(super) fn planning_next(&self) -> Option<Event> {
        if let Some(event) = super::limits::hard_limit_fact(self) {
            return Some(event);
        }
        let said = !self.unexamined_inputs().is_empty();
        said.then(|| self.guide().map(|guide| guide.fallback(None, SAID))).flatten()
    }

    /// What follows between two turns because a recipe is followed: it is left, or its next calls
    /// are made.
    pub(super) fn recipe_next(&self, run: &RunState) -> Option<Event> {
        let guide = run.recipe.as_ref().filter(|guide| guide.is_open())?;
        if let RecipeProgress::Failing { step, reason, .. } = &guide.stage {
            return Some(guide.fallback(*step, reason));
        }
        if !self.unexamined_inputs().is_empty() {
            return Some(guide.fallback(None, SAID));
        }
        match self.next_wave(guide)? {
            Err((step, reason)) => Some(guide.fallback(Some(step), &reason)),
            Ok(_) => Some(
                TurnStarted {
                    turn: TurnId(self.next.turn + 1),
                    iteration: run.iterations,
                    inputs: self.queue.iter().map(|queued| queued.input).collect(),
                    recipe: true,
                    told: Some(self.pending.told_parts()),
                }
                .into(),
            ),
        }
    }

    /// The next calls with what earlier ones gave, or the step that cannot be made and why.
    fn next_wave(&self, guide: &RecipeGuide) -> Option<Result<Vec<Value>, (u32, String)>> {
        let RecipeProgress::Following { calls, given } = &guide.stage else { return None };
        let beside = |tool: &str| self.find_tool(tool).is_some_and(|tool| tool.parallel_safe);
        let from = given.len();
        let mut inputs = Vec::new();
        for (at, call) in
            calls.iter().enumerate().skip(from).take(plan::wave_length(calls, from, beside))
        {
            match plan::with_results(&call.input, given) {
                Ok(input) => inputs.push(input),
                Err(reason) => return Some(Err((step_number(at), reason))),
            }
        }
        Some(Ok(inputs))
    }

    /// The calls of a turn that has begun for them.
    pub(super) fn step_fact(&self, turn: &TurnState) -> Option<Event> {
        let guide = self.guide()?;
        let inputs = self.next_wave(guide)?.ok()?;
        let RecipeProgress::Following { calls, given } = &guide.stage else { return None };
        let made = calls.iter().skip(given.len()).zip(inputs).enumerate();
        let block = |(index, (call, input)): (usize, (&PlannedCall, Value))| CallBlock {
            call: CallId(self.next.call + step_number(index)),
            // It stands in no request, so no vendor has a name for it.
            wire_id: String::new(),
            tool: call.tool.clone(),
            input,
            broken: None,
            seal: None,
        };
        Some(
            RecipeStepped {
                turn: turn.id,
                recipe: guide.recipe.clone(),
                step: step_number(given.len()),
                calls: made.map(block).collect(),
            }
            .into(),
        )
    }

    /// All calls of a wave are answered: the model will be told as text, since it did not make them.
    pub(super) fn fold_wave(&mut self, turn: TurnState) {
        let told_max = self.told_max();
        let Some(run) = &mut self.run else { return };
        let Some(mut guide) = run.recipe.take() else { return };
        let mut failed = None;
        let mut done = guide.steps_done();
        let RecipeProgress::Following { calls, mut given } = guide.stage else { return };
        for call in turn.calls {
            let result = call.call_result().cloned().unwrap_or_default();
            run.count_call(&call, &result);
            let gave = plain_text(result.given_blocks());
            let CallResult { ok, blocks, whole, .. } = result;
            let gave = StepOutput::from_result(&call.tool, gave, whole);
            let at = given.len();
            let expect = calls.get(at).and_then(|call| call.expect.as_ref());
            let came = match ok {
                true => plan::check_expectation(expect, &gave.text)
                    .map_err(|why| format!("not as expected: {why}")),
                false => Err(gave.text.lines().next().unwrap_or("it failed").to_string()),
            };
            let how = match &came {
                Ok(()) => "ok",
                Err(_) if ok => "ok, but not as expected",
                Err(_) => "failed",
            };
            let head = result_heading(&guide.name, step_number(at), &call, how);
            push_result(&head, &blocks, told_max, &mut guide.told, &mut self.pending);
            done += u32::from(ok);
            given.push(gave);
            if let Err(reason) = came {
                failed = failed.or(Some((step_number(at), reason)));
            }
        }
        guide.stage = match failed {
            Some((step, reason)) => RecipeProgress::Failing { step: Some(step), reason, done },
            None if given.len() == calls.len() => {
                self.pending.push_composed(format!(
                    "[recipe {}] All {} steps are done. Answer the person from these results; call \
                     a tool only for what is still missing, and do nothing twice.",
                    guide.name,
                    calls.len()
                ));
                RecipeProgress::Followed
            }
            None => RecipeProgress::Following { calls, given },
        };
        run.recipe = Some(guide);
        self.after_calls(turn.notes, None);
    }

    /// Characters of results that a recipe may tell.
    fn told_max(&self) -> usize {
        match self.window_tokens() {
            0 => TOLD_CHARS_MAX,
            window => self
                .window
                .bytes_for_tokens((window as f64 * TOLD_SHARE) as u64)
                .min(TOLD_CHARS_MAX),
        }
    }

    /// Why a call may not do what it wants of the agent: a recipe does not steer, and a run follows
    /// one recipe.
    pub(super) fn steering_refusal(
        &self,
        id: CallId,
        control: Option<&AgentControl>,
    ) -> Option<&'static str> {
        let control = control?;
        let turn = self.turn.as_ref()?;
        if turn.recipe {
            return Some("Not run: it steers the agent, which a step of a recipe does not.");
        }
        let AgentControl::Follow { .. } = control else { return None };
        if self.config.as_ref().is_none_or(|config| config.depth > 0 || config.recipes.off) {
            return Some("Not run: recipes are not followed here. Make the calls yourself.");
        }
        let follows = |call: &CallState| {
            call.id != id && matches!(call.control(), Some(AgentControl::Follow { .. }))
        };
        let used = self.guide().is_some_and(|guide| guide.way != RecipeRoute::Told);
        (used || turn.calls.iter().any(follows)).then_some(
            "Not run: a run follows one recipe, and this one has had its own. Make the calls \
             yourself.",
        )
    }

    /// The agent wants a recipe followed.
    pub(super) fn follow_recipe(&mut self, recipe: &Recipe, calls: &[PlannedCall]) {
        self.label.join(&recipe.label);
        self.load_tools(calls);
        let stage = RecipeProgress::Following { calls: calls.to_vec(), given: Vec::new() };
        if let Some(run) = &mut self.run {
            run.recipe = Some(RecipeGuide::new(recipe, RecipeRoute::Executed, stage));
        }
    }

    /// Tools of a plan that are named only need no finding (T4).
    fn load_tools(&mut self, calls: &[PlannedCall]) {
        let deferred = self.config.iter().flat_map(|config| config.deferred.iter());
        let wanted = |name: &&String| calls.iter().any(|call| call.tool == **name);
        let names = deferred.map(|tool| &tool.name).filter(wanted).cloned();
        self.found.extend(names.collect::<Vec<_>>());
    }
}

/// The fold of the planner's answer.
pub(super) fn apply_plan(s: &mut Session, f: &RecipePlanned) {
    s.count_usage(&f.usage, f.cost_usd);
    if f.failed.is_none() {
        s.load_tools(&f.calls);
    }
    let Some(run) = &mut s.run else { return };
    run.phase = RunPhase::Between;
    let Some(guide) = &mut run.recipe else { return };
    guide.stage = match &f.failed {
        Some(reason) => RecipeProgress::Failing { step: None, reason: reason.clone(), done: 0 },
        None => RecipeProgress::Following { calls: f.calls.clone(), given: Vec::new() },
    };
}

/// The fold of the calls of a wave.
pub(super) fn apply_steps(s: &mut Session, f: &RecipeStepped) {
    let last = f.calls.last().map_or(0, |call| call.call.0);
    s.next.call = s.next.call.max(last);
    if let Some(turn) = s.turn.as_mut().filter(|turn| turn.id == f.turn) {
        let blocks = f.calls.iter().cloned().map(MessageBlock::Call);
        let (handles, label) = (&s.handles, turn.label.clone());
        let calls = blocks.filter_map(|block| CallState::from_block(&block));
        // What an earlier step brought is given on by its name, as a model does it.
        turn.calls = calls.map(|call| call.with_carried(handles, &label)).collect();
        turn.stage = TurnStage::Working;
    }
}

/// The fold of a fallback: what was done is told, so that nothing is done twice.
pub(super) fn fell_back(s: &mut Session, f: &RecipeFallback) {
    let Some(run) = &mut s.run else { return };
    if run.phase == RunPhase::Plan {
        run.phase = RunPhase::Between;
    }
    let Some(guide) = &mut run.recipe else { return };
    let (done, asked) = (guide.steps_done(), f.step.is_some());
    guide.stage = RecipeProgress::FellBack;
    if done == 0 && !asked {
        return;
    }
    let at = f.step.map(|step| format!(" at step {step}")).unwrap_or_default();
    s.pending.push_composed(format!(
        "[recipe {}] It is not followed any further{at}: {}. What is told above was done, and \
         nothing else of it: do not do it again. Go on by yourself.",
        guide.name,
        f.reason.trim_end_matches('.')
    ));
}

/// The place of a call, counted from 1.
fn step_number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
