//! Words that a person puts in place of those that were proposed, before they accept (R10): what is
//! checked of them whatever they are to be. Not here: the form of a skill, recipe or fact.

use weir_core::governance::filter::redact_text;
use weir_core::memory::MemorySource;
use weir_engine::ports::Proposal;

use crate::failure::usage;

/// Words of a person.
#[derive(Debug, Clone, Copy)]
pub struct OwnWords<'a> {
    /// All of them.
    pub text: &'a str,
    /// Who wrote them: a name of a person.
    pub by: &'a str,
}

impl OwnWords<'_> {
    /// That they are not too long.
    ///
    /// # Errors
    /// A usage error: how long they are, in bytes, and may be.
    pub(super) fn check_length(&self, bytes_max: u64) -> anyhow::Result<()> {
        match self.text.len() as u64 {
            bytes if bytes > bytes_max => {
                Err(usage(format!("the text has {bytes} bytes; the maximum is {bytes_max}")))
            }
            _ => Ok(()),
        }
    }

    /// That no secret stands in them: sessions are given them.
    ///
    /// # Errors
    /// A usage error.
    pub(super) fn check_secrets(&self, secrets: &[String]) -> anyhow::Result<()> {
        match redact_text(self.text, secrets) == self.text {
            true => Ok(()),
            false => Err(usage(
                "there is something like a key or password in the text, and models are given it: take \
                 it out; `weir auth set` saves keys",
            )),
        }
    }

    /// The proposal with `text`, with who wrote it.
    pub(super) fn in_place_of(&self, proposal: &Proposal, text: String) -> Proposal {
        let source =
            MemorySource { edited_by: Some(self.by.to_owned()), ..proposal.source.clone() };
        Proposal { text, source, ..proposal.clone() }
    }
}
