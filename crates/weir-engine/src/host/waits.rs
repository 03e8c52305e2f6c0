//! How long the host waits for what. One set for every way to a session: a person waits for the
//! same thing equally long in a browser, in a terminal and at a command line.

use std::time::Duration;

/// How long the process that has a session may take over a letter. It may be running the hooks that
/// look at an input before it is accepted; a person or a program waits no longer for an answer.
pub const REMOTE_WAIT: Duration = Duration::from_secs(30);

/// How often it is looked meanwhile whether that process still has the session. What it writes is
/// announced; that it died is not.
pub const HOLDER_LOOK: Duration = Duration::from_millis(500);

/// How long the fact of a command that was taken in or refused is waited for. It is durable already,
/// or that of somebody who was quicker is about to be: only its way to the reader is waited for.
pub const SETTLE_WAIT: Duration = Duration::from_secs(1);

/// How long the run is waited for that an accepted input begins, so that the two can be told
/// together.
pub const RUN_WAIT: Duration = Duration::from_secs(2);

/// How long somebody who read a letter may take until what it says is in the journal, once the
/// sender found it lying there still: they look once more before they say it.
pub const HEARD_WAIT: Duration = Duration::from_secs(2);

/// How often a session that goes down or changes hands in the same moment is taken up again.
pub const TAKE_UP_ATTEMPTS: u32 = 8;
