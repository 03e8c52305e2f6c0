//! Data: the options by which programs run other ones, load code or reach elsewhere. What git has of its own is
//! in `git_options`. Not here: how a line is looked through for them (`runners`).

/// How some programs are told what to run.
pub(super) struct RunnerOptions {
    pub(super) programs: &'static [&'static str],
    /// Long options, with one dash or two as the program has them.
    pub(super) long: &'static [&'static str],
    /// Letters that tell it in whichever place of a group they stand.
    pub(super) letters: &'static str,
    /// Letters that tell it where they stand first.
    pub(super) first: &'static str,
    /// What tells it wherever it stands in a word, in small letters.
    pub(super) inside: &'static [&'static str],
    /// Long options that name a file or a folder with what it does, or code that it loads. One inside the
    /// workspace is as its usual file.
    pub(super) files: &'static [&'static str],
    /// Letters that do, in whichever place of a group they stand.
    pub(super) file_letters: &'static str,
    /// Letters that do where they stand first.
    pub(super) file_first: &'static str,
    /// It takes no long option cut short: what looks like one is another. How such a one is written, with dashes
    /// or capital letters between its words, is all the same.
    pub(super) is_exact: bool,
}

/// `programs` of which nothing is known yet.
const fn options_of(programs: &'static [&'static str]) -> RunnerOptions {
    RunnerOptions {
        programs,
        long: &[],
        letters: "",
        first: "",
        inside: &[],
        files: &[],
        file_letters: "",
        file_first: "",
        is_exact: false,
    }
}

/// The same of those that take no option cut short.
const fn exact_options_of(programs: &'static [&'static str]) -> RunnerOptions {
    RunnerOptions { is_exact: true, ..options_of(programs) }
}

