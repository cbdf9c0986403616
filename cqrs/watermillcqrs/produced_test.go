package watermillcqrs_test

import (
	"encoding/hex"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/stretchr/testify/require"

	"github.com/semel-go/semel/cqrs/watermillcqrs"
)

// nasty are messages that a careless format would change.
func nasty() []*message.Message {
	full := message.NewMessage("u1", []byte{0, 0xff, '"'})
	full.Metadata = message.Metadata{"b": "\xff\xfe", "a": "", "": "x", "ü\x00": "y"}
	return []*message.Message{full, message.NewMessage("", nil), {}}
}

func TestProducedComesBack(t *testing.T) {
	t.Parallel()
	data, err := watermillcqrs.EncodeProduced(nasty())
	require.NoError(t, err)
	back, err := watermillcqrs.DecodeProduced(data)
	require.NoError(t, err)
	require.Len(t, back, 3)
	for i, m := range nasty() {
		require.True(t, m.Equals(back[i]), i)
		require.NotNil(t, back[i].Metadata, "publishers and middlewares write to it")
		require.True(t, back[i].Ack())
	}
	for n := range data {
		_, err := watermillcqrs.DecodeProduced(data[:n])
		require.Error(t, err, "cut off at %d", n)
	}
	_, err = watermillcqrs.DecodeProduced(append(data, 0))
	require.Error(t, err)

	none, err := watermillcqrs.EncodeProduced(nil)
	require.NoError(t, err)
	back, err = watermillcqrs.DecodeProduced(none)
	require.NoError(t, err)
	require.Empty(t, back)

	_, err = watermillcqrs.EncodeProduced([]*message.Message{nil})
	require.Error(t, err)
}

// TestProducedFormat holds the format: what one version has recorded, the next
// one publishes.
func TestProducedFormat(t *testing.T) {
	t.Parallel()
	m := message.NewMessage("u1", []byte("p"))
	m.Metadata = message.Metadata{"b": "2", "a": "1"}
	for range 32 { // the order of a map is not the same each time
		data, err := watermillcqrs.EncodeProduced([]*message.Message{m})
		require.NoError(t, err)
		require.Equal(t, "01"+"027531"+"02"+"0161"+"0131"+"0162"+"0132"+"0170", hex.EncodeToString(data))
	}
}

func FuzzProduced(f *testing.F) {
	data, err := watermillcqrs.EncodeProduced(nasty())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		ms, err := watermillcqrs.DecodeProduced(data)
		if err != nil {
			return
		}
		again, err := watermillcqrs.EncodeProduced(ms)
		require.NoError(t, err)
		back, err := watermillcqrs.DecodeProduced(again)
		require.NoError(t, err)
		require.Len(t, back, len(ms))
		for i := range ms {
			require.True(t, ms[i].Equals(back[i]))
		}
	})
}
