//! The tables of the journal's database.

use elevator_fleet::model::{JournalId, NodeId};
use elevator_fleet::node::{Change, Restored};
use elevator_fleet::orders::Record;
use redb::{Database, ReadTransaction, ReadableDatabase, ReadableTable, TableDefinition};

/// The format that this program reads and writes.
pub(super) const FORMAT: u64 = 1;

/// A register's journal and call (postcard) → its record (postcard).
const REGISTERS: TableDefinition<'_, (u64, &[u8]), &[u8]> = TableDefinition::new("registers");
const NUMBERS: TableDefinition<'_, &str, u64> = TableDefinition::new("numbers");
const NAMES: TableDefinition<'_, &str, &str> = TableDefinition::new("names");

const KEY_FORMAT: &str = "format";
const KEY_JOURNAL: &str = "journal";
const KEY_RESERVED: &str = "reserved";
const KEY_NODE: &str = "node";

/// What a database holds.
#[derive(Debug)]
pub(super) enum Contents {
    /// It was only just made.
    Empty,
    /// It has another format than this program reads.
    Format(u64),
    /// A journal.
    Journal {
        /// The name of its node.
        owner: String,
        /// All that stands in it; nothing is reserved beyond what may have been used.
        restored: Restored,
    },
}

/// Why a database can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The database says so.
    #[error("the database can't be read")]
    Database(#[source] Box<redb::Error>),
    /// Something in it is not what it should be.
    #[error("{0} is missing or malformed")]
    Malformed(&'static str),
}

impl<E: Into<redb::Error>> From<E> for ReadError {
    fn from(error: E) -> Self {
        Self::Database(Box::new(error.into()))
    }
}

/// Reads everything.
pub(super) fn read(database: &Database) -> Result<Contents, ReadError> {
    let transaction = database.begin_read()?;
    if transaction.list_tables()?.next().is_none() {
        return Ok(Contents::Empty);
    }
    let numbers = transaction.open_table(NUMBERS)?;
    let number = |key: &'static str| -> Result<u64, ReadError> {
        let value = numbers.get(key)?.ok_or(ReadError::Malformed(key))?;
        Ok(value.value())
    };
    let format = number(KEY_FORMAT)?;
    if format != FORMAT {
        return Ok(Contents::Format(format));
    }
    let journal = JournalId(number(KEY_JOURNAL)?);
    let owner = transaction.open_table(NAMES)?.get(KEY_NODE)?;
    let owner = owner.ok_or(ReadError::Malformed(KEY_NODE))?;
    let owner = owner.value().to_owned();
    let records = read_records(&transaction)?;
    let own = records
        .iter()
        .map(|record| record.dot)
        .filter(|dot| dot.journal == journal);
    let used = own
        .map(|dot| dot.sequence)
        .chain([number(KEY_RESERVED)?])
        .max()
        .unwrap_or_default();
    Ok(Contents::Journal {
        owner,
        restored: Restored {
            journal,
            used,
            reserved: used,
            records,
        },
    })
}

fn read_records(transaction: &ReadTransaction) -> Result<Vec<Record>, ReadError> {
    let registers = transaction.open_table(REGISTERS)?;
    let mut records = Vec::new();
    for entry in registers.iter()? {
        let (_, bytes) = entry?;
        let Ok(record) = postcard::from_bytes(bytes.value()) else {
            return Err(ReadError::Malformed("a register"));
        };
        records.push(record);
    }
    Ok(records)
}

/// Makes an empty journal.
pub(super) fn make(
    database: &Database,
    node: &NodeId,
    journal: JournalId,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut numbers = transaction.open_table(NUMBERS)?;
        numbers.insert(KEY_FORMAT, FORMAT)?;
        numbers.insert(KEY_JOURNAL, journal.0)?;
        numbers.insert(KEY_RESERVED, 0)?;
        transaction
            .open_table(NAMES)?
            .insert(KEY_NODE, node.as_str())?;
        transaction.open_table(REGISTERS)?;
    }
    Ok(transaction.commit()?)
}

/// Writes changes, all or none; they are on disk when this returns.
pub(super) fn write<'a>(
    database: &Database,
    changes: impl IntoIterator<Item = &'a Change>,
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    {
        let mut registers = transaction.open_table(REGISTERS)?;
        let mut numbers = transaction.open_table(NUMBERS)?;
        for change in changes {
            match change {
                Change::Record(record) => {
                    let call = encode(&record.call)?;
                    let value = encode(record)?;
                    let key = (record.dot.journal.0, call.as_slice());
                    registers.insert(key, value.as_slice())?;
                }
                Change::Reserve(sequence) => {
                    let before = numbers.get(KEY_RESERVED)?.map_or(0, |value| value.value());
                    numbers.insert(KEY_RESERVED, before.max(*sequence))?;
                }
            }
        }
    }
    Ok(transaction.commit()?)
}

fn encode<T: serde::Serialize>(value: &T) -> Result<Vec<u8>, redb::Error> {
    postcard::to_stdvec(value).map_err(|error| std::io::Error::other(error).into())
}
