package check

import (
	"strconv"

	"candela/lib/pine/convert"
	"candela/lib/pine/syntax"
)

// importLibrary reads a library for a module.
func (c *checker) importLibrary(m *module, s *syntax.Import) {
	alias := s.Lib
	if s.Alias != nil {
		alias = s.Alias.Name
	}
	m.failed[alias] = true
	key := s.User + "/" + s.Lib + "/" + strconv.Itoa(s.Version)
	lib := c.modules[key]
	if lib == nil {
		lib = c.readLibrary(key, s)
	}
	m.imports[alias] = lib
	delete(m.failed, alias)
}

func (c *checker) readLibrary(key string, s *syntax.Import) *module {
	source, found := ownLibrary(s.User, s.Lib, s.Version)
	if !found && c.options.Library != nil {
		source, found = c.options.Library(s.User, s.Lib, s.Version)
	}
	if !found {
		file := s.User + "." + s.Lib + "." + strconv.Itoa(s.Version) + ".pine"
		c.failf(s.Span, codeImport, "Add its source: candela script add --library "+key+" FILE, or save_script with the name "+key+". A script that is checked as a file finds it as "+file+" beside it.", "The library %s is not here.", key)
	}
	if len(c.modules) >= 32 {
		c.fail(s.Span, codeImport, "The script imports more than 32 libraries.", "Import fewer.")
	}
	source = singleEnds(source)
	file, errs := syntax.Parse(source)
	if file.Version < oldest && file.Version > 0 {
		file, errs = syntax.Parse(convert.Convert(source, file).Source)
	}
	if len(errs) > 0 {
		c.failf(s.Span, codeImport, "Correct the library.", "The library %s has an error on line %d: %s", key, errs[0].From.Line, errs[0].Message)
	}
	if file.Version != 5 && file.Version != 6 {
		c.failf(s.Span, codeImport, "Use a library of version 5 or 6.", "The library %s is of Pine version %d.", key, file.Version)
	}
	lib := newModule(key, file)
	lib.globals = &scope{names: map[string]*symbol{}}
	c.modules[key] = lib
	for _, st := range file.Stmts {
		if d, ok := st.(*syntax.Decl); ok {
			lib.waiting[d.Name.Name] = d
		}
	}
	mod, sc := c.mod, c.scope
	c.mod, c.scope = lib, lib.globals
	c.collect(lib)
	c.mod, c.scope = mod, sc
	return lib
}

// waited checks a global of a library when it is first used. It runs before the script.
func (c *checker) waited(name string, d *syntax.Decl) *symbol {
	delete(c.mod.waiting, name)
	sc, fn, loops := c.scope, c.fn, c.loops
	c.scope, c.fn, c.loops = c.mod.globals, c.global, 0
	depth := c.global.depth
	c.global.depth = 0
	guard(func() { c.prelude = append(c.prelude, c.decl(d)...) })
	c.global.depth = depth
	c.scope, c.fn, c.loops = sc, fn, loops
	return c.mod.globals.names[name]
}

// callLibrary checks alias.f(...), alias.T.new(...); nil if rest names a value.
func (c *checker) callLibrary(x *syntax.Call, m *syntax.Member, lib *module, rest string) Expr {
	if list := lib.funcs[rest]; len(list) > 0 {
		if !list[0].decl.Export {
			c.failf(x.Fun.Where(), codeImport, "Add \"export\" to it in the library.", "The library %s does not export \"%s\".", lib.name, rest)
		}
		return c.callUser(x, list, c.arguments(x))
	}
	if len(rest) > len(m.Name.Name)+1 {
		if u := lib.types[rest[:len(rest)-len(m.Name.Name)-1]]; u != nil {
			return c.callType(x, u, m.Name)
		}
		return nil
	}
	var known []string
	for n, list := range lib.funcs {
		if list[0].decl.Export {
			known = append(known, n)
		}
	}
	c.arguments(x)
	c.fail(m.Name.Span, codeName, "The library "+lib.name+" has no function \""+rest+"\".", c.didYouMean(rest, known, "Use one that it exports."))
	return nil
}

// moduleMember finds alias.constant and alias.Enum.member.
func (c *checker) moduleMember(x *syntax.Member, name string, root *syntax.Ident) Expr {
	lib := c.mod.imports[root.Name]
	if lib == nil {
		if c.mod.failed[root.Name] {
			panic(bail{})
		}
		return nil
	}
	rest := name[len(root.Name)+1:]
	if e := c.enumMember(x.Span, lib, rest); e != nil {
		return e
	}
	var sym *symbol
	var ok bool
	c.inside(lib, func() { sym, ok = c.lookup(rest) })
	if ok && sym != nil {
		return c.variable(x.Span, sym)
	}
	return nil
}

// exports checks the exported functions of a library with the types that they declare.
func (c *checker) exports() {
	for _, s := range c.mod.file.Stmts {
		d, ok := s.(*syntax.FuncDecl)
		if !ok || !d.Export {
			continue
		}
		guard(func() { c.exported(d) })
	}
}

func (c *checker) exported(d *syntax.FuncDecl) {
	values := make([]Expr, 0, len(d.Params))
	for _, p := range d.Params {
		if p.Type == nil || p.Type.Name == "" {
			c.failf(p.Span, codeType, "Write its type: float "+p.Name.Name+".", "The parameter \"%s\" of an exported function needs a type.", p.Name.Name)
		}
		q, _ := cutQualifier(p.Type.Qualifier + " ")
		if p.Type.Qualifier == "" {
			q = InputQ // the strongest that a caller can give
		}
		t := c.typeExpr(p.Type)
		values = append(values, &VarRef{Typed{p.Span, t, q}, &Var{name: p.Name.Name, Type: t, Qual: q}})
	}
	for _, f := range c.mod.funcs[d.Name.Name] {
		if f.decl == d && len(f.instances) == 0 {
			f.instances[instanceKey(values)] = c.instantiate(f, values)
		}
	}
}
