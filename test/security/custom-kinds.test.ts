// Tricks with definitions of custom kinds: none takes the place of a built-in kind, reaches further than its group, or costs much.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually, patient } from '../kit.ts'
import { type Arena, type Attack, NS, runAttacks, startArena } from '../kits/attacks.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const KIND = 'customresourcedefinitions.apiextensions.k8s.io'
const MERGE = 'application/merge-patch+json'
const APPROVED = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1' }

type Options = {
  readonly plural?: string
  readonly group?: string
  readonly kind?: string
  readonly schema?: object
  readonly spec?: object
  readonly version?: object
  readonly metadata?: object
  readonly names?: object
}

/** A definition whose name is that of the row, unless told. */
function definition({
  plural = 'tricks',
  group = `${NS}.example.com`,
  kind = 'Trick',
  schema = {},
  spec,
  version,
  metadata,
  names,
}: Options) {
  const openAPIV3Schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...schema } },
  }
  return {
    metadata: { name: `${plural}.${group}`, ...metadata },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural, kind, ...names },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema }, ...version }],
      ...spec,
    },
  }
}
const create = (options: Options) => {
  const body = definition(options)
  return { mayAnywhere: [`create ${KIND}`], send: `POST ${DEFINITIONS}`, body, absent: [`${DEFINITIONS}/${body.metadata.name}`] }
}
const rules = (...expressions: string[]) => ({
  properties: { list: { type: 'array', items: { type: 'string' } }, text: { type: 'string' } },
  'x-kubernetes-validations': expressions.map(rule => ({ rule })),
})
const nested = (depth: number): object => (depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: nested(depth - 1) } })

const DEFINED: readonly Attack[] = [
  {
    name: 'the group of a built-in kind',
    ...create({ plural: 'deployments', group: 'apps', kind: 'Deployment' }),
    answer: 422,
    says: 'spec.group',
  },
  { name: 'the core group', ...create({ plural: 'secrets', group: '', kind: 'Secret', metadata: { name: 'secrets.' } }), answer: 422 },
  {
    name: 'a group of Kubernetes that nobody has approved',
    ...create({ plural: 'tricks', group: 'rbac.authorization.k8s.io' }),
    answer: 422,
    says: 'api-approved.kubernetes.io',
  },
  {
    name: 'a group below those of Kubernetes',
    ...create({ group: `${NS}.kubernetes.io` }),
    answer: 422,
    says: 'api-approved.kubernetes.io',
  },
  {
    name: 'a name that is not that of plural and group',
    ...create({ metadata: { name: 'clusterroles.rbac.authorization.k8s.io' } }),
    answer: 422,
    says: 'metadata.name',
  },
  {
    name: 'the annotations of metadata in the schema',
    ...create({
      version: {
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { metadata: { type: 'object', properties: { annotations: { type: 'object' } } } },
          },
        },
      },
    }),
    answer: 422,
    says: 'metadata',
  },
  {
    name: 'a default for the name of objects',
    ...create({
      version: {
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { metadata: { type: 'object', properties: { name: { type: 'string', default: 'admin' } } } },
          },
        },
      },
    }),
    answer: 422,
  },
  {
    name: 'a rule that costs more than any object may',
    ...create({ schema: rules('self.list.all(a, self.list.all(b, self.list.all(c, a + b + c != self.text)))') }),
    answer: 422,
    says: 'cost',
  },
  { name: 'a rule that is no expression', ...create({ schema: rules('self.list.all(') }), answer: 422 },
  {
    name: 'a rule that asks about the user',
    ...create({ schema: rules('authorizer.group("").resource("secrets").check("get").allowed()') }),
    answer: 422,
  },
  { name: 'a rule that asks about the request', ...create({ schema: rules('request.userInfo.username == "admin"') }), answer: 422 },
  {
    name: 'a pattern that cannot be matched in linear time',
    ...create({ schema: { properties: { text: { type: 'string', pattern: '(a+)+\\1$' } } } }),
    answer: 422,
  },
  {
    name: 'a pattern that looks ahead',
    ...create({ schema: { properties: { text: { type: 'string', pattern: '^(?=(a+)+$).*b' } } } }),
    answer: 422,
  },
  { name: 'a reference to another schema', ...create({ schema: { $ref: 'file:///etc/passwd' } }), answer: 422 },
  { name: 'a reference to another schema by a URL', ...create({ schema: { $ref: 'https://127.0.0.1:1/schema' } }), answer: 422 },
  {
    name: 'a column of a secret of another object',
    ...create({ version: { additionalPrinterColumns: [{ name: 'x', type: 'string', jsonPath: '{.a}{.b}' }] } }),
    answer: 422,
  },
  {
    name: 'a schema that is a thousand levels deep',
    ...create({ schema: nested(1000) as Options['schema'] & object }),
    answer: [400, 422],
  },
  {
    name: 'two versions that store',
    ...create({
      spec: {
        versions: ['v1', 'v2'].map(name => ({ name, served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } })),
      },
    }),
    answer: 422,
  },
  {
    name: 'a conversion by a webhook without an address',
    ...create({ spec: { conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'] } } } }),
    answer: 422,
  },
  {
    name: 'a conversion by a webhook without TLS',
    ...create({
      spec: {
        conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'http://127.0.0.1:1/' } } },
      },
    }),
    answer: 422,
  },
  {
    name: 'a conversion by a webhook with a password in its address',
    ...create({
      spec: {
        conversion: {
          strategy: 'Webhook',
          webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://u:p@127.0.0.1:1/' } },
        },
      },
    }),
    answer: 422,
  },
  {
    name: 'a scale that lies outside of spec',
    ...create({ version: { subresources: { scale: { specReplicasPath: '.metadata.generation', statusReplicasPath: '.status.x' } } } }),
    answer: 422,
  },
  {
    name: 'the scope is changed',
    mayAnywhere: [`patch ${KIND}`],
    send: `PATCH ${DEFINITIONS}/victims.security.example.com`,
    type: MERGE,
    body: { spec: { scope: 'Cluster' } },
    answer: 422,
    unchanged: [`${DEFINITIONS}/victims.security.example.com`],
  },
  {
    name: 'the status says that names were accepted',
    mayAnywhere: [`create ${KIND}`],
    send: `POST ${DEFINITIONS}`,
    body: {
      ...definition({ names: { kind: 'Victim' }, group: 'security.example.com', plural: 'tricks' }),
      status: { conditions: [{ type: 'Established', status: 'True' }], acceptedNames: { plural: 'tricks', kind: 'Victim' } },
    },
    answer: 201,
    hides: /"status":"True"/,
  },
]

