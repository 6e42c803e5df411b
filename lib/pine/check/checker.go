package check

import (
	"fmt"
	"strconv"
	"strings"

	"candela/lib/pine/convert"
	"candela/lib/pine/syntax"
)

// Options are what a check may use beyond the source.
type Options struct {
	// Library returns the source of a library that a script imports. A nil function knows
	// only the built-in ones.
	Library func(user, name string, version int) (source string, found bool)
}

// checker checks one script with its libraries.
type checker struct {
	options  Options
	version  int
	prog     *Program
	found    []Diagnostic
	mod      *module
	scope    *scope
	fn       *frame // of the function being checked; its fn is nil in the global scope
	global   *frame
	loops    int
	checked  int                // bodies of functions
	busy     []*function        // functions being checked, outermost first
	modules  map[string]*module // libraries by user/name/version
	prelude  []Stmt             // declarations of libraries, before the script's own
	naming   string             // the variable that is being declared
	wrap     *wrap              // what makes the next finding right
	inputOf  map[*Var]*Input    // variables that are inputs
	plotVars map[*Var]int       // variables that hold a plot
}

// frame collects what belongs to one function or to the global scope.
type frame struct {
	fn    *Func // nil: global
	vars  []*Var
	sites int
	calls []*Func
	depth int // of blocks
}

// singleEnds makes one end of a line of those that a conversion for Windows has doubled.
func singleEnds(source string) string { return strings.ReplaceAll(source, "\r\r\n", "\r\n") }

// Check checks a script. The program is nil if there are errors; the diagnostics have
// errors first, then warnings.
func Check(source string, options Options) (*Program, []Diagnostic) {
	source = singleEnds(source)
	file, errs := syntax.Parse(source)
	lines := 1 + strings.Count(source, "\n") + strings.Count(source, "\r") - strings.Count(source, "\r\n")
	var converted *convert.Result
	if file.Version < oldest && file.Version > 0 {
		r := convert.Convert(source, file)
		converted, source = &r, r.Source
		file, errs = syntax.Parse(source)
	}
	c := newChecker(file.Version, options)
	c.prog.Converted = converted
	for _, e := range errs {
		c.note(e.Span, e.Code, e.Message, e.Fix, Error)
	}
	if c.checkVersion(file) {
		c.script(file, len(errs) == 0)
	}
	c.convertedFrom(file)
	errors, warnings := c.sorted()
	if len(errors) > 0 {
		suggest(source, errors)
		within(lines, errors)
		return nil, append(errors, warnings...)
	}
	c.prog.Warnings = warnings
	return c.prog, warnings
}

// within moves findings that are beyond the last line to it: the text that a script was converted to may have its version
// there, and what is never closed ends there.
func within(lines int, found []Diagnostic) {
	for i := range found {
		if d := &found[i]; d.Line > lines {
			d.Line, d.Column, d.EndColumn = lines, 1, 2
		}
	}
}

func newChecker(version int, options Options) *checker {
	c := &checker{options: options, version: version, global: &frame{}, modules: map[string]*module{}, inputOf: map[*Var]*Input{}, plotVars: map[*Var]int{}}
	c.prog = &Program{Version: version, MaxLines: 50, MaxLabels: 50, MaxBoxes: 50, MaxPolylines: 50, Body: &Block{}}
	c.fn = c.global
	return c
}

// oldest is the oldest version that is checked as it is.
const oldest = 5

// checkVersion refuses versions that are not known.
func (c *checker) checkVersion(file *syntax.File) bool {
	if file.Version == 5 || file.Version == 6 {
		return true
	}
	c.note(firstPlace(file), codeVersion, "Pine version "+strconv.Itoa(file.Version)+" is not known; versions 1 to 6 are.", "Write //@version=6 as the first line.", Error)
	return false
}

// firstPlace is where the version stands, or the beginning.
func firstPlace(file *syntax.File) syntax.Span {
	if file.VersionAt != (syntax.Span{}) {
		return file.VersionAt
	}
	return beginning()
}

