//! Parts that are equal, kept once for all who hold them: the sessions of a server have the same tools, prompts
//! and profiles, and each would keep a copy of its own (Q18). Nothing is kept longer than somebody holds
//! it. Not here: what is the same by being one part already (a clone of an [`Arc`] is no copy).

use std::sync::{Arc, Mutex, PoisonError, Weak};

use weir_core::tool::ToolSpec;

/// Different parts that are known at once. Whoever has one more keeps it for themselves.
const PARTS_MAX: usize = 128;

/// Tools of all sessions of the program.
static TOOL_LISTS: EqualParts<Vec<ToolSpec>> = EqualParts::new();

/// Prompts of all sessions of the program.
static SYSTEM_PROMPTS: EqualParts<str> = EqualParts::new();

/// The prompt, or the same one that a session of the program has already.
pub fn share_system_prompt(text: Arc<str>) -> Arc<str> {
    SYSTEM_PROMPTS.share(text, |one, other| one == other)
}

/// The list, or the one that a session of the program has already and that says the same to the byte.
pub fn share_tool_list(list: Arc<Vec<ToolSpec>>) -> Arc<Vec<ToolSpec>> {
    TOOL_LISTS.share(list, |one, other| {
        one.len() == other.len()
            && one.iter().zip(other).all(|(one, other)| is_same_tool(one, other))
    })
}

fn is_same_tool(one: &ToolSpec, other: &ToolSpec) -> bool {
    // Schemas that mean the same and are written otherwise are other bytes of a prompt.
    one.input_schema.text() == other.input_schema.text() && one == other
}

/// Parts that somebody holds.
pub struct EqualParts<T: ?Sized>(Mutex<Vec<Weak<T>>>);

impl<T: ?Sized> Default for EqualParts<T> {
    fn default() -> EqualParts<T> {
        EqualParts::new()
    }
}

impl<T: ?Sized> EqualParts<T> {
    /// Of none yet.
    pub const fn new() -> EqualParts<T> {
        EqualParts(Mutex::new(Vec::new()))
    }

    /// The part that somebody holds and that `is_same` says is as `made`; where nobody does, `made` itself,
    /// which is then the one for whoever comes next.
    pub fn share(&self, made: Arc<T>, is_same: impl Fn(&T, &T) -> bool) -> Arc<T> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|part| part.strong_count() > 0);
        let mut held = known.iter().filter_map(Weak::upgrade);
        let same = held.find(|part| Arc::ptr_eq(part, &made) || is_same(part, &made));
        if let Some(same) = same {
            return same;
        }
        if known.len() < PARTS_MAX {
            known.push(Arc::downgrade(&made));
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::tool::ToolGroup;

    use super::*;

    fn list(schema: &str) -> Arc<Vec<ToolSpec>> {
        let schema: serde_json::Value = serde_json::from_str(schema).expect("JSON");
        Arc::new(vec![ToolSpec::new("q18_look", "Looks.", ToolGroup::Read, schema)])
    }

    #[test]
    fn q18_tools_that_are_the_same_to_the_byte_are_kept_once() {
        let first = share_tool_list(list(r#"{"type":"object","title":"q18"}"#));
        let again = share_tool_list(list(r#"{"type":"object","title":"q18"}"#));
        assert!(Arc::ptr_eq(&first, &again));
        let turned = list(r#"{"title":"q18","type":"object"}"#);
        assert_eq!(first, turned, "it means the same");
        let shared = share_tool_list(turned.clone());
        assert!(Arc::ptr_eq(&shared, &turned) && !Arc::ptr_eq(&shared, &first));
        let other = vec![ToolSpec { poll: true, ..first[0].clone() }];
        assert!(share_tool_list(other.into())[0].poll);
        assert!(share_tool_list(Arc::default()).is_empty());
    }

    #[test]
    fn q18_a_part_is_kept_as_long_as_somebody_holds_it() {
        let parts = EqualParts::<serde_json::Value>::new();
        let share = |value| parts.share(Arc::new(value), |one, other| one == other);
        let held = share(json!(1));
        let gone = Arc::downgrade(&share(json!(2)));
        assert!(gone.upgrade().is_none());
        assert!(Arc::ptr_eq(&held, &share(json!(1))));
        assert_eq!(parts.0.lock().expect("unpoisoned").len(), 1);
        let many: Vec<_> = (0..PARTS_MAX * 2).map(|number| share(json!(number))).collect();
        assert_eq!(parts.0.lock().expect("unpoisoned").len(), PARTS_MAX);
        assert!(many.iter().enumerate().all(|(at, part)| **part == json!(at)));
    }
}
