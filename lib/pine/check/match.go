package check

import (
	"fmt"
	"strconv"
	"strings"

	"candela/lib/pine/syntax"
)

// argument is a checked argument of a call.
type argument struct {
	name  *syntax.Ident // nil if none is written
	value Expr
}

// refusal says why arguments do not fit a signature. The best of several has the most
// arguments in order.
type refusal struct {
	at                 syntax.Span
	code, message, fix string
	score              int
	wrap               *wrap
}

// matched are arguments in the order of the parameters.
type matched struct {
	sig  *Builtin
	args []Expr
	rest []Expr
	vars bindings
}

// match fits arguments to one signature.
func (c *checker) match(at syntax.Span, sig *Builtin, args []argument, types []*Type) (*matched, *refusal) {
	m := &matched{sig: sig, args: make([]Expr, len(sig.Params)), vars: bindings{}}
	switch len(types) {
	case 1:
		m.vars['T'], m.vars['t'] = types[0], types[0]
	case 2:
		m.vars['K'], m.vars['V'] = types[0], types[1]
	}
	if r := c.place(m, args); r != nil {
		return nil, r
	}
	for i, p := range sig.Params {
		if m.args[i] == nil && !p.optional && (!sig.Variadic || i != len(sig.Params)-1) {
			return nil, &refusal{at, codeArgument, fmt.Sprintf("%s needs the argument \"%s\".", sig.Name, p.Name), "Add " + p.Name + " = ...", 0, nil}
		}
	}
	if r := c.types(m); r != nil {
		return nil, r
	}
	c.settle(m)
	return m, nil
}

// place puts arguments at their parameters.
func (c *checker) place(m *matched, args []argument) *refusal {
	params := m.sig.Params
	for i, a := range args {
		k := i
		if a.name != nil {
			if k = c.paramIndex(params, a.name.Name); k < 0 {
				return c.noParameter(m.sig, a, i)
			}
		} else if m.sig.Variadic && i >= len(params)-1 {
			m.rest = append(m.rest, a.value)
			continue
		}
		if k >= len(params) || params[k].only5 && c.version >= 6 {
			return &refusal{a.value.Where(), codeArgument, fmt.Sprintf("%s takes %s.", m.sig.Name, counted(len(params))), "Remove the arguments from here on.", i, nil}
		}
		if m.args[k] != nil && c.version >= 6 {
			return &refusal{a.value.Where(), codeArgument, fmt.Sprintf("The argument \"%s\" is given twice.", params[k].Name), "Remove one of them.", i, nil}
		}
		if m.args[k] == nil {
			m.args[k] = a.value
		}
	}
	return nil
}

func counted(n int) string {
	switch n {
	case 0:
		return "no argument"
	case 1:
		return "one argument"
	}
	return strconv.Itoa(n) + " arguments"
}

func (c *checker) paramIndex(params []Param, name string) int {
	for i, p := range params {
		if p.Name == name && (!p.only5 || c.version < 6) {
			return i
		}
	}
	return -1
}

func (c *checker) noParameter(sig *Builtin, a argument, score int) *refusal {
	var known []string
	for _, p := range sig.Params {
		if p.Name == a.name.Name {
			fix := "Remove it."
			switch p.Name {
			case "transp":
				fix = "Remove it and use color.new(color, transp)."
			case "when":
				fix = "Remove it and put the call into an if."
			}
			return &refusal{a.name.Span, codeArgument, fmt.Sprintf("Version 6 has no argument \"%s\".", p.Name), fix, score, nil}
		}
		known = append(known, p.Name)
	}
	return &refusal{
		a.name.Span, codeArgument, fmt.Sprintf("%s has no parameter \"%s\".", sig.Name, a.name.Name),
		c.didYouMean(a.name.Name, known, "Its parameters: "+strings.Join(known, ", ")+"."), score, nil,
	}
}

// types binds type variables and checks that every argument fits.
func (c *checker) types(m *matched) *refusal {
	for pass := range 2 {
		for i, a := range m.args {
			if a == nil {
				continue
			}
			if r := c.argType(m, i, a, pass); r != nil {
				return r
			}
		}
		last := len(m.args) - 1
		for _, a := range m.rest {
			if r := c.argType(m, last, a, pass); r != nil {
				return r
			}
		}
	}
	return nil
}

