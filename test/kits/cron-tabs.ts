/** A custom kind of the tests, its definition and its objects. */
import assert from 'node:assert/strict'
import { ask, type Target, Watching } from '../kit.ts'

export const GROUP = 'stable.example.com'
export const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
export const TABS = `/apis/${GROUP}/v1/namespaces/default/crontabs`

export const SPEC = {
  cronSpec: { type: 'string', description: 'When.', pattern: '^\\S+( \\S+)*$' },
  image: { type: 'string', default: 'busybox' },
  replicas: { type: 'integer', minimum: 0, maximum: 10 },
}
export const version = (name: string, more: object = {}, spec: object = SPEC) => ({
  name,
  served: true,
  storage: true,
  schema: {
    openAPIV3Schema: {
      type: 'object',
      description: 'A cron tab.',
      properties: {
        spec: { type: 'object', properties: spec },
        status: { type: 'object', properties: { replicas: { type: 'integer' } } },
      },
    },
  },
  subresources: { status: {}, scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
  additionalPrinterColumns: [
    { name: 'Spec', type: 'string', jsonPath: '.spec.cronSpec' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
  selectableFields: [{ jsonPath: '.spec.image' }],
  ...more,
})
export const definition = (versions: object[] = [version('v1')], names: object = {}, more: object = {}) => {
  const called = { plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], categories: ['all'], ...names }
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${called.plural}.${GROUP}` },
    spec: { group: GROUP, scope: 'Namespaced', names: called, versions, ...more },
  }
}
export const tab = (name: string, spec: object = { cronSpec: '* *' }, more: object = {}) => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'CronTab',
  metadata: { name, ...more },
  spec,
})

export const isEstablished = ({ status }: any) => status.conditions?.some((c: any) => c.type === 'Established' && c.status === 'True')

export async function define(server: Target, body: ReturnType<typeof definition>): Promise<void> {
  const { status, text } = await ask(server, DEFINITIONS, { method: 'POST', body })
  assert.equal(status, 201, text)
  await established(server, body.metadata.name)
}

/** Waits by a watch, as clients do. */
export async function established(server: Target, name: string): Promise<void> {
  const undo: (() => unknown)[] = []
  const path = `${DEFINITIONS}?watch=true&fieldSelector=metadata.name%3D${name}`
  const watching = await Watching.open({ after: close => undo.push(close) }, server, path)
  await watching.until(({ object }) => isEstablished(object))
  for (const close of undo) close()
}

export async function create(server: Target, body: object, path = TABS) {
  const answer = await ask(server, path, { method: 'POST', body })
  assert.equal(answer.status, 201, answer.text)
  return answer.json
}
