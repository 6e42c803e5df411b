package convert

import (
	"slices"
	"strings"

	"candela/lib/pine/syntax"
)

// converter walks over a script and notes the edits.
type converter struct {
	text     *text
	version  int
	scopes   []map[string]kind // declared names; those of functions end in ()
	assigned map[string]kind   // what := gives to names that are declared as na
}

func (c *converter) push() { c.scopes = append(c.scopes, map[string]kind{}) }
func (c *converter) pop()  { c.scopes = c.scopes[:len(c.scopes)-1] }

func (c *converter) declare(name string, k kind) { c.scopes[len(c.scopes)-1][name] = k }

func (c *converter) lookup(name string) (kind, bool) {
	for _, s := range slices.Backward(c.scopes) {
		if k, ok := s[name]; ok {
			return k, true
		}
	}
	return unknown, false
}

// findAssigned notes the kind of the first value that := gives to a name.
func (c *converter) findAssigned(list []syntax.Stmt) {
	c.push()
	defer func() { c.scopes = nil }()
	var visit func(list []syntax.Stmt)
	block := func(b *syntax.Block) {
		if b != nil {
			visit(b.Stmts)
		}
	}
	visit = func(list []syntax.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *syntax.Assign:
				if id, ok := s.Target.(*syntax.Ident); ok {
					c.assigned[id.Name] = either(c.assigned[id.Name], c.kindOf(s.Value))
				}
				eachBlock(s.Value, block)
			case *syntax.Decl:
				if k := c.kindOf(s.Value); k != unknown {
					c.declare(s.Name.Name, k) // x := x + 1 is whole if x is
				}
				eachBlock(s.Value, block)
			case *syntax.ExprStmt:
				eachBlock(s.X, block)
			case *syntax.FuncDecl:
				block(s.Body)
			}
		}
	}
	visit(list)
}

// eachBlock calls visit for the blocks of a structure.
func eachBlock(x syntax.Expr, visit func(*syntax.Block)) {
	switch x := x.(type) {
	case *syntax.If:
		visit(x.Then)
		visit(x.Else)
	case *syntax.For:
		visit(x.Body)
	case *syntax.While:
		visit(x.Body)
	}
}

func (c *converter) stmts(list []syntax.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Decl:
			c.decl(s)
		case *syntax.TupleDecl:
			c.expr(s.Value)
			for _, n := range s.Names {
				c.declare(n.Name, unknown)
			}
		case *syntax.Assign:
			c.expr(s.Target)
			c.expr(s.Value)
		case *syntax.ExprStmt:
			c.expr(s.X)
		case *syntax.FuncDecl:
			c.function(s)
		}
	}
}

func (c *converter) function(s *syntax.FuncDecl) {
	c.push()
	for _, p := range s.Params {
		c.declare(p.Name.Name, unknown)
	}
	c.stmts(s.Body.Stmts)
	k := c.kindOfBlock(s.Body)
	c.pop()
	c.declare(s.Name.Name+"()", k)
}

func (c *converter) block(b *syntax.Block) {
	if b == nil {
		return
	}
	c.push()
	c.stmts(b.Stmts)
	c.pop()
}

// decl converts a declaration. Versions before 4 take the value of the bar before of a
// variable that is being declared, and need no type for na.
func (c *converter) decl(s *syntax.Decl) {
	name := s.Name.Name
	k := c.kindOf(s.Value)
	if k == unknown {
		k = c.assigned[name]
	}
	_, before := c.lookup(name)
	itself := !before && s.Mode == syntax.Each && names(s.Value, name) && !c.isOlder(name)
	switch {
	case givesNothing(s.Value):
		c.text.remove(s.Name.From, s.Value.Where().From)
	case itself:
		keyword := k.keyword() + " "
		if s.Type != nil {
			keyword = ""
		}
		c.declare(name, k)
		c.text.replace(syntax.Span{From: s.Name.From, To: s.Value.Where().From}, keyword+name+" = na, "+name+" := ")
	case s.Type == nil && (isNA(s.Value) || k == whole && c.assigned[name] == number):
		c.text.insert(s.Name.From, k.keyword()+" ")
	}
	c.expr(s.Value)
	c.declare(name, k)
	if call, ok := s.Value.(*syntax.Call); ok && dotted(call.Fun) == "input" {
		c.declare(name+"?", k)
	}
}

