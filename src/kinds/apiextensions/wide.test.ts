import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, created, warnings } from '../../../test/kits/kinds/kinds.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'

/** Definitions as large as those in use, each modelled on a well-known project. */
const text = (description: string, more: object = {}) => ({ description, type: 'string', ...more })
const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const listOf = (items: object, more: object = {}) => ({ type: 'array', items, ...more })
const amount = {
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
  'x-kubernetes-int-or-string': true,
}
const condition = object(
  {
    lastTransitionTime: text('When it changed.', { format: 'date-time' }),
    message: text('Why, in a sentence.', { maxLength: 32768 }),
    observedGeneration: { type: 'integer', format: 'int64', minimum: 0 },
    reason: text('Why, in a word.', { maxLength: 1024, minLength: 1, pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$' }),
    status: { enum: ['True', 'False', 'Unknown'], type: 'string' },
    type: text('What it is about.', { maxLength: 316 }),
  },
  { required: ['lastTransitionTime', 'message', 'reason', 'status', 'type'] },
)
const conditions = listOf(condition, { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'], maxItems: 8 })
const envelope = { apiVersion: text('The version.'), kind: text('The kind.'), metadata: { type: 'object' } }
const age = { jsonPath: '.metadata.creationTimestamp', name: 'Age', type: 'date' }

const certificates = {
  metadata: {
    name: 'certificates.trust.example.io',
    labels: { 'app.kubernetes.io/name': 'trust' },
    annotations: { 'example.io/tool': 'v1' },
  },
  spec: {
    group: 'trust.example.io',
    names: {
      categories: ['trust'],
      kind: 'Certificate',
      listKind: 'CertificateList',
      plural: 'certificates',
      shortNames: ['cert', 'certs'],
      singular: 'certificate',
    },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        selectableFields: [{ jsonPath: '.spec.issuerRef.name' }, { jsonPath: '.spec.issuerRef.kind' }],
        additionalPrinterColumns: [
          { jsonPath: '.status.conditions[?(@.type == "Ready")].status', name: 'Ready', type: 'string' },
          { jsonPath: '.spec.secretName', name: 'Secret', type: 'string' },
          { jsonPath: '.spec.issuerRef.name', name: 'Issuer', priority: 1, type: 'string' },
          { jsonPath: '.status.notAfter', name: 'Until', type: 'date', priority: 1, description: 'When it ends.' },
          age,
        ],
        schema: {
          openAPIV3Schema: object(
            {
              ...envelope,
              spec: object(
                {
                  commonName: text('The subject.'),
                  duration: text('How long.'),
                  renewBeforePercentage: { type: 'integer', format: 'int32' },
                  issuerRef: object({ group: text('g'), kind: text('k'), name: text('n') }, { required: ['name'] }),
                  keystores: object({ jks: object({ create: { type: 'boolean' }, alias: text('a') }, { required: ['create'] }) }),
                  privateKey: object({
                    algorithm: text('How.', { enum: ['RSA', 'ECDSA', 'Ed25519'] }),
                    rotationPolicy: { type: 'string', default: 'Never', enum: ['Never', 'Always'] },
                    size: { type: 'integer' },
                  }),
                  secretTemplate: object({
                    annotations: { type: 'object', additionalProperties: { type: 'string' } },
                    labels: { type: 'object', additionalProperties: { type: 'string' } },
                  }),
                  usages: listOf({ type: 'string', enum: ['signing', 'server auth', 'client auth'] }),
                  uris: listOf({ type: 'string', format: 'uri' }, { 'x-kubernetes-list-type': 'set' }),
                },
                { required: ['issuerRef'] },
              ),
              status: object({ conditions, notAfter: { type: 'string', format: 'date-time' }, revision: { type: 'integer' } }),
            },
            { description: 'A certificate.' },
          ),
        },
      },
    ],
  },
}

const monitors = {
  metadata: { name: 'prometheuses.watch.example.com' },
  spec: {
    group: 'watch.example.com',
    names: { kind: 'Prometheus', plural: 'prometheuses', shortNames: ['prom'] },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: {
          scale: { labelSelectorPath: '.status.selector', specReplicasPath: '.spec.shards', statusReplicasPath: '.status.shards' },
          status: {},
        },
        additionalPrinterColumns: [{ jsonPath: '.spec.replicas', name: 'Desired', type: 'integer' }, age],
        schema: {
          openAPIV3Schema: object(
            {
              ...envelope,
              spec: object({
                shards: { type: 'integer', format: 'int32' },
                portName: { type: 'string', default: 'web' },
                evaluationInterval: {
                  type: 'string',
                  default: '30s',
                  pattern: '^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$',
                },
                resources: object({
                  limits: { type: 'object', additionalProperties: amount },
                  requests: { type: 'object', additionalProperties: amount },
                }),
                additionalArgs: listOf(object({ name: text('n', { minLength: 1 }), value: text('v') }, { required: ['name'] })),
                selector: object(
                  {
                    matchLabels: { type: 'object', additionalProperties: { type: 'string' } },
                    matchExpressions: listOf(object({ key: text('k') }), { 'x-kubernetes-list-type': 'atomic' }),
                  },
                  { 'x-kubernetes-map-type': 'atomic' },
                ),
                volume: object(
                  { secret: object({ defaultMode: { type: 'integer' } }), emptyDir: object({ sizeLimit: amount }) },
                  { nullable: true },
                ),
                containers: listOf({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true }),
                maximumStartupDurationSeconds: { type: 'integer', minimum: 60 },
              }),
              status: object({ shards: { type: 'integer' }, selector: { type: 'string' }, conditions }),
            },
            { required: ['spec'] },
          ),
        },
      },
    ],
  },
}

