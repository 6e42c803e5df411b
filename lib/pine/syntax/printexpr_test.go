package syntax

import (
	"strconv"
	"strings"
)

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Ident:
		p.write(x.Name)
	case *Number:
		p.write(x.Text)
	case *String:
		p.write(quote(x.Value))
	case *Bool:
		p.write(strconv.FormatBool(x.Value))
	case *Color:
		p.write(x.Text)
	case *Unary:
		p.write(x.Op)
		if x.Op == "not" {
			p.write(" ")
		}
		p.expr(x.X)
	case *Binary:
		p.expr(x.X)
		p.write(" " + x.Op + " ")
		p.expr(x.Y)
	case *Cond:
		p.expr(x.If)
		p.write(" ? ")
		p.expr(x.Then)
		p.write(" : ")
		p.expr(x.Else)
	case *Paren:
		p.write("(")
		p.expr(x.X)
		p.write(")")
	case *BadExpr:
		p.write("na")
	default:
		p.compound(x)
	}
}

// quote returns a string as source.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func (p *printer) compound(x Expr) {
	switch x := x.(type) {
	case *Tuple:
		p.write("[")
		p.list(x.Elems)
		p.write("]")
	case *Index:
		p.expr(x.X)
		p.write("[")
		p.expr(x.Offset)
		p.write("]")
	case *Member:
		p.expr(x.X)
		p.write("." + x.Name.Name)
	case *Call:
		p.call(x)
	case *If:
		p.ifExpr(x)
	case *Switch:
		p.switchExpr(x)
	case *For, *ForIn, *While:
		p.loop(x)
	}
}

func (p *printer) list(xs []Expr) {
	for i, e := range xs {
		if i > 0 {
			p.write(", ")
		}
		p.expr(e)
	}
}

func (p *printer) call(x *Call) {
	p.expr(x.Fun)
	if len(x.Types) > 0 {
		types := make([]string, len(x.Types))
		for i, t := range x.Types {
			types[i] = t.String()
		}
		p.write("<" + strings.Join(types, ", ") + ">")
	}
	p.write("(")
	for i, a := range x.Args {
		if i > 0 {
			p.write(", ")
		}
		if a.Name != nil {
			p.write(a.Name.Name + " = ")
		}
		p.expr(a.Value)
	}
	p.write(")")
}

func (p *printer) ifExpr(x *If) {
	for {
		p.write("if ")
		p.expr(x.Cond)
		p.block(x.Then)
		if x.Else == nil {
			return
		}
		p.begin()
		p.write("else")
		next, ok := elseIf(x.Else)
		if !ok {
			p.block(x.Else)
			return
		}
		p.write(" ")
		x = next
	}
}

// elseIf returns the if that a block consists of.
func elseIf(b *Block) (*If, bool) {
	if len(b.Stmts) != 1 {
		return nil, false
	}
	s, ok := b.Stmts[0].(*ExprStmt)
	if !ok {
		return nil, false
	}
	x, ok := s.X.(*If)
	return x, ok
}

func (p *printer) switchExpr(x *Switch) {
	p.write("switch")
	if x.X != nil {
		p.write(" ")
		p.expr(x.X)
	}
	p.write("\n")
	p.depth++
	for _, c := range x.Cases {
		p.begin()
		if c.Match != nil {
			p.expr(c.Match)
			p.write(" ")
		}
		p.write("=>")
		p.block(c.Body)
	}
	p.depth--
}

func (p *printer) loop(x Expr) {
	switch x := x.(type) {
	case *For:
		p.write("for ")
		p.typ(x.Type)
		p.write(x.Name.Name + " = ")
		p.expr(x.From)
		p.write(" to ")
		p.expr(x.To)
		if x.Step != nil {
			p.write(" by ")
			p.expr(x.Step)
		}
		p.block(x.Body)
	case *ForIn:
		p.write("for ")
		if x.Index != nil {
			p.write("[" + x.Index.Name + ", " + x.Value.Name + "]")
		} else {
			p.write(x.Value.Name)
		}
		p.write(" in ")
		p.expr(x.X)
		p.block(x.Body)
	case *While:
		p.write("while ")
		p.expr(x.Cond)
		p.block(x.Body)
	}
}
