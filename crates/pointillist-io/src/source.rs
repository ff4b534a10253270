//! Inputs, each opened once: a pipe gives every byte only one time.
//!
//! The beginning is read and kept, what the input is gets decided by it, and the reading goes on from there. A file can be opened again, which
//! a second pass may do; a pipe, a device or standard input cannot.

use super::geojson;
use super::input_error::InputError;
use super::model_file::{self, is_json};
use super::stream::LONGEST_LINE;
use super::table::{bad_gzip, is_line_end, is_text, source_name, unreadable};
use super::{memory, parquet::Parquet, summary_file};
use flate2::read::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that are looked at to tell what an input is.
const HEAD: usize = 4096;
/// Bytes that are read before the next look at what has come so far.
const BLOCK: usize = 1 << 20;

/// All bytes of the document in JSON at `path`, or on standard input if that is `-`: a model, or whatever else this program writes itself.
pub fn read_file(path: &str) -> Result<Vec<u8>, InputError> {
    Opened::open(path)?.document(model_file::GROWTH)
}

/// Where bytes come from.
pub enum Input {
    /// A file, or a pipe or device that has a name.
    File(File),
    /// Standard input.
    Standard,
    /// The program itself.
    Memory(&'static [u8]),
}

impl Input {
    /// The file at `path`, or standard input if that is `-`.
    pub fn open(path: &str) -> Result<Self, InputError> {
        if path == "-" {
            return Ok(Self::Standard);
        }
        let open = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
            true => Err(io::ErrorKind::IsADirectory.into()),
            false => Ok(file),
        });
        open.map(Self::File).map_err(|error| unreadable(path, error))
    }

    /// Its length, which only what can be opened again has.
    fn size(&self) -> Option<u64> {
        match self {
            Self::File(file) => file.metadata().ok().filter(|metadata| metadata.is_file()).map(|found| found.len()),
            Self::Standard => None,
            Self::Memory(bytes) => Some(bytes.len() as u64),
        }
    }
}

/// An input of which the beginning has been read.
pub struct Opened {
    source: String,
    head: Vec<u8>,
    /// What comes after the head.
    rest: Input,
    /// Bytes in all, if it is a file.
    size: Option<u64>,
    /// Whether its last bytes are those of a Parquet file; false where they cannot be looked at.
    ends_as_parquet: bool,
}

impl Opened {
    /// Looks at the beginning of an input, called `source` in messages.
    pub fn new(source: &str, input: Input) -> Result<Self, InputError> {
        Self::peek(source, input).map_err(|error| unreadable(source, error))
    }

    /// The same for the file at `path`, or standard input if that is `-`.
    pub fn open(path: &str) -> Result<Self, InputError> {
        Self::new(source_name(path), Input::open(path)?)
    }

    fn peek(source: &str, mut rest: Input) -> io::Result<Self> {
        let size = rest.size();
        let mut head = Vec::with_capacity(HEAD);
        let mut ends_as_parquet = false;
        match &mut rest {
            Input::File(file) => {
                file.by_ref().take(HEAD as u64).read_to_end(&mut head)?;
                // A pipe or a device has no end to look at.
                if head.starts_with(b"PAR1") && size.is_some_and(|size| size >= 8) {
                    let mut tail = [0; 4];
                    file.seek(SeekFrom::End(-4))?;
                    file.read_exact(&mut tail)?;
                    file.seek(SeekFrom::Start(head.len() as u64))?;
                    ends_as_parquet = &tail == b"PAR1";
                }
            }
            Input::Standard => {
                io::stdin().lock().take(HEAD as u64).read_to_end(&mut head)?;
            }
            Input::Memory(bytes) => {
                let length = bytes.len().min(HEAD);
                head.extend_from_slice(&bytes[..length]);
                *bytes = &bytes[length..];
            }
        }
        Ok(Self { source: source.to_string(), head, rest, size, ends_as_parquet })
    }

    /// What it is called in messages.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Bytes in all, if known.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// Whether opening it again gives the same bytes again.
    pub fn can_be_read_again(&self) -> bool {
        self.size.is_some()
    }

    /// Whether it is a summary of events.
    pub fn is_summary(&self) -> bool {
        summary_file::is_summary(&self.head)
    }

    /// Whether it is compressed.
    pub fn is_gzip(&self) -> bool {
        self.head.starts_with(b"\x1f\x8b")
    }

    /// Whether it is a Parquet file. A text may begin as one does, but it does not end so as well.
    pub fn is_parquet(&self) -> bool {
        self.head.starts_with(b"PAR1") && (self.ends_as_parquet || !is_text(&self.head))
    }

    /// How many rows it has, if it is a Parquet file that says so without being read.
    pub fn parquet_rows(self) -> Result<Option<u64>, InputError> {
        match self.rest {
            Input::File(_) if self.is_parquet() && self.can_be_read_again() => Ok(Some(self.parquet()?.rows())),
            _ => Ok(None),
        }
    }

    /// The Parquet file that it is; what cannot be read here and there is held in memory.
    pub(super) fn parquet(self) -> Result<Parquet, InputError> {
        match self.rest {
            Input::File(file) if self.size.is_some() => Parquet::of_file(&self.source, file),
            _ => Parquet::of_bytes(&self.source.clone(), self.table()?),
        }
    }

