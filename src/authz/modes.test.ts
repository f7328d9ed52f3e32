import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Decision, RulesFound } from '../schema/access.ts'
import { alwaysAllow, alwaysDeny, inTurn, type NamedAuthorizer } from './modes.ts'

const REQUEST = { signal: new AbortController().signal }
const QUESTION = { verb: 'get', path: '/x' }
const jane = { name: 'jane', groups: ['devs'] }
const NONE: RulesFound = { resourceRules: [], nonResourceRules: [], incomplete: false }
const saying = (name: string, answer: Decision | Promise<Decision>): NamedAuthorizer => ({
  name,
  authorize: () => answer,
  rulesFor: () => ({ ...NONE, incomplete: true, problem: `${name} is slow` }),
})
const silent = saying('a', { verdict: 'no-opinion', reason: 'dunno' })

test('the first authorizer with an opinion decides', async () => {
  const ask = (...chain: NamedAuthorizer[]) => inTurn(chain).authorize(jane, QUESTION, REQUEST)
  assert.deepEqual(ask(silent, alwaysAllow), { verdict: 'allow' })
  assert.deepEqual(ask(saying('no', { verdict: 'deny', reason: 'never' }), alwaysAllow), { verdict: 'deny', reason: 'never' })
  const late = ask(silent, saying('b', Promise.resolve({ verdict: 'no-opinion', reason: 'neither' })), alwaysDeny)
  assert.deepEqual(await late, { verdict: 'no-opinion', reason: 'a: dunno\nb: neither\nalwaysdeny: Everything is forbidden.' })
  assert.deepEqual(ask(), { verdict: 'no-opinion' })
})

test('nothing is denied to system:masters', () => {
  const admin = { name: 'root', groups: ['system:masters'] }
  assert.deepEqual(inTurn([saying('no', { verdict: 'deny', reason: 'never' })]).authorize(admin, QUESTION, REQUEST), { verdict: 'allow' })
})

test('rules of all authorizers are listed', () => {
  const found = inTurn([alwaysAllow, silent, saying('c', { verdict: 'allow' })]).rulesFor(jane, 'ns')
  assert.deepEqual(found.resourceRules, [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }])
  assert.deepEqual([found.incomplete, found.problem], [true, '[a is slow, c is slow]'])
  assert.deepEqual(inTurn([alwaysDeny]).rulesFor(jane, 'ns'), NONE)
})
