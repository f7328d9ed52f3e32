import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AdmissionCompiler } from '../kubernetes/admission.ts'
import { isProblem } from '../kubernetes/expression.ts'
import type { CelFault, CelValue } from '../runtime/values.ts'
import { authorizerValue, type CelAccess, type CelDecision, type CelUser, requestResourceValue } from './authorizer.ts'

const user: CelUser = { name: 'jane', groups: ['dev'] }

/** The value of an expression, and the checks it made. */
function ask(
  text: string,
  decision: CelDecision = { allowed: true, reason: 'because' },
): { value: CelValue; asked: [CelUser, CelAccess][] } {
  const asked: [CelUser, CelAccess][] = []
  const decide = (who: CelUser, access: CelAccess) => {
    asked.push([who, access])
    return decision
  }
  const compiled = new AdmissionCompiler().compile({ text, use: 'variable', variables: { hasAuthorizer: true } })
  if (isProblem(compiled)) throw new Error(compiled.detail)
  const about = { group: 'apps', resource: 'deployments', subresource: 'scale', namespace: 'ns', name: 'web' }
  const { value } = compiled.evaluate({
    authorizer: authorizerValue(user, decide),
    'authorizer.requestResource': requestResourceValue(user, decide, about),
  })
  return { value, asked }
}

test('authorization checks of resources are built part by part', () => {
  const { value, asked } = ask(
    "authorizer.group('apps').resource('deployments').subresource('status').namespace('test').name('backend').fieldSelector('a=b').labelSelector('c=d').check('create').allowed()",
  )
  assert.equal(value, true)
  assert.deepEqual(asked, [
    [
      user,
      {
        kind: 'resource',
        verb: 'create',
        group: 'apps',
        resource: 'deployments',
        subresource: 'status',
        namespace: 'test',
        name: 'backend',
        fieldSelector: 'a=b',
        labelSelector: 'c=d',
      },
    ],
  ])
})

test('authorizer.requestResource checks the request itself', () => {
  const { asked } = ask("authorizer.requestResource.check('update')")
  assert.deepEqual(asked[0]![1], {
    kind: 'resource',
    verb: 'update',
    group: 'apps',
    resource: 'deployments',
    subresource: 'scale',
    namespace: 'ns',
    name: 'web',
    fieldSelector: '',
    labelSelector: '',
  })
})

test('authorization checks of paths, and for service accounts', () => {
  const { asked } = ask("authorizer.serviceAccount('default', 'builder').path('/healthz').check('get')")
  assert.deepEqual(asked, [
    [
      {
        name: 'system:serviceaccount:default:builder',
        groups: ['system:serviceaccounts', 'system:serviceaccounts:default', 'system:authenticated'],
      },
      { kind: 'path', path: '/healthz', verb: 'get' },
    ],
  ])
})

test('decisions have a reason and an error', () => {
  const check = "authorizer.path('/x').check('get')"
  assert.equal(ask(`${check}.reason()`).value, 'because')
  assert.equal(ask(`${check}.errored()`).value, false)
  assert.equal(ask(`${check}.error()`).value, '')
  const failed = { allowed: false, reason: '', error: 'down' }
  assert.equal(ask(`${check}.allowed()`, failed).value, false)
  assert.equal(ask(`${check}.errored() && ${check}.error() == 'down'`, failed).value, true)
})

test('checks without a resource or path fail', () => {
  const problem = (text: string) => (ask(text).value as CelFault).message
  assert.equal(problem("authorizer.path(' ')"), 'path must not be empty')
  assert.equal(problem("authorizer.group('').resource('')"), 'resource must not be empty')
  assert.equal(problem("authorizer.serviceAccount('default', 'a@b')"), 'Invalid service account name')
  assert.equal(problem("authorizer.serviceAccount('a.b', 'c')"), 'Invalid service account namespace')
  assert.equal(problem('authorizer == authorizer.serviceAccount("a", "b")'), 'no such overload')
})
