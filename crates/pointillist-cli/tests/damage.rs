//! Files that the command wrote and reads again, after they were changed by accident or by design: a sentence and exit code 2, never an
//! answer, never a panic.

use crate::common::{Folder, checksum, sealed};
use serde_json::{Value, json};

/// A digit put in, taken out or changed, at places spread over the whole file.
fn damaged(whole: &[u8], count: usize) -> impl Iterator<Item = (usize, Vec<u8>)> + '_ {
    let digits: Vec<usize> = (0..whole.len()).filter(|&i| whole[i].is_ascii_digit()).collect();
    (0..count).map(move |i| {
        let place = digits[i * (digits.len() - 1) / (count - 1)];
        let mut changed = whole.to_vec();
        match i % 3 {
            0 => changed.insert(place, b'9'),
            1 => drop(changed.remove(place)),
            _ => changed[place] = b'0' + (changed[place] - b'0' + 1 + (i % 7) as u8) % 10,
        }
        (place, changed)
    })
}

#[test]
fn a_digit_that_is_not_what_it_was_is_found_in_every_model() {
    let folder = Folder::new();
    folder.write("p.csv", "x,y\n1,1\n2,3\n2.5,3\n4,4\n4.5,1\n0.5,3.5\n");
    for fit in ["coal --inducing 6", "coal --nodes 12", "p.csv --window 0,5,0,5 --nodes 6x6 --smoothness 2"] {
        folder.run(&format!("fit {fit} -o model.json")).good();
        let whole = folder.read("model.json");
        for (place, changed) in damaged(&whole, 60) {
            folder.write("changed.json", changed);
            let run = folder.run("predict changed.json --grid 3").refused(&["changed.json"]);
            assert!(run.out.is_empty(), "{place}");
        }
    }
    let mut plain: Value = serde_json::from_slice(&folder.read("model.json")).unwrap();
    plain.as_object_mut().unwrap().remove("checksum");
    folder.write("plain.json", plain.to_string());
    folder.run("predict plain.json").refused(&["plain.json", "checksum is missing", "fit again"]);
    let text = String::from_utf8(folder.read("model.json")).unwrap();
    let place = text.find("\"q_mean\":[").unwrap() + 10;
    let place = place + text[place..].find(|c: char| c.is_ascii_digit()).unwrap(); // past a sign
    folder.write("changed.json", format!("{}9{}", &text[..place], &text[place..]));
    folder.run("predict changed.json").refused(&["changed.json", "checksum is wrong", "fit again"]);
}

const RUN: &str = "sgcp few.csv --window 0,10 --warm-up 20 --effective 1e9 --max-sweeps 20 --checkpoint c.sgcp -q";

/// A folder with a checkpoint, `c.sgcp`.
fn with_checkpoint() -> Folder {
    let folder = Folder::new();
    folder.write("few.csv", "t\n1\n2\n2.5\n6\n9\n");
    assert_eq!(folder.run(RUN).code, 1, "sweeps are used up");
    folder
}

#[test]
fn a_digit_that_is_not_what_it_was_is_found_in_a_checkpoint() {
    let folder = with_checkpoint();
    let whole = folder.read("c.sgcp");
    for (place, changed) in damaged(&whole, 60) {
        folder.write("c.sgcp", changed);
        assert!(folder.run(RUN).refused(&["c.sgcp", "remove it"]).out.is_empty(), "{place}");
    }
    for length in (0..whole.len()).step_by(whole.len() / 20) {
        folder.write("c.sgcp", &whole[..length]);
        folder.run(RUN).refused(&["c.sgcp", "remove it"]);
    }
    let mut plain: Value = serde_json::from_slice(&whole).unwrap();
    plain.as_object_mut().unwrap().remove("checksum");
    folder.write("c.sgcp", plain.to_string());
    folder.run(RUN).refused(&["c.sgcp", "checksum is missing", "remove it"]);
    folder.write("c.sgcp", &whole);
    assert_eq!(folder.run(RUN).code, 1, "the file as it was is taken");
}

