package check

import (
	"slices"

	"candela/lib/pine/syntax"
)

// assignments returns the declared names that an assignment changes, found by the rules
// of scopes.
func assignments(file *syntax.File) map[*syntax.Ident]bool {
	a := &assigner{out: map[*syntax.Ident]bool{}}
	a.push()
	a.stmts(file.Stmts)
	return a.out
}

type assigner struct {
	scopes []map[string]*syntax.Ident
	out    map[*syntax.Ident]bool
}

func (a *assigner) push() { a.scopes = append(a.scopes, map[string]*syntax.Ident{}) }
func (a *assigner) pop()  { a.scopes = a.scopes[:len(a.scopes)-1] }

func (a *assigner) declare(id *syntax.Ident) {
	if id != nil {
		a.scopes[len(a.scopes)-1][id.Name] = id
	}
}

func (a *assigner) block(b *syntax.Block) {
	if b != nil {
		a.push()
		a.stmts(b.Stmts)
		a.pop()
	}
}

func (a *assigner) stmts(list []syntax.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *syntax.Decl:
			a.value(s.Value)
			a.declare(s.Name)
		case *syntax.TupleDecl:
			a.value(s.Value)
			for _, n := range s.Names {
				a.declare(n)
			}
		case *syntax.Assign:
			a.assign(s)
		case *syntax.ExprStmt:
			a.value(s.X)
		case *syntax.FuncDecl:
			a.push()
			for _, p := range s.Params {
				a.declare(p.Name)
			}
			a.stmts(s.Body.Stmts)
			a.pop()
		}
	}
}

func (a *assigner) assign(s *syntax.Assign) {
	a.value(s.Value)
	id, ok := s.Target.(*syntax.Ident)
	if !ok {
		return
	}
	for _, scope := range slices.Backward(a.scopes) {
		if d := scope[id.Name]; d != nil {
			a.out[d] = true
			return
		}
	}
}

// value looks into structures; other expressions assign nothing.
func (a *assigner) value(x syntax.Expr) {
	switch x := x.(type) {
	case *syntax.If:
		for x != nil {
			a.block(x.Then)
			if x.Else == nil {
				return
			}
			if s, ok := x.Else.Stmts[0].(*syntax.ExprStmt); ok && len(x.Else.Stmts) == 1 {
				if next, ok := s.X.(*syntax.If); ok {
					x = next
					continue
				}
			}
			a.block(x.Else)
			return
		}
	case *syntax.Switch:
		for _, k := range x.Cases {
			a.block(k.Body)
		}
	case *syntax.For:
		a.push()
		a.declare(x.Name)
		a.block(x.Body)
		a.pop()
	case *syntax.ForIn:
		a.push()
		a.declare(x.Index)
		a.declare(x.Value)
		a.block(x.Body)
		a.pop()
	case *syntax.While:
		a.block(x.Body)
	}
}
