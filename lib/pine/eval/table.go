package eval

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"candela/lib/backtest/simulate"
	"candela/lib/pine/check"
)

// functions are rows by the name of the function, variables those by the name of the variable.
// The signature of a name is its line in package check.
type (
	functions map[string]row
	variables map[string]variable
)

// table has the code of every name of the language that candela supports.
type table struct {
	functions functions
	variables variables
}

// library is the table, compared with the signatures once. Nothing runs with a table that lacks the
// code of a supported name.
//
//nolint:gochecknoglobals // a table, never written
var library = sync.OnceValue(func() *table {
	t := newTable()
	if wrong := t.compare(check.Names()); len(wrong) > 0 {
		panic(strings.Join(wrong, "; "))
	}
	return t
})

// newTable joins the rows of all groups.
func newTable() *table {
	return &table{
		functions: joined(
			replacedRows(), valueRows(), outputRows(), messageRows(), mathRows(), stringRows(), colorRows(), timeRows(), requestRows(), tickerRows(),
			averageRows(), spreadRows(), extremeRows(), rankRows(), changeRows(), rangeRows(),
			arrayRows(), statisticRows(), mapRows(), matrixRows(), matrixMathRows(), shapeRows(),
			pointRows(), lineRows(), labelRows(), boxRows(), tableRows(),
			orderRows(), riskRows(), closedRows(), openRows(),
		),
		variables: joined(
			priceVariables(), clockVariables(), barVariables(), symbolVariables(), timeframeVariables(), drawingVariables(),
			volumeVariables(), accountVariables(),
		),
	}
}

// joined puts groups together. A name that has a row in two of them would lose one.
func joined[M ~map[string]V, V any](groups ...M) M {
	all := M{}
	for _, g := range groups {
		for name := range g {
			if _, twice := all[name]; twice {
				panic(name + " has two rows in lib/pine/eval")
			}
		}
		maps.Copy(all, g)
	}
	return all
}

// compare returns what does not fit: supported names without code, and code that no supported
// name has.
func (t *table) compare(names []check.Name) (wrong []string) {
	functions, variables := maps.Clone(t.functions), maps.Clone(t.variables)
	for _, n := range names {
		_, coded := functions[n.Name]
		if n.Kind == "variable" {
			_, coded = variables[n.Name]
		}
		if n.Kind == "constant" || n.Support != check.Supported {
			continue
		}
		if !coded {
			wrong = append(wrong, n.Kind+" "+n.Name+" has a signature in lib/pine/check and no row in lib/pine/eval")
		}
		if n.Kind == "variable" {
			delete(variables, n.Name)
		} else {
			delete(functions, n.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		wrong = append(wrong, "function "+name+" has a row in lib/pine/eval and no signature of a supported name in lib/pine/check")
	}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		wrong = append(wrong, "variable "+name+" has a row in lib/pine/eval and no line of a supported name in lib/pine/check")
	}
	return wrong
}

// row is what a built-in function costs and does. It is made by priced, built, several, tested,
// shows or replaced, none of which compiles without a cost and code.
type row struct {
	cost cost  // of a function from its arguments to its value
	run  plain // its code
	// ready prepares a written call before the first bar; nil for none.
	ready func(s *site)
	// direct is code without the list of arguments, for a function that loops call on most
	// turns; nil for others. It gives to the code above what is not the common case.
	direct func(s *site, args operands, general func(a ...float64) float64) num

	steps windowCost // of a function with code for each written call
	build build      // its code, where it gives one value
	tuple tuple      // its code, where it gives several
	test  test       // its code, straight to a condition

	batch kernel // computes a call over all bars at once; nil if only the code above does
	shows *shown // what a plot shows; nil for other functions
	eager bool   // code for each written call evaluates each argument once all the same
	gone  bool   // nothing is left of a call on a bar
}

// build compiles a call with one value, tuple one whose values go to dst, and test one that gives
// a bool.
type (
	build func(c *compiler, call *check.Call) num
	tuple func(c *compiler, call *check.Call, dst []*float64) stmt
	test  func(c *compiler, call *check.Call) func() bool
)

// priced is the row of a function without memory, from its arguments to its value.
func priced(c cost, run plain) row { return row{cost: c, run: run} }

// built is the row of a function with code of its own for each written call. The memory of its
// windows is counted when it is compiled.
func built(steps windowCost, f build) row { return row{steps: steps, build: f} }

// several is the row of a function with several values, of which a call may want the first only.
func several(steps windowCost, f tuple) row {
	return row{steps: steps, tuple: f, build: func(c *compiler, call *check.Call) num {
		dst := c.places(1)
		run := f(c, call, dst)
		return func() float64 {
			run()
			return *dst[0]
		}
	}}
}

// tested is the row of a function that gives a bool.
func tested(steps windowCost, f test) row {
	return row{steps: steps, test: f, build: func(c *compiler, call *check.Call) num { return truth(f(c, call)) }}
}

// directly adds code for the common case.
func (r row) directly(f func(s *site, args operands, general func(a ...float64) float64) num) row {
	r.direct = f
	return r
}

// replaced is the row of a function of whose calls nothing is left on a bar.
func replaced() row {
	r := priced(flat(1), nothing)
	r.gone = true
	return r
}

// ahead adds the form over all bars at once. It has the bits of the other and counts no steps.
func (r row) ahead(k kernel) row {
	r.batch = k
	return r
}

// once says that the code evaluates each argument once, so that these may be computed ahead.
func (r row) once() row {
	r.eager = true
	return r
}

// variable is how a variable gets its value.
type variable struct {
	price int                                        // from 1: its place among the prices, which are set with the bar
	fixed func(c *compiler) float64                  // once, before the first bar
	every func(c *compiler) num                      // on every bar, wherever it is read: it has memory
	batch func(h *hoister) column                    // over all bars at once; nil if only the others do
	read  func(c *compiler) num                      // where it is read
	of    func(c *compiler, a *simulate.Account) num // on every bar, where there is an account
}
