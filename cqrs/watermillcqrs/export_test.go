package watermillcqrs

import "github.com/ThreeDotsLabs/watermill/message"

// EncodeProduced and DecodeProduced are the format of the messages that a
// handler produced.
func EncodeProduced(ms []*message.Message) ([]byte, error)   { return producedCodec{}.Encode(ms) }
func DecodeProduced(data []byte) ([]*message.Message, error) { return producedCodec{}.Decode(data) }
