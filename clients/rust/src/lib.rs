//! A Kubernetes-compatible API server for tests, with time that moves, faults and snapshots. It needs the standard library alone: the state
//! of the server is changed by the command `keelson`, since the standard library has no TLS. Objects are for kube-rs, with the kubeconfig.
//!
//! ```no_run
//! let server = keelson_testing::Server::start()?;
//! std::env::set_var("KUBECONFIG", server.kubeconfig()); // for kube::Client::try_default()
//! server.advance("24h")?;
//! # Ok::<(), keelson_testing::Error>(())
//! ```
use std::env;
use std::fmt;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A command of Keelson that failed, with what it said.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Error(error.to_string())
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// How a server is started.
#[derive(Default)]
pub struct Builder {
    flags: Vec<String>,
    command: Option<Vec<String>>,
}

impl Builder {
    /// A flag of `keelson serve`, such as `--nodes=0`.
    pub fn flag(mut self, flag: impl Into<String>) -> Self {
        self.flags.push(flag.into());
        self
    }

    /// Manifests that the server has from the start.
    pub fn apply(self, path: impl AsRef<Path>) -> Self {
        let flag = format!("--apply={}", path.as_ref().display());
        self.flag(flag)
    }

    /// The command to start, instead of the one that `KEELSON` names or that is on the PATH.
    pub fn command<S: Into<String>>(mut self, command: impl IntoIterator<Item = S>) -> Self {
        self.command = Some(command.into_iter().map(Into::into).collect());
        self
    }

    /// Starts a server in memory on a free port, and waits until it is ready.
    pub fn start(self) -> Result<Server> {
        let command = self.command.unwrap_or_else(own_command);
        let folder = new_folder()?;
        let mut process = program(&command)
            .args(["serve", "--store=memory", "--secure-port=0", "--output=json", "--exit-with-parent", "--test-endpoints"])
            .arg(format!("--data-dir={}", folder.display()))
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        // Kept open: a server that cannot write ends.
        let mut output = BufReader::new(process.stdout.take().expect("it is piped"));
        output.read_line(&mut line)?;
        let server = Server {
            url: text_field(&line, "url").unwrap_or_default(),
            kubeconfig: text_field(&line, "kubeconfig").unwrap_or_default().into(),
            command,
            folder,
            process,
            _output: output,
        };
        if server.url.is_empty() {
            return Err(Error("keelson did not start; see its messages above".into()));
        }
        Ok(server)
    }
}

/// A running server. It ends when it is dropped, and with this process, however that ends.
pub struct Server {
    url: String,
    kubeconfig: PathBuf,
    command: Vec<String>,
    folder: PathBuf,
    process: Child,
    _output: BufReader<std::process::ChildStdout>,
}

impl Server {
    /// Starts a server with the usual flags.
    pub fn start() -> Result<Self> {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        Builder::default()
    }

    /// `https://HOST:PORT`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The file with the kubeconfig of the administrator.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Restores the state after the start, and removes faults.
    pub fn reset(&self) -> Result<()> {
        self.run(&["reset"]).map(drop)
    }

    /// Keeps the current state in memory under a name.
    pub fn snapshot(&self, name: &str) -> Result<()> {
        self.run(&["snapshot", "create", name]).map(drop)
    }

    /// Restores a snapshot. Revisions go on, and watches see the changes.
    pub fn restore(&self, name: &str) -> Result<()> {
        self.run(&["snapshot", "revert", name]).map(drop)
    }

    /// What clients have sent since the start or the last reset, each as JSON. A filter is such as `verb=update` or
    /// `userAgent=my-controller`.
    pub fn requests(&self, filters: &[&str]) -> Result<Vec<String>> {
        let text = self.run(&[&["requests", "--output=json"], filters].concat())?;
        Ok(text.lines().map(Into::into).collect())
    }

