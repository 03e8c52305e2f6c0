//! The package registries that are granted by name, as data: by which files a workspace shows that it
//! uses one, its hosts, and which commands of which programs fetch from it (U13).
//!
//! Nothing that stands *in* those files counts: a registry that a project names is none of these.
//! What is not listed is not covered: an option, a subcommand, a word that may be a path or address.

/// A public registry of packages.
pub(super) struct PackageRegistry {
    /// As people read it: `crates.io for cargo`.
    pub(super) name: &'static str,
    /// A file of one of these names shows that the workspace uses it.
    pub(super) markers: &'static [&'static str],
    /// All of its hosts, on the port of HTTPS.
    pub(super) hosts: &'static [&'static str],
    /// Who fetches from it.
    pub(super) programs: &'static [ProgramCommands],
}

/// What of one program a grant covers.
pub(super) struct ProgramCommands {
    /// The program, and what of its words comes before the subcommand: `["python3", "-m", "pip"]`.
    pub(super) words: &'static [&'static str],
    /// Its subcommands; [`NO_SUBCOMMAND`] where it also fetches without one.
    pub(super) subcommands: &'static [&'static str],
    /// Its options, whole; of `--name=value` the name counts. Programs that take shortened options
    /// are why nothing else does.
    pub(super) options: &'static [&'static str],
    /// What its other words may be.
    pub(super) operands: OperandShape,
}

/// What the words of a command that are no options may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperandShape {
    /// Names of packages, features and tests, with versions.
    Names,
    /// The same, with scopes: `@scope/name`.
    ScopedNames,
    /// The same, and paths in the workspace.
    Paths,
    /// More subcommands, and nothing else.
    Subcommands,
}

/// The entry of [`ProgramCommands::subcommands`] for the program alone: `yarn`.
pub(super) const NO_SUBCOMMAND: &str = "";

const CARGO_OPTIONS: &[&str] = &[
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "-r",
    "--release",
    "-p",
    "--package",
    "-j",
    "--jobs",
    "-F",
    "--features",
    "--all-features",
    "--no-default-features",
    "--default-features",
    "--workspace",
    "--all",
    "--exclude",
    "--lib",
    "--bin",
    "--bins",
    "--test",
    "--tests",
    "--bench",
    "--benches",
    "--example",
    "--examples",
    "--all-targets",
    "--doc",
    "--no-run",
    "--no-fail-fast",
    "--keep-going",
    "--profile",
    "--locked",
    "--offline",
    "--frozen",
    "--dev",
    "--build",
    "--optional",
    "--no-optional",
    "--rename",
    "--dry-run",
    "-n",
    "--precise",
    "--recursive",
    "--no-deps",
    "--message-format",
    "--color",
    "--format-version",
    "--depth",
    "--limit",
    "--",
];
const NPM_OPTIONS: &[&str] = &[
    "-D",
    "--save-dev",
    "-P",
    "--save-prod",
    "-O",
    "--save-optional",
    "-E",
    "--save-exact",
    "--save",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--ignore-scripts",
    "--legacy-peer-deps",
    "--omit",
    "--include",
    "--production",
    "--prod",
    "--dev",
    "--exact",
    "--frozen-lockfile",
    "--no-frozen-lockfile",
    "--immutable",
    "--prefer-offline",
    "--package-lock-only",
    "--lockfile-only",
    "--silent",
    "--no-progress",
    "--json",
    "--depth",
    "--dry-run",
    "--latest",
];
const PIP_OPTIONS: &[&str] = &[
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-e",
    "--editable",
    "-U",
    "--upgrade",
    "-q",
    "--quiet",
    "-v",
    "--verbose",
    "--no-deps",
    "--pre",
    "--no-cache-dir",
    "--user",
    "--no-input",
    "--disable-pip-version-check",
    "--break-system-packages",
    "--only-binary",
    "--prefer-binary",
    "--dry-run",
    "--force-reinstall",
];

