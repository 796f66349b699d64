//! `liftmesh lab loss` between sockets that know nothing of it, in a network namespace.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::has_root;
use crate::command_line::liftmesh;

const DATAGRAMS: usize = 500;

fn run(program: &str, words: &str) -> String {
    let output = Command::new(program).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{program} {words}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A network namespace, which this thread and all that it starts is in.
struct Namespace(String);

impl Namespace {
    fn enter() -> Self {
        let name = format!("liftmesh-kit-{}", std::process::id());
        run("ip", &format!("netns add {name}"));
        run("ip", &format!("-n {name} link set lo up"));
        let file = File::open(format!("/run/netns/{name}")).unwrap();
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
        Self(name)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(Command::new("ip").args(["netns", "delete", &self.0]).output());
    }
}

/// Starts the command, and reads its first line.
fn start(words: &[&str]) -> (Child, BufReader<ChildStdout>, String) {
    let mut command = liftmesh(&[&["lab", "loss"], words].concat());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    (child, lines, line)
}

fn end(mut child: Child, mut lines: BufReader<ChildStdout>, signal: Signal) -> String {
    kill_process(Pid::from_child(&child), signal).unwrap();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().success(), signal != Signal::KILL, "{rest}");
    rest
}

/// The share in per cent of datagrams to this port that the receiver misses.
fn missed(port: u16, receiver: &UdpSocket) -> usize {
    receiver.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let send = move || {
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        for _ in 0..DATAGRAMS {
            sender.send_to(b"beacon", ("127.0.0.1", port)).unwrap();
            thread::sleep(Duration::from_millis(1));
        }
    };
    thread::scope(|scope| {
        scope.spawn(send);
        let arrived = std::iter::repeat_with(|| receiver.recv(&mut [0; 64]));
        let arrived = arrived.take_while(Result::is_ok).take(DATAGRAMS).count();
        100 - 100 * arrived / DATAGRAMS
    })
}

#[test]
fn packets_are_lost_until_the_command_ends_or_the_next_one_starts() {
    if !has_root() {
        return;
    }
    let _namespace = Namespace::enter();
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = receiver.local_addr().unwrap().port();
    let ports = port.to_string();
    let is_lossy = |receiver| (10..=50).contains(&missed(port, receiver));
    let tables = || run("nft", "list tables");

    for signal in [Signal::INT, Signal::TERM] {
        let (child, lines, line) = start(&["--ports", &ports, "--percent", "30"]);
        assert!(line.contains("30 % of the packets"), "{line}");
        assert!(is_lossy(&receiver));
        let told = end(child, lines, signal);
        assert!(told.starts_with("undone: ") && told.contains("of 500 packets"), "{told}");
        assert_eq!((tables().as_str(), missed(port, &receiver)), ("", 0));
    }

    let (child, lines, _) = start(&["--ports", &ports, "--percent", "30"]);
    end(child, lines, Signal::KILL);
    assert!(tables().contains("liftmesh_loss_") && is_lossy(&receiver), "left behind");
    let (mut child, _lines, line) = start(&["--ports", &ports, "--percent", "0", "--for", "100ms"]);
    assert!(line.contains("which a killed command left behind"), "{line}");
    assert!(child.wait().unwrap().success());
    assert_eq!((tables().as_str(), missed(port, &receiver)), ("", 0));
}

#[test]
fn a_relay_loses_datagrams_and_delays_connections() {
    let receiver = UdpSocket::bind("127.65.0.1:0").unwrap();
    let server = TcpListener::bind("127.65.0.2:0").unwrap();
    let [datagrams, connections] = [receiver.local_addr(), server.local_addr()].map(Result::unwrap);
    let from = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let relays = [format!("{from}={datagrams}"), format!("127.65.0.3:{from}={connections}")];
    let words =
        ["--relay", &relays[0], "--relay", &relays[1], "--percent", "30", "--delay", "50ms"];
    let (child, mut lines, line) = start(&words);
    assert!(line.contains("30 % lost, 50ms late"), "{line}");
    lines.read_line(&mut String::new()).unwrap();
    let lost = missed(from, &receiver);
    assert!((10..=50).contains(&lost), "{lost} %");

    let echo = thread::spawn(move || {
        let (mut client, _) = server.accept().unwrap();
        let mut bytes = [0; 4];
        client.read_exact(&mut bytes).unwrap();
        client.write_all(&bytes).unwrap();
    });
    let mut client = TcpStream::connect(("127.65.0.3", from)).unwrap();
    let (began, mut bytes) = (Instant::now(), [0; 4]);
    client.write_all(&[7, 0, 0, 0]).unwrap();
    client.read_exact(&mut bytes).unwrap();
    assert_eq!(bytes, [7, 0, 0, 0]);
    assert!(began.elapsed() >= Duration::from_millis(100), "{:?}", began.elapsed());
    echo.join().unwrap();
    assert!(end(child, lines, Signal::INT).starts_with("ended: "));
}

/// Without the rights or with settings that contradict each other nothing happens.
#[test]
fn what_cannot_be_disturbed_is_refused() {
    let fails = |words: &[&str]| {
        let output = liftmesh(&[&["lab", "loss"], words].concat()).output().unwrap();
        assert!(!output.status.success());
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(fails(&["--ports", "15000", "--delay", "50ms"]).contains("--delay needs --relay"));
    assert!(fails(&["--relay", "15000=nowhere"]).contains("TO is IP:PORT"));
    assert!(fails(&[]).contains("--ports"));
}
