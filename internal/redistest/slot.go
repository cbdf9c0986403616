package redistest

import "strings"

// slots is how many slots a Cluster has.
const slots = 16384

// KeySlot is the slot of a key: the CRC16 (XMODEM) of it, or of what is
// between the first brace and the next closing one if that is not empty.
func KeySlot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for _, c := range []byte(key) {
		crc ^= uint16(c) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc) % slots
}
