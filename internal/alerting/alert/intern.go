package alert

// table assigns numbers to values that many alerts share, and deletes a value with its last
// user.
type table[K comparable, V any] struct {
	index map[K]uint32
	rows  []row[K, V]
	free  []uint32
}

type row[K comparable, V any] struct {
	key  K
	refs int
	data V
}

// acquire adds a user of key and returns its number.
func (t *table[K, V]) acquire(key K) uint32 {
	n, known := t.index[key]
	if !known {
		n = t.allocate()
		t.index[key] = n
		t.rows[n].key = key
	}
	t.rows[n].refs++
	return n
}

// allocate returns an unused number.
func (t *table[K, V]) allocate() uint32 {
	if last := len(t.free) - 1; last >= 0 {
		n := t.free[last]
		t.free = t.free[:last]
		return n
	}
	t.rows = append(t.rows, row[K, V]{})
	return toUint32(len(t.rows) - 1)
}

// release removes a user of number n.
func (t *table[K, V]) release(n uint32) {
	r := &t.rows[n]
	if r.refs--; r.refs > 0 {
		return
	}
	delete(t.index, r.key)
	*r = row[K, V]{}
	t.free = append(t.free, n)
}
