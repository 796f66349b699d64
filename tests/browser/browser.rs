//! One browser without a window, driven through its driver (W3C `WebDriver`).

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Machine, PATIENCE, skip};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Chromium's code of the key, as its driver has it.
pub(super) const ENTER: &str = "\u{E007}";

const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What the browser is like: its screen, in CSS pixels, and the colours that its user wants.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    is_phone: bool,
    is_dark: bool,
}

impl Look {
    pub(super) const DESKTOP: Self = Self { is_phone: false, is_dark: false };
    pub(super) const PHONE: Self = Self { is_phone: true, is_dark: false };
    pub(super) const ALL: [Self; 4] = [
        Self::DESKTOP,
        Self { is_phone: false, is_dark: true },
        Self::PHONE,
        Self { is_phone: true, is_dark: true },
    ];

    pub(super) fn name(self) -> String {
        let device = if self.is_phone { "phone" } else { "desktop" };
        let colours = if self.is_dark { "dark" } else { "light" };
        format!("{device}-{colours}")
    }

    /// What the browser is told at its start, in its own words.
    fn options(self, profile: &Path) -> Value {
        let (width, height) = if self.is_phone { (390, 844) } else { (1280, 800) };
        // As root, chromium has no sandbox. In the blink engine's settings, 0 is dark.
        let arguments = format!(
            "--headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
             --user-data-dir={} --blink-settings=preferredColorScheme={} \
             --window-size={width},{height}",
            profile.display(),
            u8::from(!self.is_dark)
        );
        let arguments: Vec<&str> = arguments.split_whitespace().collect();
        let metrics =
            json!({ "width": width, "height": height, "pixelRatio": 1, "touch": self.is_phone });
        json!({ "args": arguments, "mobileEmulation": { "deviceMetrics": metrics } })
    }
}

/// A browser, which ends with this.
pub(super) struct Browser {
    pub(super) look: Look,
    driver: Driver,
    /// The path of the session at the driver.
    session: String,
    _process: Process,
    _directory: TempDir,
    _machine: Machine,
}

impl Browser {
    /// Starts one; `None`, having said why, where this machine has none.
    pub(super) fn start(look: Look, machine: impl FnOnce() -> Machine) -> Option<Self> {
        let (Some(program), Some(_)) = (in_path("chromedriver"), in_path("chromium")) else {
            skip("chromium and chromedriver are not installed (Debian: chromium-driver)");
            return None;
        };
        let machine = machine();
        let directory = tempfile::tempdir().expect("a directory");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let mut command = Command::new(program);
        command.arg(format!("--port={port}"));
        let process = Process::start("chromedriver", command, directory.path().join("driver.log"))
            .expect("the driver");
        let driver = Driver { port };
        // The certificates of the tests are signed by themselves.
        let wanted = json!({
            "goog:chromeOptions": look.options(&directory.path().join("profile")),
            "acceptInsecureCerts": true,
        });
        let session = driver.session(&json!({ "capabilities": { "alwaysMatch": wanted } }));
        Some(Self {
            look,
            driver,
            session,
            _process: process,
            _directory: directory,
            _machine: machine,
        })
    }

    /// What a command of the session returns, or why it failed.
    fn try_command(&self, method: &str, command: &str, body: &Value) -> Result<Value, String> {
        let path = format!("{}/{command}", self.session);
        self.driver.ask(method, &path, body).map_err(|error| format!("{command}: {error}"))
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        self.try_command("POST", command, body).unwrap_or_else(|error| panic!("{body}: {error}"))
    }

    /// The path of the first element with this selector.
    fn element(&self, css: &str) -> String {
        let found = self.post("element", &json!({ "using": "css selector", "value": css }));
        let id = found.as_object().and_then(|found| found.values().next()?.as_str());
        format!("element/{}", id.expect("an element"))
    }

    pub(super) fn open(&self, address: &str) {
        self.post("url", &json!({ "url": address }));
    }

    /// Goes to a page of the panel by its link.
    pub(super) fn open_page(&self, name: &str) {
        self.click(&format!("nav a[href='#/{name}']"));
        self.wait_for(&format!("nav a[href='#/{name}'][aria-current=page]"));
    }

    /// The value of a script, or that of the promise that it returns.
    pub(super) fn evaluate(&self, script: &str) -> Value {
        self.post("execute/sync", &Self::script(script))
    }

    fn script(script: &str) -> Value {
        json!({ "script": script, "args": [] })
    }

    pub(super) fn click(&self, css: &str) {
        self.wait_for(css);
        self.post(&format!("{}/click", self.element(css)), &json!({}));
    }

