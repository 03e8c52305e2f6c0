//! Static programs, which need nothing of a system but its kernel: whether one is what it should be, which
//! processor it is for, its archive, and which archives those take who do not look at the C library of their
//! system. Not here: building them (`cargo build --target x86_64-unknown-linux-musl`).

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};

use super::{Release, archive, sbom, tree};
use crate::programs::text_of;

/// A processor for which programs are handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Processor {
    X86_64,
    Aarch64,
}

impl Processor {
    const ALL: [Self; 2] = [Self::X86_64, Self::Aarch64];

    /// As the kernel, cargo and the archives call it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
        }
    }

    /// The target of cargo by which a static program for it is built.
    fn target(self) -> String {
        format!("{}-unknown-linux-musl", self.as_str())
    }

    /// By what `readelf --file-header` says of a program.
    fn of(header: &str) -> Option<Self> {
        let machine = header.lines().find_map(|line| line.trim().strip_prefix("Machine:"))?;
        match machine.trim() {
            "AArch64" => Some(Self::Aarch64),
            machine if machine.ends_with("X86-64") => Some(Self::X86_64),
            _ => None,
        }
    }
}

/// A static program that is handed out beside the one for the usual C library.
#[derive(Debug)]
pub(super) struct StaticProgram {
    path: PathBuf,
    processor: Processor,
}

impl StaticProgram {
    /// All that were named.
    ///
    /// # Errors
    /// One is no static program of this very version, or two are for one processor.
    pub(super) fn read_all(release: &Release, paths: &[PathBuf]) -> anyhow::Result<Vec<Self>> {
        let mut found: Vec<Self> = Vec::new();
        for path in paths {
            let program = Self::read(release, path)?;
            ensure!(
                found.iter().all(|other| other.processor != program.processor),
                "two static programs for {}",
                program.processor.as_str()
            );
            found.push(program);
        }
        Ok(found)
    }

    fn read(release: &Release, path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let path = fs::canonicalize(path)
            .with_context(|| format!("{shown}: build the static program first"))?;
        let read =
            |what: &str| text_of(release.command("readelf").args(["--wide", what]).arg(&path));
        let Some(processor) = Processor::of(&read("--file-header")?) else {
            bail!("{shown} is no program for x86-64 or 64-bit ARM");
        };
        if let Some(need) = needed(&read("--program-headers")?, &read("--dynamic")?) {
            bail!(
                "{shown} is not static, it needs {need}: build it with --target {}",
                processor.target()
            );
        }
        let program = Self { path, processor };
        program.check_version(release).with_context(|| shown.to_string())?;
        Ok(program)
    }

    /// It must be of the commit of the other program. Where it does not run, its text must have the words.
    fn check_version(&self, release: &Release) -> anyhow::Result<()> {
        let wanted = release.said.trim();
        if self.processor.as_str() == std::env::consts::ARCH {
            let said = text_of(release.command(&self.path).arg("--version"))?;
            ensure!(said.trim() == wanted, "it says {said:?}, and the other program {wanted:?}");
        } else {
            let bytes = fs::read(&self.path)?;
            let has = bytes.windows(wanted.len()).any(|part| part == wanted.as_bytes());
            ensure!(has, "it nowhere says {wanted:?}, as the other program does");
        }
        Ok(())
    }

    /// The name of the folder in its archive.
    fn name(&self, release: &Release) -> String {
        format!("weir-{}-{}-linux-static", release.version, self.processor.as_str())
    }

    /// Writes its archive, with all that lies beside the other program in `staged`, and the list of what it
    /// was built from.
    pub(super) fn write(&self, release: &Release, staged: &Path) -> anyhow::Result<()> {
        let name = self.name(release);
        let own = staged.with_file_name(&name);
        for path in tree::files(staged)? {
            let is_program = path == Path::new(tree::PROGRAM);
            let from = if is_program { self.path.clone() } else { staged.join(&path) };
            let bytes = fs::read(&from).with_context(|| from.display().to_string())?;
            tree::put(&own, path.to_str().context("names are plain")?, &bytes)?;
        }
        tree::settle(&own, release.epoch)?;
        archive::write(release, &own)?;
        sbom::write(release, &self.processor.target(), &name)
    }
}

/// What a program needs of the system, by what `readelf` says of it.
fn needed(program_headers: &str, dynamic: &str) -> Option<String> {
    let library = dynamic.lines().find(|line| line.contains("(NEEDED)"));
    let loader = program_headers.lines().find(|line| line.trim().starts_with("INTERP"));
    let library = library.map(|line| line.split(['[', ']']).nth(1).unwrap_or(line).to_owned());
    library.or_else(|| loader.map(|_| "a loader".to_owned()))
}

/// An archive for those who install without a look at the C library: Homebrew and editors.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct OfferedArchive {
    pub(super) processor: Processor,
    /// The folder in it, which gives it its name.
    pub(super) folder: String,
}

/// One for each processor that there is a program for: the static one if there is one.
pub(super) fn offered(release: &Release, programs: &[StaticProgram]) -> Vec<OfferedArchive> {
    let folder = |processor: Processor| {
        let own = programs.iter().find(|program| program.processor == processor);
        let own = own.map(|program| program.name(release));
        own.or_else(|| (processor == Processor::X86_64).then(|| release.name()))
    };
    let found = Processor::ALL
        .into_iter()
        .filter_map(|processor| Some(OfferedArchive { processor, folder: folder(processor)? }));
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r9_a_processor_is_read_off_a_program() {
        let of = |machine: &str| {
            Processor::of(&format!("ELF Header:\n  Class: ELF64\n  Machine:      {machine}\n"))
        };
        assert_eq!(of("Advanced Micro Devices X86-64"), Some(Processor::X86_64));
        assert_eq!(of("AArch64"), Some(Processor::Aarch64));
        assert_eq!(of("ARM"), None);
        assert_eq!(Processor::of("readelf: Error: Not an ELF file\n"), None);
    }

    #[test]
    fn r9_a_program_that_needs_a_library_is_not_static() {
        let headers = "Program Headers:\n  LOAD  0x000000\n  GNU_STACK 0x000000\n";
        let none = "There is no dynamic section in this file.\n";
        assert_eq!(needed(headers, none), None);
        let pie = " 0x000000006ffffffb (FLAGS_1)  Flags: NOW PIE\n";
        assert_eq!(needed(headers, pie), None, "a static program may lie anywhere in memory");
        let library = " 0x1 (NEEDED)  Shared library: [libc.so.6]\n";
        assert_eq!(needed(headers, library).as_deref(), Some("libc.so.6"));
        let loader = format!("{headers}  INTERP  0x000318\n");
        assert_eq!(needed(&loader, pie).as_deref(), Some("a loader"));
    }

    #[test]
    fn r9_the_static_archive_is_offered_where_there_is_one() {
        let release = Release::for_test("0.1.0");
        let program = |processor| StaticProgram { path: PathBuf::new(), processor };
        let folders = |programs: &[StaticProgram]| {
            let offered = offered(&release, programs);
            offered.into_iter().map(|archive| archive.folder).collect::<Vec<_>>()
        };
        assert_eq!(folders(&[]), ["weir-0.1.0-x86_64-linux"]);
        let both = [program(Processor::Aarch64), program(Processor::X86_64)];
        assert_eq!(
            folders(&both),
            ["weir-0.1.0-x86_64-linux-static", "weir-0.1.0-aarch64-linux-static"]
        );
    }
}
