package console

import (
	"strings"
	"time"
)

// ActPaths returns the paths of everything that the owner can do.
func ActPaths() []string {
	var all []string
	for _, a := range acts() {
		all = append(all, Root+a.path)
	}
	return all
}

// Page is a page of the table.
type Page struct {
	Path, Key string
	HasIcon   bool // it exists, or there is none
}

// Pages returns the pages of the table.
func (c *Console) Pages() []Page {
	var all []Page
	for _, p := range c.table() {
		_, known := iconPaths()[p.icon]
		all = append(all, Page{p.path, p.key, known || p.icon == ""})
	}
	return all
}

// Watching reports whether anything runs for open pages.
func (c *Console) Watching() bool {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	return c.hub.ended != nil
}

// Streams returns how many pages are open.
func (c *Console) Streams() int {
	c.hub.mu.Lock()
	defer c.hub.mu.Unlock()
	return len(c.hub.all)
}

// WithUsualSettings writes all settings of an indicator into its name.
func WithUsualSettings(name string) string {
	var values []string
	for _, s := range settings(name) {
		values = append(values, s.Value)
	}
	if values == nil {
		return name
	}
	return name + "(" + strings.Join(values, ",") + ")"
}

// DayEdges returns the hours at the edges of the line of a day.
func DayEdges(first, last time.Time) (from string, hours int) {
	s := dayScale{midnight: first.Truncate(24 * time.Hour)}
	s.addHours(first, last)
	return s.from.Format("15:04"), s.hours
}
