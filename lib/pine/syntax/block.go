package syntax

import (
	"strings"
	"unicode/utf8"

	"candela/lib/fault"
)

// block reads a string between """ and """, or between three apostrophes. It has the lines as they are written, with their
// indentation; escapes mean what they mean in other strings.
func (l *lexer) block() {
	from, quote := l.pos(), l.src[l.at:l.at+3]
	var b strings.Builder
	l.advance(len(quote))
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case strings.HasPrefix(l.src[l.at:], quote):
			l.advance(len(quote))
			l.emit(tokString, fault.Visible(b.String()), Span{from, l.pos()})
			return
		case c == '\n' || c == '\r':
			l.newline()
			b.WriteByte('\n')
		case c == '\\' && l.at+1 < len(l.src) && l.src[l.at+1] != '\n' && l.src[l.at+1] != '\r':
			l.escape(&b)
		default:
			l.character(&b)
		}
	}
	l.fail(Span{from, l.pos()}, codeSyntax, "The text that begins with "+quote+" is never closed.", "Add the closing "+quote+".")
	l.emit(tokString, fault.Visible(b.String()), Span{from, l.pos()})
}

// escape reads a backslash and what follows it.
func (l *lexer) escape(b *strings.Builder) {
	l.advance(1)
	switch l.src[l.at] {
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	default:
		l.character(b)
		return
	}
	l.advance(1)
}

// character reads one character of a string.
func (l *lexer) character(b *strings.Builder) {
	_, size := utf8.DecodeRuneInString(l.src[l.at:])
	b.WriteString(l.src[l.at : l.at+size])
	l.advance(1)
}
