//! Bounds that hold for every command. Not here: who enforces them.

use serde::{Deserialize, Serialize};

/// Bounds that hold for every command, beside the wall time that each brings along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLimits {
    /// End a command that writes nothing for so long. Default: never.
    pub idle_ms: Option<u64>,
    /// Processor time of each of its processes. Default: no limit.
    pub cpu_seconds: Option<u64>,
    /// Open files of each of its processes. Default: 16,384.
    pub open_files: Option<u64>,
    /// Processes of the whole user. Default: as the system has it. Does not bind root.
    pub processes: Option<u64>,
    /// Output kept on disk, from its beginning; the rest is counted. Default: 64 MiB.
    pub output_file_bytes: u64,
}

impl Default for CommandLimits {
    fn default() -> CommandLimits {
        CommandLimits {
            idle_ms: None,
            cpu_seconds: None,
            open_files: Some(16_384),
            processes: None,
            output_file_bytes: 64 << 20,
        }
    }
}
