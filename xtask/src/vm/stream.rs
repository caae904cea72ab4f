//! A stream of bytes in which a mark ends each part.

/// Passes bytes through up to the mark, holding back only a possible beginning of the mark.
pub(super) struct Marked {
    mark: Vec<u8>,
    held: Vec<u8>,
    ended: bool,
}

impl Marked {
    pub(super) fn new(mark: &str) -> Marked {
        Marked { mark: mark.as_bytes().to_vec(), held: Vec::new(), ended: false }
    }

    /// Takes bytes and returns those that certainly do not belong to the mark.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let length = self.mark.len();
        if let Some(at) = self.held.windows(length).position(|w| w == self.mark) {
            self.ended = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let longest = length.saturating_sub(1).min(self.held.len());
        let kept = (1..=longest).rev().find(|&n| self.mark.starts_with(&self.held[self.held.len() - n..]));
        let tail = self.held.split_off(self.held.len() - kept.unwrap_or(0));
        std::mem::replace(&mut self.held, tail)
    }

    /// Returns the bytes held back, for a stream that ends without a mark.
    pub(super) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_however_it_is_cut() {
        let text = b"some @@ text @@@END@@".as_slice();
        for size in 1..text.len() {
            let mut stream = Marked::new("@@END@@");
            let passed: Vec<u8> = text.chunks(size).flat_map(|chunk| stream.push(chunk)).collect();
            assert_eq!(String::from_utf8_lossy(&passed), "some @@ text @", "in pieces of {size}");
            assert!(stream.is_ended());
        }
    }

    #[test]
    fn plain_text_is_not_held_back() {
        let mut stream = Marked::new("@@END@@");
        assert_eq!(stream.push(b"a line\n"), b"a line\n");
        assert_eq!(stream.push(b"x@@EN"), b"x");
        assert_eq!(stream.rest(), b"@@EN");
        assert!(!stream.is_ended());
    }
}
