package response

import "encoding/binary"

// Refoot returns data with the checksum that it ought to have.
func Refoot(data []byte) []byte {
	data = data[:len(data)-5]
	data = binary.BigEndian.AppendUint32(data, checksum(data))
	return append(data, version)
}

// Foot returns head with a foot that fits it: a record without a body.
func Foot(head []byte) []byte {
	b := binary.BigEndian.AppendUint32(append([]byte(nil), head...), uint32(len(head)))
	b = binary.BigEndian.AppendUint32(b, checksum(b))
	return append(b, version)
}
