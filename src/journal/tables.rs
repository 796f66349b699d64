//! The tables of the journal's database.
//!
//! | table | key → value |
//! | --- | --- |
//! | `numbers` | name → number: the format, the term |
//! | `names` | name → text: the node's name |
//! | `orders` | dot → [`record::StoredOrder`] |
//! | `flight-times` | leg → flight times |
//! | `settings` | key → setting |
//! | `counters` | – → what the car has done; journals without it have counted nothing |
//! | `statistics` | number of a quarter of an hour → what was seen in it |
//! | `audit` | number → JSON, see [`super::audit`] |
//!
//! All but names, numbers and the audit log is in postcard. `numbers` and `names` keep their types
//! for ever: they say whose journal it is, and in which format. Any other change of a table needs a
//! new format.

use std::io;
use std::time::SystemTime;

use elevator_fleet::model::{Counters, NodeId, Term};
use elevator_fleet::node::{Change, Restored};
use redb::{
    Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition, TableError,
    WriteTransaction,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::audit::AUDIT;
use super::header;
use super::record::{StoredOrder, order_key};
use crate::statistics::{Changes, Quarter, Slot};

pub(super) const FORMAT: u64 = 3;

type Bytes = &'static [u8];

pub(super) const ORDERS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("orders");
pub(super) const FLIGHT_TIMES: TableDefinition<'_, Bytes, Bytes> =
    TableDefinition::new("flight-times");
pub(super) const SETTINGS: TableDefinition<'_, Bytes, Bytes> = TableDefinition::new("settings");
pub(super) const COUNTERS: TableDefinition<'_, (), Bytes> = TableDefinition::new("counters");
pub(super) const STATISTICS: TableDefinition<'_, u32, Bytes> = TableDefinition::new("statistics");
pub(super) const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
pub(super) const NAMES: TableDefinition<'_, &str, &str> = TableDefinition::new("names");

const KEY_FORMAT: &str = "format";
const KEY_TERM: &str = "term";
const KEY_NODE: &str = "node";

#[derive(Debug)]
pub(super) enum ReadError {
    Database(redb::Error),
    Format(u64),
    Malformed(&'static str),
}

impl<E: Into<redb::Error>> From<E> for ReadError {
    fn from(error: E) -> Self {
        Self::Database(error.into())
    }
}

/// Reads what a node restores, and whose it is; `None` if the database was only just made.
pub(super) fn read(
    database: &Database,
    now: SystemTime,
) -> Result<Option<(NodeId, Restored)>, ReadError> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(None);
    }
    let numbers = transaction.open_table(NUMBERS)?;
    match numbers.get(KEY_FORMAT)?.map(|format| format.value()) {
        Some(FORMAT) => {}
        None | Some(0) => return Err(ReadError::Malformed(KEY_FORMAT)),
        Some(other) => return Err(ReadError::Format(other)),
    }
    transaction.open_table(AUDIT)?;
    transaction.open_table(STATISTICS)?;
    let orders: Vec<StoredOrder> = values(&transaction, ORDERS)?;
    let restored = Restored {
        term: Term(numbers.get(KEY_TERM)?.map_or(0, |term| term.value())),
        records: orders.into_iter().map(|order| order.at(now)).collect(),
        flight_times: values(&transaction, FLIGHT_TIMES)?,
        settings: values(&transaction, SETTINGS)?,
        counters: counters(&transaction)?,
    };
    Ok(Some((owner(&transaction)?, restored)))
}

pub(super) fn owner(transaction: &ReadTransaction) -> Result<NodeId, ReadError> {
    let name = transaction.open_table(NAMES)?.get(KEY_NODE)?;
    name.and_then(|name| NodeId::new(name.value()).ok()).ok_or(ReadError::Malformed(KEY_NODE))
}

fn values<T: DeserializeOwned>(
    transaction: &ReadTransaction,
    table: TableDefinition<'static, Bytes, Bytes>,
) -> Result<Vec<T>, ReadError> {
    let mut values = Vec::new();
    for entry in transaction.open_table(table)?.iter()? {
        values.push(decode(entry?.1.value(), "a record")?);
    }
    Ok(values)
}

