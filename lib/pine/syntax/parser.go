package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// parser reads tokens into a tree. After an error it goes on with the next line.
type parser struct {
	tokens []token
	at     int
	depth  int
	errs   []*Error
}

// bail unwinds the parser to the statement that is being read.
type bail struct{}

// Parse reads a script. The tree is whole even after errors: what could not be read is a
// BadStmt or a BadExpr. Errors are sorted by place, at most MaxErrors.
func Parse(src string) (*File, []*Error) {
	if len(src) > MaxBytes {
		e := &Error{Span: Span{Pos{1, 1}, Pos{1, 1}}, Code: CodeSize, Message: "The script has " + strconv.Itoa(len(src)) + " bytes; 262,144 are allowed.", Fix: "Split it into several scripts."}
		return &File{Version: 1}, []*Error{e}
	}
	l := lex(src)
	p := &parser{tokens: l.tokens, errs: l.errs}
	f := &File{Version: l.version, VersionAt: l.versionAt}
	for p.tok().kind != tokEOF {
		f.Stmts = append(f.Stmts, p.line()...)
	}
	slices.SortStableFunc(p.errs, func(a, b *Error) int {
		if a.From.Line != b.From.Line {
			return int(a.From.Line - b.From.Line)
		}
		return int(a.From.Column - b.From.Column)
	})
	return f, p.errs[:min(len(p.errs), MaxErrors)]
}

func (p *parser) tok() token          { return p.tokens[p.at] }
func (p *parser) peek(n int) token    { return p.tokens[min(p.at+n, len(p.tokens)-1)] }
func (p *parser) from() Pos           { return p.tok().span.From }
func (p *parser) since(from Pos) Span { return Span{from, p.tokens[max(p.at-1, 0)].span.To} }

func (p *parser) next() token {
	t := p.tok()
	if t.kind != tokEOF {
		p.at++
	}
	return t
}

func (p *parser) accept(op string) bool {
	if p.tok().is(op) {
		p.at++
		return true
	}
	return false
}

// fail records an error and leaves the statement.
func (p *parser) fail(s Span, code, message, fix string) {
	p.errs = append(p.errs, &Error{Span: s, Code: code, Message: message, Fix: fix})
	panic(bail{})
}

func (p *parser) unexpected(want string) {
	t := p.tok()
	fix := "Write " + want + " here."
	if t.kind == tokIndent {
		fix = "Indent a continued line by a number of spaces that is not a multiple of 4, and a block by 4 spaces."
		p.fail(t.span, codeLayout, "Unexpected "+t.describe()+"; expected "+want+".", fix)
	}
	p.fail(t.span, codeSyntax, "Unexpected "+t.describe()+"; expected "+want+".", fix)
}

func (p *parser) expect(op string) {
	if !p.tok().is(op) {
		p.unexpected(`"` + op + `"`)
	}
	p.at++
}

func (p *parser) ident() *Ident {
	t := p.tok()
	if t.kind != tokName || reserved(t.text) {
		p.unexpected("a name")
	}
	p.at++
	return &Ident{t.span, t.text}
}

// reserved reports whether a word cannot be a name.
func reserved(w string) bool {
	switch w {
	case "if", "else", "switch", "for", "while", "break", "continue", "var", "varip", "true", "false", "and", "or", "not", "import", "export":
		return true
	}
	return false
}

// enter counts a level of nesting; leave ends it.
func (p *parser) enter() {
	if p.depth++; p.depth > maxNesting {
		p.fail(p.tok().span, CodeSize, "The script is nested deeper than 64 levels here.", "Put inner parts into variables or functions.")
	}
}

func (p *parser) leave() { p.depth-- }

// line reads the statements of one logical line, with blocks that belong to them.
func (p *parser) line() (out []Stmt) {
	if k := p.tok().kind; k == tokIndent || k == tokDedent || k == tokNewline {
		return p.strayLayout()
	}
	from, depth := p.from(), p.depth
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(bail); !ok {
				panic(r)
			}
			p.depth = depth
			p.recover()
			out = append(out, &BadStmt{p.since(from)})
		}
	}()
	for {
		s := p.statement()
		out = append(out, s)
		if !p.accept(",") {
			break
		}
		if p.tok().kind == tokNewline {
			break
		}
	}
	p.endOfLine()
	return out
}

// strayLayout reads a block that belongs to nothing.
func (p *parser) strayLayout() []Stmt {
	t := p.next()
	if t.kind != tokIndent {
		return nil
	}
	if len(p.errs) == 0 || p.errs[len(p.errs)-1].From.Line < t.span.From.Line-1 {
		p.errs = append(p.errs, &Error{
			Span: t.span, Code: codeLayout, Message: "The line is indented, but the line above opens no block.",
			Fix: "Remove the indentation; to continue a line, indent by a number of spaces that is not a multiple of 4.",
		})
	}
	var out []Stmt
	for p.tok().kind != tokDedent && p.tok().kind != tokEOF {
		out = append(out, p.line()...)
	}
	if p.tok().kind == tokDedent {
		p.at++
	}
	return out
}

// endOfLine expects the end of the line, unless a block has just ended the statement.
func (p *parser) endOfLine() {
	switch p.tok().kind {
	case tokNewline:
		p.at++
	case tokDedent, tokEOF:
	default:
		if prev := p.tokens[p.at-1].kind; prev == tokDedent || prev == tokNewline {
			return
		}
		p.unexpected("the end of the statement")
	}
}

// recover skips to the next line of the current block.
func (p *parser) recover() {
	for {
		switch p.tok().kind {
		case tokEOF, tokDedent:
			return
		case tokNewline:
			p.at++
			return
		case tokIndent:
			return
		default:
			p.at++
		}
	}
}

