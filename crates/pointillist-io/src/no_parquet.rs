//! What stands for `parquet.rs` in a build without the feature: a sentence that says so.

use super::stream::Extent;
use super::table::{InputError, Judge, Layout, ReadOptions, Rows, Table, Wanted};
use std::convert::Infallible;
use std::fs::File;

/// There is none.
pub(super) struct Parquet(Infallible);

/// There are none.
pub(super) struct Groups(Infallible);

fn none<T>(source: &str) -> Result<T, InputError> {
    Err(InputError::NoParquet { file: source.to_string() })
}

/// Refuses.
pub(super) fn layout(source: &str, _: Vec<u8>) -> Result<Layout, InputError> {
    none(source)
}

/// Refuses.
pub(super) fn read_bytes(source: &str, _: Vec<u8>, _: &ReadOptions) -> Result<Table, InputError> {
    none(source)
}

impl Parquet {
    /// Refuses.
    pub(super) fn of_bytes(source: &str, _: Vec<u8>) -> Result<Self, InputError> {
        none(source)
    }

    /// Refuses.
    pub(super) fn of_file(source: &str, _: File) -> Result<Self, InputError> {
        none(source)
    }

    pub(super) fn rows(&self) -> u64 {
        match self.0 {}
    }

    pub(super) fn columns(&self) -> &[String] {
        match self.0 {}
    }

    pub(super) fn choose(self, _: &ReadOptions) -> Result<Groups, InputError> {
        match self.0 {}
    }
}

impl Groups {
    pub(super) fn without_labels(self) -> Self {
        match self.0 {}
    }

    pub(super) fn names(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(super) fn notes(&self) -> Vec<String> {
        match self.0 {}
    }

    pub(super) fn form(&self) -> (&Layout, &Wanted) {
        match self.0 {}
    }

    pub(super) fn dates(&self) -> Vec<bool> {
        match self.0 {}
    }

    pub(super) fn progress(&self) -> (u64, u64) {
        match self.0 {}
    }

    pub(super) fn next(&mut self, _: usize, _: &mut Judge) -> Result<Option<Rows>, InputError> {
        match self.0 {}
    }

    pub(super) fn extents(&self) -> Option<Vec<Extent>> {
        match self.0 {}
    }
}
