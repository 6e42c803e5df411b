package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"candela/lib/fault"
	"candela/lib/pine"
	"candela/lib/pine/check"
)

// Inputs returns the input of a script for each axis of a grid, and refuses values that the script does not allow.
func Inputs(p *pine.Program, g Grid) ([]*check.Input, error) {
	inputs := make([]*check.Input, len(g))
	for k, axis := range g {
		in, err := inputOf(p, axis.Name)
		if err != nil {
			return nil, err
		}
		for _, v := range axis.Values {
			if err := checkInput(in, v); err != nil {
				return nil, err
			}
		}
		inputs[k] = in
	}
	return inputs, nil
}

// inputOf finds an input by the name of its variable or by its title.
func inputOf(p *pine.Program, name string) (*check.Input, error) {
	var names []string
	for _, in := range p.Inputs {
		if !slices.Contains([]string{"int", "float", "bool", "price"}, in.Kind) {
			continue
		}
		if in.Name == name || strings.EqualFold(in.Title, name) || p.IsInput(in, name) {
			return in, nil
		}
		names = append(names, in.Name)
	}
	allowed := "an input of the script that is a number: " + strings.Join(names, ", ")
	if len(names) == 0 {
		allowed = "a script with input.int, input.float or input.bool: this one has none"
	}
	return nil, fault.Field("sweep."+name, name, allowed, fault.Nearest(name, names)...)
}

// checkInput refuses a value that the script does not allow.
func checkInput(in *check.Input, v float64) error {
	refuse := func(allowed string) error { return fault.Field("sweep."+in.Name, fmt.Sprint(v), allowed) }
	switch {
	case in.Kind == "int" && v != math.Trunc(v):
		return refuse("whole numbers")
	case in.Kind == "bool" && v != 0 && v != 1:
		return refuse("0 and 1, for false and true")
	case in.Min != nil && v < *in.Min:
		return refuse(fmt.Sprintf("values of at least %v, as the script says", *in.Min))
	case in.Max != nil && v > *in.Max:
		return refuse(fmt.Sprintf("values of at most %v, as the script says", *in.Max))
	case in.Options != nil && in.Kind != "bool" && !slices.ContainsFunc(in.Options, func(o check.Const) bool { return o.Num == v }):
		return refuse("one of the options of the script")
	}
	return nil
}
