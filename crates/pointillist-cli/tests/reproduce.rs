//! The experiments, in their quick variant: everything runs and is written; the numbers mean nothing.

use crate::common::Folder;

const PARTS: [&str; 9] =
    ["synthetic", "coal", "twitter", "aftershocks", "malaria", "times", "link", "adams", "families"];

fn text(folder: &Folder, name: &str) -> String {
    String::from_utf8(folder.read(name)).unwrap()
}

#[test]
fn one_command_writes_every_table_and_figure() {
    let folder = Folder::new();
    folder.run("reproduce --quick -o results").good();
    let page = text(&folder, "results/README.md");
    assert!(page.contains("quick variant"));
    for part in PARTS {
        let record: serde_json::Value = serde_json::from_str(&text(&folder, &format!("results/{part}.json"))).unwrap();
        assert_eq!(record["part"], part);
        assert!(record["machine"].is_string() && record["version"].is_string() && record["seed"] == 0);
        let section = &record["section"];
        assert!(page.contains(section["title"].as_str().unwrap()), "{part} is not on the page");
        for table in section["tables"].as_array().unwrap() {
            let csv = text(&folder, &format!("results/{part}-{}.csv", table["name"].as_str().unwrap()));
            assert_eq!(csv.lines().count(), 1 + table["rows"].as_array().unwrap().len(), "{part}");
        }
        for picture in section["pictures"].as_array().unwrap() {
            let file = picture["file"].as_str().unwrap();
            assert!(text(&folder, &format!("results/{file}")).starts_with("<svg"), "{file}");
            assert!(page.contains(&format!("]({file})")), "{file} is not on the page");
        }
    }
    // A part that is run again replaces its own files only.
    let before = text(&folder, "results/adams-1.csv");
    folder.run("reproduce adams --quick -o results --threads 1").good();
    assert_eq!(
        text(&folder, "results/adams-1.csv"),
        before,
        "the same seed gives the same numbers on any number of threads"
    );
    assert!(text(&folder, "results/README.md").contains("Coal mining disasters"));
}

#[test]
fn wrong_wishes_get_a_sentence() {
    let folder = Folder::new();
    folder.write("file", "not a folder");
    folder.run("reproduce link -o file").refused(&["file", "-o"]);
    let unknown = folder.run("reproduce nothing");
    assert!(unknown.code == 2 && unknown.err.contains("synthetic, coal"), "{}", unknown.err);
}

#[test]
fn what_was_kept_is_not_fitted_again_unless_asked() {
    let folder = Folder::new();
    let files = || std::fs::read_dir(folder.path("fits")).unwrap().count();
    let written = || {
        // Two may have been written at the same time.
        let entry = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.unwrap();
            (entry.metadata().unwrap().modified().unwrap(), entry.file_name())
        };
        std::fs::read_dir(folder.path("fits")).unwrap().map(entry).collect::<std::collections::BTreeSet<_>>()
    };
    folder.run("reproduce adams --quick -o first --keep fits").good();
    let (count, first) = (files(), written());
    assert_eq!(count, 3 * 2 * 7, "three intensities, two draws, seven methods");
    folder.run("reproduce adams --quick -o second --keep fits").good();
    assert_eq!(written(), first, "nothing was fitted");
    assert_eq!(text(&folder, "first/adams-1.csv"), text(&folder, "second/adams-1.csv"));
    // A method of one's own choice is fitted anew and the others are not.
    folder.run("reproduce adams --quick -o third --keep fits --again default").good();
    assert_eq!((files(), written().difference(&first).count()), (count, 3 * 2));
    assert_eq!(text(&folder, "first/adams-1.csv"), text(&folder, "third/adams-1.csv"));
    // A file that was cut short is found anew.
    let one = std::fs::read_dir(folder.path("fits")).unwrap().next().unwrap().unwrap().path();
    std::fs::write(&one, "{").unwrap();
    folder.run("reproduce adams --quick -o fourth --keep fits").good();
    assert_eq!(text(&folder, "first/adams-1.csv"), text(&folder, "fourth/adams-1.csv"));
    assert!(std::fs::read(&one).unwrap().len() > 1);
    folder.run("reproduce adams --quick -o r --again default").refused(&["--keep"]);
    folder.run("reproduce adams --quick -o r --keep fits --again nothing").refused(&["--again nothing", "default"]);
}
