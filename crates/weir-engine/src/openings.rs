//! The facts that open sessions, as they were read a moment ago: whoever speaks to a session at rest has its
//! first fact read several times over (to look at it, to fold it, to run it, to follow it), and no other is
//! as long, because all tools stand in it (Q19). They are known by their whole text. Not here: reading what
//! other facts say, which is done anew each time (`weir_core::event`).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use weir_core::event::{Event, EventError};

use crate::equal_parts::{share_system_prompt, share_tool_list};

/// The kind of these facts.
const OPENED: &str = "session.opened";
/// Facts that are kept: of the sessions that are being opened at one time.
const KEPT_MAX: usize = 32;
/// Longest text of one that is kept, in bytes: some ten times what all tools take. One that is longer is read
/// anew each time, because what is kept is kept for as long as the program runs.
const TEXT_BYTES_MAX: usize = 512 << 10;

/// A fact, and the text that it was read from.
type ReadOpening = (Box<str>, Arc<Event>);

/// The last ones, the last first.
static KEPT: Mutex<VecDeque<ReadOpening>> = Mutex::new(VecDeque::new());

/// The fact of this kind with these fields.
///
/// # Errors
/// As [`Event::from_payload`].
pub(crate) fn read_event(kind: &str, payload: &str) -> Result<Arc<Event>, EventError> {
    if kind != OPENED {
        return Event::from_payload(kind, payload).map(Arc::new);
    }
    let may_keep = payload.len() <= TEXT_BYTES_MAX;
    if may_keep && let Some(event) = find_kept(payload) {
        return Ok(event);
    }
    let mut event = Event::from_payload(kind, payload)?;
    if let Event::SessionOpened(opened) = &mut event {
        let config = Arc::make_mut(&mut opened.config);
        config.tools = share_tool_list(std::mem::take(&mut config.tools));
        config.deferred = share_tool_list(std::mem::take(&mut config.deferred));
        config.system = share_system_prompt(config.system.clone());
    }
    let event = Arc::new(event);
    if !may_keep {
        return Ok(event);
    }
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    kept.truncate(KEPT_MAX - 1);
    kept.push_front((payload.into(), event.clone()));
    Ok(event)
}

fn find_kept(payload: &str) -> Option<Arc<Event>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let at = kept.iter().position(|(text, _)| **text == *payload)?;
    let found = kept.remove(at)?;
    let event = found.1.clone();
    kept.push_front(found);
    Some(event)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_core::event::SessionOpened;
    use weir_core::model::{ModelInfo, ModelRef};
    use weir_core::profile::built_in_profiles;
    use weir_core::session::SessionConfig;
    use weir_core::tool::{ToolGroup, ToolSpec};

    use super::*;

    fn payload(workspace: &str, tool: &str) -> String {
        let profile = built_in_profiles().into_iter().next().expect("there is one");
        let model = ModelInfo {
            model: ModelRef { provider: "test".into(), name: "model".into() },
            window: 100_000,
            max_output: 1_000,
            price: None,
            abilities: ["tools".to_owned()].into(),
            may_cut: false,
        };
        let name = profile.name.clone();
        let tools = vec![ToolSpec::new(tool, "Looks.", ToolGroup::Read, json!({"type": "object"}))];
        let config = SessionConfig {
            tools: tools.into(),
            system: "q19 Be brief.".into(),
            ..SessionConfig::with_defaults(workspace, profile, model)
        };
        let opened = SessionOpened {
            workspace: workspace.into(),
            profile: name,
            permission: config.permission,
            model: "test/model".into(),
            engine: "0".into(),
            tools: vec![tool.into()],
            parent: None,
            config: config.into(),
        };
        Event::SessionOpened(opened).payload()
    }

    fn tools(event: &Event) -> &Arc<Vec<ToolSpec>> {
        let Event::SessionOpened(opened) = event else { panic!("{event:?}") };
        &opened.config.tools
    }

    fn system(event: &Event) -> &Arc<str> {
        let Event::SessionOpened(opened) = event else { panic!("{event:?}") };
        &opened.config.system
    }

    #[test]
    fn q19_the_last_openings_are_read_once_and_another_one_anew() {
        let (one, other) = (payload("/one", "q19_look"), payload("/other", "q19_look"));
        let read = |text: &str| read_event(OPENED, text).expect("a fact");
        let first = read(&one);
        assert!(Arc::ptr_eq(&first, &read(&one)));
        let second = read(&other);
        assert_eq!((first.payload(), second.payload()), (one.clone(), other));
        // Sessions that differ share what they have in common.
        assert!(Arc::ptr_eq(tools(&first), tools(&second)));
        assert!(Arc::ptr_eq(system(&first), system(&second)));
        let changed = one.replace("q19_look", "q19_lock");
        assert_eq!(read(&changed).payload(), payload("/one", "q19_lock"));
        assert!(read_event(OPENED, &one[1..]).is_err());
        assert!(read_event(OPENED, &one.replace("\"workspace\"", "\"nothing\"")).is_err());
        for number in 0..KEPT_MAX * 2 {
            read_event(OPENED, &payload(&format!("/{number}"), "q19_look")).expect("a fact");
        }
        assert!(KEPT.lock().expect("unpoisoned").len() <= KEPT_MAX);
    }

    #[test]
    fn q18_an_opening_that_is_much_too_long_is_not_kept() {
        let long = payload(&"w".repeat(TEXT_BYTES_MAX), "q18_long");
        let read = || read_event(OPENED, &long).expect("a fact");
        assert!(!Arc::ptr_eq(&read(), &read()));
        assert_eq!(read().payload(), long);
        assert!(find_kept(&long).is_none());
    }

    #[test]
    fn q19_other_facts_are_read_each_time() {
        let read = || read_event("session.resumed", r#"{"engine":"0"}"#).expect("a fact");
        assert!(!Arc::ptr_eq(&read(), &read()));
        assert!(matches!(read_event("no.such", "{}"), Err(EventError::UnknownKind { .. })));
    }
}
