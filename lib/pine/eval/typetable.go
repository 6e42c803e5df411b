package eval

import (
	"math"

	"candela/lib/pine/check"
)

// typeTable numbers the types that objects of the heap have, in the order in which the
// compiled program names them, so that a snapshot can refer to them.
type typeTable struct {
	types   []*check.Type
	objects []*check.ObjectType
}

// note adds a type and those it is made of.
func (t *typeTable) note(x *check.Type) {
	if x == nil || t.place(x) >= 0 {
		return
	}
	t.types = append(t.types, x)
	t.note(x.Elem)
	t.note(x.Key)
	for _, e := range x.Tuple {
		t.note(e)
	}
	if x.Object == nil || t.object(x.Object) >= 0 {
		return
	}
	t.objects = append(t.objects, x.Object)
	for _, f := range x.Object.Fields {
		t.note(f.Type)
	}
}

// plain returns the type of a kind that is made of no others. Objects share it: one for each would be memory that
// nothing counts.
func (t *typeTable) plain(k check.Kind) *check.Type {
	for _, x := range t.types {
		if x.Kind == k {
			return x
		}
	}
	x := &check.Type{Kind: k}
	t.types = append(t.types, x)
	return x
}

// place returns the number of a type, NaN for none and -1 for an unknown one.
func (t *typeTable) place(x *check.Type) float64 {
	if x == nil {
		return math.NaN()
	}
	for i, y := range t.types {
		if x.Same(y) {
			return float64(i)
		}
	}
	return -1
}

func (t *typeTable) at(i float64) *check.Type {
	if !(i >= 0) || int(i) >= len(t.types) {
		return nil
	}
	return t.types[int(i)]
}

func (t *typeTable) object(x *check.ObjectType) float64 {
	if x == nil {
		return math.NaN()
	}
	for i, y := range t.objects {
		if x == y {
			return float64(i)
		}
	}
	return -1
}

func (t *typeTable) objectAt(i float64) *check.ObjectType {
	if !(i >= 0) || int(i) >= len(t.objects) {
		return nil
	}
	return t.objects[int(i)]
}
