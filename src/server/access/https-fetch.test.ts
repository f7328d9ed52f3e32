import assert from 'node:assert/strict'
import { createSecureServer } from 'node:http2'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { issueAuthority, issueServer } from '../../lib/x509/issue.ts'
import { httpsFetch } from './https-fetch.ts'

const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 3600_000) }

test('documents are fetched from servers of HTTP/1.1 and of HTTP/2 alone, if these are trusted and the documents small', async t => {
  const authority = issueAuthority('documents', validity)
  const pair = issueServer(authority, 'documents', { names: ['127.0.0.1'], ...validity })
  const [fetch, stranger] = [httpsFetch(authority.cert), httpsFetch(issueAuthority('strangers', validity).cert)]
  const http1 = createServer(pair, ({ url }, response) => void response.end(textFor(url)))
  const http2 = createSecureServer({ ...pair, allowHTTP1: false }, ({ url }, response) => void response.end(textFor(url)))
  for (const server of [http1, http2]) {
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    t.after(() => server.close())
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
    for (const path of ['/keys?a=b', '/keys?a=c'])
      assert.deepEqual(await fetch(url + path), { status: 200, cacheControl: '', text: `the document at ${path}` })
    await assert.rejects(fetch(`${url}/large`), /too large/)
    await assert.rejects(stranger(url), /unknown authority/)
  }
})

const textFor = (url = ''): string => (url === '/large' ? 'a'.repeat(2 << 20) : `the document at ${url}`)
