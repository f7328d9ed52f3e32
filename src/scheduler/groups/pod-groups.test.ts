import assert from 'node:assert/strict'
import test from 'node:test'
import type { CompositePodGroup } from '../../kinds/scheduling/compositepodgroup.ts'
import type { PodGroup } from '../../kinds/scheduling/podgroup.ts'
import { groupKey, isComplete, leavesOf, PodGroups } from './pod-groups.ts'

const named = (name: string, parent?: string) => ({ metadata: { namespace: 'default', name }, ...(parent && { parent }) })
const gang = (name: string, minCount: number, parent?: string) =>
  ({
    ...named(name),
    spec: { schedulingPolicy: { gang: { minCount } }, ...(parent && { parentCompositePodGroupName: parent }) },
  }) as unknown as PodGroup
const composite = (name: string, minGroupCount: number, parent?: string) =>
  ({
    ...named(name),
    spec: { schedulingPolicy: { gang: { minGroupCount } }, ...(parent && { parentCompositePodGroupName: parent }) },
  }) as unknown as CompositePodGroup

const pg = (name: string) => groupKey('podgroup', 'default', name)
const cpg = (name: string) => groupKey('compositepodgroup', 'default', name)

test('a hierarchy has a root once all objects up to it are there, in whatever order they come', () => {
  const groups = new PodGroups({ hasComposites: true })
  groups.setGroup(gang('a', 1, 'middle'))
  assert.equal(groups.rootOf(pg('a')), undefined)
  groups.setComposite(composite('top', 1))
  assert.equal(groups.rootOf(pg('a')), undefined)
  groups.setComposite(composite('middle', 1, 'top'))
  assert.equal(groups.rootOf(pg('a')), cpg('top'))
  groups.setGroup(gang('b', 1, 'middle'))
  assert.deepEqual(
    [...leavesOf(groups.tree(cpg('top'))!)].map(({ key }) => key),
    [pg('a'), pg('b')],
  )
  groups.removeComposite('default', 'middle')
  assert.deepEqual([groups.rootOf(pg('a')), groups.tree(cpg('top'))!.children], [undefined, []])
})

test('a cycle has no root, and a parent does not count without composite groups', () => {
  const groups = new PodGroups({ hasComposites: true })
  groups.setComposite(composite('x', 1, 'y'))
  groups.setComposite(composite('y', 1, 'x'))
  groups.setGroup(gang('a', 1, 'x'))
  assert.equal(groups.rootOf(pg('a')), undefined)
  assert.ok(groups.tree(cpg('x')))
  const flat = new PodGroups({ hasComposites: false })
  flat.setGroup(gang('a', 1, 'x'))
  assert.equal(flat.rootOf(pg('a')), pg('a'))
})

test('a hierarchy is complete when enough groups have enough pods', () => {
  const groups = new PodGroups({ hasComposites: true })
  groups.setComposite(composite('top', 2))
  for (const name of ['a', 'b', 'c']) groups.setGroup(gang(name, 2, 'top'))
  const isReady = () => isComplete(groups.tree(cpg('top'))!, ({ key }) => groups.membersOf(key).size)
  const join = (uid: string, group: string) => groups.join({ uid, namespace: 'default', group })
  join('1', 'a')
  join('2', 'a')
  join('3', 'b')
  assert.equal(isReady(), false)
  join('4', 'b')
  assert.equal(isReady(), true)
  assert.equal(groups.leave('4'), pg('b'))
  assert.equal(isReady(), false)
})