const VICTIMS = `/apis/security.example.com/v1/namespaces/${NS}/victims`
const victim = (name: string, more: object = {}) => ({
  apiVersion: 'security.example.com/v1',
  kind: 'Victim',
  metadata: { name },
  spec: {},
  ...more,
})
const mayAll = ['* victims.security.example.com']
const OBJECTS: readonly Attack[] = [
  {
    name: 'a user that may define a kind may not read its objects',
    mayAnywhere: [`* ${KIND}`],
    given: [[VICTIMS, victim('x')]],
    send: `GET ${VICTIMS}/x`,
    answer: 403,
  },
  { name: 'a name with a slash', may: mayAll, send: `POST ${VICTIMS}`, body: victim('a/b'), answer: 422 },
  { name: 'a name that climbs', may: mayAll, send: `POST ${VICTIMS}`, body: victim('..'), answer: 422 },
  {
    name: 'another namespace in the body',
    may: mayAll,
    send: `POST ${VICTIMS}`,
    body: victim('x', { metadata: { name: 'x', namespace: 'kube-system' } }),
    answer: 400,
    absent: ['/apis/security.example.com/v1/namespaces/kube-system/victims/x'],
  },
  {
    name: 'another kind in the body',
    may: mayAll,
    send: `POST ${VICTIMS}`,
    body: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } },
    answer: 400,
    absent: [`/api/v1/namespaces/${NS}/secrets/x`],
  },
  {
    name: 'an embedded object of another kind is only data',
    may: mayAll,
    send: `POST ${VICTIMS}`,
    body: victim('x', { spec: { template: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } } } }),
    answer: 201,
    absent: [`/api/v1/namespaces/${NS}/secrets/x`],
  },
  {
    name: 'names of prototypes are data',
    may: mayAll,
    send: `POST ${VICTIMS}`,
    body: JSON.parse(
      JSON.stringify(victim('x')).replace(
        '"spec":{}',
        '"spec":{"constructor":{"prototype":{"polluted":true}}},"polluting":{"__proto__":{"polluted":true}}',
      ),
    ),
    answer: 201,
    hides: /"polluting"/,
  },
  {
    name: 'a uid and times of the past',
    may: mayAll,
    send: `POST ${VICTIMS}`,
    body: victim('x', {
      metadata: {
        name: 'x',
        uid: 'mine',
        creationTimestamp: '1999-01-01T00:00:00Z',
        deletionTimestamp: '1999-01-01T00:00:00Z',
        generation: 99,
        selfLink: '/x',
      },
    }),
    answer: 201,
    hides: /1999|"mine"|selfLink|99,/,
  },
]

const ROWS = [...DEFINED, ...OBJECTS]

async function prepare({ admin }: Arena): Promise<void> {
  const { status, text } = await admin({
    send: `POST ${DEFINITIONS}`,
    body: definition({ plural: 'victims', kind: 'Victim', group: 'security.example.com' }),
  })
  assert.equal(status, 201, text)
  await eventually('the custom kind', async () =>
    (await admin({ send: 'GET /apis/security.example.com/v1/victims' })).status === 200 ? true : undefined,
  )
}

test('no definition of a custom kind takes resources of others', patient, async t => {
  const arena = await startArena(t, ROWS, { controllers: ['none'] })
  await prepare(arena)
  await runAttacks(t, arena, ROWS)
  assert.equal((Object.prototype as { polluted?: unknown }).polluted, undefined)
})

test('an approved definition in a group of Kubernetes does not shadow its kinds', patient, async t => {
  const arena = await startArena(t, [], { controllers: ['none'] })
  const shadow = definition({ plural: 'roles', kind: 'Role', group: 'rbac.authorization.k8s.io', metadata: { annotations: APPROVED } })
  const { status, text } = await arena.admin({ send: `POST ${DEFINITIONS}`, body: shadow })
  assert.equal(status, 201, text)
  const ROLES = '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles'
  const role = { metadata: { name: 'r' }, rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }] }
  const made = await arena.admin({ send: `POST ${ROLES}`, body: role })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual(made.json.rules, role.rules)
  const refused = await arena.admin({ send: `POST ${ROLES}`, body: { metadata: { name: 'bad' }, rules: [{ verbs: [] }] } })
  assert.equal(refused.status, 422, 'the rules of the built-in kind hold')
})
