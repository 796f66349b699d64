//! The back end against servers that answer wrongly. `tests/processes/modbus.rs` has one that
//! answers correctly.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::thread;
use std::time::Duration;

use crate::LineSettings;
use crate::line::bench::{Bench, settings};
use crate::testing;

type Answer = Box<dyn Fn(&[u8]) -> Vec<u8> + Send>;

/// Answers each request with these bytes after its transaction number, on one connection after the
/// other, until the test ends.
fn answering(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let mut request = [0; 512];
            while let Ok(length @ 1..) = stream.read(&mut request) {
                let bytes = [&request[..2], &answer(&request[7..length])].concat();
                if bytes.len() == 2 || stream.write_all(&bytes).is_err() {
                    break;
                }
            }
        }
    });
    format!("modbus+tcp://{address}?unit=7")
}

/// Unit 7 with these bytes as its answer.
fn pdu(bytes: &[u8]) -> Vec<u8> {
    [&[0, 0, 0, u8::try_from(bytes.len()).unwrap() + 1, 7], bytes].concat()
}

/// F5
#[test]
fn an_answer_that_is_wrong_is_named_with_address_and_register() {
    let registers = || pdu(&[&[4, 12][..], &[0; 12]].concat());
    let inputs = |count: u8| pdu(&[&[2, count][..], &vec![1; usize::from(count)]].concat());
    let cases: [(Answer, &str); 8] = [
        (Box::new(|_| vec![]), "input registers 0 to 5: unexpected end of file"),
        (Box::new(|_| pdu(&[0x84, 2])), "input registers 0 to 5: the PLC refuses with exception 2"),
        (Box::new(|_| b"HTTP/1.1 400 Bad Request".to_vec()), "input registers 0 to 5: no answer"),
        (Box::new(|_| vec![1, 1, 0, 1, 7]), "input registers 0 to 5: the answer is garbled"),
        (Box::new(|_| pdu(&[4, 2, 0, 0])), "input registers 0 to 5: the answer is garbled"),
        (Box::new(|_| pdu(&[3, 2, 0, 0])), "input registers 0 to 5: the answer is garbled"),
        (
            Box::new(move |request| if request[0] == 4 { registers() } else { inputs(1) }),
            "discrete inputs 0 to 39: the answer is garbled",
        ),
        (
            Box::new(move |request| match request[0] {
                4 => registers(),
                2 => inputs(5),
                function => pdu(&[function, 0, 0, 0, 1]),
            }),
            "holding register 2: the answer is garbled",
        ),
    ];
    for (answer, reason) in cases {
        let url = answering(answer);
        let mut line = Bench::open(&url, testing::floors(4), settings());
        let reason = format!("{url}: {reason}");
        line.until(|line| line.disconnections(&reason) == 1);
        assert!(!line.is_connected());
    }
}

#[test]
fn a_server_that_is_not_there_is_called_again_and_reported_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("modbus+tcp://{}", listener.local_addr().unwrap());
    drop(listener);
    let retry = Duration::from_millis(1);
    let settings = LineSettings { retry, ..settings() };
    let mut line = Bench::open(&url, testing::floors(4), settings);
    line.until(|line| line.disconnections("cannot connect: Connection refused") == 1);
    let mut serial = Bench::open("modbus+rtu:///nowhere", testing::floors(4), settings);
    serial.until(|line| line.disconnections("modbus+rtu:///nowhere?baud=19200") == 1);
    assert_eq!(line.disconnections(""), 1);
}
