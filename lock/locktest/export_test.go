package locktest

// LawNames returns the names of all laws, for the test that asks whether each
// of them can fail.
func LawNames() []string {
	var names []string
	for _, l := range laws() {
		names = append(names, l.name)
	}
	return names
}

// NastyKeys returns the keys that the laws about keys use.
func NastyKeys() []string { return nastyKeys() }
