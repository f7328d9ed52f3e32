import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, created, warnings } from '../../../test/kits/kinds/kinds.ts'
import { openBench } from '../../../test/kits/registry.ts'
import { PodTemplate } from './podtemplate.ts'

const template = (spec: object = {}) => ({
  metadata: { labels: { b: '2', a: '1' } },
  spec: {
    containers: [
      { name: 'x', image: 'a:1' },
      { name: 'y', image: 'b' },
    ],
    ...spec,
  },
})

test('an ordinary template passes and is filled like any other', () => {
  assert.deepEqual(check(PodTemplate, { template: template() }), [])
  const { spec } = created(PodTemplate, { template: template() }).template
  assert.equal(spec.restartPolicy, 'Always')
  assert.equal(spec.enableServiceLinks, undefined)
})

test('errors and warnings name the template', () => {
  assert.deepEqual(check(PodTemplate, { template: template({ containers: [] }) }), ['template.spec.containers: Required value'])
  assert.deepEqual(warnings(PodTemplate, { template: template({ volumes: [{ name: 'v', gitRepo: { repository: 'r' } }] }) }), [
    'template.spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+',
  ])
})

test('a row names containers, images and labels', () => {
  assert.deepEqual(cells(PodTemplate, { template: template() }), { Containers: 'x,y', Images: 'a:1,b', 'Pod Labels': 'a=1,b=2' })
})

test('deleting a template returns it', async t => {
  const { send, close } = await openBench([PodTemplate])
  t.after(close)
  await send('POST podtemplates', { metadata: { name: 'a' }, template: template() })
  assert.equal((await send('DELETE podtemplates/a')).body.kind, 'PodTemplate')
})
