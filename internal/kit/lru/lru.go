// Package lru caches values and evicts the least recently used.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps immutable values up to a total cost. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	Limit int // the greatest total cost; set before the first call

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

// Get returns the value of key, and false without one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(item[K, V]).value, true //nolint:errcheck,forcetypeassert // only items are put in
}

// Put stores a value. One that costs more than the limit is not kept.
func (c *Cache[K, V]) Put(key K, value V, cost int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.items == nil {
		c.items = make(map[K]*list.Element)
	}
	if e, ok := c.items[key]; ok {
		c.drop(e)
	}
	if cost > c.Limit {
		return
	}
	c.items[key] = c.order.PushFront(item[K, V]{key, value, cost})
	c.total += cost
	for c.total > c.Limit {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	it := c.order.Remove(e).(item[K, V]) //nolint:errcheck,forcetypeassert // only items are put in
	delete(c.items, it.key)
	c.total -= it.cost
}

// Size returns the total cost and the number of values.
func (c *Cache[K, V]) Size() (total, count int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, len(c.items)
}