#[test]
fn checkpoints_that_are_none() {
    let folder = with_checkpoint();
    let whole: Value = serde_json::from_slice(&folder.read("c.sgcp")).unwrap();
    let changes = [
        ("/format", json!("other")),
        ("/version", json!(7)),
        ("/state", json!({})),
        ("/state/events/dims", json!(0)),
        ("/state/events/dims", json!(5)),
        ("/state/window/pieces", json!([])),
        ("/state/window/pieces/0/spans", json!([])),
        ("/state/chains", json!([])),
        ("/state/chains/0/sweeps", json!(3)),
        ("/state/chains/0/latent/f", json!([1.0])),
        ("/state/chains/0/latent/levels", json!([])),
        ("/state/chains/0/latent/thinned/dims", json!(2)),
        ("/state/chains/0/record/watched", json!([])),
        ("/state/chains/0/record/watched/0", json!([1.0])),
        ("/state/chains/0/record/state_every", json!(0)),
        ("/state/chains/0/tuner/scales", json!([])),
        ("/state/chains/0/walks/0/root", json!([1.0])),
        ("/state/chains/0/walks/0/log_size", json!(1e300)),
        ("/state/seconds", json!(-1.0)),
    ];
    for (place, value) in changes {
        let mut changed = whole.clone();
        *changed.pointer_mut(place).unwrap_or_else(|| panic!("no {place}")) = value;
        folder.write("c.sgcp", sealed(&changed));
        folder.run(RUN).refused(&["c.sgcp"]);
    }
}

/// A summary file with its header changed, and the lengths and the checksum that belong to it.
fn with_header(whole: &[u8], change: &dyn Fn(&mut Value)) -> Vec<u8> {
    let length = u32::from_le_bytes(whole[12..16].try_into().unwrap()) as usize;
    let mut header: Value = serde_json::from_slice(&whole[16..16 + length]).unwrap();
    change(&mut header);
    let header = header.to_string().into_bytes();
    let cells = &whole[16 + length..whole.len() - 8];
    let mut file = [&whole[..12], &(header.len() as u32).to_le_bytes(), &header, cells].concat();
    let sum = checksum(&file);
    file.extend(sum.to_le_bytes());
    file
}

#[test]
fn summaries_whose_checksum_is_right_and_nothing_else() {
    let folder = Folder::new();
    folder.write("p.csv", "x,y\n1,1\n2,3\n2.5,3\n4,4\n4.5,1\n0.5,3.5\n");
    folder.run("summarize p.csv --window 0,5,0,5 --cells 8x8 -o whole.summary").good();
    let whole = folder.read("whole.summary");
    folder.write("same.summary", with_header(&whole, &|_| ())).run("fit same.summary --inducing 3x3").good();
    let grid = json!({ "grid": { "axes": [5], "lines": [[0.0, 9.0]], "values": [1.0, 1.0] } });
    let changes = [
        ("/window/pieces", json!([])),
        ("/window/pieces/0/spans", json!([])),
        ("/window/pieces/0/spans", json!([{ "lo": 0.0, "hi": 5.0 }])),
        ("/window/pieces/0/spans/0/lo", json!(7.0)),
        ("/window/pieces/0/repeats", json!(-1.0)),
        ("/window/axes", json!([])),
        ("/window/exposure", grid),
        ("/window/exposure", json!({ "nodes": { "points": { "dims": 0, "coordinates": [] }, "weights": [] } })),
        ("/window/exposure", json!({ "nodes": { "points": { "dims": 1, "coordinates": [1.0] }, "weights": [1.0] } })),
        ("/cells", json!([8])),
        ("/cells", json!([0, 8])),
        ("/cells", json!([u64::MAX, 8])),
        ("/cells", json!([4, 8])),
        ("/order", json!(9)),
        ("/records", json!(u64::MAX)),
        ("/bytes", json!(u64::MAX)),
        ("/events", json!(7)),
    ];
    for (place, value) in changes {
        let change = |header: &mut Value| {
            let (parent, field) = place.rsplit_once('/').unwrap();
            match header.pointer_mut(parent).unwrap() {
                Value::Array(list) => list[field.parse::<usize>().unwrap()] = value.clone(),
                fields => fields[field] = value.clone(),
            }
        };
        folder.write("bad.summary", with_header(&whole, &change));
        folder.run("fit bad.summary").refused(&["bad.summary"]);
    }
}
