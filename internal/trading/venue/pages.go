package venue

import "errors"

// ErrFullPage reports that there is more than pages can distinguish.
var ErrFullPage = errors.New("there are more than one page can distinguish")

// Pages reads pages of at most size items until one is not full. read returns the page after an item, nil for
// the first. Items that come again, because pages overlap, are dropped; a page that adds nothing is an error,
// because what follows cannot be asked for.
func Pages[T any](size int, id func(T) string, read func(last *T) ([]T, error)) ([]T, error) {
	var all []T
	var last *T
	seen := make(map[string]bool)
	for {
		page, err := read(last)
		if err != nil {
			return nil, err
		}
		before := len(all)
		for _, item := range page {
			if !seen[id(item)] {
				seen[id(item)] = true
				all = append(all, item)
			}
		}
		if len(page) < size {
			return all, nil
		}
		if len(all) == before {
			return nil, ErrFullPage
		}
		last = &page[len(page)-1]
	}
}