// beginning is the first character.
func beginning() syntax.Span {
	return syntax.Span{From: syntax.Pos{Line: 1, Column: 1}, To: syntax.Pos{Line: 1, Column: 2}}
}

// convertedFrom warns that a script was converted: what is found in it is about the converted text. A script of version 1
// may have no line about it; the converted text has one at its end.
func (c *checker) convertedFrom(file *syntax.File) {
	if r := c.prog.Converted; r != nil {
		at := beginning()
		if r.From > 1 {
			at = firstPlace(file)
		}
		c.warn(at, CodeConverted, fmt.Sprintf("The script is of version %d; it was converted to version 5 with %d changes.", r.From, len(r.Changes)+r.More), "")
	}
}

// script checks all statements of the main file.
func (c *checker) script(file *syntax.File, whole bool) {
	c.mod = newModule("", file)
	c.scope = &scope{names: map[string]*symbol{}}
	c.mod.globals = c.scope
	c.collect(c.mod)
	for _, s := range file.Stmts {
		guard(func() { c.topLevel(s) })
	}
	if whole && c.prog.Declaration == nil && !c.hasErrors() {
		c.note(beginning(), codeDeclaration, "The script does not say what it is.", `Add indicator("Title") after the version.`, Error)
	}
	if c.prog.Kind == Library {
		c.exports()
	}
	c.prog.Body.Stmts = append(c.prelude, c.prog.Body.Stmts...)
	c.prog.Vars = c.global.vars
	c.finish()
}

func (c *checker) hasErrors() bool {
	for _, d := range c.found {
		if d.Severity == Error {
			return true
		}
	}
	return false
}

// topLevel checks one statement of the global scope.
func (c *checker) topLevel(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.FuncDecl, *syntax.TypeDecl, *syntax.EnumDecl, *syntax.Import:
		return // collected before
	default:
		c.prog.Body.Stmts = append(c.prog.Body.Stmts, c.stmt(s)...)
	}
}

// module is the script itself or a library.
type module struct {
	name     string // user/name/version, empty for the script itself
	file     *syntax.File
	funcs    map[string][]*function
	types    map[string]*userType
	enums    map[string]*EnumType
	imports  map[string]*module
	failed   map[string]bool // aliases of libraries that could not be read
	globals  *scope
	waiting  map[string]*syntax.Decl // of a library: declarations that nothing has used yet
	assigned map[*syntax.Ident]bool  // declared names that := changes
}

// userType is a declared type with the defaults of its fields.
type userType struct {
	object *ObjectType
	decl   *syntax.TypeDecl
	mod    *module
}

func newModule(name string, file *syntax.File) *module {
	return &module{
		name: name, file: file, funcs: map[string][]*function{}, types: map[string]*userType{}, enums: map[string]*EnumType{},
		imports: map[string]*module{}, failed: map[string]bool{}, waiting: map[string]*syntax.Decl{}, assigned: assignments(file),
	}
}

// collect declares a module's imports, types and functions.
func (c *checker) collect(m *module) {
	for _, s := range m.file.Stmts {
		switch s := s.(type) {
		case *syntax.Import:
			guard(func() { c.importLibrary(m, s) })
		case *syntax.TypeDecl:
			if m.types[s.Name.Name] != nil {
				c.note(s.Name.Span, codeName, "The type \""+s.Name.Name+"\" is declared twice.", "Give one of them another name.", Error)
			}
			m.types[s.Name.Name] = &userType{object: &ObjectType{Name: s.Name.Name}, decl: s, mod: m}
		case *syntax.EnumDecl:
			m.enums[s.Name.Name] = enumType(s)
		}
	}
	for _, s := range m.file.Stmts {
		switch s := s.(type) {
		case *syntax.TypeDecl:
			guard(func() { c.fields(m.types[s.Name.Name]) })
		case *syntax.FuncDecl:
			f := &function{decl: s, mod: m, instances: map[string]*Func{}}
			m.funcs[s.Name.Name] = append(m.funcs[s.Name.Name], f)
		}
	}
	for _, list := range m.funcs {
		for _, f := range list {
			f.single = c.isSingle(f, nil)
		}
	}
}

