//! Which constants runs and the terminal face read, so that the linker lays them side by side: strewn over all
//! of them, each brings the 64 kB around it into memory (Q5, Q21). They have no names that a list for the
//! linker could hold, and their sections are called differently with every change; so this is made of the very
//! build that is handed out, and kept nowhere. What is read is seen by valgrind's lackey, where it stands by
//! the linker's map.
//!
//! Not here: functions (`super`), the link (`super::kept_link`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::BufReader;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, ensure};

/// Between two looks whether all that was traced is read.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// A section of constants in the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConstantSection {
    name: String,
    end: u64,
}

/// Addresses of constants that were read.
#[derive(Debug, Default)]
pub(super) struct ReadConstants {
    /// By runs without a screen: these come first, since every run needs them.
    pub(super) by_runs: BTreeSet<u64>,
    /// By the terminal face (Q21), which does what they do and more.
    pub(super) by_face: BTreeSet<u64>,
}

/// Where constants stand: sections by their address.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ConstantMap {
    sections: BTreeMap<u64, ConstantSection>,
}

impl ConstantMap {
    /// Reads a map that lld wrote: `address address size align file:(section)`, numbers in hexadecimal.
    pub(super) fn of_text(text: &str) -> ConstantMap {
        let mut sections = BTreeMap::new();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let (Some(at), Some(_), Some(size)) = (number(), number(), number()) else { continue };
            let Some((_, name)) = line.rsplit_once(":(") else { continue };
            let name = name.trim_end().trim_end_matches(')');
            if name.starts_with(".rodata") && size > 0 {
                let end = at + size;
                sections.insert(at, ConstantSection { name: name.to_owned(), end });
            }
        }
        ConstantMap { sections }
    }

    fn is_inside(&self, at: u64) -> bool {
        let first = self.sections.keys().next();
        let last = self.sections.values().next_back();
        first.is_some_and(|first| at >= *first) && last.is_some_and(|last| at < last.end)
    }

    /// The names of the sections in which these addresses stand, in the order of the program. Sections whose
    /// equal parts the linker joins are no places of their own.
    fn sections_of(&self, addresses: &BTreeSet<u64>) -> Vec<String> {
        let mut found: BTreeMap<u64, &str> = BTreeMap::new();
        for at in addresses {
            if let Some((start, section)) = self.sections.range(..=at).next_back()
                && *at < section.end
                && is_own_place(&section.name)
            {
                found.insert(*start, &section.name);
            }
        }
        found.into_values().map(str::to_owned).collect()
    }

    /// What tells the linker to lay the sections in which these stand before all others.
    ///
    /// # Errors
    /// A name that would end the text that it stands in.
    pub(super) fn script(&self, read: &ReadConstants) -> anyhow::Result<String> {
        let by_runs = self.sections_of(&read.by_runs);
        // A trace of another program would find next to nothing.
        ensure!(by_runs.len() > 100, "{} sections of constants are read", by_runs.len());
        let mut text = String::from("SECTIONS {\n  .rodata.run : {\n");
        add_sections(&mut text, &by_runs)?;
        // Small and read everywhere: they stand beside what is read. So do the words of C.
        text.push_str("    *(.rodata.cst*)\n    *(.rodata.*.str1.8)\n");
        let known: BTreeSet<&String> = by_runs.iter().collect();
        let mut by_face = self.sections_of(&read.by_face);
        by_face.retain(|name| !known.contains(name));
        add_sections(&mut text, &by_face)?;
        text.push_str("  }\n}\nINSERT BEFORE .rodata;\n");
        Ok(text)
    }
}

fn add_sections(text: &mut String, names: &[String]) -> anyhow::Result<()> {
    for name in names {
        ensure!(!name.contains(['"', '*', '?', '[']), "a section cannot be called {name:?}");
        text.push_str(&format!("    *(\"{name}\")\n"));
    }
    Ok(())
}

fn is_own_place(section: &str) -> bool {
    let kind = section.strip_prefix(".rodata").unwrap_or_default();
    let is_joined = |kind: &str| kind.starts_with("str") || kind.starts_with("cst");
    // `.rodata.str1.1`, `.rodata.name.str1.8`
    !kind.is_empty() && !kind.split('.').any(is_joined)
}

/// Runs a program under lackey and collects which addresses of its constants it reads.
pub(super) struct ReadTrace {
    fifo: PathBuf,
    wrapper: PathBuf,
}