pub(super) const RUNNERS: &[RunnerOptions] = &[
    // What builds.
    RunnerOptions {
        long: &["--eval"],
        letters: "E",
        files: &["--file", "--makefile", "--directory", "--include-dir"],
        file_letters: "fCI",
        ..options_of(&["make", "gmake"])
    },
    RunnerOptions {
        long: &["--shell", "--shell-arg", "--command", "--chooser"],
        letters: "c",
        files: &["--justfile", "--working-directory"],
        file_letters: "fd",
        ..options_of(&["just"])
    },
    RunnerOptions { letters: "f", file_letters: "C", ..options_of(&["ninja"]) },
    RunnerOptions {
        long: &["--init-script"],
        first: "I",
        inside: &["agentpath", "javaagent", "-dorg.gradle.java.home"],
        files: &[
            "--build-file",
            "--gradle-user-home",
            "--include-build",
            "--project-dir",
            "--settings-file",
        ],
        file_first: "bcgp",
        ..options_of(&["gradle", "gradlew"])
    },
    RunnerOptions {
        inside: &[
            "exec:",
            "-dexec.",
            "-djvm=",
            "-dmaven.compiler.executable",
            "-dmaven.ext.class.path",
            "javaagent",
        ],
        files: &[
            "-gs",
            "-gt",
            "--file",
            "--global-settings",
            "--global-toolchains",
            "--settings",
            "--toolchains",
        ],
        file_first: "fst",
        ..options_of(&["mvn", "mvnw"])
    },
    RunnerOptions {
        first: "EP",
        inside: &["_launcher"],
        files: &["--toolchain", "--build", "--install"],
        file_first: "SC",
        ..options_of(&["cmake"])
    },
    RunnerOptions {
        long: &["--script", "--test-command", "--build-makeprogram", "--build-and-test"],
        first: "S",
        files: &["--test-dir"],
        ..options_of(&["ctest"])
    },
    RunnerOptions {
        long: &["--config"],
        files: &["--manifest-path", "--config-file", "--tool-config-file"],
        ..options_of(&["cargo"])
    },
    RunnerOptions {
        long: &["-exec", "-toolexec", "-vettool"],
        inside: &["-extld"],
        files: &["-C", "-modfile", "-overlay"],
        ..options_of(&["go"])
    },
    RunnerOptions {
        long: &["--script-shell", "--node-options", "--git"],
        // The last one begins like `--global`.
        inside: &["--config.script-shell", "--config.node-options", "--globalconfig"],
        files: &["--prefix", "--dir", "--cwd", "--userconfig", "--use-yarnrc"],
        file_first: "C",
        ..options_of(&["npm", "pnpm", "yarn"])
    },
    RunnerOptions {
        files: &["--config", "--cwd", "--import", "--preload", "--require"],
        file_first: "cr",
        ..options_of(&["bun"])
    },
    RunnerOptions {
        inside: &[
            "customafter",
            "custombefore",
            "directorybuildpropspath",
            "directorybuildtargetspath",
            "toolexe=",
            "toolpath=",
        ],
        files: &["--settings", "--test-adapter-path"],
        ..options_of(&["dotnet"])
    },
    RunnerOptions {
        long: &["--execute", "--execute-print", "--execute-continue"],
        first: "eEp",
        files: &["--rakefile", "--require", "--libdir", "--rakelibdir"],
        file_first: "frIR",
        ..options_of(&["rake"])
    },
    RunnerOptions {
        long: &["-wrapper", "-fplugin", "-fpass-plugin", "-specs", "-load"],
        files: &["-fuse-ld", "--ld-path"],
        file_first: "B",
        ..options_of(&["gcc", "g++", "cc", "c++", "clang", "clang++"])
    },
    // What checks and tests.
    RunnerOptions {
        long: &["--pdbcls"],
        files: &["--config-file", "--rootdir", "--confcutdir"],
        ..exact_options_of(&["pytest", "py.test"])
    },
    RunnerOptions {
        long: &["--python-executable"],
        files: &["--config-file"],
        ..options_of(&["mypy"])
    },
    RunnerOptions {
        long: &["--init-hook"],
        files: &["--rcfile", "--load-plugins"],
        ..options_of(&["pylint"])
    },
    RunnerOptions { files: &["--config", "--append-config"], ..options_of(&["flake8"]) },
    RunnerOptions {
        long: &["--override"],
        first: "x",
        files: &["--conf"],
        file_first: "c",
        ..options_of(&["tox"])
    },
    RunnerOptions { files: &["--noxfile"], file_first: "f", ..options_of(&["nox"]) },
    RunnerOptions {
        files: &[
            "--config",
            "--rulesdir",
            "--plugin",
            "--parser",
            "--format",
            "--resolve-plugins-relative-to",
        ],
        file_first: "cf",
        ..exact_options_of(&["eslint"])
    },
    RunnerOptions { files: &["--config", "--plugin"], ..exact_options_of(&["prettier"]) },
    RunnerOptions {
        files: &["--config", "--plugins", "--custom-syntax", "--custom-formatter"],
        file_first: "c",
        ..exact_options_of(&["stylelint"])
    },
    RunnerOptions {
        long: &["--typecheck.checker"],
        files: &[
            "--browser.provider",
            "--config",
            "--coverage.customProviderModule",
            "--dir",
            "--env",
            "--environment",
            "--filter",
            "--globalSetup",
            "--globalTeardown",
            "--preset",
            "--projects",
            "--reporter",
            "--reporters",
            "--resolver",
            "--root",
            "--rootDir",
            "--runner",
            "--setupFiles",
            "--setupFilesAfterEnv",
            "--snapshotEnvironment",
            "--snapshotSerializers",
            "--testEnvironment",
            "--testResultsProcessor",
            "--testRunner",
            "--testSequencer",
            "--transform",
            "--watchPlugins",
            "--workspace",
        ],
        file_first: "cr",
        ..exact_options_of(&["jest", "vitest"])
    },
    RunnerOptions {
        long: &["--node-option"],
        first: "n",
        files: &[
            "--config",
            "--experimental-loader",
            "--file",
            "--import",
            "--loader",
            "--reporter",
            "--require",
            "--ui",
        ],
        file_first: "rRu",
        ..exact_options_of(&["mocha"])
    },
    RunnerOptions {
        files: &["--require", "--options"],
        file_first: "rIO",
        ..options_of(&["rspec"])
    },
    RunnerOptions {
        files: &["--require", "--config", "--plugin"],
        file_first: "rc",
        ..options_of(&["rubocop"])
    },
    // What packs, copies and looks.
    RunnerOptions {
        long: &[
            "--to-command",
            "--use-compress-program",
            "--checkpoint-action",
            "--rsh-command",
            "--info-script",
            "--new-volume-script",
        ],
        letters: "IF",
        ..options_of(&["tar", "gtar"])
    },
    RunnerOptions { long: &["--rsh", "--rsync-path"], letters: "e", ..options_of(&["rsync"]) },
    RunnerOptions { long: &["--unzip-command"], letters: "T", ..options_of(&["zip"]) },
    RunnerOptions { long: &["--pre", "--hostname-bin"], ..options_of(&["rg"]) },
    RunnerOptions { long: &["--compress-program"], ..options_of(&["sort"]) },
    RunnerOptions { long: &["--filter"], ..options_of(&["split"]) },
];

