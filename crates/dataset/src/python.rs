//! Lists of text as Python and `NumPy` print them.

/// Reads `['a', "b"]`, also as a tuple or a set.
///
/// Texts that stand side by side are one in Python's own syntax and two in what `NumPy` prints: they are two when the list has no comma at all.
pub(crate) fn list(text: &str) -> Result<Vec<String>, String> {
    let mut reader = Reader {
        rest: text.trim().chars().peekable(),
        at: 0,
    };
    let close = match reader.next() {
        Some('[') => ']',
        Some('(') => ')',
        Some('{') => '}',
        _ => return Err("no opening bracket".into()),
    };
    let mut groups: Vec<Vec<String>> = vec![Vec::new()];
    loop {
        match reader.skip_blank() {
            None => return Err("the list is not closed".into()),
            Some(end) if end == close => {
                reader.next();
                break;
            }
            Some(',') => {
                reader.next();
                if groups.last().is_none_or(Vec::is_empty) {
                    return Err(format!(
                        "no item before the comma at character {}",
                        reader.at
                    ));
                }
                groups.push(Vec::new());
            }
            Some('.') => {
                return Err(format!(
                    "an ellipsis at character {}: NumPy left items out",
                    reader.at + 1
                ));
            }
            Some(_) => {
                let item = reader.text()?;
                if let Some(group) = groups.last_mut() {
                    group.push(item);
                }
            }
        }
    }
    if reader.skip_blank().is_some() {
        return Err(format!(
            "something follows the list at character {}",
            reader.at + 1
        ));
    }
    if groups.len() == 1 {
        return Ok(groups.into_iter().flatten().collect());
    }
    Ok(groups
        .into_iter()
        .filter(|group| !group.is_empty())
        .map(|group| group.concat())
        .collect())
}

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    /// Characters taken.
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let next = self.rest.next();
        self.at += usize::from(next.is_some());
        next
    }

    fn skip_blank(&mut self) -> Option<char> {
        while self.rest.peek().is_some_and(|c| c.is_whitespace()) {
            self.next();
        }
        self.rest.peek().copied()
    }

    /// One text with its prefix and quotes.
    fn text(&mut self) -> Result<String, String> {
        let mut raw = false;
        let start = self.at + 1;
        let quote = loop {
            match self.next() {
                Some(quote @ ('\'' | '"')) => break quote,
                Some('r' | 'R') => raw = true,
                Some('u' | 'U') => {}
                _ => return Err(format!("character {start} starts no text")),
            }
        };
        let not_closed = || format!("the text at character {start} is not closed");
        let mut text = String::new();
        loop {
            match self.next().ok_or_else(not_closed)? {
                end if end == quote => return Ok(text),
                '\\' if raw => {
                    text.push('\\');
                    text.push(self.next().ok_or_else(not_closed)?);
                }
                '\\' => self
                    .escape(&mut text)
                    .ok_or_else(|| format!("unreadable escape before character {}", self.at + 1))?,
                other => text.push(other),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Option<()> {
        let decoded = match self.next()? {
            '\n' => return Some(()),
            same @ ('\\' | '\'' | '"') => same,
            'a' => '\x07',
            'b' => '\x08',
            'f' => '\x0c',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\x0b',
            'x' => self.code(2)?,
            'u' => self.code(4)?,
            'U' => self.code(8)?,
            first @ '0'..='7' => self.octal(first)?,
            // Python keeps an escape that it does not know; names by number (\N) are not written by repr.
            other => {
                text.push('\\');
                other
            }
        };
        text.push(decoded);
        Some(())
    }

    fn code(&mut self, digits: usize) -> Option<char> {
        let mut code = 0;
        for _ in 0..digits {
            code = code * 16 + self.next()?.to_digit(16)?;
        }
        char::from_u32(code)
    }

    fn octal(&mut self, first: char) -> Option<char> {
        let mut code = first.to_digit(8)?;
        for _ in 0..2 {
            let Some(digit) = self.rest.peek().and_then(|c| c.to_digit(8)) else {
                break;
            };
            self.next();
            code = code * 8 + digit;
        }
        char::from_u32(code)
    }
}

#[cfg(test)]
mod tests {
    use super::list;

    #[test]
    fn escapes_are_those_of_python() {
        let read = list(r#"['a\'b', "c\"d", 'tab\tx', '\x41\u00e9\U0001F600', '\\n', '\d', r'\d', u'é', '\101']"#).unwrap();
        assert_eq!(
            read,
            [
                "a'b", "c\"d", "tab\tx", "Aé😀", "\\n", "\\d", "\\d", "é", "A"
            ]
        );
    }

    #[test]
    fn neighbours_are_one_text_with_commas_and_many_without() {
        assert_eq!(list("['a' 'b', 'c']").unwrap(), ["ab", "c"]);
        assert_eq!(list("['a'\n 'b' 'c']").unwrap(), ["a", "b", "c"]);
        assert_eq!(list("['a',]").unwrap(), ["a"]);
    }

    #[test]
    fn broken_text_is_refused() {
        for text in [
            "['a'",
            "['a]",
            "[a]",
            "['a'] x",
            "[,]",
            "['a',,'b']",
            "['a' ... 'b']",
            r"['\xg1']",
            "'a'",
            "",
        ] {
            assert!(list(text).is_err(), "{text}");
        }
    }
}
