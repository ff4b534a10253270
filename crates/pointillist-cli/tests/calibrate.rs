//! `calibrate` as a process: a page, its numbers, and what is refused. Whether the numbers are good is the business of the library's tests.

use crate::common::Folder;

#[test]
fn it_writes_a_page_and_the_same_as_json() {
    let folder = Folder::new();
    let options = "--sets 20 --events 10,20 --link log --families own";
    folder.run(&format!("calibrate {options} -o page.md")).good();
    let page = String::from_utf8(folder.read("page.md")).unwrap();
    let command =
        "pointillist calibrate --dims 1 --events 10,20 --sets 20 --link log --families own --truths 0 -o page.md";
    assert!(page.contains(command), "{page}");
    for word in ["| 1 | log | 10 |", "| λ at places |", "| counts |", "| range |", "| sd |"] {
        assert!(page.contains(word), "no {word} in {page}");
    }
    assert!(!page.contains("Known intensities"));
    let json = folder.run(&format!("calibrate {options} --json --threads 1")).good().out;
    let numbers: serde_json::Value = serde_json::from_str(&json).unwrap();
    let kinds = numbers["kinds"].as_array().unwrap();
    assert_eq!(kinds.len(), 2);
    let quantity = &kinds[1]["quantities"][0];
    assert_eq!((&kinds[1]["about"], &kinds[1]["families"], &kinds[1]["sets"]), (&20.into(), &"own".into(), &20.into()));
    assert_eq!(quantity["histogram"].as_array().unwrap().len(), 20);
    let shown = format!(
        "| {:.3} | {:.1} ± ",
        quantity["p_value"].as_f64().unwrap(),
        100.0 * quantity["coverage"][0]["value"].as_f64().unwrap()
    );
    assert!(page.contains(&shown), "no {shown} in {page}");
}

#[test]
fn wrong_wishes_get_a_sentence() {
    let folder = Folder::new();
    folder.run("calibrate --sets 10").refused(&["--sets 10", "from 20"]);
    folder.run("calibrate --sets 20,30").refused(&["--sets has 2 numbers and --dims 1"]);
    folder.run("calibrate --events 0").refused(&["--events 0", "from 1"]);
    folder.run("calibrate --dims 3").refused(&["--dims 3", "1 or 2"]);
    folder.run("calibrate --link cube").refused(&["--link", "square", "both"]);
    folder.run("calibrate -o page.csv").refused(&["page.csv", ".md"]);
    folder.run("calibrate --json -o page.md").refused(&["page.md", ".json"]);
    folder.run("calibrate -o nowhere/page.md").refused(&["nowhere"]);
}
