//! The requests of Modbus, over TCP or a serial port.

use std::future::Future;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{fmt, thread};

use serialport::{ClearBuffer, Parity, SerialPort, TTYPort};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_modbus::client::{self, Client};
use tokio_modbus::{Error, ExceptionCode, Request, Response, Slave};

use crate::line::dial;
use crate::url::ModbusUrl;

/// How often a request on a serial line is made before its answer counts as missing: noise damages
/// single frames.
const RTU_ATTEMPTS: u32 = 3;

/// The bits of a byte on a serial line, with the parity that Modbus has by default and a stop bit.
const BITS_PER_BYTE: u32 = 11;

/// The silence between two frames on a serial line: 3.5 bytes, but not less than this.
const SHORTEST_GAP: Duration = Duration::from_micros(1750);

// The names of the tables.
const COIL: &str = "coil";
pub(super) const DISCRETE_INPUT: &str = "discrete input";
pub(super) const INPUT_REGISTER: &str = "input register";
const HOLDING_REGISTER: &str = "holding register";

/// Some neighbours in a table, which are read or written together: the first one, counted from 0 as
/// in the bytes of a request, and how many.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span(pub(super) &'static str, pub(super) u16, pub(super) u16);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self(table, first, 1) => write!(f, "{table} {first}"),
            Self(table, first, count) => write!(f, "{table}s {first} to {}", first + (count - 1)),
        }
    }
}

/// What ends a connection.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    #[error("cannot connect: {0}")]
    Unreachable(io::Error),
    #[error("{0}: no answer in time")]
    Silent(Span),
    #[error("{0}: {1}")]
    Broken(Span, io::Error),
    #[error("{0}: the PLC refuses with exception {code}: {1}", code = u8::from(*.1))]
    Refused(Span, ExceptionCode),
    #[error("{0}: the answer is garbled")]
    Garbled(Span),
    #[error("{0}: {1}")]
    Impossible(Span, String),
}

/// A connection to a PLC. Everything blocks, at most for the limit of an answer.
pub(super) struct Wire {
    port: Port,
    unit: Slave,
    limit: Duration,
    client: client::Context,
}

impl Wire {
    /// Connects to the PLC, which may take `limit` for each answer.
    pub(super) fn open(url: &ModbusUrl, limit: Duration) -> Result<Self, Fault> {
        let (port, unit, limit) = match url {
            ModbusUrl::Tcp { host, port, unit } => (Port::tcp(host, *port, limit), *unit, limit),
            ModbusUrl::Rtu { path, baud, unit } => {
                (Port::rtu(path, *baud), *unit, limit / RTU_ATTEMPTS)
            }
        };
        let port = port.map_err(Fault::Unreachable)?;
        let client = port.attach(Slave(unit), limit).map_err(Fault::Unreachable)?;
        Ok(Self { port, unit: Slave(unit), limit, client })
    }

    pub(super) fn write_coils(&mut self, coils: &[bool]) -> Result<(), Fault> {
        let at = Span(COIL, 0, count(coils));
        self.write(at, &Request::WriteMultipleCoils(0, coils.into()))
    }

    pub(super) fn write_registers(&mut self, first: u16, words: &[u16]) -> Result<(), Fault> {
        let at = Span(HOLDING_REGISTER, first, count(words));
        self.write(at, &Request::WriteMultipleRegisters(first, words.into()))
    }

    fn write(&mut self, at: Span, request: &Request<'_>) -> Result<(), Fault> {
        match self.call(at, request)? {
            Response::WriteMultipleCoils(first, count)
            | Response::WriteMultipleRegisters(first, count)
                if (first, count) == (at.1, at.2) =>
            {
                Ok(())
            }
            _ => Err(Fault::Garbled(at)),
        }
    }

    /// The first input registers.
    pub(super) fn read_registers<const COUNT: usize>(&mut self) -> Result<[u16; COUNT], Fault> {
        let at = Span(INPUT_REGISTER, 0, count(&[(); COUNT]));
        match self.call(at, &Request::ReadInputRegisters(0, at.2))? {
            Response::ReadInputRegisters(words) => words.try_into().ok(),
            _ => None,
        }
        .ok_or(Fault::Garbled(at))
    }

    /// The first discrete inputs.
    pub(super) fn read_inputs(&mut self, count: u16) -> Result<Vec<bool>, Fault> {
        let at = Span(DISCRETE_INPUT, 0, count);
        match self.call(at, &Request::ReadDiscreteInputs(0, count))? {
            Response::ReadDiscreteInputs(bits) if bits.len() >= usize::from(count) => Ok(bits),
            _ => Err(Fault::Garbled(at)),
        }
    }

