//! What a gate of the program around the engine says of a call (F5). Not here: what becomes of it
//! (gate `own`), and asking (the engine).

use serde::{Deserialize, Serialize};

/// A gate of the program around the engine that does not let a call pass as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(any(test, feature = "schema"), derive(schemars::JsonSchema))]
pub struct OwnGateOpinion {
    /// The name that the program gave its gate.
    pub gate: String,
    /// It refuses; otherwise it wants a person to be asked.
    pub denies: bool,
    /// Why, in a sentence.
    pub reason: String,
}
