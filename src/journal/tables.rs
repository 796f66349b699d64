//! The tables of the journal's database.
//!
//! | table | key → value |
//! | --- | --- |
//! | `numbers` | name → number: the format, the journal's identity, reserved sequences, the term |
//! | `names` | name → text: the node's name |
//! | `orders` | [`record::order_key`] → [`record::order`] |
//! | `flight-times` | [`record::leg_key`] → [`record::flight_times`]; may be absent |
//! | `directives` | key → [`record::directive`]; may be absent |
//! | `statistics` | number of a quarter of an hour → see [`super::statistics`]; may be absent |
//! | `audit` | number → JSON, see [`super::audit`] |
//!
//! `numbers` and `names` keep their types for ever: they say whose journal it is, and of which
//! format. A kind of data that is new gets a table of its own, or a number, which an older program
//! does not look at and an older file does not have; so it needs no new format. A table that
//! changes needs one.

use std::collections::BTreeSet;
use std::time::SystemTime;

use elevator_fleet::car::FlightRecord;
use elevator_fleet::directives::Directive;
use elevator_fleet::model::{JournalId, NodeId, Term};
use elevator_fleet::node::{Change, Restored};
use elevator_fleet::orders::Record;
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, Table, TableDefinition, TableError,
};

use super::error::{OtherFormat, ReadError};
use super::{commit, record};

/// The format that this program reads and writes.
pub(super) const FORMAT: u64 = 2;

type Bytes = &'static [u8];

const ORDERS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("orders");
const FLIGHT_TIMES: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("flight-times");
const DIRECTIVES: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("directives");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const NAMES: TableDefinition<'_, &str, &str> = TableDefinition::new("names");

const KEY_FORMAT: &str = "format";
const KEY_JOURNAL: &str = "journal";
const KEY_RESERVED: &str = "reserved";
const KEY_TERM: &str = "term";
const KEY_NODE: &str = "node";

/// What a database holds.
#[derive(Debug)]
pub(super) enum Contents {
    /// It was only just made.
    Empty,
    /// It has a format that this program does not read.
    Other(OtherFormat),
    /// A journal.
    Journal {
        /// The name of its node.
        owner: NodeId,
        /// The contents; nothing is reserved beyond what may have been used.
        restored: Restored,
    },
}

/// Reads everything; orders have the age that they have at this moment.
pub(super) fn read(database: &Database, now: SystemTime) -> Result<Contents, ReadError> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(Contents::Empty);
    }
    let numbers = transaction.open_table(NUMBERS)?;
    let find = |key: &'static str| -> Result<Option<u64>, ReadError> {
        Ok(numbers.get(key)?.map(|value| value.value()))
    };
    let number = |key| find(key)?.ok_or(ReadError::Malformed(key));
    let format = number(KEY_FORMAT)?;
    let records = match format {
        0 => return Err(ReadError::Malformed(KEY_FORMAT)),
        FORMAT => read_orders(&transaction, now)?,
        other => return Ok(Contents::Other(OtherFormat::Journal(other))),
    };
    let journal = JournalId(number(KEY_JOURNAL)?);
    let owner = owner(&transaction)?;
    let own = records.iter().map(|record| record.dot).filter(|dot| dot.journal == journal);
    let used = own.map(|dot| dot.sequence).chain([number(KEY_RESERVED)?]).max().unwrap_or_default();
    super::audit::check(&transaction)?;
    let term = Term(find(KEY_TERM)?.unwrap_or_default());
    Ok(Contents::Journal {
        owner,
        restored: Restored {
            journal,
            used,
            reserved: used,
            term,
            records,
            flight_times: read_flight_times(&transaction)?,
            directives: read_directives(&transaction)?,
        },
    })
}

/// The name of the journal's node.
pub(super) fn owner(transaction: &ReadTransaction) -> Result<NodeId, ReadError> {
    let name = transaction.open_table(NAMES)?.get(KEY_NODE)?;
    name.and_then(|name| NodeId::new(name.value()).ok()).ok_or(ReadError::Malformed(KEY_NODE))
}