    /// All of it from the beginning as it stands, the bytes counted.
    pub(super) fn reader(self, read: Arc<AtomicU64>) -> impl Read + Send {
        let rest: Box<dyn Read + Send> = match self.rest {
            Input::File(file) => Box::new(file),
            Input::Standard => Box::new(io::stdin()),
            Input::Memory(bytes) => Box::new(bytes),
        };
        Counted { inner: io::Cursor::new(self.head).chain(rest), read }
    }

    /// The same, decompressed if it is gzip.
    pub(super) fn unpacked(self, read: Arc<AtomicU64>) -> Box<dyn Read + Send> {
        let is_gzip = self.is_gzip();
        let plain = self.reader(read);
        match is_gzip {
            true => Box::new(MultiGzDecoder::new(BufReader::with_capacity(1 << 16, plain))),
            false => Box::new(plain),
        }
    }

    /// Whether it is a document in JSON, compressed or not, which no table begins as.
    pub fn is_json(&self) -> bool {
        let mut start = Vec::new();
        if self.is_gzip() {
            // The head is only a part of it, so that there is an end where none should be.
            let _ = MultiGzDecoder::new(&self.head[..]).take(HEAD as u64).read_to_end(&mut start);
        }
        is_json(if self.is_gzip() { &start } else { &self.head })
    }

    /// All bytes of a table, or of a GeoJSON document with events, decompressed, as long as memory allows. A text with a line that has no end is refused on the way.
    pub fn table(self) -> Result<Vec<u8>, InputError> {
        if self.is_json() {
            return self.document(geojson::GROWTH);
        }
        let kind = if self.is_summary() || self.is_parquet() { Kind::Binary } else { Kind::Table };
        self.all(kind, memory::limit())
    }

    /// All bytes of a summary.
    pub fn summary(self) -> Result<Vec<u8>, InputError> {
        self.all(Kind::Binary, memory::limit())
    }

    /// All bytes of a document in JSON, decompressed, that takes some `growth` times its length while it is parsed. What is clearly none is
    /// not read to its end: who parses it will say so.
    pub fn document(self, growth: u64) -> Result<Vec<u8>, InputError> {
        self.all(Kind::Json, memory::limit() / growth)
    }

    fn all(self, kind: Kind, most: u64) -> Result<Vec<u8>, InputError> {
        let (source, is_gzip) = (self.source.clone(), self.is_gzip());
        let expected = self.size.filter(|_| !is_gzip);
        let hold = Hold { source: &source, is_gzip, most, kind };
        hold.all(self.unpacked(Arc::default()), expected)
    }
}

/// What bytes are to be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Table,
    Json,
    Binary,
}

/// How bytes are taken into memory.
struct Hold<'a> {
    source: &'a str,
    is_gzip: bool,
    /// The most bytes.
    most: u64,
    kind: Kind,
}

impl Hold<'_> {
    /// All bytes of a reader, block by block, with room made for those that are expected.
    fn all(&self, mut reader: impl Read, expected: Option<u64>) -> Result<Vec<u8>, InputError> {
        let (mut bytes, mut line_start) = (Vec::new(), 0);
        self.check_size(expected.unwrap_or(0))?;
        // One more than expected: the end is found without growing.
        bytes.reserve(expected.map_or(0, |size| size as usize + 1));
        loop {
            let before = bytes.len();
            reader.by_ref().take(BLOCK as u64).read_to_end(&mut bytes).map_err(|error| match self.is_gzip {
                true => bad_gzip(self.source, error),
                false => unreadable(self.source, error),
            })?;
            let new = &bytes[before..];
            if new.is_empty() || self.kind == Kind::Json && (new.contains(&0) || !is_json(&bytes)) {
                return Ok(bytes);
            }
            let line_end = new.iter().rposition(|&byte| is_line_end(byte));
            line_start = line_end.map_or(line_start, |end| before + end + 1);
            if self.kind == Kind::Table && bytes.len() - line_start > LONGEST_LINE {
                return Err(endless(self.source, &bytes[line_start..], line_of(&bytes, line_start)));
            }
            self.check_size(bytes.len() as u64)?;
        }
    }

    fn check_size(&self, size: u64) -> Result<(), InputError> {
        let (file, limit) = (self.source.to_string(), memory::limit());
        match self.kind {
            _ if size <= self.most => Ok(()),
            Kind::Table => Err(InputError::TooLarge { file, limit }),
            _ => Err(InputError::LargeDocument { file, size, limit }),
        }
    }
}

/// The number of the line that begins at `start`.
fn line_of(bytes: &[u8], start: usize) -> u64 {
    1 + bytes[..start].iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// What to say of a line that goes on and on.
pub(super) fn endless(source: &str, line: &[u8], number: u64) -> InputError {
    let file = source.to_string();
    match line.contains(&0) {
        true => InputError::Unsupported { file, format: "a binary file" },
        false => InputError::LongLine { file, line: number, megabytes: LONGEST_LINE >> 20 },
    }
}

/// A reader that says how far it is.
struct Counted<R> {
    inner: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
