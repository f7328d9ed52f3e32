import assert from 'node:assert/strict'
import test from 'node:test'
import { workspaceIn } from './request-below.ts'

test('a target names a workspace by its plain name alone, and the rest is left as it is', () => {
  assert.deepEqual(workspaceIn('/workspaces/a'), { name: 'a', target: '/' })
  assert.deepEqual(workspaceIn('/workspaces/a/'), { name: 'a', target: '/' })
  assert.deepEqual(workspaceIn('/workspaces/a?x=1'), { name: 'a', target: '/?x=1' })
  assert.deepEqual(workspaceIn('/workspaces/a-1/api/v1?watch=1&x=/workspaces/b'), {
    name: 'a-1',
    target: '/api/v1?watch=1&x=/workspaces/b',
  })
  assert.deepEqual(workspaceIn('/workspaces/a/../b'), { name: 'a', target: '/../b' })
  for (const target of [
    '/workspaces',
    '/workspaces/',
    '/workspaces//a',
    '/workspaces/../a',
    '/workspaces/A',
    '/workspaces/-a',
    '/workspaces/%61/api',
    '/workspaces/a%2f..%2fb',
    '/workspaces/a;x/api',
    '/workspaces/a.b/api',
    `/workspaces/${'a'.repeat(64)}/api`,
    '//workspaces/a',
    '/workspaces\\a',
    'https://host/workspaces/a',
    '*',
  ])
    assert.equal(workspaceIn(target), undefined, target)
})