func enumType(s *syntax.EnumDecl) *EnumType {
	e := &EnumType{Name: s.Name.Name}
	for _, m := range s.Members {
		title := m.Name.Name
		if t, ok := m.Title.(*syntax.String); ok {
			title = t.Value
		}
		e.Members, e.Titles = append(e.Members, m.Name.Name), append(e.Titles, title)
	}
	return e
}

func (c *checker) fields(u *userType) {
	for _, f := range u.decl.Fields {
		if u.object.field(f.Name.Name) >= 0 {
			c.fail(f.Name.Span, codeName, "The field \""+f.Name.Name+"\" is declared twice.", "Give one of them another name.")
		}
		u.object.Fields = append(u.object.Fields, FieldType{Name: f.Name.Name, Type: c.typeExpr(f.Type), varip: f.Varip})
	}
}

// field returns the index of a field, -1 if there is none.
func (o *ObjectType) field(name string) int {
	for i, f := range o.Fields {
		if f.Name == name {
			return i
		}
	}
	return -1
}

// scope has the variables of a block.
type scope struct {
	parent *scope
	names  map[string]*symbol
}

// symbol is a variable; a nil Var means that its declaration failed, so uses say nothing.
type symbol struct {
	v     *Var
	value Expr // of a variable that is a constant
}

// lookup finds a variable. A function sees only globals declared before it.
func (c *checker) lookup(name string) (*symbol, bool) {
	for s := c.scope; s != nil; s = s.parent {
		if sym, ok := s.names[name]; ok {
			if s == c.mod.globals && len(c.busy) > 0 && sym.v != nil && !before(sym.v.at.From, c.busy[len(c.busy)-1].decl.From) && c.mod.name == "" {
				return nil, false
			}
			return sym, true
		}
	}
	if d := c.mod.waiting[name]; d != nil {
		return c.waited(name, d), true
	}
	return nil, false
}

func before(a, b syntax.Pos) bool {
	return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
}

// declare makes a variable in the current scope.
func (c *checker) declare(id *syntax.Ident, t *Type, q Qualifier, mode syntax.Mode) *Var {
	if sym, ok := c.scope.names[id.Name]; ok && id.Name != "_" && sym.v != nil {
		c.failf(id.Span, codeName, "Assign it with :=, or give the new one another name.", "\"%s\" is already declared in this scope.", id.Name)
	}
	v := &Var{name: id.Name, at: id.Span, Type: t, Qual: q, Mode: mode, Owner: c.fn.fn, Place: len(c.fn.vars)}
	if c.mod.assigned[id] {
		v.Assigned, v.Qual = true, SeriesQ
	}
	c.fn.vars = append(c.fn.vars, v)
	if len(c.fn.vars) > 10_000 {
		c.fail(id.Span, syntax.CodeSize, "A scope has more than 10,000 variables.", "Put values into arrays.")
	}
	c.scope.names[id.Name] = &symbol{v: v}
	return v
}

func (c *checker) push() {
	c.scope = &scope{parent: c.scope, names: map[string]*symbol{}}
	c.fn.depth++
}
func (c *checker) pop() { c.scope = c.scope.parent; c.fn.depth-- }

func (c *checker) site() int {
	c.fn.sites++
	return c.fn.sites - 1
}

// dotted returns the name that a chain of members spells, and its root.
func dotted(x syntax.Expr) (string, *syntax.Ident, bool) {
	var parts []string
	for {
		switch e := x.(type) {
		case *syntax.Ident:
			parts = append(parts, e.Name)
			for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
				parts[i], parts[j] = parts[j], parts[i]
			}
			return strings.Join(parts, "."), e, true
		case *syntax.Member:
			parts = append(parts, e.Name.Name)
			x = e.X
		default:
			return "", nil, false
		}
	}
}
