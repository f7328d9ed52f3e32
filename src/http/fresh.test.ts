import assert from 'node:assert/strict'
import test from 'node:test'
import { ConfigMap } from '../kinds/core/configmap.ts'
import { LIMITS } from '../lib/limits.ts'
import { Catalog } from '../registry/catalog.ts'
import { resourcesOf } from '../schema/resource.ts'
import { internalError, notFound, outcomeUnknown, StatusError } from '../schema/status-error.ts'
import { type Exchange, openExchange } from './exchange.ts'
import { refresh } from './fresh.ts'
import { type Request, textResponse } from './message.ts'
import { Router } from './route.ts'

const catalog = new Catalog(resourcesOf([ConfigMap], 'k8s.io'))
const router = new Router(catalog)
const PATH = '/api/v1/namespaces/default/configmaps'
const DONE = textResponse(201, '')
const MISSING = () => notFound(catalog.find('', 'v1', 'configmaps')!, 'a')

const exchangeOf = (method: string, target = PATH, length = 10): Exchange =>
  openExchange({ method, target, headers: { 'content-length': String(length) } } as unknown as Request, router)

/** Caches that were up to date `ageMs` ago, and a log of a request: `ask` for a freshness check, `run` for an attempt. */
function bench({ ageMs = 1, writing = 0, attempts = [] as (StatusError | undefined)[], advances = false }) {
  const log: string[] = []
  const caches = {
    revision: 1,
    ageMs,
    writing,
    async fresh() {
      log.push('ask')
      if (advances) caches.revision++
    },
  }
  const handle = refresh(
    ({ confirm }) => {
      log.push(confirm ? 'run unconfirmed' : 'run')
      const error = attempts.shift()
      if (error) throw error
      return DONE
    },
    { catalog, freshness: { caches, served: async () => {} } },
  )
  return { log, send: async (exchange: Exchange) => handle(exchange) }
}

test('a small write does not wait where the caches were up to date a moment ago', async () => {
  for (const [method, target] of [
    ['POST', PATH],
    ['PUT', `${PATH}/a`],
    ['PATCH', `${PATH}/a`],
    ['DELETE', `${PATH}/a`],
  ] as const) {
    const { log, send } = bench({})
    assert.equal(await send(exchangeOf(method, target)), DONE)
    assert.deepEqual(log, ['run unconfirmed'], method)
  }
})

test('other requests wait until the caches are up to date', async () => {
  const waiting: [string, Exchange, number?][] = [
    ['a read', exchangeOf('GET', `${PATH}/a`)],
    ['a list', exchangeOf('GET')],
    ['a collection', exchangeOf('DELETE')],
    ['a dry run', exchangeOf('POST', `${PATH}?dryRun=All`)],
    ['a large write', exchangeOf('POST', PATH, LIMITS.behindBytes + 1)],
    ['a write whose size is not known', exchangeOf('POST', PATH, Number.NaN)],
    ['a write after a while', exchangeOf('POST'), LIMITS.behindMs],
  ]
  for (const [what, exchange, ageMs = 1] of waiting) {
    const { log, send } = bench({ ageMs })
    await send(exchange)
    assert.deepEqual(log, ['ask', 'run'], what)
  }
})

test('among many writes each waits for the question that serves all of them', async () => {
  const { log, send } = bench({ writing: LIMITS.behindWrites })
  await send(exchangeOf('POST'))
  assert.deepEqual(log, ['ask', 'run'])
})

test('a write that would be rejected begins again if there was something newer', async () => {
  const { log, send } = bench({ attempts: [MISSING()], advances: true })
  assert.equal(await send(exchangeOf('POST')), DONE)
  assert.deepEqual(log, ['run unconfirmed', 'ask', 'run'])
})

test('a write is rejected once the caches are known to be up to date', async () => {
  const { log, send } = bench({ attempts: [MISSING()] })
  await assert.rejects(send(exchangeOf('POST')), /not found/)
  assert.deepEqual(log, ['run unconfirmed', 'ask'])
  const twice = bench({ attempts: [MISSING(), MISSING()], advances: true })
  await assert.rejects(twice.send(exchangeOf('POST')), /not found/)
  assert.deepEqual(twice.log, ['run unconfirmed', 'ask', 'run'])
})

test('what failed for another reason, or may have been stored, does not begin again', async () => {
  const tooMany = new StatusError(429, 'TooManyRequests', 'later')
  const denied = new StatusError(403, 'Forbidden', 'a webhook said no')
  denied.isFinal = true
  for (const error of [internalError('broken'), outcomeUnknown('no answer'), tooMany, denied]) {
    const { log, send } = bench({ attempts: [error], advances: true })
    await assert.rejects(send(exchangeOf('POST')), error)
    assert.deepEqual(log, ['run unconfirmed'])
  }
})
