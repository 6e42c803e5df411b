package marketdata

import (
	"container/list"
	"sync"
)

// lru caches immutable values up to a total cost and evicts the least recently used. It is
// safe for concurrent use.
type lru[K comparable, V any] struct {
	limit int

	mu    sync.Mutex
	items map[K]*list.Element
	order list.List // newest first
	total int
}

type item[K comparable, V any] struct {
	key   K
	value V
	cost  int
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(item[K, V]).value, true //nolint:errcheck,forcetypeassert // only items are put in
}

// put stores a value. One that costs more than the limit is not kept.
func (c *lru[K, V]) put(key K, value V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = make(map[K]*list.Element)
	}
	if e, ok := c.items[key]; ok {
		c.drop(e)
	}
	if cost > c.limit {
		return
	}
	c.items[key] = c.order.PushFront(item[K, V]{key, value, cost})
	c.total += cost
	for c.total > c.limit {
		c.drop(c.order.Back())
	}
}

func (c *lru[K, V]) drop(e *list.Element) {
	it := c.order.Remove(e).(item[K, V]) //nolint:errcheck,forcetypeassert // only items are put in
	delete(c.items, it.key)
	c.total -= it.cost
}

// size returns the total cost and the number of values.
func (c *lru[K, V]) size() (total, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, len(c.items)
}