fn read_orders(transaction: &ReadTransaction, now: SystemTime) -> Result<Vec<Record>, ReadError> {
    let orders = match transaction.open_table(ORDERS) {
        Ok(orders) => orders,
        Err(TableError::TableDoesNotExist(name)) => {
            return Err(ReadError::Other(OtherFormat::Tables(name)));
        }
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    for entry in orders.iter()? {
        let (_, bytes) = entry?;
        records.push(record::read_order(bytes.value(), now)?);
    }
    Ok(records)
}

fn read_flight_times(transaction: &ReadTransaction) -> Result<Vec<FlightRecord>, ReadError> {
    let legs = match transaction.open_table(FLIGHT_TIMES) {
        Ok(legs) => legs,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    for entry in legs.iter()? {
        let (_, bytes) = entry?;
        records.push(record::read_flight_times(bytes.value())?);
    }
    Ok(records)
}

fn read_directives(transaction: &ReadTransaction) -> Result<Vec<Directive>, ReadError> {
    let directives = match transaction.open_table(DIRECTIVES) {
        Ok(directives) => directives,
        Err(TableError::TableDoesNotExist(_)) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut records = Vec::new();
    for entry in directives.iter()? {
        let (_, bytes) = entry?;
        records.push(record::read_directive(bytes.value())?);
    }
    Ok(records)
}

/// Makes an empty journal.
pub(super) fn make(
    database: &Database,
    node: &NodeId,
    journal: JournalId,
) -> Result<(), redb::Error> {
    let transaction = commit::begin(database)?;
    {
        let mut numbers = transaction.open_table(NUMBERS)?;
        numbers.insert(KEY_FORMAT, FORMAT)?;
        numbers.insert(KEY_JOURNAL, journal.0)?;
        numbers.insert(KEY_RESERVED, 0)?;
        transaction.open_table(NAMES)?.insert(KEY_NODE, node.as_str())?;
        transaction.open_table(ORDERS)?;
    }
    Ok(transaction.commit()?)
}

/// Writes changes, all or none, at this moment of the wall clock; they are on disk when this
/// returns.
pub(super) fn write<'a>(
    database: &Database,
    changes: impl IntoIterator<Item = &'a Change>,
    now: SystemTime,
) -> Result<(), redb::Error> {
    let transaction = commit::begin(database)?;
    {
        let mut orders = transaction.open_table(ORDERS)?;
        let mut numbers = transaction.open_table(NUMBERS)?;
        for change in changes {
            match change {
                Change::Record(record) => write_order(&mut orders, record, now)?,
                Change::Collect(journal) => {
                    let [from, to] = record::journal_keys(*journal);
                    orders.retain_in(from.as_slice()..=to.as_slice(), |_, _| false)?;
                }
                Change::Journal(journal) => {
                    numbers.insert(KEY_JOURNAL, journal.0)?;
                    numbers.insert(KEY_RESERVED, 0)?;
                }
                Change::Reserve(sequence) => raise(&mut numbers, KEY_RESERVED, *sequence)?,
                Change::Term(term) => raise(&mut numbers, KEY_TERM, term.0)?,
                Change::Directives(all) => {
                    write_directives(&mut transaction.open_table(DIRECTIVES)?, all)?;
                }
                Change::FlightTimes(learned) => {
                    let mut legs = transaction.open_table(FLIGHT_TIMES)?;
                    let (key, value) = (record::leg_key(learned)?, record::flight_times(learned)?);
                    legs.insert(key.as_slice(), value.as_slice())?;
                }
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Replaces all directives, of which most are usually as before.
fn write_directives(
    directives: &mut Table<'_, Bytes, Bytes>,
    all: &[Directive],
) -> Result<(), redb::Error> {
    let key = |directive: &Directive| directive.key.as_str().as_bytes().to_vec();
    let keys: BTreeSet<Vec<u8>> = all.iter().map(key).collect();
    directives.retain(|key, _| keys.contains(key))?;
    for directive in all {
        let (key, value) = (key(directive), record::directive(directive)?);
        let known = directives.get(key.as_slice())?.is_some_and(|known| known.value() == value);
        if !known {
            directives.insert(key.as_slice(), value.as_slice())?;
        }
    }
    Ok(())
}

fn write_order(
    orders: &mut Table<'_, Bytes, Bytes>,
    record: &Record,
    now: SystemTime,
) -> Result<(), redb::Error> {
    let (key, value) = (record::order_key(record)?, record::order(record, now)?);
    orders.insert(key.as_slice(), value.as_slice())?;
    Ok(())
}

/// Writes a number that never becomes less.
fn raise(
    numbers: &mut Table<'_, &'static str, u64>,
    key: &str,
    value: u64,
) -> Result<(), redb::Error> {
    let before = numbers.get(key)?.map_or(0, |before| before.value());
    numbers.insert(key, before.max(value))?;
    Ok(())
}