// givesNothing reports whether a value is a call that gives none from version 5 on.
func givesNothing(x syntax.Expr) bool {
	call, ok := x.(*syntax.Call)
	return ok && slices.Contains([]string{"plotshape", "plotchar", "plotarrow", "bgcolor", "barcolor", "alertcondition"}, dotted(call.Fun))
}

// isOlder reports whether a name that reads itself means a variable of the language.
func (c *converter) isOlder(name string) bool {
	young := NewName(name)
	return young == "ta.vwap" || young == "ta.obv" || young == "ta.tr" || young == "ta.accdist"
}

// names reports whether an expression reads a name.
func names(x syntax.Expr, name string) bool {
	found := false
	syntax.Walk([]syntax.Stmt{&syntax.ExprStmt{X: x}}, func(e syntax.Expr) bool {
		switch e := e.(type) {
		case *syntax.Ident:
			found = found || e.Name == name
		case *syntax.Member:
			return false
		case *syntax.Call:
			if id, ok := e.Fun.(*syntax.Ident); ok && id.Name == name {
				for _, a := range e.Args {
					found = found || names(a.Value, name)
				}
				return false
			}
		}
		return !found
	})
	return found
}

func isNA(x syntax.Expr) bool {
	id, ok := x.(*syntax.Ident)
	return ok && id.Name == "na"
}

// expr converts an expression.
func (c *converter) expr(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.Ident:
		c.name(x)
	case *syntax.Member:
		c.member(x)
	case *syntax.Unary:
		c.operand(x.X)
	case *syntax.Binary:
		c.operand(x.X)
		c.operand(x.Y)
	case *syntax.Cond:
		c.operand(x.If)
		c.expr(x.Then)
		c.expr(x.Else)
	case *syntax.Paren:
		c.expr(x.X)
	case *syntax.Tuple:
		for _, e := range x.Elems {
			c.expr(e)
		}
	case *syntax.Index:
		c.expr(x.X)
		c.expr(x.Offset)
	case *syntax.Call:
		c.call(x)
	default:
		c.structure(x)
	}
}

func (c *converter) structure(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.If:
		c.operand(x.Cond)
		c.block(x.Then)
		c.block(x.Else)
	case *syntax.For:
		c.expr(x.From)
		c.expr(x.To)
		if x.Step != nil {
			c.expr(x.Step)
		}
		c.push()
		c.declare(x.Name.Name, whole)
		c.stmts(x.Body.Stmts)
		c.pop()
	case *syntax.While:
		c.expr(x.Cond)
		c.block(x.Body)
	}
}

// name converts a name that is read.
func (c *converter) name(x *syntax.Ident) {
	if _, own := c.lookup(x.Name); own {
		return
	}
	if young := NewName(x.Name); isValue(young) {
		c.text.replace(x.Span, young)
	}
}

// isValue reports whether a name of version 5 is a variable or constant.
func isValue(young string) bool {
	switch young {
	case "ta.vwap", "ta.obv", "ta.accdist", "ta.iii", "ta.nvi", "ta.pvi", "ta.pvt", "ta.wad", "ta.wvad", "ta.tr", "bar_index":
		return true
	}
	for _, space := range []string{"syminfo.", "timeframe.", "color.", "plot.", "dayofweek."} {
		if strings.HasPrefix(young, space) {
			return true
		}
	}
	return false
}

func (c *converter) member(x *syntax.Member) {
	name := dotted(x)
	if name == "" {
		c.expr(x.X)
		return
	}
	if young := newMember(name); young != "" {
		c.text.replace(x.Span, young)
	}
}