// argType checks one argument: generics in the first pass, the others in the second.
func (c *checker) argType(m *matched, i int, a Expr, pass int) *refusal {
	p := &m.sig.Params[i]
	t := a.Type()
	ok := true
	switch r := p.rule; {
	case t.Kind == Void:
		ok = false
	case r.elem != nil:
		ok = pass == 1 || t.Kind == NA || r.bindExact(t, m.vars)
		if ok && pass == 1 && t.Kind != NA {
			return c.argQualifier(m, p, a, i)
		}
		return c.wrongType(m, p, a, i, ok)
	case pass == 0:
		return nil
	case r.any:
	case r.num:
		ok = t.Numeric() || t.Kind == NA
	case r.variable != 0:
		ok = c.bindValue(r, t, m.vars)
	default:
		ok = c.fits(t, r.typ)
	}
	if !ok {
		return c.wrongType(m, p, a, i, false)
	}
	return c.argQualifier(m, p, a, i)
}

// bindValue fits a value to a type variable that stands alone.
func (c *checker) bindValue(r *rule, t *Type, vars bindings) bool {
	have := vars[r.variable]
	if r.numeric() && !t.Numeric() && t.Kind != NA {
		return false
	}
	if have == nil {
		vars[r.variable] = t
		return true
	}
	if c.fits(t, have) {
		return true
	}
	if vars[exactly(r.variable)] != nil {
		return false
	}
	u, ok := c.unify(have, t)
	if ok {
		vars[r.variable] = u
	}
	return ok
}

func (c *checker) wrongType(m *matched, p *Param, a Expr, i int, ok bool) *refusal {
	if ok {
		return nil
	}
	want := p.rule.String()
	if p.rule.variable != 0 && m.vars[p.rule.variable] != nil {
		want = m.vars[p.rule.variable].String()
	}
	fix := "Use " + want + "."
	switch {
	case want == "int" && a.Type().Kind == Float:
		fix = "Convert it with int() or math.round()."
	case want == "string":
		fix = "Convert it with str.tostring()."
	case want == "bool":
		fix = "Compare it, for example with != 0."
	}
	return &refusal{a.Where(), codeType, fmt.Sprintf("The argument \"%s\" of %s is %s; %s is wanted.", p.Name, m.sig.Name, a.Type(), want), fix, i + 1, wrapFor(a.Where(), a.Type(), p.rule.typ)}
}

func (c *checker) argQualifier(m *matched, p *Param, a Expr, i int) *refusal {
	if a.Qual() <= p.qual {
		return nil
	}
	fix := "Use a value that does not change from bar to bar."
	switch p.qual {
	case ConstQ:
		fix = "Write the value itself, not one that is computed."
	case InputQ:
		fix = "Use a literal or an input."
	default: // simple, and series takes every value
	}
	return &refusal{a.Where(), codeQualifier, fmt.Sprintf("The argument \"%s\" of %s is %s %s; %s is wanted.", p.Name, m.sig.Name, a.Qual(), a.Type(), p.qual), fix, i + 1, nil}
}

// settle casts the arguments and fills in defaults.
func (c *checker) settle(m *matched) {
	for i, a := range m.args {
		p := &m.sig.Params[i]
		if a != nil {
			m.args[i] = c.settled(p.rule, a, m.vars)
		} else if p.other != "" {
			m.args[i] = c.fallback(p)
		}
	}
	if m.sig.Variadic {
		for i, a := range m.rest {
			m.rest[i] = c.settled(m.sig.Params[len(m.sig.Params)-1].rule, a, m.vars)
		}
	}
}

func (c *checker) settled(r *rule, a Expr, vars bindings) Expr {
	if r.any || r.num {
		if a.Type().Kind == NA {
			return c.cast(a, typeOf(Float))
		}
		return a
	}
	return c.cast(a, r.of(vars))
}

// fallback returns the default of a parameter.
func (c *checker) fallback(p *Param) Expr {
	t := p.rule.of(bindings{})
	d := p.other
	switch {
	case d == "true" || d == "false":
		k := &Const{Typed: Typed{T: t}}
		if d == "true" {
			k.Num = 1
		}
		return k
	case strings.HasPrefix(d, `"`):
		return &Const{Typed: Typed{T: t}, Str: strings.Trim(d, `"`)}
	case strings.ContainsAny(d[:1], "-0123456789"):
		n, _ := strconv.ParseFloat(d, 64)
		return &Const{Typed: Typed{T: t}, Num: n}
	}
	return c.named(syntax.Span{}, d)
}
