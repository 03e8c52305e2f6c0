//! Data: which files hold keys or credentials (Z3), and which ask a person first (G6).
//!
//! Each table is gitignore syntax, matched without regard to case. No list of the person's and no
//! permission mode lifts [`HIDDEN`], [`HIDDEN_AT_HOME`] or [`HIDDEN_ON_MACHINE`]. What to do with
//! a match is decided in the guard, not here.

use std::sync::LazyLock;

pub use self::inside::holds_private_key;
pub(super) use self::table::CredentialTable;

mod inside;
mod named;
mod patterns;
mod table;

/// Invisible wherever they lie.
pub(super) const HIDDEN: &str = "
# SSH, TLS and signing keys.
id_rsa
id_dsa
id_ecdsa
id_ecdsa_sk
id_ed25519
id_ed25519_sk
*.pem
*.key
*.p12
*.pfx
*.ppk
*.jks
*.keystore
*.kdbx
secring.gpg
# Passwords of network clients.
.netrc
_netrc
.pypirc
.pgpass
.my.cnf
.git-credentials
.dockercfg
.vault-token
# Folders that hold nothing else.
.ssh/
.gnupg/
.password-store/
**/.aws/credentials
**/.aws/sso/
**/.aws/cli/cache/
**/.azure/
**/.config/gcloud/
**/.config/gh/hosts.yml
**/.config/glab-cli/config.yml
**/.config/hub
**/.docker/config.json
**/.kube/config
**/.cargo/credentials
**/.cargo/credentials.toml
**/.gem/credentials
**/.terraform.d/credentials.tfrc.json
**/.local/share/keyrings/
**/Library/Keychains/
# Stores of browsers and mail programs.
**/.mozilla/
**/.thunderbird/
**/.config/google-chrome/
**/.config/chromium/
**/.config/BraveSoftware/
**/.config/microsoft-edge/
**/.config/vivaldi/
**/.config/opera/
**/Library/Application Support/Google/Chrome/
**/Library/Application Support/Firefox/
**/Library/Safari/
**/Library/Cookies/
";

/// Invisible in a home folder; elsewhere the same name is ordinary.
pub(super) const HIDDEN_AT_HOME: &str = "
/.npmrc
/.yarnrc.yml
/.config/pip/pip.conf
/.pip/pip.conf
/.m2/settings.xml
/.gradle/gradle.properties
/.config/rclone/rclone.conf
/.s3cfg
/.boto
/.bash_history
/.zsh_history
/.python_history
/.psql_history
/.local/share/fish/fish_history
";

/// Invisible on the machine: accounts, host keys, and what processes keep in memory and
/// environment.
pub(super) const HIDDEN_ON_MACHINE: &str = "
/etc/shadow
/etc/shadow-
/etc/gshadow
/etc/gshadow-
/etc/sudoers
/etc/sudoers.d/
/etc/ssh/ssh_host_*_key
/etc/krb5.keytab
/proc/[0-9]*
/proc/self
/proc/thread-self
/proc/kcore
/dev/mem
/dev/kmem
/var/lib/sss/
/run/secrets/
/root/.ssh/
";

/// Visible, but reading or writing them asks a person. What only shows how such a file looks holds
/// no secrets.
pub(super) const SENSITIVE: &str = "
.env*
!.env*.example
!.env*.sample
!.env*.template
!.env*.dist
!.env*.defaults
.npmrc
.htpasswd
secrets.yml
secrets.yaml
secrets.json
secrets.toml
credentials.json
service-account*.json
*.tfstate
*.tfvars
";

/// Folders whose files are made for tests.
const TEST_FOLDERS: [&str; 14] = [
    "test",
    "tests",
    "__tests__",
    "testing",
    "testdata",
    "test_data",
    "test-data",
    "fixture",
    "fixtures",
    "__fixtures__",
    "spec",
    "specs",
    "example",
    "examples",
];
/// Endings of files that look like keys.
const KEY_ENDINGS: [&str; 7] = [".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore"];
/// Names of such.
const KEY_NAMES: [&str; 6] =
    ["id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk"];

/// Whether a path of the workspace (relative, `/` between parts) looks like a key that was made for a
/// test: by its name, below a folder of tests. Nothing in a folder with a dot is one.
pub fn is_fixture(path: &str) -> bool {
    let path = path.to_lowercase();
    let Some((folders, name)) = path.rsplit_once('/') else { return false };
    let mut folders = folders.split('/').filter(|part| *part != ".");
    let is_key =
        KEY_NAMES.contains(&name) || KEY_ENDINGS.iter().any(|ending| name.ends_with(ending));
    let mut below = false;
    // One that begins with a stroke has an empty first part: it lies outside.
    let plain = folders.all(|part| {
        below |= TEST_FOLDERS.contains(&part);
        !part.is_empty() && !part.starts_with('.') && part != "~"
    });
    is_key && below && plain && !name.starts_with('.')
}

/// The tables, ready to match.
pub(super) struct CredentialTables {
    pub(super) hidden: CredentialTable,
    pub(super) hidden_at_home: CredentialTable,
    pub(super) hidden_on_machine: CredentialTable,
    pub(super) sensitive: CredentialTable,
}

