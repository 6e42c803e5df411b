package eval

import (
	"math"
	"slices"

	"candela/lib/pine/check"
)

// newMatrix puts a matrix on the heap; values are its rows one after the other.
func (s *site) newMatrix(elem *check.Type, rows, cols int, values []float64) float64 {
	if rows < 0 || cols < 0 || rows*cols > maxElements {
		s.m.fail(s.at, CodeMemory, "A matrix has from 0 to %d elements (got %d rows and %d columns).", maxElements, rows, cols)
	}
	return s.h.add(object{kind: check.Matrix, n: values, rows: rows, cols: cols, elem: elem, from: math.NaN()})
}

func (s *site) matrix(x float64) *object { return s.h.get(s.at, x, "matrix") }

// spot checks a row or column.
func (s *site) spot(x float64, size int, what string) int {
	if x != x || whole(x) < 0 || whole(x) >= size {
		s.fail("The %s %v is outside the matrix, which has %d.", what, x, size)
	}
	return whole(x)
}

// matrixRows are the functions that read and change matrices.
func matrixRows() functions {
	return functions{
		"matrix.add_col":        priced(elements(1, 0), addColumn),
		"matrix.add_row":        priced(elements(1, 0), func(s *site, a []float64) float64 { return s.addRow(s.changing(a[0]), a) }),
		"matrix.col":            priced(line(true), matrixColumn),
		"matrix.columns":        priced(flat(1), func(s *site, a []float64) float64 { return float64(s.matrix(a[0]).cols) }),
		"matrix.copy":           priced(elements(1, 0), func(s *site, a []float64) float64 { return s.h.add(s.matrix(a[0]).clone()) }),
		"matrix.elements_count": priced(flat(1), func(s *site, a []float64) float64 { return float64(len(s.matrix(a[0]).n)) }),
		"matrix.fill":           priced(elements(1, 0), matrixFill),
		"matrix.get":            priced(flat(1), func(s *site, a []float64) float64 { return *s.element(s.matrix(a[0]), a) }),
		"matrix.new":            priced(flat(1), matrixNew),
		"matrix.remove_col":     priced(elements(1, 0), removeColumn),
		"matrix.remove_row":     priced(elements(1, 0), removeRow),
		"matrix.reshape":        priced(elements(1, 0), reshape),
		"matrix.reverse":        priced(elements(1, 0), matrixReverse),
		"matrix.row":            priced(line(false), matrixRow),
		"matrix.rows":           priced(flat(1), func(s *site, a []float64) float64 { return float64(s.matrix(a[0]).rows) }),
		"matrix.set":            priced(flat(1), matrixSet),
		"matrix.sort":           priced(ordered(), matrixSort),
		"matrix.swap_columns":   priced(elements(1, 0), swapColumns),
		"matrix.swap_rows":      priced(elements(1, 0), matrixSwapRows),
	}
}

// changing returns a matrix argument to change it.
func (s *site) changing(x float64) *object { return s.h.change(s.at, x, "matrix") }

// element is the place of the element whose row and column are arguments 1 and 2.
func (s *site) element(o *object, a []float64) *float64 {
	return &o.n[s.spot(a[1], o.rows, "row")*o.cols+s.spot(a[2], o.cols, "column")]
}

func matrixSet(s *site, a []float64) float64 {
	*s.element(s.changing(a[0]), a) = a[3]
	return math.NaN()
}

func matrixRow(s *site, a []float64) float64 {
	o := s.matrix(a[0])
	r := s.spot(a[1], o.rows, "row")
	return s.h.newArray(o.elem, slices.Clone(o.n[r*o.cols:(r+1)*o.cols]))
}

func matrixColumn(s *site, a []float64) float64 {
	o := s.matrix(a[0])
	return s.h.newArray(o.elem, columnOf(o, s.spot(a[1], o.cols, "column")))
}

// line is the cost of reading a row or a column.
func line(column bool) cost {
	return sized(func(s *site, a []float64) int64 {
		if a[0] != a[0] {
			return 0
		}
		o := &s.h.objects[int(a[0])]
		if column {
			return int64(o.rows / readAStep)
		}
		return int64(o.cols / movedAStep)
	})
}

func columnOf(o *object, c int) []float64 {
	out := make([]float64, o.rows)
	for r := range out {
		out[r] = o.n[r*o.cols+c]
	}
	return out
}

