package syntax

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"candela/lib/fault"
	"candela/lib/pattern"
)

// lexer splits source into tokens, with the layout as tokens of its own.
type lexer struct {
	src    string
	at     int // offset of the next character
	line   int32
	column int32
	tokens []token
	errs   []*Error

	open      []token // open brackets
	indents   []int
	stmtDepth int // indentation of the current logical line
	version   int
	versionAt Span
}

// versionComment finds the version in a comment.
var versionComment = pattern.Of(`^//\s*@version\s*=\s*(\d{1,3})\s*$`)

func lex(src string) *lexer {
	l := &lexer{src: strings.TrimPrefix(src, "\ufeff"), line: 1, column: 1, indents: []int{0}, version: 1, tokens: make([]token, 0, len(src)/4+16)}
	for l.at < len(l.src) && len(l.tokens) < maxTokens {
		l.logicalStart()
		l.restOfLine()
	}
	if len(l.tokens) >= maxTokens {
		l.fail(Span{l.pos(), l.pos()}, CodeSize, "The script has more than 200,000 tokens.", "Split it into several scripts.")
	}
	for _, b := range l.open {
		l.fail(b.span, codeSyntax, `"`+b.text+`" is never closed.`, `Add the closing "`+closing(b.text)+`".`)
	}
	l.endLine()
	for range len(l.indents) - 1 {
		l.emit(tokDedent, "", Span{l.pos(), l.pos()})
	}
	l.emit(tokEOF, "", Span{l.pos(), l.pos()})
	return l
}

func closing(open string) string {
	if open == "(" {
		return ")"
	}
	return "]"
}

func (l *lexer) pos() Pos { return Pos{l.line, l.column} }

func (l *lexer) emit(k kind, text string, s Span) {
	l.tokens = append(l.tokens, token{k, text, s})
}

func (l *lexer) fail(s Span, code, message, fix string) {
	if len(l.errs) < MaxErrors {
		l.errs = append(l.errs, &Error{Span: s, Code: code, Message: message, Fix: fix})
	}
}

// endLine ends the logical line if it has tokens.
func (l *lexer) endLine() {
	if n := len(l.tokens); n > 0 {
		if last := l.tokens[n-1]; last.kind > tokDedent {
			l.emit(tokNewline, "", Span{last.span.To, last.span.To})
		}
	}
}

// logicalStart reads the indentation of a line and emits the layout tokens, if the line
// begins a new statement.
func (l *lexer) logicalStart() {
	width := 0
	for l.at < len(l.src) {
		switch l.src[l.at] {
		case ' ', '\f', '\v':
			width++
		case '\t':
			width += 4
		default:
			if n := l.wideSpace(); n > 0 {
				width++
				l.advance(n)
				continue
			}
			l.layout(width)
			return
		}
		l.advance(1)
	}
}

// wideSpace returns the length of a no-break, thin, ideographic or invisible space here, 0 if there is none.
func (l *lexer) wideSpace() int {
	r, size := utf8.DecodeRuneInString(l.src[l.at:])
	if r > unicode.MaxASCII && (unicode.Is(unicode.Zs, r) || unicode.Is(unicode.Cf, r)) {
		return size
	}
	return 0
}

func (l *lexer) layout(width int) {
	rest := l.src[l.at:]
	if rest[0] == '\n' || rest[0] == '\r' || strings.HasPrefix(rest, "//") || len(l.open) > 0 {
		return
	}
	if l.continues(width, rest) {
		return
	}
	l.endLine()
	l.stmtDepth = width
	here := Span{l.pos(), l.pos()}
	top := l.indents[len(l.indents)-1]
	if width > top {
		l.indents = append(l.indents, width)
		l.emit(tokIndent, "", here)
		return
	}
	for len(l.indents) > 1 && width < l.indents[len(l.indents)-1] {
		l.indents = l.indents[:len(l.indents)-1]
		l.emit(tokDedent, "", here)
	}
	if width != l.indents[len(l.indents)-1] {
		l.fail(here, codeLayout, "The line is indented by "+strconv.Itoa(width)+" spaces, which fits no block.",
			"Indent a block by 4 spaces for each level, and a continued line by a number that is not a multiple of 4.")
	}
}