/// Read once, at first use.
pub(super) static TABLES: LazyLock<CredentialTables> = LazyLock::new(|| CredentialTables {
    hidden: CredentialTable::read_table(HIDDEN),
    hidden_at_home: CredentialTable::read_table(HIDDEN_AT_HOME),
    hidden_on_machine: CredentialTable::read_table(HIDDEN_ON_MACHINE),
    sensitive: CredentialTable::read_table(SENSITIVE),
});

/// Whether `table` names `path` itself, without regard to case.
pub(super) fn is_named_by(table: &CredentialTable, path: &str, is_folder: bool) -> bool {
    line_of(table, path, is_folder).is_some()
}

/// The line of `table` that names `path` itself, without regard to case.
pub(super) fn line_of(
    table: &CredentialTable,
    path: &str,
    is_folder: bool,
) -> Option<&'static str> {
    table.line_of(&path.to_lowercase(), is_folder)
}

/// The line of `table` that names `path` (relative, `/` between parts) or a folder above it.
pub(super) fn line_for(
    table: &CredentialTable,
    path: &str,
    is_folder: bool,
) -> Option<&'static str> {
    let path = path.to_lowercase();
    let ends = path.match_indices('/').map(|(at, _)| at).chain(std::iter::once(path.len()));
    let mut parts = ends.filter(|end| *end > 0);
    parts.find_map(|end| table.line_of(&path[..end], end < path.len() || is_folder))
}

/// Whether a line of the tables names files by what they are called, and no store of keys: such a file
/// among fixtures is one to try programs with.
pub(super) fn names_a_key_file(line: &str) -> bool {
    !line.ends_with('/') && !line.contains('/') && !line.starts_with(['.', '_'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn z3_tables_compile_and_match_their_examples() {
        let hidden = [
            "id_rsa",
            "deploy/id_ed25519",
            "certs/server.PEM",
            "a/b/tls.key",
            "x.p12",
            ".netrc",
            ".ssh/config",
            "home/.ssh/known_hosts",
            "backup/.aws/credentials",
            ".gnupg/trustdb.gpg",
            "u/.config/gh/hosts.yml",
            "u/.docker/config.json",
            "u/.kube/config",
            "u/.mozilla/firefox/p/logins.json",
        ];
        for path in hidden {
            assert!(line_for(&TABLES.hidden, path, false).is_some(), "{path}");
        }
        let open = [
            "src/main.rs",
            "id_rsa.pub",
            "keys.md",
            "monkey",
            "pem",
            "src/key.rs",
            ".aws/config",
            ".npmrc",
            "docker/config.json",
            "ssh/config",
            ".cargo/config.toml",
        ];
        for path in open {
            assert_eq!(line_for(&TABLES.hidden, path, false), None, "{path}");
        }
        for path in [".npmrc", ".bash_history", ".m2/settings.xml"] {
            assert!(line_for(&TABLES.hidden_at_home, path, false).is_some(), "{path}");
        }
        assert_eq!(line_for(&TABLES.hidden_at_home, "project/.npmrc", false), None);
        for path in ["etc/shadow", "proc/1/environ", "proc/self/mem", "etc/ssh/ssh_host_rsa_key"] {
            assert!(line_for(&TABLES.hidden_on_machine, path, false).is_some(), "{path}");
        }
        for path in ["etc/hosts", "proc/cpuinfo", "etc/ssh/ssh_config", "srv/etc/shadow"] {
            assert_eq!(line_for(&TABLES.hidden_on_machine, path, false), None, "{path}");
        }
        for path in [".env", ".env.local", "app/.ENV.production", ".npmrc", "infra/a.tfstate"] {
            assert!(line_for(&TABLES.sensitive, path, false).is_some(), "{path}");
        }
        for path in ["environment.rs", ".env.example", "app/.env.local.Template", ".env.dist"] {
            assert_eq!(line_for(&TABLES.sensitive, path, false), None, "{path}");
            assert!(!is_named_by(&TABLES.sensitive, path, false), "{path}");
        }
        assert!(line_for(&TABLES.sensitive, ".env.example.local", false).is_some());
    }

    #[test]
    fn a13_a_key_that_was_made_for_a_test_is_told_by_its_path() {
        for path in ["tests/cert.pem", "a/testdata/x/Server.KEY", "./spec/id_rsa", "test/a.p12"] {
            assert!(is_fixture(path), "{path}");
        }
        for path in [
            "cert.pem",
            "src/cert.pem",
            "tests/.ssh/id_rsa",
            "/home/p/tests/cert.pem",
            "~/tests/cert.pem",
            "tests/.env",
            "tests/.netrc",
            "tests.pem",
            "latest/a.pem",
        ] {
            assert!(!is_fixture(path), "{path}");
        }
    }

    #[test]
    fn u1_fixtures_are_told_by_their_folders() {
        for path in ["tests/cert.pem", "a/Fixtures/b/c.key", "spec/x.p12", "examples/id_rsa"] {
            assert!(is_fixture(path), "{path}");
        }
        for path in ["cert.pem", "deploy/server.key", "tests.pem", "contests/a.pem", "tests"] {
            assert!(!is_fixture(path), "{path}");
        }
        for line in ["*.pem", "id_rsa", "secring.gpg"] {
            assert!(names_a_key_file(line), "{line}");
        }
        for line in [".ssh/", "**/.aws/credentials", ".netrc", "/etc/shadow", "_netrc"] {
            assert!(!names_a_key_file(line), "{line}");
        }
    }
}
