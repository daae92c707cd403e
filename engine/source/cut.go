package source

import (
	"fmt"
	"unicode/utf8"
)

// Head returns the beginning of a text, at most so many bytes of it, cut between characters.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	end := most
	for end > max(0, most-utf8.UTFMax) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// tail returns the end of a text as Head returns its beginning.
func tail(s string, most int) string {
	if len(s) <= most {
		return s
	}
	from := len(s) - most
	for from < min(len(s), len(s)-most+utf8.UTFMax) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// Cut returns a text for a message: of one that has more than most bytes the beginning, and how
// many bytes are left out.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := Head(s, most)
	return head + More(len(s)-len(head))
}

// CutFront is [Cut] for the end of a text.
func CutFront(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return "..." + tail(s, most)
}

// CutMiddle is [Cut] for both ends of a text.
func CutMiddle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Head(s, most/2) + "..." + tail(s, most/2)
}

// More stands for bytes of a text that are left out.
func More(bytes int) string { return fmt.Sprintf("... (%d bytes more)", bytes) }