func matrixNew(s *site, a []float64) float64 {
	rows, cols, initial := whole(s.number(a, 0, 0)), whole(s.number(a, 1, 0)), s.number(a, 2, math.NaN())
	if rows < 0 || cols < 0 || rows*cols > maxElements {
		return s.newMatrix(nil, rows, cols, nil)
	}
	s.pay(rows * cols)
	values := make([]float64, rows*cols)
	for i := range values {
		values[i] = initial
	}
	return s.newMatrix(s.elemOf(), rows, cols, values)
}

func matrixFill(s *site, a []float64) float64 {
	o := s.changing(a[0])
	from, to := whole(s.number(a, 2, 0)), whole(s.number(a, 3, float64(o.rows)))
	left, right := whole(s.number(a, 4, 0)), whole(s.number(a, 5, float64(o.cols)))
	for r := max(from, 0); r < min(to, o.rows); r++ {
		for c := max(left, 0); c < min(right, o.cols); c++ {
			o.n[r*o.cols+c] = a[1]
		}
	}
	return math.NaN()
}

func addColumn(s *site, a []float64) float64 {
	o := s.changing(a[0])
	t := transposed(o)
	s.addRow(&t, a)
	*o = restored(o, transposed(&t))
	return math.NaN()
}

func removeRow(s *site, a []float64) float64 {
	o := s.changing(a[0])
	r := s.spot(s.number(a, 1, float64(o.rows-1)), o.rows, "row")
	row := slices.Clone(o.n[r*o.cols : (r+1)*o.cols])
	o.n = slices.Delete(o.n, r*o.cols, (r+1)*o.cols)
	o.rows--
	return s.h.newArray(o.elem, row)
}

func removeColumn(s *site, a []float64) float64 {
	o := s.changing(a[0])
	c := s.spot(s.number(a, 1, float64(o.cols-1)), o.cols, "column")
	removed, t := columnOf(o, c), transposed(o)
	t.n = slices.Delete(t.n, c*t.cols, (c+1)*t.cols)
	t.rows--
	*o = restored(o, transposed(&t))
	return s.h.newArray(o.elem, removed)
}

func matrixSwapRows(s *site, a []float64) float64 {
	o := s.changing(a[0])
	swapRows(o.n, o.cols, s.spot(a[1], o.rows, "row"), s.spot(a[2], o.rows, "row"))
	return math.NaN()
}

func swapColumns(s *site, a []float64) float64 {
	o := s.changing(a[0])
	i, j := s.spot(a[1], o.cols, "column"), s.spot(a[2], o.cols, "column")
	for r := range o.rows {
		o.n[r*o.cols+i], o.n[r*o.cols+j] = o.n[r*o.cols+j], o.n[r*o.cols+i]
	}
	return math.NaN()
}

func matrixReverse(s *site, a []float64) float64 {
	slices.Reverse(s.changing(a[0]).n)
	return math.NaN()
}

func reshape(s *site, a []float64) float64 {
	o := s.changing(a[0])
	rows, cols := whole(a[1]), whole(a[2])
	if rows < 0 || cols < 0 || rows*cols != len(o.n) {
		s.fail("A matrix of %d elements cannot have %d rows and %d columns.", len(o.n), rows, cols)
	}
	o.rows, o.cols = rows, cols
	return math.NaN()
}

// addRow inserts a row from an array, or one of na.
func (s *site) addRow(o *object, a []float64) float64 {
	at := o.rows
	if s.given(1) && a[1] == a[1] {
		at = min(max(whole(a[1]), 0), o.rows)
	}
	var row []float64
	if s.given(2) && a[2] == a[2] {
		row = slices.Clone(s.array(a[2]))
	}
	switch {
	case o.rows == 0 && row != nil:
		o.cols = len(row)
	case row == nil:
		row = make([]float64, o.cols)
		for i := range row {
			row[i] = math.NaN()
		}
	case len(row) != o.cols:
		s.fail("The array has %d elements and the matrix %d in each row or column.", len(row), o.cols)
	}
	if len(o.n)+len(row) > maxElements {
		s.m.fail(s.at, CodeMemory, "A matrix has more than %d elements.", maxElements)
	}
	before := cap(o.n)
	o.n = slices.Insert(o.n, at*o.cols, row...)
	o.rows++
	s.h.grown(before, o.n)
	return math.NaN()
}

// restored puts new content into an object and keeps what belongs to the heap.
func restored(o *object, with object) object {
	with.kind, with.elem, with.from, with.saved = check.Matrix, o.elem, math.NaN(), o.saved
	return with
}

func transposed(o *object) object {
	t := object{rows: o.cols, cols: o.rows, n: make([]float64, len(o.n)), elem: o.elem}
	for r := range o.rows {
		for c := range o.cols {
			t.n[c*t.cols+r] = o.n[r*o.cols+c]
		}
	}
	return t
}
