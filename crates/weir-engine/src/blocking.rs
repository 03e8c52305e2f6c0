//! Work that blocks or takes long, away from the threads that others wait for. The runtime gets one kind of work,
//! however many kinds there are: its part is 5 kB for each kind (Q23). Not here: ending work for which nobody
//! waits any more.

use std::any::Any;
use std::fmt;
use std::future::Future;

use tokio::task::JoinError;

/// What work gave, of whatever type.
type AnyResult = Box<dyn Any + Send>;
type AnyWork = Box<dyn FnOnce() -> AnyResult + Send>;

/// Why work gave nothing: it panicked, or the runtime is going down.
#[derive(Debug)]
pub struct WorkFailure(Option<JoinError>);

impl WorkFailure {
    /// Whether the work panicked: else it was not done, since the runtime is going down.
    pub fn is_panic(&self) -> bool {
        self.0.as_ref().is_none_or(JoinError::is_panic)
    }
}

impl fmt::Display for WorkFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(error) => error.fmt(f),
            None => f.write_str("the work gave something else"),
        }
    }
}

impl std::error::Error for WorkFailure {}

/// Runs `work` on a thread for such work, from now on; what it gives.
pub fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, WorkFailure>> + Send {
    let work: AnyWork = Box::new(move || -> AnyResult { Box::new(work()) });
    take_given(tokio::task::spawn_blocking(work))
}

async fn take_given<T: 'static>(
    begun: tokio::task::JoinHandle<AnyResult>,
) -> Result<T, WorkFailure> {
    let given = begun.await.map_err(|error| WorkFailure(Some(error)))?;
    // It is what `work` gave, and nothing else is.
    given.downcast::<T>().map(|given| *given).map_err(|_| WorkFailure(None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q23_work_gives_what_it_gave_and_begins_before_anybody_waits() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let (tell, told) = tokio::sync::oneshot::channel();
            let work = run_blocking(move || tell.send("begun").is_ok());
            assert_eq!(told.await, Ok("begun"));
            assert!(work.await.expect("it was told"));
            // A box is no other value than what is in it.
            let boxed = run_blocking(|| -> AnyResult { Box::new(7_u8) }).await.expect("a box");
            assert_eq!(boxed.downcast::<u8>().ok().as_deref(), Some(&7));
        });
    }

    #[test]
    fn q23_work_that_panicked_says_so_in_the_words_of_the_runtime() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let failed: Result<(), WorkFailure> =
            runtime.block_on(async { run_blocking(|| panic!("hostile input")).await });
        let failed = failed.expect_err("it panicked");
        assert!(failed.is_panic());
        let told = failed.to_string();
        assert!(told.contains("panicked") && told.contains("hostile input"), "{told}");
    }
}
