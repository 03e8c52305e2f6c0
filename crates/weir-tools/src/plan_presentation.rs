//! `plan_presentation`: what a presentation would be, slide by slide, before it is made.

use async_trait::async_trait;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use weir_core::office::{OfficeDocument, SlideDeck};
use weir_core::tool::{Effects, RawResult, ToolGroup, ToolSpec};
use weir_engine::ports::{CallPlan, ToolContext};

use crate::built::{ActionTool, tool_spec};
use crate::draft::PlanDraft;
use crate::office::{make_office, take_text};
use crate::text;

pub(crate) struct PlanPresentation;

#[derive(Debug)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Input {
    /// Who will see it.
    audience: Option<String>,
    /// What they should know or do afterwards.
    goal: Option<String>,
    #[cfg_attr(test, schemars(flatten))]
    deck: SlideDeck,
}

impl<'de> Deserialize<'de> for Input {
    fn deserialize<R: Deserializer<'de>>(input: R) -> Result<Self, R::Error> {
        let mut fields = Map::<String, Value>::deserialize(input)?;
        let audience = take_text(&mut fields, "audience").map_err(R::Error::custom)?;
        let goal = take_text(&mut fields, "goal").map_err(R::Error::custom)?;
        let deck = SlideDeck::deserialize(Value::Object(fields)).map_err(R::Error::custom)?;
        Ok(Input { audience, goal, deck })
    }
}

/// More paragraphs than people read on a slide.
const BULLETS_MAX: usize = 7;

#[async_trait]
impl ActionTool for PlanPresentation {
    type Input = Input;

    fn spec() -> ToolSpec {
        ToolSpec {
            deferred: true,
            ..tool_spec(
                "plan_presentation",
                ToolGroup::Read,
                "Shows the outline that create_pptx would make of the same slides: layouts, what \
                 does not fit, what to mend. Writes nothing.",
            )
        }
    }

    async fn plan_call(input: Input, cx: &ToolContext) -> CallPlan {
        let slides = text::count_noun(input.deck.slides.len(), "slide");
        let mut draft = PlanDraft::default();
        for name in OfficeDocument::Slides(input.deck).named_files() {
            draft.touch(cx.workspace.resolve(&name, weir_core::tool::PathAccess::Read));
        }
        let plan = draft.into_plan(format!("Plan a presentation of {slides}"));
        CallPlan { class: weir_core::tool::EffectClass::Read, ..plan }
    }

    async fn run_call(input: Input, _: &Effects, cx: &ToolContext) -> RawResult {
        let advice = list_advice(&input);
        let mut draft = PlanDraft::default();
        let made = match make_office(OfficeDocument::Slides(input.deck), &mut draft, cx).await {
            Ok(made) => made,
            Err(why) => return RawResult::error(why),
        };
        let mut out = String::new();
        for (name, said) in [("For", &input.audience), ("Goal", &input.goal)] {
            if let Some(said) = said {
                out.push_str(&format!("{name}: {said}\n"));
            }
        }
        out.push_str(&made.outline);
        let notes: Vec<&String> = made.remarks.iter().chain(&advice).collect();
        if !notes.is_empty() {
            out.push_str("\nTo mend or accept:\n");
            notes.iter().for_each(|note| out.push_str(&format!("- {note}\n")));
        }
        let slides = made.outline.lines().filter(|line| line.starts_with("## ")).count();
        RawResult::ok(out).with_summary(format!("outline of {}", text::count_noun(slides, "slide")))
    }
}

/// What would make the presentation better.
fn list_advice(input: &Input) -> Vec<String> {
    let mut advice = Vec::new();
    for (at, slide) in input.deck.slides.iter().enumerate() {
        let number = at + 1;
        let lines = |body: &Option<String>| {
            body.iter().flat_map(|b| b.lines()).filter(|line| !line.trim().is_empty()).count()
        };
        if lines(&slide.body) > BULLETS_MAX || lines(&slide.right) > BULLETS_MAX {
            advice.push(format!("slide {number} has more than {BULLETS_MAX} lines: split it"));
        }
        if slide.picture.as_ref().is_some_and(|picture| picture.alt.is_none()) {
            advice.push(format!("the picture of slide {number} has no alt text"));
        }
        let same = input.deck.slides[..at].iter().position(|other| other.title == slide.title);
        if let Some(other) = same {
            advice.push(format!("slides {} and {number} have the same title", other + 1));
        }
    }
    if input.goal.is_none() {
        advice.push("no goal was said: what should people know or do afterwards?".into());
    }
    advice
}
