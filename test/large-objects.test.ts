// Large objects are validated as small ones are: whether a write is accepted depends on its content alone.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, freshServer, patient } from './kit.ts'

const TEMPLATES = '/api/v1/namespaces/default/podtemplates'
const LABELS = 6000

/** A pod template whose topology spread constraint selects by many labels. */
function template(labels: Record<string, string>) {
  const container = { name: 'c', image: 'image' }
  const constraint = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: { matchLabels: labels } }
  const spec = { containers: [container], topologySpreadConstraints: [constraint] }
  return { apiVersion: 'v1', kind: 'PodTemplate', metadata: { name: 'large' }, template: { metadata: { labels: { a: 'b' } }, spec } }
}

test('a large object with one invalid label value is always rejected', patient, async t => {
  const server = await freshServer(t)
  const labels: Record<string, string> = {}
  for (let i = 0; i < LABELS; i++) labels[`example.com/${'k'.repeat(40)}-${i}`] = `${'v'.repeat(25)}-${i}`
  assert.equal((await ask(server, TEMPLATES, { method: 'POST', body: template(labels) })).status, 201)
  for (const i of [0, 1, LABELS / 2, LABELS - 2, LABELS - 1]) {
    const key = Object.keys(labels)[i]!
    const { status, json } = await ask(server, `${TEMPLATES}/large`, { method: 'PUT', body: template({ ...labels, [key]: 'not valid!' }) })
    assert.equal(status, 422, `label ${i}`)
    assert.match(json.message, /Invalid value: "not valid!"/)
  }
})
