//! PostgreSQL as a peer: a fresh cluster with `fsync` and `synchronous_commit`, asked through a
//! function (`check.sql`) with arrays in one prepared statement. PostgreSQL does not run as root, so a
//! harness that does starts it as the user `postgres`, else `nobody`.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{fs, io};

use postgres::{Client, Config, NoTls, Statement};
use rustix::process::Signal;

use super::child::{self, Child};
use super::judge::Verdict;
use super::keys::Check;
use super::server::{Fact, Form, Link, Rules, Server, Target};

const SCRIPT: &str = include_str!("check.sql");
const ROLE: &str = "interlock_load";
const CONNECT_WAIT: Duration = Duration::from_secs(5);
/// Beside durability, which stays as it is: room for the working set and rare checkpoints.
const SETTINGS: [(&str, &str); 8] = [
    ("fsync", "on"),
    ("synchronous_commit", "on"),
    ("full_page_writes", "on"),
    ("shared_buffers", "512MB"),
    ("max_wal_size", "8GB"),
    ("checkpoint_timeout", "30min"),
    ("wal_buffers", "64MB"),
    ("max_connections", "200"),
];

/// A running PostgreSQL.
#[derive(Debug)]
pub(crate) struct Postgres {
    child: Child,
    config: Config,
    purpose: String,
    version: String,
}

impl Postgres {
    /// Makes a cluster in a private directory under `parent` and starts it.
    pub(crate) fn start(rules: &Rules, parent: &Path) -> Result<Self, String> {
        let place = |program: &str| {
            child::find(program, &debian_places()).ok_or_else(|| {
                format!(
                    "{program} is not installed (looked on the PATH and in \
                     /usr/lib/postgresql/*/bin); on Debian: apt-get install postgresql"
                )
            })
        };
        let (initdb, postgres) = (place("initdb")?, place("postgres")?);
        let user = User::other_than_root()?;
        let folder = child::folder("postgres", parent)?;
        let (port, password) = (child::free_port()?, child::password()?);
        make_cluster(&initdb, folder.path(), &password, user.as_ref())?;
        let mut command = Command::new(postgres);
        command.arg("-D").arg(folder.path().join("data"));
        command
            .args(["-p", &port.to_string(), "-h", "127.0.0.1", "-k"])
            .arg(folder.path());
        for (name, value) in SETTINGS {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        User::take(user.as_ref(), &mut command);
        let child = Child::start("PostgreSQL", command, Signal::QUIT, folder)?;
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(port)
            .user(ROLE)
            .password(password)
            .dbname("postgres");
        config
            .connect_timeout(CONNECT_WAIT)
            .application_name("interlock-load");
        let mut started = Self {
            child,
            config,
            purpose: rules.purpose.clone(),
            version: String::new(),
        };
        started.make_ready(rules)?;
        Ok(started)
    }

    fn make_ready(&mut self, rules: &Rules) -> Result<(), String> {
        let config = self.config.clone();
        let mut client = self.child.wait_until(|| open(&config))?;
        let script = SCRIPT
            .replace("<LIMIT>", &rules.limit.to_string())
            .replace("<WINDOW_MS>", &rules.window_ms.to_string())
            .replace("<LEASE_MS>", &rules.lease_ms.to_string());
        client.batch_execute(&script).map_err(words)?;
        self.version = show(&mut client, "server_version")?;
        Ok(())
    }
}

impl Server for Postgres {
    fn name(&self) -> String {
        let version = self.version.split(' ').next().unwrap_or_default();
        format!("PostgreSQL {version}")
    }

    fn forms(&self) -> &'static [Form] {
        &[Form::Statement]
    }

    fn conditions(&self) -> Result<Vec<String>, String> {
        let mut client = open(&self.config)?;
        let mut lines = Vec::new();
        for (name, wanted) in SETTINGS {
            let value = show(&mut client, name)?;
            if value != wanted {
                return Err(format!("PostgreSQL runs with {name} {value}, not {wanted}"));
            }
            lines.push(format!("{name} {value}"));
        }
        Ok(vec![
            format!("{} (read back)", lines.join(", ")),
            "TCP on loopback, a prepared statement, read committed".to_owned(),
        ])
    }

    fn cpu_seconds(&self) -> f64 {
        child::cpu_seconds(self.child.id())
    }

    fn connect(&self, _: Form, run: u32, checks: usize) -> Result<Box<dyn Link>, String> {
        let mut client = open(&self.config)?;
        let ask = client
            .prepare("SELECT checks($1, $2, $3, $4, $5, $6)")
            .map_err(words)?;
        Ok(Box::new(Connection {
            client,
            ask,
            run,
            purpose: self.purpose.clone(),
            columns: std::array::from_fn(|_| vec![String::new(); checks]),
        }))
    }
}

/// One connection of the load.
struct Connection {
    client: Client,
    ask: Statement,
    run: u32,
    purpose: String,
    /// Effects, customers, objects, agents and tasks of the present batch.
    columns: [Vec<String>; 5],
}

impl Link for Connection {
    fn ask(&mut self, checks: &[Check], verdicts: &mut Vec<Verdict>) -> Result<(), String> {
        self.write(checks);
        let [effects, customers, objects, agents, tasks] = &self.columns;
        let parameters: [&(dyn postgres::types::ToSql + Sync); 6] =
            [effects, customers, objects, agents, tasks, &self.purpose];
        let row = self
            .client
            .query_one(&self.ask, &parameters)
            .map_err(words)?;
        let answers: Vec<&str> = row.try_get(0).map_err(words)?;
        verdicts.clear();
        for text in answers {
            let verdict = Verdict::read(text.as_bytes());
            verdicts.push(verdict.ok_or_else(|| format!("an answer that says nothing: {text}"))?);
        }
        Ok(())
    }

