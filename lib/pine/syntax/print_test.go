package syntax

import (
	"strconv"
	"strings"
)

// printer writes a tree as source.
type printer struct {
	out   strings.Builder
	depth int
}

func (p *printer) write(s string) { p.out.WriteString(s) }

// printed returns the source of a script in one layout: 4 spaces for each block, one
// statement on a line, no comments. Parsing the result gives the same tree, but for
// positions and statements that could not be read.
func printed(f *File) string {
	p := &printer{}
	if f.VersionAt != (Span{}) {
		p.write("//@version=" + strconv.Itoa(f.Version) + "\n")
	}
	for _, s := range f.Stmts {
		p.stmt(s)
	}
	return p.out.String()
}

func (p *printer) begin() {
	for range p.depth {
		p.write("    ")
	}
}

// end ends the line unless a block has done so.
func (p *printer) end() {
	if s := p.out.String(); s != "" && s[len(s)-1] != '\n' {
		p.write("\n")
	}
}

func (p *printer) stmt(s Stmt) {
	p.begin()
	switch s := s.(type) {
	case *Decl:
		p.decl(s)
	case *TupleDecl:
		names := make([]string, len(s.Names))
		for i, n := range s.Names {
			names[i] = n.Name
		}
		p.write("[" + strings.Join(names, ", ") + "] = ")
		p.expr(s.Value)
	case *Assign:
		p.expr(s.Target)
		p.write(" " + s.Op + " ")
		p.expr(s.Value)
	case *ExprStmt:
		p.expr(s.X)
	case *FuncDecl:
		p.function(s)
	case *TypeDecl, *EnumDecl:
		p.members(s)
	case *Import:
		p.write("import " + s.User + "/" + s.Lib + "/" + strconv.Itoa(s.Version))
		if s.Alias != nil {
			p.write(" as " + s.Alias.Name)
		}
	case *Break:
		p.write("break")
	case *Continue:
		p.write("continue")
	case *BadStmt:
		p.write("na")
	}
	p.end()
}

func (p *printer) export(yes bool) {
	if yes {
		p.write("export ")
	}
}

func (p *printer) decl(d *Decl) {
	p.export(d.Export)
	p.write([...]string{Each: "", Var: "var ", Varip: "varip "}[d.Mode])
	p.typ(d.Type)
	p.write(d.Name.Name + " = ")
	p.expr(d.Value)
}

// typ writes a type and a space, nothing for nil.
func (p *printer) typ(t *TypeExpr) {
	if t != nil {
		p.write(t.String() + " ")
	}
}

// String returns the type as source.
func (t *TypeExpr) String() string {
	s := t.Name
	if len(t.Args) > 0 {
		args := make([]string, len(t.Args))
		for i, a := range t.Args {
			args[i] = a.String()
		}
		s += "<" + strings.Join(args, ", ") + ">"
	}
	return strings.TrimSpace(t.Qualifier + " " + s)
}

func (p *printer) function(f *FuncDecl) {
	p.export(f.Export)
	if f.Method {
		p.write("method ")
	}
	p.write(f.Name.Name + "(")
	for i, q := range f.Params {
		if i > 0 {
			p.write(", ")
		}
		p.typ(q.Type)
		p.write(q.Name.Name)
		if q.Default != nil {
			p.write(" = ")
			p.expr(q.Default)
		}
	}
	p.write(") =>")
	p.block(f.Body)
}

func (p *printer) members(s Stmt) {
	line := func(head string, value Expr) {
		p.begin()
		p.write(head)
		if value != nil {
			p.write(" = ")
			p.expr(value)
		}
		p.end()
	}
	switch d := s.(type) {
	case *TypeDecl:
		p.export(d.Export)
		p.write("type " + d.Name.Name + "\n")
		p.depth++
		for _, f := range d.Fields {
			head := f.Type.String() + " " + f.Name.Name
			if f.Varip {
				head = "varip " + head
			}
			line(head, f.Default)
		}
		p.depth--
	case *EnumDecl:
		p.export(d.Export)
		p.write("enum " + d.Name.Name + "\n")
		p.depth++
		for _, m := range d.Members {
			line(m.Name.Name, m.Title)
		}
		p.depth--
	}
}

func (p *printer) block(b *Block) {
	p.write("\n")
	p.depth++
	for _, s := range b.Stmts {
		p.stmt(s)
	}
	p.depth--
}
