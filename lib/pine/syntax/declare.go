package syntax

// tupleDecl reports whether the bracket here is the left side of [a, b] = value.
func (p *parser) tupleDecl() bool {
	i := p.matching(p.at)
	return i > 0 && (p.tokens[i+1].is("=") || p.tokens[i+1].is(":="))
}

func (p *parser) tuple() Stmt {
	from := p.next().span.From
	s := &TupleDecl{}
	for {
		s.Names = append(s.Names, p.ident())
		if !p.accept(",") {
			break
		}
	}
	p.expect("]")
	if t := p.tok(); t.is(":=") {
		p.fail(t.span, codeSyntax, "A tuple can only be declared.", `Write "=", with new names, and assign the variables one by one.`)
	}
	p.expect("=")
	s.Value = p.value()
	s.Span = p.since(from)
	return s
}

// declaration reads [var] [qualifier] [type] name = value, nil if this is none.
func (p *parser) declaration(export bool, from Pos) Stmt {
	start := p.at
	d := &Decl{Export: export}
	switch {
	case p.tok().word("var"):
		d.Mode = Var
	case p.tok().word("varip"):
		d.Mode = Varip
	}
	if d.Mode != Each {
		p.at++
		if p.tok().is("[") {
			p.fail(p.tok().span, codeSyntax, "A tuple cannot be declared with var.", "Declare each variable with var and assign it from the tuple.")
		}
	}
	if p.peek(0).kind != tokName || !p.peek(1).is("=") {
		d.Type = p.tryType()
	}
	if p.tok().kind != tokName || reserved(p.tok().text) || !p.peek(1).is("=") {
		if d.Mode != Each {
			p.unexpected(`a name and "="`)
		}
		p.at = start
		return nil
	}
	d.Name = p.ident()
	p.expect("=")
	d.Value = p.value()
	d.Span = p.since(from)
	return d
}

// tryType reads a type if one is here, followed by a name; otherwise it reads nothing.
func (p *parser) tryType() *TypeExpr {
	start := p.at
	t := p.typeExpr()
	if t == nil || p.tok().kind != tokName || reserved(p.tok().text) {
		p.at = start
		return nil
	}
	return t
}

func isQualifier(w string) bool {
	return w == "const" || w == "input" || w == "simple" || w == "series"
}

// typeExpr reads a type, nil if none is here.
func (p *parser) typeExpr() *TypeExpr {
	if p.depth++; p.depth > maxNesting {
		p.depth--
		return nil
	}
	defer p.leave()
	t := &TypeExpr{}
	from := p.from()
	if tok := p.tok(); tok.kind == tokName && isQualifier(tok.text) && p.peek(1).kind == tokName && !reserved(p.peek(1).text) {
		t.Qualifier = tok.text
		p.at++
		if p.tok().kind == tokName && (p.peek(1).is("=") || p.peek(1).is(",") || p.peek(1).is(")")) {
			t.Span = p.since(from)
			return t // a qualifier alone: series x
		}
	}
	tok := p.tok()
	if tok.kind != tokName || reserved(tok.text) {
		return nil
	}
	t.Name = tok.text
	p.at++
	for p.tok().is(".") && p.peek(1).kind == tokName {
		t.Name += "." + p.peek(1).text
		p.at += 2
	}
	if p.tok().is("<") {
		if t.Args = p.typeArgs(); t.Args == nil {
			return nil
		}
	}
	for p.tok().is("[") && p.peek(1).is("]") {
		p.at += 2
		elem := *t
		elem.Qualifier, elem.Span = "", p.since(from)
		t = &TypeExpr{Qualifier: t.Qualifier, Name: "array", Args: []*TypeExpr{&elem}}
	}
	t.Span = p.since(from)
	return t
}

// typeArgs reads <T, U>, nil if that is not here; then the position is lost.
func (p *parser) typeArgs() []*TypeExpr {
	p.at++
	var args []*TypeExpr
	for {
		a := p.typeExpr()
		if a == nil {
			return nil
		}
		args = append(args, a)
		if !p.accept(",") {
			break
		}
	}
	if !p.accept(">") {
		return nil
	}
	return args
}

func (p *parser) function(export, method bool, from Pos) Stmt {
	f := &FuncDecl{Export: export, Method: method, Name: p.ident()}
	p.expect("(")
	for !p.tok().is(")") {
		f.Params = append(f.Params, p.param())
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	p.expect("=>")
	if p.tok().kind == tokNewline || !p.structureNext() {
		f.Body = p.block(true)
	} else {
		at := p.from()
		x := p.value()
		f.Body = &Block{p.since(at), []Stmt{&ExprStmt{p.since(at), x}}}
	}
	f.Span = p.since(from)
	return f
}

// structureNext reports whether if, switch, for or while begins here.
func (p *parser) structureNext() bool {
	t := p.tok()
	return t.word("if") || t.word("switch") || t.word("for") || t.word("while")
}

func (p *parser) param() *Param {
	from := p.from()
	q := &Param{}
	if n := p.peek(1); !n.is(",") && !n.is(")") && !n.is("=") {
		if q.Type = p.tryType(); q.Type == nil {
			p.unexpected("a parameter")
		}
	}
	q.Name = p.ident()
	if p.accept("=") {
		q.Default = p.expr()
	}
	q.Span = p.since(from)
	return q
}

func (p *parser) typeDecl(export bool, from Pos) Stmt {
	d := &TypeDecl{Export: export, Name: p.ident()}
	p.members(func() {
		at := p.from()
		f := &FieldDecl{}
		if p.tok().word("varip") {
			f.Varip = true
			p.at++
		}
		if f.Type = p.tryType(); f.Type == nil {
			p.unexpected("a field: its type and its name")
		}
		f.Name = p.ident()
		if p.accept("=") {
			f.Default = p.expr()
		}
		f.Span = p.since(at)
		d.Fields = append(d.Fields, f)
	})
	d.Span = p.since(from)
	return d
}

func (p *parser) enumDecl(export bool, from Pos) Stmt {
	d := &EnumDecl{Export: export, Name: p.ident()}
	p.members(func() {
		at := p.from()
		m := &EnumMember{Name: p.ident()}
		if p.accept("=") {
			m.Title = p.expr()
		}
		m.Span = p.since(at)
		d.Members = append(d.Members, m)
	})
	d.Span = p.since(from)
	return d
}

// members reads the indented lines of a type or an enum.
func (p *parser) members(one func()) {
	if p.tok().kind != tokNewline || p.peek(1).kind != tokIndent {
		p.fail(p.tok().span, codeLayout, "An indented list must follow this line.", "Indent each member by 4 spaces.")
	}
	p.at += 2
	for p.tok().kind != tokDedent && p.tok().kind != tokEOF {
		one()
		for p.accept(",") {
			one()
		}
		if p.tok().kind == tokNewline {
			p.at++
		} else if p.tok().kind != tokDedent && p.tok().kind != tokEOF {
			p.unexpected("the end of the line")
		}
	}
	if p.tok().kind == tokDedent {
		p.at++
	}
}
