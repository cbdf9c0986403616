// Package watermill tests watermillcqrs on Redis streams: consumers that are
// killed and overtaken, with a real server under the broker and the store. It
// holds tests only.
package watermill
