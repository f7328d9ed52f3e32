import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Attributes } from '../schema/access.ts'
import { abacAuthorizer, PolicyError, readPolicies } from './abac.ts'

const V1BETA1 = '"apiVersion":"abac.authorization.kubernetes.io/v1beta1","kind":"Policy"'
const FILE = `
# Comments and empty lines are allowed.
{${V1BETA1},"spec":{"user":"alice","namespace":"*","resource":"*","apiGroup":"*","nonResourcePath":"*"}}
{${V1BETA1},"spec":{"group":"readers","namespace":"projects","resource":"pods","readonly":true}}
{${V1BETA1},"spec":{"user":"*","nonResourcePath":"/version*","readonly":true}}
{"user":"old","namespace":"attic"}
{"user":"root"}
`

const { policies, hasUnversioned } = readPolicies(FILE, 'p')
const authorizer = abacAuthorizer(policies)
const user = (name: string, ...groups: string[]) => ({ name, groups: [...groups, 'system:authenticated'], uid: '', extra: {} }) as never
const on = (verb: string, plural: string, namespace = '', group = ''): Attributes => ({
  verb,
  path: '',
  resource: { group, version: 'v1', plural, subresource: '', namespace, name: '' },
})
const may = (who: any, attributes: Attributes) =>
  (authorizer.authorize(who, attributes, {} as never) as { verdict: string }).verdict === 'allow'

test('policies allow what they name', () => {
  assert.ok(may(user('alice'), on('delete', 'deployments', 'x', 'apps')))
  assert.ok(may(user('alice'), { verb: 'post', path: '/anything' }))
  assert.ok(may(user('bob', 'readers'), on('list', 'pods', 'projects')))
  assert.ok(!may(user('bob', 'readers'), on('delete', 'pods', 'projects')))
  assert.ok(!may(user('bob', 'readers'), on('list', 'pods', 'other')))
  assert.ok(!may(user('bob', 'readers'), on('list', 'deployments', 'projects', 'apps')))
  assert.ok(may(user('bob'), { verb: 'get', path: '/version/openapi' }))
  assert.ok(!may(user('bob'), { verb: 'get', path: '/metrics' }))
  assert.deepEqual(authorizer.authorize(user('bob'), on('get', 'secrets'), {} as never), {
    verdict: 'no-opinion',
    reason: 'No policy matched.',
  })
})

test('lines without a version are read as in the beginning', () => {
  assert.ok(hasUnversioned)
  assert.ok(may(user('old'), on('delete', 'deployments', 'attic', 'apps')))
  assert.ok(!may(user('old'), { verb: 'get', path: '/metrics' }))
  assert.ok(may(user('root'), { verb: 'get', path: '/metrics' }))
})

test('rules of a user are those of its policies', () => {
  assert.deepEqual(authorizer.rulesFor(user('bob', 'readers'), 'projects').resourceRules, [
    { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
  ])
})

test('faults name file and line', () => {
  const fault = (text: string) => {
    try {
      readPolicies(text, '/p')
      return ''
    } catch (error) {
      assert.ok(error instanceof PolicyError)
      return error.message
    }
  }
  assert.match(fault('# x\n{"user":'), /^error reading policy file \/p, line 2: \{"user":: couldn't get version\/kind; json parse error: /)
  assert.match(fault('{"user":7}'), /^error reading policy file \/p, line 1: \{"user":7\}: json: cannot unmarshal number /)
})
