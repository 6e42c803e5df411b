package check

import "slices"

// sortField finds the field by which a collection of objects is sorted or searched: by its number or its name, the first
// without either. The argument becomes the number.
func (c *checker) sortField(call *Call) {
	at := slices.IndexFunc(call.Builtin.Params, func(p Param) bool { return p.Name == "sort_field" })
	elem := call.Args[0].Type().Elem
	if at < 0 || elem == nil {
		return
	}
	arg := call.Args[at]
	if elem.Kind != Object {
		if arg != nil || call.Builtin.form == "field" {
			c.failf(call.Span, codeArgument, "Remove sort_field.", "sort_field is for collections of objects; this one has %s.", elem)
		}
		return
	}
	i, fields := 0, elem.Object.Fields
	if k, ok := arg.(*Const); ok {
		switch k.T.Kind {
		case String:
			i = elem.Object.field(k.Str)
		case Int:
			i = int(k.Num)
		default:
			i = -1
		}
	}
	if i < 0 || i >= len(fields) {
		c.failf(arg.Where(), codeArgument, "Write the name of a field, or its number from 0.", "The type %s has no such field.", elem)
	}
	t := fields[i].Type
	if !t.Numeric() && t.Kind != String {
		c.failf(call.Span, codeType, "Choose a field that is an int, a float or a string.", "The field \"%s\" is %s, which has no order.", fields[i].Name, t)
	}
	if call.Builtin.form == "field" && !c.fits(call.Args[1].Type(), t) {
		c.mismatch(call.Args[1].Where(), call.Args[1].Type(), t)
	}
	call.Args[at] = &Const{Typed: Typed{call.Span, typeOf(Int), ConstQ}, Num: float64(i)}
}