// continues reports whether a line with this indentation continues the statement above.
func (l *lexer) continues(width int, rest string) bool {
	if width == 0 || len(l.tokens) == 0 {
		return false
	}
	last := l.tokens[len(l.tokens)-1]
	if last.kind <= tokDedent {
		return false
	}
	// A line that cannot begin a statement, or follows one that cannot end, is taken as
	// continued at any depth.
	joined := dangles(last) || beginsWithOperator(rest)
	if width <= l.stmtDepth {
		return width%4 != 0 && joined
	}
	if width%4 != 0 {
		return !last.is("=>") && !l.opensCases(rest)
	}
	return joined && !l.opensCases(rest)
}

// dangles reports whether a statement cannot end with a token.
func dangles(t token) bool {
	return t.kind == tokOp && strings.Contains(" + - * / % == != < > <= >= ? : = := += -= *= /= , ", " "+t.text+" ") ||
		t.word("and") || t.word("or") || t.word("not")
}

// opensCases reports whether a line is the first case of the switch on the line above.
func (l *lexer) opensCases(rest string) bool {
	line, _, _ := strings.Cut(rest, "\n")
	if !strings.Contains(line, "=>") {
		return false
	}
	for _, t := range slices.Backward(l.tokens) {
		if t.kind <= tokDedent || t.is("=>") {
			return false
		}
		if t.word("switch") {
			return true
		}
	}
	return false
}

func beginsWithOperator(s string) bool {
	for _, w := range []string{"and", "or"} {
		if strings.HasPrefix(s, w) && len(s) > len(w) && !isNameByte(s[len(w)]) {
			return true
		}
	}
	return strings.ContainsRune("+*/%?:<>!=.,)", rune(s[0])) && !strings.HasPrefix(s, "=>")
}

// advance moves over n bytes of one line.
func (l *lexer) advance(n int) {
	for end := l.at + n; l.at < end; {
		_, size := utf8.DecodeRuneInString(l.src[l.at:])
		l.at += size
		l.column++
	}
}

func (l *lexer) newline() {
	if strings.HasPrefix(l.src[l.at:], "\r\n") {
		l.at++
	}
	l.at++
	l.line++
	l.column = 1
}

// restOfLine reads tokens up to and with the end of the line.
func (l *lexer) restOfLine() {
	for l.at < len(l.src) && len(l.tokens) < maxTokens {
		c := l.src[l.at]
		switch {
		case c == '\n' || c == '\r':
			l.newline()
			return
		case c == ' ' || c == '\t' || c == '\f' || c == '\v':
			l.advance(1)
		case strings.HasPrefix(l.src[l.at:], "//"):
			l.comment()
		default:
			l.token(c)
		}
	}
}

func (l *lexer) comment() {
	end := strings.IndexAny(l.src[l.at:], "\r\n")
	if end < 0 {
		end = len(l.src) - l.at
	}
	text, from := l.src[l.at:l.at+end], l.pos()
	l.advance(end)
	if m := versionComment().FindStringSubmatch(strings.TrimSpace(text)); m != nil && l.versionAt == (Span{}) {
		l.version, _ = strconv.Atoi(m[1])
		l.versionAt = Span{from, l.pos()}
	}
}

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func (l *lexer) token(c byte) {
	switch {
	case isDigit(c) || c == '.' && l.at+1 < len(l.src) && isDigit(l.src[l.at+1]) && !l.afterOperand():
		l.number()
	case isNameByte(c):
		l.take(tokName, l.span(isNameByte))
	case strings.HasPrefix(l.src[l.at:], `"""`) || strings.HasPrefix(l.src[l.at:], "'''"):
		l.block()
	case c == '"' || c == '\'':
		l.quoted(c)
	case c == '#':
		l.take(tokColor, 1+spanOf(l.src[l.at+1:], isNameByte))
	default:
		l.operator()
	}
}

// afterOperand reports whether a dot here selects a member rather than begins a number.
func (l *lexer) afterOperand() bool {
	if len(l.tokens) == 0 || l.at == 0 {
		return false
	}
	return isNameByte(l.src[l.at-1]) || l.src[l.at-1] == ')' || l.src[l.at-1] == ']'
}

func (l *lexer) span(in func(byte) bool) int { return spanOf(l.src[l.at:], in) }