/// What loads code into a compiler, or runs it by way of another program, in the options that it is given.
pub(super) const COMPILER_PLUGINS: &[&str] =
    &["-fplugin=", "-fpass-plugin=", "-wrapper", "-specs=", "-Xclang"];

/// Programs that run another one by its name, which stands among their own words: its options count.
pub(super) const LAUNCHERS: &[&str] = &[
    "bun", "bundle", "bunx", "hatch", "npx", "pdm", "pipenv", "pnpm", "pnpx", "poetry", "python",
    "python3", "rye", "uv", "uvx", "yarn",
];

/// How `ssh` and its like are told what to run on this machine.
pub(super) struct SshOptions {
    pub(super) program: &'static str,
    /// Letters that take a value, the rest of their word or the next one.
    pub(super) values: &'static str,
    /// Letters that run a program, load a library, name a file that says so or one that is written, or
    /// open a way to somewhere else than the host that stands in the line.
    pub(super) tells: &'static str,
    /// What stands behind the host is a command for the other machine.
    pub(super) has_command: bool,
}

pub(super) const SSH_OPTIONS: &[SshOptions] = &[
    // `-P` takes no value in older versions: nobody can tell what the next word is.
    SshOptions {
        program: "ssh",
        values: "BbcDEeFIiJLlmOoPpQRSWw",
        tells: "DEFIJLPRSWw",
        has_command: true,
    },
    SshOptions { program: "scp", values: "cDFiJloPSX", tells: "DFJS", has_command: false },
    // `!` in a batch runs a program here.
    SshOptions { program: "sftp", values: "BbcDFiJloPRSsX", tells: "bDFJS", has_command: false },
];
/// Settings of `ssh` by which it runs a program, loads a library, reads other settings or gets to somewhere
/// else than the host that stands in the line; in small letters.
pub(super) const SSH_SETTINGS: &[&str] = &[
    "controlpath",
    "dynamicforward",
    "hostname",
    "include",
    "knownhostscommand",
    "localcommand",
    "localforward",
    "match",
    "permitlocalcommand",
    "pkcs11provider",
    "proxycommand",
    "proxyjump",
    "remoteforward",
    "securitykeyprovider",
    "smartcarddevice",
    "tunnel",
    "xauthlocation",
];

/// Options before the command of git by which anything can be run.
pub(super) const GIT_BEFORE: &[&str] = &["-c", "--config-env", "--exec-path"];
/// Commands of git and the words of theirs behind which a program stands.
pub(super) const GIT_VERBS: &[(&str, &str)] = &[("bisect", "run"), ("submodule", "foreach")];
/// Options before the command of git whose value is the next word.
pub(super) const GIT_VALUES: &[&str] = &[
    "-C",
    "-c",
    "--attr-source",
    "--config-env",
    "--exec-path",
    "--git-dir",
    "--namespace",
    "--super-prefix",
    "--work-tree",
];
/// Variables of `make` that are programs, or say how one is run.
pub(super) const MAKE_PROGRAMS: &[&str] = &[
    "AR",
    "AS",
    "CC",
    "CPP",
    "CXX",
    "FC",
    "INSTALL",
    "LD",
    "LEX",
    "MAKE",
    "RM",
    "YACC",
    "SHELL",
    ".SHELLFLAGS",
    "MAKEFLAGS",
    "GNUMAKEFLAGS",
    "MAKEFILES",
];

/// How the names of those variables of `cmake` end that are programs, or say how one is run.
pub(super) const CMAKE_PROGRAMS: &[&str] = &[
    "_AR",
    "_CLANG_TIDY",
    "_COMPILER",
    "_COMPILE_OBJECT",
    "_CPPCHECK",
    "_CPPLINT",
    "_EMULATOR",
    "_INCLUDE_WHAT_YOU_USE",
    "_LAUNCHER",
    "_LINKER",
    "_MAKE_PROGRAM",
    "_NM",
    "_RANLIB",
];
/// How the names of those end that are files with what it does, or folders of such.
pub(super) const CMAKE_FILES: &[&str] =
    &["_INCLUDE", "_INCLUDE_BEFORE", "_INCLUDES", "_MODULE_PATH", "_TOOLCHAIN_FILE"];
