package eval

import (
	"math/bits"

	"candela/lib/pine/check"
)

// cost is how many steps a call of a built-in function takes. It is known, and paid, before
// the function works: a function that finds out while it works pays for each part before it.
type cost struct {
	steps int64                            // of each call
	more  func(s *site, a []float64) int64 // by the sizes of its arguments; nil for none
}

// How much of something is done in the time of a step.
const (
	bytesAStep = 32 // of a text that is written, compared or searched
	movedAStep = 64 // numbers that are copied or moved
	readAStep  = 8  // numbers that are computed with
)

// flat is the cost of a call whose arguments have no size.
func flat(steps int64) cost { return cost{steps: steps} }

// sized is a cost by the sizes of the arguments.
func sized(more func(s *site, a []float64) int64) cost { return cost{steps: 1, more: more} }

// texts is the cost of reading and writing texts as long as those of some arguments.
func texts(args ...int) cost {
	return sized(func(s *site, a []float64) int64 {
		n := 0
		for _, i := range args {
			n += s.textSize(a, i)
		}
		return int64(n / bytesAStep)
	})
}

// allTexts is the cost of reading every argument that is a text.
func allTexts() cost {
	return sized(func(s *site, a []float64) int64 {
		n := 0
		for i, e := range s.exprs {
			if e != nil && isHandle(e.Type()) {
				n += s.textSize(a, i)
			}
		}
		return int64(n / bytesAStep)
	})
}

// elements is the cost of going once over the elements of some arguments, so many in a step.
func elements(inAStep int, args ...int) cost {
	return sized(func(s *site, a []float64) int64 {
		n := 0
		for _, i := range args {
			n += s.size(a, i)
		}
		return int64(n / inAStep)
	})
}

// ordered is the cost of putting the elements of the first argument in order. Texts are paid for
// while they are compared.
func ordered() cost {
	return sized(func(s *site, a []float64) int64 { return sortSteps(s.size(a, 0)) })
}

func sortSteps(n int) int64 { return int64(n) + int64(n)*int64(bits.Len(uint(n)))/readAStep }

// cubic is the cost of a computation with the matrix of the first argument that takes times as many
// operations as it has elements times its shorter side.
func cubic(times int64) cost {
	return sized(func(s *site, a []float64) int64 {
		if len(a) == 0 || a[0] != a[0] {
			return 0
		}
		o := &s.h.objects[int(a[0])]
		return times * int64(len(o.n)) * int64(min(o.rows, o.cols))
	})
}

// size is how many elements the array, matrix or map of an argument has, 0 if it is na.
func (s *site) size(a []float64, i int) int {
	if i >= len(a) || a[i] != a[i] {
		return 0
	}
	o := &s.h.objects[int(a[i])]
	if o.from == o.from {
		return o.cols
	}
	return len(o.n)
}

// textSize is how many bytes the text of an argument has, 0 if it is na.
func (s *site) textSize(a []float64, i int) int {
	if i >= len(a) || a[i] != a[i] {
		return 0
	}
	return len(s.h.objects[int(a[i])].text)
}

// pay spends the steps of work that follows.
func (s *site) pay(n int) { s.m.spend(s.at, n) }

// windowCost returns how many steps each call takes beyond those of an expression.
type windowCost func(c *compiler, call *check.Call) int

// constant is the cost of a function that takes the same time whatever its arguments are.
func constant(*compiler, *check.Call) int { return 0 }

// ownWork is the cost of a function that pays for its work itself before each part of it.
func ownWork(*compiler, *check.Call) int { return 0 }

// window is the cost of a function that goes over a window on each call, whose length is
// argument i. One that changes from bar to bar is paid for where it is read.
func window(i int) windowCost {
	return func(c *compiler, call *check.Call) int {
		n, _ := c.fixed(call.Args[i])
		return whole(n) / readAStep
	}
}

// compiled compiles a call that pays before it works.
func (r row) compiled(c *compiler, call *check.Call) num {
	f, n := r.build(c, call), int64(r.steps(c, call))
	if n <= 0 {
		return f
	}
	m, at := c.m, call.Where().From
	return func() float64 {
		if m.left -= n; m.left < 0 {
			m.pause(at)
		}
		return f()
	}
}