    /// The time of the server, in RFC 3339.
    pub fn now(&self) -> Result<String> {
        self.clock(&[])
    }

    /// Moves the time of the server by a duration such as `24h`. Whatever is due on the way happens in order and at its time.
    pub fn advance(&self, duration: &str) -> Result<String> {
        self.clock(&["advance", duration])
    }

    /// Stops the time of the server, until `resume`; `advance` still moves it.
    pub fn freeze(&self) -> Result<String> {
        self.clock(&["freeze"])
    }

    /// Lets the time of the server go on.
    pub fn resume(&self) -> Result<String> {
        self.clock(&["resume"])
    }

    /// Makes requests fail: a fault in JSON, such as `{"verb": "update", "status": 409, "times": 1}`. It is removed when the result is dropped.
    pub fn fault(&self, json: &str) -> Result<Fault<'_>> {
        let text = self.run(&["faults", "add", json])?;
        let id = text.trim().strip_prefix("added ").unwrap_or_default().to_string();
        Ok(Fault { server: self, id })
    }

    /// Runs a command of Keelson on this server, such as `["history", "configmap/a"]`; its output.
    pub fn run(&self, args: &[&str]) -> Result<String> {
        let output = program(&self.command).args(args).arg("--kubeconfig").arg(&self.kubeconfig).stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(Error(format!("keelson {}: {}", args.join(" "), said.trim())))
    }

    fn clock(&self, args: &[&str]) -> Result<String> {
        let text = self.run(&[&["clock"], args].concat())?;
        Ok(text.split_whitespace().next().unwrap_or_default().to_string())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // In memory there is nothing to keep.
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// A fault of a server.
pub struct Fault<'a> {
    server: &'a Server,
    id: String,
}

impl Fault<'_> {
    /// The number of requests that it has struck.
    pub fn hits(&self) -> Result<u64> {
        let list = self.server.run(&["faults", "list"])?;
        let line = list.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).find(|columns| columns.first() == Some(&self.id.as_str()));
        let struck = line.and_then(|columns| columns.get(2)?.parse().ok());
        struck.ok_or_else(|| Error(format!("there is no fault {}", self.id)))
    }
}

impl Drop for Fault<'_> {
    fn drop(&mut self) {
        let _ = self.server.run(&["faults", "remove", &self.id]);
    }
}

fn program(command: &[String]) -> Command {
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]);
    program
}

/// The one that `KEELSON` names, or that on the PATH, or that of npm.
fn own_command() -> Vec<String> {
    let named: Vec<String> = env::var("KEELSON").unwrap_or_default().split_whitespace().map(Into::into).collect();
    if !named.is_empty() {
        return named;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = env::split_paths(&path).any(|folder| folder.join("keelson").is_file());
    let words: &[&str] = if is_there { &["keelson"] } else { &["npx", "keelson"] };
    words.iter().map(|word| word.to_string()).collect()
}

/// A folder that only this user can read.
fn new_folder() -> io::Result<PathBuf> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    loop {
        let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |time| time.subsec_nanos());
        let name = format!("keelson-{}-{}-{nanos}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&folder) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            result => return result.map(|()| folder),
        }
    }
}

/// A field of the line that a server prints: its texts have no escapes but those of a backslash and a quote.
fn text_field(json: &str, name: &str) -> Option<String> {
    let start = json.find(&format!("\"{name}\":\""))? + name.len() + 4;
    let mut text = String::new();
    let mut characters = json[start..].chars();
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::text_field;

    #[test]
    fn fields_are_read_with_their_escapes() {
        let line = r#"{"url":"https://127.0.0.1:1","kubeconfig":"C:\\a\"b"}"#;
        assert_eq!(text_field(line, "url").as_deref(), Some("https://127.0.0.1:1"));
        assert_eq!(text_field(line, "kubeconfig").as_deref(), Some("C:\\a\"b"));
        assert_eq!(text_field(line, "pid"), None);
    }
}
