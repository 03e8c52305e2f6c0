//! Workflows that come with the program: their files stand in `crates/weir-engine/workflows`. Another one
//! is a file there and a line here. A file of the same name of the workspace or the person comes before.

/// A workflow of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BundledWorkflow {
    /// What is typed after the `/`.
    pub(super) name: &'static str,
    /// Its file.
    pub(super) text: &'static str,
}

/// All of them, by name.
pub(super) const BUNDLED: &[BundledWorkflow] = &[
    BundledWorkflow { name: "commit", text: include_str!("../../workflows/commit.md") },
    BundledWorkflow { name: "init", text: include_str!("../../workflows/init.md") },
    BundledWorkflow { name: "pr", text: include_str!("../../workflows/pr.md") },
    BundledWorkflow { name: "review", text: include_str!("../../workflows/review.md") },
];

/// The workflow of this name.
pub(super) fn find_bundled(name: &str) -> Option<&'static BundledWorkflow> {
    BUNDLED.iter().find(|workflow| workflow.name == name)
}
