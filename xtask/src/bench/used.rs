//! What a process has used, as the kernel tells.

use std::fs;
use std::time::Duration;

use anyhow::Context as _;

/// Processor time of its threads that are alive, by the nanosecond.
pub(super) fn processor_time(pid: u32) -> anyhow::Result<Duration> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{pid}/task"))? {
        // A thread may end meanwhile.
        let text = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
        sum += text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0_u64);
    }
    Ok(Duration::from_nanos(sum))
}

/// Processor time of all threads that it ever had, by the hundredth of a second.
pub(super) fn ticks_time(pid: u32) -> anyhow::Result<Duration> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = text.rsplit(')').next().context("the fields of stat")?;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse::<u64>);
    let ticks: u64 = ticks.sum::<Result<u64, _>>().context("utime and stime")?;
    // The kernel tells in units of 1/100 s, whatever it counts in.
    Ok(Duration::from_millis(ticks * 10))
}

/// Its memory in bytes: what is resident, and its share of what several have.
pub(super) fn memory(pid: u32) -> anyhow::Result<(f64, f64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup"))?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes =
            line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok());
        kilobytes.map(|kilobytes: f64| kilobytes * 1024.0)
    };
    Ok((of("Rss:").context("Rss")?, of("Pss:").context("Pss")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_this_process_uses_is_more_than_nothing() {
        let pid = std::process::id();
        let (rss, pss) = memory(pid).expect("this process is alive");
        assert!(rss >= pss && pss > 0.0, "{rss} {pss}");
        assert!(processor_time(pid).expect("this process is alive") > Duration::ZERO);
        ticks_time(pid).expect("this process is alive");
    }
}