impl ReadTrace {
    /// # Errors
    /// The files cannot be made.
    pub(super) fn new(binary: &Path, folder: &Path) -> anyhow::Result<ReadTrace> {
        let (fifo, wrapper) = (folder.join("reads"), folder.join("traced-reads"));
        let made = Command::new("mkfifo").arg(&fifo).status().context("starting mkfifo")?;
        ensure!(made.success(), "mkfifo failed: {made}");
        let text = format!(
            "#!/bin/sh\nexec valgrind --quiet --tool=lackey --trace-mem=yes --log-file={} {} \"$@\"\n",
            super::quoted(&fifo),
            super::quoted(binary),
        );
        fs::write(&wrapper, text)?;
        fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755))?;
        Ok(ReadTrace { fifo, wrapper })
    }

    /// What starts the program.
    pub(super) fn program(&self) -> &Path {
        &self.wrapper
    }

    /// Runs what starts it once, and gives what was read meanwhile.
    ///
    /// # Errors
    /// The run fails, or nothing can be read of it.
    pub(super) fn during<T>(
        &self,
        map: &std::sync::Arc<ConstantMap>,
        run: impl FnOnce() -> anyhow::Result<T>,
    ) -> anyhow::Result<BTreeSet<u64>> {
        let (fifo, map) = (self.fifo.clone(), std::sync::Arc::clone(map));
        let reader: JoinHandle<std::io::Result<BTreeSet<u64>>> =
            thread::spawn(move || Ok(addresses_in(BufReader::new(File::open(fifo)?), &map)));
        let ran = run();
        // Where nothing was started nobody has opened the other end, and the reader would wait for ever. It may
        // not be there yet either: then there is nothing to open, and it is tried again.
        const O_NONBLOCK: i32 = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        while !reader.is_finished() {
            drop(OpenOptions::new().write(true).custom_flags(O_NONBLOCK).open(&self.fifo));
            thread::sleep(LOOK_AGAIN);
        }
        let read = reader.join().map_err(|_| anyhow::anyhow!("reading the trace panicked"))??;
        ran?;
        Ok(read)
    }
}

/// The addresses of loads, ` L 004ab123,8`, that are constants.
fn addresses_in(mut trace: impl std::io::BufRead, map: &ConstantMap) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut line = Vec::new();
    while trace.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        if line.starts_with(b" L ") {
            let address = line[3..].split(|byte| *byte == b',').next();
            let address = address.and_then(|text| std::str::from_utf8(text).ok());
            let address = address.and_then(|text| u64::from_str_radix(text, 16).ok());
            found.extend(address.filter(|at| map.is_inside(*at)));
        }
        line.clear();
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
          4aa000           4aa000   594774  4096 .rodata
          4aa000           4aa000       10     1         /k/1-weir.o:(.rodata..Lanon.ab.1)
          4aa010           4aa010       20     8         /k/1-weir.o:(.rodata..Lanon.ab.2)
          4aa030           4aa030        8     1         <internal>:(.rodata.str1.1)
          4aa038           4aa038        8     1         /k/1-weir.o:(.rodata.now.str1.8)
         1079600          1079600       20    16         /k/1-weir.o:(.text.main)
";

    #[test]
    fn q5_constants_that_are_read_are_laid_first_and_joined_ones_stay() {
        let map = ConstantMap::of_text(MAP);
        assert_eq!(map.sections.len(), 4);
        let trace =
            "I  01079600,3\n L 004aa010,8\n S 004aa000,8\n L 004aa031,1\n L 1ffefff0a8,8\n L x,1\n";
        let read = addresses_in(trace.as_bytes(), &map);
        assert_eq!(read, BTreeSet::from([0x4a_a010, 0x4a_a031]));
        assert_eq!(map.sections_of(&read), [".rodata..Lanon.ab.2"]);
        let read = ReadConstants { by_runs: read, by_face: BTreeSet::new() };
        assert!(map.script(&read).is_err(), "so few are of another program");
    }

    #[test]
    fn q21_what_only_the_face_reads_is_laid_once_behind_what_runs_read() {
        let section = |n: u64| format!("{n:x} {n:x} 10 1 /k/1-weir.o:(.rodata..Lanon.{n:x})\n");
        let map: String = (0x1000..0x3000).step_by(0x10).map(section).collect();
        let map = ConstantMap::of_text(&map);
        let by_runs: BTreeSet<u64> = (0x2000..0x2800).step_by(0x10).collect();
        let by_face = BTreeSet::from([0x1004, 0x2010]);
        let script = map.script(&ReadConstants { by_runs, by_face }).expect("a script");
        let place = |name: &str| script.find(name).expect(name);
        assert!(place(".Lanon.1000\"") > place(".Lanon.27f0\""), "{script}");
        assert_eq!(script.matches(".Lanon.2010\"").count(), 1, "{script}");
        assert!(!script.contains(".Lanon.1010\""), "nobody reads it");
    }
}
