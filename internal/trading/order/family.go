package order

import "slices"

// family returns the IDs of the orders that an order belongs to: the entry whose position it
// protects, and the first order of its group. An external order has none: its group has a
// name of the venue's.
func (g *Origin) family() []string {
	if g.External {
		return nil
	}
	var ids []string
	for _, id := range []string{g.Parent, g.Group.Name} {
		if id != "" && id != g.ID && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// join adds a new order to the list and to the orders that it belongs to.
func (b *Book) join(o Order) {
	b.listed = slices.Insert(b.listed, b.place(o.Mark()), o.ID)
	if o.Role == Entry && !o.External {
		b.entries[o.Symbol] = append(b.entries[o.Symbol], o.ID)
	}
	for _, id := range o.family() {
		b.families[id] = append(b.families[id], o.ID)
	}
	if o.Replaces != "" {
		b.replacers[o.Replaces] = append(b.replacers[o.Replaces], o.ID)
	}
}

// leave is the opposite of join.
func (b *Book) leave(o Order) {
	for _, id := range o.family() {
		without(b.families, id, o.ID)
	}
	if o.Role == Entry {
		without(b.entries, o.Symbol, o.ID)
	}
	without(b.replacers, o.Replaces, o.ID)
}

// Replacements returns, by the ID of an order, the ID of the one that took its place: that the
// venue, or candela, has or had.
func Replacements(orders []Order) map[string]string {
	by := make(map[string]string)
	for _, o := range orders {
		if o.replaced() {
			by[o.Replaces] = o.ID
		}
	}
	return by
}

// reached reports whether the venue had the order, or may have it.
func (o Order) reached() bool {
	switch {
	case !sent(o.Status):
		return false
	case o.Holder != "": // candela had it
		return true
	case o.Status == Rejected:
		return !o.NotSent
	case o.Status == Canceled:
		return o.VenueID != ""
	default:
		return true
	}
}

// without removes an ID from a list.
func without[K comparable](lists map[K][]string, key K, id string) {
	left := slices.DeleteFunc(lists[key], func(other string) bool { return other == id })
	if len(left) == 0 {
		delete(lists, key)
	} else {
		lists[key] = left
	}
}

// Group returns the orders of a group that was placed here, in the order in which they were
// sent: first the one whose ID is the name. It is empty for an unknown name.
func (b *Book) Group(name string) []Order {
	head, ok := b.orders[name]
	if !ok || head.Group.Name != name {
		return nil
	}
	orders := []Order{head}
	for _, id := range b.families[name] {
		if o := b.orders[id]; o.Group.Name == name {
			orders = append(orders, o)
		}
	}
	return orders
}

// EndedFor returns the orders that the desk cancelled for another one, and those that ended with them
// because the venue ends a group at once.
func (b *Book) EndedFor(id string) []Order {
	var all []Order
	seen := make(map[string]bool)
	add := func(o Order) {
		if !seen[o.ID] {
			seen[o.ID] = true
			all = append(all, o)
		}
	}
	for _, ended := range b.endedFor[id] {
		o := b.orders[ended]
		add(o)
		for _, beside := range b.Group(o.Group.Name) {
			if beside.Role != Entry && beside.CancelFor == "" {
				add(beside)
			}
		}
	}
	return all
}

// Exits returns the orders that protect the position of an entry, by creation: its legs and
// those that were placed later.
func (b *Book) Exits(entry string) []Order {
	var exits []Order
	for _, id := range b.families[entry] {
		if o := b.orders[id]; o.Parent == entry {
			exits = append(exits, o)
		}
	}
	return exits
}

// needed reports whether an order is needed while another one is open: the whole family of
// an entry says how much of its position is left.
func (b *Book) needed(o Order) bool {
	for _, id := range append(o.family(), o.ID) {
		if b.isOpen(id) || slices.ContainsFunc(b.families[id], b.isOpen) {
			return true
		}
	}
	return false
}
