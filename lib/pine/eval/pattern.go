package eval

import (
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// The largest pattern of str.match: its text in bytes, and its parts when what is repeated is
// written out.
const (
	maxPattern      = 4096
	maxPatternParts = 2000
)

// partsAStep is how many parts of a pattern are compared with a letter in the time of a step.
const partsAStep = 4

// match is str.match: the first place of a text that fits a pattern. Each letter costs as much
// as the pattern has parts, because each part may be compared with it.
func match(s *site, a []float64) float64 {
	text, pattern := s.text(a, 0, ""), s.text(a, 1, "")
	if len(pattern) > maxPattern {
		s.fail("The pattern of str.match has more than %d characters.", maxPattern)
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		s.fail("The pattern of str.match is wrong: %v.", err)
	}
	parts := partsOf(tree)
	if parts > maxPatternParts {
		s.fail("The pattern of str.match has more than %d parts. Repeat fewer of them.", maxPatternParts)
	}
	s.pay(4 * parts)
	re, err := regexp.Compile(pattern)
	if err != nil {
		s.fail("The pattern of str.match is wrong: %v.", err)
	}
	found := re.FindReaderIndex(&letters{s: s, text: text, steps: 1 + parts/partsAStep})
	if found == nil {
		return s.h.newText("")
	}
	return s.h.newText(strings.Clone(text[found[0]:found[1]]))
}

// partsOf counts what a pattern is made of, with its repetitions written out.
func partsOf(re *syntax.Regexp) int {
	n := 1 + len(re.Rune)/2
	for _, sub := range re.Sub {
		n = min(n+partsOf(sub), maxPatternParts+1)
	}
	if re.Op == syntax.OpRepeat {
		n = min(n*max(re.Min, re.Max, 1), maxPatternParts+1)
	}
	return n
}

// letters reads a text letter by letter and pays for each before it is compared.
type letters struct {
	s     *site
	text  string
	steps int
}

// ReadRune returns the next letter.
func (l *letters) ReadRune() (letter rune, size int, err error) {
	if l.text == "" {
		return 0, 0, io.EOF
	}
	l.s.pay(l.steps)
	letter, size = utf8.DecodeRuneInString(l.text)
	l.text = l.text[size:]
	return letter, size, nil
}
