import assert from 'node:assert/strict'
import test from 'node:test'
import type { CelAccess, CelAuthorizer, CelUser } from '../cel/libraries/authorizer.ts'
import { run, type Step, waitFor } from '../lib/step.ts'
import type { Decision } from '../schema/access.ts'
import type { Attributes } from './attributes.ts'
import { type Authorize, ExpressionAuthorizer } from './cel-authorizer.ts'

const NEVER = { pause: () => undefined }
const USER: CelUser = { name: 'ann', groups: ['g'] }
const path = (path: string): CelAccess => ({ kind: 'path', path, verb: 'get' })
const request = () => ({}) as Attributes

/** An authorizer that allows paths below /open, and keeps what it is asked; `waits` makes it answer later. */
function open({ waits }: { readonly waits: boolean }) {
  const asked: unknown[] = []
  const authorize: Authorize = (user, attributes) => {
    asked.push([user, attributes])
    const decision: Decision = attributes.path.startsWith('/open') ? { verdict: 'allow' } : { verdict: 'deny', reason: 'closed' }
    return waits ? waitFor(Promise.resolve(decision)) : decision
  }
  return { asked, authorizer: new ExpressionAuthorizer(authorize) }
}

/** An expression that asks for one path after another while they are allowed. */
const allOf = (...paths: string[]) =>
  function* (authorize: CelAuthorizer): Step<boolean> {
    return paths.every(each => authorize(USER, path(each)).allowed)
  }

test('a decision that is there at once is used at once', () => {
  const { asked, authorizer } = open({ waits: false })
  assert.equal(run(authorizer.evaluate(request(), allOf('/open/a', '/open/b')), NEVER), true)
  assert.equal(run(authorizer.evaluate(request(), allOf('/open/a', '/no', '/open/b')), NEVER), false)
  assert.deepEqual(asked[0], [
    { name: 'ann', groups: ['g'] },
    { verb: 'get', path: '/open/a' },
  ])
  assert.equal(asked.length, 4)
})

test('decisions that must be waited for are asked for once in a request, however often the expression is evaluated', async () => {
  const { asked, authorizer } = open({ waits: true })
  const attributes = request()
  const expression = allOf('/open/a', '/open/b', '/open/c')
  assert.equal(await run(authorizer.evaluate(attributes, expression), NEVER), true)
  assert.equal(await run(authorizer.evaluate(attributes, expression), NEVER), true)
  assert.equal(asked.length, 3)
  assert.equal(await run(authorizer.evaluate(request(), expression), NEVER), true)
  assert.equal(asked.length, 6)
})

test('an error counts only when no decision is missing', async () => {
  const { authorizer } = open({ waits: true })
  const failsUnless = (each: string) =>
    function* (authorize: CelAuthorizer): Step<string> {
      yield
      if (!authorize(USER, path(each)).allowed) throw new Error('not allowed')
      return 'done'
    }
  assert.equal(await run(authorizer.evaluate(request(), failsUnless('/open')), NEVER), 'done')
  await assert.rejects(async () => run(authorizer.evaluate(request(), failsUnless('/no')), NEVER), /^Error: not allowed$/)
})

test('an expression that always asks for something else ends', async () => {
  const { asked, authorizer } = open({ waits: true })
  let n = 0
  function* expression(authorize: CelAuthorizer): Step<boolean> {
    yield
    return authorize(USER, path(`/open/${n++}`)).allowed
  }
  assert.equal(await run(authorizer.evaluate(request(), expression), NEVER), false)
  assert.equal(asked.length, 64)
})

test('a resource is asked for in every version, with its selectors', () => {
  const { asked, authorizer } = open({ waits: false })
  const access = { group: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'ns', name: 'd' }
  const selectors = { fieldSelector: 'a=b', labelSelector: '' }
  const user = { ...USER, uid: '1', extra: new Map([['scope', ['x']]]) }
  run(
    authorizer.evaluate(request(), function* (authorize): Step<unknown> {
      yield
      return authorize(user, { kind: 'resource', verb: 'list', ...access, ...selectors })
    }),
    NEVER,
  )
  const { resource: plural, ...rest } = access
  assert.deepEqual(asked, [
    [
      { name: 'ann', groups: ['g'], uid: '1', extra: { scope: ['x'] } },
      { verb: 'list', path: '', resource: { ...rest, plural, version: '*', fieldSelector: 'a=b' } },
    ],
  ])
})
