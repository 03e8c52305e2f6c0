//! What Weir does around one command, without the command: for the benchmark. Not for anything else.

use weir_core::tool::{CommandEffect, Effects, Tier};

use super::baseline::{BOUNDS, CommandOpening, WorkspaceBaseline};
use super::compare::TimeWindow;
use super::made::{ChangeSource, compare_command};
use crate::ports::{Baseline, CommandConfinement};
use crate::workspace::Workspace;
use crate::workspace::survey::file_time;

/// A session whose commands do nothing.
pub struct CommandMeasurement {
    workspace: Workspace,
    base: WorkspaceBaseline,
}

impl CommandMeasurement {
    /// Begins.
    ///
    /// # Errors
    /// The store of contents refuses.
    pub fn new(
        workspace: Workspace,
        store: Box<dyn Baseline>,
    ) -> Result<CommandMeasurement, String> {
        let base = WorkspaceBaseline::load(store, BOUNDS)?;
        Ok(CommandMeasurement { workspace, base })
    }

    /// Everything that is done before a command line runs. `label`: `foreign`, or anything else.
    ///
    /// # Errors
    /// Why it would not run.
    pub fn prepare_command(
        &mut self,
        command: &str,
        label: &str,
    ) -> Result<CommandConfinement, String> {
        let foreign = label == "foreign";
        let stores = Workspace::stores_history(command);
        self.base.catch_up(&self.workspace)?;
        let governed = self.workspace.find_governed();
        let opening = CommandOpening {
            at: file_time(),
            foreign,
            stores,
            governed: Some(governed.paths()),
            history: (foreign && stores)
                .then(|| self.base.look_at_history(&self.workspace, &governed)),
            ..CommandOpening::first_of_session()
        };
        self.base.open(opening)?;
        let command = CommandEffect {
            command: command.into(),
            tier: Tier::Bubblewrap,
            uncovers: self.workspace.uncovered_files(command, "."),
            ..CommandEffect::default()
        };
        let effects = Effects { commands: vec![command.clone()], ..Effects::default() };
        self.workspace.confine_command(&command, &effects, foreign).map_err(|why| why.to_string())
    }

    /// Everything that is done after it.
    ///
    /// # Errors
    /// Why it could not be compared.
    pub fn compare_after_command(&mut self) -> Result<usize, String> {
        let opening = self.base.opening.clone().ok_or("nothing was begun")?;
        let window = TimeWindow { from: opening.at, until: None };
        let found = compare_command(
            &mut self.base,
            &self.workspace,
            &opening,
            window,
            ChangeSource::Command,
        )?;
        let changed = found.delta.changed_paths().len();
        self.base.accept_changes(found.delta)?;
        Ok(changed)
    }
}
