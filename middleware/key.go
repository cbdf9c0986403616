package middleware

import "strings"

// maxKey is the longest key in bytes, as at Stripe.
const maxKey = 255

// parseKey returns the key in the lines of its header field, or why there is
// none: CodeKeyMissing or CodeKeyMalformed.
//
// The draft makes the key a string of structured fields (RFC 8941, section
// 3.3.3); most clients send its text bare, so both forms are one key. Parameters
// after the string are refused: to ignore them would make one key of two that
// their sender holds to be different. Two lines are refused even if they are
// equal: the next proxy may pass on either.
func parseKey(lines []string) (key string, refused Code) {
	if len(lines) == 0 {
		return "", CodeKeyMissing
	}
	key, ok := strings.Trim(lines[0], " \t"), len(lines) == 1
	if ok && strings.HasPrefix(key, `"`) {
		key, ok = unquote(key)
	}
	if !ok || key == "" || len(key) > maxKey {
		return "", CodeKeyMalformed
	}
	for i := range len(key) {
		// No space, even if quoted: a key that was cut or joined at one on its
		// way would pass for another.
		if key[i] <= ' ' || key[i] > '~' {
			return "", CodeKeyMalformed
		}
	}
	return key, ""
}

// unquote returns the text of a string of structured fields that is all of s.
func unquote(s string) (text string, ok bool) {
	if len(s) > 2*maxKey+2 { // more than a key of nothing but escapes
		return "", false
	}
	s, ok = strings.CutSuffix(s[1:], `"`)
	if !ok || !strings.ContainsAny(s, `"\`) {
		return s, ok
	}
	plain := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"': // the string ends here, and something follows
			return "", false
		case '\\':
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", false
			}
		}
		plain = append(plain, s[i])
	}
	return string(plain), true
}
