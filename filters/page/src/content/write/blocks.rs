//! Blocks one below the other, each line behind the marks of the quotes and list items that it stands in.

/// A quote or an item of a list.
#[derive(Debug)]
struct Container {
    /// What its first line begins with, until that is written.
    first: Option<String>,
    rest: String,
}

/// Markdown that grows by blocks.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    out: String,
    containers: Vec<Container>,
    /// Something stands above, and an empty line is to come between.
    apart: bool,
    /// The last block was the end of a list.
    after_list: bool,
}

impl Blocks {
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn finish(self) -> String {
        self.out
    }

    /// What comes next follows without an empty line.
    pub(super) fn stay_close(&mut self) {
        self.apart = false;
    }

    /// Whether the last block was the end of a list, that a list here would be taken for a part of.
    pub(super) fn after_list(&self) -> bool {
        self.after_list
    }

    pub(super) fn list_ended(&mut self) {
        self.after_list = self.apart;
    }

    pub(super) fn open(&mut self, first: &str, rest: &str) {
        self.containers.push(Container { first: Some(first.to_owned()), rest: rest.to_owned() });
        self.after_list = false;
    }

    pub(super) fn close(&mut self) {
        // An item without words is one.
        let is_empty_item =
            self.containers.last().is_some_and(|last| last.first.as_deref().is_some_and(|first| first != "> "));
        if is_empty_item {
            self.write("");
        }
        self.containers.pop();
        self.after_list = false;
    }

    /// Writes a block of text.
    pub(super) fn write(&mut self, text: &str) {
        if self.apart {
            self.empty_line();
        }
        for line in text.split('\n') {
            self.line(line);
        }
        self.apart = true;
        self.after_list = false;
    }

    /// Writes a block of code, whose empty lines are its own.
    pub(super) fn write_code(&mut self, text: &str) {
        self.write(text);
    }

    fn empty_line(&mut self) {
        let begun = self.containers.iter().take_while(|container| container.first.is_none());
        let prefix: String = begun.map(|container| container.rest.as_str()).collect();
        self.out.push_str(prefix.trim_end());
        self.out.push('\n');
    }

    fn line(&mut self, line: &str) {
        let at = self.out.len();
        for container in &mut self.containers {
            match container.first.take() {
                Some(first) => self.out.push_str(&first),
                None => self.out.push_str(&container.rest),
            }
        }
        if line.is_empty() {
            let kept = at + self.out[at..].trim_end().len();
            self.out.truncate(kept);
        }
        self.out.push_str(line);
        self.out.push('\n');
    }
}
