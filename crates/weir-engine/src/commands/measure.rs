//! What Weir does around one command, without the command: for the benchmark. Not for anything else.

use weir_core::tool::{CommandEffect, Effects, Tier};

use super::baseline::{BOUNDS, Base, Opening};
use super::compare::Window;
use super::made::{Of, compared};
use crate::ports::{Baseline, Confine};
use crate::workspace::Workspace;
use crate::workspace::survey::file_time;

/// A session whose commands do nothing.
pub struct Course {
    workspace: Workspace,
    base: Base,
}

impl Course {
    /// Begins.
    ///
    /// # Errors
    /// The store of contents refuses.
    pub fn new(workspace: Workspace, store: Box<dyn Baseline>) -> Result<Course, String> {
        let base = Base::load(store, BOUNDS)?;
        Ok(Course { workspace, base })
    }

    /// Everything that is done before a command line runs. `label`: `foreign`, or anything else.
    ///
    /// # Errors
    /// Why it would not run.
    pub fn before(&mut self, command: &str, label: &str) -> Result<Confine, String> {
        let foreign = label == "foreign";
        let stores = Workspace::stores_history(command);
        self.base.catch_up(&self.workspace)?;
        let governed = self.workspace.governed();
        let opening = Opening {
            at: file_time(),
            foreign,
            stores,
            governed: Some(governed.paths()),
            history: (foreign && stores)
                .then(|| self.base.look_at_history(&self.workspace, &governed)),
            ..Opening::first()
        };
        self.base.open(opening)?;
        let command = CommandEffect {
            command: command.into(),
            tier: Tier::Bubblewrap,
            uncovers: self.workspace.uncovers(command, "."),
            ..CommandEffect::default()
        };
        let effects = Effects { commands: vec![command.clone()], ..Effects::default() };
        self.workspace.confine(&command, &effects, foreign).map_err(|why| why.to_string())
    }

    /// Everything that is done after it.
    ///
    /// # Errors
    /// Why it could not be compared.
    pub fn after(&mut self) -> Result<usize, String> {
        let opening = self.base.opening.clone().ok_or("nothing was begun")?;
        let window = Window { from: opening.at, until: None };
        let found = compared(&mut self.base, &self.workspace, &opening, window, Of::Command)?;
        let changed = found.delta.paths().len();
        self.base.settle(found.delta)?;
        Ok(changed)
    }
}
