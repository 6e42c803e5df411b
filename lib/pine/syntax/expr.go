package syntax

import (
	"slices"
	"strconv"
	"strings"
)

// expr reads an expression: a conditional or what binds closer.
func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.cond()
}

// cond reads a chain a ? b : c ? d : e without nesting deeper for each link.
func (p *parser) cond() Expr {
	type link struct {
		from      Pos
		test, yes Expr
	}
	var chain []link
	for {
		from := p.from()
		x := p.binary(0)
		if !p.tok().is("?") {
			for _, l := range slices.Backward(chain) {
				x = &Cond{p.since(l.from), l.test, l.yes, x}
			}
			return x
		}
		p.at++
		yes := p.expr()
		p.expect(":")
		if chain = append(chain, link{from, x, yes}); len(chain) > maxChain {
			p.tooLong()
		}
	}
}

func (p *parser) tooLong() {
	p.fail(p.tok().span, CodeSize, "The expression has more than 1,000 parts.", "Put parts of it into variables.")
}

// precedence returns how close an operator binds, -1 if the token is none.
func precedence(t token) int {
	if t.kind == tokName {
		switch t.text {
		case "or":
			return 0
		case "and":
			return 1
		}
		return -1
	}
	if t.kind != tokOp {
		return -1
	}
	switch t.text {
	case "==", "!=":
		return 2
	case "<", ">", "<=", ">=":
		return 3
	case "+", "-":
		return 4
	case "*", "/", "%":
		return 5
	}
	return -1
}

func (p *parser) binary(least int) Expr {
	from := p.from()
	x := p.unary()
	for n := 0; ; n++ {
		t := p.tok()
		level := precedence(t)
		if level < least {
			return x
		}
		if n >= maxChain {
			p.tooLong()
		}
		p.at++
		y := p.binary(level + 1)
		x = &Binary{p.since(from), t.text, x, y}
	}
}

func (p *parser) unary() Expr {
	t := p.tok()
	if t.is("-") || t.is("+") || t.word("not") {
		p.enter()
		defer p.leave()
		p.at++
		x := p.unary()
		return &Unary{p.since(t.span.From), t.text, x}
	}
	return p.postfix()
}

// postfix reads an operand with its members, calls and history offsets.
func (p *parser) postfix() Expr {
	from := p.from()
	x := p.operand()
	for n := 0; ; n++ {
		if n > maxChain {
			p.tooLong()
		}
		t := p.tok()
		switch {
		case t.is("."):
			p.at++
			name := p.memberName()
			x = &Member{p.since(from), x, name}
		case t.is("("):
			x = p.call(from, x, nil)
		case t.is("<") && callable(x) && p.typeArgsAhead():
			x = p.call(from, x, p.typeArgs())
		case t.is("["):
			p.at++
			k := p.expr()
			p.expect("]")
			x = &Index{p.since(from), x, k}
		default:
			return x
		}
	}
}

// memberName reads a name after a dot, where words of the language are names too.
func (p *parser) memberName() *Ident {
	t := p.tok()
	if t.kind != tokName {
		p.unexpected("a name")
	}
	p.at++
	return &Ident{t.span, t.text}
}

func callable(x Expr) bool {
	switch x.(type) {
	case *Ident, *Member:
		return true
	}
	return false
}

// typeArgsAhead reports whether <T, ...>( is here.
func (p *parser) typeArgsAhead() bool {
	start := p.at
	ok := p.typeArgs() != nil && p.tok().is("(")
	p.at = start
	return ok
}

func (p *parser) call(from Pos, fun Expr, types []*TypeExpr) Expr {
	if !callable(fun) {
		p.fail(p.tok().span, codeSyntax, "Only a name can be called.", "Put the value into a variable.")
	}
	p.expect("(")
	c := &Call{Fun: fun, Types: types}
	for !p.tok().is(")") {
		at := p.from()
		a := &Arg{}
		if p.tok().kind == tokName && p.peek(1).is("=") {
			a.Name = p.memberName()
			p.at++
		}
		a.Value = p.expr()
		a.Span = p.since(at)
		c.Args = append(c.Args, a)
		if !p.accept(",") {
			break
		}
	}
	p.expect(")")
	c.Span = p.since(from)
	return c
}

func (p *parser) operand() Expr {
	t := p.tok()
	switch t.kind {
	case tokNumber:
		p.at++
		v, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			p.fail(t.span, codeSyntax, "The number is too large.", "Write a number below 1.8e308.")
		}
		return &Number{t.span, t.text, v, !strings.ContainsAny(t.text, ".eE")}
	case tokString:
		p.at++
		return &String{t.span, t.text}
	case tokColor:
		p.at++
		return p.color(t)
	case tokName:
		if t.text == "true" || t.text == "false" {
			p.at++
			return &Bool{t.span, t.text == "true"}
		}
		return p.ident()
	case tokOp:
		if t.text == "(" {
			p.at++
			x := p.expr()
			p.expect(")")
			return &Paren{p.since(t.span.From), x}
		}
		if t.text == "[" {
			return p.list()
		}
	default: // layout begins no value
	}
	p.unexpected("a value")
	return nil
}

func (p *parser) color(t token) Expr {
	digits := t.text[1:]
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || len(digits) != 6 && len(digits) != 8 {
		p.fail(t.span, codeSyntax, "The colour "+t.text+" has no 6 or 8 hexadecimal digits.", "Write it as #rrggbb or #rrggbbaa.")
	}
	if len(digits) == 6 {
		v = v<<8 | 255
	}
	return &Color{t.span, t.text, uint32(v)}
}

func (p *parser) list() Expr {
	from := p.next().span.From
	t := &Tuple{}
	for !p.tok().is("]") {
		t.Elems = append(t.Elems, p.expr())
		if !p.accept(",") {
			break
		}
	}
	p.expect("]")
	t.Span = p.since(from)
	return t
}
