package syntax

import (
	"strconv"
	"strings"
)

func (p *printer) expr(x Expr) {
	switch x := x.(type) {
	case *Ident:
		p.WriteString(x.Name)
	case *Number:
		p.WriteString(x.Text)
	case *String:
		p.WriteString(Quote(x.Value))
	case *Bool:
		p.WriteString(strconv.FormatBool(x.Value))
	case *Color:
		p.WriteString(x.Text)
	case *Unary:
		p.WriteString(x.Op)
		if x.Op == "not" {
			p.WriteByte(' ')
		}
		p.expr(x.X)
	case *Binary:
		p.expr(x.X)
		p.WriteString(" " + x.Op + " ")
		p.expr(x.Y)
	case *Cond:
		p.expr(x.If)
		p.WriteString(" ? ")
		p.expr(x.Then)
		p.WriteString(" : ")
		p.expr(x.Else)
	case *Paren:
		p.WriteByte('(')
		p.expr(x.X)
		p.WriteByte(')')
	case *BadExpr:
		p.WriteString("na")
	default:
		p.compound(x)
	}
}

// Quote returns a string as source.
func Quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func (p *printer) compound(x Expr) {
	switch x := x.(type) {
	case *Tuple:
		p.WriteByte('[')
		p.list(x.Elems)
		p.WriteByte(']')
	case *Index:
		p.expr(x.X)
		p.WriteByte('[')
		p.expr(x.Offset)
		p.WriteByte(']')
	case *Member:
		p.expr(x.X)
		p.WriteString("." + x.Name.Name)
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
			p.WriteString(", ")
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
		p.WriteString("<" + strings.Join(types, ", ") + ">")
	}
	p.WriteByte('(')
	for i, a := range x.Args {
		if i > 0 {
			p.WriteString(", ")
		}
		if a.Name != nil {
			p.WriteString(a.Name.Name + " = ")
		}
		p.expr(a.Value)
	}
	p.WriteByte(')')
}

func (p *printer) ifExpr(x *If) {
	for {
		p.WriteString("if ")
		p.expr(x.Cond)
		p.block(x.Then)
		if x.Else == nil {
			return
		}
		p.begin()
		p.WriteString("else")
		next, ok := elseIf(x.Else)
		if !ok {
			p.block(x.Else)
			return
		}
		p.WriteByte(' ')
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
	p.WriteString("switch")
	if x.X != nil {
		p.WriteByte(' ')
		p.expr(x.X)
	}
	p.WriteByte('\n')
	p.depth++
	for _, c := range x.Cases {
		p.begin()
		if c.Match != nil {
			p.expr(c.Match)
			p.WriteByte(' ')
		}
		p.WriteString("=>")
		p.block(c.Body)
	}
	p.depth--
}

func (p *printer) loop(x Expr) {
	switch x := x.(type) {
	case *For:
		p.WriteString("for ")
		p.typ(x.Type)
		p.WriteString(x.Name.Name + " = ")
		p.expr(x.From)
		p.WriteString(" to ")
		p.expr(x.To)
		if x.Step != nil {
			p.WriteString(" by ")
			p.expr(x.Step)
		}
		p.block(x.Body)
	case *ForIn:
		p.WriteString("for ")
		if x.Index != nil {
			p.WriteString("[" + x.Index.Name + ", " + x.Value.Name + "]")
		} else {
			p.WriteString(x.Value.Name)
		}
		p.WriteString(" in ")
		p.expr(x.X)
		p.block(x.Body)
	case *While:
		p.WriteString("while ")
		p.expr(x.Cond)
		p.block(x.Body)
	}
}
