//! Refuses calls beyond the run's number of tool calls (L4), and questions to the stronger model
//! beyond a few (T2).

use super::{Gate, GateContext, GateName, GateOpinion, JudgedCall, denying_opinion};

use crate::profile::LimitName;

/// Answers of the stronger model that one run gets.
const CONSULTS_MAX: u32 = 3;
/// Bits that typed extraction may steer per foreign source and session (U12): a few fields of a few dozen
/// texts, and less than a key.
const EXTRACT_BITS_MAX: u32 = 256;

pub(super) struct LimitsGate;

impl Gate for LimitsGate {
    fn name(&self) -> GateName {
        GateName::Limits
    }
    fn judge(&self, call: &JudgedCall<'_>, context: &GateContext<'_>) -> Option<GateOpinion> {
        if call.inspection.effects.consults && context.consulted >= CONSULTS_MAX {
            return Some(denying_opinion(
                self,
                // What counts is the effect; the tool's name is how journals have always told it.
                Some(format!("consult_flagship: {CONSULTS_MAX} a run")),
                format!(
                    "This run has asked the stronger model {CONSULTS_MAX} times, which is all that \
                     one run may. Go on with what you know."
                ),
            ));
        }
        let bits =
            context.provenance.extracted_bits.saturating_add(call.inspection.effects.extracts);
        if call.inspection.effects.extracts > 0 && bits > EXTRACT_BITS_MAX {
            return Some(denying_opinion(
                self,
                Some(format!("extract_fields: {EXTRACT_BITS_MAX} bits of a source")),
                format!(
                    "What was extracted from these words could tell {bits} bits with this, and foreign \
                     words may steer a session by {EXTRACT_BITS_MAX}. Ask for fewer or narrower \
                     fields, or open the words."
                ),
            ));
        }
        let max = context.limits.max_tool_calls?;
        // Ending the run is the one thing left to do.
        let ends = matches!(
            call.inspection.effects.control,
            Some(crate::tool::AgentControl::Complete { .. })
        );
        if context.tool_calls < max || ends {
            return None;
        }
        Some(denying_opinion(
            self,
            Some(format!("{} = {max}", LimitName::MaxToolCalls)),
            format!(
                "This run has used all of its {max} tool calls. Answer now with what you have, and \
                 say what is left to do."
            ),
        ))
    }
}

/// The limit that a rule of this gate names; `None`: it names none that this version knows.
pub(super) fn limit_of_rule(rule: &str) -> Option<LimitName> {
    let name = LimitName::from(rule.split(' ').next()?);
    (!matches!(name, LimitName::Other(_))).then_some(name)
}
