import assert from 'node:assert/strict'
import { test } from 'node:test'
import { widgets } from '../../../test/kits/kinds/definitions.ts'
import {
  cells,
  check,
  checkSubresource,
  contextWith,
  created,
  NOW,
  updated,
  warnings,
  withDefaults,
} from '../../../test/kits/kinds/kinds.ts'
import { fromProtobuf } from '../../codec/protobuf-decode.ts'
import { toProtobuf } from '../../codec/protobuf-encode.ts'
import { conform } from '../../schema/conform.ts'
import { resourceOf } from '../../schema/resource.ts'
import { CustomResourceDefinition } from './customresourcedefinition.ts'
import { JSONSchemaProps } from './json-schema.ts'

const established = { conditions: [{ type: 'Established', status: 'True' }], storedVersions: ['v1'] }
const stored = (draft: ReturnType<typeof widgets>, status: object = established) => ({ ...draft, status })
const faults = (draft: object) => check(CustomResourceDefinition, draft as never)

test('names default from the kind, and the conversion strategy to None', () => {
  const { spec } = withDefaults(CustomResourceDefinition, widgets())
  assert.deepEqual(spec.names, { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' })
  assert.deepEqual(spec.conversion, { strategy: 'None' })
})

test('the status of a new definition has storedVersions and nothing else', () => {
  const { status } = created(CustomResourceDefinition, stored(widgets()))
  assert.deepEqual(status, { conditions: null, acceptedNames: { plural: '', kind: '' }, storedVersions: ['v1'] })
  assert.deepEqual(faults(widgets()), [])
})

test('a version that was the storage version is remembered', () => {
  const version = (name: string, storage: boolean) => ({ name, served: true, storage, schema: { openAPIV3Schema: { type: 'object' } } })
  const next = widgets({}, { spec: { versions: [version('v1', false), version('v2', true)] } })
  assert.deepEqual(updated(CustomResourceDefinition, next, stored(widgets())).status.storedVersions, ['v1', 'v2'])
  const gone = widgets({}, { spec: { versions: [version('v2', true)] } })
  assert.deepEqual(check(CustomResourceDefinition, gone, { old: stored(next, { storedVersions: ['v1', 'v2'] }) }), [
    'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
  ])
})

test('a service of a webhook has port 443 by default, and an empty webhook configuration is dropped', () => {
  const conversion = (webhook: object) => widgets({}, { spec: { conversion: { strategy: 'Webhook', webhook } } })
  const { spec } = withDefaults(CustomResourceDefinition, conversion({ clientConfig: { service: { namespace: 'a', name: 'b' } } }))
  assert.equal(spec.conversion.webhook.clientConfig.service.port, 443)
  assert.deepEqual(created(CustomResourceDefinition, conversion({})).spec.conversion, { strategy: 'Webhook' })
})

test('it is named after the resource and the group', () => {
  assert.deepEqual(faults(widgets({}, { metadata: { name: 'widgets' } })), [
    'metadata.name: Invalid value: "widgets": must be spec.names.plural+"."+spec.group',
  ])
})

test('missing fields are reported one by one', () => {
  assert.deepEqual(faults({ metadata: { name: '.' }, spec: {} }).slice(1), [
    'spec.group: Required value',
    'spec.scope: Required value',
    'spec.versions: Invalid value: null: must have exactly one version marked as storage version',
    'spec.names.plural: Required value',
    'spec.names.singular: Required value',
    'spec.names.kind: Required value',
    'spec.names.listKind: Required value',
    'status.storedVersions: Invalid value: null: must have at least one stored version',
  ])
})

test('names are labels', () => {
  const names = { plural: 'widgets', kind: 'Wid.get', singular: 'wid get', shortNames: ['W'], categories: ['-'], listKind: 'Wid.get' }
  const dns =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"
  assert.deepEqual(faults(widgets({}, { spec: { names } })), [
    `spec.names.singular: Invalid value: "wid get": ${dns}`,
    `spec.names.kind: Invalid value: "Wid.get": may have mixed case, but should otherwise match: ${dns}`,
    `spec.names.listKind: Invalid value: "Wid.get": may have mixed case, but should otherwise match: ${dns}`,
    `spec.names.shortNames[0]: Invalid value: "W": ${dns}`,
    'spec.names.listKind: Invalid value: "Wid.get": kind and listKind may not be the same',
    `spec.names.categories[0]: Invalid value: "-": ${dns}`,
  ])
})

test('exactly one version is stored, and errors show versions as Kubernetes holds them', () => {
  const shown = (name: string) =>
    `{"Name":"${name}","Served":true,"Storage":true,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}`
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }
  assert.deepEqual(faults(widgets({}, { spec: { versions: [version, version] } })), [
    `spec.versions: Invalid value: [${shown('v1')},${shown('v1')}]: must contain unique version names`,
    `spec.versions: Invalid value: [${shown('v1')},${shown('v1')}]: must have exactly one version marked as storage version`,
  ])
})

test('every version has a schema, and the name of the first is looked at twice', () => {
  const bad = faults(widgets({}, { version: { name: 'V1', schema: null } }))
  assert.deepEqual(
    bad.map(text => text.slice(0, 55)),
    [
      'spec.versions[0].schema.openAPIV3Schema: Required value',
      'spec.versions[0].name: Invalid value: "V1": a DNS-1035 ',
      'spec.version: Invalid value: "V1": a DNS-1035 label mus',
    ],
  )
})

test('groups of Kubernetes need an approval', () => {
  const draft = (annotations: object) => widgets({}, { metadata: { name: 'widgets.x-k8s.io', annotations }, spec: { group: 'x-k8s.io' } })
  assert.deepEqual(faults(draft({})), [])
  const inside = (annotations: object) =>
    widgets({}, { metadata: { name: 'widgets.gateway.networking.k8s.io', annotations }, spec: { group: 'gateway.networking.k8s.io' } })
  const key = 'api-approved.kubernetes.io'
  assert.deepEqual(faults(inside({})), [
    `metadata.annotations[${key}]: Required value: protected groups must have approval annotation "${key}", see https://github.com/kubernetes/enhancements/pull/1111`,
  ])
  assert.deepEqual(faults(inside({ [key]: 'nobody' })), [
    `metadata.annotations[${key}]: Invalid value: "nobody": protected groups must have approval annotation "${key}" with either a URL or a reason starting with "unapproved", see https://github.com/kubernetes/enhancements/pull/1111`,
  ])
  assert.deepEqual(faults(inside({ [key]: 'https://github.com/kubernetes-sigs/gateway-api/pull/2466' })), [])
  assert.deepEqual(faults(inside({ [key]: 'unapproved, an experiment' })), [])
  assert.deepEqual(check(CustomResourceDefinition, inside({ [key]: 'x' }), { old: stored(inside({ [key]: 'y' })) }), [])
})

test('fields that paths and storage depend on cannot change once the definition is established', () => {
  const old = widgets()
  const next = widgets({}, { spec: { scope: 'Cluster', names: { plural: 'widgets', kind: 'Gadget' } } })
  assert.deepEqual(check(CustomResourceDefinition, next, { old: stored(old) }), [
    'spec.scope: Invalid value: "Cluster": field is immutable',
    'spec.names.kind: Invalid value: "Gadget": field is immutable',
  ])
  assert.deepEqual(check(CustomResourceDefinition, next, { old: stored(old, { storedVersions: ['v1'] }) }), [])
  const moved = widgets({}, { spec: { group: 'other.com', names: { plural: 'gadgets', kind: 'Widget' } } })
  assert.deepEqual(check(CustomResourceDefinition, moved, { old: stored(old) }), [
    'spec.group: Invalid value: "other.com": field is immutable',
    'spec.names.plural: Invalid value: "gadgets": field is immutable',
  ])
})

test('unknown fields can no longer be kept for the whole object', () => {
  assert.deepEqual(faults(widgets({}, { spec: { preserveUnknownFields: true } })), [
    'spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead',
  ])
})

test('conversion by a webhook says where the webhook is', () => {
  const converted = (conversion: object) => faults(widgets({}, { spec: { conversion } }))
  assert.deepEqual(converted({ strategy: 'Magic', webhook: { conversionReviewVersions: ['v1'] } }), [
    'spec.conversion.strategy: Unsupported value: "Magic": supported values: "None", "Webhook"',
    'spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook',
  ])
  assert.deepEqual(converted({ strategy: 'Webhook' }), [
    'spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook',
    'spec.conversion.conversionReviewVersions: Required value',
  ])
  const versions = ['v2', 'v2']
  assert.deepEqual(converted({ strategy: 'Webhook', webhook: { clientConfig: {}, conversionReviewVersions: versions } }), [
    'spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required',
    'spec.conversion.conversionReviewVersions[1]: Invalid value: "v2": duplicate version',
    'spec.conversion.conversionReviewVersions: Invalid value: ["v2","v2"]: must include at least one of v1, v1beta1',
  ])
  const service = { namespace: 'ns', name: '', port: 0, path: 'x' }
  assert.deepEqual(converted({ strategy: 'Webhook', webhook: { clientConfig: { service }, conversionReviewVersions: ['v1'] } }), [
    'spec.conversion.webhookClientConfig.service.namespace: Required value',
    'spec.conversion.webhookClientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
    'spec.conversion.webhookClientConfig.service.path: Invalid value: "x": must start with a \'/\'',
    'spec.conversion.webhookClientConfig.service.path: Invalid value: "x": segment[0] may not be empty',
  ])
})

test('certificate authorities are looked at when the kind is served, unless broken ones are stored', () => {
  const converted = (caBundle: string, name = 'b') => {
    const clientConfig = { service: { namespace: 'a', name }, caBundle }
    return widgets({}, { spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions: ['v1'] } } } })
  }
  assert.deepEqual(faults(converted('Cg==')), [])
  assert.deepEqual(check(CustomResourceDefinition, converted('Cg=='), { old: stored(widgets()) }), [
    'spec.conversion.webhookClientConfig.caBundle: Invalid value: "Cg==": unable to load root certificates: unable to parse bytes as PEM block',
  ])
  assert.deepEqual(check(CustomResourceDefinition, converted('Cg==', 'c'), { old: stored(converted('Cg==')) }), [])
})

