import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, contextWith, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { MutatingWebhookConfiguration } from './mutatingwebhookconfiguration.ts'
import { ValidatingWebhookConfiguration } from './validatingwebhookconfiguration.ts'

const rule = { apiGroups: ['a.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['things'] }
const hook = (more: object = {}) => ({
  name: 'a.example.com',
  clientConfig: { url: 'https://127.0.0.1:1/x' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [rule],
  ...more,
})
const withHook = (more: object) => ({ webhooks: [hook(more)] })
const withRule = (more: object) => withHook({ rules: [{ ...rule, ...more }] })
const withClient = (clientConfig: object) => withHook({ clientConfig })
const withService = (more: object) => withClient({ service: { name: 's', namespace: 'n', ...more } })

for (const kind of [ValidatingWebhookConfiguration, MutatingWebhookConfiguration]) {
  const errors = (draft: object) => check(kind, { ...draft }).map(error => error.replace('webhooks[0].', ''))

  test(`${kind.def.kind}: an ordinary one passes and gets its defaults`, () => {
    assert.deepEqual(errors(withHook({})), [])
    const [webhook] = withDefaults(kind, withHook({})).webhooks
    const { failurePolicy, matchPolicy, namespaceSelector, objectSelector, timeoutSeconds, rules } = webhook
    assert.deepEqual([failurePolicy, matchPolicy, timeoutSeconds, rules[0].scope], ['Fail', 'Equivalent', 10, '*'])
    assert.deepEqual([namespaceSelector, objectSelector], [{}, {}])
    assert.equal(withDefaults(kind, withService({})).webhooks[0].clientConfig.service.port, 443)
  })

  test(`${kind.def.kind}: names are fully qualified and unique`, () => {
    assert.deepEqual(errors(withHook({ name: 'short' })), [
      'name: Invalid value: "short": should be a domain with at least three segments separated by dots',
    ])
    assert.deepEqual(errors(withHook({ name: '' })), ['name: Required value'])
    assert.deepEqual(errors({ webhooks: [hook(), hook()] }), ['webhooks[1].name: Duplicate value: "a.example.com"'])
  })

  test(`${kind.def.kind}: policies, effects and timeouts are supported values`, () => {
    assert.deepEqual(errors(withHook({ failurePolicy: 'Perhaps', matchPolicy: 'Nearly', sideEffects: 'Some', timeoutSeconds: 31 })), [
      'failurePolicy: Unsupported value: "Perhaps": supported values: "Fail", "Ignore"',
      'matchPolicy: Unsupported value: "Nearly": supported values: "Equivalent", "Exact"',
      'sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
      'timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds',
    ])
    assert.deepEqual(errors(withHook({ sideEffects: '', timeoutSeconds: 0 })), [
      'sideEffects: Required value: must specify one of None, NoneOnDryRun',
      'timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds',
    ])
  })

  test(`${kind.def.kind}: at least one version of reviews is supported`, () => {
    assert.deepEqual(errors(withHook({ admissionReviewVersions: [] })), [
      'admissionReviewVersions: Required value: must specify one of v1, v1beta1',
    ])
    assert.deepEqual(errors(withHook({ admissionReviewVersions: ['v9', 'v9'] })), [
      'admissionReviewVersions[1]: Invalid value: "v9": duplicate version',
      'admissionReviewVersions: Invalid value: ["v9","v9"]: must include at least one of v1, v1beta1',
    ])
    assert.deepEqual(errors(withHook({ admissionReviewVersions: ['v9', 'v1beta1'] })), [])
  })

  test(`${kind.def.kind}: a webhook is a URL or a service`, () => {
    const neither = 'clientConfig: Required value: exactly one of url or service is required'
    assert.deepEqual(errors(withClient({})), [neither])
    assert.deepEqual(errors(withClient({ url: 'https://x', service: { name: 's', namespace: 'n' } })), [neither])
    const hint = '; desired format: https://host[/path]'
    assert.deepEqual(errors(withClient({ url: 'http://x' })), [
      `clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${hint}`,
    ])
    assert.deepEqual(errors(withClient({ url: 'https:///a' })), [`clientConfig.url: Invalid value: "": host must be specified${hint}`])
    assert.deepEqual(errors(withClient({ url: 'https://u:p@h/?q=1#f' })), [
      'clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
      'clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
      'clientConfig.url: Invalid value: "q=1": query parameters are not permitted in the URL',
    ])
    assert.deepEqual(errors(withClient({ url: 'https://h:x' })), [
      `clientConfig.url: Required value: url must be a valid URL: parse "https://h:x": invalid port ":x" after host${hint}`,
    ])
    assert.deepEqual(errors(withService({ name: '', port: 0, path: 'a//b' })), [
      'clientConfig.service.namespace: Required value',
      'clientConfig.service.port: Invalid value: 0: port is not valid: must be between 1 and 65535, inclusive',
      'clientConfig.service.path: Invalid value: "a//b": must start with a \'/\'',
      'clientConfig.service.path: Invalid value: "a//b": segment[0] may not be empty',
      'clientConfig.service.path: Invalid value: "a//b": segment[1] may not be empty',
    ])
    assert.deepEqual(errors(withService({ path: '/a/b/' })), [])
  })

  test(`${kind.def.kind}: rules name operations, groups, versions and resources`, () => {
    assert.deepEqual(errors(withHook({ rules: [{}] })), [
      'rules[0].operations: Required value',
      'rules[0].apiGroups: Required value',
      'rules[0].apiVersions: Required value',
      'rules[0].resources: Required value',
    ])
    assert.deepEqual(errors(withRule({ operations: ['READ'], scope: 'Galaxy', apiVersions: ['', 'v1'] })), [
      'rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
      'rules[0].apiVersions[0]: Required value',
      'rules[0].scope: Unsupported value: "Galaxy": supported values: "*", "Cluster", "Namespaced"',
    ])
    assert.deepEqual(errors(withRule({ operations: ['*', 'CREATE'], apiGroups: ['*', 'a'], apiVersions: ['*', 'v1'] })), [
      'rules[0].operations: Invalid value: ["*","CREATE"]: if \'*\' is present, must not specify other operations',
      'rules[0].apiGroups: Invalid value: ["*","a"]: if \'*\' is present, must not specify other API groups',
      'rules[0].apiVersions: Invalid value: ["*","v1"]: if \'*\' is present, must not specify other API versions',
    ])
  })

  test(`${kind.def.kind}: resources that wildcards cover are not named again`, () => {
    const resources = (...resources: string[]) => errors(withRule({ resources })).map(error => error.replace('rules[0].resources', ''))
    assert.deepEqual(resources('pods', 'pods/status', '*/scale'), [])
    assert.deepEqual(resources('', 'pods'), ['[0]: Required value'])
    assert.deepEqual(resources('pods/*', 'pods/status', '*/scale', 'a/scale'), [
      '[1]: Invalid value: "pods/status": if \'pods/*\' is present, must not specify pods/status',
      '[3]: Invalid value: "a/scale": if \'*/scale\' is present, must not specify a/scale',
    ])
    assert.deepEqual(resources('*', 'pods'), [
      ': Invalid value: ["*","pods"]: if \'*\' is present, must not specify other resources without subresources',
    ])
    assert.deepEqual(resources('*/*', 'pods'), [': Invalid value: ["*/*","pods"]: if \'*/*\' is present, must not specify other resources'])
  })

  test(`${kind.def.kind}: conditions are named and not too many`, () => {
    const conditions = (...matchConditions: object[]) => errors(withHook({ matchConditions }))
    const many = Array.from({ length: 65 }, (_, i) => ({ name: `c${i}`, expression: 'true' }))
    assert.deepEqual(conditions(...many), ['matchConditions: Too many: 65: must have at most 64 items'])
    assert.deepEqual(conditions({ name: 'a', expression: ' ' }, { name: '', expression: 'true' }, { name: 'a', expression: 'true' }), [
      'matchConditions[0].expression: Required value',
      'matchConditions[1].name: Required value',
      'matchConditions[2].name: Duplicate value: "a"',
    ])
  })

  test(`${kind.def.kind}: conditions compile to yes or no, without parameters`, () => {
    const errorsOf = (expression: string) => errors(withHook({ matchConditions: [{ name: 'c', expression }] }))
    const at = 'matchConditions[0].expression'
    assert.deepEqual(errorsOf("authorizer.group('apps').resource('deployments').check('create').allowed()"), [])
    assert.deepEqual(errorsOf(" 'a' "), [`${at}: Invalid value: "'a'": must evaluate to bool but got string`])
    assert.match(errorsOf('params.x')[0]!, /undeclared reference to 'params'/)
  })

  test(`${kind.def.kind}: conditions that stay as they are are not checked again`, () => {
    const hooked = (expression: string) => withHook({ matchConditions: [{ name: 'c', expression }] })
    assert.deepEqual(check(kind, hooked('no longer valid'), { old: hooked('no longer valid') }), [])
    assert.equal(check(kind, hooked('not valid either'), { old: hooked('no longer valid') }).length, 1)
  })

  test(`${kind.def.kind}: selectors are checked`, () => {
    assert.deepEqual(errors(withHook({ objectSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } })), [
      "objectSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
    ])
  })

  test(`${kind.def.kind}: reserved names and rules without effect are reported`, () => {
    const reserved =
      'names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API'
    const ctx = contextWith({ gates: ['ManifestBasedAdmissionControlConfig', 'ExcludeAdmissionWebhookVirtualResources'] })
    const named = { metadata: { name: 'a.static.k8s.io' } }
    assert.deepEqual(check(kind, named, { ctx }), [`metadata.name: Invalid value: "a.static.k8s.io": ${reserved}`])
    assert.deepEqual(warnings(kind, named), [`metadata.name: ${reserved}`])
    assert.deepEqual(warnings(kind, withRule({ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews', 'x'] }), { ctx }), [
      'webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will have no effect',
    ])
  })

  test(`${kind.def.kind}: its table counts webhooks`, () => {
    assert.deepEqual(cells(kind, withHook({})), { Webhooks: 1, Age: '<unknown>' })
  })
}

test('a mutating webhook may be called again', () => {
  assert.equal(withDefaults(MutatingWebhookConfiguration, withHook({})).webhooks[0].reinvocationPolicy, 'Never')
  assert.deepEqual(check(MutatingWebhookConfiguration, withHook({ reinvocationPolicy: 'Often' })), [
    'webhooks[0].reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
  ])
})