// block reads an indented block, or statements on the same line if inline is allowed.
func (p *parser) block(inline bool) *Block {
	p.enter()
	defer p.leave()
	from := p.from()
	b := &Block{}
	if p.tok().kind != tokNewline {
		if !inline {
			p.unexpected("a new line and an indented block")
		}
		b.Stmts = append(b.Stmts, p.statement())
		for p.accept(",") && p.tok().kind != tokNewline {
			b.Stmts = append(b.Stmts, p.statement())
		}
		b.Span = p.since(from)
		return b
	}
	if p.peek(1).kind != tokIndent {
		p.fail(p.tok().span, codeLayout, "An indented block must follow this line.", "Indent the lines of the block by 4 spaces.")
	}
	p.at += 2
	from = p.from()
	for p.tok().kind != tokDedent && p.tok().kind != tokEOF {
		b.Stmts = append(b.Stmts, p.line()...)
	}
	b.Span = p.since(from)
	if p.tok().kind == tokDedent {
		p.at++
	}
	return b
}

func (p *parser) statement() Stmt {
	t := p.tok()
	if t.kind == tokName {
		if s := p.keyword(t); s != nil {
			return s
		}
	}
	if t.is("[") && p.tupleDecl() {
		return p.tuple()
	}
	if s := p.declaration(false, t.span.From); s != nil {
		return s
	}
	return p.simple()
}

// keyword reads a statement that a word begins, nil if t begins none.
func (p *parser) keyword(t token) Stmt {
	from := t.span.From
	switch t.text {
	case "import":
		if p.peek(1).kind == tokName {
			return p.importStmt()
		}
	case "export":
		p.at++
		return p.exported(from)
	case "break":
		p.at++
		return &Break{t.span}
	case "continue":
		p.at++
		return &Continue{t.span}
	case "type", "enum", "method":
		if s := p.typeLike(false, from); s != nil {
			return s
		}
	case "once":
		if p.blockFollows() {
			return p.once()
		}
	case "else":
		p.fail(t.span, codeLayout, `"else" belongs to no "if".`, `Indent it as its "if".`)
	}
	if t.kind == tokName && p.peek(1).is("(") && p.arrowAfter(1) {
		return p.function(false, false, from)
	}
	return nil
}

func (p *parser) exported(from Pos) Stmt {
	if s := p.typeLike(true, from); s != nil {
		return s
	}
	if p.peek(1).is("(") && p.arrowAfter(1) {
		return p.function(true, false, from)
	}
	if s := p.declaration(true, from); s != nil {
		return s
	}
	p.unexpected("a function, a type or a constant after export")
	return nil
}

// typeLike reads type, enum and method, which are words with a meaning only here.
func (p *parser) typeLike(export bool, from Pos) Stmt {
	t := p.tok()
	switch {
	case t.word("type") && p.peek(1).kind == tokName && p.peek(2).kind == tokNewline:
		p.at++
		return p.typeDecl(export, from)
	case t.word("enum") && p.peek(1).kind == tokName && p.peek(2).kind == tokNewline:
		p.at++
		return p.enumDecl(export, from)
	case t.word("method") && p.peek(1).kind == tokName && p.peek(2).is("("):
		p.at++
		return p.function(export, true, from)
	}
	return nil
}

// arrowAfter reports whether the bracket at peek(n) is closed and "=>" follows.
func (p *parser) arrowAfter(n int) bool {
	i := p.matching(p.at + n)
	return i > 0 && p.tokens[i+1].is("=>")
}

// matching returns the index of the bracket that closes the one at i, 0 if none does.
func (p *parser) matching(i int) int {
	depth := 0
	for ; i < len(p.tokens)-1; i++ {
		switch t := p.tokens[i]; {
		case t.kind <= tokDedent:
			return 0
		case t.is("(") || t.is("["):
			depth++
		case t.is(")") || t.is("]"):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}

func (p *parser) importStmt() Stmt {
	from := p.next().span.From
	s := &Import{User: p.userName()}
	p.expect("/")
	s.Lib = p.ident().Name
	p.expect("/")
	t := p.tok()
	n, err := strconv.Atoi(t.text)
	if t.kind != tokNumber || err != nil {
		p.unexpected("the version of the library, a whole number")
	}
	p.at++
	s.Version = n
	if p.tok().word("as") {
		p.at++
		s.Alias = p.ident()
	}
	s.Span = p.since(from)
	return s
}

// userName reads the name of a library's author, which may have hyphens.
func (p *parser) userName() string {
	parts := []string{p.ident().Name}
	for p.tok().is("-") && (p.peek(1).kind == tokName || p.peek(1).kind == tokNumber) {
		parts = append(parts, p.peek(1).text)
		p.at += 2
	}
	return strings.Join(parts, "-")
}

// simple reads an assignment or an expression.
func (p *parser) simple() Stmt {
	from := p.from()
	x := p.value()
	t := p.tok()
	switch t.text {
	case ":=", "+=", "-=", "*=", "/=", "%=":
		if t.kind == tokOp {
			p.at++
			v := p.value()
			return &Assign{p.since(from), x, t.text, v}
		}
	case "=":
		if t.kind == tokOp {
			p.fail(t.span, codeSyntax, `"=" declares a variable and cannot stand after this.`, `Write ":=" to assign, or "==" to compare.`)
		}
	}
	return &ExprStmt{p.since(from), x}
}

// value reads an expression, or a structure that gives a value.
func (p *parser) value() Expr {
	t := p.tok()
	if t.kind == tokName {
		switch t.text {
		case "if":
			return p.ifExpr()
		case "switch":
			if !p.peek(1).is("=") {
				return p.switchExpr()
			}
		case "for":
			return p.forExpr()
		case "while":
			return p.whileExpr()
		}
	}
	return p.expr()
}
