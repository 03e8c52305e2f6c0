//! The loop's ends of the ways to what runs outside and works by steps: programs, and foreign servers that ask
//! the model (R3, U7). And what it hears of servers between their calls. Not here: what a step may do.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use weir_core::input::{SessionCommand, SessionInput};
use weir_core::session::CallState;

use super::SessionLoop;
use crate::programs::ProgramRun;
use crate::sampling::CallModelPrompter;

impl SessionLoop {
    /// What a program is run with, and the way to it.
    pub(super) fn open_program(&mut self, call: &CallState) -> ProgramRun {
        let sender = self.context.sender.clone();
        let (run, line) = ProgramRun::of_call(&self.session, call, sender);
        self.programs.insert(call.id, line);
        run
    }

    /// What a call's server asks the model by. A step of a program has none: the steps of a call are its own.
    pub(super) fn open_prompter(&mut self, call: &CallState) -> Option<CallModelPrompter> {
        if call.step.is_some() {
            return None;
        }
        let (prompter, line) = CallModelPrompter::of_call(&self.session, call, &self.context);
        self.programs.insert(call.id, line);
        Some(prompter)
    }

    /// Waits until a server says that its tools are others. A sub-agent leaves that to the agent that has the
    /// servers with it.
    pub(super) fn follow_servers(&self) -> BoxFuture<'static, ()> {
        let depth = self.session.config().map_or(0, |config| config.depth);
        if depth > 0 {
            return futures::future::pending().boxed();
        }
        let servers = self.context.servers.clone();
        async move { servers.tools_changed().await }.boxed()
    }

    /// Records what is not as a person approved it.
    pub(super) fn note_tool_changes(&mut self) {
        for detail in self.context.servers.take_tool_changes() {
            self.handle(SessionInput::Command(SessionCommand::ToolsChanged(detail)));
        }
    }
}
