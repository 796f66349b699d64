//! The panel: the device can be opened, the server can be reached.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::time::Duration;

use elevator_driver::{ModbusUrl, PanelUrl};
use rustix::fs::OFlags;
use rustix::termios::isatty;

use super::{Running, Verdict};

/// How long a server may take to accept a connection.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);

pub(super) fn panel(url: &PanelUrl, running: Running) -> Verdict {
    match url {
        PanelUrl::Serial { path, .. } | PanelUrl::Modbus(ModbusUrl::Rtu { path, .. }) => {
            serial(path, running)
        }
        PanelUrl::Tcp { host, port } => tcp("elevator server", host, *port, running),
        PanelUrl::Modbus(ModbusUrl::Tcp { host, port, .. }) => tcp("PLC", host, *port, running),
    }
}

/// The device of a running node is not opened a second time: that could change its control lines.
fn serial(path: &str, running: Running) -> Verdict {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    let open = || OpenOptions::new().read(true).write(true).custom_flags(flags).open(path);
    match fs::metadata(path) {
        Ok(device) if !device.file_type().is_char_device() => {
            Verdict::wrong(format!("{path} is not a device"), "set a serial device")
        }
        Ok(_) if running == Running::Yes => {
            Verdict::good(format!("{path} exists; this node is running and may have it open"))
        }
        Ok(_) => match open() {
            Ok(device) if isatty(&device) => Verdict::good(format!("{path} can be opened")),
            Ok(_) => {
                Verdict::wrong(format!("{path} is not a serial device"), "set a serial device")
            }
            Err(error) if error.kind() == ErrorKind::ResourceBusy => Verdict::wrong(
                format!("{path} is in use by another process"),
                "stop that process, or set another device",
            ),
            Err(error) => Verdict::wrong(format!("{path} can't be opened: {error}"), RIGHTS),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Verdict::wrong(
            format!("there is no device {path}"),
            "plug the panel in, or set the device that `ls /dev/serial/by-id /dev/tty*` shows",
        ),
        Err(error) => Verdict::wrong(format!("{path} can't be reached: {error}"), RIGHTS),
    }
}

const RIGHTS: &str = "add the node's user to the group that `ls -l` shows for the device";

/// Opens and closes a connection. The server of a running node accepts that node only.
fn tcp(what: &str, host: &str, port: u16, running: Running) -> Verdict {
    if running == Running::Yes {
        return Verdict::good(format!("{host}:{port} is not tried while this node is running"));
    }
    match connect(host, port) {
        Ok(()) => Verdict::good(format!("{host}:{port} accepts connections")),
        Err(error) => Verdict::wrong(
            format!("no {what} at {host}:{port}: {error}"),
            "start it, or correct the address",
        ),
    }
}

fn connect(host: &str, port: u16) -> io::Result<()> {
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_LIMIT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
