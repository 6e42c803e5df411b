package console

// ActPaths returns the paths of everything that the owner can do.
func ActPaths() []string {
	var all []string
	for _, a := range acts() {
		all = append(all, Root+a.path)
	}
	return all
}
