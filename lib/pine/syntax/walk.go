package syntax

// Walk calls visit for every expression below some statements, outer ones first. It goes
// into an expression only if visit returns true.
func Walk(list []Stmt, visit func(Expr) bool) {
	for _, s := range list {
		switch s := s.(type) {
		case *Decl:
			walkExpr(s.Value, visit)
		case *TupleDecl:
			walkExpr(s.Value, visit)
		case *Assign:
			walkExpr(s.Target, visit)
			walkExpr(s.Value, visit)
		case *ExprStmt:
			walkExpr(s.X, visit)
		case *FuncDecl:
			for _, p := range s.Params {
				walkExpr(p.Default, visit)
			}
			walkBlock(s.Body, visit)
		case *TypeDecl:
			for _, f := range s.Fields {
				walkExpr(f.Default, visit)
			}
		}
	}
}

func walkBlock(b *Block, visit func(Expr) bool) {
	if b != nil {
		Walk(b.Stmts, visit)
	}
}

func walkExpr(x Expr, visit func(Expr) bool) {
	if x == nil || !visit(x) {
		return
	}
	switch x := x.(type) {
	case *Unary:
		walkExpr(x.X, visit)
	case *Binary:
		walkExpr(x.X, visit)
		walkExpr(x.Y, visit)
	case *Cond:
		walkExpr(x.If, visit)
		walkExpr(x.Then, visit)
		walkExpr(x.Else, visit)
	case *Paren:
		walkExpr(x.X, visit)
	case *Tuple:
		for _, e := range x.Elems {
			walkExpr(e, visit)
		}
	case *Index:
		walkExpr(x.X, visit)
		walkExpr(x.Offset, visit)
	case *Member:
		walkExpr(x.X, visit)
	case *Call:
		walkExpr(x.Fun, visit)
		for _, a := range x.Args {
			walkExpr(a.Value, visit)
		}
	default:
		walkStructure(x, visit)
	}
}

func walkStructure(x Expr, visit func(Expr) bool) {
	switch x := x.(type) {
	case *If:
		walkExpr(x.Cond, visit)
		walkBlock(x.Then, visit)
		walkBlock(x.Else, visit)
	case *Switch:
		walkExpr(x.X, visit)
		for _, c := range x.Cases {
			walkExpr(c.Match, visit)
			walkBlock(c.Body, visit)
		}
	case *For:
		walkExpr(x.From, visit)
		walkExpr(x.To, visit)
		walkExpr(x.Step, visit)
		walkBlock(x.Body, visit)
	case *ForIn:
		walkExpr(x.X, visit)
		walkBlock(x.Body, visit)
	case *While:
		walkExpr(x.Cond, visit)
		walkBlock(x.Body, visit)
	}
}
