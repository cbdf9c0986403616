package middleware

// ParseKey is parseKey, which reads what anybody may send.
func ParseKey(lines []string) (string, Code) { return parseKey(lines) }

// StatusOf is the status of the problems of c.
func StatusOf(c Code) int {
	status, _, _ := c.texts()
	return status
}
