import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openControllerBench } from '../../../test/kits/controllers.ts'
import { ControllerRevision } from '../../kinds/apps/controllerrevision.ts'
import { PodTemplateSpec } from '../../kinds/rules/pod/spec.ts'
import { fillDefaults } from '../../schema/defaults.ts'
import { byRevision, createRevision, holdsTemplate, maxRevision, revisionFor, templateOf } from './revision.ts'

const owner = {
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'db', namespace: 'default', uid: 'u', annotations: { note: 'n' } },
}
const raw = (image: string) => ({ metadata: { labels: { app: 'db' } }, spec: { containers: [{ name: 'c', image }] } })
const template = (image: string) => {
  const made = structuredClone(raw(image))
  fillDefaults(PodTemplateSpec, made)
  return made as unknown as PodTemplateSpec
}
const snapshot = (image: string, hash = 'x') => revisionFor(owner, { template: template(image), revision: 3, hash, hashLabel: 'h' })

test('a revision holds a template, with the labels of that and the annotations of its owner', () => {
  const draft = snapshot('a') as ControllerRevision
  assert.equal(draft.metadata.name, 'db-x')
  assert.deepEqual(draft.metadata.labels, { app: 'db', h: 'x' })
  assert.deepEqual(draft.metadata.annotations, { note: 'n' })
  assert.deepEqual(templateOf(draft), template('a'))
  assert.deepEqual([holdsTemplate(draft, template('a')), holdsTemplate(draft, template('b'))], [true, false])
  assert.equal(templateOf({ data: { replicas: 3 } } as never), undefined)
  // As Go writes a map, byte by byte: that is how Kubernetes finds the revision of a template.
  const { spec } = template('a')
  const keys = Object.keys((draft.data as { spec: { template: { spec: object } } }).spec.template.spec)
  assert.deepEqual(
    keys,
    Object.keys(spec)
      .filter(key => spec[key as never] !== undefined)
      .sort(),
  )
  assert.match(JSON.stringify(draft.data), /^{"spec":{"template":{"\$patch":"replace","metadata":/)
})

test('a template that was kept before fields got defaults is the same template', () => {
  const kept = { data: { spec: { template: { ...raw('a'), $patch: 'replace' } } } } as unknown as ControllerRevision
  assert.ok(holdsTemplate(kept, template('a')))
})

test('revisions are in the order of their numbers', () => {
  const made = (name: string, revision: number) => ({ metadata: { name }, revision }) as ControllerRevision
  const all = [made('c', 2), made('b', 10), made('a', 2)]
  assert.deepEqual(
    all.sort(byRevision).map(({ metadata }) => metadata.name),
    ['a', 'c', 'b'],
  )
  assert.deepEqual([maxRevision(all), maxRevision([])], [10, 0])
})

test('the same template is kept once, and a name that another has is a collision', async t => {
  const { client } = await openControllerBench(t, [ControllerRevision])
  const revisions = client.of(ControllerRevision)
  const first = await createRevision(revisions, snapshot('a'), template('a'))
  assert.equal((await createRevision(revisions, snapshot('a'), template('a')))!.metadata.uid, first!.metadata.uid)
  assert.equal(await createRevision(revisions, snapshot('b'), template('b')), undefined)
  assert.ok(await createRevision(revisions, snapshot('b', 'y'), template('b')))
})
