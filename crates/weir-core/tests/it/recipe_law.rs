//! The law of recipes, held against any journal (L16): steps are made once and in order, waves are
//! no model calls, and what a run says about its recipe is what happened.

use weir_core::event::{Event, RunStatus};

/// What one run did with recipes.
#[derive(Default)]
struct Seen {
    matched_fast: bool,
    planned: Option<usize>,
    failed: bool,
    stepped: u32,
    fell_back: u32,
    asked: u32,
}

/// How often recipes were followed to their end, and left.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) worked: u32,
    pub(crate) left: u32,
    pub(crate) interrupted: u32,
}

pub(crate) fn check<'a>(facts: impl Iterator<Item = &'a Event>) -> Count {
    let mut count = Count::default();
    let mut seen = Seen::default();
    for event in facts {
        match event {
            Event::RunStarted(_) => seen = Seen::default(),
            Event::RecipeMatched(f) => seen.matched_fast = f.fast,
            Event::RecipePlanned(f) => {
                assert!(seen.matched_fast && seen.planned.is_none(), "planned once, if at all");
                seen.planned = Some(f.calls.len());
                seen.failed = f.failed.is_some();
            }
            Event::TurnStarted(f) => seen.asked += u32::from(!f.recipe),
            Event::RecipeStepped(f) => {
                assert_eq!(f.step, seen.stepped + 1, "steps are made once, in order");
                assert_eq!(seen.fell_back, 0, "nothing is made after a fallback");
                seen.stepped += u32::try_from(f.calls.len()).expect("few calls");
            }
            Event::RecipeFallback(_) => {
                seen.fell_back += 1;
                assert_eq!(seen.fell_back, 1, "a recipe is left once");
            }
            Event::RunFinished(f) => {
                assert_eq!(f.iterations, seen.asked, "waves are no model calls");
                let all = seen.planned.is_some_and(|planned| planned == seen.stepped as usize);
                let followed = all && !seen.failed && seen.fell_back == 0;
                let Some(used) = f.recipe.as_ref().filter(|used| used.fast) else {
                    let silent = f.status == RunStatus::Paused
                        || (followed && f.status == RunStatus::NeedsInput);
                    assert!(!seen.matched_fast || silent, "a fast path always counts: {f:?}");
                    continue;
                };
                assert!(seen.matched_fast);
                if used.ok {
                    assert!(followed && f.status == RunStatus::Completed, "{f:?}");
                } else {
                    assert!(!followed || f.status != RunStatus::Completed, "{f:?}");
                }
                count.worked += u32::from(used.ok);
                count.left += u32::from(seen.fell_back == 1);
                count.interrupted += u32::from(!used.ok && seen.fell_back == 0);
            }
            _ => (),
        }
    }
    count
}
