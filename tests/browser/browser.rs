//! One browser without a window, driven through its driver.

use std::env;
use std::future::Future;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use fantoccini::wd::Capabilities;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use liftmesh_harness::Process;
use liftmesh_harness::building::{Machine, PATIENCE, skip};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;

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
    runtime: Runtime,
    client: Option<Client>,
    /// Where its driver listens.
    port: u16,
    _driver: Process,
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
        let driver = Process::start("chromedriver", command, directory.path().join("driver.log"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let mut capabilities = Capabilities::new();
        let options = look.options(&directory.path().join("profile"));
        capabilities.insert("goog:chromeOptions".to_owned(), options);
        // Those of the tests are signed by themselves.
        capabilities.insert("acceptInsecureCerts".to_owned(), json!(true));
        let client = runtime.block_on(connect(port, &capabilities));
        let driver = driver.expect("the driver");
        Some(Self {
            look,
            runtime,
            client: Some(client),
            port,
            _driver: driver,
            _directory: directory,
            _machine: machine,
        })
    }

    fn run<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("an open browser")
    }

    pub(super) fn open(&self, address: &str) {
        self.run(self.client().goto(address)).expect("the panel");
    }

    /// Goes to a page of the panel by its link.
    pub(super) fn open_page(&self, name: &str) {
        self.click(&format!("nav a[href='#/{name}']"));
        self.wait_for(&format!("nav a[href='#/{name}'][aria-current=page]"));
    }

    /// The value of a script, or that of the promise that it returns.
    pub(super) fn evaluate(&self, script: &str) -> Value {
        self.run(self.client().execute(script, Vec::new())).expect(script)
    }

    pub(super) fn click(&self, css: &str) {
        self.wait_for(css);
        let click = async { self.client().find(Locator::Css(css)).await?.click().await };
        self.run(click).expect(css);
    }

    /// What a command of the `DevTools` protocol returns, which the driver passes on.
    pub(super) fn ask_devtools(&self, command: &str, parameters: &Value) -> Value {
        let session = self.run(self.client().session_id()).expect("a driver").expect("a session");
        let body = json!({ "cmd": command, "params": parameters }).to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver");
        stream.set_read_timeout(Some(PATIENCE)).expect("a limit");
        write!(
            stream,
            "POST /session/{session}/goog/cdp/execute HTTP/1.1\r\nHost: localhost\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .expect("asked");
        answer_of(stream)["value"].take()
    }

    /// Types into an element, or presses keys there.
    pub(super) fn write(&self, css: &str, text: &str) {
        self.wait_for(css);
        let write = async { self.client().find(Locator::Css(css)).await?.send_keys(text).await };
        self.run(write).expect(css);
    }

    /// Fills in fields of a dialog, and sends it by the keyboard. A space checks a box.
    pub(super) fn submit(&self, fields: &[(&str, &str)]) {
        for (field, value) in fields {
            self.write(&format!("dialog {field}"), value);
        }
        self.write("dialog button[type=submit]", ENTER);
    }

    pub(super) fn attribute(&self, css: &str, name: &str) -> Option<String> {
        let attribute = async { self.client().find(Locator::Css(css)).await?.attr(name).await };
        self.run(attribute).expect(css)
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
            let answer = self.run(self.client().execute(script, Vec::new()));
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
        self.run(self.client().screenshot()).expect("a picture")
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            // Its processes end with the session, and only then.
            self.runtime.block_on(client.close()).ok();
        }
    }
}

/// A session, as soon as the driver listens.
async fn connect(port: u16, capabilities: &Capabilities) -> Client {
    let begun = Instant::now();
    let address = format!("http://127.0.0.1:{port}");
    loop {
        let mut builder = ClientBuilder::new(HttpConnector::new());
        match builder.capabilities(capabilities.clone()).connect(&address).await {
            Ok(client) => return client,
            Err(error) if begun.elapsed() > PATIENCE => panic!("no session: {error}"),
            Err(_) => tokio::time::sleep(LOOK_EVERY).await,
        }
    }
}

/// The document that an HTTP answer has. Its sender keeps the connection open.
fn answer_of(stream: TcpStream) -> Value {
    let mut stream = BufReader::new(stream);
    let lines = stream.by_ref().lines().map(|line| line.expect("an answer"));
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let length = head.iter().find_map(|line| {
        let (field, value) = line.split_once(':')?;
        field.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.expect("a length")];
    stream.read_exact(&mut body).expect("a body");
    serde_json::from_slice(&body).expect("JSON")
}

fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path).map(|directory| directory.join(program)).find(|file| file.is_file())
}
