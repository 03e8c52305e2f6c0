//! What of the hard floor is about devices (Z3): which commands write to a disk, or to memory. Not here: the row
//! (`floor_table`), and tools for disks, which are told by their names.

use super::floor::FloorCommand;
use crate::governance::rules::{WRITERS, resolve_path};
use crate::governance::shell;

/// How the names of disks and of memory begin.
const DEVICES: &[&str] = &[
    "bcache", "block/", "disk", "dm-", "drbd", "hd", "kmem", "loop", "mapper", "md", "mem",
    "mmcblk", "mtd", "nbd", "nvme", "pmem", "port", "ram", "rbd", "rdisk", "sd", "sg", "sr", "vd",
    "xvd", "zd", "zram",
];

pub(super) fn writes_device(scene: &FloorCommand<'_>) -> bool {
    let names_device = |folder: Option<&str>, text: &str| {
        let at = resolve_path(scene.rules, folder.unwrap_or("/?"), text);
        is_device(text) || at.is_some_and(|at| is_device(&at.path))
    };
    let redirected = scene.parts().any(|(folder, part)| {
        let mut targets = part.redirections.iter().filter(|redirection| redirection.writes());
        targets.any(|redirection| names_device(folder, &redirection.target.text))
    });
    redirected
        || scene.commands().any(|(folder, words)| {
            let name = shell::head_name(&words[0]);
            words[1..].iter().any(|word| match word.text.strip_prefix("of=") {
                Some(target) => names_device(folder, target),
                None => WRITERS.contains(&name) && names_device(folder, &word.text),
            })
        })
}

fn is_device(path: &str) -> bool {
    path.strip_prefix("/dev/").is_some_and(|name| DEVICES.iter().any(|d| name.starts_with(d)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governance::rules::{RuleContext, RuleSet};
    use crate::governance::shell::ReadCommand;
    use crate::tool::CommandEffect;

    #[test]
    fn z3_a_device_is_known_however_its_path_is_written() {
        let context = RuleContext { workspace: "/work/ws".into(), ..RuleContext::default() };
        let rules = RuleSet::new(context);
        let writes = |line: &str| {
            let effect =
                CommandEffect { command: line.into(), cwd: ".".into(), ..CommandEffect::default() };
            let read = ReadCommand::from_text(line);
            writes_device(&FloorCommand::from_read(&effect, &rules, &read))
        };
        for line in [
            "cat x > /dev//sda",
            "cat x > /dev/../dev/./sda",
            "cd /dev && cat x > nvme0n1",
            "dd if=x of=../../dev/sda",
            "cp x /dev/block/8:0",
            "tee /dev/md0 < x",
        ] {
            assert!(writes(line), "{line}");
        }
        for line in [
            "cargo test > /dev/null 2> /dev/stderr",
            "echo x > /dev/tty",
            "cp /dev/stdin /dev/shm/x",
            "cat x > dev/sda",
            "tee /dev/fd/3",
            "dd if=/dev/sda of=disk.img",
        ] {
            assert!(!writes(line), "{line}");
        }
    }
}
