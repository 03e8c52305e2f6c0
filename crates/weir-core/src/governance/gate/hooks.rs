//! What the person's `PreToolUse` hooks said (G11). They ran while the call was inspected; they can
//! only narrow.

use super::{CallFacts, Gate, GateContext, GateName, Opinion, ask, deny, quoted};

pub(super) struct Hooks;

impl Gate for Hooks {
    fn name(&self) -> GateName {
        GateName::Hooks
    }
    fn judge(&self, call: &CallFacts<'_>, _context: &GateContext<'_>) -> Option<Opinion> {
        let hooks = &call.inspection.hooks;
        let strictest = hooks.iter().find(|hook| hook.denies).or_else(|| hooks.first())?;
        let rule = Some(strictest.hook.clone());
        let reason = quoted(&strictest.reason);
        Some(match strictest.denies {
            true => deny(self, rule, format!("A hook blocks this call: {reason}")),
            false => ask(self, rule, format!("A hook requires approval: {reason}")),
        })
    }
}
