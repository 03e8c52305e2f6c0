//! Which shared libraries the program needs, and which packages of Debian bring them: a package that
//! names too little installs where the program does not start. Not here: rpm finds this out itself.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};

use super::Release;
use crate::programs::text_of;

/// A library and the package that brings it, as Debian and Ubuntu name it.
const BRINGS: &[(&str, &str)] = &[
    ("ld-linux-x86-64.so.2", LIBC),
    ("libc.so.6", LIBC),
    ("libm.so.6", LIBC),
    ("libpthread.so.0", LIBC),
    ("libdl.so.2", LIBC),
    ("librt.so.1", LIBC),
    ("libgcc_s.so.1", "libgcc-s1"),
    ("libz.so.1", "zlib1g"),
];
/// The one whose version matters: symbols say since which version they are there.
const LIBC: &str = "libc6";

/// A version of the C library, such as 2.35.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LibcVersion {
    major: u32,
    minor: u32,
}

impl FromStr for LibcVersion {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (major, minor) = text.split_once('.').context("two numbers with a dot between")?;
        Ok(Self { major: major.parse()?, minor: minor.parse()? })
    }
}

impl fmt::Display for LibcVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The packages that the program needs, for `Depends`.
///
/// # Errors
/// It is no program for x86-64, it asks for a newer C library than it may, or nobody says what brings
/// one of its libraries.
pub(super) fn of(release: &Release, libc_max: Option<LibcVersion>) -> anyhow::Result<String> {
    let read = |what: &str| text_of(release.command("readelf").arg(what).arg(&release.binary));
    ensure!(
        read("--file-header")?.contains("X86-64"),
        "{} is no program for x86-64 Linux",
        release.binary.display()
    );
    let libc = libc_version(&read("--version-info")?)?;
    if let Some(max) = libc_max {
        ensure!(
            libc <= max,
            "the program asks for glibc {libc}, which is newer than {max}: build it on an older system"
        );
    }
    depends(&read("--dynamic")?, libc)
}

fn depends(dynamic: &str, libc: LibcVersion) -> anyhow::Result<String> {
    let mut packages = Vec::new();
    for line in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        let name = line.split(['[', ']']).nth(1).context("readelf names a library in brackets")?;
        let Some((_, package)) = BRINGS.iter().find(|(library, _)| *library == name) else {
            bail!("the program needs {name}: say in libraries.rs which package brings it");
        };
        packages.push(match *package {
            LIBC => format!("{LIBC} (>= {libc})"),
            other => other.to_owned(),
        });
    }
    packages.sort();
    packages.dedup();
    Ok(packages.join(", "))
}

/// What a program with packed addresses asks its loader for (decision 86), and since when that is there.
const PACKED_ADDRESSES: (&str, LibcVersion) =
    ("GLIBC_ABI_DT_RELR", LibcVersion { major: 2, minor: 36 });

/// The highest version of the C library that a symbol or the loader's work asks for.
fn libc_version(versions: &str) -> anyhow::Result<LibcVersion> {
    let asked = versions.split_whitespace().filter_map(|word| {
        if word == PACKED_ADDRESSES.0 {
            return Some(PACKED_ADDRESSES.1);
        }
        let (major, minor) = word.strip_prefix("GLIBC_")?.split_once('.')?;
        let minor = minor.split('.').next()?;
        Some(LibcVersion { major: major.parse().ok()?, minor: minor.parse().ok()? })
    });
    asked.max().context("readelf names no version of the C library")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_become_packages_and_an_unknown_one_is_an_error() {
        let dynamic = " 0x1 (NEEDED)  Shared library: [libz.so.1]\n 0x1 (NEEDED)  Shared library: \
                       [libm.so.6]\n 0x1 (NEEDED)  Shared library: [libc.so.6]\n";
        let versions = "  Name: GLIBC_2.9  Flags: none\n  Name: GLIBC_2.34  Flags: none\n  Name: \
                        GLIBC_2.2.5  Flags: none\n";
        let libc = libc_version(versions).expect("it names some");
        assert_eq!(libc, "2.34".parse().expect("a version"));
        let found = depends(dynamic, libc).expect("all are known");
        assert_eq!(found, "libc6 (>= 2.34), zlib1g");
        let packed = format!("{versions}  Name: GLIBC_ABI_DT_RELR  Flags: none\n");
        let libc = libc_version(&packed).expect("it names some");
        assert_eq!(libc, "2.36".parse().expect("a version"), "packed addresses");
        let unknown = depends("0x1 (NEEDED) Shared library: [libssl.so.3]\n", libc);
        assert!(unknown.is_err_and(|error| error.to_string().contains("libssl.so.3")));
    }

    #[test]
    fn versions_of_the_c_library_are_compared_as_numbers() {
        let [old, new] =
            ["2.4", "2.35"].map(|text| text.parse::<LibcVersion>().expect("a version"));
        assert!(old < new);
        assert!("2".parse::<LibcVersion>().is_err() && "2.x".parse::<LibcVersion>().is_err());
    }
}