    fn tell(&mut self, fact: &Fact) -> Result<bool, String> {
        let target = |target: &Target| match target {
            Target::Customer(number) => format!("+55119{number:08}"),
            Target::Object(number) => format!("order-{number:07}"),
        };
        let agent = |number: &u64| format!("agent_{number:02}");
        let client = &mut self.client;
        let row = match fact {
            Fact::Settled { effect, state } => {
                let key = format!("load-{:08x}-{effect:012}", self.run);
                client.query_one("SELECT settle($1, $2)", &[&key, state])
            }
            Fact::Suppressed { customer, purpose } => {
                let customer = target(&Target::Customer(*customer));
                client.query_one("SELECT suppress($1, $2)", &[&customer, purpose])
            }
            Fact::Owned {
                target: of,
                holder,
                rank,
                lease_ms,
            } => {
                let (rank, lease) = (*rank as i32, *lease_ms as i64);
                let words: [&(dyn postgres::types::ToSql + Sync); 4] =
                    [&target(of), &agent(holder), &rank, &lease];
                client.query_one("SELECT hold($1, $2, $3, $4)", &words)
            }
            Fact::Locked {
                object,
                holder,
                lease_ms,
            } => {
                let task = format!("{} t", target(&Target::Object(*object)));
                let lease = *lease_ms as i64;
                let words: [&(dyn postgres::types::ToSql + Sync); 3] =
                    [&task, &agent(holder), &lease];
                client.query_one("SELECT hold($1, $2, 0, $3)", &words)
            }
        };
        row.and_then(|row| row.try_get(0)).map_err(words)
    }
}

impl Connection {
    /// Writes a batch over the last one.
    fn write(&mut self, checks: &[Check]) {
        use std::fmt::Write as _;
        let [effects, customers, objects, agents, tasks] = &mut self.columns;
        let run = self.run;
        for (place, check) in checks.iter().enumerate() {
            let texts = [
                (
                    &mut effects[place],
                    format_args!("load-{run:08x}-{:012}", check.effect),
                ),
                (
                    &mut customers[place],
                    format_args!("+55119{:08}", check.customer),
                ),
                (
                    &mut objects[place],
                    format_args!("order-{:07}", check.object),
                ),
                (&mut agents[place], format_args!("agent_{:02}", check.agent)),
                (
                    &mut tasks[place],
                    format_args!("{}", if check.task { "t" } else { "-" }),
                ),
            ];
            for (text, words) in texts {
                text.clear();
                // Writing to a string cannot fail.
                text.write_fmt(words).ok();
            }
        }
    }
}

fn open(config: &Config) -> Result<Client, String> {
    config.connect(NoTls).map_err(words)
}

fn show(client: &mut Client, setting: &str) -> Result<String, String> {
    client
        .query_one(&format!("SHOW {setting}"), &[])
        .and_then(|row| row.try_get(0))
        .map_err(words)
}

/// The error with what the server said of it, which its own text leaves out.
fn words(error: postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{error}: {}", said.message()),
        None => error.to_string(),
    }
}

fn make_cluster(
    initdb: &Path,
    folder: &Path,
    password: &str,
    user: Option<&User>,
) -> Result<(), String> {
    let file = folder.join("password");
    let failed = |error: io::Error| format!("{}: {error}", folder.display());
    fs::write(&file, password).map_err(failed)?;
    if let Some(user) = user {
        for path in [folder, &file] {
            chown(path, Some(user.id), Some(user.group)).map_err(failed)?;
        }
    }
    let mut command = Command::new(initdb);
    command
        .arg("-D")
        .arg(folder.join("data"))
        .current_dir(folder);
    command.args([
        "-U",
        ROLE,
        "-A",
        "scram-sha-256",
        "-E",
        "UTF8",
        "--locale=C",
        "--no-sync",
    ]);
    command.arg("--pwfile").arg(&file);
    User::take(user, &mut command);
    let output = command.output().map_err(|error| {
        let hint = match (user, error.kind()) {
            (Some(_), io::ErrorKind::PermissionDenied) => {
                "; PostgreSQL runs as another user here, who may not pass to its directory: choose \
                 another place with --peer-data"
            }
            _ => "",
        };
        format!("initdb in {}: {error}{hint}", folder.display())
    })?;
    if output.status.success() {
        fs::remove_file(&file).map_err(failed)
    } else {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(format!("initdb left with {}: {words}", output.status))
    }
}

/// Where Debian keeps the programs, the newest version first.
fn debian_places() -> Vec<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut places: Vec<_> = versions.map(|version| version.path().join("bin")).collect();
    places.sort();
    places.reverse();
    places
}

/// Who PostgreSQL runs as.
#[derive(Debug)]
struct User {
    id: u32,
    group: u32,
}

impl User {
    /// Nobody else, unless this process is root's.
    fn other_than_root() -> Result<Option<Self>, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let found = ["postgres", "nobody"]
            .iter()
            .find_map(|name| Self::named(&users, name));
        found.map(Some).ok_or_else(|| {
            "PostgreSQL does not run as root, and there is neither a user postgres nor nobody: \
             run the harness as another user"
                .to_owned()
        })
    }

    fn named(users: &str, name: &str) -> Option<Self> {
        let line = users
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(Self {
            id: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
        })
    }

    fn take(user: Option<&Self>, command: &mut Command) {
        if let Some(user) = user {
            command.uid(user.id).gid(user.group);
        }
    }
}