func spanOf(s string, in func(byte) bool) int {
	n := 0
	for n < len(s) && in(s[n]) {
		n++
	}
	return n
}

func (l *lexer) take(k kind, n int) {
	from, text := l.pos(), l.src[l.at:l.at+n]
	l.advance(n)
	l.emit(k, text, Span{from, l.pos()})
}

func (l *lexer) number() {
	s := l.src[l.at:]
	n := spanOf(s, isDigit)
	if n < len(s) && s[n] == '.' {
		n++
		n += spanOf(s[n:], isDigit)
	}
	if n < len(s) && (s[n] == 'e' || s[n] == 'E') {
		m := n + 1
		if m < len(s) && (s[m] == '+' || s[m] == '-') {
			m++
		}
		if d := spanOf(s[m:], isDigit); d > 0 {
			n = m + d
		}
	}
	l.take(tokNumber, n)
}

// quoted reads a string. It may not cross lines. Characters that hide others are left out here:
// every text of a script begins in a string or in an input.
func (l *lexer) quoted(quote byte) {
	from := l.pos()
	var b strings.Builder
	l.advance(1)
	for l.at < len(l.src) && (l.src[l.at] != '\n' && l.src[l.at] != '\r' || l.wrapped(&b)) {
		c := l.src[l.at]
		if c == quote {
			l.advance(1)
			l.emit(tokString, fault.Visible(b.String()), Span{from, l.pos()})
			return
		}
		if c == '\\' && l.at+1 < len(l.src) && l.src[l.at+1] != '\n' && l.src[l.at+1] != '\r' {
			l.escape(&b)
			continue
		}
		l.character(&b)
	}
	l.fail(Span{from, l.pos()}, codeSyntax, "The string is not closed on its line.", "Add the closing "+string(quote)+", and join strings with + to continue on the next line.")
	l.emit(tokString, fault.Visible(b.String()), Span{from, l.pos()})
}

// wrapped moves over the end of a line inside a string, if the next line is indented as a
// continued one is; the string has a space there.
func (l *lexer) wrapped(b *strings.Builder) bool {
	rest := strings.TrimPrefix(strings.TrimPrefix(l.src[l.at:], "\r"), "\n")
	n := spanOf(rest, func(c byte) bool { return c == ' ' })
	if n%4 == 0 || n <= l.stmtDepth || n == len(rest) || rest[n] == '\n' || rest[n] == '\r' {
		return false
	}
	l.newline()
	l.advance(n)
	b.WriteByte(' ')
	return l.src[l.at] != '\n' && l.src[l.at] != '\r'
}

// operator reads the longest operator here.
func (l *lexer) operator() {
	s := l.src[l.at:]
	if len(s) >= 2 && strings.Contains(" => == != <= >= := += -= *= /= %= ", " "+s[:2]+" ") {
		l.take(tokOp, 2)
		return
	}
	if !strings.ContainsRune("()[]+-*/%<>?:=,.", rune(s[0])) {
		l.strange(s)
		return
	}
	l.take(tokOp, 1)
	t := l.tokens[len(l.tokens)-1]
	switch t.text {
	case "(", "[":
		l.open = append(l.open, t)
	case ")", "]":
		n := len(l.open)
		if n == 0 || closing(l.open[n-1].text) != t.text {
			l.fail(t.span, codeSyntax, `"`+t.text+`" closes nothing.`, "Remove it, or add the opening one.")
			return
		}
		l.open = l.open[:n-1]
	}
}

// strange skips a character that no token begins with.
func (l *lexer) strange(s string) {
	if n := l.wideSpace(); n > 0 {
		l.advance(n)
		return
	}
	r, size := utf8.DecodeRuneInString(s)
	from := l.pos()
	l.advance(size)
	fix := "Remove it."
	switch r {
	case '“', '”', '‘', '’':
		fix = "Write a straight quote."
	case '{', '}', ';':
		fix = "Remove it; blocks are made by indentation."
	case '&', '|':
		fix = `Write "and" or "or".`
	case '!':
		fix = `Write "not".`
	}
	l.fail(Span{from, l.pos()}, codeSyntax, "Unexpected character "+strconv.QuoteRune(r)+".", fix)
}
