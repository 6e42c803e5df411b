package raster

import (
	"slices"
	"unicode"
)

// leftward reports whether a text has characters of scripts that run from right to left.
func leftward(s string) bool {
	for i := range len(s) {
		if s[i] >= 0xd6 { // the first byte of U+0580
			return slices.ContainsFunc([]rune(s[i:]), rightToLeft)
		}
	}
	return false
}

func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// visual returns a text in the order in which it is drawn, from left to right, with the letters of
// Arabic in their joined forms. The line itself runs to the right: only the parts in scripts that
// run to the left are turned, and numbers in them are not.
func visual(s string) string {
	if !leftward(s) {
		return s
	}
	text := joined([]rune(s))
	for from := 0; from < len(text); from++ {
		if !rightToLeft(text[from]) {
			continue
		}
		to := from + 1
		for k := to; k < len(text) && !runsRight(text[k]); k++ {
			if rightToLeft(text[k]) {
				to = k + 1
			}
		}
		turn(text[from:to])
		from = to
	}
	return string(text)
}

// runsRight reports whether a letter belongs to a script that runs to the right. Digits, spaces and
// signs go with what is around them.
func runsRight(r rune) bool { return unicode.IsLetter(r) && !rightToLeft(r) }

// turn reverses a part, except the numbers in it, and mirrors its brackets.
func turn(part []rune) {
	slices.Reverse(part)
	for i, r := range part {
		switch r {
		case '(':
			part[i] = ')'
		case ')':
			part[i] = '('
		case '[':
			part[i] = ']'
		case ']':
			part[i] = '['
		}
	}
	number := func(r rune) bool { return unicode.IsDigit(r) || r == '.' || r == ',' || r == '%' }
	for from := 0; from < len(part); from++ {
		to := from
		for to < len(part) && number(part[to]) {
			to++
		}
		slices.Reverse(part[from:to])
		from = max(from, to-1)
	}
}

// letterForms is where the forms of an Arabic letter stand: alone, at the end of a word; with two more at
// its begin and within it, for a letter that joins the next one.
type letterForms struct {
	letter, alone rune
	joins         bool
}

// arabic lists the letters that change their form, in order.
//
//nolint:gochecknoglobals // a table, never written
var arabic = [...]letterForms{
	{0x622, 0xfe81, false},
	{0x623, 0xfe83, false},
	{0x624, 0xfe85, false},
	{0x625, 0xfe87, false},
	{0x626, 0xfe89, true},
	{0x627, 0xfe8d, false},
	{0x628, 0xfe8f, true},
	{0x629, 0xfe93, false},
	{0x62a, 0xfe95, true},
	{0x62b, 0xfe99, true},
	{0x62c, 0xfe9d, true},
	{0x62d, 0xfea1, true},
	{0x62e, 0xfea5, true},
	{0x62f, 0xfea9, false},
	{0x630, 0xfeab, false},
	{0x631, 0xfead, false},
	{0x632, 0xfeaf, false},
	{0x633, 0xfeb1, true},
	{0x634, 0xfeb5, true},
	{0x635, 0xfeb9, true},
	{0x636, 0xfebd, true},
	{0x637, 0xfec1, true},
	{0x638, 0xfec5, true},
	{0x639, 0xfec9, true},
	{0x63a, 0xfecd, true},
	{0x641, 0xfed1, true},
	{0x642, 0xfed5, true},
	{0x643, 0xfed9, true},
	{0x644, 0xfedd, true},
	{0x645, 0xfee1, true},
	{0x646, 0xfee5, true},
	{0x647, 0xfee9, true},
	{0x648, 0xfeed, false},
	{0x649, 0xfeef, false},
	{0x64a, 0xfef1, true},
	{0x67e, 0xfb56, true},
	{0x686, 0xfb7a, true},
	{0x698, 0xfb8a, false},
	{0x6a9, 0xfb8e, true},
	{0x6af, 0xfb92, true},
	{0x6cc, 0xfbfc, true},
}

func formsOf(r rune) (letterForms, bool) {
	i, ok := slices.BinarySearchFunc(arabic[:], r, func(f letterForms, r rune) int { return int(f.letter - r) })
	if !ok {
		return letterForms{}, false
	}
	return arabic[i], true
}

const (
	tatweel = 0x640 // a stroke that joins on both sides
	lam     = 0x644
)

// joined gives each letter of Arabic the form that its neighbours ask for. Marks over and under
// letters join nothing and part nothing.
func joined(text []rune) []rune {
	out := make([]rune, 0, len(text))
	before := false // the letter before joins this one
	for i := 0; i < len(text); i++ {
		r := text[i]
		f, ok := formsOf(r)
		if !ok {
			if !unicode.Is(unicode.Mn, r) {
				before = r == tatweel
			}
			out = append(out, r)
			continue
		}
		if both, ok := ligature(text[i:]); ok {
			out = append(out, both+shift(before, false))
			before = false
			i++
			continue
		}
		after := f.joins && joinsBefore(text[i+1:])
		out = append(out, f.alone+shift(before, after))
		before = f.joins
	}
	return out
}

// shift is how far the form of a letter is from the one that stands alone.
func shift(before, after bool) rune {
	switch {
	case before && after:
		return 3
	case after:
		return 2
	case before:
		return 1
	}
	return 0
}

// joinsBefore reports whether the first letter of a text joins the one before it.
func joinsBefore(text []rune) bool {
	for _, r := range text {
		if !unicode.Is(unicode.Mn, r) {
			_, ok := formsOf(r)
			return ok || r == tatweel
		}
	}
	return false
}

// ligature is the one sign of lam with the alef after it.
func ligature(text []rune) (rune, bool) {
	if len(text) < 2 || text[0] != lam {
		return 0, false
	}
	switch text[1] {
	case 0x622:
		return 0xfef5, true
	case 0x623:
		return 0xfef7, true
	case 0x625:
		return 0xfef9, true
	case 0x627:
		return 0xfefb, true
	}
	return 0, false
}
