package check

// walkStmts visits every expression below statements, outer ones first, and calls set for
// each variable that a statement declares or assigns. It goes into an expression only if
// visit returns true; a nil visit goes into all, a nil set is not called.
func walkStmts(list []Stmt, visit func(Expr) bool, set func(*Var)) {
	w := &walker{visit, set}
	w.stmts(list)
}

// WalkBlock visits a block as walkStmts does, with its value.
func WalkBlock(b *Block, visit func(Expr) bool, set func(*Var)) {
	w := &walker{visit, set}
	w.block(b)
}

// WalkExpr visits an expression as walkStmts does. It does not go into called functions.
func WalkExpr(e Expr, visit func(Expr) bool, set func(*Var)) {
	w := &walker{visit, set}
	w.expr(e)
}

type walker struct {
	visit func(Expr) bool
	set   func(*Var)
}

func (w *walker) sets(v *Var) {
	if v != nil && w.set != nil {
		w.set(v)
	}
}

func (w *walker) stmts(list []Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *Declare:
			w.sets(s.Var)
			w.expr(s.Init)
		case *DeclareTuple:
			for _, v := range s.Vars {
				w.sets(v)
			}
			w.expr(s.Init)
		case *Assign:
			w.sets(s.Var)
			w.expr(s.Value)
		case *AssignField:
			w.expr(s.X)
			w.expr(s.Value)
			if r, ok := s.X.(*VarRef); ok {
				w.sets(r.Var)
			}
		case *Do:
			w.expr(s.X)
			if c, ok := s.X.(*Call); ok && c.Builtin != nil && len(c.Args) > 0 && c.T.Kind == Void {
				// array.push(a, x) and its like change what a variable refers to.
				if r, ok := c.Args[0].(*VarRef); ok && r.Var.Type.Reference() {
					w.sets(r.Var)
				}
			}
		}
	}
}

func (w *walker) block(b *Block) {
	if b != nil {
		w.stmts(b.Stmts)
		if b.Value != nil {
			w.expr(b.Value)
		}
	}
}

func (w *walker) exprs(list []Expr) {
	for _, e := range list {
		if e != nil {
			w.expr(e)
		}
	}
}

func (w *walker) expr(e Expr) {
	if e == nil || w.visit != nil && !w.visit(e) {
		return
	}
	switch e := e.(type) {
	case *Unary:
		w.expr(e.X)
	case *Binary:
		w.expr(e.X)
		w.expr(e.Y)
	case *Logic:
		w.expr(e.X)
		w.expr(e.Y)
	case *Cond:
		w.expr(e.If)
		w.expr(e.Then)
		w.expr(e.Else)
	case *Cast:
		w.expr(e.X)
	case *History:
		w.expr(e.X)
		w.expr(e.Offset)
	case *Call:
		w.exprs(e.Args)
		w.exprs(e.Rest)
	case *New:
		w.exprs(e.Fields)
	case *Field:
		w.expr(e.X)
	case *Copy:
		w.expr(e.X)
	case *Tuple:
		w.exprs(e.Elems)
	default:
		w.structure(e)
	}
}

func (w *walker) structure(e Expr) {
	switch e := e.(type) {
	case *If:
		w.expr(e.Cond)
		w.block(e.Then)
		w.block(e.Else)
	case *Switch:
		w.exprs([]Expr{e.X})
		for _, k := range e.Cases {
			w.exprs([]Expr{k.Match})
			w.block(k.Body)
		}
	case *For:
		w.sets(e.Var)
		w.exprs([]Expr{e.From, e.To, e.Step})
		w.block(e.Body)
	case *ForIn:
		w.sets(e.Index)
		w.sets(e.Value)
		w.expr(e.X)
		w.block(e.Body)
	case *While:
		w.expr(e.Cond)
		w.block(e.Body)
	}
}
