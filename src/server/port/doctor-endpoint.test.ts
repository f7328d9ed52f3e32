import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Response } from '../../http/message.ts'
import { doctorEndpoint } from './doctor-endpoint.ts'

test('one doctor reads the records at a time, from its request on, and an answer that nobody reads is none', async () => {
  // Without a store every reading fails at once.
  const { answer } = doctorEndpoint({} as never)
  const ask = () => answer({ method: 'GET' } as never, {} as never) as Response
  const read = ({ body }: Response) => {
    assert.ok(!(body instanceof Uint8Array) && body.type === 'pieces')
    return (body.pieces as AsyncGenerator<Uint8Array>).next()
  }
  const refused = /another doctor is reading the records/
  const unread = ask()
  assert.throws(ask, refused)
  unread.taken!()
  const broken = ask()
  const reading = read(broken)
  broken.taken!()
  assert.throws(ask, refused)
  await assert.rejects(reading)
  ask()
  assert.throws(ask, refused)
})