    fn call(&mut self, at: Span, request: &Request<'_>) -> Result<Response, Fault> {
        let mut attempts = match self.port {
            Port::Tcp(_) => 1,
            Port::Rtu { .. } => RTU_ATTEMPTS,
        };
        loop {
            attempts -= 1;
            match self.attempt(at, request.clone()) {
                Err(Fault::Silent(_) | Fault::Garbled(_)) if attempts > 0 => {
                    // The old client may have read the beginning of a frame that has no end.
                    let client = self.port.attach(self.unit, self.limit);
                    self.client = client.map_err(|error| Fault::Broken(at, error))?;
                }
                outcome => return outcome,
            }
        }
    }

    fn attempt(&mut self, at: Span, request: Request<'_>) -> Result<Response, Fault> {
        // The stream below blocks, so whatever waits for it is done when it is polled once.
        let answer = pin!(self.client.call(request));
        match answer.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(Ok(response))) => Ok(response),
            Poll::Ready(Ok(Err(exception))) => Err(Fault::Refused(at, exception)),
            Poll::Ready(Err(Error::Protocol(_))) => Err(Fault::Garbled(at)),
            Poll::Ready(Err(Error::Transport(error))) => Err(match error.kind() {
                io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Fault::Silent(at),
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Fault::Garbled(at),
                _ => Fault::Broken(at, error),
            }),
            Poll::Pending => Err(Fault::Silent(at)),
        }
    }
}

fn count<T>(values: &[T]) -> u16 {
    u16::try_from(values.len()).unwrap_or(u16::MAX)
}

#[derive(Debug)]
enum Port {
    Tcp(TcpStream),
    Rtu { port: TTYPort, baud: u32 },
}

impl Port {
    fn tcp(host: &str, port: u16, limit: Duration) -> io::Result<Self> {
        let stream = dial(host, port, limit)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(limit))?;
        Ok(Self::Tcp(stream))
    }

    fn rtu(path: &str, baud: u32) -> io::Result<Self> {
        let port = serialport::new(path, baud).parity(Parity::Even).open_native()?;
        Ok(Self::Rtu { port, baud })
    }

    fn attach(&self, unit: Slave, limit: Duration) -> io::Result<client::Context> {
        let stream = |port| Stream { port, limit, deadline: Instant::now() };
        Ok(match self {
            Self::Tcp(port) => {
                client::tcp::attach_slave(stream(Self::Tcp(port.try_clone()?)), unit)
            }
            Self::Rtu { port, baud } => {
                let port = Self::Rtu { port: port.try_clone_native()?, baud: *baud };
                client::rtu::attach_slave(stream(port), unit)
            }
        })
    }
}

/// A port whose answers have to be there in time. It blocks where a stream of an async runtime would
/// say that it is pending: a line has a thread of its own.
#[derive(Debug)]
struct Stream {
    port: Port,
    limit: Duration,
    deadline: Instant,
}

impl Stream {
    /// Writes a request, and forgets what has come in too late for an earlier one.
    fn send(&mut self, request: &[u8]) -> io::Result<()> {
        match &mut self.port {
            Port::Tcp(port) => {
                port.write_all(request)?;
                self.deadline = Instant::now() + self.limit;
            }
            Port::Rtu { port, baud } => {
                let byte = Duration::from_secs(1) * BITS_PER_BYTE / *baud;
                thread::sleep((byte * 7 / 2).max(SHORTEST_GAP));
                port.clear(ClearBuffer::Input)?;
                port.set_timeout(self.limit)?;
                port.write_all(request)?;
                let bytes = count(request).saturating_add(length_of_answer(request));
                self.deadline = Instant::now() + self.limit + byte * u32::from(bytes);
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let rest = self.deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let read = match &mut self.port {
                Port::Tcp(port) => {
                    port.set_read_timeout(Some(rest))?;
                    port.read(buffer)
                }
                Port::Rtu { port, .. } => {
                    port.set_timeout(rest)?;
                    port.read(buffer)
                }
            };
            match read {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

/// The length of the answer to a request on a serial line: unit, function, values, checksum.
fn length_of_answer(request: &[u8]) -> u16 {
    let Some(&[_unit, function, _, _, high, low]) = request.first_chunk() else { return 0 };
    let count = u16::from_be_bytes([high, low]);
    match function {
        2 => count.div_ceil(8).saturating_add(5),
        4 => count.saturating_mul(2).saturating_add(5),
        _ => 8,
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = self.get_mut().receive(buffer.initialize_unfilled());
        Poll::Ready(read.map(|length| buffer.advance(length)))
    }
}

impl AsyncWrite for Stream {
    /// The client writes each request in one go.
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        request: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.get_mut().send(request).map(|()| request.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
