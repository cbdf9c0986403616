-- Returns the value of KEYS[1], '' if there is none, and its TTL in ms.
return {redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1])}