fn counters(transaction: &ReadTransaction) -> Result<Option<Counters>, ReadError> {
    let table = match transaction.open_table(COUNTERS) {
        Err(TableError::TableDoesNotExist(_)) => return Ok(None),
        table => table?,
    };
    table.get(())?.map(|bytes| decode(bytes.value(), "what was counted")).transpose()
}

pub(super) fn read_statistics(database: &Database) -> Result<Vec<(Slot, Quarter)>, ReadError> {
    let mut quarters = Vec::new();
    for entry in database.begin_read()?.open_table(STATISTICS)?.iter()? {
        let (slot, bytes) = entry?;
        quarters.push((Slot(slot.value()), decode(bytes.value(), "a quarter of an hour")?));
    }
    Ok(quarters)
}

fn decode<T: DeserializeOwned>(bytes: &[u8], what: &'static str) -> Result<T, ReadError> {
    match postcard::take_from_bytes(bytes) {
        Ok((value, [])) => Ok(value),
        Ok((_, [_, ..])) | Err(_) => Err(ReadError::Malformed(what)),
    }
}

pub(super) fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, redb::Error> {
    postcard::to_stdvec(value).map_err(|error| io::Error::other(error).into())
}

pub(super) fn make(database: &Database, node: &NodeId) -> Result<(), redb::Error> {
    let transaction = header::begin(database)?;
    transaction.open_table(NUMBERS)?.insert(KEY_FORMAT, FORMAT)?;
    transaction.open_table(NAMES)?.insert(KEY_NODE, node.as_str())?;
    transaction.open_table(ORDERS)?;
    transaction.open_table(FLIGHT_TIMES)?;
    transaction.open_table(SETTINGS)?;
    transaction.open_table(COUNTERS)?;
    transaction.open_table(STATISTICS)?;
    transaction.open_table(AUDIT)?;
    Ok(transaction.commit()?)
}

/// Writes changes, as at this moment of the wall clock.
pub(super) fn write(
    transaction: &WriteTransaction,
    changes: &[Change],
    now: SystemTime,
) -> Result<(), redb::Error> {
    let mut orders = transaction.open_table(ORDERS)?;
    for change in changes {
        match change {
            Change::Record(record) => {
                let order = encode(&StoredOrder::of(record, now))?;
                orders.insert(order_key(record.dot).as_slice(), order.as_slice())?;
            }
            Change::Forget(dot) => {
                orders.remove(order_key(*dot).as_slice())?;
            }
            Change::Term(term) => {
                // It never becomes less.
                let mut numbers = transaction.open_table(NUMBERS)?;
                let before = numbers.get(KEY_TERM)?.map_or(0, |before| before.value());
                numbers.insert(KEY_TERM, before.max(term.0))?;
            }
            Change::Setting(register) => {
                let (key, value) = (encode(&register.setting.key())?, encode(register)?);
                let mut settings = transaction.open_table(SETTINGS)?;
                settings.insert(key.as_slice(), value.as_slice())?;
            }
            Change::ForgetSetting(key) => {
                transaction.open_table(SETTINGS)?.remove(encode(key)?.as_slice())?;
            }
            Change::Counters(counted) => {
                let mut counters = transaction.open_table(COUNTERS)?;
                counters.insert((), encode(counted)?.as_slice())?;
            }
            Change::FlightTimes(learned) => {
                let (leg, times) = (encode(&learned.leg)?, encode(learned)?);
                let mut legs = transaction.open_table(FLIGHT_TIMES)?;
                legs.insert(leg.as_slice(), times.as_slice())?;
            }
        }
    }
    Ok(())
}

pub(super) fn write_statistics(
    transaction: &WriteTransaction,
    changes: &[Changes],
) -> Result<(), redb::Error> {
    let mut quarters = transaction.open_table(STATISTICS)?;
    for Changes { changed, removed } in changes {
        for slot in removed {
            quarters.remove(slot.0)?;
        }
        for (slot, quarter) in changed {
            quarters.insert(slot.0, encode(quarter)?.as_slice())?;
        }
    }
    Ok(())
}