test('the status is written through its subresource', () => {
  assert.deepEqual(
    checkSubresource(CustomResourceDefinition, 'status', { ...widgets(), status: { acceptedNames: { plural: 'X' } } }, stored(widgets()))
      .length,
    1,
  )
  assert.deepEqual(
    checkSubresource(CustomResourceDefinition, 'status', { ...widgets(), status: { storedVersions: ['v9'] } }, stored(widgets())),
    [],
  )
})

test('the first delete adds a finalizer and a Terminating condition', () => {
  const o = created(CustomResourceDefinition, widgets())
  CustomResourceDefinition.def.deletion!.onFirst!(o, contextWith())
  assert.deepEqual(o.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io'])
  assert.deepEqual(o.status.conditions, [
    {
      type: 'Terminating',
      status: 'True',
      lastTransitionTime: '2026-07-01T12:00:00Z',
      reason: 'InstanceDeletionPending',
      message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    },
  ])
  assert.equal(NOW.toISOString(), '2026-07-01T12:00:00.000Z')
})

test('its table shows what is served', () => {
  const version = (name: string, more: object) => ({
    name,
    served: true,
    storage: false,
    schema: { openAPIV3Schema: { type: 'object' } },
    ...more,
  })
  const versions = [version('v2', {}), version('v1', { storage: true }), version('v1beta1', { served: false })]
  const shown = cells(
    CustomResourceDefinition,
    stored(widgets({}, { spec: { versions, names: { plural: 'widgets', kind: 'Widget', shortNames: ['w', 'wi'] } } })),
  )
  assert.deepEqual(
    [shown['Scope'], shown['Versions'], shown['ShortNames'], shown['Established']],
    ['Namespaced', 'v1(storage),v2', 'w,wi', true],
  )
})

test('unrecognized formats are warned about once', () => {
  const properties = {
    a: { type: 'string', format: 'uuid' },
    b: { type: 'string', format: 'made-up' },
    c: { type: 'integer', format: 'int64' },
  }
  assert.deepEqual(warnings(CustomResourceDefinition, widgets({ properties })), ['unrecognized format "made-up"'])
  assert.deepEqual(warnings(CustomResourceDefinition, widgets({ properties }), { old: stored(widgets({ properties })) }), [])
  const list = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object', 'x-kubernetes-map-type': 'atomic' } }
  assert.deepEqual(warnings(CustomResourceDefinition, widgets({ properties: { list } })), [
    'x-kubernetes-list-type: set for items of type "object" is not supported by server-side apply or CEL validation rules',
  ])
})

test('schemas keep every notation, through JSON and protobuf', () => {
  const schema = {
    $ref: '',
    type: 'object',
    default: { b: 1, a: [null, true] },
    maximum: 0,
    maxLength: 0,
    enum: [null, 1, 'x', { a: {} }],
    items: [{ type: 'string' }, {}],
    not: { items: { type: 'integer' } },
    properties: JSON.parse('{"__proto__":{"additionalProperties":false},"constructor":{"additionalProperties":{}}}'),
    additionalProperties: true,
    dependencies: { a: ['b'], c: { type: 'string' } },
    'x-kubernetes-preserve-unknown-fields': false,
    'x-kubernetes-list-type': '',
    'x-kubernetes-validations': [{ rule: 'true', optionalOldSelf: false }],
  }
  const { value, problems } = conform(JSONSchemaProps, schema as never)
  assert.deepEqual(value, schema)
  assert.deepEqual(problems, [])
  assert.deepEqual(conform(JSONSchemaProps, fromProtobuf(JSONSchemaProps, toProtobuf(JSONSchemaProps, value))).value, schema)
})

test('unknown fields inside of items are not reported', () => {
  const { value, problems } = conform(JSONSchemaProps, { unknown: 1, items: { unknown: 2, type: 'string' }, not: { unknown: 3 } })
  assert.deepEqual(value, { items: { type: 'string' }, not: {} })
  assert.deepEqual(problems, ['unknown field "unknown"', 'unknown field "not.unknown"'])
  const refused = (schema: object) => () => conform(JSONSchemaProps, { properties: { a: schema } } as never)
  assert.throws(refused({ additionalProperties: 'yes' }), { message: 'boolean or JSON schema expected' })
  assert.throws(refused({ items: { type: 1 } }), {
    message: 'json: cannot unmarshal number into Go struct field JSONSchemaProps.type of type string',
  })
  assert.deepEqual(conform(JSONSchemaProps, { items: 'x', additionalProperties: null }).value, {})
})

test('a schema as deep as a document can be does no harm', () => {
  let schema: object = { type: 'string', default: 'x' }
  for (let i = 0; i < 400; i++) schema = { type: 'object', properties: { a: schema } }
  assert.deepEqual(faults(widgets({ properties: { spec: schema } })), [])
  let nested: object = { type: 'string' }
  for (let i = 0; i < 900; i++) nested = { not: nested }
  assert.equal(faults(widgets({ properties: { spec: { type: 'object', ...nested } } })).length > 0, true)
})

test('it is found under its group', () => {
  const { apiVersion, plural } = resourceOf(CustomResourceDefinition, 'k8s.io')
  assert.deepEqual([apiVersion, plural], ['apiextensions.k8s.io/v1', 'customresourcedefinitions'])
})
