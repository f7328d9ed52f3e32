import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { CustomResourceDefinition } from '../../kinds/apiextensions/customresourcedefinition.ts'
import { LIMITS } from '../../lib/limits.ts'
import { validateJob } from '../../registry/validation-job.ts'
import { CURRENT_RELEASES } from '../../schema/lifecycle.ts'
import { resourceOf } from '../../schema/resource.ts'
import { readFeatureGates } from '../feature-gates.ts'
import { WorkerValidator } from './worker-validator.ts'

const NEVER = new AbortController().signal
const user = { name: 'jane', groups: [] }
const settings = { groupDomain: 'k8s.io', featureGates: '', releases: CURRENT_RELEASES }
const resource = resourceOf(CustomResourceDefinition, settings.groupDomain)

function open(t: TestContext): WorkerValidator {
  const validator = new WorkerValidator(settings)
  t.after(() => validator[Symbol.asyncDispose]())
  return validator
}

const definition = (rule: (i: number) => string, count = 5) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com', uid: '1' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    conversion: { strategy: 'None' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schemaWith(rule, count) } }],
  },
  status: { acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] },
})
const schemaWith = (rule: (i: number) => string, count: number) => ({
  type: 'object',
  properties: {
    spec: { type: 'integer', 'x-kubernetes-validations': Array.from({ length: count }, (_, i) => ({ rule: rule(i) })) },
  },
})
const jobOf = (object: object, old?: object) => ({
  apiVersion: resource.apiVersion,
  kind: resource.kind,
  object: Buffer.from(JSON.stringify(object)),
  old: old && Buffer.from(JSON.stringify(old)),
  user,
  now: new Date(),
})

test('a worker finds what would be found here', async t => {
  const validator = open(t)
  const [valid, broken] = [definition(i => `self != ${i}`), definition(i => (i === 3 ? 'self.missing' : `self > ${i}`))]
  const outcomes: string[] = []
  for (const job of [jobOf(valid), jobOf(broken), jobOf({ ...valid, metadata: { ...valid.metadata, resourceVersion: '1' } }, valid)]) {
    const found = await validator.validate(job, { user: user.name, signal: NEVER })
    assert.deepEqual(found, validateJob(job, { resource, ...settings, gate: readFeatureGates(settings.featureGates) }))
    outcomes.push(found.outcome === 'refused' ? `${found.code} ${found.details?.causes?.length}` : found.outcome)
  }
  assert.deepEqual(outcomes, ['valid', '422 1', 'valid'])
})

test('definitions as clients write them are validated on the main thread, those full of rules are not', () => {
  const { ruleWork } = CustomResourceDefinition.def
  const work = (count: number) => ruleWork!(definition(i => `self.size() < 100 || self.startsWith('a${i}')`, count) as never)
  assert.ok(work(100) < LIMITS.inlineRuleWork)
  assert.ok(work(1000) > LIMITS.inlineRuleWork)
})
