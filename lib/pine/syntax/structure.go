package syntax

// ifExpr reads an if with its else branches. A chain of else if nests in the tree and not
// in the parser.
func (p *parser) ifExpr() Expr {
	var first, last *If
	for n := 0; ; n++ {
		if n > maxChain {
			p.tooLong()
		}
		from := p.next().span.From // "if"
		x := &If{Cond: p.expr()}
		x.Then = p.block(false)
		x.Span = p.since(from)
		if first == nil {
			first = x
		} else {
			last.Else = &Block{x.Span, []Stmt{&ExprStmt{x.Span, x}}}
		}
		last = x
		if !p.tok().word("else") {
			break
		}
		p.at++
		if !p.tok().word("if") {
			last.Else = p.block(false)
			break
		}
	}
	first.Span = p.since(first.From)
	return first
}

// blockFollows reports whether a word at the beginning of a line opens a block: what follows it is an expression or nothing.
func (p *parser) blockFollows() bool {
	next := p.peek(1)
	if next.kind == tokOp && !next.is("(") && !next.is("-") && !next.is("+") {
		return false
	}
	i := p.at + 1
	for p.tokens[i].kind > tokDedent {
		if p.tokens[i].is("=>") {
			return false
		}
		i++
	}
	return p.tokens[i].kind == tokNewline && i+1 < len(p.tokens) && p.tokens[i+1].kind == tokIndent
}

func (p *parser) once() Stmt {
	t := p.next()
	x := &If{Once: true, Cond: &Bool{t.span, true}}
	if p.tok().kind != tokNewline {
		x.Cond = p.expr()
	}
	x.Then = p.block(false)
	x.Span = p.since(t.span.From)
	return &ExprStmt{x.Span, x}
}

func (p *parser) switchExpr() Expr {
	from := p.next().span.From
	s := &Switch{}
	if p.tok().kind != tokNewline {
		s.X = p.expr()
	}
	if p.tok().kind != tokNewline || p.peek(1).kind != tokIndent {
		p.fail(p.tok().span, codeLayout, "The cases of the switch must follow, indented.", "Indent each case by 4 spaces.")
	}
	p.at += 2
	p.enter()
	defer p.leave()
	for p.tok().kind != tokDedent && p.tok().kind != tokEOF {
		s.Cases = append(s.Cases, p.switchCase())
	}
	s.Span = p.since(from)
	if p.tok().kind == tokDedent {
		p.at++
	}
	return s
}

func (p *parser) switchCase() *Case {
	from := p.from()
	c := &Case{}
	if !p.tok().is("=>") {
		c.Match = p.expr()
	}
	p.expect("=>")
	if p.structureNext() {
		at := p.from()
		x := p.value()
		c.Body = &Block{p.since(at), []Stmt{&ExprStmt{p.since(at), x}}}
	} else {
		c.Body = p.block(true)
	}
	c.Span = p.since(from)
	p.endOfLine()
	return c
}

func (p *parser) forExpr() Expr {
	from := p.next().span.From
	if p.tok().is("[") {
		p.at++
		index := p.ident()
		p.expect(",")
		value := p.ident()
		p.expect("]")
		return p.forIn(from, index, value)
	}
	if p.peek(1).word("in") {
		return p.forIn(from, nil, p.ident())
	}
	f := &For{}
	if !p.peek(1).is("=") {
		f.Type = p.tryType()
	}
	f.Name = p.ident()
	p.expect("=")
	f.From = p.expr()
	if !p.tok().word("to") {
		p.unexpected(`"to"`)
	}
	p.at++
	f.To = p.expr()
	if p.tok().word("by") {
		p.at++
		f.Step = p.expr()
	}
	f.Body = p.block(false)
	f.Span = p.since(from)
	return f
}

func (p *parser) forIn(from Pos, index, value *Ident) Expr {
	if !p.tok().word("in") {
		p.unexpected(`"in"`)
	}
	p.at++
	f := &ForIn{Index: index, Value: value, X: p.expr()}
	f.Body = p.block(false)
	f.Span = p.since(from)
	return f
}

func (p *parser) whileExpr() Expr {
	from := p.next().span.From
	w := &While{Cond: p.expr()}
	w.Body = p.block(false)
	w.Span = p.since(from)
	return w
}
