//! The log of Weir's own workings: off unless a file is named or WEIR_LOG is set, and then it costs
//! nothing. Not the journal and not the audit log.

use std::path::Path;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;
use weir_install::environment::ProcessEnvironment;

use crate::failure::usage;
use crate::terminal;

/// What is logged when only the file is named.
const DEFAULT_FILTER: &str = "info";

/// Starts it, to the file or, with WEIR_LOG alone, to standard error; one JSON object a line with
/// WEIR_LOG_FORM=json.
///
/// # Errors
/// The filter cannot be understood or the file cannot be opened.
pub(crate) fn start_logging(
    file: Option<&Path>,
    environment: &ProcessEnvironment,
) -> anyhow::Result<()> {
    let wanted = environment.text_variable("WEIR_LOG");
    if file.is_none() && wanted.is_none() {
        return Ok(());
    }
    let filter = EnvFilter::try_new(wanted.unwrap_or(DEFAULT_FILTER))
        .map_err(|error| usage(format!("WEIR_LOG: {error}; write debug or weir_engine=trace")))?;
    let writer = match file {
        Some(path) => {
            let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
            let file = file.map_err(|e| usage(format!("--log-file {}: {e}", path.display())))?;
            BoxMakeWriter::new(std::sync::Mutex::new(file))
        }
        None => BoxMakeWriter::new(terminal::StderrLog::default),
    };
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false);
    let subscriber = subscriber.with_writer(writer);
    match environment.text_variable("WEIR_LOG_FORM") {
        None | Some("text") => subscriber.init(),
        Some("json") => subscriber.json().flatten_event(true).init(),
        Some(other) => {
            return Err(usage(format!("WEIR_LOG_FORM: {other:?} is neither text nor json")));
        }
    }
    Ok(())
}