    /// What a command of the `DevTools` protocol returns, which the driver passes on.
    pub(super) fn ask_devtools(&self, command: &str, parameters: &Value) -> Value {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Types into an element, or presses keys there.
    pub(super) fn write(&self, css: &str, text: &str) {
        self.wait_for(css);
        self.post(&format!("{}/value", self.element(css)), &json!({ "text": text }));
    }

    /// Fills in fields of a dialog, and sends it by the keyboard. A space checks a box.
    pub(super) fn submit(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            self.write(&format!("dialog {field}"), value);
        }
        self.write("dialog button[type=submit]", ENTER);
    }

    pub(super) fn attribute(&self, css: &str, name: &str) -> Option<String> {
        let path = format!("{}/attribute/{name}", self.element(css));
        let value = self.try_command("GET", &path, &Value::Null).expect(css);
        value.as_str().map(str::to_owned)
    }

    /// Waits until there is such an element.
    pub(super) fn wait_for(&self, css: &str) {
        self.wait(css, &format!("return document.querySelector({}) !== null", json!(css)));
    }

    pub(super) fn wait_until_gone(&self, css: &str) {
        self.wait(css, &format!("return document.querySelector({}) === null", json!(css)));
    }

    /// Waits until one of these elements has this text.
    pub(super) fn wait_for_text(&self, css: &str, text: &str) {
        let script = format!(
            "return [...document.querySelectorAll({})].some((one) => one.innerText.includes({}))",
            json!(css),
            json!(text),
        );
        self.wait(&format!("{text:?} in {css}"), &script);
    }

    pub(super) fn wait_for_address(&self, address: &str) {
        self.wait(address, &format!("return location.href === {}", json!(address)));
    }

    /// Waits until a script returns true.
    pub(super) fn wait(&self, what: &str, script: &str) {
        let begun = Instant::now();
        loop {
            // While the browser goes to another page there is nothing to ask.
            let answer = self.try_command("POST", "execute/sync", &Self::script(script));
            if matches!(answer, Ok(Value::Bool(true))) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                let page = self.evaluate("return document.body.innerText");
                panic!("{what}: not within {PATIENCE:?}; {answer:?}; the page:\n{page:#}");
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    /// Opens a page that the browser has not seen yet: the time to its first paint, and the bytes of
    /// all that came with it.
    pub(super) fn first_paint(&self, address: &str) -> (Duration, f64) {
        self.open("about:blank");
        self.open(&format!("{address}?{}", fastrand::u64(..)));
        self.wait_for(".light.live");
        let measured = self.evaluate(
            "const paint = performance.getEntriesByName('first-contentful-paint')[0].startTime;
             const files = [...performance.getEntriesByType('navigation'),
                            ...performance.getEntriesByType('resource')];
             const size = (file) => Math.max(file.transferSize, file.encodedBodySize);
             return [paint, files.reduce((sum, file) => sum + size(file), 0)]",
        );
        let [time, bytes] = [0, 1].map(|at| measured[at].as_f64().expect("a number"));
        (Duration::from_secs_f64(time / 1000.0), bytes)
    }

    pub(super) fn screenshot(&self) -> Vec<u8> {
        let picture = self.try_command("GET", "screenshot", &Value::Null).expect("a picture");
        BASE64.decode(picture.as_str().expect("a text")).expect("base64")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its processes end with the session, and only then.
        self.driver.ask("DELETE", &self.session, &Value::Null).ok();
    }
}

/// Where a browser's driver listens.
struct Driver {
    port: u16,
}

impl Driver {
    /// The path of a new session, as soon as the driver listens.
    fn session(&self, wanted: &Value) -> String {
        let begun = Instant::now();
        loop {
            match self.ask("POST", "/session", wanted) {
                Ok(session) => {
                    return format!("/session/{}", session["sessionId"].as_str().expect("an id"));
                }
                Err(error) if begun.elapsed() > PATIENCE => panic!("no session: {error}"),
                Err(_) => std::thread::sleep(LOOK_EVERY),
            }
        }
    }

    /// The value of the answer, or the error that it tells.
    fn ask(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, mut answer) = self.exchange(method, path, &body).map_err(|e| e.to_string())?;
        let value = answer["value"].take();
        if status == 200 { Ok(value) } else { Err(format!("{status}: {value}")) }
    }

    fn exchange(&self, method: &str, path: &str, body: &str) -> io::Result<(u16, Value)> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
        )?;
        // The driver keeps the connection open: its answer ends where it says.
        let mut stream = BufReader::new(stream);
        let head =
            stream.by_ref().lines().take_while(|line| !matches!(line, Ok(line) if line.is_empty()));
        let head = head.collect::<io::Result<Vec<String>>>()?;
        let status = head.first().and_then(|line| line.split(' ').nth(1)?.parse().ok());
        let length = head.iter().find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
        });
        let (Some(status), Some(length)) = (status, length) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        let mut body = vec![0; length];
        stream.read_exact(&mut body)?;
        Ok((status, serde_json::from_slice(&body)?))
    }
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}
