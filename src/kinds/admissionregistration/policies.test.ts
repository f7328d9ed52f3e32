import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cells, check, checkSubresource, contextWith, warnings, withDefaults } from '../../../test/kits/kinds/kinds.ts'
import { MutatingAdmissionPolicy } from './mutatingadmissionpolicy.ts'
import { ValidatingAdmissionPolicy } from './validatingadmissionpolicy.ts'
import { ValidatingAdmissionPolicyBinding } from './validatingadmissionpolicybinding.ts'

const rule = (more: object = {}) => ({ apiGroups: ['apps'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['*'], ...more })
const matchConstraints = { resourceRules: [rule()] }
const validating = (more: object = {}) => ({ spec: { matchConstraints, validations: [{ expression: 'true' }], ...more } })
const mutation = { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/spec/x"}]' } }
const mutating = (more: object = {}) => ({ spec: { matchConstraints, mutations: [mutation], reinvocationPolicy: 'Never', ...more } })
const binding = (more: object = {}) => ({ spec: { policyName: 'p', validationActions: ['Deny'], ...more } })

for (const [kind, policy] of [
  [ValidatingAdmissionPolicy, validating],
  [MutatingAdmissionPolicy, mutating],
] as const) {
  const errors = (more: object) => check(kind, policy(more)).map(error => error.replace(/^spec\./, ''))

  test(`${kind.def.kind}: an ordinary one passes and gets its defaults`, () => {
    assert.deepEqual(errors({}), [])
    const { spec } = withDefaults(kind, policy())
    assert.deepEqual(
      [spec.failurePolicy, spec.matchConstraints.matchPolicy, spec.matchConstraints.objectSelector],
      ['Fail', 'Equivalent', {}],
    )
    assert.equal(spec.matchConstraints.resourceRules[0].scope, '*')
  })

  test(`${kind.def.kind}: it says what it matches`, () => {
    assert.deepEqual(errors({ matchConstraints: null }), ['matchConstraints: Required value'])
    assert.deepEqual(errors({ matchConstraints: {} }), ['matchConstraints.resourceRules: Required value'])
    assert.deepEqual(errors({ failurePolicy: 'Perhaps' }), [
      'failurePolicy: Unsupported value: "Perhaps": supported values: "Fail", "Ignore"',
    ])
    assert.deepEqual(errors({ matchConditions: [{ name: '', expression: ' ' }] }), [
      'matchConditions[0].expression: Required value',
      'matchConditions[0].name: Required value',
    ])
    const many = Array.from({ length: 65 }, (_, i) => ({ name: `c${i}`, expression: 'true' }))
    assert.deepEqual(errors({ matchConditions: many }), ['matchConditions: Too many: 65: must have at most 64 items'])
  })

  test(`${kind.def.kind}: the kind of parameters has a full name`, () => {
    const kindOf = (apiVersion: string, kind: string) => errors({ paramKind: { apiVersion, kind } }).map(e => e.replace('paramKind.', ''))
    assert.deepEqual(kindOf('v1', 'ConfigMap'), [])
    assert.deepEqual(kindOf('a.b/v1', 'Thing'), [])
    assert.deepEqual(kindOf('', ''), ['apiVersion: Required value', 'kind: Required value'])
    assert.deepEqual(kindOf('a/b/c', 'X'), ['apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'])
    assert.deepEqual(kindOf('a.b/', 'X'), ['apiVersion: Invalid value: "a.b/": version must be specified'])
    assert.match(kindOf('A/V', 'X')[0]!, /^apiVersion: Invalid value: "A": a lowercase RFC 1123 subdomain/)
    assert.match(kindOf('A/V', 'X')[1]!, /^apiVersion: Invalid value: "V": a DNS-1035 label/)
    assert.match(kindOf('v1', '1')[0]!, /^kind: Invalid value: "1": may have mixed case, but should otherwise match: a DNS-1035 label/)
  })

  test(`${kind.def.kind}: variables are identifiers with expressions`, () => {
    assert.deepEqual(errors({ variables: [{ name: 'a_1', expression: '1' }] }), [])
    assert.deepEqual(
      errors({
        variables: [
          { name: ' ', expression: ' ' },
          { name: 'in', expression: '1' },
          { name: '1a', expression: '1' },
        ],
      }),
      [
        'variables[0].name: Required value: name is not specified',
        'variables[0].expression: Required value: expression is not specified',
        'variables[1].name: Invalid value: "in": must be a valid CEL identifier',
        'variables[2].name: Invalid value: "1a": must be a valid CEL identifier',
      ],
    )
  })

  test(`${kind.def.kind}: some names are reserved`, () => {
    const named = { ...policy(), metadata: { name: 'x.static.k8s.io' } }
    const reserved =
      'names ending with ".static.k8s.io" are reserved for static manifest-based configurations and cannot be managed via the API'
    assert.deepEqual(check(kind, named, { ctx: contextWith({ gates: ['ManifestBasedAdmissionControlConfig'] }) }), [
      `metadata.name: Invalid value: "x.static.k8s.io": ${reserved}`,
    ])
    assert.deepEqual(warnings(kind, named), [`metadata.name: ${reserved}`])
  })

  test(`${kind.def.kind}: a row counts what it does`, () => {
    const [column] = Object.keys(kind.def.columns!)
    assert.deepEqual(cells(kind, policy()), { [column!]: 1, ParamKind: '<unset>', Age: '<unknown>' })
    assert.equal(cells(kind, policy({ paramKind: { apiVersion: 'a.b/v1', kind: 'K' } }))['ParamKind'], 'a.b/v1/K')
  })
}

test('a validating policy validates or annotates', () => {
  const errors = (more: object) => check(ValidatingAdmissionPolicy, validating(more)).map(error => error.replace(/^spec\./, ''))
  const needed = 'Required value: validations or auditAnnotations must contain at least one item'
  assert.deepEqual(errors({ validations: [] }), [`validations: ${needed}`, `auditAnnotations: ${needed}`])
  assert.deepEqual(errors({ validations: [], auditAnnotations: [{ key: 'k', valueExpression: "'v'" }] }), [])
  assert.deepEqual(errors({ validations: [{ expression: '', message: ' ', messageExpression: ' ', reason: 'Odd' }] }), [
    'validations[0].expression: Required value: expression is not specified',
    'validations[0].messageExpression: Invalid value: " ": must be non-empty if specified',
    'validations[0].message: Invalid value: " ": must be non-empty if specified',
    'validations[0].reason: Unsupported value: "Odd": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
  ])
  assert.deepEqual(errors({ validations: [{ expression: 'true', message: 'a\nb' }] }), [
    'validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
  ])
})

test('annotations for the audit have keys of their own', () => {
  const errors = (auditAnnotations: object[]) => check(ValidatingAdmissionPolicy, validating({ auditAnnotations }))
  const at = 'spec.auditAnnotations'
  assert.deepEqual(
    errors([
      { key: 'k', valueExpression: ' ' },
      { key: 'k', valueExpression: 'x'.repeat(5121) },
    ]),
    [
      `${at}[0].valueExpression: Required value: valueExpression is not specified`,
      `${at}[1].valueExpression: Required value: must not exceed 5120 bytes in length`,
      `${at}[1].key: Duplicate value: "k"`,
    ],
  )
  assert.match(
    errors([{ key: 'a b', valueExpression: "''" }])[0]!,
    /^spec\.auditAnnotations\[0\]\.key: Invalid value: "x\/a b": name part must consist/,
  )
  const many = Array.from({ length: 21 }, (_, i) => ({ key: `k${i}`, valueExpression: "''" }))
  assert.match(
    errors(many)[0]!,
    /^spec\.auditAnnotations: Invalid value: \[\{"Key":"k0","ValueExpression":"''"\},.*: must not have more than 20 auditAnnotations$/,
  )
})

test('the expressions of a validating policy compile to what they are for', () => {
  const errorsOf = (more: object) => check(ValidatingAdmissionPolicy, validating(more)).map(error => error.replace(/^spec\./, ''))
  const fine = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConditions: [{ name: 'c', expression: "request.operation == 'CREATE' && params.data.on == 'true'" }],
    variables: [
      { name: 'replicas', expression: 'object.spec.replicas' },
      { name: 'twice', expression: 'int(variables.replicas) * 2' },
    ],
    validations: [{ expression: 'variables.twice < 10', messageExpression: "'too many: ' + string(variables.twice)" }],
    auditAnnotations: [{ key: 'k', valueExpression: "authorizer.requestResource.check('get').allowed() ? 'yes' : 'no'" }],
  }
  assert.deepEqual(errorsOf(fine), [])
  assert.deepEqual(errorsOf({ ...fine, paramKind: null }), [
    `matchConditions[0].expression: Invalid value: ${JSON.stringify(fine.matchConditions[0]!.expression)}: compilation failed: ERROR: <input>:1:34: undeclared reference to 'params' (in container '')\n | request.operation == 'CREATE' && params.data.on == 'true'\n | .................................^`,
  ])
  assert.deepEqual(errorsOf({ validations: [{ expression: ' 1', messageExpression: '1' }] }), [
    'validations[0].expression: Invalid value: " 1": must evaluate to bool but got int',
    'validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
  ])
  assert.deepEqual(errorsOf({ auditAnnotations: [{ key: 'k', valueExpression: ' 1' }] }), [
    'auditAnnotations[0].valueExpression: Invalid value: " 1": must evaluate to one of [string null_type] but got int',
  ])
  assert.match(
    errorsOf({ validations: [{ expression: 'true', messageExpression: 'authorizer.x' }] })[0]!,
    /undeclared reference to 'authorizer'/,
  )
  assert.match(errorsOf({ validations: [{ expression: 'variables.x' }] })[0]!, /undeclared reference to 'variables'/)
  assert.match(errorsOf({ variables: [{ name: 'a', expression: 'variables.b' }] })[0]!, /undefined field 'b'/)
})

test('a variable that fails does not make others fail that use it', () => {
  const variables = [{ name: 'a', expression: '1 +' }]
  const errors = check(ValidatingAdmissionPolicy, validating({ variables, validations: [{ expression: 'variables.a == 1' }] }))
  assert.deepEqual(
    errors.map(error => error.slice(0, 42)),
    ['spec.variables[0].expression: Invalid valu'],
  )
})

test('the expressions of a mutating policy make patches or configurations', () => {
  const errorsOf = (mutation: object) =>
    check(MutatingAdmissionPolicy, mutating({ mutations: [mutation] })).map(error => error.replace('spec.mutations[0].', ''))
  const apply = (expression: string) => errorsOf({ patchType: 'ApplyConfiguration', applyConfiguration: { expression } })
  const patch = (expression: string) => errorsOf({ patchType: 'JSONPatch', jsonPatch: { expression } })
  assert.deepEqual(apply("Object{metadata: Object.metadata{labels: Object.metadata.labels{env: 'x'}}}"), [])
  assert.deepEqual(apply(' {} '), ['applyConfiguration.expression: Invalid value: "{}": must evaluate to Object but got map(dyn, dyn)'])
  assert.deepEqual(patch("[JSONPatch{op: 'add', path: '/x/' + jsonpatch.escapeKey('a/b'), value: 1}]"), [])
  assert.deepEqual(patch('[]'), ['jsonPatch.expression: Invalid value: "[]": must evaluate to list(JSONPatch) but got list(dyn)'])
  assert.match(patch('[JSONPatch{op: 1}]')[0]!, /expected type of field 'op' is 'string' but provided type is 'int'/)
})

test('stored expressions may use features that only this release supports', () => {
  const lists = (expression: string) => validating({ validations: [{ expression }] })
  const [stored, fresh] = ['object.x.includes(1)', 'object.x.includes(2)']
  assert.match(check(ValidatingAdmissionPolicy, lists(stored))[0]!, /undeclared reference to 'includes'/)
  assert.deepEqual(check(ValidatingAdmissionPolicy, lists(stored), { old: lists(stored) }), [])
  assert.equal(check(ValidatingAdmissionPolicy, lists(fresh), { old: lists(stored) }).length, 1)
})

test('conditions that stay as they are are not checked again', () => {
  const old = validating({ matchConditions: [{ name: 'a', expression: '' }] })
  assert.deepEqual(check(ValidatingAdmissionPolicy, old, { old }), [])
  assert.equal(check(ValidatingAdmissionPolicy, validating({ matchConditions: [{ name: 'b', expression: '' }] }), { old }).length, 1)
})

test('type checking warnings in the status of a policy have a field reference and a text', () => {
  const status = (now: object) => checkSubresource(ValidatingAdmissionPolicy, 'status', { ...validating(), status: now }, validating())
  const warning = (fieldRef: string, text = 'w') => status({ typeChecking: { expressionWarnings: [{ fieldRef, warning: text }] } })
  const at = 'status.typeChecking.expressionWarnings[0]'
  assert.deepEqual(warning('spec.validations[0].expression'), [])
  assert.deepEqual(warning("spec.variables[?(@.name=='a b')].expression"), [])
  assert.deepEqual(warning(' ', ''), [`${at}.warning: Required value`, `${at}.fieldRef: Required value`])
  assert.deepEqual(warning('spec.a[0'), [`${at}.fieldRef: Invalid value: "spec.a[0": invalid JSONPath: unterminated array`])
  assert.deepEqual(warning('spec!'), [
    `${at}.fieldRef: Invalid value: "spec!": invalid JSONPath: unrecognized character in action: U+0021 '!'`,
  ])
  assert.deepEqual(status({ conditions: [{ type: 'T', status: 'True', reason: '', lastTransitionTime: '2026-01-01T00:00:00Z' }] }), [
    'status.conditions[0].reason: Required value',
  ])
})

test('a mutating policy does not match deletes, and each mutation has one patch type', () => {
  const errors = (more: object) => check(MutatingAdmissionPolicy, mutating(more)).map(error => error.replace(/^spec\./, ''))
  assert.deepEqual(errors({ mutations: [] }), ['mutations: Required value: mutations must contain at least one item'])
  assert.deepEqual(errors({ reinvocationPolicy: '' }), ['reinvocationPolicy: Required value'])
  assert.deepEqual(errors({ reinvocationPolicy: 'Often' }), [
    'reinvocationPolicy: Unsupported value: "Often": supported values: "IfNeeded", "Never"',
  ])
  assert.deepEqual(errors({ matchConstraints: { resourceRules: [rule({ operations: ['CREATE', 'DELETE'] })] } }), [
    'matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
  ])
  const mutations = (mutation: object) => errors({ mutations: [mutation] }).map(e => e.replace('mutations[0].', ''))
  assert.deepEqual(mutations({ patchType: '' }), ['patchType: Required value'])
  assert.deepEqual(mutations({ patchType: 'toString' }), [
    'patchType: Unsupported value: "toString": supported values: "ApplyConfiguration", "JSONPatch"',
  ])
  assert.deepEqual(mutations({ patchType: 'JSONPatch', applyConfiguration: {} }), [
    'jsonPatch: Required value: must be specified when patchType is JSONPatch',
    'applyConfiguration: Invalid value: "{applyConfiguration}": must not be specified when patchType is JSONPatch',
  ])
  assert.deepEqual(mutations({ patchType: 'ApplyConfiguration', applyConfiguration: { expression: ' ' }, jsonPatch: {} }), [
    'applyConfiguration.expression: Required value',
    'jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
  ])
})

test('the binding of a validating policy names it and says what happens', () => {
  const errors = (more: object) => check(ValidatingAdmissionPolicyBinding, binding(more)).map(error => error.replace(/^spec\./, ''))
  assert.deepEqual(errors({}), [])
  assert.deepEqual(errors({ validationActions: ['Warn', 'Audit'] }), [])
  assert.deepEqual(check(ValidatingAdmissionPolicyBinding, {}), [
    'spec.policyName: Required value',
    'spec.validationActions: Required value',
  ])
  assert.match(errors({ policyName: 'P' })[0]!, /^policyName: Invalid value: "P": a lowercase RFC 1123 subdomain/)
  assert.deepEqual(errors({ validationActions: ['Deny', 'Warn', 'Deny', 'Odd'] }), [
    'validationActions[2]: Duplicate value: "Deny"',
    'validationActions[3]: Unsupported value: "Odd": supported values: "Audit", "Deny", "Warn"',
    'validationActions: Invalid value: ["Deny","Warn","Deny","Odd"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
  ])
  assert.deepEqual(errors({ paramRef: {} }), [
    'paramRef: Required value: one of name or selector must be specified',
    'paramRef.parameterNotFoundAction: Required value',
  ])
  assert.deepEqual(errors({ matchResources: { resourceRules: [rule({ operations: ['DELETE'] })] } }), [])
  assert.deepEqual(cells(ValidatingAdmissionPolicyBinding, binding()), { PolicyName: 'p', ParamRef: '<unset>', Age: '<unknown>' })
})
