//! Work that blocks or takes long, and what the model is told where it gives nothing. Not here: how it is run
//! (`weir_engine::blocking`), and ending work for which nobody waits any more.

const PANICKED: &str =
    "an internal error stopped this tool on this input; try another way or other arguments";
const SHUTTING_DOWN: &str = "the engine is shutting down; the call was not made";

/// Runs blocking or long work away from the loop's thread. A panic of the work (a parser on
/// hostile input) becomes the error.
///
/// # Errors
/// A sentence for the model, when the work panicked or the runtime is going down.
pub async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, String> {
    weir_engine::blocking::run_blocking(work).await.map_err(|failure| {
        let why = if failure.is_panic() { PANICKED } else { SHUTTING_DOWN };
        why.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::any::Any;

    use super::*;

    #[test]
    fn q23_work_gives_what_it_gave_and_a_panic_is_a_sentence() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let words = ["of", "its", "own"];
            assert_eq!(run_blocking(move || words.join(" ")).await, Ok("of its own".to_owned()));
            // A box is no other value than what is in it.
            let boxed = run_blocking(|| -> Box<dyn Any + Send> { Box::new(7_u8) }).await;
            assert_eq!(boxed.expect("a box").downcast::<u8>().ok().as_deref(), Some(&7));
            let failed: Result<(), String> = run_blocking(|| panic!("hostile input")).await;
            assert_eq!(failed, Err(PANICKED.to_owned()));
        });
    }
}