const applications = {
  metadata: { name: 'applications.deploy.example.io' },
  spec: {
    group: 'deploy.example.io',
    names: { kind: 'Application', plural: 'applications', shortNames: ['app', 'apps'] },
    scope: 'Namespaced',
    preserveUnknownFields: false,
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        additionalPrinterColumns: [{ jsonPath: '.status.sync.status', name: 'Sync', type: 'string' }],
        schema: {
          openAPIV3Schema: object({
            ...envelope,
            operation: object({ retry: object({ limit: { type: 'integer', format: 'int64' } }) }),
            spec: object({
              source: object({ helm: object({ valuesObject: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }) }),
              template: { type: 'object', 'x-kubernetes-embedded-resource': true, 'x-kubernetes-preserve-unknown-fields': true },
              generators: listOf(object({ list: object({ elements: listOf({ 'x-kubernetes-preserve-unknown-fields': true }) }) })),
            }),
            status: object({ sync: object({ status: text('s') }, { required: ['status'] }) }),
          }),
        },
      },
    ],
  },
}

const routeSchema = (more: object) =>
  object({
    ...envelope,
    spec: object(
      {
        hostnames: listOf(text('h', { maxLength: 253, minLength: 1 }), { maxItems: 16, 'x-kubernetes-list-type': 'atomic' }),
        parentRefs: listOf(
          object(
            {
              group: { default: 'gateway.example.org', maxLength: 253, type: 'string' },
              kind: { default: 'Gateway', maxLength: 63, minLength: 1, type: 'string' },
              name: { maxLength: 253, minLength: 1, type: 'string' },
              port: { format: 'int32', maximum: 65535, minimum: 1, type: 'integer' },
            },
            { required: ['name'] },
          ),
          { maxItems: 32 },
        ),
        rules: listOf(
          object({
            matches: listOf(
              object({
                path: object(
                  {
                    type: { default: 'PathPrefix', enum: ['Exact', 'PathPrefix'], type: 'string' },
                    value: { default: '/', type: 'string' },
                  },
                  { default: { type: 'PathPrefix', value: '/' } },
                ),
              }),
              {
                default: [{ path: { type: 'PathPrefix', value: '/' } }],
                maxItems: 64,
              },
            ),
            timeouts: object({ request: text('r', { pattern: '^([0-9]{1,5}(h|m|s|ms)){1,4}$' }) }),
          }),
          { default: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }] }], maxItems: 16 },
        ),
        ...more,
      },
      { oneOf: [{ required: ['hostnames'] }, { required: ['parentRefs'] }] },
    ),
    status: object({
      parents: listOf(object({ conditions }, { required: ['conditions'] }), { maxItems: 32, 'x-kubernetes-list-type': 'atomic' }),
    }),
  })

const routes = {
  metadata: {
    name: 'httproutes.gateway.networking.k8s.io',
    annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/gateway-api/pull/2997' },
  },
  spec: {
    group: 'gateway.networking.k8s.io',
    names: { categories: ['gateway-api'], kind: 'HTTPRoute', plural: 'httproutes' },
    scope: 'Namespaced',
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: routeSchema({ extra: { type: 'boolean' } }) },
      },
      {
        name: 'v1beta1',
        served: true,
        storage: false,
        deprecated: true,
        deprecationWarning: 'use v1',
        subresources: { status: {} },
        schema: { openAPIV3Schema: routeSchema({}) },
      },
    ],
  },
}

for (const [manner, definition] of Object.entries({ certificates, monitors, applications, routes }))
  test(`a definition in the manner of ${manner} is taken as it is`, () => {
    assert.deepEqual(check(CustomResourceDefinition, definition), [])
    assert.deepEqual(warnings(CustomResourceDefinition, definition), [])
    const stored = created(CustomResourceDefinition, definition)
    assert.deepEqual(stored.spec.versions, definition.spec.versions)
    assert.deepEqual(check(CustomResourceDefinition, definition, { old: stored }), [])
  })
