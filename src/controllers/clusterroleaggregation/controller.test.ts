import assert from 'node:assert/strict'
import { test } from 'node:test'
import { becomes, openControllerBench } from '../../../test/kits/controllers.ts'
import { type Draft, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { ClusterRole } from '../../kinds/rbac/clusterrole.ts'
import { clusterRoleAggregationController } from './controller.ts'
import { aggregatedRules as aggregated, type Role } from './reconcile.ts'

const aggregatedRules = (role: Role, roles: readonly Role[]) => {
  const work = aggregated(role, roles)
  for (;;) {
    const { done, value } = work.next()
    if (done) return value
  }
}
const rule = (verb: string) => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] })
const role = (name: string, labels: Record<string, string>, ...verbs: string[]) => ({ metadata: { name, labels }, rules: verbs.map(rule) })
const aggregating = (name: string, selectors: object[], labels: Record<string, string> = {}) => ({
  metadata: { name, labels },
  aggregationRule: { clusterRoleSelectors: selectors },
})
const TO_VIEW = { matchLabels: { to: 'view' } }
const stored = (draft: Draft) => withDefaults(ClusterRole, draft) as Role

test('rules are gathered by selector and name, each once, never from the role itself', () => {
  const all = [
    role('b', { to: 'view' }, 'list', 'get'),
    role('a', { to: 'view' }, 'get', 'watch'),
    role('c', { to: 'edit' }, 'update'),
    { ...role('v', { to: 'view' }, 'delete'), ...aggregating('v', [{ matchLabels: { to: 'edit' } }, TO_VIEW], { to: 'view' }) },
  ].map(stored)
  assert.deepEqual(
    aggregatedRules(all[3]!, all)?.map(({ verbs }) => verbs[0]),
    ['update', 'get', 'watch', 'list'],
  )
  assert.equal(aggregatedRules(all[0]!, all), undefined)
})

test('nothing is written for a role that is up to date, or whose selectors are invalid', () => {
  const parts = [stored(role('a', { to: 'view' }, 'get'))]
  const done = stored({ ...aggregating('v', [TO_VIEW]), rules: [rule('get')] })
  assert.equal(aggregatedRules(done, parts), undefined)
  const strange = stored({ ...aggregating('v', [{ matchExpressions: [{ key: 'a', operator: 'Sounds' }] }]), rules: [rule('x')] })
  assert.equal(aggregatedRules(strange, parts), undefined)
  assert.deepEqual(aggregatedRules(stored({ ...aggregating('v', [TO_VIEW]), rules: [rule('get')] }), []), [])
})

test('roles that aggregate aggregated roles are complete in the end, and follow every change', async t => {
  const { send, run } = await openControllerBench(t, [ClusterRole])
  await send('POST clusterroles', aggregating('admin', [{ matchLabels: { to: 'admin' } }]))
  await send('POST clusterroles', aggregating('view', [TO_VIEW], { to: 'admin' }))
  await send('POST clusterroles', role('a', { to: 'view' }, 'get'))
  run(clusterRoleAggregationController)
  const roleNamed = async (name: string) => (await send(`GET clusterroles/${name}`)).body
  const has = (name: string, verbs: readonly string[]) =>
    becomes(
      () => roleNamed(name),
      ({ rules }) => String(rules?.map((each: any) => each.verbs[0]) ?? []) === String(verbs),
    )
  await has('admin', ['get'])
  const { metadata } = await roleNamed('view')
  const owner = metadata.managedFields.find(({ manager }: any) => manager === 'clusterrole-aggregation-controller')
  assert.deepEqual([owner.operation, owner.fieldsV1], ['Apply', { 'f:rules': {} }])
  await send('POST clusterroles', role('b', { to: 'view' }, 'list'))
  await has('admin', ['get', 'list'])
  await send('DELETE clusterroles/a')
  await has('admin', ['list'])
  await send('PATCH clusterroles/view', { rules: [rule('steal')] })
  await has('view', ['list'])
  await send('DELETE clusterroles/b')
  const { rules } = await has('admin', [])
  assert.equal(rules, null)
})
