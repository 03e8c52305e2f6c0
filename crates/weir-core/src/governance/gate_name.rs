//! The names of the gates, as journals and people know them. Not here: the gates (`gate`).

use crate::open_name::open_names;

open_names! {
    /// A gate.
    pub enum GateName {
        /// A word of the prompt that must never leave.
        Canary = "canary",
        /// Whether the tool exists.
        Known = "known",
        /// Whether this run has the tool.
        Visible = "visible",
        /// Whether the arguments fit the schema.
        Arguments = "arguments",
        /// What may be read and written at all.
        Paths = "paths",
        /// The hard floor.
        Floor = "floor",
        /// The same call again.
        Repetition = "repetition",
        /// The bounds of a run.
        Limits = "limits",
        /// Rules and permission mode.
        Rules = "rules",
        /// Another profile.
        Switch = "switch",
        /// Sub-agents.
        Spawn = "spawn",
        /// Switching something of others on.
        Enable = "enable",
        /// Questions of foreign servers to the model.
        Sampling = "sampling",
        /// The flow table.
        Labels = "labels",
        /// Calls whose outcome is unknown.
        Unknown = "unknown",
        /// What hooks said.
        Hooks = "hooks",
        /// What gates of the program around the engine said.
        Own = "own",
        /// What the judge model said.
        Intent = "intent",
        /// The tool itself wants a person to confirm.
        Confirm = "confirm",
    }
}

impl GateName {
    /// Whether its refusal is a mistake of the model rather than a denial (L5).
    pub fn refuses_mistakes(&self) -> bool {
        matches!(self, GateName::Known | GateName::Arguments | GateName::Repetition)
    }

    /// Whether it counts calls of the model: a tool's own steps are bounded by its time.
    pub(crate) fn counts_calls(&self) -> bool {
        matches!(self, GateName::Repetition | GateName::Limits)
    }
}
