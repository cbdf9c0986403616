package vectors

import "iter"

// Flips yields text with each of its bits in turn the other way, first bits
// first. What it yields is the caller's until the next.
func Flips(text []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		flipped := append([]byte(nil), text...)
		for bit := range len(text) * 8 {
			flipped[bit/8] ^= 1 << (bit % 8)
			if !yield(bit, flipped) {
				return
			}
			flipped[bit/8] = text[bit/8]
		}
	}
}