/// All of them.
pub(super) const REGISTRIES: &[PackageRegistry] = &[
    PackageRegistry {
        name: "crates.io for cargo",
        markers: &["Cargo.toml"],
        hosts: &["crates.io", "index.crates.io", "static.crates.io"],
        programs: &[ProgramCommands {
            words: &["cargo"],
            subcommands: &[
                "add",
                "build",
                "check",
                "test",
                "clippy",
                "doc",
                "bench",
                "fetch",
                "update",
                "generate-lockfile",
                "metadata",
                "tree",
                "search",
                "info",
            ],
            options: CARGO_OPTIONS,
            operands: OperandShape::Names,
        }],
    },
    PackageRegistry {
        name: "registry.npmjs.org for npm, pnpm, yarn and bun",
        markers: &["package.json"],
        hosts: &["registry.npmjs.org", "registry.yarnpkg.com"],
        programs: &[
            ProgramCommands {
                words: &["npm"],
                subcommands: &[
                    "install", "i", "ci", "add", "update", "outdated", "view", "info", "audit",
                    "ls",
                ],
                options: NPM_OPTIONS,
                operands: OperandShape::ScopedNames,
            },
            ProgramCommands {
                words: &["pnpm"],
                subcommands: &["install", "i", "add", "update", "up", "outdated", "fetch"],
                options: NPM_OPTIONS,
                operands: OperandShape::ScopedNames,
            },
            ProgramCommands {
                words: &["yarn"],
                subcommands: &[NO_SUBCOMMAND, "install", "add", "upgrade", "up", "outdated"],
                options: NPM_OPTIONS,
                operands: OperandShape::ScopedNames,
            },
            ProgramCommands {
                words: &["bun"],
                subcommands: &["install", "i", "add", "update", "outdated"],
                options: NPM_OPTIONS,
                operands: OperandShape::ScopedNames,
            },
        ],
    },
    PackageRegistry {
        name: "pypi.org for pip, uv and poetry",
        markers: &["pyproject.toml", "requirements.txt", "setup.py", "setup.cfg", "uv.lock"],
        hosts: &["pypi.org", "files.pythonhosted.org"],
        programs: &[
            pip(&["pip"]),
            pip(&["pip3"]),
            pip(&["python", "-m", "pip"]),
            pip(&["python3", "-m", "pip"]),
            pip(&["uv", "pip"]),
            ProgramCommands {
                words: &["uv"],
                subcommands: &["sync", "add", "lock"],
                options: &[
                    "-q",
                    "--quiet",
                    "-U",
                    "--upgrade",
                    "--dev",
                    "--group",
                    "--extra",
                    "--all-extras",
                    "--all-groups",
                    "--no-dev",
                    "--locked",
                    "--frozen",
                    "--optional",
                ],
                operands: OperandShape::Names,
            },
            ProgramCommands {
                words: &["poetry"],
                subcommands: &["install", "add", "update", "lock"],
                options: &[
                    "-q",
                    "--quiet",
                    "--no-interaction",
                    "-n",
                    "--no-root",
                    "--with",
                    "--without",
                    "--only",
                    "--group",
                    "-G",
                    "--dev",
                    "--all-extras",
                    "--extras",
                    "-E",
                    "--sync",
                    "--dry-run",
                ],
                operands: OperandShape::Names,
            },
        ],
    },
    PackageRegistry {
        name: "proxy.golang.org for go",
        markers: &["go.mod", "go.work"],
        hosts: &["proxy.golang.org", "sum.golang.org"],
        programs: &[
            ProgramCommands {
                words: &["go", "mod"],
                subcommands: &["download", "tidy", "vendor", "verify", "graph", "why"],
                options: &["-x", "-v", "-json", "-m", "-e"],
                operands: OperandShape::Paths,
            },
            ProgramCommands {
                words: &["go"],
                subcommands: &["get", "build", "test", "vet", "list"],
                options: &[
                    "-u",
                    "-t",
                    "-v",
                    "-x",
                    "-race",
                    "-short",
                    "-cover",
                    "-count",
                    "-run",
                    "-o",
                    "-bench",
                    "-timeout",
                    "-tags",
                    "-m",
                    "-json",
                    "-e",
                    "-failfast",
                    "-p",
                ],
                operands: OperandShape::Paths,
            },
        ],
    },
    PackageRegistry {
        name: "rubygems.org for bundle",
        markers: &["Gemfile"],
        hosts: &["rubygems.org", "index.rubygems.org"],
        programs: &[ProgramCommands {
            words: &["bundle"],
            subcommands: &["install", "update", "add", "lock", "outdated"],
            options: &["--quiet", "--jobs", "-j", "--retry", "--version", "-v", "--group", "-g"],
            operands: OperandShape::Names,
        }],
    },
    PackageRegistry {
        name: "Maven Central for mvn",
        markers: &["pom.xml"],
        hosts: &["repo.maven.apache.org", "repo1.maven.org"],
        programs: &[ProgramCommands {
            words: &["mvn"],
            subcommands: &["validate", "compile", "test-compile", "test", "package", "verify"],
            options: &["-q", "-B", "-U", "-ntp", "-DskipTests"],
            operands: OperandShape::Subcommands,
        }],
    },
];

const fn pip(words: &'static [&'static str]) -> ProgramCommands {
    ProgramCommands {
        words,
        subcommands: &["install", "download", "index"],
        options: PIP_OPTIONS,
        operands: OperandShape::Paths,
    }
}
