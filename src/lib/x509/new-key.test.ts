// The encodings of a new key, compared with those that OpenSSL writes.
import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey } from 'node:crypto'
import { test } from 'node:test'
import { newKey } from './new-key.ts'

test('a key is encoded as OpenSSL encodes it, whatever its numbers are', () => {
  // One of 256 numbers has fewer than 32 bytes.
  for (let i = 0; i < 600; i++) {
    const { pem, publicKeyInfo, signer } = newKey()
    const key = signer()
    assert.equal(pem, key.export({ type: 'pkcs8', format: 'pem' }))
    assert.deepEqual(publicKeyInfo, createPublicKey(key).export({ type: 'spki', format: 'der' }))
    if (i === 0) assert.ok(createPrivateKey(pem).equals(key))
  }
})
